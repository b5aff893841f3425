"""How answers and names are read: folded words with their places, and where in an answer a name is mentioned.

A mention begins and ends at words: `York` stands in `New York`, `19` does not stand in `1982`. Names that are numbers
or dates are compared by value (`values.py`).
"""

import bisect
import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from almanac.dataset.text import normalise
from almanac.suites.facteval.reading.values import Dated, Number, dates, numbers, read_date, read_number

# Scripts written without spaces: kana, Han, Thai, Lao, Myanmar, Khmer. Each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot be)|n['’]t(?: be)?)\s+(?:(?:in|at|on|by|from|to|of|an?|the)\s+){0,2}$"
)
REACH = 30  # characters before a mention in which a negation can stand
ARTICLES = ("the", "a", "an")
LEAST_WITHOUT_ARTICLE = 4  # letters; "The Who" is not "who"
SHORT = 3  # letters of a code such as IS for Iceland, which is a word of other answers too
SHORT_WORD = re.compile(rf"\b\w{{1,{SHORT}}}\b")

Span = tuple[int, int]  # the first word of a mention and the one after its last


class _Blanks(dict[int, str]):
    """A translation that keeps letters, digits, their diacritics, `+` and `#`, and blanks everything else."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if unicodedata.category(char)[0] in "LNM" or char in "+#" else " "
        return self[code]


_BLANKS = _Blanks()


@dataclass(frozen=True)
class Reading:
    """A text as it is compared.

    Attributes:
        flat: the text folded (the project's normaliser) and without Latin diacritics.
        words: its words.
        starts: where each word begins in ``flat``; ``ends`` where it ends.
        dates: the dates in it.
        numbers: the numbers in it that are no part of a date.
        capitals: its short words that are written in capitals, unless all of it is.
    """

    flat: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    dates: tuple[Dated, ...]
    numbers: tuple[Number, ...]
    capitals: frozenset[str]

    @property
    def whole(self) -> Span:
        """All of its words."""
        return 0, len(self.words)

    def span(self, start: int, end: int) -> Span:
        """Return the words that stand between two places of ``flat``."""
        return bisect.bisect_right(self.ends, start), bisect.bisect_left(self.starts, end)


def read(text: str) -> Reading:
    """Read an answer."""
    flat = fold(text)
    places = list(_places(flat))
    found = dates(flat)
    return Reading(
        flat,
        tuple(word for word, _, _ in places),
        tuple(start for _, start, _ in places),
        tuple(end for _, _, end in places),
        found,
        numbers(flat, found),
        frozenset() if text.isupper() else frozenset(map(fold, filter(str.isupper, SHORT_WORD.findall(text)))),
    )


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as `read` finds them, and nothing else of it."""
    return tuple(word for word, _, _ in _places(fold(text)))


def _places(flat: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a folded text, each with its beginning and its end."""
    for match in WORD.finditer(flat.translate(_BLANKS)):
        word = match.group().lstrip("+#")  # "C++" is a word, "#Paris" is Paris
        if word:
            yield word, match.end() - len(word), match.end()


def fold(text: str) -> str:
    """Return a text folded as the project's names are, without Latin diacritics (`São` is `Sao`)."""
    apart = unicodedata.normalize("NFD", normalise(text))
    bare = unicodedata.normalize("NFC", "".join(char for char in apart if not "\u0300" <= char <= "\u036f"))
    return " ".join(bare.split())


@functools.lru_cache(maxsize=65536)
def read_name(text: str) -> Reading:
    """Read a name; the same name stands in many questions."""
    return read(text)


def mentions(name: str, answer: Reading, alias: bool = False, unitless: bool = True) -> list[Span]:
    """Return where an answer mentions a name, without the places where it is denied (`not in Paris`).

    A name that is a date is mentioned by any date at least as precise that agrees with it; one that is a number by an
    equal number (in its unit, if it has one) or, where it may be a year, by the year of a date. Any other by its words,
    with or without a leading article. An alias of up to three letters must be written in capitals or be the whole
    answer: IS is Iceland, "is" is not.

    Args:
        name: what is looked for.
        answer: where.
        alias: whether it is another name of its object than the label.
        unitless: whether a number that is the whole answer may lack the name's unit.
    """
    own = read_name(name)
    date, number = read_date(own.flat), read_number(own.flat)
    if date is not None:
        found = [answer.span(one.start, one.end) for one in answer.dates if one.agrees(date)]
    elif number is not None:
        places = [answer.span(one.start, one.end) for one in answer.numbers]
        alone = unitless and places == [answer.whole]
        found = [place for one, place in zip(answer.numbers, places, strict=True) if one.agrees(number, alone)]
        found += [
            answer.span(one.start, one.end) for one in answer.dates if number.unit is None and one.of_year(number.value)
        ]
    elif own.words:
        found = runs(own.words, answer.words)
        if alias and _is_code(own) and own.words != answer.words:
            found = [(start, end) for start, end in found if answer.words[start] in answer.capitals]
        rest = own.words[1:]
        if own.words[0] in ARTICLES and len("".join(rest)) >= LEAST_WITHOUT_ARTICLE:
            found += runs(rest, answer.words)
    else:
        # A name of signs alone: a flag, the band !!!.
        stands = own.flat and re.search(rf"(?<!\w){re.escape(own.flat)}(?!\w)", answer.flat)
        return [(0, len(answer.words))] if stands else []
    return sorted({span for span in found if not denied(span, answer)})


def _is_code(name: Reading) -> bool:
    return len(name.words) == 1 and len(name.words[0]) <= SHORT and name.words[0].isalpha()


def denied(span: Span, answer: Reading) -> bool:
    """Whether a negation stands right before a mention."""
    start = answer.starts[span[0]] if answer.words else 0
    return NEGATED.search(answer.flat[max(0, start - REACH) : start]) is not None


def runs(wanted: Sequence[str], words: Sequence[str]) -> list[Span]:
    """Return where a row of words stands in others; nowhere, if it has no word."""
    size = len(wanted)
    if not size or wanted[0] not in words:
        return []
    first = wanted[0]
    return [
        (at, at + size)
        for at, word in enumerate(words)
        if word == first and tuple(words[at : at + size]) == tuple(wanted)
    ]
