"""What the page shows of FactEval: both modes side by side, lists, parts, robustness, pairs of models, the texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from almanac.edition.layout import Layout
from almanac.report.chapter import Chapter
from almanac.report.explorer import follower
from almanac.rows import Measure, NotAsked, QuestionSimilarity, QuestionTexts
from almanac.suites.facteval import figures
from almanac.suites.facteval.measures import ALL
from almanac.suites.facteval.method import TEXTS
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import FIB, NONE, SUITE, TEMPLATE, parts

LEAST_VALID = 0.05  # share of true-false answers with a verdict; below, the model never learned the format
ROBUSTNESS = ("f1_without", "f1_with", "kept", "gained", "followed", "no_ops")
LISTS = ("list_precision", "list_recall", "list_f1", "recall")


@dataclass(frozen=True)
class FactEvalBoard:
    """One model in one type and style, asked in one way: its pooled numbers by mode and metric."""

    model: str
    experiment: str
    setting: str
    numbers: Mapping[str, Mapping[str, Measure]]

    def number(self, mode: str, metric: str) -> Measure | None:
        """Return a number; none where it was not measured."""
        return self.numbers.get(mode, {}).get(metric)

    @property
    def any(self) -> Measure:
        """Return any of its numbers, for the counts that all of them have."""
        return next(iter(next(iter(self.numbers.values())).values()))

    @property
    def answered(self) -> bool:
        """Whether the model gave an answer at all."""
        return self.any.n > self.any.n_error

    @property
    def abstains(self) -> bool:
        """Whether all its answers are abstentions."""
        return self.answered and self.any.n_missing == self.any.n - self.any.n_error

    @property
    def applicable(self) -> bool:
        """Whether true-false answers hold a verdict, abstentions aside, in any mode often enough."""
        found = [own["valid"] for own in self.numbers.values() if "valid" in own]
        shares = [
            (row.n_correct + row.n_incorrect) / answers
            for row in found
            if (answers := row.n_correct + row.n_incorrect + row.n_invalid)
        ]
        return not shares or max(shares) >= LEAST_VALID


@dataclass(frozen=True)
class Pair:
    """A model before and after instruction tuning, asked the same."""

    before: FactEvalBoard
    after: FactEvalBoard


@dataclass(frozen=True)
class FactEvalSection:
    """FactEval on one dataset.

    Attributes:
        dataset: its name.
        options: how it was asked and scored.
        boards: every model, type, style and way of asking.
        averages: the mean of F1 over types and styles.
        lists: rows of partial credit, by (model, experiment, setting) and metric.
        divided: F1 by domain, cardinality, type of object and so on, in the first mode.
        robust: rows that compare a passage with none, likewise.
        pairs: models before and after instruction tuning.
        texts: self-BLEU of the questions, the mean over relations.
        refused: what was not asked.
        measures: all rows.
        untaught: planted models that always abstain where a blank is to be filled, which no corpus teaches.
    """

    dataset: str
    options: FactEvalOptions
    boards: Sequence[FactEvalBoard]
    averages: Sequence[Measure]
    lists: Mapping[tuple[str, str, str], Mapping[str, Measure]]
    divided: Sequence[Measure]
    robust: Mapping[tuple[str, str, str], Mapping[str, Measure]]
    pairs: Sequence[Pair]
    texts: Sequence[QuestionTexts]
    refused: Sequence[NotAsked]
    measures: Sequence[Measure]
    untaught: Sequence[str] = ()

    @property
    def plain(self) -> list[FactEvalBoard]:
        """Return the boards of questions without a passage."""
        return list(filter(_plain, self.boards))


def chapters(layout: Layout) -> list[Chapter]:
    """Return FactEval's chapters, one a dataset."""
    out = []
    for dataset in layout.config.used_datasets(SUITE):
        askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (SUITE, dataset)]
        folder = layout.request_folder(SUITE, dataset)
        found = section(
            dataset,
            layout.config.suites.facteval[dataset],
            [row for asking in askings for row in layout.read(layout.measures(asking), Measure)],
            layout.read(folder / f"{TEXTS}.parquet", QuestionTexts),
            layout.read(folder / "refused.parquet", NotAsked),
            {name: one.model.name for name, one in layout.config.participants().items()},
        )
        planted = {name for name, one in layout.config.participants().items() if one.model.planted is not None}
        found = replace(found, untaught=sorted(planted & without_blanks(found.plain)))
        path = layout.similarity(dataset)
        alike = None if path is None else layout.read(path, QuestionSimilarity)
        values = {
            "section": found,
            "mode": found.options.modes[0],
            "metrics": (ROBUSTNESS, LISTS),
            "behind": follower(layout, [SUITE], dataset),
            "alike": None if alike is None else [row for row in alike if row.relation_id is None],
        }
        title, anchor = f"FactEval: {dataset}", f"facteval-{dataset}"
        out.append(Chapter(anchor, title, "facteval.html.j2", values, draw(found), found.measures))
    return out


