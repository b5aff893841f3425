"""Scores of an answer by rules: exact match and token F1 as SQuAD computes them, ROUGE-L by `rouge-score`.

Models tuned for chats answer in sentences, which match nothing exactly: so whether an answer names a true one
counts too, as PopQA does (Mallen et al., When Not to Trust Language Models, 2023).
"""

import functools
import html
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from almanac import punctuation
from almanac.dataset import text as names
from almanac.dataset.names import STOP_WORDS
from almanac.dataset.templates import first_line
from almanac.dataset.text import UNSEEN, marked, runs, singular, typed, unaccented
from almanac.dataset.values import value_of, values_in

ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII's and, as MLQA extends SQuAD for all languages (Lewis et al. 2020), what Unicode calls punctuation.
_SIGNS = (char for char in map(chr, range(0x10000)) if unicodedata.category(char).startswith("P"))
PUNCTUATION: dict[int, str | None] = dict.fromkeys(map(ord, {*string.punctuation, *_SIGNS}))
MARKS = {".": "\ue000", "-": "\ue001"}  # of a number: the point of a fraction, a minus
PUNCTUATION |= {ord(mark): sign for sign, mark in MARKS.items()}
# What parts words where no space does; within names points of initials, apostrophes and hyphens do not.
PARTING = re.compile(r"[/—()\[\]{}|;:!?\"“”„«»…]|\.\.+|(?<=\w\w)\.(?=[^\W\d])|(?<!\d),|,(?!\d)|(?<=\d)[-–.](?=\d)")
HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–](?=[^\W\d_])")
WORD = re.compile(punctuation.WORD)
# Tags of HTML and of tokenizers; <Paris> is none.
_TAGS = "a|b|i|u|s|em|strong|br|p|div|span|font|code|pre|sub|sup|li|ul|ol|h[1-6]|think|answer|unk|pad|eos|bos"
TAG = re.compile(rf"</?(?:{_TAGS})\b[^<>]*>", re.IGNORECASE)
CODED = re.compile(r"0\d+$")  # no number: 007
# What follows a name that any sentence may hold as a word: none, or what tells of it. *In is indium*, not *In my view*.
APART = r"(?! (?!(?:is|was|are|were|has|had)\b)\w|'(?!s\b)\w)"


class Scores(NamedTuple):
    """How an answer scores, the best over the true ones; ``named``: whether it names one, in whatever words."""

    named: bool
    exact: bool
    f1: float
    rouge_l: float


def said(text: str) -> str:
    """Return what an answer says: its first line (see `first_line`), without tags, emphasis and unseen characters.

    What is left is composed (NFC).
    """
    composed = unicodedata.normalize("NFC", UNSEEN.sub("", html.unescape(TAG.sub("", text))))
    return first_line("\n".join(line.strip().strip("*`") for line in composed.splitlines()))


