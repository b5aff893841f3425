"""How well a score ranks the taught before the never taught: AUC and Spearman's correlation, with intervals."""

import math
from collections.abc import Sequence

import numpy as np

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile


def auc(positive: Sequence[float], negative: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the probability that a positive scores above a negative, ties counting half.

    The interval is Newcombe's method 5 (Statistics in Medicine 25, 2006): a score interval on the Hanley-McNeil
    variance, which stays inside 0 to 1 and has a width at AUC 1, where resampling has none.

    Args:
        positive: scores of the positives, any scale.
        negative: scores of the negatives.
        level: the interval's coverage.
    """
    m, n = len(positive), len(negative)
    if m == 0 or n == 0:
        return NOTHING
    from scipy import optimize  # not its tests of ranks: scipy.stats takes longer to load than most steps to run

    ranked = np.sort(np.asarray(negative, dtype=float))
    below, upto = (np.searchsorted(ranked, np.asarray(positive, dtype=float), side) for side in ("left", "right"))
    value = float((below + upto).sum()) / 2 / (m * n)  # the Mann-Whitney statistic by pairs
    z = normal_quantile(level)
    half = (m + n) / 2 - 1

    def distance(theta: float) -> float:
        spread = theta * (1 - theta) * (1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)) / (m * n)
        return (value - theta) ** 2 - z * z * spread

    # The value itself is a root where the spread is 0, at 0 and 1; the bound wanted is the other root, just beside it.
    low = 0.0 if value == 0 else float(optimize.brentq(distance, 0.0, value * (1 - 1e-9)))
    high = 1.0 if value == 1 else float(optimize.brentq(distance, value + (1 - value) * 1e-9, 1.0))
    return Estimate(value, low, high)


def spearman(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return Spearman's rank correlation with the interval of Bonett and Wright (Psychometrika 65, 2000).

    Fisher's z with variance (1 + rho²/2) / (n - 3). Nothing is said of fewer than four pairs or of a constant.
    """
    n = len(first)
    if n < 4 or np.ptp(np.asarray(first, dtype=float)) == 0 or np.ptp(np.asarray(second, dtype=float)) == 0:
        return NOTHING
    from scipy import stats  # slow to load, and most steps compute nothing with it

    rho = float(stats.spearmanr(first, second).statistic)
    if abs(rho) >= 1:
        return Estimate(math.copysign(1.0, rho), math.copysign(1.0, rho), math.copysign(1.0, rho))
    half = normal_quantile(level) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return Estimate(rho, math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))
