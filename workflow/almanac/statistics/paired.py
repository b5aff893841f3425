"""Two models on the same questions: the difference with its interval, and the test of no difference."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.statistics import grouped
from almanac.statistics.intervals import NOTHING, Estimate

EXACT = 500  # up to so many differing clusters the distribution over all signs is computed exactly
STEPS = 2**17  # steps of the grid on which the parts of the difference then lie
SAME = 1e-12  # smaller parts are rounding errors
MISSED = 1e-12  # the probability that rounding to the grid moves a sum farther than allowed for; it is added to p


def p_of_difference(frame: pl.DataFrame, one: str, other: str, strata: str, clusters: str) -> float:
    """Return the p of `macro_difference` being 0; see `ps_of_differences`."""
    return ps_of_differences(frame, [], one, other, strata, clusters).get((), 1.0)


def ps_of_differences(
    frame: pl.DataFrame, by: Sequence[str], one: str, other: str, strata: str | None, clusters: str
) -> dict[tuple[Any, ...], float]:
    """Return the two-sided p of each of `macro_differences` being 0, by a sign-flipping test over clusters.

    If the models are exchangeable, each cluster's part of the difference may as well have the other sign: p is the
    share of all sign assignments whose sum is at least as far from 0. If each cluster has one question and all strata
    are of equal size, this is McNemar's exact test (1947). For more than `EXACT` clusters the sum is taken to be
    normal, with his correction for continuity. Arguments and groups are those of `macro_differences`.
    """
    keys = ["every group", *by]
    less = pl.col(one).cast(pl.Float64) - pl.col(other).cast(pl.Float64)
    size = pl.len().over([*keys, *([strata] if strata else [])])
    rows = frame.with_columns(pl.lit(0).alias("every group"))
    rows = rows.select(*keys, clusters, size.alias("size"), (less / size).alias("part"))
    sums = rows.group_by(*keys, clusters, maintain_order=True).agg(pl.col("part").sum())
    groups = sums.group_by(keys, maintain_order=True).agg("part")
    sizes = rows.group_by(keys).agg(pl.col("size").unique())
    found = groups.join(sizes, on=keys, maintain_order="left")
    return {tuple(key): _p(np.array(own), math.lcm(*of)) for _, *key, own, of in found.rows()}


def _p(sums: NDArray[np.float64], whole: int) -> float:
    """Return the p of the sum of the clusters' parts; ``whole`` times each part is mostly a whole number."""
    differing = sums[np.abs(sums) > SAME]
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT:
        return _by_signs(differing, whole)
    from scipy import stats  # slow to load, and most steps compute nothing with it

    far = max(0.0, abs(float(differing.sum())) - float(np.abs(differing).min()))
    return float(2 * stats.norm.sf(far / math.sqrt(float((differing**2).sum()))))


def _by_signs(parts: NDArray[np.float64], whole: int) -> float:
    """Return the probability that the parts' sum with random signs is at least as far from 0 as their own sum.

    It is exact if ``whole`` times each part is a whole number and these add up to at most `STEPS`. Otherwise parts are
    rounded to a grid. Sums then count if they may be as far with the largest possible rounding error, or with one that
    is exceeded with probability `MISSED` (Hoeffding 1963), which is added to p.
    """
    sizes = np.abs(parts) * min(whole, 2**53)  # a larger one fits on no grid, and in no float
    if sizes.sum() > STEPS or not np.allclose(sizes, np.rint(sizes), rtol=0, atol=SAME * STEPS):
        sizes = sizes * (STEPS / sizes.sum())
    else:
        sizes = np.rint(sizes)
    steps = np.rint(sizes).astype(int)
    off = np.abs(sizes - steps)
    reach, missed = float(off.sum()), 0.0
    if (mostly := math.sqrt(2 * math.log(2 / MISSED) * float((off**2).sum()))) < reach:
        reach, missed = mostly, MISSED
    most = int(steps.sum())
    chance = np.zeros(most + 1)  # the probability of each sum of the parts whose sign is +
    chance[0] = 1.0
    for step in steps:
        chance[step:] += chance[: most + 1 - step].copy()
        chance /= 2
    far = abs(float((np.sign(parts) * sizes).sum())) - reach - SAME * STEPS
    return min(1.0, missed + float(chance[np.abs(2 * np.arange(most + 1) - most) >= far].sum()))


def macro_difference(frame: pl.DataFrame, one: str, other: str, strata: str, clusters: str) -> Estimate:
    """Return the mean over strata of a paired difference of all questions; see `macro_differences`."""
    return macro_differences(frame, [], one, other, strata, clusters).get((), NOTHING)


