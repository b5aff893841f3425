"""Shares, means and ratios of many groups at once, with 95 % intervals: one pass over a frame, whatever its length.

A frame has a row an observation. Observations without a value (null) are left out. The variance is that of a mean whose
observations come in clusters (the facts of one subject are one draw; where clusters are of unequal size they are worth
fewer than there are), and the interval is Wilson's at the effective number of observations that this variance stands
for (Kish 1965). `python -m benchmarks.coverage` shows how often the intervals hold the truth.
"""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from almanac.statistics.intervals import LEVEL, normal_quantile

ADDED = normal_quantile(LEVEL) ** 2  # observations that Wilson's interval adds
GROUP = "group "  # begins the name that a column of ``by`` has in here, since a group may be made by the strata too
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

    The interval is of these strata: it says how far other clusters of them might lie. A cluster counts as one draw: the
    variance of a stratum's mean is that of a share of as many draws as its clusters are worth (`_weights`). The share
    is first drawn towards the mean of all strata by as many draws as Wilson's interval adds (the square of the normal
    quantile), so that few that agree are not taken for certain. All is multiplied by what sums of clusters vary by what
    such draws would: more where clusters stand in several strata with like values, and less where the values of a
    cluster differ; that less is drawn towards 1 in the same way. How alike a cluster's values are in several strata is
    told by pairs of them that are both right, or both wrong if those are rarer. If a cluster were one draw for all its
    strata, so many pairs would be expected: where these are few, the product is drawn towards what it would be then.
    Where all values are alike, each cluster counts as one draw.

    A stratum of much fewer draws than most is what the mean varies by above all, and the others say little of its
    share. So where it has less than half of the median's, the limits reach farther by what its own interval, Wilson's,
    has more than this variance: the fewer its draws, the larger a part of that, as squares (Zou, Huang and Zhang 2009).
    Where all strata are alike the interval is then wider than need be.

    Args:
        frame: observations.
        by: the columns that make the groups; none: all of them are one.
        value: a column of values from 0 to 1, or of truth values.
        strata: the column of the strata (the relation); none: all of a group are one.
        clusters: the column of the clusters (the subject); observations without one are a cluster together.
        unit: a column whose observations are averaged first (the fact, where it is asked several times).
        drawn: whether the strata are a sample themselves, and the interval is of *other* strata of their kind: Wilson's
            with Student's quantile, at the variance of the strata's means. It is never narrower than that of these
            strata, and there is none of a single one.
        alike: whether the share of a stratum of few draws is taken to be about that of the others, as where all are
            small: limits then reach no farther for it.

    Returns:
        The columns ``by``, ``value``, ``low`` and ``high``; a group without any value is not there.
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
    if not alike and draws.size and 2 * draws.min() < draws.max():  # else none has less than half of the median's
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
        of_strata: their strata, as of `_of_strata`, in the order of the groups.
        keys: the columns of these that make the groups.
    """
    c, mean = pl.col("clusters"), pl.col("mean")
    few = (1 - 2 * c * (1 / c).median().over(keys)).clip(0)  # how much fewer draws than most, from none to 1
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
    """Return a row a stratum: its ``mean``, the mean of ``all`` strata, their ``worth`` in draws, its ``variance``.

    With how many draws its ``clusters`` are worth, and by how much (``effect``) more or less than these they vary.
    """
    cluster = kept.group_by([*parts, "cluster"], maintain_order=True).agg(
        COUNT.alias("n"), pl.col("own").sum().alias("sum")
    )
    n, mean, c, weight = (pl.col(name) for name in ("n", "mean", "clusters", "weight"))
    mean_of = pl.col("sum").sum().over(parts) / n.sum().over(parts)
    cluster = cluster.with_columns(mean_of.alias("mean"), *_weights(parts))
    # What a cluster adds to the sum of the strata's means; one alone in its stratum says nothing of how clusters vary.
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
    # Of a sample the product of both shares is too small by the variance of the mean.
    draws = pl.when(c > 1).then((mean * (1 - mean) + pl.col("squares")) / c).otherwise(0.0)
    # Values of a cluster in several strata that happen to go against each other make nothing surer.
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
    alike = pl.col("pairs") * pl.min_horizontal("all", 1 - pl.col("all"))  # if a cluster's values are one
    effect += (pl.col("most") - effect.clip(1)).clip(0) * ADDED / (alike + ADDED)
    return stratum.with_columns(
        (share * (1 - share) / c * effect).alias("variance"),
        effect.alias("effect"),
        worth=pl.col("worth") / pl.col("most"),
    )


def _weights(parts: Sequence[str]) -> list[pl.Expr]:
    """Return what clusters of ``n`` observations weigh in a mean of all of a part.

    Returns:
        ``weight``, a cluster's share of the observations; ``clusters``, how many of equal size have a mean that varies
        as much, where the values of each are one (Kish 1965, section 8.2): as many as there are if all are of equal
        size; and ``varies``, the standard deviation of a cluster from the mean of all, itself among them, in units of
        that from the true mean. It is small where a cluster makes most of that mean.
    """
    n = pl.col("n")
    worth = n.sum().over(parts) ** 2 / (n**2).sum().over(parts)
    weight = n / n.sum().over(parts)
    return [weight.alias("weight"), worth.alias("clusters"), (1 - 2 * weight + 1 / worth).sqrt().alias("varies")]


def _student(counts: pl.Series) -> dict[float, float | None]:
    """Return the quantile of Student's distribution for means of so many values each; none for fewer than two."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    own = counts.unique().to_list()
    return {count: float(stats.t.ppf(0.5 + LEVEL / 2, count - 1)) if count > 1 else None for count in own}


