"""Finds where an answer mentions a name: both are read as normalised words with their places.

A mention consists of whole words: `New York` mentions `York`, `1982` does not mention `19`. Names that are numbers or
dates are compared by value (`values.py`).

Names of other objects may contain a true name: the answer `New York Times` does not name `New York` (`LongerNames`).
Two answers next to each other do not make such a name: in `New York. Times change.` and in the list `pop, rock` a sign
divides the words, which the names `New York Times` and `pop rock` lack. Nor is a true name found across the items of a
list: `double bass, guitar` does not name the bass guitar.
"""

import bisect
import functools
import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from almanac.dataset.names import STOP_WORDS
from almanac.dataset.text import ARTICLES, EMPHASIS, Span, normalise, runs, unaccented
from almanac.dataset.values import Dated, Number, dates, numbers, read_date, read_number
from almanac.punctuation import UNSPACED

WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_OF_NAMES = r"(?:(?:in|at|on|by|from|to|of|an?|the)\s+){0,2}"
# A negation before a mention, or before the first of two names that are denied together: `not Marseille or Nice`.
NEGATED = re.compile(
    rf"(?:\b(?:not|never|neither|nor|cannot be)|n't(?: be)?)\s+{_OF_NAMES}"
    rf"(?:(?:(?!(?:only|sure|certain|clear|known|know|if|whether)\b)\w+\s+){{1,3}}n?or\s+{_OF_NAMES})?$"
)
BEFORE_MENTION = 60  # characters before a mention in which a negation can stand
LEAST_WITHOUT_ARTICLE = 4  # letters; "The Who" is not "who"
CODE = 3  # letters of a code such as ISL, at most; shorter ones may stand in any answer, in whatever case
CODE_WORD = re.compile(rf"\b\w{{1,{CODE}}}\b")
LONG_WORD = re.compile(rf"[^\W\d_]{{{CODE + 1}}}")
MOST = 12  # words of a longer name, at most: no answer states an even longer one in full
LISTED = re.compile(r"[,;/|•、،؛]")  # signs that divide the items of a list
SUFFIXES = ("jr", "sr", "inc", "ltd", "llc")  # with a comma before them or without: `Apple, Inc.`
# A full stop after one or two letters ends no sentence: `St. Louis`, `J. R. Ewing`.
DIVIDER = re.compile(rf"{LISTED.pattern}|(?:[!?]|(?<=\w{{3}})[.])[\"')\]]*\s")
COMMA = re.compile(r",\s")
# A word after a name that makes it the subject of a sentence: `Luxembourg is`, `Luxembourg's`.
TOLD_OF = ("is", "was", "are", "were", "has", "had", "s")

Words = tuple[str, ...]
Breaks = frozenset[int]  # indices of the words before which a dividing sign stands


class _Blanks(dict[int, str]):
    """A translation that keeps letters, digits, their diacritics, `+` and `#`, and blanks everything else."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if unicodedata.category(char)[0] in "LNM" or char in "+#" else " "
        return self[code]


_BLANKS = _Blanks()


@dataclass(frozen=True)
class Reading:
    """A text, normalised for comparison.

    Attributes:
        flat: the text, normalised (`fold`).
        words: its words.
        starts: the place in ``flat`` where each word begins; ``ends`` where it ends.
        dates: the dates in it.
        numbers: the numbers in it that are not part of a date.
        capitals: its words of up to `CODE` letters in capitals; empty if a text with longer words is all in capitals.
    """

    flat: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    dates: tuple[Dated, ...]
    numbers: tuple[Number, ...]
    capitals: frozenset[str]

    def span(self, start: int, end: int) -> Span:
        """Return the span of the words between two places of ``flat``."""
        return bisect.bisect_right(self.ends, start), bisect.bisect_left(self.starts, end)


def read(text: str) -> Reading:
    """Read an answer."""
    flat = fold(text)
    places = list(_places(flat))
    found = dates(flat)
    shouted = text.isupper() and LONG_WORD.search(text)
    return Reading(
        flat,
        tuple(word for word, _, _ in places),
        tuple(start for _, start, _ in places),
        tuple(end for _, _, end in places),
        found,
        numbers(flat, found),
        frozenset() if shouted else frozenset(map(fold, filter(str.isupper, CODE_WORD.findall(text)))),
    )


def _places(flat: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a folded text, each with its beginning and its end."""
    for match in WORD.finditer(flat.translate(_BLANKS)):
        word = match.group().lstrip("+#")  # "C++" is a word, "#Paris" is Paris
        if word:
            yield word, match.end() - len(word), match.end()


