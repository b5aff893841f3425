"""Pairs of models: which of an edition's are compared, and the tests of their differences, adjusted together."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from almanac.config.models import checkpoint
from almanac.rows import Measure
from almanac.suites.comparison import DIFFERENCE, TUNED, setting_of
from almanac.suites.headline import FEW, holm, method_of
from almanac.suites.judged import as_text
from almanac.suites.listing import SUITES, method_labels
from almanac.suites.suite import Method

MODELS = 8  # of an edition, up to which all pairs are listed; all checkpoints of one run together are one
FEWEST = 3  # checkpoints of a run
Step = tuple[int, str]  # a step and its model
Pairs = Sequence[Sequence[str]]


class Compared(NamedTuple):
    """A difference of two models, by one method, and its test.

    Attributes:
        row: the number.
        method: the method.
        label: what the page calls the method, in its setting.
        p: adjusted for all differences that it stands among; none where too few facts were answered.
    """

    row: Measure
    method: Method
    label: str
    p: float | None


def differences(between: Iterable[Measure], chosen: Pairs) -> list[Compared]:
    """Return the differences of models with their tests; none of no two models, or of so many that nobody reads them.

    Args:
        between: numbers between models.
        chosen: the models that are compared, the first of a pair less the second; none: each two.
    """
    rows = [row for row in between if row.metric in (DIFFERENCE, TUNED) and row.value is not None]
    return tested(rows, chosen, FEW)


def tested(rows: Sequence[Measure], chosen: Pairs, few: int) -> list[Compared]:
    """Return the differences of two models that are compared, tested together.

    Args:
        rows: the differences, of all pairs.
        chosen: as in `differences`.
        few: answered facts below which one is not tested.
    """
    wanted = compared({str(name) for row in rows for name in (row.model, row.other)}, chosen)
    rows = [_turned(row, chosen) for row in rows if wanted(str(row.model), str(row.other))]
    adjusted = iter(holm([row.p for row in rows if row.n >= few and row.p is not None]))
    ps = [next(adjusted) if row.n >= few and row.p is not None else None for row in rows]
    return [Compared(row, *of, p) for row, of, p in zip(rows, labelled(rows), ps, strict=True)]


def compared(models: Collection[str], chosen: Pairs) -> Callable[[str, str], bool]:
    """Return which two of these models are compared: those chosen, else each two of few, runs by `neighbours`."""
    if chosen:
        pairs = {frozenset(pair) for pair in chosen}
        return lambda one, other: {one, other} in pairs
    if too_many(models):
        return lambda one, other: False
    return neighbours(models)


def too_many(models: Collection[str]) -> bool:
    """Return whether models are so many that each two are not compared; a run counts once."""
    return len(models) - sum(len(own) - 1 for own in runs(models).values()) > MODELS


def labelled(rows: Sequence[Measure]) -> list[tuple[Method, str]]:
    """Return the method of each number between models, and what the page calls it in its setting on the dataset."""
    methods = [method_of(row, SUITES[row.suite].methods) for row in rows]
    keys = [(row.suite, method.name, as_text(setting_of(row))) for row, method in zip(rows, methods, strict=True)]
    of: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row, key in zip(rows, keys, strict=True):
        of[row.dataset].append(key)
    labels = {dataset: method_labels(own) for dataset, own in of.items()}
    return [(method, labels[row.dataset][key]) for row, method, key in zip(rows, methods, keys, strict=True)]


def _turned(row: Measure, chosen: Pairs) -> Measure:
    """Return a difference of the first model of its pair, as it was chosen, less the second."""
    if not chosen or (row.model, row.other) in {(one, other) for one, other in chosen}:
        return row
    value, low, high = (None if one is None else 0.0 - one for one in (row.value, row.high, row.low))  # 0 has no sign
    return replace(row, model=row.other, other=row.model, value=value, low=low, high=high)


def runs(models: Iterable[str]) -> dict[str, list[Step]]:
    """Return by the beginning of their names the checkpoints of each run, in the order of their steps."""
    found: dict[str, list[Step]] = defaultdict(list)
    for name in dict.fromkeys(models):
        if (parts := checkpoint(name)) is not None:
            run, step = parts
            found[run].append((step, name))
    return {run: sorted(own) for run, own in found.items() if len(own) >= FEWEST}


def neighbours(models: Iterable[str]) -> Callable[[str, str], bool]:
    """Return which two models are compared: of checkpoints neighbours in a run, and equal steps of two runs."""
    places = {name: (run, at, step) for run, own in runs(models).items() for at, (step, name) in enumerate(own)}

    def wanted(one: str, other: str) -> bool:
        if one not in places or other not in places:
            return True
        (run, at, step), (other_run, other_at, other_step) = places[one], places[other]
        return abs(at - other_at) == 1 if run == other_run else step == other_step

    return wanted
