"""What the page shows, as plain values: one section a suite and dataset, every number with the way to its items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from almanac.config import Asking
from almanac.dataset.names import ObjectNames
from almanac.edition.layout import Layout
from almanac.edition.remeasure import exposures_of
from almanac.rows import (
    Context,
    Entity,
    Fact,
    Item,
    Link,
    Measure,
    Outcome,
    Refused,
    Relation,
    RelationCount,
    Request,
    Validation,
)

EXPERIMENTS = {"in_context": "in context", "cloze": "cloze"}
MOST_EMBEDDED = 60_000  # outcomes; beyond, the page would no longer open quickly, and names the files instead


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


def _asked(layout: Layout, suite: str = "ic_lke") -> list[Asking]:
    return [asking for asking in layout.config.asked() if asking.suite == suite]


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


def explorer(layout: Layout) -> dict[str, Any]:
    """Return the items behind the numbers, for the page's own look-up; without outcomes where they are too many.

    Items stand once a dataset; outcomes are parallel lists a model.
    """
    askings = _asked(layout)
    items_of = {
        dataset: layout.read(layout.request_folder("ic_lke", dataset) / "items.parquet", Item)
        for dataset in layout.config.used_datasets("ic_lke")
    }
    total = sum(len(items_of[asking.dataset]) for asking in askings)
    embedded = total <= MOST_EMBEDDED
    return {
        "embedded": embedded,
        "contexts": _contexts(layout) if embedded else {},
        "root": f"results/{layout.config.edition}",
        "datasets": {name: _item_columns(layout, name, items) for name, items in items_of.items() if embedded},
        "outcomes": [_outcome_columns(layout, asking, items_of[asking.dataset]) for asking in askings if embedded],
    }


def _contexts(layout: Layout) -> dict[str, str]:
    folders = [layout.request_folder("ic_lke", dataset) for dataset in layout.config.used_datasets("ic_lke")]
    rows = [row for folder in folders for row in layout.read(folder / "contexts.parquet", Context)]
    return {"": ""} | {row.context_id: row.text for row in rows}


def _item_columns(layout: Layout, dataset: str, items: Sequence[Item]) -> dict[str, list[Any]]:
    names = ObjectNames.of(layout.read(layout.dataset(dataset, "entities"), Entity))
    facts = {row.fact_id: row for row in layout.read(layout.dataset(dataset, "facts"), Fact)}
    links = {row.item_id: row for row in layout.read(layout.request_folder("ic_lke", dataset) / "links.parquet", Link)}
    requests = {
        row.request_id: row for path in layout.requests("ic_lke", dataset) for row in layout.read(path, Request)
    }
    asked = [requests[links[item.item_id].request_id] for item in items]
    return {
        "experiment": [item.experiment for item in items],
        "setting": [item.setting for item in items],
        "relation": [item.relation_id for item in items],
        "subject": [names.label(facts[item.fact_id].subject_id) for item in items],
        "object": [names.label(facts[item.fact_id].object_key) for item in items],
        "item": [item.item_id for item in items],
        "request": [request.request_id[:12] for request in asked],
        "context": [request.context_id or "" for request in asked],
        "text": [request.text for request in asked],
    }


def _outcome_columns(layout: Layout, asking: Asking, items: Sequence[Item]) -> dict[str, Any]:
    by_item = {row.item_id: row for row in layout.read(layout.outcomes(asking), Outcome)}
    doses = {row.fact_id: row.dose for row in exposures_of(layout, asking) or ()}
    found = [by_item[item.item_id] for item in items]
    return {
        "model": asking.model,
        "dataset": asking.dataset,
        "prediction": [row.prediction for row in found],
        "outcome": [row.outcome for row in found],
        # Rounded down, so that what the page counts at .5 and above is what accuracy@K counted.
        "confidence": [None if row.confidence is None else math.floor(row.confidence * 1000) / 1000 for row in found],
        "score": [None if row.score is None else round(row.score, 2) for row in found],
        "dose": [doses.get(item.fact_id) for item in items],
    }
