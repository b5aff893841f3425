"""Shares, means and ratios of many groups at once, with 95 % intervals: one pass over a frame of any length.

A frame has a row for each observation; those without a value (null) are left out. Observations come in clusters: the
facts of one subject are one draw, and clusters of unequal size are worth fewer draws than there are clusters. The
interval is Wilson's at the effective number of observations, which follows from the variance (Kish 1965).
`python -m benchmarks.coverage` shows how often the intervals hold the truth.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.statistics.intervals import LEVEL, normal_quantile

Z = normal_quantile(LEVEL)
ADDED = Z**2  # the number of observations that Wilson's interval adds
GROUP = "group "  # prefix of the columns ``by`` in here: the column of the strata may be one of them
COUNT = pl.len().cast(pl.Float64)  # polars counts in 32 bits, which the square of a count soon exceeds

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@np.errstate(divide="ignore", invalid="ignore")  # what is not defined is replaced
def macro(
    frame: pl.DataFrame,
    by: Sequence[str],
    value: str,
    strata: str | None,
    clusters: str,
    unit: str | None = None,
    drawn: bool = False,
    alike: bool = False,
) -> pl.DataFrame:
    """Return the unweighted mean over strata of the means within them, with a Wilson interval.

    The interval is for these strata, and for other clusters of them. The variance of a stratum's mean is that of a
    share of c draws, which its clusters are worth (`_weights`), times a design effect:

    - The share is first shrunk towards the mean over all strata by z² draws, as many as Wilson's interval adds, so that
      a few clusters that agree are not taken for certain.
    - The design effect is the variance of the clusters' sums over that of such draws: above 1 if clusters have similar
      values in several strata, below 1 if values within a cluster differ, and then shrunk towards 1 by z² draws.
    - Similarity across strata is told by pairs of a cluster's values that are both right (or both wrong, if rarer). If
      few such pairs can be expected, the effect is shrunk towards that of clusters that are one draw in all strata. If
      all values are equal, each cluster counts as one draw.

    A stratum with far fewer draws than the others dominates the variance, and they say little about its share. If it
    has fewer than half of the median's, the limits reach farther: their squared distances grow by a part of what its
    own Wilson interval adds to this variance (Zou, Huang and Zhang 2009), the larger the fewer its draws. If all strata
    have the same share, the interval is then wider than necessary.

    Args:
        frame: observations.
        by: the columns that define groups; empty: one group.
        value: a column of values from 0 to 1, or of truth values.
        strata: the column of the strata (the relation); None: each group is one stratum.
        clusters: the column of the clusters (the subject); observations without one form one cluster.
        unit: a column whose observations are averaged first (the fact, if it is asked several times).
        drawn: whether the strata are themselves a sample, and the interval is for *other* strata: Wilson's with
            Student's quantile, at the variance of the strata's means. It is never narrower than that for these strata;
            a single stratum has none.
        alike: whether strata with few draws are assumed to have about the share of the others: no farther limits then.

    Returns:
        The columns ``by``, ``value``, ``low`` and ``high``; groups without any value are absent.
    """
    keys, kept = _observed(frame, by, {"own": value}, {"stratum": strata, "cluster": clusters, "unit": unit})
    parts = [*keys, "stratum"]
    if unit is not None:
        kept = kept.group_by([*parts, "unit"], maintain_order=True).agg(pl.col("own").mean(), pl.col("cluster").first())
    cluster = kept.group_by([*parts, "cluster"], maintain_order=True).agg(
        COUNT.alias("n"), pl.col("own").sum().alias("sum")
    )
    of_cluster, rows = _numbered(cluster, parts)
    strata_of = cluster[rows]
    of_stratum, rows = _numbered(strata_of, keys)
    same, _ = _numbered(cluster, [*keys, "cluster"])
    found = _of_strata(cluster["n"].to_numpy(), cluster["sum"].to_numpy(), of_cluster, of_stratum, same)
    count, share = np.bincount(of_stratum), found.share
    variance, spread = _sums(found.variance, of_stratum) / count**2, share * (1 - share)
    low, high = _wilson(share, np.where(variance > 0, spread / variance, found.worth))
    draws = found.draws
    if not alike and draws.size and 2 * draws.min() < draws.max():  # else none has fewer than half of the median's
        low, high = _reaching(low, high, found, of_stratum)
    if drawn:
        several = count > 1
        variance = _sums((found.mean - share[of_stratum]) ** 2, of_stratum) / (count - 1) / count
        others = _wilson(share, np.where(variance > 0, spread / variance, np.inf), _student(count))
        low = np.where(several, np.minimum(low, others[0]), np.nan)
        high = np.where(several, np.maximum(high, others[1]), np.nan)
    return _result(strata_of[rows], by, share, low, high)


class _Strata(NamedTuple):
    """Numbers of strata and of their groups, ``(strata,)`` and ``(groups,)``.

    Attributes:
        mean: of each stratum.
        draws: how many clusters of equal size those of each stratum are worth (`_weights`).
        variance: of each stratum's mean.
        share: the mean over the strata of each group.
        effect: the design effect of each group.
        worth: the number of draws of all clusters of each group.
    """

    mean: Floats
    draws: Floats
    variance: Floats
    share: Floats
    effect: Floats
    worth: Floats


def _of_strata(n: Floats, sums: Floats, of_cluster: Numbers, of_stratum: Numbers, same: Numbers) -> _Strata:
    """Return the numbers of strata; see `macro`.

    Args:
        n: the number of observations of each cluster in each stratum, ``(clusters in strata,)``.
        sums: the sum of their values.
        of_cluster: the stratum of each.
        of_stratum: the group of each stratum, ``(strata,)``.
        same: the number of each cluster, which is the same in all strata of a group.
    """
    weight, draws, varies = _weights(n, of_cluster)
    size, group = _sums(n, of_cluster), of_stratum[of_cluster]
    mean, count = _sums(sums, of_cluster) / size, np.bincount(of_stratum)
    share = _sums(mean, of_stratum) / count
    # A cluster's deviation in the stratum's mean; a single cluster in a stratum says nothing about how clusters vary.
    part = (sums - n * mean[of_cluster]) / size[of_cluster] / varies
    part = np.where(draws[of_cluster] > 1, part, 0.0)
    whole, together, strata = (_sums(one, same)[same] for one in (part, weight, np.ones_like(n)))
    squares, one_draw_each = _sums(part**2, of_cluster), _sums(1 / draws, of_stratum)
    # In a sample p(1 - p) is too small by the variance of the mean.
    independent = _sums(np.where(draws > 1, (mean * (1 - mean) + squares) / draws, 0.0), of_stratum)
    # If a cluster's values in several strata happen to be opposite, that must not make the variance smaller.
    vary = _sums(squares, of_stratum) + np.maximum(0.0, _sums(part * (whole - part), group))
    effect = np.where(independent > 0, vary / independent, 1.0)
    effect = _cautious(effect, one_draw_each**2 / _sums(weight**4, group))
    most = _sums(together * weight, group) / one_draw_each  # the effect if a cluster is one draw in all strata
    alike = _sums((strata - 1) / 2, group) * np.minimum(share, 1 - share)  # pairs expected if it is one draw
    effect += np.maximum(0.0, most - np.maximum(1.0, effect)) * ADDED / (alike + ADDED)
    shrunk = (draws * mean + ADDED * share[of_stratum]) / (draws + ADDED)
    variance = shrunk * (1 - shrunk) / draws * effect[of_stratum]
    return _Strata(mean, draws, variance, share, effect, count**2 / one_draw_each / most)


def _reaching(low: Floats, high: Floats, found: _Strata, of_stratum: Numbers) -> tuple[Floats, Floats]:
    """Return limits of groups that reach farther for strata of few draws; see `macro`."""
    draws, mean, share = found.draws, found.mean, found.share
    few = np.maximum(0.0, 1 - 2 * draws * _medians(1 / draws, of_stratum)[of_stratum])  # 0 from half of the median's on
    below, above = (
        _sums(few * np.maximum(0.0, (limit - mean) ** 2 - ADDED * found.variance), of_stratum)
        / np.bincount(of_stratum) ** 2
        for limit in _wilson(mean, draws / found.effect[of_stratum])
    )
    farther = np.maximum(0.0, share - np.sqrt((share - low) ** 2 + below))
    farther_up = np.minimum(1.0, share + np.sqrt((high - share) ** 2 + above))
    return np.where(below > 0, farther, low), np.where(above > 0, farther_up, high)


def _weights(n: Floats, group: Numbers) -> tuple[Floats, Floats, Floats]:
    """Return the weights of clusters of ``n`` observations in the mean of their group, such as a stratum.

    Returns:
        By cluster its share of the observations; by group the number c = (Σ n)² / Σ n² of clusters of equal size whose
        mean varies as much, if all values within a cluster are equal (Kish 1965, section 8.2); and by cluster its
        standard deviation from the observed mean, relative to that from the true mean. This is small for a cluster that
        makes up most of the observed mean.
    """
    size = _sums(n, group)
    worth, weight = size**2 / _sums(n**2, group), n / size[group]
    return weight, worth, np.sqrt(1 - 2 * weight + 1 / worth[group])


def _student(counts: Numbers) -> Floats:
    """Return the quantile of Student's distribution for the mean of so many values; not a number for fewer than two."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    found: Floats = stats.t.ppf(0.5 + LEVEL / 2, counts - 1)
    return found


