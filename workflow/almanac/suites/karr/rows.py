"""The row classes of KaRR's tables: draws, log-probabilities, values, labels, thresholds and runs."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Draw:
    """One text drawn for an item of KaRR.

    ``role`` is ``template`` (of the fact's relation), ``name`` (of its subject), ``object`` (a name of its object),
    ``subject`` (a name of the subject ``of`` in the denominator) or ``relation`` (a template of the relation ``of`` in
    the denominator, drawn for one ``name`` of the fact's subject). ``position`` orders the rows of a role.
    """

    KEY: ClassVar = ("item", "role", "position")
    item: int
    role: str
    position: int
    of: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class GivenDraw:
    """A `Draw` in a user's file, which has the fact and how it is asked instead of an item's number.

    ``mode`` is ``paper``, ``official`` or ``weighted``; ``asked`` is ``facts`` for the true object, ``null`` or
    ``spurious`` for a false one.
    """

    KEY: ClassVar = ("fact_id", "mode", "asked", "role", "position")
    fact_id: str
    mode: str
    asked: str
    role: str
    position: int
    of: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class KarrLeaf:
    """One log-probability from which a KaRR is computed: that of what follows ``beta`` in ``text``.

    ``part`` is ``own``, ``subject`` or ``relation``, ``of`` which one. ``logprob`` is the sum (``paper``, ``weighted``)
    or mean (``official``) over the last ``tokens`` tokens of the text; ``weight`` is the mean over the tokens of beta
    itself (``official``, ``weighted``; none if none of them can be scored). All in nats.
    """

    KEY: ClassVar = ("item", "position")
    item: int
    part: str
    position: int
    of: str | None
    beta: str
    text: str
    tokens: int
    logprob: float
    weight: float | None


@dataclass(frozen=True, slots=True)
class KarrValue:
    """One item's logarithms (nats): N, both denominators, both ratios and KaRR; or the reason why it has no KaRR."""

    KEY: ClassVar = ("item",)
    item: int
    numerator: float | None
    by_subject: float | None
    by_relation: float | None
    karr_s: float | None
    karr_r: float | None
    karr: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Labelled:
    """The mean human label of a fact that has one."""

    KEY: ClassVar = ("item",)
    item: int
    label: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """The KaRR (no logarithm) above which a fact counts as known in a mode.

    If it was chosen from facts, the number of those ``taught`` most often, and of those ``never`` taught or false.
    """

    KEY: ClassVar = ("mode",)
    mode: str
    threshold: float
    taught: int | None = None
    never: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dataset KaRR can ask (the paper's Table 1): the ``count`` of ``what``, and of its ``names``.

    ``what`` is ``relations`` (with a usable template; their names are these templates), ``facts``, ``asked`` (the facts
    that are asked), ``subjects`` or ``objects``.
    """

    KEY: ClassVar = ("what",)
    what: str
    count: int
    names: int | None


@dataclass(frozen=True, slots=True)
class SpuriousObject:
    """The name of a false object with which all facts of a relation are asked, as in the paper's list."""

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    object: str


@dataclass(frozen=True, slots=True)
class ReplacedRun:
    """The share of facts that a method knows in one run; ``replaced`` says whether templates or names were replaced."""

    KEY: ClassVar = ("experiment", "replaced", "run")
    experiment: str
    replaced: str
    run: int
    score: float
