"""What became of items, and the numbers of the report."""

from dataclasses import dataclass
from typing import ClassVar, Literal

OutcomeKind = Literal["correct", "incorrect", "missing", "invalid", "error"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: the prediction, its verdict, a score and a confidence (their meaning is the suite's)."""

    KEY: ClassVar = ("model", "item_id")
    model: str
    item_id: str
    prediction: str | None
    outcome: str
    score: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the report, its 95 % interval, its slice, and how many items stood behind it by outcome."""

    KEY: ClassVar = ("suite", "dataset", "experiment", "metric", "model", "setting", "relation_id", "exposure", "level")
    suite: str
    dataset: str
    experiment: str
    metric: str
    model: str
    setting: str
    relation_id: str | None
    exposure: int | None
    level: float | None
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_correct: int
    n_incorrect: int
    n_missing: int
    n_invalid: int
    n_error: int


@dataclass(frozen=True, slots=True)
class Validation:
    """What one method recovers of planted knowledge in one model, all worlds together, and whether that meets the bars.

    ``failed`` lists the bars that are missed; ``judged`` says whether there are bars for this row at all.
    """

    KEY: ClassVar = ("suite", "experiment", "setting", "model")
    suite: str
    experiment: str
    setting: str
    model: str
    worlds: int
    n: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    never: float | None
    never_low: float | None
    never_high: float | None
    chance: float
    prior_auc: float | None
    judged: bool
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number between models, with its 95 % interval (`suites/comparison.py` says which there are).

    ``model`` and ``other`` are names of models, or of series for a number between series; ``p`` is a test's where there
    is one; ``n`` counts what the number rests on: questions, relations or models.
    """

    KEY: ClassVar = ("suite", "dataset", "metric", "model", "other", "relation_id")
    suite: str
    dataset: str
    metric: str
    model: str | None
    other: str | None
    relation_id: str | None
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
