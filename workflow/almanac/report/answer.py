"""The table of methods, first on the page and last in a run's output: who knows more than chance, by which method."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from almanac.report import asked, written
from almanac.report.asked import FactsAsked
from almanac.report.known import RelationsFound
from almanac.report.lines import shortened
from almanac.report.sentences import Told
from almanac.rows import Measure
from almanac.statistics.intervals import Estimate, wilson_n
from almanac.suites.chapter import NOT_TAUGHT, Cell, Chapter, Drawing, Table
from almanac.suites.headline import NO_FORMAT, TOO_FEW, Finding

HEAD = ("model", "of", "method", "known", "chance", "above chance", "p", "facts", "verdict")
RULE = "\n\n".join(  # one paragraph for each column
    (
        "A row is what one method says of one model. Known: the share of the facts that it calls known. Chance: the "
        "share that would be right if the model knew nothing and answered as it does. Verdict: whether known is more.",
        "Known is a mean over relations. It is shown twice, with two 95 % intervals: one for other facts of these "
        "relations, one for other relations of their kind (there is none with a single relation).",
        "Chance: how often the model's own answers would be right for the other facts of their relation. If a method "
        "has scores and no answers, chance is how often it calls known the objects of those other facts, by a false "
        "object of each fact. For answers that name one of k choices it is at least 1/k on average; one that names "
        "none counts as 0. A model that knows some facts, and gives their objects for others too, has a high chance: "
        "what it knows may not be distinguishable from that.",
        "Above chance: known minus chance, with its 95 % interval.",
        "Verdict: by a one-sided test at .025 of whether so many right answers are likely by chance. p: of that test, "
        "adjusted for all rows together (Holm); the verdict follows it. Interval and verdict are of these relations "
        "and say nothing of others. Where the verdict is not distinguishable from chance, the upper end of above "
        "chance is the most that the method may have missed.",
        "Verdict and interval are computed in different ways and need not agree. The interval may include 0 where the "
        "verdict is above chance: the test uses how common objects are among all facts, chance how common they are "
        "among those that were offered or asked, which may be more. Of two models, the one with fewer right answers "
        "may be above chance, if its answers would be right for fewer other facts. The interval may also lie above 0 "
        "where the verdict is not above chance: verdicts are adjusted for all rows, intervals are not.",
        "Beyond names: whether the same test is also above chance on only the facts that names do not give away. Names "
        "give a fact away if, of the offered objects, the true one's name is most like the subject's (Bulgaria: "
        "Bulgarian lev), so that a rule without a model is right.",
        "Facts: how many were answered. Count as: how many facts, drawn at random from all relations at once, would "
        "give an interval as narrow as the first one. They may be more than were answered, since every relation is "
        "asked, or since a fact is asked in several ways and their mean counts; and fewer if a subject has several "
        "facts that go together.",
    )
)
NULL = (
    "Null: what the method finds in a model of the same recipe that was taught none of these facts, but a world with "
    "exchanged objects or, if a part of a source's facts was taught, objects of any facts of the relation. In the "
    "latter case it read other objects than the model itself, and so is not a matched control. A method with a "
    "threshold uses that of the model itself."
)
SIGN_TEST = (
    "Verdicts by scores: {} ask each fact with a false object too. Their verdict does not test the share above chance, "
    "but whether true objects have higher scores than false ones, whatever the threshold (a sign test, in which the "
    "more common of the two objects is more likely to be true). It may be above chance although hardly any fact is "
    "called known."
)
OF_THESE = (
    "Intervals (95 %) and verdicts are of these relations{}. Verdicts are adjusted for all rows (Holm) and intervals "
    "are not: an interval may lie above 0 where the verdict is not above chance, and include 0 where it is, since the "
    "chance of the test may be lower."
)
BY_MODEL = (
    "Above chance, a method a row and a model a column (dataset {}).\n\nKnown minus chance, with its 95 % interval of "
    "these relations: the numbers of the table above, whose verdicts are adjusted for all of them. Empty if a model "
    "was not asked, answered too few facts or mostly in another format, or was not taught the format. If a method "
    "chooses a threshold for each model, models may differ only by their thresholds: “Models compared” has one "
    "threshold for all."
)
Key = tuple[str, str, str, str]


def chapter(
    told: Told,
    rows: Sequence[Finding],
    nulls: Mapping[Key, Measure],
    facts: Sequence[FactsAsked] = (),
    figures: Iterable[Drawing] = (),
    relations: Sequence[RelationsFound] = (),
) -> Chapter:
    """Return the page's first chapter: sentences, figures, and the table of methods.

    Args:
        told: the `sentences`.
        rows: the findings.
        nulls: what the same method finds in the model's null, by model, suite, dataset and condition.
        facts: the facts of each dataset, asked and left out.
        figures: the results of all methods, side by side.
        relations: what is known of the relations of each dataset.
    """
    cells: list[Sequence[Cell]] = [
        (
            str(finding.known.model),
            finding.known.dataset,
            finding.method.label,
            finding.verdict,
            *_numbers(finding, nulls.get(key_of(finding.known))),
            finding.adjusted,
            None if finding.beyond_names is None else "yes" if finding.beyond_names else "not shown",
            finding.facts,
            None if finding.verdict == NOT_TAUGHT else _counted_as(finding.known),
        )
        for finding in rows
    ]
    known, above = ("known, of these relations", "known, of other relations"), "above chance, of these relations"
    head = (*HEAD[:3], "verdict", *known, "chance", "null", above, "p", "beyond names", "facts", "count as")
    caption = "\n\n".join([RULE, *([NULL] if nulls else []), *_remarks(rows, facts)])
    unanswered = [at for at, finding in enumerate(rows) if not finding.facts]
    of_relations = [found.table(len(relations) > 1) for found in relations]
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
            spreads=(*known, "null", above),
        ),
        *_unanswered(rows),
        *_by_model(rows),
        *(table for table in of_relations if not table.narrow),
        *([left_out] if (left_out := asked.table(facts)) is not None else []),
    ]
    return Chapter("What was found", "\n\n".join(told.found), parts)


def _by_model(rows: Sequence[Finding]) -> Iterator[Table]:
    """Yield, for each dataset with several models, a table of shares above chance: a row a method, a column a model."""
    above: dict[str, dict[str, dict[str, Measure]]] = defaultdict(lambda: defaultdict(dict))
    for finding in rows:
        if finding.above is not None and finding.verdict not in (NOT_TAUGHT, NO_FORMAT, TOO_FEW):
            above[finding.known.dataset][finding.label][str(finding.known.model)] = finding.above
    for dataset, methods in above.items():
        models = list(dict.fromkeys(str(one.known.model) for one in rows if one.known.dataset == dataset))
        models = [name for name in models if any(name in by_model for by_model in methods.values())]
        if len(models) > 1:
            cells = [(label, *map(by_model.get, models)) for label, by_model in methods.items()]
            yield Table(f"above-{dataset}", BY_MODEL.format(dataset), ("method", *models), cells, folded=True)


def _unanswered(rows: Sequence[Finding]) -> list[str]:
    """Return, for each dataset, a note on the methods that models did not answer, grouped by the same methods."""
    labels: dict[tuple[str, str], list[str]] = defaultdict(list)
    for finding in rows:
        if not finding.facts:
            labels[finding.known.dataset, str(finding.known.model)].append(finding.method.label)
    models_by_methods: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (dataset, model), found in labels.items():
        models_by_methods[dataset]["; ".join(found)].append(model)
    return [
        f"Of dataset {dataset}, not answered at all and so only in the files of this table: "
        + " ".join(f"{methods} ({', '.join(models)})." for methods, models in groups.items())
        for dataset, groups in models_by_methods.items()
    ]


def _remarks(rows: Sequence[Finding], facts: Sequence[FactsAsked]) -> Iterator[str]:
    """Yield the notes below the table: verdicts by scores, examples shown, facts that names give away."""
    if by_scores := _by_scores(rows):
        yield SIGN_TEST.format(by_scores)
    if shown := [finding.label for finding in rows if finding.label != finding.method.label]:
        yield f"Shown before each question: {shortened(shown, '; ')}."
    guessable = [one for one in facts if one.guessable]
    if guessable:
        counts = (f"{one.guessable:,} of {one.tested:,} test facts (dataset {one.dataset})" for one in guessable)
        text = "the true objects stand in the subject's name (the setting “guessable: false” leaves them out)."
        yield f"Readable from the question: {shortened(counts)}; {text}"


def _by_scores(rows: Sequence[Finding]) -> str:
    """Return the labels of the methods whose verdict compares scores."""
    return shortened((one.method.label for one in rows if not one.method.by_answer and one.above is not None), "; ")


def _numbers(finding: Finding, null: Measure | None) -> Sequence[Cell]:
    """Return the cells known (both intervals), chance, null and above chance; none for a format not taught."""
    if finding.verdict == NOT_TAUGHT:
        return (None,) * 5
    other = finding.other_relations
    other = None if other is None or other.low is None else other  # one relation gives no interval over relations
    return finding.known, other, None if finding.chance is None else finding.chance.value, null, finding.above


def _counted_as(row: Measure) -> int | None:
    """Return the number of independent facts that would give an interval of the same width."""
    n = wilson_n(Estimate(row.value, row.low, row.high))
    return None if n is None else round(n)


def key_of(row: Measure) -> Key:
    """Return the key of a headline number: model, suite, dataset and condition."""
    return str(row.model), row.suite, row.dataset, row.where


def markdown(rows: Sequence[Finding]) -> str:
    """Return the findings as a Markdown table, without methods that a model did not answer at all.

    A line below it explains the intervals and verdicts.
    """
    cells: list[Sequence[Cell]] = []
    for finding in (finding for finding in rows if finding.facts):
        known, _, chance, _, above = _numbers(finding, None)
        of = str(finding.known.model), finding.known.dataset, finding.method.label
        cells.append((*of, known, chance, above, finding.adjusted, finding.facts, finding.verdict))
    scored = f" Of these the verdict compares scores instead: {labels}." if (labels := _by_scores(rows)) else ""
    others = "; for what is known, the page also has the interval of other relations"
    of_these = OF_THESE.format(others * any(_numbers(finding, None)[1] is not None for finding in rows))
    return f"{written.markdown(Table('findings', RULE, HEAD, cells))}\n{of_these}{scored}"
