"""Shares, means and ratios of many groups at once, with 95 % intervals: one pass over a frame, whatever its length.

A frame has a row an observation. Observations without a value (null) are left out. The variance is that of a mean whose
observations come in clusters (the facts of one subject are one draw), and the interval is Wilson's at the effective
number of observations that this variance stands for (Kish 1965).
"""

from collections.abc import Sequence

import polars as pl

from almanac.statistics.intervals import LEVEL, normal_quantile

ALL, STRATUM, CLUSTER, UNIT = "__all", "__stratum", "__cluster", "__unit"  # columns that no frame has


def shares(frame: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Return the share of true values of each group with its Wilson score interval (Wilson 1927).

    Args:
        frame: observations.
        by: the columns that make the groups; none: all are one group.
        value: a column of truth values, or of values from 0 to 1.

    Returns:
        The columns ``by``, ``value``, ``low`` and ``high``; a group without any value is not there.
    """
    keys, kept = _kept(frame, by, [value])
    found = kept.group_by(keys, maintain_order=True).agg(
        _number(value).mean().alias("value"), pl.len().alias("worth")
    )
    return _with_wilson(found, keys)


def macro(
    frame: pl.DataFrame, by: Sequence[str], value: str, strata: str, clusters: str, unit: str | None = None
) -> pl.DataFrame:
    """Return the unweighted mean over strata of the means within them, with a Wilson interval.

    The effective number of observations is at most the strata's number squared over the sum of 1/clusters: what the
    clusters are worth where all strata have one share. It stands alone where nothing varies, and keeps a stratum of few
    clusters from being taken for certain because they agree.

    Args:
        frame: observations.
        by: the columns that make the groups; none: all are one group.
        value: a column of values from 0 to 1, or of truth values.
        strata: the column of the strata (the relation).
        clusters: the column of the clusters (the subject).
        unit: a column whose observations are averaged first (the fact, where it is asked several times).

    Returns:
        As `shares`.
    """
    keys, kept = _kept(frame, by, [value])
    # Under names of their own, since a group may be made by the strata too.
    roles = {STRATUM: strata, CLUSTER: clusters, **({UNIT: unit} if unit else {})}
    kept = kept.select(*keys, *(pl.col(name).alias(role) for role, name in roles.items()), _number(value).alias("own"))
    parts = [*keys, STRATUM]
    if unit is not None:
        kept = kept.group_by([*parts, UNIT], maintain_order=True).agg(pl.col("own").mean(), pl.col(CLUSTER).first())
    cluster = kept.group_by([*parts, CLUSTER], maintain_order=True).agg(
        pl.len().alias("n"), pl.col("own").sum().alias("sum")
    )
    cluster = cluster.with_columns((pl.col("sum").sum().over(parts) / pl.col("n").sum().over(parts)).alias("mean"))
    stratum = cluster.group_by(parts, maintain_order=True).agg(
        pl.col("mean").first(),
        pl.len().alias("clusters"),
        ((pl.col("sum") - pl.col("n") * pl.col("mean")) ** 2).sum().alias("squares"),
        pl.col("n").sum(),
    )
    c = pl.col("clusters")
    variance = pl.when(c > 1).then(pl.col("squares") / pl.col("n") ** 2 * c / (c - 1)).otherwise(0.0)
    found = stratum.group_by(keys, maintain_order=True).agg(
        pl.col("mean").mean().alias("value"),
        (pl.len() ** 2 / (1 / c).sum()).alias("worth"),
        (variance.sum() / pl.len() ** 2).alias("variance"),
    )
    spread = pl.col("value") * (1 - pl.col("value"))
    return _with_wilson(_effective(found, spread / pl.col("variance")), keys)


def ratio(frame: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str) -> pl.DataFrame:
    """Return ratios of sums in 0 to 1, such as precision, recall or F1, with a Wilson interval.

    The variance is the linearised one of a ratio (Cochran 1977, section 2.11). The effective number of observations is
    at most what the wholes come to in units of the largest, at the share of clusters among observations; it stands
    alone where nothing varies.

    Args:
        frame: observations.
        by: the columns that make the groups; none: all are one group.
        part: what each observation adds above, at most its whole. F1 has 2 for a true positive.
        whole: what each adds below; an observation of 0 is left out. F1 has 2 for a true positive, and 1 for each error
            of either kind.
        clusters: the column of the clusters (the subject).

    Returns:
        As `shares`.
    """
    keys, kept = _kept(frame, by, [part, whole])
    parts = [_number(part).alias("part"), _number(whole).alias("whole"), pl.col(clusters).alias(CLUSTER)]
    kept = kept.select(*keys, *parts).filter(pl.col("whole") > 0)
    total = pl.col("whole").sum().over(keys)
    kept = kept.with_columns((pl.col("part").sum().over(keys) / total).alias("value"), total.alias("total"))
    cluster = kept.group_by([*keys, CLUSTER], maintain_order=True).agg(
        (pl.col("part") - pl.col("value") * pl.col("whole")).sum().alias("residual"),
        pl.len().alias("n"),
        pl.col("whole").max(),
        pl.col("value", "total").first(),
    )
    found = cluster.group_by(keys, maintain_order=True).agg(
        pl.col("value", "total").first(),
        (pl.col("total").first() / pl.col("whole").max() * pl.len() / pl.col("n").sum()).alias("worth"),
        pl.when(pl.len() > 1)
        .then((pl.col("residual") ** 2).sum() * pl.len() / (pl.len() - 1))
        .otherwise(0.0)
        .alias("variance"),
    )
    spread = pl.col("value") * (1 - pl.col("value"))
    return _with_wilson(_effective(found, spread * pl.col("total") ** 2 / pl.col("variance")), keys)


def _kept(frame: pl.DataFrame, by: Sequence[str], values: Sequence[str]) -> tuple[list[str], pl.DataFrame]:
    """Return the keys, and the observations that have a value."""
    kept = frame.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in values))
    return (list(by), kept) if by else ([ALL], kept.with_columns(pl.lit(True).alias(ALL)))


def _number(value: str) -> pl.Expr:
    return pl.col(value).cast(pl.Float64)


def _effective(found: pl.DataFrame, stands_for: pl.Expr) -> pl.DataFrame:
    """Return groups with the effective number of observations, at most what their clusters are worth."""
    varies = (pl.col("variance") > 0) & (pl.col("value") > 0) & (pl.col("value") < 1)
    worth = pl.when(varies).then(pl.min_horizontal(pl.col("worth"), stands_for)).otherwise(pl.col("worth"))
    return found.with_columns(worth.alias("worth"))


def _with_wilson(found: pl.DataFrame, keys: Sequence[str], level: float = LEVEL) -> pl.DataFrame:
    """Return groups with Wilson's interval of ``value`` at ``worth`` observations."""
    z, share, n = normal_quantile(level), pl.col("value"), pl.col("worth")
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)).sqrt()
    # Both limits are exact at shares of 0 and 1, where rounding would put them a little past the share.
    low = pl.min_horizontal(share, pl.max_horizontal(pl.lit(0.0), middle - half))
    high = pl.max_horizontal(share, pl.min_horizontal(pl.lit(1.0), middle + half))
    kept = [] if list(keys) == [ALL] else keys
    return found.select(*kept, share, low.alias("low"), high.alias("high"))
