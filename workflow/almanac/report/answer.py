"""The first thing that the page says, and the last that a run prints: who knows more than chance, by which method."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from almanac import tables
from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.measuring import entrant, shown
from almanac.report import asked, comparing, written
from almanac.report.asked import FactsAsked
from almanac.report.failing import Unanswered, unanswered
from almanac.report.known import RelationsFound
from almanac.report.lines import share, shortened
from almanac.rows import Item, Measure
from almanac.statistics.intervals import Estimate, wilson_n
from almanac.suites.chapter import NOT_TAUGHT, Cell, Chapter, Drawing, Table
from almanac.suites.headline import (
    ABOVE_CHANCE,
    FEW,
    LEVEL,
    NO_FORMAT,
    TESTED,
    TOO_FEW,
    UNDEFINED,
    Finding,
    holm,
)

HEAD = ("model", "of", "method", "known", "chance", "above chance", "p", "facts", "verdict")
RULE = "\n\n".join(  # a paragraph a column
    (
        "A row is what one method says of one model. Known: the share of the facts that it calls known. Chance: the "
        "share that would be right if the model knew nothing and answered as it does. Verdict: whether known is more.",
        "Known is a mean over relations. It stands twice, since it has two 95 % intervals: how far the share of other "
        "facts of these relations might lie, and how far that of other relations of their kind might; a single "
        "relation has no second one.",
        "Chance: how often the model's own answers would be right for the other facts of their relation. Where a "
        "method has scores and no answers, chance is how often it calls known what is true of those other facts "
        "instead, by a false object of each fact. Of answers that name one of k choices it is at least 1/k on average; "
        "one that names none counts as 0. A model that knows some facts and gives their objects for others too has a "
        "high chance: what it knows may not be told from that.",
        "Null: what the method finds in a model of the same recipe that was taught none of these facts: a world with "
        "exchanged objects or, where a part of a source's facts was taught, objects of any facts of the relation. The "
        "latter read other objects than the model itself did, so that this null is no matched control. A method with a "
        "threshold uses that of the model itself.",
        "Above chance: known minus chance, with its 95 % interval.",
        "Verdict: by a one-sided test at .025 of whether so many right answers are likely by chance. p: of that test, "
        "adjusted for all rows together (Holm); the verdict goes by it. Interval and verdict are of these relations "
        "and say nothing of others. Where the verdict is not distinguishable from chance, the upper end of above "
        "chance is the most that the method may have missed.",
        "Verdict and interval are made in different ways and need not agree. The interval may reach 0 where the "
        "verdict is above chance: few answers are right, but each of them is unlikely by chance. Of two models the one "
        "with fewer right answers may be above chance, if its answers would be right for fewer other facts. And the "
        "interval may lie above 0 where the verdict is not above chance: verdicts are adjusted for all rows, intervals "
        "are not.",
        "Beyond names: whether it is above chance also by the same test of those facts alone that names do not give "
        "away. They give it away where, of the objects that are offered, the true one's name is most like the "
        "subject's (Bulgaria: Bulgarian lev), so that a rule without a model is right.",
        "Facts: how many were answered. Count as: the first interval is as narrow as that of so many facts, drawn at "
        "random from all relations at once. These may be more than were answered, since each relation is asked and "
        "none is left to the draw, or since a fact is asked in several ways whose mean counts, and fewer where a "
        "subject has several facts that go together.",
    )
)
SIGN_TEST = (
    "Verdicts by scores: {} ask each fact with a false object too. Their verdict does not test the share above chance. "
    "It asks whether true objects have higher scores than false ones (a sign test, in which the more common of the two "
    "objects is the likelier to be true), whatever the threshold, and so may be above chance where hardly a fact is "
    "called known."
)
OF_THESE = (
    "Intervals (95 %) and verdicts are of these relations; for what is known, the page also has the interval of other "
    "relations. Verdicts are adjusted for all rows (Holm) and intervals are not, so one may lie above 0 where the "
    "verdict is not above chance; and one may reach 0 where it is, if the few right answers are unlikely by chance."
)
BY_MODEL = (
    "Above chance, a method a row and a model a column (dataset {}).\n\nKnown minus chance, with its 95 % interval of "
    "these relations: the numbers of the table above, whose verdicts are adjusted for all of them. Empty where a model "
    "was not asked, answered too few facts or mostly in another form, or was not taught the format."
)
TOLD = 2  # kinds of models that did not answer the same methods
Key = tuple[str, str, str, str]


class Told(NamedTuple):
    """What is said in words: ``found`` of the models; ``notes`` of what was not asked, not answered or not tested."""

    found: Sequence[str]
    notes: Sequence[str]


def chapter(
    told: Told,
    rows: Sequence[Finding],
    nulls: Mapping[Key, Measure],
    facts: Sequence[FactsAsked] = (),
    figures: Iterable[Drawing] = (),
    relations: Sequence[RelationsFound] = (),
) -> Chapter:
    """Return the page's first chapter: sentences, figures, and a table of what was answered.

    Args:
        told: the `sentences`.
        rows: what was found.
        nulls: by model, suite, dataset and condition what the same method finds in the model's null.
        facts: what became of the facts of each dataset.
        figures: what all methods found, side by side.
        relations: what is known of the relations of each dataset.
    """
    cells: list[Sequence[Cell]] = [
        (
            str(one.known.model),
            one.known.dataset,
            one.method.label,
            one.verdict,
            *_numbers(one, nulls.get(key_of(one.known))),
            one.adjusted,
            None if one.beyond_names is None else "yes" if one.beyond_names else "not shown",
            one.facts,
            None if one.verdict == NOT_TAUGHT else _counted_as(one.known),
        )
        for one in rows
    ]
    known, above = ("known, of these relations", "known, of other relations"), "above chance, of these relations"
    head = (*HEAD[:3], "verdict", *known, "chance", "null", above, "p", "beyond names", "facts", "count as")
    caption = "\n\n".join([RULE, *_remarks(rows, facts)])
    unanswered = [at for at, one in enumerate(rows) if not one.facts]
    of_relations = [one.table(len(relations) > 1) for one in relations]
    parts: list[Table | Drawing | str] = [
        *(table for table in of_relations if table.narrow),
        *told.notes,
        *figures,
        Table(
            "findings",
            caption,
            head,
            cells,
            hidden=unanswered,
            common=("model", "of", known[1], "null", "beyond names"),
        ),
        *_unanswered(rows),
        *_by_model(rows),
        *(table for table in of_relations if not table.narrow),
        *([left_out] if (left_out := asked.table(facts)) is not None else []),
    ]
    return Chapter("What was found", "\n\n".join(told.found), parts)


def _by_model(rows: Sequence[Finding]) -> Iterator[Table]:
    """Yield for each dataset what several models know above chance: a method a row, a model a column."""
    of: dict[str, dict[str, dict[str, Measure]]] = defaultdict(lambda: defaultdict(dict))
    for one in rows:
        if one.above is not None and one.verdict not in (NOT_TAUGHT, NO_FORMAT, TOO_FEW):
            of[one.known.dataset][one.label][str(one.known.model)] = one.above
    for dataset, methods in of.items():
        models = list(dict.fromkeys(str(one.known.model) for one in rows if one.known.dataset == dataset))
        models = [name for name in models if any(name in own for own in methods.values())]
        if len(models) > 1:
            cells = [(label, *map(own.get, models)) for label, own in methods.items()]
            yield Table(f"above-{dataset}", BY_MODEL.format(dataset), ("method", *models), cells, folded=True)


def _unanswered(rows: Sequence[Finding]) -> list[str]:
    """Return a note for each dataset of the methods that models did not answer at all, alike models together."""
    labels: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in rows:
        if not one.facts:
            labels[one.known.dataset, str(one.known.model)].append(one.method.label)
    of: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (dataset, model), found in labels.items():
        of[dataset]["; ".join(found)].append(model)
    return [
        f"Of dataset {dataset}, not answered at all and so only in the files of this table: "
        + " ".join(f"{methods} ({', '.join(models)})." for methods, models in own.items())
        for dataset, own in of.items()
    ]


def _remarks(rows: Sequence[Finding], facts: Sequence[FactsAsked]) -> Iterator[str]:
    """Yield what is said below the columns: verdicts by scores, examples shown, facts that names give away."""
    if by_scores := [one.method.label for one in rows if not one.method.by_answer and one.above is not None]:
        yield SIGN_TEST.format(shortened(by_scores, "; "))
    if shown := [one.label for one in rows if one.label != one.method.label]:
        yield f"Shown before each question: {shortened(shown, '; ')}."
    readable = [one for one in facts if one.guessable]
    of = [f"{one.guessable:,} of {one.tested:,} test facts (dataset {one.dataset})" for one in readable]
    if of:
        text = "their true objects stand in their subject's name (the setting “guessable: false” leaves them out)."
        yield f"Readable from the question: {shortened(of)}; {text}"


def _numbers(one: Finding, null: Measure | None) -> Sequence[Cell]:
    """Return what is known, by both intervals, by chance, by the null and above chance; none in a format not taught."""
    if one.verdict == NOT_TAUGHT:
        return (None,) * 5
    other = one.other_relations
    other = None if other is None or other.low is None else other  # a single relation says nothing of others
    return one.known, other, None if one.chance is None else one.chance.value, null, one.above


def _counted_as(row: Measure) -> int | None:
    """Return how many independent facts a number's interval rests on."""
    n = wilson_n(Estimate(row.value, row.low, row.high))
    return None if n is None else round(n)


