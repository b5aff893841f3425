"""Stretches of a text, or runs of words, in order: which of them a place is in is found without reading them all."""

import bisect
import itertools
from collections.abc import Iterable


class Stretches:
    """Stretches (start, end), ``end`` excluded; they may overlap."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(stretches)
        self._starts = [start for start, _ in ordered]
        self._reach = list(itertools.accumulate((end for _, end in ordered), max))

    def hold(self, start: int, end: int) -> bool:
        """Whether one of them holds all from ``start`` to ``end``."""
        before = bisect.bisect_right(self._starts, start)
        return before > 0 and self._reach[before - 1] >= end

    def meet(self, start: int, end: int) -> bool:
        """Whether one of them and what is from ``start`` to ``end`` overlap."""
        before = bisect.bisect_left(self._starts, end)
        return before > 0 and self._reach[before - 1] > start

    def begin(self, start: int, end: int) -> bool:
        """Whether one of them begins at ``start`` or behind it, and before ``end``."""
        return bisect.bisect_left(self._starts, start) < bisect.bisect_left(self._starts, end)
