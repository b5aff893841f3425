"""KaRR from log-probabilities (Dong et al., section 3), by the paper's formulas or as in the released code.

``beta`` is a template filled with a name of the subject; ``gamma`` is a beta followed by a name of the object:

    KaRR_s = N / (mean of N over drawn subjects s', each in the subject's place)
    KaRR_r = N / (mean over drawn relations of P(gamma|beta) with the relation's templates, after the subject's names)
    KaRR   = sqrt(KaRR_s * KaRR_r)

N sums P(gamma|beta) over the object's names and averages over betas; `Variant` has other weights. All values are
logarithms (nats), so nothing underflows: texts at -10,000 nats have ratios like any other.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Literal, NamedTuple, TypeVar

Leaf = TypeVar("Leaf")
Read = TypeVar("Read")
NOTHING = -math.inf  # the logarithm of 0


@dataclass(frozen=True)
class Variant:
    """Where the paper's formulas and the released code differ.

    Attributes:
        weights: ``uniform``: means over betas, names and subjects. ``sentence``: sums in which each beta, and each name
            of the subject, is weighted by its own likelihood, not normalised. ``normalised``: P(beta|s,r) is a beta's
            likelihood divided by the sum over the drawn betas of the same subject and relation; the rest are means.
        tokens: ``product``: P(gamma|beta) is the product over the object's tokens; ``mean``: their geometric mean.
        gammas: ``prefix``: a gamma belongs to the beta that it continues; ``substring``: to every beta that it
            contains, so that "Obama …" also collects the gammas of "Barack Obama …".
        relation_part: what is scored under other relations: the ``object`` alone, or the ``rest`` of the sentence after
            the subject's name, with the template's words and the full stop.
        relation_templates: ``all`` drawn templates of another relation, or ``one``, drawn anew for each name.
        keeps_label: whether the draw of an entity's names always holds its label.
        floor: the value that replaces a ratio of 0; none: such a fact has no value.
        threshold: the KaRR above which a fact counts as known; none: it is chosen or set (`judging.thresholds`).
    """

    weights: Literal["uniform", "sentence", "normalised"]
    tokens: Literal["product", "mean"]
    gammas: Literal["prefix", "substring"]
    relation_part: Literal["object", "rest"]
    relation_templates: Literal["all", "one"]
    keeps_label: bool
    floor: float | None
    threshold: float | None


PAPER = Variant("uniform", "product", "prefix", "object", "all", True, None, None)
OFFICIAL = Variant("sentence", "mean", "substring", "rest", "one", False, 1e-6, 22.0)
WEIGHTED = Variant("normalised", "product", "prefix", "object", "all", True, None, None)
VARIANTS = {"paper": PAPER, "official": OFFICIAL, "weighted": WEIGHTED}


@dataclass(frozen=True)
class Beta:
    """A beta, or a name of the subject, with the gammas that continue it.

    Attributes:
        weight: the log-likelihood of the text itself (nats per token); none if none of its tokens can be scored. Not
            read with uniform weights.
        gammas: log P(gamma|beta) of each gamma.
    """

    weight: float | None
    gammas: tuple[float, ...]


@dataclass(frozen=True)
class Leaves(Generic[Leaf]):
    """The values from which one fact's KaRR is computed; or, in the same shape, the sentences that they are values of.

    Attributes:
        own: one beta for each template and name of the subject.
        subjects: for each drawn subject, one beta for each template and name; the fact's own may be among them.
        relations: ``relations[name][relation]``, for each name of the subject and each drawn relation, holds one beta
            for each template, whose weight is that of the name.
    """

    own: tuple[Leaf, ...]
    subjects: tuple[tuple[Leaf, ...], ...]
    relations: tuple[tuple[tuple[Leaf, ...], ...], ...]

    def all(self) -> Iterator[Leaf]:
        """Yield every beta."""
        return chain(self.own, *self.subjects, *chain(*self.relations))

    def map(self, read: Callable[[Leaf], Read]) -> "Leaves[Read]":
        """Return ``read`` of every beta, in the same order and shape."""
        return Leaves(
            tuple(map(read, self.own)),
            tuple([tuple(map(read, betas)) for betas in self.subjects]),
            tuple([tuple([tuple(map(read, betas)) for betas in relations]) for relations in self.relations]),
        )


class KarrEstimate(NamedTuple):
    """One fact's logarithms (nats): N, both denominators, both ratios and KaRR; or the reason why it has no KaRR."""

    numerator: float | None = None
    by_subject: float | None = None
    by_relation: float | None = None
    karr_s: float | None = None
    karr_r: float | None = None
    karr: float | None = None
    reason: str | None = None