def ratio(frame: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str) -> pl.DataFrame:
    """Return ratios of sums in 0 to 1, such as precision, recall or F1, with a Wilson interval.

    The variance is the linearised one of a ratio (Cochran 1977, section 2.11). The clusters are worth what the wholes
    come to in units of the largest, at what share of the observations the clusters are worth (`_weights`): that many
    draws stand for the interval of a single cluster, and of a ratio of 0 or 1. Where the ratio varies less than that of
    so many draws, as one of a cluster's many observations does, that less is drawn towards 1 as in `macro`.

    Args:
        frame: observations.
        by: the columns that make the groups; none: all are one group.
        part: what each observation adds above, at most its whole. F1 has 2 for a true positive.
        whole: what each adds below; an observation of 0 is left out. F1 has 2 for a true positive, and 1 for each error
            of either kind.
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
    least = pl.min_horizontal(pl.lit(1.0), pl.col("worth"))  # what one draw tells, at least
    return _with_wilson(found.with_columns(pl.max_horizontal(worth, least).alias("worth")), by)


def residuals(
    frame: pl.DataFrame, by: Sequence[str], part: str, whole: str, clusters: str
) -> tuple[list[str], pl.DataFrame]:
    """Return by how much each cluster's part is more than the ratio of its group makes of its whole; see `ratio`.

    Returns:
        The names that the columns of the groups have, and a row a cluster: these, ``cluster``, its ``residual``, how
        many observations it has (``n``), the largest of their wholes (``whole``), the group's ratio (``value``) and the
        sum of the group's wholes (``total``).
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
    """Return the names of the columns that make groups, and the observations that have all values, as numbers.

    Args:
        frame: observations.
        by: the columns that make groups.
        values: columns of numbers or truth values by the names that they get.
        roles: further columns by the names that they get; one that is none is the same for all.
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
    """Return how much a variance is of that of draws; where it is less, drawn towards 1 by `ADDED` draws.

    Args:
        effect: how much it is.
        told_by: of how many draws of equal weight it would be told as well.
    """
    return pl.when(effect < 1).then((told_by * effect + ADDED) / (told_by + ADDED)).otherwise(effect)


def _with_wilson(found: pl.DataFrame, by: Sequence[str], quantile: pl.Expr | None = None) -> pl.DataFrame:
    """Return groups with Wilson's interval of ``value`` at ``worth`` observations; without a quantile the normal's."""
    z = pl.lit(normal_quantile(LEVEL)) if quantile is None else quantile
    low, high = _wilson(pl.col("value"), pl.col("worth"), z)
    groups = (pl.col(f"{GROUP}{name}").alias(name) for name in by)
    return found.select(*groups, "value", low.alias("low"), high.alias("high"))


def _wilson(share: pl.Expr, n: pl.Expr, z: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the ends of Wilson's interval of a share of ``n`` observations, by ``z``, the quantile."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)).sqrt()
    # Both limits are exact at shares of 0 and 1, where rounding would put them a little past the share.
    low = pl.min_horizontal(share, pl.max_horizontal(pl.lit(0.0), middle - half))
    return low, pl.max_horizontal(share, pl.min_horizontal(pl.lit(1.0), middle + half))