def key_of(row: Measure) -> Key:
    """Return what a headline number is of."""
    return str(row.model), row.suite, row.dataset, row.where


def told(
    layout: Layout,
    found: Sequence[Finding],
    measures: Sequence[Measure],
    between: Sequence[Measure],
    facts: Sequence[FactsAsked],
    relations: Sequence[RelationsFound],
) -> Told:
    """Return what was found, in words: what the page begins with, and what a run ends with.

    ``measures`` are the numbers of models, ``between`` those between them; ``facts`` and ``relations`` are of each
    dataset.
    """
    entrants = {one.model: entrant(layout, one) for one in layout.config.asked()}
    controls = [name for name, one in entrants.items() if one.permuted]
    planted = {name for name, one in entrants.items() if one.world is not None}
    # What models that nobody planted were asked comes first: of planted ones it says something of methods alone.
    real = {one.known.dataset for one in found if one.known.model not in planted}
    found = sorted(found, key=lambda one: one.known.dataset not in real)
    taught = [said for one in facts if (said := one.taught(measures)) is not None]
    answered: dict[str, int] = {}
    for one in found:
        answered[one.known.dataset] = max(one.facts, answered.get(one.known.dataset, 0))
    compared = [
        *by_themselves(found, planted),
        *map(str, relations),
        *taught,
        *comparing.sentences(between, controls, layout.config.compare),
    ]
    of_facts = [*asked.sentences(facts, answered), *_asks_nothing(layout)]
    there = {one.dataset: one.tested + one.surplus for one in facts}
    return sentences(found, compared, of_facts, unanswered(layout), controls, there)


