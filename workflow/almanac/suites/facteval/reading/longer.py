"""Names of other objects that hold a true one's: who answers `New York Times` has not named `New York`.

Two answers side by side are no such name: of `New York. Times change.` and the list `pop, rock` the words run on, but a
sign divides them that does not stand in the names `New York Times` and `pop rock`.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from almanac.suites.facteval.reading.text import ARTICLES, Reading, Span, read_name

Words = tuple[str, ...]
Breaks = frozenset[int]  # before which words of a name, counted from 0, something divides it
MOST = 12  # words of a name; no answer states a longer one in full
# A full stop after one or two letters ends no sentence: `St. Louis`, `J. R. Ewing`.
DIVIDER = re.compile(r"[,;/|•]|(?:[!?]|(?<=\w{3})[.])[\"'”’)\]]*\s")
COMMA = re.compile(r",\s")


@dataclass(frozen=True)
class WrittenName:
    """A way of writing a name: its words, what divides them, and where its parts after commas begin."""

    words: Words
    breaks: Breaks
    parts: Breaks

    def takes(self, first: int, last: int) -> bool:
        """Whether its words from ``first`` to ``last`` are only a part of it: `France` in `Paris, France` is not.

        `Washington` in `Washington, D.C.` is, and `York` in `Frederick, Duke of York`: no whole part after a comma.
        """
        begins = first in self.parts or (first - 1 in self.parts and self.words[first - 1] in ARTICLES)
        return not (begins and (last == len(self.words) or last in self.parts))


@dataclass(frozen=True)
class LongerNames:
    """The names of objects that hold, with more words, a name that some question accepts.

    Attributes:
        runs: each name's words, with the ways in which it is written.
        called: all names of the objects that some label means, of labels that passages state.
    """

    runs: Mapping[Words, tuple[WrittenName, ...]] = field(default_factory=dict)
    called: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, accepted: Iterable[str], names: Iterable[str], called: Mapping[str, tuple[str, ...]] | None = None
    ) -> "LongerNames":
        """Keep those of some names that hold an accepted one.

        Args:
            accepted: what the questions accept, or their passages state.
            names: of all objects, the true ones too.
            called: all names of the objects that a stated label means.
        """
        wanted = {read_name(name).words for name in accepted}
        runs: dict[Words, dict[WrittenName, None]] = defaultdict(dict)
        for name in names:
            for way in _written(name):
                if 1 < len(way.words) <= MOST and (way.words in runs or any(part in wanted for part in _parts(way))):
                    runs[way.words][way] = None
        return cls({words: tuple(ways) for words, ways in runs.items()}, called or {})

    @functools.cached_property
    def most(self) -> int:
        """The words of the longest."""
        return max(map(len, self.runs), default=0)

    def hold(self, span: Span, said: Reading, accepted: Sequence[str]) -> bool:
        """Whether a mention in an answer is a part of a longer name that a question does not accept.

        Args:
            span: the mention's words.
            said: the answer.
            accepted: the names that the question accepts.
        """
        first, last = span
        for start in range(max(0, last - self.most), first + 1):
            for end in range(last, min(len(said.words), start + self.most) + 1):
                window = said.words[start:end]
                ways = () if (start, end) == span else self.runs.get(window, ())
                if not ways or (window[1:] == said.words[first:last] and window[0] in ARTICLES):
                    continue
                if any(way.words == window for name in accepted for way in _written(name)):
                    continue
                breaks = _breaks(said, start, end)
                if any(breaks <= way.breaks and way.takes(first - start, last - start) for way in ways):
                    return True
        return False


NO_LONGER = LongerNames()


def _breaks(said: Reading, start: int, end: int) -> Breaks:
    """Return before which of some words, counted from the first, something divides them."""
    return frozenset(
        at - start for at in range(start + 1, end) if DIVIDER.search(said.flat, said.ends[at - 1], said.starts[at])
    )


@functools.lru_cache(maxsize=65536)
def _written(name: str) -> tuple[WrittenName, ...]:
    """Return a name as it is written, and without its article."""
    read = read_name(name)
    size = len(read.words)
    commas = frozenset(at for at in range(1, size) if COMMA.search(read.flat, read.ends[at - 1], read.starts[at]))
    breaks = _breaks(read, 0, size)
    whole = WrittenName(read.words, breaks, commas)
    if not size or read.words[0] not in ARTICLES:
        return (whole,)
    rest = WrittenName(read.words[1:], frozenset(at - 1 for at in breaks if at > 1), frozenset(at - 1 for at in commas))
    return whole, rest


def _parts(way: WrittenName) -> Iterator[Words]:
    """Yield what is shorter in the words of a name."""
    size = len(way.words)
    for start in range(size):
        for end in range(start + 1, size + 1):
            if end - start < size:
                yield way.words[start:end]
