"""Names of other objects that hold a true one's: who answers `New York Times` has not named `New York`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from almanac.suites.facteval.text import ARTICLES, Reading, Span, words_of

Words = tuple[str, ...]
MOST = 12  # words of a name; no answer states a longer one in full


@dataclass(frozen=True)
class LongerNames:
    """The names of objects that hold, with more words, a name that some question accepts."""

    runs: frozenset[Words] = frozenset()

    @classmethod
    def of(cls, accepted: Iterable[str], names: Iterable[str]) -> "LongerNames":
        """Keep those of some names that hold an accepted one.

        Args:
            accepted: what the questions accept.
            names: of all objects, the true ones too.
        """
        wanted = {words_of(name) for name in accepted}
        runs = {run for name in names for run in _written(name) if 1 < len(run) <= MOST}
        return cls(frozenset(run for run in runs if any(part in wanted for part in _parts(run))))

    def hold(self, span: Span, said: Reading, accepted: Iterable[str]) -> bool:
        """Whether a mention in an answer is a part of the name of an object that the question does not accept.

        Args:
            span: the mention's words.
            said: the answer.
            accepted: the names that the question accepts.
        """
        if not self.runs:
            return False
        first, last = span
        own = {run for name in accepted for run in _written(name)}
        windows = (
            said.words[start:end]
            for start in range(max(0, last - MOST), first + 1)
            for end in range(last, min(len(said.words), start + MOST) + 1)
            if (start, end) != span
        )
        return any(window in self.runs and window not in own for window in windows)


NO_LONGER = LongerNames()


def _written(name: str) -> Iterator[Words]:
    """Yield the words of a name, and those without its article."""
    words = words_of(name)
    yield words
    if words and words[0] in ARTICLES:
        yield words[1:]


def _parts(run: Words) -> Iterator[Words]:
    """Yield what is shorter in a run of words."""
    for start in range(len(run)):
        for end in range(start + 1, len(run) + 1):
            if end - start < len(run):
                yield run[start:end]