def macro_differences(
    frame: pl.DataFrame, by: Sequence[str], one: str, other: str, strata: str | None, clusters: str
) -> dict[tuple[Any, ...], Estimate]:
    """Return the mean over strata of a paired difference in each group, with a 95 % score interval.

    The difference is the share of questions that only the first has right, minus the share that only the second has
    right. Both shares have intervals of `grouped.macro` (``alike``), and they exclude each other. Each limit of the
    difference recovers both variances from the limits on its side, and the covariance from that of a multinomial (Zou,
    Huang and Zhang 2009; Tang, Tang and Rosner 2010). If no question differs it is Tango's interval (1998), which has a
    width. `python -m benchmarks.coverage` shows how often it holds the truth.

    Args:
        frame: a row for each question.
        by: the columns that define groups; empty: one group, whose key is empty.
        one: a column of truth values, or of values from 0 to 1.
        other: the column that it is compared with.
        strata: the column of the strata (the relation); None: each group is one stratum.
        clusters: the column of the clusters (the subject).

    Returns:
        By group the unweighted mean over strata of the mean of ``one`` minus ``other``; groups without a question are
        absent.
    """
    less = pl.col(one).cast(pl.Float64) - pl.col(other).cast(pl.Float64)
    own = [strata] if strata else []
    parts = frame.select(*by, *own, clusters, less.clip(0, 1).alias("more"), (-less).clip(0, 1).alias("fewer"))
    more, fewer = (
        {row[: len(by)]: row[len(by) :] for row in grouped.macro(parts, by, side, strata, clusters, alike=True).rows()}
        for side in ("more", "fewer")
    )
    return {key: _difference(more[key], fewer[key]) for key in more}


def ratio_differences(
    one: pl.DataFrame, other: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str
) -> dict[tuple[Any, ...], Estimate]:
    """Return the difference of two ratios of sums, such as F1, on the same clusters, with a 95 % interval.

    Each limit recovers the variances from the limits of `grouped.ratio` on its side, and the covariance from the
    correlation of the clusters' residuals (Zou, Huang and Zhang 2009). The correlation is shrunk towards 0 by as many
    draws as Wilson's interval adds, so that a few clusters without a difference are not taken for certain.
    `python -m benchmarks.coverage` shows how often the interval holds the truth.

    Args:
        one: observations of the first.
        other: observations of the second.
        by: the columns that define groups; empty: one group, whose key is empty.
        part: the column of what each observation adds to the numerator (`grouped.ratio`).
        whole: the column of what it adds to the denominator.
        clusters: the column of the clusters (the subject).

    Returns:
        By group the ratio of ``one`` minus that of ``other``; groups that either lacks are absent.
    """
    size = len(by)
    own, less = (
        {row[:size]: row[size:] for row in grouped.ratio(frame, by, part, whole, clusters).rows()}
        for frame in (one, other)
    )
    (keys, rows), (_, others) = (grouped.residuals(frame, by, part, whole, clusters) for frame in (one, other))
    on = [*keys, "cluster"]
    both = rows.join(others, on=on, how="full", nulls_equal=True, coalesce=True, maintain_order="left_right")
    first, second = pl.col("residual").fill_null(0.0), pl.col("residual_right").fill_null(0.0)
    length = ((first**2).sum() * (second**2).sum()).sqrt()
    alike = pl.when(length > 0).then((first * second).sum() / length).otherwise(0.0)
    drawn = both.group_by(keys, maintain_order=True).agg(alike * grouped.COUNT / (grouped.COUNT + grouped.ADDED))
    correlations = {row[:size]: row[-1] for row in drawn.rows()}
    return {key: correlated_difference(own[key], less[key], correlations[key]) for key in own if key in less}


def correlated_difference(
    one: tuple[float, float, float], other: tuple[float, float, float], correlation: float
) -> Estimate:
    """Return the difference of two correlated shares, each given with its lower and upper limit.

    Each limit recovers the variances from the limits on its side (Zou, Huang and Zhang 2009).
    """
    (first, first_low, first_high), (second, second_low, second_high) = one, other

    def reach(step: float, back: float) -> float:
        return math.sqrt(max(0.0, step**2 - 2 * correlation * step * back + back**2))

    low = first - second - reach(first - first_low, second_high - second)
    high = first - second + reach(first_high - first, second - second_low)
    return Estimate(first - second, max(-1.0, low), min(1.0, high))


def _difference(more: tuple[float, float, float], fewer: tuple[float, float, float]) -> Estimate:
    """Return the difference of two shares that exclude each other, each given with its lower and upper limit."""
    first, second = more[0], fewer[0]
    neither = (1 - first) * (1 - second)
    return correlated_difference(more, fewer, -math.sqrt(first * second / neither) if neither > 0 else 0.0)