def _asks_nothing(layout: Layout) -> Iterator[str]:
    """Yield which suites ask nothing of a dataset, and why."""
    for suite, dataset, askings in layout.askings():
        folders = [layout.files(step).folder for asking in askings for step in layout.steps(asking)]
        if not any(tables.count(folder / "items.parquet", Item) for folder in folders):
            why = shown(layout, suite, dataset, askings).not_asked()
            yield " ".join([f"Nothing of dataset {dataset} is asked by {suite.label}.", *why])


def sentences(
    rows: Sequence[Finding],
    compared: Sequence[str] = (),
    facts: Sequence[str] = (),
    missing: Unanswered | None = None,
    controls: Collection[str] = (),
    there: Mapping[str, int] = MappingProxyType({}),
) -> Told:
    """Return what was found; the first sentence says whether anything is above chance at all.

    Args:
        rows: what was found.
        compared: what is said of taught facts, and of models side by side.
        facts: what is said of the facts that were asked and of those that were not.
        missing: what was not answered, and why.
        controls: models that were taught nothing true.
        there: how many facts of each dataset could be asked.
    """
    missing = missing or Unanswered()
    tested = [one for one in rows if one.verdict in TESTED]
    of: dict[str, list[Finding]] = defaultdict(list)
    for one in tested:
        of[one.known.dataset].append(one)
    if not tested:
        out = ["Nothing can be said: no method was answered by enough facts and in the form that was asked for"]
        out[0] += ", with a chance to hold it against." if any(one.verdict == UNDEFINED for one in rows) else "."
    elif not any(one.verdict == ABOVE_CHANCE for one in tested):
        models = shortened(str(one.known.model) for one in tested)
        out = [f"Nothing is distinguishable from chance: {models}, {_methods(tested)}."]
    else:
        out = [_of_dataset(dataset, own, controls) for dataset, own in of.items()]
    scored = [one for one in tested if one.verdict == ABOVE_CHANCE and one.above and (one.above.value or 0.0) <= 0]
    if scored:
        labels = shortened((f"{one.method.label} ({one.known.model})" for one in scored), "; ")
        out.append(f"Only scores are above chance, and no more true objects are known than false ones: {labels}.")
    if by_names := [one for one in tested if one.beyond_names is False]:
        several = len({one.known.model for one in tested}) > 1
        names = (one.method.label + f" ({one.known.model})" * several for one in by_names)
        labels = shortened(names, "; ")
        out.append(f"Without the facts that names give away, these are not shown to be above chance: {labels}.")
    failing = [own.told(model) for model, own in missing.failed.items()]
    notes = [*facts, *_not_answered(rows, missing), *missing.notes()]
    if few := [one for one in rows if one.verdict == TOO_FEW and one.facts]:
        labels = shortened((one.method.label for one in few), "; ")
        larger = any(one.facts < there.get(one.known.dataset, FEW) for one in few)
        advice = "A larger sample (SIZE=full or all, --size full or all) asks more" if larger else "There are no more"
        notes.append(f"Fewer than {FEW} facts, too few for a verdict, were answered to {labels}. {advice}.")
    if untested := {one.method.label: None for one in rows if one.verdict == UNDEFINED}:
        notes.append(f"Not tested, since no chance is defined: {shortened(untested, '; ')}.")
    if astray := {one.method.label: None for one in rows if one.verdict == NO_FORMAT}:
        notes.append(
            "Most answers of a model could not be judged, being in another form than was asked for or of several "
            f"tokens where one is scored: {shortened(astray, '; ')}."
        )
    return Told([*out, *failing, *compared], notes)


