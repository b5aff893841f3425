"""The tables that KaRR alone has: the texts it draws, and the numbers behind each of its values."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Draw:
    """One text drawn for an item of KaRR.

    ``role`` says what it is: a ``template`` of the fact's relation, a ``name`` of its subject, a name of its
    ``object``, a name of another ``subject`` (``of`` its id), or a template of another ``relation`` (``of`` its id)
    drawn for one ``name`` of the fact's subject. ``position`` orders the rows of a role.
    """

    KEY: ClassVar = ("item_id", "role", "position")
    item_id: str
    role: str
    position: int
    of: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class KarrLeaf:
    """One log-probability that a KaRR is made of: what stands behind ``beta`` in ``text``.

    ``part`` is ``own``, ``subject`` or ``relation`` (``of`` which). ``tokens`` of the text were read, ``logprob`` is
    their sum (``paper``) or their mean (``official``), and ``weight`` the mean of the log-probabilities of beta's own
    tokens (``official`` alone; none where none can be scored). All in nats.
    """

    KEY: ClassVar = ("model", "item_id", "part", "position")
    model: str
    item_id: str
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
    """A fact's KaRR in logarithms (nats): of both ratios and KaRR, of N and both denominators; or why there is none."""

    KEY: ClassVar = ("model", "item_id")
    model: str
    item_id: str
    numerator: float | None
    by_subject: float | None
    by_relation: float | None
    karr_s: float | None
    karr_r: float | None
    karr: float | None
    reason: str | None
