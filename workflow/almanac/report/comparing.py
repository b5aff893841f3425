"""Each two models of an edition side by side: what one has right minus what the other has, by every method."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from almanac.report import course
from almanac.report.lines import share
from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Table
from almanac.suites.comparison import ALONE, DIFFERENCE, LISTED, TUNED
from almanac.suites.headline import FEW, holm, method_of
from almanac.suites.judged import FACT, as_text, conditions_of
from almanac.suites.listing import SUITES
from almanac.suites.suite import Method

MODELS = 8  # of an edition, up to which all pairs are listed; all checkpoints of one run together are one
FOLDED = 40  # rows from which the table is folded
TOLD = 3  # pairs up to which each has a sentence
NAMED = 4  # methods up to which a sentence names them
LEVEL = 0.05  # of the two-sided tests of all rows together
HEAD = ("of", "method", "model", "minus", "difference", "p", "adjusted p", "one alone", "other alone", "facts")
ASKS = (
    "Each two models on the same facts, by every method. An abstention counts as not right, and where a method knows "
    "abstentions a refusal too; facts of which either has no answer at all (too long, failed, or else refused) are "
    "left out. A fact counts once: where a method asks it several times, in other wordings or after other examples, "
    "the first time counts. So a difference may be another one than that of the shares in the first table. Methods may "
    "share a score and differ in its threshold alone (the agreement of methods has a ρ of 1), and then say the same "
    "twice. A difference over all relations may be more in one and less in another: see the chapters of the methods. "
    f"Click a count to see which facts it counts; where they are more than {LISTED}, docs/notebook.md lists them. "
    "Checkpoints of one run are each compared with the one before, and those of two runs at equal steps."
)
CAPTION = (
    "Difference: the share that the model has right minus the share that the second one has right, on the facts that "
    "both answered or abstained from, a mean over relations with its 95 % interval. p: that there is none, by the "
    "signs of what each subject adds to it (McNemar's exact test where a subject has one fact and relations are of "
    "equal size); adjusted p: for all rows together (Holm), those of controls too, and more than chance where it is at "
    f"most {LEVEL}; with fewer than {FEW} facts nothing is tested. One alone, other alone: how many facts only the "
    "model, or only the second one, has right. The interval is not adjusted, so it may leave out 0 where the "
    "difference is not more than chance."
)


def chapter(between: Sequence[Measure]) -> Chapter | None:
    """Return the chapter of the numbers between models; none where there are no two, or more pairs than one reads."""
    tested, alone = _tested(between), {(*_of(row), _asked(row)): row for row in between if row.metric == ALONE}
    cells: list[Sequence[Cell]] = [
        (*_of(row), row, row.p if row.n >= FEW else None, p, *_alone(alone, row), row.n) for row, p in tested
    ]
    table = Table("differences", CAPTION, HEAD, cells, folded=len(cells) >= FOLDED)
    notes = {f"{method.label}: {method.compared}": None for row, _ in tested if (method := _method(row)).compared}
    return Chapter("Models compared, all methods", ASKS, [*notes, table]) if cells else None


def _tested(between: Sequence[Measure]) -> list[tuple[Measure, float | None]]:
    """Return the differences, each with its adjusted p; none of no two models, or of so many that nobody reads them."""
    rows = [row for row in between if row.metric in (DIFFERENCE, TUNED) and row.value is not None]
    models = {str(name) for row in rows for name in (row.model, row.other)}
    if len(models) - sum(len(own) - 1 for own in course.runs(models).values()) > MODELS:  # a run counts once
        return []
    wanted = course.compared(models)
    rows = [row for row in rows if wanted(row.model, row.other)]
    adjusted = iter(holm([row.p for row in rows if row.n >= FEW and row.p is not None]))
    return [(row, next(adjusted) if row.n >= FEW and row.p is not None else None) for row in rows]


def _of(row: Measure) -> tuple[str, str, str, str]:
    """Return what a difference is of: dataset, method and the two models."""
    return row.dataset, _method(row).label, str(row.model), str(row.other)


def _alone(alone: Mapping[tuple[str, str, str, str, str], Measure], row: Measure) -> Sequence[Cell]:
    """Return how many facts only the first of two models has right, and how many only the second."""
    dataset, label, one, other = _of(row)
    found = (alone.get((*key, row.where)) for key in ((dataset, label, one, other), (dataset, label, other, one)))
    # Where it lists the facts, it opens the items of the one model that has them right.
    return [one if one is None or FACT in conditions_of(one) else int(one.value or 0) for one in found]


def _asked(row: Measure) -> str:
    """Return which items a count of facts is of, whatever facts these are."""
    return as_text({name: one for name, one in conditions_of(row).items() if name != FACT})


def _method(row: Measure) -> Method:
    return method_of(row, SUITES[row.suite].methods)


def sentences(between: Sequence[Measure], controls: Collection[str] = ()) -> list[str]:
    """Return by how much each two models differ: a sentence a pair or, of many pairs, one of all.

    Args:
        between: the numbers between models.
        controls: models that were taught nothing true. That others differ from them is no finding, so nothing is said
            of it; adjusted is for all rows of the table, theirs too.
    """
    rows = [(row, p) for row, p in _tested(between) if not {row.model, row.other} & set(controls)]
    pairs: dict[tuple[str, str, str], list[tuple[Measure, float]]] = defaultdict(list)
    for row, p in rows:
        if p is not None:
            pairs[row.dataset, str(row.model), str(row.other)].append((row, p))
    if len(pairs) <= TOLD:
        said = [_sentence(*pair, found) for pair, found in pairs.items()]
        return said or [f"No two models answered {FEW} facts of one method."] * bool(rows)
    sure = {pair: sum(p <= LEVEL for _, p in found) for pair, found in pairs.items()}
    count = sum(map(len, pairs.values()))
    told = (
        f"Of {count} comparisons of two models by one method, {sum(sure.values())} differ by more than chance, "
        "adjusted for all"
    )
    (dataset, one, other), most = max(sure.items(), key=lambda pair: pair[1])
    if list(sure.values()).count(most) > 1:
        return [f"{told}."]
    methods = len(pairs[dataset, one, other])
    return [f"{told}; most are between {one} and {other} ({most} of {methods} methods on {dataset})."]


def _sentence(dataset: str, one: str, other: str, found: Sequence[tuple[Measure, float]]) -> str:
    """Return by which methods one model has more right than another, and by how much."""
    sure = [row for row, p in found if p <= LEVEL and row.value]
    more, fewer = ([row for row in sure if (sign * (row.value or 0.0)) > 0] for sign in (1, -1))
    methods = f"{len(found)} method{'s' * (len(found) != 1)} compared"
    if not sure:
        return f"On {dataset}, {one} and {other} do not differ by more than chance, by {methods}."
    if not (more and fewer):
        how = "more" if more else "fewer"
        return f"On {dataset}, {one} has {how} right than {other} by {len(sure)} of {methods}{_by_how_much(sure)}."
    return (
        f"On {dataset}, {one} has more right than {other} by {len(more)} of {methods}{_by_how_much(more)}, "
        f"and fewer by {len(fewer)}{_by_how_much(fewer)}."
    )


def _by_how_much(rows: Sequence[Measure]) -> str:
    """Return the differences with their methods in brackets where they are few, else the least and the most."""
    sizes = sorted(abs(row.value or 0.0) for row in rows)
    if len(rows) > NAMED:
        return f" ({share(sizes[0])} to {share(sizes[-1])})"
    named = "; ".join(f"{_method(row).label} {share(abs(row.value or 0.0))}" for row in rows)
    return f" ({named})" if named else ""
