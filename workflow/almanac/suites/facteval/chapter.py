"""FactEval's chapter of the page: scores by mode, lists, parts, passages, pairs of models, texts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.suites.chapter import NOT_TAUGHT, Cell, Chapter, Drawing, Shown, Table, filled, silent
from almanac.suites.facteval.judging import OFFICIAL
from almanac.suites.facteval.measures import BY, FORM, LISTS, PAIRED, PARTS, SCORES
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import CONTEXTS, FORMATS, NAMES, NONE, ORIGINS, POOLS, TEMPLATE, FactEvalSetting
from almanac.suites.facteval.texts import VALUES

LEAST_VALID = 0.05  # least share of true-false answers with a verdict; below it the model has not learned the format
ASKED = (*FORM, "context")
COUNTED = ("counted", *BY)  # columns that pooled metrics are selected by
PASSAGES = ("f1_without", "f1_with", "f1_change", "kept", "gained", "followed", "no_ops")
READ_HOW = (
    "Precision: the share of the answered questions that is right. Recall: the share of the asked ones. F1: their "
    "harmonic mean. Abstentions lower only recall; an answer without a verdict counts as wrong; errors are left "
    "out. Mode strict reads the whole answer, with aliases, dates and numbers; mode paper accepts a short answer "
    "that contains a true name or is part of one; mode official does what the released scorer does."
)


@dataclass(frozen=True)
class FormBoard:
    """The pooled metrics of one model in one experiment and setting (``where``), by reading and metric.

    ``taught`` is false for a planted model that was never taught the format of these questions.
    """

    model: str
    where: Mapping[str, Any]
    numbers: Mapping[str, Mapping[str, Measure]]
    taught: bool = True

    def number(self, reading: str, metric: str) -> Measure | None:
        """Return a metric; None if it was not computed."""
        return self.numbers.get(reading, {}).get(metric)

    @property
    def any(self) -> Measure:
        """Any of the metrics, for the counts, which are equal in all."""
        return next(iter(next(iter(self.numbers.values())).values()))

    @property
    def answered(self) -> bool:
        """Whether the model gave any answer."""
        return self.any.n > self.any.n_error

    @property
    def applicable(self) -> bool:
        """Whether the model knows the format: taught, and for true or false enough valid answers in some mode."""
        found = [own["valid"] for own in self.numbers.values() if "valid" in own]
        shares = [
            (row.n_correct + row.n_incorrect) / answers
            for row in found
            if (answers := row.n_correct + row.n_incorrect + row.n_invalid)
        ]
        return self.taught and (not shares or max(shares) >= LEAST_VALID)

    @property
    def void(self) -> str | None:
        """Why the metrics say nothing; None if they do say something."""
        if not self.taught:
            return NOT_TAUGHT
        if not self.applicable:
            return "not applicable: its answers contain no verdict"
        abstains = self.answered and self.any.n_missing == self.any.n - self.any.n_error
        return "not applicable: it always abstains" if abstains else None


def chapter(shown: Shown, options: FactEvalOptions) -> Chapter | None:
    """Return FactEval's chapter about a dataset; None without metrics."""
    found = boards(shown)
    if not found:
        return None
    first = options.modes[0]
    plain = [board for board in found if board.where["context"] == NONE]
    kept = {(one.model, one.where["experiment"]) for one in found if one.answered and one.applicable}
    asks = (
        "Every fact is turned into questions: true or false, multiple choice and short answer, as a statement, with a "
        "blank or as a question (in the files: tfq, mcq, saq; statement, fib, wh)."
    )
    parts = [
        READ_HOW,
        _scores(plain, options),
        *_notes(plain),
        *_drawings(shown, kept, options),
        _averages(shown),
        _tuned(shown, plain, first),
        _lists(shown, first),
        _passages(shown, first),
        _parts(shown, kept, first),
        _relations(shown, kept, first),
        *_texts(shown),
        *_alike(shown, options),
        *shown.not_asked(),
    ]
    return filled("FactEval", asks, parts)