@np.errstate(divide="ignore", invalid="ignore")  # what is not defined is replaced
def ratio(frame: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str) -> pl.DataFrame:
    """Return ratios of sums between 0 and 1, such as precision, recall or F1, with a Wilson interval.

    The variance is the linearised variance of a ratio (Cochran 1977, section 2.11). For a single cluster, and for a
    ratio of 0 or 1, the number of draws is Σ whole / max whole · c / n, where the n observations are worth c clusters
    (`_weights`). If the ratio varies less than with so many draws, as within clusters of many observations, its design
    effect is shrunk towards 1 as in `macro`.

    Args:
        frame: observations.
        by: the columns that define groups; empty: one group.
        part: what each observation adds to the numerator, at most its whole. For F1: 2 for a true positive.
        whole: what it adds to the denominator; observations with 0 are left out. For F1: 2 for a true positive, 1 for
            an error of either kind.
        clusters: the column of the clusters (the subject).

    Returns:
        As `macro`.
    """
    keys, cluster = residuals(frame, by, part, whole, clusters)
    group, rows = _numbered(cluster, keys)
    groups = cluster[rows]
    n, residual = cluster["n"].to_numpy(), cluster["residual"].to_numpy()
    share, total = groups["value"].to_numpy(), groups["total"].to_numpy()
    largest = np.zeros_like(total)
    np.maximum.at(largest, group, cluster["whole"].to_numpy())
    weight, draws, varies = _weights(n, group)
    worth, spread = total / largest * draws / _sums(n, group), share * (1 - share)
    effect = worth * _sums((residual / varies) ** 2, group) / (spread * total**2)
    effect = _cautious(effect, worth / draws**3 / _sums(weight**4, group))
    least = np.minimum(1.0, worth)  # one draw, or `worth` if that is less
    known = np.where((np.bincount(group) > 1) & (spread > 0), worth / effect, worth)
    return _result(groups, by, share, *_wilson(share, np.maximum(known, least)))


