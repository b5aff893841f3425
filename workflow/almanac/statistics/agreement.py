"""How two judgements of what is known agree, and where a score parts two samples best."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from almanac.statistics.intervals import NOTHING, Estimate, wilson


def best_cut(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the cut between scores with the largest share of positives above it less that of negatives (Youden's J).

    Of equal cuts the lowest; it lies halfway between two scores.

    Args:
        positive: scores of what should lie above.
        negative: scores of what should lie below.
    """
    if not positive or not negative:
        return None
    values = np.unique([*positive, *negative])
    cuts = (values[:-1] + values[1:]) / 2
    if not len(cuts):
        return None
    above = np.asarray(positive)[None, :] > cuts[:, None]
    wrong = np.asarray(negative)[None, :] > cuts[:, None]
    return float(cuts[int(np.argmax(above.mean(axis=1) - wrong.mean(axis=1)))])


def cohens_kappa(first: Sequence[bool], second: Sequence[bool]) -> Estimate:
    """Return Cohen's kappa of two verdicts on the same things; as `kappa`, of their counts.

    Args:
        first: one verdict on each thing.
        second: the other, in parallel.
    """
    pairs = Counter(zip(map(bool, first), map(bool, second), strict=True))
    return kappa(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])


def kappa(both: int, first: int, second: int, neither: int, draws: float | None = None) -> Estimate:
    """Return Cohen's kappa with an interval (Educational and Psychological Measurement 20, 1960).

    As in his standard error, the agreement that chance gives is taken for known. The interval is Wilson's of the
    agreement, measured from there: so it has a width where both agree on everything, as that has none.

    Nothing without things, or where chance alone would make both agree on everything.

    Args:
        both: things that both call true.
        first: that the first alone does.
        second: that the second alone does.
        neither: that neither does.
        draws: how many draws these things are worth, where some go together (`intervals.wilson_n`); none: one each.
    """
    n = both + first + second + neither
    if not n:
        return NOTHING
    # Of whole numbers, so that no agreement beyond chance is 0: the square of n less what chance alone gives.
    beyond = (both + first) * (first + neither) + (both + second) * (second + neither)
    if not beyond:
        return NOTHING
    value = 2 * (both * neither - first * second) / beyond
    agreed = (both + neither) / n
    _, low, high = wilson(agreed, n if draws is None else draws)
    below, above = ((agreed - (low or 0.0)) * n * n / beyond, ((high or 0.0) - agreed) * n * n / beyond)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above))
