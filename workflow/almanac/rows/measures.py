"""Outcomes of items, and the metrics of the report."""

from dataclasses import dataclass
from typing import ClassVar, Literal

OutcomeKind = Literal["correct", "incorrect", "missing", "invalid", "error"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judged outcome of an item: prediction, verdict, score and confidence.

    ``reading`` names the way in which the answer was read, if the suite has several; else it is empty.
    """

    KEY: ClassVar = ("item", "reading")
    item: int
    reading: str
    prediction: str | None
    outcome: str
    score: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Measure:
    """One number (a metric's value) with its 95 % interval, and the items that it counts.

    ``where`` selects the items, as JSON: a condition for each of some columns of `suites.judged`. A condition is a
    value, a list of values, ``null`` (no value), ``{"from": a, "below": b}`` (a range without b) or ``{"not": value}``
    (``{"not": null}``: any value).

    ``formula`` is how the number is computed from the columns ``of``: ``mean`` (clustered by subject); ``macro``, the
    mean over relations of their means; ``macro_of_facts``, the same with each fact's items averaged first; ``ratio`` of
    two sums; ``median``; ``auc``; ``spearman``; ``count`` of facts; ``other``, which the suite's page defines.

    ``n`` counts the items, and ``n_correct`` to ``n_error`` those with each outcome. In a number between models ``n``
    counts facts, even if they are asked several times, and the other counts are 0. A number over several datasets has
    an empty ``dataset``. A number between two models names the second as ``other``; one of all models has no ``model``.
    ``p`` is the p-value of a test, not adjusted.
    """

    KEY: ClassVar = ("suite", "dataset", "model", "other", "metric", "where")
    suite: str
    dataset: str
    model: str | None
    other: str | None
    metric: str
    where: str
    formula: str
    of: tuple[str, ...]
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    n_correct: int
    n_incorrect: int
    n_missing: int
    n_invalid: int
    n_error: int


@dataclass(frozen=True, slots=True)
class Validation:
    """How well one method recovers planted knowledge in one model, over all worlds, and whether that meets the bars.

    It uses the first dataset of each world that the suite is asked. ``where`` selects the items, as in `Measure`.
    ``failed`` lists the missed bars; ``judged`` says whether there are bars for this row at all. ``auc`` and
    ``prior_auc`` are means over worlds, each with a model of its own; ``spearman`` and ``never``, the accuracy on facts
    never taught, are over all facts. ``chance`` is what the page calls guessing: 1/k of k choices, or how often false
    objects are called known or stand in a text; 0 if an answer cannot be guessed. Intervals cover 95 %; that of
    ``never`` covers 95 % for all judged rows together (Bonferroni), and so is wider in these.
    """

    KEY: ClassVar = ("suite", "method", "where", "model")
    suite: str
    method: str
    where: str
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
class Standing:
    """How well one method recovers what planted models were taught, on the facts that all methods here asked.

    ``axis`` and ``level`` name the data: ``all``, the main comparison, or a part or variant of it (``world``,
    ``model``, ``templates``, ``choices``, ``format``; ``dose``: facts of this dose in the place of the highest;
    ``criterion``: ``auc`` is ``balanced``). ``where`` selects the method's items, as in `Measure`. ``facts`` counts
    those taught most often or never: AUC and average precision compare these two groups. ``known_most`` and
    ``known_never`` are the shares that the method calls known, and ``balanced`` is the balanced accuracy, (known_most +
    1 - known_never) / 2. ``spearman`` correlates the doses of all facts with what is called known, a mean over worlds
    and models. ``graded``: the method's scores differ among facts that it does not call known, or not in all wordings;
    if not, the method says only right or wrong, and its AUC is ``balanced``. ``gap`` is the AUC of the first method
    minus its own; ``prior_auc`` is the AUC of the objects' frequency alone, .5 if facts are balanced. ``tau`` is
    Kendall's, between the order of the methods here and in ``all``.
    """

    KEY: ClassVar = ("axis", "level", "suite", "method", "where")
    axis: str
    level: str
    suite: str
    method: str
    where: str
    place: int
    worlds: int
    models: tuple[str, ...]
    facts: int
    auc: float
    auc_low: float | None
    auc_high: float | None
    gap: float
    gap_low: float | None
    gap_high: float | None
    graded: bool
    average_precision: float
    spearman: float | None
    balanced: float
    balanced_low: float | None
    balanced_high: float | None
    known_most: float
    known_never: float
    prior_auc: float
    tau: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two methods agree on the facts of one model that both asked.

    ``where`` and ``other_where`` select each method's items, as in `Measure`. Of the ``n`` facts, ``both`` are called
    known by both methods, ``first`` and ``second`` by one alone, ``neither`` by none. ``rho`` correlates their scores.
    """

    KEY: ClassVar = ("dataset", "model", "suite", "method", "where", "other_suite", "other_method", "other_where")
    dataset: str
    model: str
    suite: str
    method: str
    where: str
    other_suite: str
    other_method: str
    other_where: str
    n: int
    both: int
    first: int
    second: int
    neither: int
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    rho: float | None
    rho_low: float | None
    rho_high: float | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How many ``methods`` asked a model for a fact and got an answer, and how many of them call it ``known``."""

    KEY: ClassVar = ("dataset", "model", "fact_id")
    dataset: str
    model: str
    fact_id: str
    methods: int
    known: int