def boards(shown: Shown) -> list[FormBoard]:
    """Return the metrics of each model, experiment and setting, sorted by the latter two, then in the models' order."""
    entrants = {one.name: one for one in shown.models}
    numbers: dict[tuple[Any, ...], dict[str, dict[str, Measure]]] = {}
    for metric, keys in {**dict.fromkeys((*SCORES, "abstained"), ()), "valid": ("type",)}.items():
        for row in shown.find(metric, *COUNTED, *keys):
            where = shown.at(row)
            key = (row.model, *(where[name] for name in ASKED))
            numbers.setdefault(key, {}).setdefault(str(where["reading"]), {})[metric] = row
    found = []
    for (model, *setting), own in numbers.items():
        where = dict(zip(ASKED, setting, strict=True))
        taught = entrants[model].understands(FORMATS.get(where["experiment"]))
        found.append(FormBoard(model, where, own, taught))
    return sorted(found, key=lambda one: (*map(str, one.where.values()), list(entrants).index(one.model)))


def _description(where: Mapping[str, Any]) -> str:
    """Describe how questions were asked to a reader of the page."""
    setting = FactEvalSetting(where["origin"], where["negatives"], where["context"])
    return f"{NAMES[where['experiment']]}, {setting.label()}"


def _scores(plain: Sequence[FormBoard], options: FactEvalOptions) -> Table:
    first, *others = options.modes
    head = ["model", "question", "asked", "precision", "recall", "F1", *(f"F1, {other}" for other in others)]
    rows: list[Sequence[Cell]] = []
    for board in plain:
        if board.answered:
            numbers: list[Cell] = [board.number(first, metric) for metric in SCORES]
            numbers += [board.number(other, "f1") for other in others]
            if board.void is not None:
                numbers = [board.void, *(None for _ in numbers[1:])]
            abstained = board.number(first, "abstained")
            counts = (abstained, (abstained or board.any).n_invalid, board.any.n_error)
            rows.append([board.model, _description(board.where), board.any.n, *numbers, *counts])
    caption = f"Questions without a passage, scored by mode {first}."
    return Table("scores", caption, [*head, "abstained", "no verdict", "no answer"], rows)


def _notes(plain: Sequence[FormBoard]) -> Iterator[str]:
    """Yield a sentence for each model and way of asking without any answer."""
    for board in plain:
        if not board.answered:
            yield f"{board.model}, {_description(board.where)}: without an answer ({silent(board.any)})."


def _drawings(shown: Shown, kept: Collection[tuple[str, str]], options: FactEvalOptions) -> Iterator[Drawing]:
    """Yield the figures, which show the first kind of wrong objects only, and mostly questions from templates.

    ``kept`` has each model with the experiments that it answered and that are applicable to it.
    """
    from almanac.suites.facteval import figures  # matplotlib, which nothing else of the suite needs
    from almanac.suites.looks import lines_along

    def drawn(metric: str, *keys: str, origin: str | None = TEMPLATE, **fixed: Any) -> list[Measure]:
        return [
            row
            for row in shown.valued(metric, *keys, **fixed)
            if (where := shown.at(row))["origin"] == (origin or where["origin"])
            and where["negatives"] in (None, options.negatives[0])
            and (row.model, where["experiment"]) in kept
        ]

    def form(row: Measure) -> str:
        return NAMES[str(shown.at(row)["experiment"])]

    first = options.modes[0]
    pooled = [row for metric in figures.METRICS for row in drawn(metric, *COUNTED, context=NONE)]
    if pooled:
        hollow = f"; filled: mode {first}, hollow: mode {OFFICIAL}" if OFFICIAL in options.modes[1:] else ""
        caption = f"Precision, recall and F1 by type and style{hollow}."
        yield Drawing("types", caption, lambda: figures.by_type(pooled, first))
    worded = drawn("f1", *COUNTED, origin=None, context=NONE, reading=first)
    if len({shown.at(row)["origin"] for row in worded}) > 1:
        caption = "F1 on questions from templates and on those that a model wrote."
        yield Drawing("origins", caption, partial(lines_along, worded, "origin", "F1", ORIGINS, form))
    if abstained := drawn("abstained_by_exposure", *COUNTED, "dose"):
        caption = "Share of abstentions by how often a fact was taught, with 95 % intervals."
        yield Drawing(
            "abstention", caption, partial(lines_along, abstained, "dose", "share of abstentions", panel=form)
        )
    read = drawn("f1", *COUNTED, reading=first)
    if len({shown.at(row)["context"] for row in read}) > 1:
        caption = (
            "F1 by the passage read before the question. Each point counts all questions asked with that passage; "
            "the table of passages compares the same questions with and without one."
        )
        yield Drawing(
            "contexts", caption, partial(lines_along, read, "context", "F1", CONTEXTS, form, rotation=40, ha="right")
        )


