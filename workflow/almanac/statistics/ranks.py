"""How well a score ranks the taught before the never taught: AUC and rank correlations.

They are written out here, since scipy takes longer to load than most steps take to run; tests hold them against it.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile

EXACT = 33  # Up to so many pairs without ties, the p of Kendall's tau is counted.
VANISHING = 180  # Of more things, the share of orders with at most one discordant pair is no float above 0.


def auc(positive: Sequence[float], negative: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the probability that a positive scores above a negative, ties counting half.

    The interval is Newcombe's method 5 (Statistics in Medicine 25, 2006): a score interval on the Hanley-McNeil
    variance, which stays inside 0 to 1 and has a width at AUC 1, where resampling has none.

    Args:
        positive: scores of the positives, any scale; finite or infinite, no NaN.
        negative: scores of the negatives, likewise.
        level: the interval's coverage.

    Raises:
        ValueError: a score is NaN.
    """
    above, ranked = _numbers(positive), np.sort(_numbers(negative))
    m, n = len(above), len(ranked)
    if m == 0 or n == 0:
        return NOTHING
    below, upto = (np.searchsorted(ranked, above, side) for side in ("left", "right"))
    value = float((below + upto).sum()) / 2 / (m * n)  # the Mann-Whitney statistic by pairs
    z = normal_quantile(level)
    half = (m + n) / 2 - 1

    def distance(theta: float) -> float:
        spread = theta * (1 - theta) * (1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)) / (m * n)
        return (value - theta) ** 2 - z * z * spread

    # The value itself is a root where the spread is 0, at 0 and 1; the bound wanted is the other root, just beside it.
    low = 0.0 if value == 0 else _root(distance, 0.0, value * (1 - 1e-9))
    high = 1.0 if value == 1 else _root(distance, 1.0, value + (1 - value) * 1e-9)
    return Estimate(value, low, high)


def _root(function: Callable[[float], float], above: float, below: float) -> float:
    """Return where a function changes its sign between a place where it is above 0 and one where it is not."""
    while (middle := (above + below) / 2) not in (above, below):
        above, below = (middle, below) if function(middle) > 0 else (above, middle)
    return middle


def spearman(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return Spearman's rank correlation with the interval of Bonett and Wright (Psychometrika 65, 2000).

    Fisher's z with variance (1 + rho²/2) / (n - 3). Nothing is said of fewer than four pairs or of a constant.

    Args:
        first: values, any scale; finite or infinite, no NaN.
        second: values in parallel, likewise.
        level: the interval's coverage.

    Raises:
        ValueError: a value is NaN.
    """
    one, other = _numbers(first), _numbers(second)
    n = len(one)
    if n < 4 or np.all(one == one[0]) or np.all(other == other[0]):
        return NOTHING
    ranked = np.column_stack([_ranks(one), _ranks(other)])
    rho = float(np.atleast_2d(np.corrcoef(ranked, rowvar=False))[1, 0])
    if abs(rho) >= 1:
        return Estimate(math.copysign(1.0, rho), math.copysign(1.0, rho), math.copysign(1.0, rho))
    half = normal_quantile(level) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return Estimate(rho, math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def _numbers(values: Sequence[float]) -> NDArray[np.float64]:
    """Return values that can be ranked; refuse NaN, which sorting would put above all others."""
    found = np.asarray(values, dtype=float)
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        raise ValueError(f"value {missing[0] + 1} of {len(found)} is NaN, which cannot be ranked; leave it out")
    return found


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of every value, 1 first; equal ones share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


class Kendall(NamedTuple):
    """Kendall's tau-b, and the p of no correlation (two-sided)."""

    tau: float
    p: float


def kendall(first: Sequence[float], second: Sequence[float]) -> Kendall | None:
    """Return Kendall's tau-b (Kendall 1945) of two or more pairs; nothing where either side is constant.

    Its p is exact for up to `EXACT` pairs without ties and where at most one pair stands against all others. Else it is
    that of the normal distribution, with the variance that ties leave (Kendall, Rank Correlation Methods, section 4.9).

    Args:
        first: values, any scale; finite or infinite, no NaN.
        second: values in parallel, likewise.

    Raises:
        ValueError: a value is NaN.
    """
    (_, one, ties), (_, other, other_ties) = (
        np.unique(_numbers(values), return_inverse=True, return_counts=True) for values in (first, second)
    )
    if len(ties) < 2 or len(other_ties) < 2:
        return None
    n, pairs = len(first), math.comb(len(first), 2)
    tied, tied_other = _pairs(ties), _pairs(other_ties)
    tied_both = _pairs(np.unique(one * n + other, return_counts=True)[1])
    discordant = _discordant(other[np.lexsort((other, one))])
    score = pairs - tied - tied_other + tied_both - 2 * discordant
    tau = max(-1.0, min(1.0, score / math.sqrt(pairs - tied) / math.sqrt(pairs - tied_other)))
    fewer = min(discordant, pairs - discordant)
    if not tied and not tied_other and (n <= EXACT or fewer <= 1):
        return Kendall(tau, _exact_p(n, fewer))
    size = n * (n - 1.0)
    (untied, threes), (untied_other, threes_other) = _tie_terms(ties), _tie_terms(other_ties)
    variance = (size * (2 * n + 5) - untied - untied_other) / 18 + 2 * tied * tied_other / size
    variance += threes * threes_other / (9 * size * max(1, n - 2))
    return Kendall(tau, math.erfc(abs(score) / math.sqrt(2 * variance)))


def _tie_terms(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return what groups of equal values take from the variance of tau's score, and their ordered triples."""
    pairs = counts * (counts - 1.0)
    return float((pairs * (2 * counts + 5)).sum()), float((pairs * (counts - 2)).sum())


def _pairs(counts: NDArray[np.int64]) -> int:
    """Return how many pairs lie within groups of given sizes."""
    return int((counts * (counts - 1) // 2).sum())


def _discordant(ranks: NDArray[np.intp]) -> int:
    """Return how many pairs stand in the wrong order, in as many sweeps as the highest rank has binary digits.

    Each sweep sorts by one digit more, the highest first. Among ranks that were alike so far, those with a 1 move back,
    each by as many places as ranks with a 0 stood behind it: those are its pairs in the wrong order.
    """
    count, ordered = 0, np.sort(ranks)
    for digit in reversed(range(int(ordered[-1]).bit_length())):
        here, there = ((places >> digit & 1).astype(bool) for places in (ranks, ordered))
        count += int((np.flatnonzero(there) - np.flatnonzero(here)).sum())
        sorted_so_far = np.empty_like(ranks)
        sorted_so_far[there], sorted_so_far[~there] = ranks[here], ranks[~here]
        ranks = sorted_so_far
    return count


def _exact_p(n: int, discordant: int) -> float:
    """Return the share of orders of n things with at most so many discordant pairs or concordant ones."""
    if n > VANISHING and discordant <= 1:
        return 0.0
    counts = [1] + [0] * discordant  # by discordant pairs, the orders of one thing, of two, of three, and so on
    for size in range(2, n + 1):
        counts = [sum(counts[max(0, found - size + 1) : found + 1]) for found in range(discordant + 1)]
    return min(1.0, 2 * sum(counts) / math.factorial(n))
