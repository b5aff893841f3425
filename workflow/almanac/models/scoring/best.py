"""Decides which choices need no further scoring when a request wants only its best choice.

The log-probability of a choice's first tokens is an upper bound on that of the whole choice, since every further token
lowers it. A choice is dropped as soon as the fully scored choices prove two things: it cannot be the best one, and all
dropped choices together cannot change the best one's share of the probability by more than a ten-thousandth of itself,
the accuracy that is promised for log-probabilities. A dropped choice keeps its upper bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from almanac.models.scoring.boundaries import TokenSequence

SHARE = 1e-4  # The most that all dropped choices together may take from the best choice's share, relative to it.


@dataclass
class Followed:
    """The choices of one request, and the log-probabilities known so far.

    Attributes:
        sequences: one per choice, each with one part.
        values: for each choice, the log-probabilities (nats) of its first tokens, as many as are known.
    """

    sequences: Sequence[TokenSequence]
    values: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [[] for _ in self.sequences]
        self._lengths = np.array([stop - start for one in self.sequences for start, stop in one.parts])

    @property
    def exact(self) -> list[bool]:
        """Which choices are fully scored; the sums of the others are upper bounds."""
        return [len(values) == length for values, length in zip(self.values, self._lengths.tolist(), strict=True)]

    def open(self) -> list[int]:
        """Return the choices that must be scored further before the best one and its share are certain.

        The likeliest come first.
        """
        bounds = np.array([math.fsum(values) for values in self.values])
        done = np.array(self.exact)
        order = np.flatnonzero(~done)[np.argsort(-bounds[~done], kind="stable")]
        best, known = bounds[done].max(initial=-math.inf), np.logaddexp.reduce(bounds[done], initial=-math.inf)
        # The dropped choices are a tail of the unfinished ones, ordered by bound: the mass from each one to the last.
        tail = np.logaddexp.accumulate(bounds[order][::-1])[::-1]
        may_stay = (bounds[order] < best) & (tail <= known + math.log(SHARE))
        return [int(index) for index in order[~may_stay]]
