"""How well a score agrees with a reference judgement of what is known."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile, wilson
from almanac.statistics.ranks import kendall


class Agreement(NamedTuple):
    """Recall of what the reference holds known, Kendall's tau-b of score and reference, and tau's p."""

    recall: Estimate
    tau: float | None
    p: float | None


def agreement(scores: Sequence[float], called: Sequence[bool], reference: Sequence[float], known: float) -> Agreement:
    """Hold scores and verdicts against a reference (Dong et al., section 4.2).

    Args:
        scores: of the facts, any scale.
        called: whether each is called known.
        reference: how well each is known: a rating, or how often it was taught.
        known: the reference holds a fact known from this on.

    Returns:
        The share of facts known to the reference that are called known, with a Wilson interval; tau, and the p of no
        agreement (two-sided); none where either side is constant.
    """
    found = [own for own, value in zip(called, reference, strict=True) if value >= known]
    recall = wilson(sum(found) / len(found), len(found)) if found else NOTHING
    found_tau = kendall(scores, reference)
    return Agreement(recall, None, None) if found_tau is None else Agreement(recall, *found_tau)


def best_cut(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the cut between scores with the largest share of positives above it less that of negatives (Youden's J).

    Of equal cuts the lowest; it lies halfway between two scores.

    Args:
        positive: scores of what should lie above.
        negative: scores of what should lie below.
    """
    if not positive or not negative:
        return None
    values = np.unique([*positive, *negative])
    cuts = (values[:-1] + values[1:]) / 2
    if not len(cuts):
        return None
    above = np.asarray(positive)[None, :] > cuts[:, None]
    wrong = np.asarray(negative)[None, :] > cuts[:, None]
    return float(cuts[int(np.argmax(above.mean(axis=1) - wrong.mean(axis=1)))])


def cohens_kappa(first: Sequence[bool], second: Sequence[bool], level: float = LEVEL) -> Estimate:
    """Return Cohen's kappa of two verdicts on the same things, with the interval of his standard error (Cohen 1960).

    Args:
        first: one verdict on each thing.
        second: the other, in parallel.
        level: the interval's coverage.

    Returns:
        Nothing without things, or where chance alone would make both agree on everything.
    """
    n = len(first)
    if not n:
        return NOTHING
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / n
    one, other = sum(first) / n, sum(second) / n
    expected = one * other + (1 - one) * (1 - other)
    if expected == 1:
        return NOTHING
    kappa = (agreed - expected) / (1 - expected)
    half = normal_quantile(level) * (agreed * (1 - agreed) / n) ** 0.5 / (1 - expected)
    return Estimate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))
