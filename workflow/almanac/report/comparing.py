"""Pairwise comparison of an edition's models: the difference of their shares of right answers, by every method."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from almanac.edition.pairs import MODELS, Compared, Pairs, differences, tested, too_many
from almanac.report.known import RelationsFound
from almanac.report.lines import FIRST, share, shortened
from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Table
from almanac.suites.comparison import ALONE, BOTH, DIFFERENCE, DIFFERENCE_OF_RELATION, LISTED, TUNED, setting_of
from almanac.suites.headline import FEW
from almanac.suites.judged import FACT, RELATION, as_text, conditions_of

ROWS_FOLDED = 40  # rows from which the table is folded
PAIRS_TOLD = 3  # with at most so many pairs, each has a sentence
CHOSEN_PAIRS_TOLD = 12  # the same for pairs that the configuration names
METHODS_NAMED = 4  # a sentence names at most so many methods
LEVEL = 0.05  # significance level of the two-sided tests, adjusted for all rows
HEAD = ("of", "method", "model", "minus", "difference", "p", "adjusted p", "one alone", "other alone", "both", "facts")
ASKS = (
    "Each two models on the same facts, by every method. Click a count to see its facts and both answers; where they "
    f"are more than {LISTED}, docs/notebook.md lists them."
)
RUNS = "Checkpoints of one run are each compared with the one before, and those of two runs at equal steps."
CHOSEN = (
    "The configuration names these pairs (`compare`), and p-values are adjusted for them alone, over all methods: that "
    "is valid if they were named before any result was seen."
)
COUNTED = (
    "An abstention counts as not right; so does a refusal, in methods that allow abstentions. Left out are facts "
    "without an answer of either model (too long, failed, or otherwise refused), and methods whose format either model "
    "mostly did not follow. If a method asks a fact several times (other wordings, other examples), the share of right "
    "answers counts. Except for what is left out, a difference is that of the shares in the table of methods."
)
NO_MORE = (
    "Chance is not subtracted. Models may differ only in what they answer when they know nothing, even if both are "
    "above chance: one may name common objects, the other any object or none. Compare what is above chance in the "
    "table of methods. A difference over all relations may be larger in one relation and smaller in another. Methods "
    "that differ only in the threshold of one score (their agreement has a ρ of 1) say the same twice."
)
OF_RELATIONS = (
    "Each two models in each relation{dataset}, by {method}.\n\nBy {method}, as what is known of relations is told. "
    "Difference: the share of the relation's facts that the model has right minus the share that the second one has, "
    "with its 95 % interval. Adjusted p: of the test of the table above, for all rows of this one together (Holm). "
    "Where it is at most {level}, the models differ by more than chance; these relations come first. A model need not "
    "know what it has right more often than another: the table of what is known shows whether a relation is above "
    "chance at all. Choose a relation to see its facts, or a count to see those that only one model has right, with "
    "both answers."
)
Key = tuple[str, str, str, str | None, str | None, str | None]  # suite, dataset, method, relation and two models
Known = Mapping[tuple[str, Key], int]  # numbers of facts, by metric and key
CAPTION = (
    "Difference: the share that the model has right minus the share that the second one has right, on the facts that "
    "both answered or abstained from, a mean over relations with its 95 % interval. p: of no difference, by a "
    "randomization test that flips the sign of each subject's contribution at random (McNemar's exact test where each "
    "subject has one fact and relations are of equal size; docs/intervals.md). Adjusted p: for all rows together "
    f"(Holm), including controls; the difference is more than chance where it is at most {LEVEL}. With fewer than "
    f"{FEW} facts nothing is tested. One alone, other alone, both: how many facts only the model, only the second one, "
    "and both have right (more than half of several answers); these counts and the difference may therefore point to "
    "different models. The interval is computed in another way and is not adjusted: it may exclude 0 where the "
    "difference is not more than chance, and include 0 where it is."
)


def chapter(between: Sequence[Measure], chosen: Pairs = (), relations: Sequence[RelationsFound] = ()) -> Chapter | None:
    """Return the chapter of comparisons; none if there are fewer than two models, or too many pairs to read.

    Args:
        between: the numbers that compare models.
        chosen: pairs to compare, the first model minus the second; if empty, all pairs (`edition.pairs.compared`).
        relations: what is known of the relations of each dataset.
    """
    all_methods = differences(between, chosen)
    # A count that lists its facts becomes a link to the items of the model that knows them.
    alone: dict[Key, Cell] = {
        _key(row, row.model, row.other): row if FACT in conditions_of(row) else int(row.value or 0)
        for row in between
        if row.metric == ALONE
    }
    known = _known(between)
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
            known.get((BOTH, _key(row, row.model, row.other))),
            row.n,
        )
        for row, _, label, p in all_methods
    ]
    table = Table("differences", CAPTION, HEAD, cells, folded=len(cells) >= ROWS_FOLDED)
    labels: dict[str, dict[str, None]] = defaultdict(dict)
    for _, method, label, _ in all_methods:
        if method.compared:
            labels[method.compared][label] = None
    notes = [f"{'; '.join(methods)}: {what}" for what, methods in labels.items()]
    asks = "\n\n".join([f"{ASKS} {CHOSEN if chosen else RUNS}", COUNTED, NO_MORE])
    by_relation = [
        _of_relations(of, found, alone, len(relations) > 1) for of, found in _in_relations(between, chosen, relations)
    ]
    return Chapter("Models compared, all methods", asks, [*notes, table, *by_relation]) if cells else None


def _in_relations(
    between: Sequence[Measure], chosen: Pairs, relations: Sequence[RelationsFound]
) -> Iterator[tuple[RelationsFound, list[Compared]]]:
    """Yield, for each dataset, the differences of each pair in its relations, by the method of `RelationsFound`."""
    rows: dict[tuple[str, str, str], list[Measure]] = defaultdict(list)
    for row in between:
        if row.metric == DIFFERENCE_OF_RELATION and row.value is not None:
            rows[row.suite, row.dataset, as_text(setting_of(row))].append(row)
    for found in relations:
        if compared := tested(rows[found.suite, found.dataset, found.where], chosen, 1):
            yield found, compared


def _of_relations(told: RelationsFound, found: Sequence[Compared], alone: Mapping[Key, Cell], several: bool) -> Table:
    """Return a table with a row for each relation and pair, significant differences first.

    Args:
        told: the relations.
        found: the differences.
        alone: the numbers of facts that only one model of a pair has right.
        several: whether there are such tables of other datasets.
    """
    order = sorted(found, key=lambda compared: (not _is_sure(compared), -abs(compared.row.value or 0.0)))
    cells = [
        (
            told.link(_relation(compared)),
            str(compared.row.model),
            str(compared.row.other),
            compared.row,
            compared.p,
            alone.get(_key(compared.row, compared.row.model, compared.row.other), 0),
            alone.get(_key(compared.row, compared.row.other, compared.row.model), 0),
            compared.row.n,
        )
        for compared in order
    ]
    dataset = f" (dataset {told.dataset})" if several else ""
    caption = OF_RELATIONS.format(dataset=dataset, method=told.method, level=LEVEL)
    head = ("relation", "model", "minus", "difference", "adjusted p", "one alone", "other alone", "facts")
    first = max(FIRST, len(_sure(found)))
    return Table(f"differences-{told.dataset}", caption, head, cells, first=first)


def _known(between: Iterable[Measure]) -> Known:
    """Return how many facts only one model of a pair knows (`ALONE`), and both know (`BOTH`, in either order)."""
    counts: dict[tuple[str, Key], int] = {}
    for row in between:
        if row.metric in (ALONE, BOTH):
            counts[row.metric, _key(row, row.model, row.other)] = int(row.value or 0)
        if row.metric == BOTH:
            counts[row.metric, _key(row, row.other, row.model)] = int(row.value or 0)
    return counts


def _relation(compared: Compared) -> str:
    """Return the relation of a difference."""
    return str(conditions_of(compared.row)[RELATION])


def _key(row: Measure, model: str | None, other: str | None) -> Key:
    """Return the key of a number of two models; the facts that it lists are not part of it."""
    relation = conditions_of(row).get(RELATION)
    return row.suite, row.dataset, as_text(setting_of(row)), None if relation is None else str(relation), model, other


def sentences(
    between: Sequence[Measure],
    controls: Collection[str] = (),
    chosen: Pairs = (),
    relations: Sequence[RelationsFound] = (),
) -> list[str]:
    """Return sentences on how much the models of each pair differ, and in which relations; for many pairs, one summary.

    Args:
        between: the numbers that compare models.
        controls: models that were taught nothing true. Differences from them are no finding and are not reported, but
            p-values are adjusted for all rows of the table, including theirs.
        chosen: pairs to compare; if empty, all pairs (`edition.pairs.compared`).
        relations: what is known of the relations of each dataset.
    """

    def counts(compared: Compared) -> bool:
        return not {compared.row.model, compared.row.other} & set(controls)

    models = {str(name) for row in between if row.metric in (DIFFERENCE, TUNED) for name in (row.model, row.other)}
    if not chosen and too_many(models):
        text = f"No two of these {len(models)} models are compared, since they are more than {MODELS}"
        return [f"{text}; name pairs in `compare`."]
    all_compared = differences(between, chosen)
    rows = list(filter(counts, all_compared))
    pairs = _by_pair(compared for compared in rows if compared.p is not None)
    if len(pairs) <= (CHOSEN_PAIRS_TOLD if chosen else PAIRS_TOLD):
        known = _known(between)
        told_pairs = [_sentence(*pair, found, known) for pair, found in pairs.items()]
        for told, compared in _in_relations(between, chosen, relations):
            by_pair = _by_pair(filter(counts, compared))
            told_pairs += [_where(told, *pair[1:], found) for pair, found in by_pair.items()]
        return told_pairs or [f"No two models answered {FEW} facts of one method."] * bool(rows)
    sure = {pair: len(_sure(found)) for pair, found in pairs.items()}
    count = sum(map(len, pairs.values()))
    without = ", those with a control left out" * (len(rows) < len(all_compared))
    all_sure = sum(sure.values())
    text = (
        f"Of {count} comparisons of two models by one method{without}, {all_sure} differ{'s' * (all_sure == 1)} by "
        "more than chance, adjusted for all"
    )
    (dataset, first, second), most = max(sure.items(), key=lambda pair: pair[1])
    if list(sure.values()).count(most) > 1:
        return [f"{text}."]
    methods = len(pairs[dataset, first, second])
    which = "it is" if all_sure == 1 else "most are"
    by = f"{most} of {methods} method{'s' * (methods != 1)} on {dataset}"
    return [f"{text}; {which} between {first} and {second} ({by})."]


def _by_pair(found: Iterable[Compared]) -> dict[tuple[str, str, str], list[Compared]]:
    """Group differences by dataset and pair of models."""
    pairs: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for compared in found:
        pairs[compared.row.dataset, str(compared.row.model), str(compared.row.other)].append(compared)
    return pairs


def _where(relations: RelationsFound, first: str, second: str, found: Sequence[Compared]) -> str:
    """Return a sentence on the relations in which one model has more right than another."""

    def names(sign: int) -> list[str]:
        return [relations.link(_relation(one)).text for one in _sure(found) if sign * (one.row.value or 0.0) > 0]

    more, fewer = names(1), names(-1)
    if not (more or fewer):
        none = f"in none of {len(found)} relations"
        return f"On {relations.dataset}, by {relations.method}, {first} and {second} differ by more than chance {none}."
    how, named = ("more", more) if more else ("fewer", fewer)
    also = f", and fewer in {len(fewer)} ({shortened(fewer)})" if more and fewer else ""
    text = f"{first} has {how} right than {second} in {len(named)} of {len(found)} relations ({shortened(named)})"
    return f"On {relations.dataset}, by {relations.method}, {text}{also}."


def _sure(found: Sequence[Compared]) -> list[Compared]:
    """Return the differences that are significant at `LEVEL`."""
    return list(filter(_is_sure, found))


def _is_sure(compared: Compared) -> bool:
    return compared.p is not None and compared.p <= LEVEL


def _sentence(dataset: str, first: str, second: str, found: Sequence[Compared], known: Known) -> str:
    """Return by which methods, and by how much, one model has more right than another; and what only one of them knows.

    Learning and forgetting may cancel out in a difference. For the method with most facts the sentence therefore states
    how many facts only one of the models knows, and how many both.
    """

    def alone(compared: Compared, *pair: str) -> int:
        return known.get((ALONE, _key(compared.row, *pair)), 0)

    differing = [compared for compared in found if alone(compared, first, second) or alone(compared, second, first)]
    text = _how_much(dataset, first, second, found, differing)
    most = max(found, key=lambda compared: compared.row.n)
    if most not in differing:
        return text
    only_first, only_second = alone(most, first, second), alone(most, second, first)
    both = known[BOTH, _key(most.row, first, second)]
    return (
        f"{text} By {most.label}, {only_first:,} of {most.row.n:,} facts are known to {first} alone, "
        f"{only_second:,} to {second} alone, and {both:,} to both."
    )


def _how_much(dataset: str, first: str, second: str, found: Sequence[Compared], differing: Sequence[Compared]) -> str:
    """Return by which methods one model has more right than another, and by how much.

    ``differing``: the methods by which only one of them knows some fact; elsewhere a narrow interval says nothing.
    """
    sure = [compared for compared in _sure(found) if compared.row.value]
    more, fewer = ([compared for compared in sure if (sign * (compared.row.value or 0.0)) > 0] for sign in (1, -1))
    methods = f"{len(found)} method{'s' * (len(found) != 1)} compared"
    if not sure:
        least = min(differing or found, key=lambda compared: (compared.row.high or 0.0) - (compared.row.low or 0.0))
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
    """Return the differences in brackets: each with its method if they are few, else the range."""
    sizes = [abs(compared.row.value or 0.0) for compared in sure]
    if len(sure) > METHODS_NAMED:
        return f" ({share(min(sizes))} to {share(max(sizes))})"
    named = "; ".join(f"{compared.label} {share(size)}" for compared, size in zip(sure, sizes, strict=True))
    return f" ({named})" if named else ""