def _averages(shown: Shown) -> Table:
    rows: list[Sequence[Cell]] = []
    for row in shown.valued("average_f1", "counted", "context", "reading", "negatives"):
        where = shown.at(row)
        negatives = where["negatives"]
        kind = "" if negatives is None else f", wrong objects of {POOLS.get(negatives[-1], negatives[-1])}"
        passage = "no passage" if where["context"] == NONE else f"{where['context']} passage"
        own = [shown.one(f"paper_average_{metric}", row.model, eight=True, **where) for metric in SCORES]
        rows.append([row.model, f"{passage}{kind}, mode {where['reading']}", row, row.n, *own])
    caption = (
        "Mean F1: the unweighted mean over types, styles and origins, also of those that are not applicable or not "
        "taught (without any verdict F1 is 0), so it says less of such a model. "
        "AVG: the paper's mean over its eight columns, if all are asked: Wh-questions as a model wrote them, all "
        "others both from templates and as a model wrote them."
    )
    head = ["model", "asked", "mean F1", "questions", "AVG, precision", "AVG, recall", "AVG, F1"]
    return Table("averages", caption, head, rows, folded=True)


def _tuned(shown: Shown, plain: Sequence[FormBoard], first: str) -> Table:
    own = {(board.model, *board.where.values()): board for board in plain}
    rows: list[Sequence[Cell]] = []
    for row in shown.find("f1_difference", *COUNTED, reading=first):
        where = {name: shown.at(row)[name] for name in ASKED}
        pair = [own[name, *where.values()] for name in (row.other, row.model)]
        cells: list[Cell] = [f"{row.other} → {row.model}", _description(where)]
        cells += [one.number(first, "f1") if one.applicable else one.void for one in pair]
        cells.append(row if all(one.applicable for one in pair) else None)
        cells += [one.number(first, "abstained") for one in pair]
        found = shown.find("abstained_difference", *COUNTED, model=row.model, reading=first, **where)
        cells.append(next(iter(one for one in found if one.other == row.other), None))
        rows.append(cells)
    told = [f"{metric} {what}" for metric in ("F1", "abstained") for what in ("before", "after", "difference")]
    caption = "Instruction tuning: the same questions before and after."
    return Table("tuning", caption, ["models", "question", *told], rows)


def _lists(shown: Shown, first: str) -> Table:
    rows: list[Sequence[Cell]] = []
    for row in shown.find("list_f1", *COUNTED, "type", answers="multiple", reading=first):
        where = shown.at(row)
        fixed = {name: where[name] for name in COUNTED}
        found = [shown.one(metric, str(row.model), **where) for metric in LISTS]
        match = shown.one("recall", str(row.model), **fixed, answers="multiple")
        rows.append([row.model, _description(where), row.n, match, *found])
    caption = (
        "Questions with several true objects. Any match: as in the paper, an answer is right that names one of them. "
        "Precision, recall and F1 give credit for each object, and are averaged over questions."
    )
    head = ["model", "question", "asked", "any match", "precision", "recall", "F1"]
    return Table("lists", caption, head, rows, folded=True)


