"""Each two models of an edition side by side: what one has right minus what the other has, by every method."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Table
from almanac.suites.comparison import DIFFERENCE, TUNED
from almanac.suites.headline import FEW, holm, method_of
from almanac.suites.listing import SUITES

MODELS = 8  # of an edition, up to which all pairs are listed
FOLDED = 40  # rows from which the table is folded
TOLD = 3  # pairs up to which each has a sentence
LEVEL = 0.05  # of the two-sided tests of all rows together
HEAD = ("of", "method", "model", "minus", "difference", "p", "adjusted p", "facts")
CAPTION = (
    "Difference: the share that the model has right minus the share that the second one has right, on the facts that "
    "both answered, a mean over relations with its 95 % interval. p: of McNemar's exact test on the facts; adjusted p: "
    "for all rows together (Holm). Only methods that ask each fact once are compared; with fewer than "
    f"{FEW} facts nothing is tested."
)


def chapter(between: Sequence[Measure]) -> Chapter | None:
    """Return the chapter; none where there are no two models, or so many that their pairs are no reading.

    Args:
        between: the numbers between models.
    """
    rows = [row for row in between if row.metric in (DIFFERENCE, TUNED) and row.value is not None]
    if not rows or len({name for row in rows for name in (row.model, row.other)}) > MODELS:
        return None
    tested = [row.p if row.n >= FEW else None for row in rows]
    adjusted = iter(holm([p for p in tested if p is not None]))
    cells: list[Sequence[Cell]] = []
    counts: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row, alone in zip(rows, tested, strict=True):
        p = None if alone is None else next(adjusted)
        label = method_of(row, SUITES[row.suite].methods).label
        cells.append((row.dataset, label, str(row.model), str(row.other), row, alone, p, row.n))
        if p is not None:
            counts[row.dataset, str(row.model), str(row.other)].append((row.value or 0.0) if p <= LEVEL else 0.0)
    table = Table("differences", CAPTION, HEAD, cells, folded=len(cells) >= FOLDED)
    return Chapter("Models compared, all methods", " ".join(_sentences(counts)), [table])


def _sentences(counts: Mapping[tuple[str, str, str], Sequence[float]]) -> list[str]:
    """Return a sentence a pair or, of many pairs, one of all; counts: the differences, 0 where it may be none."""
    if not counts:
        return [f"No two models answered {FEW} facts of one method."]
    if len(counts) <= TOLD:
        return [_sentence(*pair, found) for pair, found in counts.items()]
    every = [value for found in counts.values() for value in found]
    sure = sum(value != 0 for value in every)
    return [f"Of {len(every)} differences between two models by the same method, {sure} are more than chance."]


def _sentence(dataset: str, one: str, other: str, found: Sequence[float]) -> str:
    """Return by how many methods one model has more right than another."""
    more, fewer = sum(value > 0 for value in found), sum(value < 0 for value in found)
    methods = f"{len(found)} method{'s' * (len(found) != 1)}"
    if not more + fewer:
        return f"On {dataset}, {one} and {other} do not differ by more than chance, by {methods}."
    return f"On {dataset}, {one} has more right than {other} by {more} of {methods}, and fewer by {fewer}."