def fold(text: str) -> str:
    """Return a text normalised as names are, without Latin diacritics (`São` becomes `sao`) and `_emphasis_`."""
    return " ".join(unaccented(normalise(EMPHASIS.sub("", text))).split())


@functools.lru_cache(maxsize=65536)
def read_name(text: str) -> Reading:
    """Read a name; the same name stands in many questions."""
    return read(text)


def mentions(name: str, answer: Reading, alias: bool = False, unitless: bool = True) -> list[Span]:
    """Return where an answer mentions a name, without the places where it is denied (`not in Paris`).

    A date is mentioned by any date that agrees with it and is at least as precise. A number is mentioned by an equal
    number (in its unit, if it has one) or, if it may be a year, by the year of a date. Any other name is mentioned by
    its words, with or without a leading article, and with no list sign between them that the name lacks. A code must be
    written in capitals or be the whole answer: IS is Iceland, "is" is not. Codes are aliases of up to two letters, and
    of three if in capitals (USA) or a stop word (him), but not `won` or `Rio`; and labels in capitals that are a stop
    word (IS). Other labels of up to two letters that are a stop word (He, In, I) must be followed by a sign, the end,
    or a word of `TOLD_OF` ("In is indium", not "In my view").

    Args:
        name: the name.
        answer: the answer.
        alias: whether the name is an alias of its object, not the label.
        unitless: whether a number that is the whole answer may lack the name's unit.
    """
    own = read_name(name)
    date, number = read_date(own.flat), read_number(own.flat)
    if date is not None:
        found = [answer.span(one.start, one.end) for one in answer.dates if one.agrees(date)]
    elif number is not None:
        places = [answer.span(one.start, one.end) for one in answer.numbers]
        alone = unitless and places == [(0, len(answer.words))]
        found = [place for one, place in zip(answer.numbers, places, strict=True) if one.agrees(number, alone)]
        found += [
            answer.span(one.start, one.end) for one in answer.dates if number.unit is None and one.of_year(number.value)
        ]
    elif own.words:
        found = _stated(own, 0, answer)
        if own.words != answer.words:
            if _is_code(name, own, alias):
                found = [(start, end) for start, end in found if answer.words[start] in answer.capitals]
            elif not alias and _is_common(own):
                found = [span for span in found if _ends_or_is_told_of(span, answer)]
        rest = own.words[1:]
        if own.words[0] in ARTICLES and len("".join(rest)) >= LEAST_WITHOUT_ARTICLE:
            found += _stated(own, 1, answer)
    else:
        # A name of signs alone: a flag, the band !!!.
        stands = own.flat and re.search(rf"(?<!\w){re.escape(own.flat)}(?!\w)", answer.flat)
        return [(0, len(answer.words))] if stands else []
    return sorted({span for span in found if not denied(span, answer)})


def _stated(name: Reading, first: int, answer: Reading) -> list[Span]:
    """Return where an answer has a name's words from ``first`` on, divided by no list sign that the name lacks."""
    found = runs(name.words[first:], answer.words)
    breaks = _breaks(name, first, len(name.words), LISTED) if found else Breaks()
    return [span for span in found if _breaks(answer, *span, LISTED) <= breaks]


def _is_code(name: str, own: Reading, alias: bool) -> bool:
    """Whether a name is a code (see `mentions`)."""
    word = own.words[0]
    if len(own.words) > 1 or len(word) > CODE or not word.isalpha():
        return False
    capitals, common = name.strip().isupper(), word in STOP_WORDS
    return len(word) < CODE or capitals or common if alias else len(word) > 1 and capitals and common


def _is_common(own: Reading) -> bool:
    """Whether a label is a stop word of one or two letters, such as the symbols He, In and I."""
    return len(own.words) == 1 and len(own.words[0]) < CODE and own.words[0] in STOP_WORDS


def _ends_or_is_told_of(span: Span, answer: Reading) -> bool:
    """Whether a mention is followed by the end, a sign, or a word of `TOLD_OF`."""
    after = re.match(r"(?: (?!\d+[.)])|'(?!s\b))(\w+)", answer.flat[answer.ends[span[1] - 1] :])
    return after is None or after[1] in TOLD_OF


