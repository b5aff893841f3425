"""Shares, means and ratios of many groups at once, with 95 % intervals: one pass over a frame of any length.

A frame has a row for each observation; those without a value (null) are left out. Observations come in clusters: the
facts of one subject are one draw, and clusters of unequal size are worth fewer draws than there are clusters. The
interval is Wilson's at the effective number of observations, which follows from the variance (Kish 1965).
`python -m benchmarks.coverage` shows how often the intervals hold the truth.
"""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from almanac.statistics.intervals import LEVEL, normal_quantile

ADDED = normal_quantile(LEVEL) ** 2  # z², the number of observations that Wilson's interval adds
GROUP = "group "  # prefix of the columns ``by`` in here: the column of the strata may be one of them
COUNT = pl.len().cast(pl.Float64)  # polars counts in 32 bits, which the square of a count soon exceeds


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
    of_strata = _of_strata(kept, keys, parts)
    found = of_strata.group_by(keys, maintain_order=True).agg(
        pl.col("all").first().alias("value"),
        pl.col("worth").first().alias("clusters' worth"),
        (pl.col("variance").sum() / COUNT**2).alias("variance"),
        (pl.col("mean").var() / COUNT).alias("variance of strata"),
        COUNT.alias("strata"),
    )
    spread = pl.col("value") * (1 - pl.col("value"))
    worth = pl.when(pl.col("variance") > 0).then(spread / pl.col("variance")).otherwise(pl.col("clusters' worth"))
    these = _with_wilson(found.with_columns(worth.alias("worth")), by)
    draws = of_strata["clusters"].to_numpy()
    if not alike and draws.size and 2 * draws.min() < draws.max():  # else none has fewer than half of the median's
        these = _reaching(these, of_strata, keys)
    if not drawn:
        return these
    varies = pl.col("variance of strata") > 0
    worth = pl.when(varies).then(spread / pl.col("variance of strata")).otherwise(pl.lit(math.inf))
    quantile = pl.col("strata").replace_strict(_student(found["strata"]), return_dtype=pl.Float64)
    others = _with_wilson(found.with_columns(worth.alias("worth")), by, quantile)
    several = found["strata"] > 1
    return these.with_columns(
        pl.when(several).then(pl.min_horizontal(these["low"], others["low"])).alias("low"),
        pl.when(several).then(pl.max_horizontal(these["high"], others["high"])).alias("high"),
    )


