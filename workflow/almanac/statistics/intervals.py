"""Shares with 95 % intervals that stay honest near 0 and 1, and sums of estimates."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

LEVEL = 0.95
QUANTILE = 1.959963984540054  # the normal quantile of `LEVEL`; the standard library's last digit is off by two


class Estimate(NamedTuple):
    """A value with the limits of its interval; None for whatever is not defined."""

    value: float | None
    low: float | None
    high: float | None

    def named(self, name: str) -> dict[str, Any]:
        """Return the value and the limits as columns of a row: ``name``, ``name_low`` and ``name_high``."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def __str__(self) -> str:
        """Return the value with its interval, if it has one, for a reader."""
        if self.value is None:
            return "–"
        return f"{self.value:.3f}" + ("" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]")


NOTHING = Estimate(None, None, None)


def normal_quantile(level: float) -> float:
    """Return the z for which mean ± z standard deviations hold a share ``level`` of a normal distribution."""
    return QUANTILE if level == LEVEL else NormalDist().inv_cdf(0.5 + level / 2)


def wilson(share: float, n: float, level: float = LEVEL) -> Estimate:
    """Return a share with its Wilson score interval (Wilson 1927).

    Args:
        share: the observed share, 0 to 1.
        n: the number of observations; it may be an effective number, not whole.
        level: the interval's coverage.
    """
    if n <= 0:
        return NOTHING
    z = normal_quantile(level)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Both limits are exact at shares of 0 and 1, where rounding would put them a little past the share.
    return Estimate(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def wilson_n(found: Estimate) -> float | None:
    """Return the number of observations that a Wilson interval is for, from its limits; None if it has none."""
    if found.value is None or found.low is None or found.high is None:
        return None
    # Either limit gives it; the one farther away is rounded less.
    limit = found.high if found.high - found.value > found.value - found.low else found.low
    return normal_quantile(LEVEL) ** 2 * limit * (1 - limit) / (limit - found.value) ** 2


def combined(terms: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Return a weighted sum of independent estimates, with the interval that follows from theirs.

    Each limit recovers a variance from the limit on its side of each value (Zou, Huang and Zhang 2009). For two Wilson
    intervals and the weights 1 and -1, it is Newcombe's interval of the difference (1998, method 10).

    Args:
        terms: weights and estimates.

    Returns:
        `NOTHING` if any estimate has no value or no interval.
    """
    total = below = above = 0.0
    for weight, (value, low, high) in terms:
        if value is None or low is None or high is None:
            return NOTHING
        total += weight * value
        least, most = (low, high) if weight > 0 else (high, low)
        below += (weight * (value - least)) ** 2
        above += (weight * (most - value)) ** 2
    return Estimate(total, total - math.sqrt(below), total + math.sqrt(above)) if terms else NOTHING