def log_sum(values: Iterable[float]) -> float:
    """Return log(sum(exp(values))), computed stably; -inf for no values."""
    listed = list(values)
    top = max(listed, default=NOTHING)
    if top == NOTHING:
        return NOTHING
    return top + math.log(math.fsum(math.exp(value - top) for value in listed))


def log_mean(values: Sequence[float]) -> float:
    """Return log(mean(exp(values))); -inf for no values."""
    return log_sum(values) - math.log(len(values)) if values else NOTHING


def estimate(leaves: Leaves[Beta], variant: Variant) -> KarrEstimate:
    """Compute a fact's KaRR from log-probabilities that were read as the variant's ``tokens`` says.

    Returns:
        The values; or the reason why there is no KaRR: an empty denominator, a weight without a scored token, an empty
        draw.
    """
    if not leaves.own and variant.floor is None:
        return KarrEstimate(reason="the relation has no template, or the subject no name")
    weighed = [leaves.own, *leaves.subjects]
    if variant.weights == "normalised":  # with "sentence", names without a weight drop out of the sum over relations
        weighed += chain(*leaves.relations)
    unweighed = sum(beta.weight is None for betas in weighed for beta in betas)
    if variant.weights != "uniform" and unweighed:
        return KarrEstimate(reason=f"{unweighed} sentences before the object have no token that can be scored")
    if variant.weights == "sentence":
        top, by_subject, by_relation = _by_sentence(leaves)
    else:
        top, by_subject, by_relation = _expected(leaves, _mean if variant.weights == "uniform" else _weighted_mean)
    empty = [name for name, value in (("subjects", by_subject), ("relations", by_relation)) if value == NOTHING]
    if empty:
        return KarrEstimate(top, by_subject, by_relation, reason=f"the denominator over {' and '.join(empty)} is empty")
    ratios = [_floored(top - below, variant) for below in (by_subject, by_relation)]
    if NOTHING in ratios:
        return KarrEstimate(top, by_subject, by_relation, reason="no gamma continues a beta: the numerator is 0")
    return KarrEstimate(top, by_subject, by_relation, ratios[0], ratios[1], sum(ratios) / 2)


def _mean(betas: Sequence[Beta]) -> float:
    """Average over betas with equal weights."""
    return log_mean([log_sum(beta.gammas) for beta in betas])


def _weighted_mean(betas: Sequence[Beta]) -> float:
    """Average over betas, weighted by their likelihoods."""
    whole = log_sum(beta.weight for beta in betas if beta.weight is not None)
    return log_sum(beta.weight - whole + log_sum(beta.gammas) for beta in betas if beta.weight is not None)


def _expected(leaves: Leaves[Beta], mean: Callable[[Sequence[Beta]], float]) -> tuple[float, float, float]:
    """Return N and both denominators: ``mean`` over the betas of a subject and relation, plain means over the rest."""
    return (
        mean(leaves.own),
        log_mean([mean(betas) for betas in leaves.subjects]),
        log_mean([log_mean([mean(betas) for betas in relations]) for relations in leaves.relations]),
    )


def _by_sentence(leaves: Leaves[Beta]) -> tuple[float, float, float]:
    """Return N and both denominators weighted by raw likelihoods; only drawn subjects and relations are averaged.

    Names without a scored token are left out of the sum over relations, as in the released code.
    """

    def total(betas: Sequence[Beta]) -> float:
        return log_sum(beta.weight + log_sum(beta.gammas) for beta in betas if beta.weight is not None)

    drawn = max(map(len, leaves.relations), default=0)
    return (
        total(leaves.own),
        log_sum(map(total, leaves.subjects)) - math.log(max(1, len(leaves.subjects))),
        log_sum(map(total, chain(*leaves.relations))) - math.log(max(1, drawn)),
    )


def _floored(ratio: float, variant: Variant) -> float:
    return math.log(variant.floor) if ratio == NOTHING and variant.floor is not None else ratio