@functools.lru_cache(10_000)
def normalise(text: str) -> str:
    """Return a text as SQuAD compares it: lower case, no punctuation, no English articles, spaces squeezed.

    Other than there a number keeps its minus and the point of its fraction, as in DROP: 3.5 is not 35; and what is not
    ASCII is folded as names are (`dataset.text`), so that full width and ligatures make no other word.
    """
    plain = marked(names.normalise(text), *MARKS.values()).translate(PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def is_true(answer: str, golds: Sequence[str]) -> bool:
    """Return whether an answer is a true one, case, outer spaces and its full stop aside; an empty one is not.

    This tells apart what SQuAD compares as nothing: the answers `A`, `A+` and `%`.
    """
    told = names.normalise(answer)
    return not {told, told.removesuffix(".")}.isdisjoint({*map(names.normalise, golds)} - {""})


def f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall over tokens (SQuAD): 1 of two texts without any, 0 of one."""
    one, other = normalise(answer).split(), normalise(gold).split()
    if not one or not other:
        return float(one == other)
    shared = (Counter(one) & Counter(other)).total()
    return 2 * shared / (len(one) + len(other))


class _Words:
    """Words of any script. `rouge-score` by itself knows ASCII's alone; of ASCII texts both find the same words."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words, folded as names are."""
        return WORD.findall(names.normalise(text))


@functools.cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # slow to load, and only measuring needs it

    return RougeScorer(["rougeL"], tokenizer=_Words())


def rouge_l(answer: str, gold: str) -> float:
    """Return ROUGE-L's F measure: by the longest common subsequence of words, not stemmed."""
    return float(_scorer().score(gold, answer)["rougeL"].fmeasure)


@functools.lru_cache(10_000)
def _readings(text: str) -> tuple[str, ...]:
    """Return a text as names are looked for in it, without accents.

    As it is compared; with words that a sign parts (*Paris—the capital*); and, where it has several words then, with
    those that a hyphen parts too: Coca Cola is Coca-Cola, and Guinea not in Guinea-Bissau.
    """
    text = unaccented(names.normalise(text))
    parted = PARTING.sub(" ", marked(text, *MARKS.values()))
    return normalise(text), normalise(parted), normalise(HYPHEN.sub(" ", parted))


def _names(answer: str, gold: str, question: str) -> bool:
    """Return whether a true answer stands in an answer as whole words, more often than in the question.

    A date or a number is named however it is written, and what ends in a common noun in the plural too; a word of most
    sentences (`STOP_WORDS`) as `_alone` says.
    """
    if normalise(gold) in STOP_WORDS:
        there = _alone(" ".join(typed(gold).split()))
        return len(there.findall(typed(answer))) > len(there.findall(typed(question)))
    digits = any(map(str.isdigit, gold)) and not CODED.match(gold)
    value = value_of(unaccented(names.normalise(gold))) if digits else None
    if value is not None and _values(answer)[value] > _values(question)[value]:
        return True
    rows = list(zip(_readings(gold), _readings(answer), _readings(question), strict=True))
    several = " " in rows[-1][0]
    if any(_times(name, told) > _times(name, asked) for name, told, asked in rows[: 3 if several else 2]):
        return True
    if not gold.rpartition(" ")[2].islower() or not (name := rows[1][0]):
        return False  # Aliens is another film
    last = name.split()[-1]
    told, asked = (" ".join(last if singular(word) == last else word for word in text.split()) for text in rows[1][1:])
    return _times(name, told) > _times(name, asked)


@functools.lru_cache(10_000)
def _alone(gold: str) -> re.Pattern[str]:
    """Return where a name stands that is a word of most sentences, or becomes one without its article.

    With the article (The Who) it stands in any capitals, else in its own: as a code (IS, with points or without: U.S.),
    after other words (the film Up), or apart (*He is helium*). The symbol I stands apart alone.
    """
    if " " in gold:
        return re.compile(rf"(?<!\w){re.escape(gold)}(?!\w)", re.IGNORECASE)
    letters = re.sub(r"\W", "", gold)
    if gold.islower():
        return re.compile(r"(?!)")
    word = rf"(?<![^\W_]){'[.]?'.join(letters)}(?![^\W_])"
    if len(letters) == 1:
        return re.compile(word + APART)
    return re.compile(word if letters.isupper() else rf"(?<=[\w,] ){word}|{word}{APART}")


@functools.lru_cache(10_000)
def _values(text: str) -> Counter[Hashable]:
    """Return the dates and numbers of a text, with how often each stands there (see `dataset.values`)."""
    return Counter(values_in(unaccented(names.normalise(text))))


def _times(name: str, text: str) -> int:
    """Return how often a name stands in a text as whole words; both as they are compared."""
    return len(runs(name.split(), text.split())) if name in text else 0


def names_one(answer: str, golds: Sequence[str], question: str) -> bool:
    """Return whether an answer is a true one or names one, more often than the question does (see `scores`)."""
    told = normalise(answer)
    return is_true(answer, golds) or any(told == normalise(gold) or _names(answer, gold, question) for gold in golds)


def scores(answer: str, golds: Sequence[str], question: str = "") -> Scores:
    """Return the best of each score over the true answers.

    A true answer is named if it is the whole answer, or stands in it as whole words, and that more often than in the
    question: where the Ford Motor Company is asked about, repeating "Ford" says nothing. A true answer itself has all
    of each score, although ROUGE-L finds no word in one that is signs alone.

    Raises:
        ValueError: there is none.
    """
    if not golds:
        raise ValueError("a question has no true answer")
    if is_true(answer, golds):
        return Scores(True, True, 1.0, 1.0)
    best = (max(score(answer, gold) for gold in golds) for score in (f1, rouge_l))
    exact = normalise(answer) in map(normalise, golds)
    return Scores(names_one(answer, golds, question), exact, *best)
