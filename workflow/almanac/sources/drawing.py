"""Draws by identity: which of very many entities are taken depends on each one's id and the seed, never on order."""

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from almanac.tables import seed_of

Numbers = npt.NDArray[np.uint64]
Group = TypeVar("Group", bound=Hashable)
Value = TypeVar("Value")

# SplitMix64 (Steele, Lea and Flood, 2014): a bijection of 64 bits, so that no two ids of one length share a place.
WEYL, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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


def lowest(numbers: npt.NDArray[Any], count: int, seed: int) -> npt.NDArray[Any]:
    """Draw ``count`` of the numbers, or all if there are no more: those that come first in the seed's order."""
    order = places(numbers, seed)
    if count < len(numbers):
        few = np.argpartition(order, count)[:count]
        numbers, order = numbers[few], order[few]
    return numbers[np.argsort(order)]


class Running:
    """`lowest` of a stream: holds no more numbers than are drawn and come in one batch."""

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._seed = seed
        self.drawn: npt.NDArray[Any] = np.empty(0, np.uint64)

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Consider more numbers."""
        self.drawn = lowest(np.concatenate([self.drawn, numbers.astype(np.uint64)]), self._count, self._seed)


class Pools(Generic[Group, Value]):
    """Draws of a stream: of each group the ``count`` values whose keys come first in the group's own seeded order.

    It holds the values that are drawn so far and no others. A key that comes again is drawn once, with its first value.
    """

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._seed = seed
        self._heaps: dict[Group, list[tuple[int, str]]] = defaultdict(list)
        self._values: dict[Group, dict[str, Value]] = defaultdict(dict)

    def offer(self, group: Group, key: str, value: Value) -> None:
        """Consider one value."""
        heap, values = self._heaps[group], self._values[group]
        if key in values:
            return
        entry = (-seed_of(self._seed, group, key), key)
        if len(heap) < self._count:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            _, last = heapq.heapreplace(heap, entry)
            del values[last]
        else:
            return
        values[key] = value

    def drawn(self) -> Iterator[tuple[Group, str, Value]]:
        """Yield what is drawn, sorted by group (as text) and key."""
        for group in sorted(self._values, key=str):
            for key, value in sorted(self._values[group].items(), key=lambda pair: pair[0]):
                yield group, key, value
