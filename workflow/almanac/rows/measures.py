"""Outcomes of items, and the metrics of the report."""

from dataclasses import dataclass
from typing import ClassVar, Literal

OutcomeKind = Literal["correct", "incorrect", "missing", "invalid", "error"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judged outcome of an item.

    Attributes:
        reading: the way in which the answer was read, where the suite has several; else it is empty.
        prediction: the answer as it was read.
        outcome: ``correct``, ``incorrect``, ``missing``, ``invalid`` or ``error``.
        score: what facts are ranked by; each suite's page says what it is.
        confidence: from 0 to 1, where the suite has one.
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
    """One number with its 95 % interval, and the items that it counts.

    Attributes:
        dataset: empty for a number over several datasets together.
        model: empty for a number that compares all models.
        other: the second model of a number that compares two.
        metric: the number's name.
        where: which items are counted, as JSON: conditions by columns of the scored items. A condition is a value, a
            list of values, ``null`` (no value), ``{"from": a, "below": b}`` (a range without b) or ``{"not": value}``
            (``{"not": null}``: any value).
        formula: how the number is computed from the columns ``of``: ``mean`` (clustered by subject); ``macro``, the
            mean over relations of their means; ``macro_of_facts``, the same with each fact's items averaged first;
            ``ratio`` of two sums; ``median``; ``auc``; ``spearman``; ``count`` of facts; ``other``, which the suite's
            page defines.
        of: the columns that the formula uses.
        value: the number.
        low: the lower limit of its interval.
        high: the upper limit.
        p: the p-value of the number's test, not adjusted for multiple testing.
        n: how many items are counted; between models, how many facts, even if they are asked several times.
        n_correct: how many of the items are correct; between models 0, as for the other outcomes.
        n_incorrect: how many are incorrect.
        n_missing: how many are missing.
        n_invalid: how many are invalid.
        n_error: how many are errors.
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

    It uses the first dataset of each world that the suite is asked. Intervals cover 95 %.

    Attributes:
        worlds: how many invented worlds; of each another model is asked.
        n: how many facts.
        auc: how likely a fact of the highest dose scores above a fact never taught; mean over worlds.
        spearman: Spearman's rank correlation of dose and correctness, over all facts.
        never: the share of facts never taught that the method calls known. In judged rows its interval is wider: it
            covers 95 % for all these rows together (Bonferroni).
        chance: what the page calls guessing: 1/k of k choices, or how often false objects are called known or stand in
            a text; 0 if an answer cannot be guessed.
        prior_auc: the AUC of the objects' frequency alone; mean over worlds.
        judged: whether there are bars for this row.
        failed: the bars that are missed.
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

    Attributes:
        axis: what is varied: ``all`` (nothing), ``world``, ``model``, ``templates``, ``choices``, ``format``, ``dose``
            (facts of this dose in the place of the highest) or ``criterion`` (``auc`` is ``balanced``).
        level: the value of it, such as the model's name.
        place: the method's rank by AUC, 1 the best.
        worlds: how many invented worlds.
        models: the planted models.
        facts: how many facts were taught most often or never. AUC and average precision are of these two groups.
        auc: area under the ROC curve of the method's scores; of a method that says right or wrong alone, ``balanced``.
        gap: how much smaller the AUC is than that of the first in place.
        graded: whether scores differ among the facts that the method does not call known in all wordings.
        average_precision: of the same ranking.
        spearman: rank correlation of how often facts were taught, all of them, with what is called known; a mean over
            worlds and models.
        balanced: balanced accuracy: the mean of ``known_most`` and 1 - ``known_never``.
        known_most: the share called known of the facts taught most often.
        known_never: the share called known of the facts never taught.
        prior_auc: the AUC of the objects' frequency alone; .5 where facts are balanced.
        tau: Kendall's tau between the order of the methods here and that of ``all``.
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

    Attributes:
        other_suite: the suite of the second method.
        other_method: the second method.
        other_where: which items the second method counts.
        where: which items the first method counts, as in `Measure`.
        n: how many facts both asked.
        both: facts that both call known.
        first: facts that the first method alone calls known.
        second: facts that the second method alone calls known.
        neither: facts that neither calls known.
        agreement: the share of facts on which they agree.
        kappa: Cohen's kappa.
        rho: Spearman's rank correlation of their scores.
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
    """By how many methods a model was asked a fact, and how many call it known.

    Attributes:
        methods: how many asked it and got an answer.
        known: how many of these call it known.
    """

    KEY: ClassVar = ("dataset", "model", "fact_id")
    dataset: str
    model: str
    fact_id: str
    methods: int
    known: int
