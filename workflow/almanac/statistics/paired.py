"""Two models on the same questions: McNemar's exact test, and the difference with its interval."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from almanac.statistics import grouped
from almanac.statistics.intervals import NOTHING, Estimate


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return the p of two models answering the same questions equally often (McNemar 1947, exact, two-sided).

    Args:
        first: whether the first answers each question.
        second: whether the second does, in parallel.
    """
    pairs = list(zip(first, second, strict=True))
    only_first = sum(one and not other for one, other in pairs)
    only_second = sum(other and not one for one, other in pairs)
    if not only_first + only_second:
        return 1.0
    from scipy import stats  # slow to load, and most steps compute nothing with it

    return float(stats.binomtest(only_first, only_first + only_second, 0.5).pvalue)


def macro_difference(frame: pl.DataFrame, one: str, other: str, strata: str, clusters: str) -> Estimate:
    """Return the mean over strata of a paired difference of all questions; see `macro_differences`."""
    return macro_differences(frame, [], one, other, strata, clusters).get((), NOTHING)


def macro_differences(
    frame: pl.DataFrame, by: Sequence[str], one: str, other: str, strata: str, clusters: str
) -> dict[tuple[Any, ...], Estimate]:
    """Return the mean over strata of a paired difference of each group, with a 95 % score interval.

    A difference is what one has right that the other has not, less what the other alone has right. Both are shares of
    the same questions, with the intervals of `grouped.macro`, and go against each other: what is one is not the other.
    Each limit of the difference recovers both variances from the limits on its side, and the covariance from that of
    a multinomial (Zou, Huang and Zhang 2009; Tang, Tang and Rosner 2010). Where no question differs it is Tango's
    interval (1998), which has a width. `python -m benchmarks.coverage` shows how often it holds the truth.

    Args:
        frame: a row a question.
        by: the columns that make the groups; none: all are one group, whose key is empty.
        one: a column of truth values, or of values from 0 to 1.
        other: the column that it is compared with.
        strata: the column of the strata (the relation).
        clusters: the column of the clusters (the subject).

    Returns:
        By group the unweighted mean over strata of the mean of ``one`` less ``other``; a group without a question is
        not there.
    """
    less = pl.col(one).cast(pl.Float64) - pl.col(other).cast(pl.Float64)
    parts = frame.select(*by, strata, clusters, less.clip(0, 1).alias("more"), (-less).clip(0, 1).alias("fewer"))
    more, fewer = (
        {row[: len(by)]: row[len(by) :] for row in grouped.macro(parts, by, side, strata, clusters).rows()}
        for side in ("more", "fewer")
    )
    return {key: _difference(more[key], fewer[key]) for key in more}


def _difference(more: tuple[float, float, float], fewer: tuple[float, float, float]) -> Estimate:
    """Return the difference of two shares that go against each other, each with its lower and upper limit."""
    (first, first_low, first_high), (second, second_low, second_high) = more, fewer
    neither = (1 - first) * (1 - second)
    against = math.sqrt(first * second / neither) if neither > 0 else 0.0

    def reach(step: float, back: float) -> float:
        return math.sqrt(step**2 + 2 * against * step * back + back**2)

    low = first - second - reach(first - first_low, second_high - second)
    high = first - second + reach(first_high - first, second - second_low)
    return Estimate(first - second, max(-1.0, low), min(1.0, high))