def _not_answered(rows: Sequence[Finding], missing: Unanswered) -> list[str]:
    """Return which models did not answer which methods at all; of many combinations, how many models.

    Those that failed at every request and texts that are too long are told elsewhere.
    """

    def asking(row: Finding) -> Asking:
        return Asking(str(row.known.model), row.known.suite, row.known.dataset)

    told_of = set(missing.too_long) - set(missing.unsupported)
    broken = {model for model, own in missing.failed.items() if own.every}
    silent: dict[str, list[Finding]] = defaultdict(list)
    for one in rows:
        if not (one.facts or asking(one) in told_of or one.known.model in broken):
            silent[str(one.known.model)].append(one)
    methods: dict[tuple[str, str], list[str]] = defaultdict(list)
    for model, own in silent.items():
        by_reason: dict[str, list[str]] = defaultdict(list)
        for one in own:
            why = missing.unsupported.get(asking(one))
            by_reason[f" Why, most often: “{why.commonest}”." if why else ""].append(one.method.label)
        for why_said, labels in by_reason.items():
            methods[shortened(labels, "; "), why_said].append(model)
    if len(methods) > TOLD:
        whole = len(silent) == len({one.known.model for one in rows})
        which = "No model answered every method" if whole else f"{len(silent)} models did not answer some methods"
        return [f"{which}; the page says which, below its table of methods."]
    parts = [f"No answers from {shortened(models)} to {labels}.{why}" for (labels, why), models in methods.items()]
    return [" ".join(parts)] if parts else []


