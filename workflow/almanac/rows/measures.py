"""What became of items, and the numbers of the report."""

from dataclasses import dataclass
from typing import ClassVar, Literal

OutcomeKind = Literal["correct", "incorrect", "missing", "invalid", "error"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: the prediction, its verdict, a score and a confidence.

    ``reading`` is the way in which the answer was read, where the suite has several; else it is empty.
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

    ``where`` says which items these are, as JSON: a condition a column of what was judged (`suites.judged`). That is a
    value, a list of them, ``null`` (no value), ``{"from": a, "below": b}`` (a range without b) or ``{"not": value}``
    (with ``null``: any value).

    ``formula`` makes the number of them, from the columns ``of``. ``mean`` is of values (of true ones a share), a
    subject's being one draw; ``macro`` the mean over relations of their means; ``macro_of_facts`` the same, each fact's
    items averaged first; ``ratio`` that of two sums; ``median``, ``auc`` and ``spearman`` are what they say;
    ``count`` is that of their facts; ``other`` is any other, which the suite's page defines.

    ``n`` is how many items they are, followed by how many of each outcome; between models ``n`` is how many facts they
    are, a fact that is asked several times being one, and the others are 0. A number over several datasets together has
    an empty ``dataset``. A number between models has no ``model`` where it is of all of them, and names the ``other``
    of two; ``p`` is that of a test, not adjusted.
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
    """What one method recovers of planted knowledge in one model, all worlds together, and whether that meets the bars.

    It is of the first dataset of each world that its suite is asked. ``where`` says which items it counts, as in
    `Measure`. ``failed`` lists the bars that are missed; ``judged`` says whether there are bars for this row at all.
    ``auc`` and ``prior_auc`` are means over the worlds, of each of which another model is asked; ``spearman`` and
    ``never`` are of all facts. ``chance`` is what the page calls guessing: one in so many choices, or how often false
    objects are called known, or stand in a text; 0 where an answer cannot be guessed. Intervals cover 95 %, but that of
    ``never`` in judged rows 95 % of all these rows together (Bonferroni), so that it is wider.
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
    """How well one method tells what planted models were taught, on the facts that all methods here asked.

    ``axis`` and ``level`` say of what: ``all`` of what is compared, or a part or variant of it (``world``,
    ``model``, ``templates``, ``choices``, ``format``; ``dose``: facts taught so often stand for those taught most
    often; ``criterion``: ``auc`` is ``balanced``). ``where`` says which items the method counts, as
    in `Measure`. ``facts`` were taught most often or never; AUC and average precision are of these two groups,
    ``known_most`` and ``known_never`` the shares of either that the method calls known, and ``balanced`` the mean
    of the first and of one less the second. ``spearman`` correlates how often facts were taught, all of them, with
    what is called known: Spearman's, a mean over worlds and models. ``graded``: the method's scores differ
    among facts that it does not call known, or not in all wordings; of one that says right or wrong alone, the
    AUC is ``balanced``. ``gap`` is how much smaller its AUC is than that of the first in place; ``prior_auc``
    is the AUC of the objects' frequency alone, .5 where facts are balanced. ``tau`` is Kendall's, between the
    order of the methods here and that of ``all``.
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

    ``where`` and ``other_where`` say which items each counts, as in `Measure`. Of the ``n`` facts ``both`` call some
    known, the ``first`` method alone or the ``second`` others, ``neither`` the rest. ``rho`` correlates their scores.
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
    """By how many ``methods`` a fact was asked of a model and answered, and how many call it ``known``."""

    KEY: ClassVar = ("dataset", "model", "fact_id")
    dataset: str
    model: str
    fact_id: str
    methods: int
    known: int
