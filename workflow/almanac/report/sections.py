"""What the page shows, as plain values: one section a suite and dataset, every number with the way to its items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.rows import (
    Item,
    Measure,
    Refused,
    Relation,
    RelationCount,
    Validation,
)

EXPERIMENTS = {"in_context": "in context", "cloze": "cloze"}


@dataclass(frozen=True)
class Number:
    """A value with its interval and the items it counts, as the page shows them."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    missing: int
    dataset: str
    model: str
    experiment: str
    setting: str
    metric: str


@dataclass(frozen=True)
class Board:
    """One row of a section's table: a model's overall numbers in one experiment."""

    model: str
    experiment: str
    setting: str
    accuracy: Number
    mass: Number
    sure: Number
    chance: float | None

    @property
    def applicable(self) -> bool:
        """Whether the model answered anything."""
        return self.accuracy.value is not None


@dataclass(frozen=True)
class Recovered:
    """One number of the recovery and the doses of the facts behind it, as the page shows them."""

    measure: Measure
    doses: str


@dataclass(frozen=True)
class Section:
    """One dataset: what was asked, the board, and the measures that its figures draw."""

    dataset: str
    invented: bool
    relations: Mapping[str, str]
    counts: Sequence[RelationCount]
    refused: Sequence[Refused]
    choices: int
    shots: int
    questions: int
    exclude_true: bool
    boards: Sequence[Board]
    recovery: Sequence[Recovered]
    measures: Sequence[Measure]


def sections(layout: Layout) -> list[Section]:
    """Read an edition's datasets and measures into sections, in the order of the configuration."""
    out = []
    for dataset in layout.config.used_datasets("ic_lke"):
        options = layout.config.suites.ic_lke[dataset]
        askings = [asking for asking in _asked(layout) if asking.dataset == dataset]
        measures = [row for asking in askings for row in layout.read(layout.measures(asking), Measure)]
        relations = layout.read(layout.dataset(dataset, "relations"), Relation)
        items = layout.read(layout.request_folder("ic_lke", dataset) / "items.parquet", Item)
        out.append(
            Section(
                dataset=dataset,
                invented=layout.config.datasets[dataset].world is not None,
                relations={row.relation_id: row.label for row in relations},
                counts=layout.read(layout.dataset(dataset, "counts"), RelationCount),
                refused=layout.read(layout.dataset(dataset, "refused"), Refused),
                choices=layout.config.datasets[dataset].choices,
                shots=options.shots,
                questions=len({item.fact_id for item in items}),
                exclude_true=layout.config.datasets[dataset].exclude_true,
                boards=_boards(measures),
                recovery=_recovery(measures),
                measures=measures,
            )
        )
    return out


def _asked(layout: Layout) -> list[Asking]:
    return [asking for asking in layout.config.asked() if asking.suite == "ic_lke"]


def _boards(measures: Sequence[Measure]) -> list[Board]:
    overall = {
        (row.model, row.experiment, row.setting, row.metric, row.level): row
        for row in measures
        if row.relation_id is None and row.exposure is None
    }
    keys = dict.fromkeys((model, experiment, setting) for model, experiment, setting, _, _ in overall)
    boards = []
    for key in keys:
        accuracy, mass, sure = (
            overall[*key, metric, level]
            for metric, level in (("accuracy", None), ("probability_mass", None), ("accuracy_at_k", 0.5))
        )
        chance = overall[*key, "chance", None].value
        boards.append(Board(*key, _number(accuracy), _number(mass), _number(sure), chance))
    order = list(EXPERIMENTS)
    return sorted(boards, key=lambda board: (order.index(board.experiment), not board.applicable))


def _recovery(measures: Sequence[Measure]) -> list[Recovered]:
    """Return the numbers of the recovery, each with the doses that it speaks of."""
    doses = [row.exposure for row in measures if row.exposure is not None]
    ends = f"0, {max(doses, default=0)}"
    spoken_of = {"recovery_auc": ends, "prior_auc": ends, "recovery_spearman": "any", "never_accuracy": "0"}
    out = []
    for row in measures:
        if row.value is not None and (row.metric in spoken_of or row.exposure is not None):
            out.append(Recovered(row, spoken_of.get(row.metric, str(row.exposure))))
    return out


def _number(row: Measure) -> Number:
    missing = row.n_missing + row.n_invalid + row.n_error
    names = (row.dataset, row.model, row.experiment, row.setting, row.metric)
    return Number(row.value, row.low, row.high, row.n, missing, *names)


def validation(layout: Layout) -> list[Validation]:
    """Read the validation, the judged rows first."""
    return sorted(layout.read(layout.validation(), Validation), key=lambda row: (not row.judged, row.model))
