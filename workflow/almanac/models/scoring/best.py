"""Only the answer: when a choice may be left because no other outcome is possible any more.

The log-probability of a choice's first tokens bounds that of the whole from above, since every further token can only
take away. A choice is left as soon as those that are known to their ends prove two things: it cannot be the best, and
all that are left together cannot change the best one's share among the choices by more than a ten-thousandth of it,
which is what log-probabilities are promised to. What is left keeps its bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from almanac.models.scoring.boundaries import TokenSequence

SHARE = 1e-4  # Of the best choice's share: what all choices that are left may take from it together.


@dataclass
class Followed:
    """The choices of one request, as far as they have been followed.

    Attributes:
        sequences: one a choice, each with one part.
        values: for each the log-probabilities (nats) of the tokens that were read, from the first on.
    """

    sequences: Sequence[TokenSequence]
    values: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [[] for _ in self.sequences]
        self._lengths = np.array([stop - start for one in self.sequences for start, stop in one.parts])

    @property
    def exact(self) -> list[bool]:
        """Which choices were followed to their ends; the sums of the others are upper bounds."""
        return [len(values) == length for values, length in zip(self.values, self._lengths.tolist(), strict=True)]

    def open(self) -> list[int]:
        """Return the choices that must be followed further before the best one and its share are certain.

        The likeliest come first.
        """
        bounds = np.array([math.fsum(values) for values in self.values])
        done = np.array(self.exact)
        order = np.flatnonzero(~done)[np.argsort(-bounds[~done], kind="stable")]
        best, known = bounds[done].max(initial=-math.inf), np.logaddexp.reduce(bounds[done], initial=-math.inf)
        # What is left is a tail of the unfinished choices by their bounds: its mass, from each choice on to the last.
        tail = np.logaddexp.accumulate(bounds[order][::-1])[::-1]
        may_stay = (bounds[order] < best) & (tail <= known + math.log(SHARE))
        return [int(index) for index in order[~may_stay]]
