"""Draws by identity: which of very many entities are taken depends on each one's id and the seed, never on order."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from almanac.tables import hash_start

Numbers = npt.NDArray[np.uint64]

# SplitMix64 (Steele, Lea and Flood, 2014): a bijection of 64 bits, so that no two ids of one length share a place.
WEYL, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

PART = 1 << 20  # numbers whose places are held together


def places(numbers: npt.NDArray[Any], seed: int) -> Numbers:
    """Return the pseudo-random place of each number in the order that belongs to a seed; all are different.

    Args:
        numbers: ids as whole numbers, (entities,).
        seed: 64 bits, from `tables.seed_of`.
    """
    state = numbers.astype(np.uint64) * WEYL + np.uint64(seed)  # whole numbers of 64 bits wrap, as is wanted here
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))


def hashes(keys: Sequence[bytes], *parts: object) -> Numbers:
    """Return the first 64 bits of the hashes by which `tables.hash_order` orders keys for the same parts, (keys,)."""
    begun = hashlib.sha256(hash_start(*parts))
    out = np.empty(len(keys), np.uint64)
    for at in range(0, len(keys), PART):
        digests = []
        for key in keys[at : at + PART]:
            own = begun.copy()  # costs less than to begin again
            own.update(key)
            digests.append(own.digest())
        out[at : at + PART] = np.frombuffer(b"".join(digests), ">u8")[::4]
    return out


def lowest(numbers: npt.NDArray[Any], count: int, seed: int) -> npt.NDArray[Any]:
    """Draw ``count`` of the numbers, or all if there are no more: those that come first in the seed's order."""
    while len(numbers) > count + PART:  # part by part, since places take eight bytes each
        firsts = [lowest(numbers[start : start + PART], count, seed) for start in range(0, len(numbers), PART)]
        if sum(map(len, firsts)) == len(numbers):
            break
        numbers = np.concatenate(firsts)
    order = places(numbers, seed)
    if count < len(numbers):
        few = np.argpartition(order, count)[:count]
        numbers, order = numbers[few], order[few]
    return numbers[np.argsort(order)]


class RunningLowest:
    """`lowest` of a stream: holds no more numbers than are drawn and come in one batch."""

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._seed = seed
        self.drawn: npt.NDArray[Any] = np.empty(0, np.uint64)

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Consider more numbers."""
        self.drawn = lowest(np.concatenate([self.drawn, numbers.astype(np.uint64)]), self._count, self._seed)
