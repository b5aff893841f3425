"""The one normaliser: when two names are the same name; and where words stand among others."""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Context, Decimal

POINT = re.compile(r"(?<![\d.])(\d+)\.(?=\d+(?!\.?\d))")  # of a fraction
MINUS = re.compile(r"(?<![^\s(])[-−](?=\d)")  # of a number
UNSEEN = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
EMPHASIS = re.compile(r"(?<![^\W_])_++(?=\S)|(?<=[^\s_])_++(?![^\W_])")  # _Paris_
NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
ARTICLES = ("the", "a", "an")
ACCENTS = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic letters
BARRED = str.maketrans("łŁøØđĐħĦı", "lLoOdDhHi")  # Latin letters whose stroke, or missing dot, is no accent to Unicode
# What is printed for the marks of a keyboard: apostrophes, quotation marks, hyphens, a minus; a dash that joins names.
_TYPED = {**dict.fromkeys("‘’‚‛ʼ", "'"), **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‐‑−", "-"), "…": "..."}
TYPED = str.maketrans(_TYPED)
JOINING = re.compile(r"(?<=[^\W\d_])–(?=[^\W\d_])")
AND = re.compile("(?<= )&(?= )")
NO_PLURALS = ("ss", "us", "is")  # how words end that are none
Span = tuple[int, int]  # the first word of a mention and the one after its last


def typed(text: str) -> str:
    """Return a text with the apostrophes, quotation marks and hyphens of a keyboard, as in *L’Orangerie*."""
    return text if text.isascii() else JOINING.sub("-", text.translate(TYPED))


def normalise(name: str) -> str:
    """Return a name as it is compared: NFKC, case folded, white space squeezed, unseen characters left out, `typed`.

    A word `&` is *and*.

    Wu et al. do not say how they compare choices; this fold is the project's (case and space).
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
    """Return a text in which what stands for the point of a fraction and a number's minus outlasts punctuation."""
    return MINUS.sub(minus, POINT.sub(rf"\1{point}", text)) if any(map(str.isdigit, text)) else text


def singular(word: str) -> str:
    """Return a word without the ending of regular English plurals; it may be another word (*Paris*).

    A decade stays one: *1990s* is not the year.
    """
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(NO_PLURALS) and not word[-2].isdigit():
        return word[:-1]
    return word


def same_value(literal: str) -> str:
    """Return a literal as it is compared: numbers by value, so that 1000, 1000.0 and 1,000 are one; else as a name."""
    if not NUMBER.fullmatch(literal):
        return normalise(literal)
    return format(Decimal(literal.replace(",", "")).normalize(Context(prec=len(literal))), "f")


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