def residuals(
    frame: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str
) -> tuple[list[str], pl.DataFrame]:
    """Return the residual of each cluster, Σ (part - ratio of its group · whole); see `ratio`.

    Returns:
        The names of the columns that define groups, and a row for each cluster: these columns, ``cluster``, its
        ``residual``, its number of observations ``n``, the largest of their wholes (``whole``), the group's ratio
        (``value``) and the sum of the group's wholes (``total``).
    """
    keys, kept = _observed(frame, by, {"part": part, "whole": whole}, {"cluster": clusters})
    kept = kept.filter(pl.col("whole") > 0)
    total = pl.col("whole").sum().over(keys)
    kept = kept.with_columns((pl.col("part").sum().over(keys) / total).alias("value"), total.alias("total"))
    cluster = kept.group_by([*keys, "cluster"], maintain_order=True).agg(
        (pl.col("part") - pl.col("value") * pl.col("whole")).sum().alias("residual"),
        COUNT.alias("n"),
        pl.col("whole").max(),
        pl.col("value", "total").first(),
    )
    return keys, cluster


def _observed(
    frame: pl.DataFrame, by: Sequence[str], values: Mapping[str, str], roles: Mapping[str, str | None] | None = None
) -> tuple[list[str], pl.DataFrame]:
    """Return the names of the columns that define groups, and the observations that have all values, as numbers.

    Args:
        frame: observations.
        by: the columns that define groups.
        values: columns of numbers or truth values, by their new names.
        roles: further columns, by their new names; None: a constant.
    """
    groups: dict[str, str | None] = {f"{GROUP}{name}": name for name in by}
    groups = groups or {GROUP: None}
    named = {**groups, **(roles or {})}
    kept = frame.select(
        *((pl.lit(0) if name is None else pl.col(name)).alias(role) for role, name in named.items()),
        *(pl.col(name).cast(pl.Float64).alias(role) for role, name in values.items()),
    )
    return list(groups), kept.drop_nulls(list(values))


def _numbered(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Return each row's group, numbered in the order in which groups first occur, and the index of its first row."""
    first = frame.with_row_index("row ").select(pl.col("row ").first().over(columns)).to_series().to_numpy()
    rows, numbers = np.unique(first, return_inverse=True)
    return numbers, rows


def _sums(values: Floats, group: Numbers) -> Floats:
    """Return the sum of the values of each group."""
    return np.bincount(group, values).astype(np.float64, copy=False)


def _medians(values: Floats, group: Numbers) -> Floats:
    """Return the median of the values of each group."""
    ordered, counts = values[np.lexsort((values, group))], np.bincount(group)
    first = np.cumsum(counts) - counts
    medians: Floats = (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2
    return medians


def _cautious(effect: Floats, told_by: Floats) -> Floats:
    """Return design effects; one below 1 is shrunk towards 1 by `ADDED` draws.

    Args:
        effect: the variance over that of independent draws.
        told_by: the number of draws of equal weight that would estimate it as well.
    """
    return np.where(effect < 1, (told_by * effect + ADDED) / (told_by + ADDED), effect)


def _wilson(share: Floats, n: Floats, z: Floats | float = Z) -> tuple[Floats, Floats]:
    """Return the limits of Wilson's interval of shares of ``n`` observations; ``z`` is the quantile."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Both limits are exact at shares of 0 and 1, where rounding would put them a little past the share.
    low = np.minimum(share, np.maximum(0.0, middle - half))
    return low, np.maximum(share, np.minimum(1.0, middle + half))


def _result(groups: pl.DataFrame, by: Sequence[str], share: Floats, low: Floats, high: Floats) -> pl.DataFrame:
    limits = (pl.Series(name, one, nan_to_null=True) for name, one in (("value", share), ("low", low), ("high", high)))
    return groups.select(*(pl.col(f"{GROUP}{name}").alias(name) for name in by), *limits)
