"""Normalises names for comparison, and finds a sequence of words within another."""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Context, Decimal

POINT = re.compile(r"(?<![\d.])(\d+)\.(?=\d+(?!\.?\d))")  # a decimal point
MINUS = re.compile(r"(?<![^\s(])[-−](?=\d)")  # the minus sign of a number
UNSEEN = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
EMPHASIS = re.compile(r"(?<![^\W_])_++(?=\S)|(?<=[^\s_])_++(?![^\W_])")  # _Paris_
NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
ARTICLES = ("the", "a", "an")
ACCENTS = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic letters
BARRED = str.maketrans("łŁøØđĐħĦı", "lLoOdDhHi")  # Latin letters whose stroke or missing dot NFD does not split off
# Typographic characters and their keyboard equivalents; `JOINING` is an en dash between two names.
_TYPED = {**dict.fromkeys("‘’‚‛ʼ", "'"), **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‐‑−", "-"), "…": "..."}
TYPED = str.maketrans(_TYPED)
JOINING = re.compile(r"(?<=[^\W\d_])–(?=[^\W\d_])")
AND = re.compile("(?<= )&(?= )")
NO_PLURALS = ("ss", "us", "is")  # endings of words in -s that are no plurals
Span = tuple[int, int]  # a mention as words[start:end]


def typed(text: str) -> str:
    """Return a text with plain keyboard apostrophes, quotation marks and hyphens: *L’Orangerie* is *L'Orangerie*."""
    return text if text.isascii() else JOINING.sub("-", text.translate(TYPED))


def normalise(name: str) -> str:
    """Return a name in the form in which names are compared.

    That is NFKC, case folded, with single spaces, without invisible characters, `typed`, and with *and* for the word
    `&`. Wu et al. do not say how they compare choices; this rule is the project's own.
    """
    if name.isascii():  # most names are, and NFKC leaves them as they are
        return AND.sub("and", " ".join(name.lower().split()))
    seen = UNSEEN.sub("", name)
    folded = typed(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()))
    return AND.sub("and", " ".join(folded.split()))


def unaccented(text: str) -> str:
    """Return a text without the accents of its letters (`Łódź` is `Lodz`); the signs of other scripts stay."""
    return unicodedata.normalize("NFC", ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(BARRED)


def marked(text: str, point: str, minus: str) -> str:
    """Replace decimal points and minus signs by given symbols, so that they survive the removal of punctuation."""
    return MINUS.sub(minus, POINT.sub(rf"\1{point}", text)) if any(map(str.isdigit, text)) else text


def singular(word: str) -> str:
    """Return a word without a regular English plural ending; it also shortens words such as *Charles*.

    Decades stay as they are: *1990s* is not the year.
    """
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(NO_PLURALS) and not word[-2].isdigit():
        return word[:-1]
    return word


def same_value(literal: str) -> str:
    """Return a literal in the form in which it is compared: 1000, 1000.0 and 1,000 are equal; a text is a name."""
    if not NUMBER.fullmatch(literal):
        return normalise(literal)
    return format(Decimal(literal.replace(",", "")).normalize(Context(prec=len(literal))), "f")


def runs(wanted: Sequence[str], words: Sequence[str]) -> list[Span]:
    """Return all spans at which the sequence ``wanted`` occurs in ``words``; none if it is empty."""
    size = len(wanted)
    if not size or wanted[0] not in words:
        return []
    first = wanted[0]
    return [
        (at, at + size)
        for at, word in enumerate(words)
        if word == first and tuple(words[at : at + size]) == tuple(wanted)
    ]
