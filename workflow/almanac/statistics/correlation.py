"""How alike two models' profiles over relations are: Pearson's correlation, between models and between groups."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate

Table = npt.NDArray[np.float64]


def pearson(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return Pearson's correlation with the interval of Fisher's z, whose variance is 1 / (n - 3).

    Nothing is said of fewer than four pairs or of a constant.

    Args:
        first: values, any scale.
        second: values in parallel.
        level: the interval's coverage.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if len(one) < 4 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return NOTHING
    from scipy import stats  # slow to load, and most steps compute nothing with it

    found = stats.pearsonr(one, other)
    interval = found.confidence_interval(level)
    return Estimate(float(found.statistic), float(interval.low), float(interval.high))


def mean_correlation(
    columns: Table, first: Sequence[int], second: Sequence[int], draws: int, seed: int, level: float = LEVEL
) -> Estimate:
    """Return the mean of Pearson's correlations over the pairs of two groups of columns (a cell between two families).

    The interval is the bootstrap's over rows, by percentiles: the pairs share their rows, so that Fisher's z of the
    mean would be wrong. A group with itself is the mean over its distinct pairs.

    Args:
        columns: values ``(rows, columns)``: relations by models.
        first: the columns of one group.
        second: those of the other; the same as ``first`` for within a group.
        draws: how often the rows are drawn again.
        seed: of the draws.
        level: the interval's coverage.

    Returns:
        Nothing where there is no pair, fewer than four rows, or a column is constant.
    """
    pairs = [(i, j) for i in first for j in second if i != j and (set(first) != set(second) or i < j)]
    used = sorted({column for pair in pairs for column in pair})
    if not pairs or len(columns) < 4 or np.any(np.ptp(columns[:, used], axis=0) == 0):
        return NOTHING
    random = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = columns[random.integers(len(columns), size=len(columns))]
        if np.all(np.ptp(drawn[:, used], axis=0) > 0):
            found.append(_mean_of_pairs(drawn, pairs, used))
    low, high = np.quantile(found, [0.5 - level / 2, 0.5 + level / 2]) if found else (np.nan, np.nan)
    return Estimate(_mean_of_pairs(columns, pairs, used), float(low), float(high)) if found else NOTHING


def _mean_of_pairs(columns: Table, pairs: Sequence[tuple[int, int]], used: Sequence[int]) -> float:
    at = {column: place for place, column in enumerate(used)}
    matrix = np.atleast_2d(np.corrcoef(columns[:, list(used)], rowvar=False))
    return float(np.mean([matrix[at[i], at[j]] for i, j in pairs]))