def _passages(shown: Shown, first: str) -> Table:
    found: dict[tuple[Any, ...], dict[str, Measure]] = {}
    for metric in PASSAGES:
        for row in shown.measures:
            if row.metric == metric and (where := shown.at(row))["reading"] == first:
                passage = [name.removeprefix(PAIRED) for name in where if name.startswith(PAIRED)]
                key = (row.model, *(where[name] for name in FORM), *(passage or [str(where["context"])]))
                found.setdefault(key, {})[metric] = row
    rows: list[Sequence[Cell]] = []
    for (model, *setting), own in found.items():
        if (both := own.get("f1_with")) is not None and both.value is not None:
            description = _description(dict(zip(ASKED, setting, strict=True)))
            rows.append([model, description, *(own.get(metric) for metric in PASSAGES)])
    caption = (
        "The same questions with a passage and without. Kept: of those right without it, the share right with it. "
        "Gained: of those not right without it, the share right with it. Followed: the answer names the wrong object "
        "that the passage states. Left out: the share of questions in whose passage nothing could be replaced; they "
        "count nowhere else."
    )
    head = ["model", "question", "F1 without", "F1 with", "change", "kept", "gained", "followed", "left out"]
    return Table("passages", caption, head, rows)


def _parts(shown: Shown, kept: Collection[tuple[str, str]], first: str) -> Table:
    rows: list[Sequence[Cell]] = []
    for part in PARTS:
        for row in shown.valued("f1", *COUNTED, part, reading=first):
            where = shown.at(row)
            if (row.model, where["experiment"]) in kept:
                rows.append([row.model, _description(where), f"{part.replace('_', ' ')}: {where[part]}", row.n, row])
    caption = "F1 by domain, cardinality, type of object, truth of the statement, and number of true objects."
    return Table("parts", caption, ["model", "question", "part", "asked", "F1"], rows, folded=True)


def _relations(shown: Shown, kept: Collection[tuple[str, str]], first: str) -> Table:
    rows = shown.valued("f1", *COUNTED, "relation", reading=first)
    told = ((row, _description(where)) for row in rows if (row.model, (where := shown.at(row))["experiment"]) in kept)
    return shown.by_relation("relations", "F1 by relation.", told, ("question", "F1", "answered"))


def _texts(shown: Shown) -> Iterator[Table]:
    if "texts" in shown.own:
        names = ("experiment", "origin", "negatives", "questions", "self_bleu")
        totals = shown.own["texts"].filter(pl.col("relation_id").is_null()).select(names)
        caption = (
            "Self-BLEU (3-grams): how similar the questions of a relation are to each other; the mean over relations."
        )
        head = ("question", "origin", "wrong objects", "questions", "self-BLEU")
        yield Table("texts", caption, head, [(NAMES[name], *own) for name, *own in totals.rows()], folded=True)


def _alike(shown: Shown, options: FactEvalOptions) -> Iterator[Table | str]:
    if options.embedder is None:
        yield (
            "The similarity of questions from templates and from a model is not measured: no model is named for it "
            f"(suites.facteval.{shown.dataset}.embedder)."
        )
        return
    rows: list[Sequence[Cell]] = []
    for row in shown.find("bertscore_f1", "reading", "bertscore_f1", "style"):
        style = shown.at(row)["style"]
        found = [shown.one(name, None, "reading", "bertscore_f1", style=style) for name in VALUES]
        rows.append([str(style), row.n, *found])
    if not rows:
        yield "No question exists both from a template and from a model, so nothing is compared."
        return
    caption = (
        "BERTScore between questions from a model and from templates, and their embedding distance; the mean over "
        "relations."
    )
    yield Table("alike", caption, ["style", "questions", "precision", "recall", "F1", "distance"], rows, folded=True)
