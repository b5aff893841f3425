"""The row classes of KaRR's tables: draws, log-probabilities, values, labels, thresholds and runs."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Draw:
    """One text drawn for an item of KaRR.

    Attributes:
        role: ``template`` (of the fact's relation), ``name`` (of its subject), ``object`` (a name of its object),
            ``subject`` (a name of a subject in the denominator) or ``relation`` (a template of a relation there).
        position: orders the rows of a role.
        of: the id of the subject or relation in the denominator.
        name: the name of the fact's subject for which a template of a relation in the denominator is drawn.
        text: the template or name.
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
    """One log-probability from which a KaRR is computed: that of what follows ``beta`` in ``text``. All are in nats.

    Attributes:
        part: which part of the ratio: the fact's ``own``, another ``subject``'s or another ``relation``'s.
        position: orders the rows of an item.
        of: the id of the other subject or relation.
        beta: the beginning of the text.
        text: the whole text.
        tokens: how many tokens of the text are scored, from its end.
        logprob: the sum of their log-probabilities (``paper``, ``weighted``) or the mean (``official``).
        weight: the mean log-probability of beta's own tokens (``official``, ``weighted``), if any can be scored.
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
    """An item's KaRR in logarithms (nats), or why there is none (Dong et al., section 3).

    Attributes:
        numerator: the probability of the object given the subject and the relation.
        by_subject: the denominator of ``karr_s``.
        by_relation: the denominator of ``karr_r``.
        karr_s: the ratio by subjects.
        karr_r: the ratio by relations.
        karr: their geometric mean.
        reason: why there is no value.
    """

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
    """What people say of a fact that they labelled.

    Attributes:
        label: their mean label.
    """

    KEY: ClassVar = ("item",)
    item: int
    label: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """The KaRR above which a fact counts as known in a mode.

    Attributes:
        mode: ``paper``, ``official`` or ``weighted``.
        threshold: the KaRR itself, not its logarithm.
        taught: if it was chosen from facts, how many were taught most often.
        never: if it was chosen from facts, how many were never taught, or asked with a false object.
    """

    KEY: ClassVar = ("mode",)
    mode: str
    threshold: float
    taught: int | None = None
    never: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dataset KaRR can ask (the paper's Table 1).

    Attributes:
        what: ``relations`` (with a usable template), ``facts``, ``asked`` (facts that are asked), ``subjects`` or
            ``objects``.
        count: how many there are.
        names: how many names they have together; of relations, how many templates.
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
    """The share of facts known to a method in one run that replaces a template or a name (Dong et al., section 4.3).

    Attributes:
        experiment: the method.
        replaced: ``templates`` (one of each relation's) or ``names`` (one of each entity's).
        run: the run's number.
        score: the share of facts that are known.
    """

    KEY: ClassVar = ("experiment", "replaced", "run")
    experiment: str
    replaced: str
    run: int
    score: float
