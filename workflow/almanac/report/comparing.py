"""Each two models of an edition side by side: what one has right minus what the other has, by every method."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from almanac.edition.pairs import Compared, Pairs, differences
from almanac.report.lines import share
from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Table
from almanac.suites.comparison import ALONE, LISTED, setting_of
from almanac.suites.headline import FEW
from almanac.suites.judged import FACT, as_text, conditions_of

FOLDED = 40  # rows from which the table is folded
TOLD = 3  # pairs up to which each has a sentence
NAMED = 4  # methods up to which a sentence names them
LEVEL = 0.05  # of the two-sided tests of all rows together
HEAD = ("of", "method", "model", "minus", "difference", "p", "adjusted p", "one alone", "other alone", "facts")
ASKS = (
    "Each two models on the same facts, by every method. Click a count to see its facts and both answers; where they "
    f"are more than {LISTED}, docs/notebook.md lists them."
)
RUNS = "Checkpoints of one run are each compared with the one before, and those of two runs at equal steps."
CHOSEN = (
    "The configuration names these pairs (`compare`), and p are adjusted for them alone, by every method: that is "
    "valid if they were named before any result was seen."
)
COUNTED = (
    "An abstention counts as not right, and where a method knows abstentions a refusal too. Facts of which either "
    "model has no answer at all (too long, failed, or else refused) are left out, and so is a method whose form either "
    "mostly did not follow. Where a method asks a fact several times, in other wordings or after other examples, the "
    "share of right answers counts: a difference is that of the shares in the table of methods, but for what is left "
    "out."
)
NO_MORE = (
    "Chance is not taken off: where the table of methods finds neither model above it, a difference may be one of what "
    "they like to say. A difference over all relations may be more in one and less in another: see the chapters of the "
    "methods. Methods that share a score and differ in its threshold alone (the agreement of methods has a ρ of 1) "
    "say the same twice."
)
CAPTION = (
    "Difference: the share that the model has right minus the share that the second one has right, on the facts that "
    "both answered or abstained from, a mean over relations with its 95 % interval. p: that there is none, if the "
    "sign of what each subject adds to it were a coin's (a randomization test of the sum; McNemar's exact test where a "
    "subject has one fact and relations are of equal size; docs/intervals.md). Adjusted p: for all rows "
    "together (Holm), those of controls too, and more than chance where it is at most "
    f"{LEVEL}; with fewer than {FEW} facts nothing is tested. One alone, other alone: how many facts only the model, "
    "or only the second one, knows: has right, of several answers more than half, so that these counts and the "
    "difference may point to different models. The interval is not adjusted, so it may leave out 0 where the "
    "difference is not more than chance."
)


def chapter(between: Sequence[Measure], chosen: Pairs = ()) -> Chapter | None:
    """Return the chapter of the numbers between models; none where there are no two, or more pairs than one reads.

    Args:
        between: the numbers between models.
        chosen: the models that are compared, the first of a pair less the second; none: each two.
    """
    tested = differences(between, chosen)
    # Where a count lists its facts, it opens the items of the one model that knows them.
    alone = {
        _key(row, row.model, row.other): row if FACT in conditions_of(row) else int(row.value or 0)
        for row in between
        if row.metric == ALONE
    }
    cells: list[Sequence[Cell]] = [
        (
            row.dataset,
            label,
            str(row.model),
            str(row.other),
            row,
            row.p if row.n >= FEW else None,
            p,
            alone.get(_key(row, row.model, row.other)),
            alone.get(_key(row, row.other, row.model)),
            row.n,
        )
        for row, _, label, p in tested
    ]
    table = Table("differences", CAPTION, HEAD, cells, folded=len(cells) >= FOLDED)
    labels: dict[str, dict[str, None]] = defaultdict(dict)
    for _, method, label, _ in tested:
        if method.compared:
            labels[method.compared][label] = None
    notes = [f"{'; '.join(own)}: {what}" for what, own in labels.items()]
    asks = "\n\n".join([f"{ASKS} {CHOSEN if chosen else RUNS}", COUNTED, NO_MORE])
    return Chapter("Models compared, all methods", asks, [*notes, table]) if cells else None


def _key(row: Measure, one: str | None, other: str | None) -> tuple[str, str, str, str | None, str | None]:
    """Return what a number of two models is of, whatever facts it lists."""
    return row.suite, row.dataset, as_text(setting_of(row)), one, other


def sentences(between: Sequence[Measure], controls: Collection[str] = (), chosen: Pairs = ()) -> list[str]:
    """Return by how much each two models differ: a sentence a pair or, of many pairs, one of all.

    Args:
        between: the numbers between models.
        controls: models that were taught nothing true. That others differ from them is no finding, so nothing is said
            of it; adjusted is for all rows of the table, theirs too.
        chosen: the models that are compared; none: each two.
    """
    rows = [
        tested for tested in differences(between, chosen) if not {tested.row.model, tested.row.other} & set(controls)
    ]
    pairs: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for tested in rows:
        if tested.p is not None:
            pairs[tested.row.dataset, str(tested.row.model), str(tested.row.other)].append(tested)
    if len(pairs) <= TOLD:
        said = [_sentence(*pair, found) for pair, found in pairs.items()]
        return said or [f"No two models answered {FEW} facts of one method."] * bool(rows)
    sure = {pair: len(_sure(found)) for pair, found in pairs.items()}
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


def _sure(found: Sequence[Compared]) -> list[Compared]:
    """Return the differences that are more than chance."""
    return [one for one in found if one.p is not None and one.p <= LEVEL]


def _sentence(dataset: str, first: str, second: str, found: Sequence[Compared]) -> str:
    """Return by which methods one model has more right than another, and by how much."""
    sure = [one for one in _sure(found) if one.row.value]
    more, fewer = ([one for one in sure if (sign * (one.row.value or 0.0)) > 0] for sign in (1, -1))
    methods = f"{len(found)} method{'s' * (len(found) != 1)} compared"
    if not sure:
        least = min(found, key=lambda one: (one.row.high or 0.0) - (one.row.low or 0.0))
        ends = f"{share(least.row.low)} to {share(least.row.high)}"
        return (
            f"On {dataset}, {first} and {second} do not differ by more than chance, by {methods}; the narrowest "
            f"interval of {first} minus {second} is {ends} ({least.label})."
        )
    if not (more and fewer):
        how = "more" if more else "fewer"
        return f"On {dataset}, {first} has {how} right than {second} by {len(sure)} of {methods}{_by_how_much(sure)}."
    return (
        f"On {dataset}, {first} has more right than {second} by {len(more)} of {methods}{_by_how_much(more)}, "
        f"and fewer by {len(fewer)}{_by_how_much(fewer)}."
    )


def _by_how_much(sure: Sequence[Compared]) -> str:
    """Return the differences with their methods in brackets where they are few, else the least and the most."""
    sizes = [abs(one.row.value or 0.0) for one in sure]
    if len(sure) > NAMED:
        return f" ({share(min(sizes))} to {share(max(sizes))})"
    named = "; ".join(f"{one.label} {share(size)}" for one, size in zip(sure, sizes, strict=True))
    return f" ({named})" if named else ""
