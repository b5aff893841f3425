"""Only the answer: choices are followed in breadth, and left where no other can win any more.

The log-probability of a choice's first token bounds that of the whole from above, since every further token can only
take away. So the first tokens of all choices are read, which costs no more than the text before them; then the
likeliest choices are followed to their ends; then all that are left, but those of which these prove two things: none of
them can be the best, and all of them together cannot change the best one's share among the choices by more than a
ten-thousandth of it, which is what log-probabilities are promised to. What is left keeps its bound.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from almanac.models.scoring.boundaries import TokenSequence

SHARE = 1e-4  # Of the best choice's share: what all choices that are left may take from it together.
LIKELIEST = 8  # Choices of a request that are followed to their ends before the others are judged.

Score = Callable[[Sequence[TokenSequence]], list[list[list[float]]]]


@dataclass
class Followed:
    """The choices of one request, as far as they have been followed.

    Attributes:
        sequences: one a choice, each with one part.
        values: for each the log-probabilities (nats) of the tokens that were read: the first, or all.
    """

    sequences: Sequence[TokenSequence]
    values: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [[] for _ in self.sequences]

    @property
    def exact(self) -> list[bool]:
        """Which choices were followed to their ends; the sums of the others are upper bounds."""
        return [
            len(values) == one.parts[0][1] - one.parts[0][0]
            for values, one in zip(self.values, self.sequences, strict=True)
        ]

    def open(self) -> list[int]:
        """Return the choices that have to be followed to their ends before the best one and its share are certain."""
        bounds = np.array([math.fsum(values) for values in self.values])
        done = np.array(self.exact)
        order = np.flatnonzero(~done)[np.argsort(-bounds[~done], kind="stable")]
        known = bounds[done].max(initial=-math.inf), np.logaddexp.reduce(bounds[done], initial=-math.inf)
        # What is left is a tail of the unfinished choices by their bounds: its mass, from each choice on to the last.
        tail = np.logaddexp.accumulate(bounds[order][::-1])[::-1]
        may_stay = (bounds[order] < known[0]) & (tail <= known[1] + math.log(SHARE))
        return [int(index) for index in order[~may_stay]]


def follow(score: Score, groups: Sequence[Sequence[TokenSequence]]) -> list[Followed]:
    """Follow the choices of requests until each request's best choice and its share are certain.

    Args:
        score: scores sequences, and computes what they share once: a round then feeds the requests' own texts again,
            and nothing else twice.
        groups: for each request a sequence a choice, with one part each.

    Returns:
        For each request its choices, the best one followed to its end.
    """
    followed = [Followed(group) for group in groups]
    _read(score, [(one, index, 1) for one in followed for index in range(len(one.sequences))])
    _read(score, [(one, index, None) for one in followed for index in one.open()[:LIKELIEST]])
    _read(score, [(one, index, None) for one in followed for index in one.open()])
    return followed


def _read(score: Score, asked: Sequence[tuple[Followed, int, int | None]]) -> None:
    """Read choices up to some token, or to their ends."""
    sequences = []
    for one, index, tokens in asked:
        sequence = one.sequences[index]
        first, last = sequence.parts[0]
        stop = last if tokens is None else min(last, first + tokens)
        sequences.append(TokenSequence(sequence.tail[: stop - len(sequence.head)], ((first, stop),), sequence.head))
    for (one, index, _), parts in zip(asked, score(sequences), strict=True):
        one.values[index] = parts[0]
