"""KaRR from log-probabilities (Dong et al., section 3), by the paper's formulas or as in the released code.

With ``beta`` a template that holds a name of the subject, and ``gamma`` the same followed by a name of the object:

    KaRR_s = N / (mean over subjects s' of N with s' in the subject's place)
    KaRR_r = N / (what the object gets after the subject's names, over all drawn relations)
    KaRR   = sqrt(KaRR_s * KaRR_r)

where N sums P(gamma|beta) over the object's names and averages over betas. All values are logarithms (nats)
throughout, so nothing underflows: texts at -10,000 nats have ratios like any other. `Variant` has the weights.
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
    """Where the formulas and the released code differ.

    Attributes:
        weights: ``uniform``: betas, names and subjects count alike, as means; ``sentence``: every beta by its own
            likelihood, and every name of the subject by its, summed and never normalised; ``normalised``: P(beta|s,r)
            is a beta's likelihood divided by that of all drawn betas of the same subject and relation, and the others
            count alike.
        tokens: ``product``: P(gamma|beta) is the product over the object's tokens; ``mean``: their geometric mean.
        gammas: ``prefix``: a gamma belongs to the beta that it continues; ``substring``: to each beta that occurs
            anywhere in it, so that "Obama …" also collects the gammas of "Barack Obama …".
        relation_part: what is scored under other relations: the ``object`` alone, or the ``rest`` of the sentence
            after the subject's name, its words and its full stop included.
        relation_templates: ``all`` the drawn templates of another relation, or ``one``, drawn anew for each name.
        keeps_label: whether the draw of an entity's names always holds its label.
        floor: a ratio of 0 counts as this; none: it has no value.
        threshold: a fact counts as known above it; none: it is calibrated.
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
        weight: the log-likelihood of the text itself (nats a token in ``sentence``); none where no token of it can be
            scored. Uniform weights do not read it.
        gammas: the log of P(gamma|beta), one for each gamma.
    """

    weight: float | None
    gammas: tuple[float, ...]


@dataclass(frozen=True)
class Leaves(Generic[Leaf]):
    """The values from which one fact's KaRR is computed; and in the same shape the sentences that they are read of.

    Attributes:
        own: one beta a template and name of the subject.
        subjects: for each drawn subject, the gold one perhaps among them, one beta a template and name.
        relations: ``relations[name][relation]`` holds, for each name of the subject and each drawn relation, one beta a
            template; its weight is that of the name.
    """

    own: tuple[Leaf, ...]
    subjects: tuple[tuple[Leaf, ...], ...]
    relations: tuple[tuple[tuple[Leaf, ...], ...], ...]

    def all(self) -> Iterator[Leaf]:
        """Yield every beta."""
        return chain(self.own, *self.subjects, *chain(*self.relations))

    def map(self, read: Callable[[Leaf], Read]) -> "Leaves[Read]":
        """Return what is read of every beta, in the same order and shape."""
        return Leaves(
            tuple(map(read, self.own)),
            tuple([tuple(map(read, betas)) for betas in self.subjects]),
            tuple([tuple([tuple(map(read, betas)) for betas in relations]) for relations in self.relations]),
        )


class KarrEstimate(NamedTuple):
    """A fact's logarithms (nats): of N, of both denominators, of both ratios and of KaRR; or why there is none."""

    numerator: float | None = None
    by_subject: float | None = None
    by_relation: float | None = None
    karr_s: float | None = None
    karr_r: float | None = None
    karr: float | None = None
    reason: str | None = None


def log_sum(values: Iterable[float]) -> float:
    """Return log(sum(exp(values))) without leaving the logarithm; of nothing, the logarithm of 0."""
    listed = list(values)
    top = max(listed, default=NOTHING)
    if top == NOTHING:
        return NOTHING
    return top + math.log(math.fsum(math.exp(value - top) for value in listed))


def log_mean(values: Sequence[float]) -> float:
    """Return log(mean(exp(values))); of nothing, the logarithm of 0."""
    return log_sum(values) - math.log(len(values)) if values else NOTHING


def estimate(leaves: Leaves[Beta], variant: Variant) -> KarrEstimate:
    """Compute a fact's KaRR from log-probabilities, each as the variant's ``tokens`` reads it.

    Returns:
        The values, or the reason why there is none: an empty denominator, a weight that no token gives, nothing drawn.
    """
    if not leaves.own and variant.floor is None:
        return KarrEstimate(reason="the relation has no template, or the subject no name")
    weighed = [leaves.own, *leaves.subjects]
    if variant.weights == "normalised":  # the released code leaves such a name out of the sum over relations
        weighed += chain(*leaves.relations)
    unweighed = sum(beta.weight is None for own in weighed for beta in own)
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
    """Every beta counts alike."""
    return log_mean([log_sum(beta.gammas) for beta in betas])


def _weighted_mean(betas: Sequence[Beta]) -> float:
    """Every beta counts by its likelihood among the others."""
    whole = log_sum(beta.weight for beta in betas if beta.weight is not None)
    return log_sum(beta.weight - whole + log_sum(beta.gammas) for beta in betas if beta.weight is not None)


def _expected(leaves: Leaves[Beta], mean: Callable[[Sequence[Beta]], float]) -> tuple[float, float, float]:
    """Names, subjects and relations count alike; the betas of one subject and relation as ``mean`` says."""
    return (
        mean(leaves.own),
        log_mean([mean(betas) for betas in leaves.subjects]),
        log_mean([log_mean([mean(betas) for betas in relations]) for relations in leaves.relations]),
    )


def _by_sentence(leaves: Leaves[Beta]) -> tuple[float, float, float]:
    """Weights are raw likelihoods; only the draws of subjects and relations are averaged.

    A name without a token that can be scored is left out of the sum over relations, as the released code does.
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