def denied(span: Span, answer: Reading) -> bool:
    """Whether a negation right before a mention denies it."""
    start = answer.starts[span[0]] if answer.words else 0
    return NEGATED.search(answer.flat[max(0, start - BEFORE_MENTION) : start]) is not None


@dataclass(frozen=True)
class WrittenName:
    """A way of writing a name: its words, and before which of them a divider stands, or a comma (``parts``)."""

    words: Words
    breaks: Breaks
    parts: Breaks

    def takes(self, first: int, last: int) -> bool:
        """Whether its words from ``first`` to ``last`` are no whole part after a comma, so they name nothing.

        `Washington` in `Washington, D.C.` and `York` in `Frederick, Duke of York`; not `France` in `Paris, France`.
        """
        begins = first in self.parts or (first - 1 in self.parts and self.words[first - 1] in ARTICLES)
        return not (begins and (last == len(self.words) or last in self.parts))


@dataclass(frozen=True)
class LongerNames:
    """The names of objects that contain, with more words, a name that some question accepts.

    Attributes:
        runs: by the words of a name, the ways in which it is written.
        called: for each label that passages state or questions offer, all names of the objects with this label.
    """

    runs: Mapping[Words, tuple[WrittenName, ...]] = field(default_factory=dict)
    called: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, accepted: Iterable[str], names: Iterable[str], called: Mapping[str, tuple[str, ...]] | None = None
    ) -> "LongerNames":
        """Select the names that contain an accepted one.

        Args:
            accepted: the names that questions accept or passages state.
            names: the names of all objects, true ones too.
            called: by label, all names of the objects with this label.
        """
        wanted = {read_name(name).words for name in accepted}
        found: dict[Words, dict[WrittenName, None]] = defaultdict(dict)
        for name in names:
            for way in _written(name):
                words = way.words
                if 1 < len(words) <= MOST and (words in found or any(part in wanted for part in _parts(words))):
                    found[words][way] = None
        return cls({words: tuple(ways) for words, ways in found.items()}, called or {})

    @functools.cached_property
    def most(self) -> int:
        """The number of words of the longest name."""
        return max(map(len, self.runs), default=0)

    def hold(self, span: Span, answer: Reading, accepted: Sequence[str]) -> bool:
        """Whether a mention is only part of a longer name in the answer, which is not an ``accepted`` one itself."""
        first, last = span
        for start in range(max(0, last - self.most), first + 1):
            for end in range(last, min(len(answer.words), start + self.most) + 1):
                window = answer.words[start:end]
                ways = () if (start, end) == span else self.runs.get(window, ())
                if not ways or (window[1:] == answer.words[first:last] and window[0] in ARTICLES):
                    continue
                if any(way.words == window for name in accepted for way in _written(name)):
                    continue
                breaks = _breaks(answer, start, end)
                if any(breaks <= way.breaks and way.takes(first - start, last - start) for way in ways):
                    return True
        return False


NO_LONGER = LongerNames()


def _breaks(text: Reading, start: int, end: int, divider: re.Pattern[str] = DIVIDER) -> Breaks:
    """Return the indices, counted from ``start``, of the words with a divider before them."""
    return frozenset(
        at - start
        for at in range(start + 1, end)
        if text.words[at] not in SUFFIXES and divider.search(text.flat, text.ends[at - 1], text.starts[at])
    )


@functools.lru_cache(maxsize=65536)
def _written(name: str) -> tuple[WrittenName, ...]:
    """Return the ways of writing a name: with and without its leading article, if it has one."""
    own = read_name(name)
    size = len(own.words)
    commas = frozenset(at for at in range(1, size) if COMMA.search(own.flat, own.ends[at - 1], own.starts[at]))
    breaks = _breaks(own, 0, size)
    whole = WrittenName(own.words, breaks, commas)
    if not size or own.words[0] not in ARTICLES:
        return (whole,)
    rest = WrittenName(own.words[1:], frozenset(at - 1 for at in breaks if at > 1), frozenset(at - 1 for at in commas))
    return whole, rest


def _parts(words: Words) -> Iterator[Words]:
    """Yield the proper contiguous parts of a sequence of words."""
    ends = itertools.combinations(range(len(words) + 1), 2)
    return (words[start:end] for start, end in ends if end - start < len(words))