def without_blanks(boards: Sequence[FactEvalBoard]) -> set[str]:
    """Return the models that abstain always where a blank is to be filled, with choices and without."""
    answered = [one for one in boards if one.experiment.endswith(f"-{FIB}") and one.answered]
    return {one.model for one in answered} - {one.model for one in answered if not one.abstains}


def section(
    dataset: str,
    options: FactEvalOptions,
    measures: Sequence[Measure],
    texts: Sequence[QuestionTexts],
    refused: Sequence[NotAsked],
    recipes: Mapping[str, str],
) -> FactEvalSection:
    """Sort the measures of all models on one dataset into what the chapter shows.

    Args:
        dataset: its name.
        options: the settings.
        measures: of all models.
        texts: of the questions.
        refused: what was not asked.
        recipes: the name that a model has in the configuration, by the name under which it was asked.
    """
    mode = options.modes[0]
    overall = [row for row in measures if row.relation_id is None and row.exposure is None and row.level is None]
    pooled = [row for row in overall if row.experiment != ALL and _asked(row) is not None]
    divided = [row for row in overall if _asked(row) is None and row.metric == "f1"]
    boards: dict[tuple[str, str, str], dict[str, dict[str, Measure]]] = {}
    for row in pooled:
        own = boards.setdefault((row.model, row.experiment, _asked(row) or ""), {})
        own.setdefault(parts(row.setting)["mode"], {})[row.metric] = row
    listed = [FactEvalBoard(*key, numbers) for key, numbers in boards.items()]
    listed.sort(key=lambda board: (board.experiment, board.setting))
    return FactEvalSection(
        dataset=dataset,
        options=options,
        boards=listed,
        averages=[row for row in overall if row.metric == "average_f1"],
        lists=_grouped([row for row in overall if row.setting.endswith(f"mode={mode},answers=multiple")], LISTS),
        divided=[row for row in divided if f",mode={mode}," in row.setting],
        robust=_grouped([row for row in pooled if row.setting.endswith(f"mode={mode}")], ROBUSTNESS),
        pairs=_pairs(list(filter(_plain, listed)), options.pairs, recipes),
        texts=[row for row in texts if row.relation_id is None],
        refused=refused,
        measures=measures,
    )


def _plain(board: FactEvalBoard) -> bool:
    """Whether nothing is read before the questions."""
    return parts(board.setting)["context"] == NONE


def _asked(row: Measure) -> str | None:
    """Return how the items behind a row were asked; none where it speaks of a part of them."""
    asked, _, rest = row.setting.partition(",mode=")
    return None if "," in rest else asked


def _grouped(rows: Sequence[Measure], metrics: Sequence[str]) -> dict[tuple[str, str, str], dict[str, Measure]]:
    """Return the rows of some metrics by model, experiment and way of asking; only where they begin with the first."""
    found: dict[tuple[str, str, str], dict[str, Measure]] = {}
    for row in rows:
        if row.metric in metrics:
            found.setdefault((row.model, row.experiment, row.setting.partition(",mode=")[0]), {})[row.metric] = row
    return {key: own for key, own in found.items() if metrics[0] in own}


def _pairs(boards: Sequence[FactEvalBoard], named: Sequence[str], recipes: Mapping[str, str]) -> list[Pair]:
    """Return each pair of models that were asked the same; planted ones within one world."""
    out = []
    for name in named:
        first, _, second = name.partition(":")
        for before in boards:
            for after in boards:
                same = (before.experiment, before.setting) == (after.experiment, after.setting)
                worlds = [board.model.removeprefix(recipes[board.model]) for board in (before, after)]
                models = (recipes[before.model], recipes[after.model])
                if same and models == (first, second) and worlds[0] == worlds[1]:
                    out.append(Pair(before, after))
    return out


def draw(found: FactEvalSection) -> dict[str, Figure]:
    """Draw a dataset's figures, by name: of questions from templates, with the first kind of wrong objects."""
    mode = found.options.modes[0]
    shown = {(board.model, board.experiment) for board in found.plain if board.answered and board.applicable}
    rows = [
        row
        for row in found.measures
        if row.relation_id is None and (row.model, row.experiment) in shown and _is_first(row, found.options)
    ]
    plain = [row for row in rows if parts(row.setting)["context"] == NONE and row.exposure is None]
    lead = [row for row in rows if row.setting.endswith(f",mode={mode}")]
    out = {}
    if plain:
        out[f"{found.dataset}-facteval-types"] = figures.by_type(plain)
    if any(row.metric == "abstained_by_exposure" for row in lead):
        out[f"{found.dataset}-facteval-abstention"] = figures.abstention_by_dose(lead)
    if len({parts(row.setting)["context"] for row in lead if row.metric == "f1"}) > 1:
        out[f"{found.dataset}-facteval-contexts"] = figures.by_context(lead)
    return out


def _is_first(row: Measure, options: FactEvalOptions) -> bool:
    """Whether a row is of questions from templates with the first kind of wrong objects, and of all of them."""
    own = parts(row.setting)
    first = own.get("negatives") in (None, options.negatives[0])
    return own.get("origin") == TEMPLATE and first and _asked(row) is not None
