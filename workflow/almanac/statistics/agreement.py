"""Agreement of two verdicts on what is known, and the cut of a score that separates two samples best."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from almanac.statistics.intervals import NOTHING, Estimate, wilson


def best_cut(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the cut with the largest Youden's J: the share of positives above it minus that of negatives.

    It lies halfway between two scores; of several best cuts it is the lowest. None if there is no cut.

    Args:
        positive: scores that should lie above.
        negative: scores that should lie below.
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
    """Return Cohen's kappa of two verdicts on the same things; see `kappa`.

    Args:
        first: one verdict on each thing.
        second: the other verdict, in parallel.
    """
    pairs = Counter(zip(map(bool, first), map(bool, second), strict=True))
    return kappa(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])


def kappa(both: int, first: int, second: int, neither: int, draws: float | None = None) -> Estimate:
    """Return Cohen's kappa with an interval (Educational and Psychological Measurement 20, 1960).

    As in his standard error, the agreement expected by chance is taken as known. The interval is Wilson's of the
    agreement, on kappa's scale: so it has a width even if both agree on everything, unlike that of his standard error.

    `NOTHING` without things, or if chance alone would make both agree on everything.

    Args:
        both: the number of things that both call true.
        first: the number that only the first calls true.
        second: the number that only the second calls true.
        neither: the number that neither calls true.
        draws: how many independent draws the things are worth (`intervals.wilson_n`); None: one each.
    """
    n = both + first + second + neither
    if not n:
        return NOTHING
    # In whole numbers, so that no rounding hides a 0: n² (1 - agreement by chance).
    beyond = (both + first) * (first + neither) + (both + second) * (second + neither)
    if not beyond:
        return NOTHING
    value = 2 * (both * neither - first * second) / beyond
    agreed = (both + neither) / n
    _, low, high = wilson(agreed, n if draws is None else draws)
    below, above = ((agreed - (low or 0.0)) * n * n / beyond, ((high or 0.0) - agreed) * n * n / beyond)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above))
