"""How well a score ranks the taught before the never taught: AUC, average precision and rank correlations."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile, wilson

ROUNDING = 1e-9  # the largest rounding error of a correlation
DIGITS = 12  # AUCs are rounded to so many, so that those that differ by rounding errors are equal


class Placements(NamedTuple):
    """Placements: the AUC is their mean over positives, and over negatives. Those of several scores may be averaged.

    Attributes:
        positive: for each positive the share of negatives that score below it, ties counting half; shape (m,).
        negative: for each negative the share of positives that score above it, ties counting half; shape (n,).
    """

    positive: NDArray[np.float64]
    negative: NDArray[np.float64]


def placements(positive: Sequence[float], negative: Sequence[float]) -> Placements:
    """Return the placements of positives among negatives, and of negatives among positives.

    These are the structural components of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988).

    Args:
        positive: scores of the positives, any scale; at least one, no NaN.
        negative: scores of the negatives, likewise.

    Raises:
        ValueError: a score is NaN.
    """
    above, below = _numbers(positive), _numbers(negative)

    def share(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        ranked = np.sort(others)
        below, upto = (np.searchsorted(ranked, values, side) for side in ("left", "right"))
        return np.asarray((below + upto) / 2 / len(others), dtype=float)

    return Placements(share(above, below), 1 - share(below, above))


def variance(found: Placements, positive: Sequence[Any], negative: Sequence[Any]) -> float | None:
    """Return the variance of an AUC, or of a weighted sum of AUCs on the same facts, from its placements.

    The facts of a subject are one draw; the formula is Obuchowski's (Biometrics 53, 1997). None if either side has
    fewer than two subjects.

    Args:
        found: the placements, or a weighted sum of the placements of several scores.
        positive: the subject of each positive.
        negative: the subject of each negative.
    """
    names = sorted({*positive, *negative})
    at = {name: place for place, name in enumerate(names)}
    sums, counts = [], []
    for values, own in ((found.positive, positive), (found.negative, negative)):
        places = [at[name] for name in own]
        each = np.bincount(places, minlength=len(names))
        sums.append(np.bincount(places, values - values.mean(), minlength=len(names)))
        counts.append((len(own), int((each > 0).sum())))
    if min(clusters for _, clusters in counts) < 2:
        return None
    own_parts = (
        clusters / (clusters - 1) * float(total @ total) / size**2
        for total, (size, clusters) in zip(sums, counts, strict=True)
    )
    shared = len(names) / (len(names) - 1) * float(sums[0] @ sums[1]) / (counts[0][0] * counts[1][0])
    return sum(own_parts) + 2 * shared


def auc(positive: Sequence[float], negative: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the probability that a positive scores above a negative, ties counting half; `mean_auc` of one stratum."""
    return mean_auc([Sides(positive, negative)], level)


class Sides(NamedTuple):
    """Values of the positives and of the negatives of a stratum: their scores, or their subjects."""

    positive: Sequence[Any]
    negative: Sequence[Any]


def mean_auc(strata: Sequence[Sides], level: float = LEVEL, subjects: Sequence[Sides] | None = None) -> Estimate:
    """Return the mean over strata of the probability that a positive scores above a negative, ties counting half.

    Scores are compared only within a stratum, so the scores of two models need no common scale. The interval is that of
    `mean_of_placed`.

    Args:
        strata: the scores of each stratum, any scale, finite or infinite, no NaN. If a side of one is empty, there is
            no mean.
        level: the interval's coverage.
        subjects: the subjects of the scores, in parallel; None: each score has a subject of its own.

    Raises:
        ValueError: a score is NaN.
    """
    if not strata or not all(len(side) for own in strata for side in own):
        return NOTHING
    numbered = [Sides(range(len(own.positive)), range(-len(own.negative), 0)) for own in strata]
    return mean_of_placed([placements(*own) for own in strata], subjects or numbered, level)


