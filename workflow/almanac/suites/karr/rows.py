"""KaRR's own tables: its draws, and the values that its numbers are computed from."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Draw:
    """One text drawn for an item of KaRR.

    ``role`` says what it is: a ``template`` of the fact's relation, a ``name`` of its subject, a name of its
    ``object``, a name of another ``subject`` (``of`` its id), or a template of another ``relation`` (``of`` its id)
    drawn for one ``name`` of the fact's subject. ``position`` orders the rows of a role.
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
    """A `Draw` in a file made elsewhere: instead of an item's number, the fact and how it is asked.

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
    """One log-probability that a KaRR is computed from: what follows ``beta`` in ``text``.

    ``part`` is ``own``, ``subject`` or ``relation`` (``of`` which). ``tokens`` of the text were read, ``logprob`` is
    their sum (``paper``, ``weighted``) or their mean (``official``), and ``weight`` the mean of the log-probabilities
    of beta's own tokens (``official`` and ``weighted``; none where none can be scored). All in nats.
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
    """An item's KaRR in logarithms (nats): of N, both denominators, both ratios and KaRR; or why there is none."""

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
    """What people say of a fact: their mean label, where there is one."""

    KEY: ClassVar = ("item",)
    item: int
    label: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """The KaRR (no logarithm) above which a fact counts as known in a mode.

    Where it was chosen, by how many facts: ``taught`` most often, and ``never`` or with a false object.
    """

    KEY: ClassVar = ("mode",)
    mode: str
    threshold: float
    taught: int | None = None
    never: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a dataset KaRR can ask (the paper's Table 1): ``count`` of ``what``, and all their ``names`` together.

    ``what`` is ``relations`` (those with a template that can be used; their names are these templates), ``facts``,
    ``asked`` (the facts that are asked), ``subjects`` or ``objects``.
    """

    KEY: ClassVar = ("what",)
    what: str
    count: int
    names: int | None


@dataclass(frozen=True, slots=True)
class SpuriousObject:
    """A false object that every fact of a relation is asked with, by its name: as the paper's own list has one each."""

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    object: str


@dataclass(frozen=True, slots=True)
class ReplacedRun:
    """The share of facts known to a method in a run that replaces one of all ``templates``, or of all ``names``."""

    KEY: ClassVar = ("experiment", "replaced", "run")
    experiment: str
    replaced: str
    run: int
    score: float
