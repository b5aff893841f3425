"""Two models on the same questions: McNemar's exact test and the difference with a bootstrap over subjects."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate

CHUNK = 64  # draws at a time: what one chunk of weights may hold in memory


class McNemar(NamedTuple):
    """Questions that only the first answers, those that only the second does, and the p of no difference."""

    first_alone: int
    second_alone: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Test whether two models answer the same questions equally often (McNemar 1947, exact, two-sided).

    Args:
        first: whether the first answers each question.
        second: whether the second does, in parallel.
    """
    pairs = list(zip(first, second, strict=True))
    only_first = sum(one and not other for one, other in pairs)
    only_second = sum(other and not one for one, other in pairs)
    if not only_first + only_second:
        return McNemar(0, 0, 1.0)
    from scipy import stats  # slow to load, and most steps compute nothing with it

    p = stats.binomtest(only_first, only_first + only_second, 0.5).pvalue
    return McNemar(only_first, only_second, float(p))


def macro_difference(
    differences: Sequence[float],
    strata: Sequence[str],
    clusters: Sequence[str],
    draws: int,
    seed: int,
    level: float = LEVEL,
) -> Estimate:
    """Return the mean over strata of a paired difference, with a percentile interval of the cluster bootstrap.

    Clusters are drawn again with all their values, in whatever strata these stand.

    Args:
        differences: second minus first, one a question, -1 to 1.
        strata: the relation of each question.
        clusters: the subject of each question.
        draws: how often the clusters are drawn again.
        seed: of the draws.
        level: the interval's coverage.

    Returns:
        The unweighted mean over strata of the mean difference; nothing without questions; without an interval where
        there is one cluster alone.
    """
    if not len(differences):
        return NOTHING
    _, stratum = np.unique(np.asarray(strata), return_inverse=True)
    _, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    shape = (int(cluster.max()) + 1, int(stratum.max()) + 1)  # (clusters, strata)
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (cluster, stratum), np.asarray(differences, dtype=float))
    np.add.at(counts, (cluster, stratum), 1.0)
    value = float(np.mean(sums.sum(axis=0) / counts.sum(axis=0)))
    if shape[0] < 2:
        return Estimate(value, None, None)
    random = np.random.default_rng(seed)
    even = np.full(shape[0], 1 / shape[0])
    found: list[float] = []
    for start in range(0, draws, CHUNK):
        weights = random.multinomial(shape[0], even, size=min(CHUNK, draws - start))  # (draws, clusters)
        drawn = weights @ counts
        # A stratum of which nothing was drawn says nothing in that draw.
        means = np.divide(weights @ sums, drawn, out=np.full_like(drawn, np.nan), where=drawn > 0)
        found += np.nanmean(means, axis=1).tolist()
    low, high = np.quantile(found, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(value, float(low), float(high))