def _of_dataset(dataset: str, rows: Sequence[Finding], controls: Collection[str]) -> str:
    """Return by how many of its methods each model is above chance, and by how much; alike models stand together.

    The least and the most that is known more than by chance are those of the methods that are above it.
    """
    models = list(dict.fromkeys(str(one.known.model) for one in rows))
    if not any(one.verdict == ABOVE_CHANCE for one in rows):
        whom = f"{shortened(models)}, {_methods(rows)}"
        return f"On {dataset}, nothing is distinguishable from chance over all facts that were asked: {whom}."
    own = {name: [one for one in rows if one.known.model == name] for name in models}
    alike: dict[tuple[int, int], list[str]] = defaultdict(list)  # all of them is 1 of 1, however many
    for name, found in own.items():
        hit = sum(one.verdict == ABOVE_CHANCE for one in found)
        alike[(1, 1) if hit == len(found) else (hit, len(found))].append(name)
    parts: list[str] = []
    for (hit, of), names in sorted(alike.items(), key=lambda one: (-one[0][0] / one[0][1], -one[0][1])):
        sure = [one for name in names for one in own[name] if one.verdict == ABOVE_CHANCE]
        span = _span(sure, named=hit < of and len(names) == 1)
        each = ", each" if len(names) > 1 else ""
        listed = shortened(f"{name} (a control)" if name in controls else name for name in names)
        counts = sorted({len(own[name]) for name in names})
        methods = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        of_them = f"{hit} of {of}" if hit < of else f"all of its {methods}" if counts[-1] > 1 else "its 1"
        know = "" if parts else f" know{'s' * (len(names) == 1)} more than chance"  # the first of them are above it
        parts.append(f"{listed}{know}{each} by {of_them} tested method{'s' * (counts[-1] != 1)}{span}")
    return f"Dataset {dataset}: {shortened(parts, '; ')}."


def _span(sure: Sequence[Finding], named: bool) -> str:
    """Return by how much methods are above chance, the least and the most; ``named``: and which methods they are."""
    more = [one.above.value or 0.0 for one in sure if one.above]
    ends = list(dict.fromkeys(share(end) for end in (min(more), max(more)))) if more else []
    parts = [shortened((one.method.label for one in sure), "; ")] if named and sure else []
    if ends:
        parts.append(f"{'their estimates: ' if len(ends) > 1 else ''}{' to '.join(ends)} above chance")
    return f" ({'; '.join(parts)})" if parts else ""


def by_themselves(rows: Sequence[Finding], planted: Collection[str]) -> Iterator[str]:
    """Yield what would be above chance if a model's rows of a dataset were a page of their own, where that is more.

    Verdicts are adjusted for all rows of a page, so that they hang on who else is there; of planted models it is left
    out, whose knowledge is no question.
    """
    tested = [one for one in rows if one.verdict in TESTED and one.above is not None]
    of: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in tested:
        if one.known.model not in planted:
            of[str(one.known.model), one.known.dataset].append(one)
    more = []
    for (model, dataset), own in of.items():
        adjusted = holm([one.above.p for one in own if one.above is not None and one.above.p is not None])
        alone = sum(p <= LEVEL for p in adjusted)
        if alone > sum(one.verdict == ABOVE_CHANCE for one in own):
            more.append(f"{model} would be above chance by {alone} of {len(own)} tested methods on {dataset}")
    if more:
        each = f"On a page of its own, {shortened(more, '; ')}."
        yield f"Verdicts are adjusted for all {len(tested)} tested rows of this page. {each}"


def _methods(rows: Sequence[Finding]) -> str:
    count = len({(one.known.suite, one.known.dataset, one.known.where) for one in rows})
    return f"{count} tested method{'s' * (count != 1)}"


def markdown(rows: Sequence[Finding]) -> str:
    """Return the findings as a table in Markdown, without methods that a model has not answered at all.

    A line below says what its intervals and verdicts are of.
    """
    cells: list[Sequence[Cell]] = []
    for one in (one for one in rows if one.facts):
        known, _, chance, _, above = _numbers(one, None)
        of = str(one.known.model), one.known.dataset, one.method.label
        cells.append((*of, known, chance, above, one.adjusted, one.facts, one.verdict))
    by_scores = shortened(
        (one.method.label for one in rows if not one.method.by_answer and one.above is not None), "; "
    )
    scored = f" Of these the verdict compares scores instead: {by_scores}." if by_scores else ""
    return f"{written.markdown(Table('findings', RULE, HEAD, cells))}\n{OF_THESE}{scored}"