def _reaching(these: pl.DataFrame, of_strata: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return groups with limits that reach farther for strata of few draws; see `macro`.

    Args:
        these: groups with their limits.
        of_strata: the result of `_of_strata`, in the order of the groups.
        keys: its columns that define groups.
    """
    c, mean = pl.col("clusters"), pl.col("mean")
    few = (1 - 2 * c * (1 / c).median().over(keys)).clip(0)  # 0 from half of the median's draws on, 1 for no draws
    own = zip(("below", "above"), _wilson(mean, c / pl.col("effect"), pl.lit(normal_quantile(LEVEL))), strict=True)
    more = ((few * ((end - mean) ** 2 - ADDED * pl.col("variance")).clip(0)).alias(name) for name, end in own)
    squares = of_strata.with_columns(*more).group_by(keys, maintain_order=True)
    found = squares.agg(pl.col("below", "above").sum() / COUNT**2)
    share, below, above = pl.col("value"), found["below"], found["above"]
    low = (share - ((share - pl.col("low")) ** 2 + below).sqrt()).clip(0.0)
    high = (share + ((pl.col("high") - share) ** 2 + above).sqrt()).clip(upper_bound=1.0)
    return these.with_columns(
        pl.when(below > 0).then(low).otherwise("low").alias("low"),
        pl.when(above > 0).then(high).otherwise("high").alias("high"),
    )


def _of_strata(kept: pl.DataFrame, keys: Sequence[str], parts: Sequence[str]) -> pl.DataFrame:
    """Return for each stratum its ``mean``, ``variance`` and draws (``clusters``), and three numbers of its group.

    These are ``all``, the mean over strata; ``effect``, the design effect; ``worth``, the draws of all clusters.
    """
    cluster = kept.group_by([*parts, "cluster"], maintain_order=True).agg(
        COUNT.alias("n"), pl.col("own").sum().alias("sum")
    )
    n, mean, c, weight = (pl.col(name) for name in ("n", "mean", "clusters", "weight"))
    mean_of = pl.col("sum").sum().over(parts) / n.sum().over(parts)
    cluster = cluster.with_columns(mean_of.alias("mean"), *_weights(parts))
    # A cluster's deviation in the stratum's mean; a single cluster in a stratum says nothing about how clusters vary.
    part = (pl.col("sum") - n * mean) / n.sum().over(parts) / pl.col("varies")
    cluster = cluster.with_columns(pl.when(c > 1).then(part).otherwise(0.0).alias("part"))
    whole, draws = (one.sum().over([*keys, "cluster"]) for one in (pl.col("part"), weight))
    stratum = (
        cluster.with_columns(
            (pl.col("part") * (whole - pl.col("part"))).alias("shared"),
            (draws * weight).alias("as one draw"),
            ((COUNT.over([*keys, "cluster"]) - 1) / 2).alias("pairs"),
        )
        .group_by(parts, maintain_order=True)
        .agg(
            pl.col("clusters", "mean").first(),
            (pl.col("part") ** 2).sum().alias("squares"),
            pl.col("shared", "as one draw", "pairs").sum(),
            (weight**4).sum().alias("fourths"),
        )
    )
    # In a sample p(1 - p) is too small by the variance of the mean.
    draws = pl.when(c > 1).then((mean * (1 - mean) + pl.col("squares")) / c).otherwise(0.0)
    # If a cluster's values in several strata happen to be opposite, that must not make the variance smaller.
    vary = pl.col("squares").sum().over(keys) + pl.max_horizontal(pl.lit(0.0), pl.col("shared").sum().over(keys))
    stratum = stratum.with_columns(
        mean.mean().over(keys).alias("all"),
        pl.when(draws.sum().over(keys) > 0).then(vary / draws.sum().over(keys)).otherwise(1.0).alias("effect"),
        (COUNT.over(keys) ** 2 / (1 / c).sum().over(keys)).alias("worth"),
        ((1 / c).sum().over(keys) ** 2 / pl.col("fourths").sum().over(keys)).alias("told by"),
        (pl.col("as one draw").sum().over(keys) / (1 / c).sum().over(keys)).alias("most"),
        pl.col("pairs").sum().over(keys),
    )
    share = (c * mean + ADDED * pl.col("all")) / (c + ADDED)
    effect = _cautious(pl.col("effect"), pl.col("told by"))
    alike = pl.col("pairs") * pl.min_horizontal("all", 1 - pl.col("all"))  # expected if a cluster is one draw
    effect += (pl.col("most") - effect.clip(1)).clip(0) * ADDED / (alike + ADDED)
    return stratum.with_columns(
        (share * (1 - share) / c * effect).alias("variance"),
        effect.alias("effect"),
        worth=pl.col("worth") / pl.col("most"),
    )


def _weights(parts: Sequence[str]) -> list[pl.Expr]:
    """Return the weights of clusters of ``n`` observations in the mean of their part, such as a stratum.

    Returns:
        ``weight``, a cluster's share of the observations; ``clusters``, the number c = (Σ n)² / Σ n² of clusters of
        equal size whose mean varies as much, if all values within a cluster are equal (Kish 1965, section 8.2); and
        ``varies``, the standard deviation of a cluster from the observed mean, relative to that from the true mean. It
        is small for a cluster that makes up most of the observed mean.
    """
    n = pl.col("n")
    worth = n.sum().over(parts) ** 2 / (n**2).sum().over(parts)
    weight = n / n.sum().over(parts)
    return [weight.alias("weight"), worth.alias("clusters"), (1 - 2 * weight + 1 / worth).sqrt().alias("varies")]


def _student(counts: pl.Series) -> dict[float, float | None]:
    """Return by number of values the quantile of Student's distribution for their mean; None for fewer than two."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    own = counts.unique().to_list()
    return {count: float(stats.t.ppf(0.5 + LEVEL / 2, count - 1)) if count > 1 else None for count in own}


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
    found = (
        cluster.with_columns(_weights(keys))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("value", "total").first(),
            (pl.col("total") / pl.col("whole").max() * pl.col("clusters") / pl.col("n").sum()).first().alias("worth"),
            pl.when(COUNT > 1).then(((pl.col("residual") / pl.col("varies")) ** 2).sum()).alias("variance"),
            (1 / pl.col("clusters").first() ** 3 / (pl.col("weight") ** 4).sum()).alias("told by"),
        )
    )
    spread = pl.col("value") * (1 - pl.col("value"))
    varies = pl.col("variance").is_not_null() & (spread > 0)
    effect = _cautious(
        pl.col("worth") * pl.col("variance") / (spread * pl.col("total") ** 2), pl.col("worth") * pl.col("told by")
    )
    worth = pl.when(varies).then(pl.col("worth") / effect).otherwise(pl.col("worth"))
    least = pl.min_horizontal(pl.lit(1.0), pl.col("worth"))  # one draw, or `worth` if that is less
    return _with_wilson(found.with_columns(pl.max_horizontal(worth, least).alias("worth")), by)


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


def _cautious(effect: pl.Expr, told_by: pl.Expr) -> pl.Expr:
    """Return a design effect; one below 1 is shrunk towards 1 by `ADDED` draws.

    Args:
        effect: the variance over that of independent draws.
        told_by: the number of draws of equal weight that would estimate it as well.
    """
    return pl.when(effect < 1).then((told_by * effect + ADDED) / (told_by + ADDED)).otherwise(effect)


def _with_wilson(found: pl.DataFrame, by: Sequence[str], quantile: pl.Expr | None = None) -> pl.DataFrame:
    """Return groups with Wilson's interval of ``value`` at ``worth`` observations; the default quantile is normal."""
    z = pl.lit(normal_quantile(LEVEL)) if quantile is None else quantile
    low, high = _wilson(pl.col("value"), pl.col("worth"), z)
    groups = (pl.col(f"{GROUP}{name}").alias(name) for name in by)
    return found.select(*groups, "value", low.alias("low"), high.alias("high"))


def _wilson(share: pl.Expr, n: pl.Expr, z: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the limits of Wilson's interval of a share of ``n`` observations; ``z`` is the quantile."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)).sqrt()
    # Both limits are exact at shares of 0 and 1, where rounding would put them a little past the share.
    low = pl.min_horizontal(share, pl.max_horizontal(pl.lit(0.0), middle - half))
    return low, pl.max_horizontal(share, pl.min_horizontal(pl.lit(1.0), middle + half))
