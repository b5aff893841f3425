"""How well a score ranks the taught before the never taught: AUC, average precision and rank correlations."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile

ROUNDING = 1e-9  # of a correlation


def auc(positive: Sequence[float], negative: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the probability that a positive scores above a negative, ties counting half; `mean_auc` of one stratum."""
    return mean_auc([(positive, negative)], level)


def mean_auc(strata: Sequence[tuple[Sequence[float], Sequence[float]]], level: float = LEVEL) -> Estimate:
    """Return the mean over strata of the probability that a positive scores above a negative, ties counting half.

    Scores are compared within a stratum alone, so that those of two models need no scale in common. The interval is
    Newcombe's method 5 (Statistics in Medicine 25, 2006): a score interval on the Hanley-McNeil variance, here that of
    a mean of independent AUCs, which stays inside 0 to 1 and has a width at AUC 1, where resampling has none.

    Args:
        strata: of each the scores of the positives, any scale, finite or infinite, no NaN; and of the negatives. If
            one has none of either, there is no mean.
        level: the interval's coverage.

    Raises:
        ValueError: a score is NaN.
    """
    sizes = [(len(positive), len(negative)) for positive, negative in strata]
    if not sizes or 0 in (size for each in sizes for size in each):
        return NOTHING
    value = sum(_area(*each) for each in strata) / len(strata)
    z = normal_quantile(level)

    def variance_of(theta: float, m: int, n: int) -> float:
        half = (m + n) / 2 - 1
        return theta * (1 - theta) * (1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)) / (m * n)

    def distance(theta: float) -> float:
        return (value - theta) ** 2 - z * z * sum(variance_of(theta, *each) for each in sizes) / len(sizes) ** 2

    # The value itself is a root where the spread is 0, at 0 and 1; the bound wanted is the other root, just beside it.
    low = 0.0 if value == 0 else _root(distance, 0.0, value * (1 - 1e-9))
    high = 1.0 if value == 1 else _root(distance, 1.0, value + (1 - value) * 1e-9)
    return Estimate(value, low, high)


def _area(positive: Sequence[float], negative: Sequence[float]) -> float:
    above, ranked = _numbers(positive), np.sort(_numbers(negative))
    below, upto = (np.searchsorted(ranked, above, side) for side in ("left", "right"))
    return float((below + upto).sum()) / 2 / (len(above) * len(ranked))  # the Mann-Whitney statistic by pairs


class Placements(NamedTuple):
    """What the AUC is the mean of, over positives as over negatives; those of several scores may be added or averaged.

    Attributes:
        positive: of each positive the share of the negatives that score below it, ties counting half; shape (m,).
        negative: of each negative the share of the positives that score above it; shape (n,).
    """

    positive: NDArray[np.float64]
    negative: NDArray[np.float64]


def placements(positive: Sequence[float], negative: Sequence[float]) -> Placements:
    """Return the placements of positives among negatives, and of negatives among positives.

    They are the structural components of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988).

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


def variance(found: Placements, positive: Sequence[str], negative: Sequence[str]) -> float | None:
    """Return the variance of an AUC, or of any sum of AUCs of the same facts, by its placements.

    The facts of a subject are one draw (Obuchowski, Biometrics 53, 1997, whose formula this is). None where there are
    not at least two subjects on either side.

    Args:
        found: the placements, or a weighted sum of those of several scores.
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


def average_precision(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the mean, over the positives, of the share of positives among all that score at least as high.

    Scores that are equal are passed together, so no order of the input matters.

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


def _root(function: Callable[[float], float], above: float, below: float) -> float:
    """Return where a function changes its sign between a place where it is above 0 and one where it is not."""
    from scipy import optimize  # slow to load, and most steps compute nothing with it

    if function(below) > 0:
        return below
    return float(optimize.brentq(function, above, below, xtol=1e-15))


def spearman(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return Spearman's rank correlation with the interval of Bonett and Wright (Psychometrika 65, 2000).

    Fisher's z with variance (1 + rho²/2) / (n - 3). Nothing is said of fewer than four pairs or of a constant; of pairs
    that are all in the same order, or all in the reverse, it has no interval.

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
    """Return values that can be ranked; refuse NaN, which sorting would put above all others."""
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
    """Return Kendall's tau-b (Kendall 1945) of two or more pairs; nothing where either side is constant.

    Its p is scipy's: counted for few pairs without ties, else that of the normal distribution, ties minded.

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
