"""Two models on the same questions: the difference with its interval, and the test that there is none."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.statistics import grouped
from almanac.statistics.intervals import NOTHING, Estimate

EXACT = 500  # clusters that differ, up to which their signs are counted out
STEPS = 2**17  # of the grid on which the parts of the difference then lie
SAME = 1e-12  # parts that are no larger are rounding
MISSED = 1e-12  # the most by which p may err downwards where parts fit no grid, if it were not added


def p_of_difference(frame: pl.DataFrame, one: str, other: str, strata: str, clusters: str) -> float:
    """Return the p of `macro_difference` being 0; see `ps_of_differences`."""
    return ps_of_differences(frame, [], one, other, strata, clusters).get((), 1.0)


def ps_of_differences(
    frame: pl.DataFrame, by: Sequence[str], one: str, other: str, strata: str | None, clusters: str
) -> dict[tuple[Any, ...], float]:
    """Return the p of each of `macro_differences` being 0, two-sided, by the signs of what each cluster adds to it.

    If it does not matter which model is which, each cluster's part of the difference may as well have the other sign:
    p is the share of all signs by which their sum is as far from 0. Where each cluster has one question and all strata
    are of equal size, this is McNemar's exact test (1947). Of more than `EXACT` clusters the sum is taken to be normal,
    with his correction for continuity. Arguments and groups as those of `macro_differences`.
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
    """Return the p of a sum of what clusters add to it, of which ``whole`` times each is mostly a whole number."""
    differing = sums[np.abs(sums) > SAME]
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT:
        return _by_signs(differing, whole)
    from scipy import stats  # slow to load, and most steps compute nothing with it

    far = max(0.0, abs(float(differing.sum())) - float(np.abs(differing).min()))
    return float(2 * stats.norm.sf(far / math.sqrt(float((differing**2).sum()))))


def _by_signs(parts: NDArray[np.float64], whole: int) -> float:
    """Return how often a sum of parts with random signs is as far from 0 as theirs.

    It is exact where ``whole`` times each part is a whole number and these are at most `STEPS` together. Else parts are
    rounded to a grid, and sums that may be as far, for all that the grid can tell, are counted too: all that rounding
    could add, or as much as it adds but with the probability `MISSED` (Hoeffding 1963), which is then added to p.
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
    chance = np.zeros(most + 1)  # of each sum of the parts whose sign is +
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
    """Return the mean over strata of a paired difference of each group, with a 95 % score interval.

    A difference is what one has right that the other has not, less what the other alone has right. Both are shares of
    the same questions, with the intervals of `grouped.macro`, its strata taken to be alike, and go against each other:
    what is one is not the other. Each limit of the difference recovers both variances from the limits on its side, and
    the covariance from that of a multinomial (Zou, Huang and Zhang 2009; Tang, Tang and Rosner 2010). Where no question
    differs it is Tango's interval (1998), which has a width. `python -m benchmarks.coverage` shows how often it holds
    the truth.

    Args:
        frame: a row a question.
        by: the columns that make the groups; none: all are one group, whose key is empty.
        one: a column of truth values, or of values from 0 to 1.
        other: the column that it is compared with.
        strata: the column of the strata (the relation); none: a group is one stratum.
        clusters: the column of the clusters (the subject).

    Returns:
        By group the unweighted mean over strata of the mean of ``one`` less ``other``; a group without a question is
        not there.
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
    """Return the difference of two ratios of sums, such as F1, of the same clusters, with a 95 % interval.

    Each limit recovers the variances from the limits of `grouped.ratio` on its side, and the covariance from the
    correlation of the clusters' residuals (Zou, Huang and Zhang 2009). The correlation is drawn towards 0 by as many
    draws as Wilson's interval adds, so that few clusters that do not differ are not taken for certain.
    `python -m benchmarks.coverage` shows how often the interval holds the truth.

    Args:
        one: observations.
        other: those of what it is compared with.
        by: the columns that make the groups; none: all are one group, whose key is empty.
        part: as of `grouped.ratio`; the other columns too.
        whole: what each observation adds below.
        clusters: the column of the clusters (the subject).

    Returns:
        The ratio of ``one`` less that of ``other``, by group; a group that either lacks is not there.
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
    """Return the difference of two shares, each with its lower and upper limit, that are correlated.

    Each limit recovers the variances from the limits on its side (Zou, Huang and Zhang 2009).
    """
    (first, first_low, first_high), (second, second_low, second_high) = one, other

    def reach(step: float, back: float) -> float:
        return math.sqrt(max(0.0, step**2 - 2 * correlation * step * back + back**2))

    low = first - second - reach(first - first_low, second_high - second)
    high = first - second + reach(first_high - first, second - second_low)
    return Estimate(first - second, max(-1.0, low), min(1.0, high))


def _difference(more: tuple[float, float, float], fewer: tuple[float, float, float]) -> Estimate:
    """Return the difference of two shares that go against each other, each with its lower and upper limit."""
    first, second = more[0], fewer[0]
    neither = (1 - first) * (1 - second)
    return correlated_difference(more, fewer, -math.sqrt(first * second / neither) if neither > 0 else 0.0)
