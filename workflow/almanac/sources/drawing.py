"""Reproducible sampling: whether an entity is drawn depends on its id and the seed, never on the order of the input."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from almanac.tables import hash_start

Numbers = npt.NDArray[np.uint64]

# SplitMix64 (Steele, Lea and Flood, 2014) is a bijection of 64 bits, so that different numbers get different places.
WEYL, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

PART = 1 << 20  # numbers that are processed at once


def places(numbers: npt.NDArray[Any], seed: int) -> Numbers:
    """Return a pseudo-random 64-bit sort key for each number under a seed; different numbers get different keys.

    Args:
        numbers: ids as integers, (entities,).
        seed: 64 bits, from `tables.seed_of`.
    """
    state = numbers.astype(np.uint64) * WEYL + np.uint64(seed)  # overflow is intended: arithmetic modulo 2**64
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))


def hashes(keys: Sequence[bytes], *parts: object) -> Numbers:
    """Return the first 64 bits of the SHA-256 hashes by which `tables.hash_order` sorts keys for ``parts``, (keys,)."""
    begun = hashlib.sha256(hash_start(*parts))
    out = np.empty(len(keys), np.uint64)
    for at in range(0, len(keys), PART):
        digests = []
        for key in keys[at : at + PART]:
            own = begun.copy()  # cheaper than hashing the parts again
            own.update(key)
            digests.append(own.digest())
        out[at : at + PART] = np.frombuffer(b"".join(digests), ">u8")[::4]
    return out


def lowest(numbers: npt.NDArray[Any], count: int, seed: int) -> npt.NDArray[Any]:
    """Draw ``count`` of the numbers (or all, if fewer): those with the smallest `places` under the seed, in order."""
    while len(numbers) > count + PART:  # in chunks, since the places take eight bytes each
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
    """`lowest` over a stream; holds only the numbers drawn so far and the current batch."""

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._seed = seed
        self.drawn: npt.NDArray[Any] = np.empty(0, np.uint64)

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Update the draw with a batch of numbers."""
        self.drawn = lowest(np.concatenate([self.drawn, numbers.astype(np.uint64)]), self._count, self._seed)
