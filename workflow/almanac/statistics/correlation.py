"""How similar models' accuracies over relations are: Pearson's correlation, between models and between families."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate

Table = npt.NDArray[np.float64]
LEAST = 20  # with fewer rows, 95 % percentile intervals of the bootstrap cover less than 90 %


def pearson(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return Pearson's correlation with the interval of Fisher's z, whose variance is 1 / (n - 3).

    `NOTHING` for fewer than four pairs or a constant side.

    Args:
        first: values, any scale.
        second: values in parallel.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if len(one) < 4 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return NOTHING
    from scipy import stats  # slow to load, and most steps compute nothing with it

    found = stats.pearsonr(one, other)
    interval = found.confidence_interval(LEVEL)
    return Estimate(float(found.statistic), float(interval.low), float(interval.high))


def mean_correlation(columns: Table, first: Sequence[int], second: Sequence[int], draws: int, seed: int) -> Estimate:
    """Return the mean of Pearson's correlations over the pairs of two groups of columns, such as two model families.

    The interval is of a bootstrap over rows, by percentiles: the pairs share their rows, so Fisher's z of the mean
    would be wrong. Within one group, the mean is over its distinct pairs.

    Args:
        columns: values ``(rows, columns)``: relations by models.
        first: the columns of one group.
        second: the columns of the other; equal to ``first`` for the mean within a group.
        draws: the number of bootstrap samples.
        seed: the seed of the bootstrap.

    Returns:
        `NOTHING` if there is no pair, fewer than four rows, or a constant column; no interval below `LEAST` rows.
    """
    pairs = [(i, j) for i in first for j in second if set(first) != set(second) or i < j]
    if not pairs or len(columns) < 4:
        return NOTHING
    draws = draws if len(columns) >= LEAST else 0
    drawn = np.random.default_rng(seed).integers(len(columns), size=(draws, len(columns)))
    value, *found = _means_of_pairs(np.concatenate([columns[None], columns[drawn]]), pairs)
    found = [one for one in found if np.isfinite(one)]
    if not np.isfinite(value):
        return NOTHING
    if not found:
        return Estimate(float(value), None, None)
    low, high = np.quantile(found, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(float(value), float(low), float(high))


def _means_of_pairs(tables: Table, pairs: Sequence[tuple[int, int]]) -> Table:
    """Return the pairs' mean correlation in each of ``(tables, rows, columns)``; NaN where a column is constant."""
    used = sorted({column for pair in pairs for column in pair})
    constant = np.any(np.ptp(tables[:, :, used], axis=1) == 0, axis=1)
    apart = tables - tables.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        unit = apart / np.linalg.norm(apart, axis=1, keepdims=True)
    alike = np.clip(unit.swapaxes(1, 2) @ unit, -1, 1)  # (tables, columns, columns)
    means = alike[:, [one for one, _ in pairs], [other for _, other in pairs]].mean(axis=1)
    return np.where(constant, np.nan, means)