def mean_of_placed(
    placed: Sequence[Placements], subjects: Sequence[Sides], level: float = LEVEL, scores: int = 1
) -> Estimate:
    """Return the mean over strata of AUCs, from their placements, with an interval that stays within 0 and 1.

    It is Wilson's interval, at the effective number of draws. The variance of an AUC is at most that of a share of as
    many draws as there are on the smaller side, and equal to it if each positive is above all negatives or below all
    (Hoeffding 1948). How much smaller it is, the design effect (`variance`), is told only by pairs in the wrong order
    (or in the right order, if these are fewer), and near 1 there are hardly any. So the effect is shrunk towards 1 by
    one draw. If no pair is in the wrong order, the interval is that of a share in which all draws are right.
    `python -m benchmarks.coverage` shows how often it holds the truth.

    Args:
        placed: the placements of each stratum, or the mean of the placements of several scores.
        subjects: their subjects, in parallel; those of one subject are one draw.
        level: the interval's coverage.
        scores: the number of scores that the placements are the mean of.
    """
    value = round(fmean(float(own.positive.mean()) for own in placed), DIGITS)
    each = [variance(own, *of) for own, of in zip(placed, subjects, strict=True)]
    draws = min(len(subjects) ** 2 / sum(1 / _worth(of[side]) for of in subjects) for side in (0, 1))
    known = [one for one in each if one is not None]
    effect = 1.0
    if len(known) == len(each) and 0 < value < 1:
        effect = sum(known) / len(known) ** 2 * draws / (value * (1 - value))
        told_by = scores * draws * min(value, 1 - value)
        effect = max(effect, (told_by * effect + 1) / (told_by + 1))
    return wilson(value, draws / effect, level)


def _worth(clusters: Sequence[Any]) -> float:
    """Return how many clusters of equal size these are worth, if all values within a cluster are equal (Kish 1965)."""
    sizes = np.array([*Counter(clusters).values()], dtype=float)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def average_precision(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the mean, over the positives, of the share of positives among all that score at least as high.

    Equal scores are passed together, so the order of the input does not matter.

    Args:
        positive: scores of the positives, any scale; at least one, no NaN.
        negative: scores of the negatives, likewise.

    Raises:
        ValueError: a score is NaN.
    """
    above, below = np.sort(_numbers(positive)), np.sort(_numbers(negative))
    right = len(above) - np.searchsorted(above, above, "left")
    wrong = len(below) - np.searchsorted(below, above, "left")
    return float((right / (right + wrong)).mean())


def spearman(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return Spearman's rank correlation with the interval of Bonett and Wright (Psychometrika 65, 2000).

    Fisher's z has the variance (1 + rho²/2) / (n - 3). `NOTHING` for fewer than four pairs or a constant side; a rho of
    1 or -1 has no interval.

    Args:
        first: values, any scale; finite or infinite, no NaN.
        second: values in parallel, likewise.

    Raises:
        ValueError: a value is NaN.
    """
    from scipy import stats

    one, other = _numbers(first), _numbers(second)
    n = len(one)
    if n < 4 or np.all(one == one[0]) or np.all(other == other[0]):
        return NOTHING
    rho = float(stats.spearmanr(one, other).statistic)
    if abs(rho) >= 1 - ROUNDING:
        return Estimate(math.copysign(1.0, rho), None, None)
    half = normal_quantile(LEVEL) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return Estimate(rho, math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def _numbers(values: Sequence[float]) -> NDArray[np.float64]:
    """Return values as an array; refuse NaN, which sorting would put above all others."""
    found = np.asarray(values, dtype=float)
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        raise ValueError(f"value {missing[0] + 1} of {len(found)} is NaN, which cannot be ranked; leave it out")
    return found


class Kendall(NamedTuple):
    """Kendall's tau-b, and the p of no correlation (two-sided)."""

    tau: float
    p: float


def kendall(first: Sequence[float], second: Sequence[float]) -> Kendall | None:
    """Return Kendall's tau-b (Kendall 1945) of two or more pairs; None if either side is constant.

    The p is scipy's: exact for few pairs without ties, otherwise of a normal approximation that allows for ties.

    Args:
        first: values, any scale; finite or infinite, no NaN.
        second: values in parallel, likewise.

    Raises:
        ValueError: a value is NaN.
    """
    from scipy import stats

    one, other = _numbers(first), _numbers(second)
    if len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        return None
    found = stats.kendalltau(one, other)
    return Kendall(float(found.statistic), float(found.pvalue))
