"""Scores of an answer by rules: exact match and token F1 as in SQuAD, ROUGE-L by `rouge-score`, and naming.

Chat models answer in sentences, which match nothing exactly. So a further score says whether an answer contains a true
one, as in PopQA (Mallen et al., When Not to Trust Language Models, 2023).
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
# ASCII punctuation and, as MLQA extends SQuAD to all languages (Lewis et al. 2020), Unicode's.
_SIGNS = (char for char in map(chr, range(0x10000)) if unicodedata.category(char).startswith("P"))
PUNCTUATION: dict[int, str | None] = dict.fromkeys(map(ord, {*string.punctuation, *_SIGNS}))
MARKS = {".": "\ue000", "-": "\ue001"}  # placeholders of a number's decimal point and minus
PUNCTUATION |= {ord(mark): sign for sign, mark in MARKS.items()}
# Signs that separate words without a space; not the full stops of initials, apostrophes and hyphens within names.
PARTING = re.compile(r"[/—()\[\]{}|;:!?\"“”„«»…]|\.\.+|(?<=\w\w)\.(?=[^\W\d])|(?<!\d),|,(?!\d)|(?<=\d)[-–.](?=\d)")
HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑–](?=[^\W\d_])")
WORD = re.compile(punctuation.WORD)
# Tags of HTML and of tokenizers; not <Paris>.
_TAGS = "a|b|i|u|s|em|strong|br|p|div|span|font|code|pre|sub|sup|li|ul|ol|h[1-6]|think|answer|unk|pad|eos|bos"
TAG = re.compile(rf"</?(?:{_TAGS})\b[^<>]*>", re.IGNORECASE)
CODED = re.compile(r"0\d+$")  # 007 is no number
# After a name that is also a common word: no word, or a verb such as *is*: *In is indium*, not *In my view*.
APART = r"(?! (?!(?:is|was|are|were|has|had)\b)\w|'(?!s\b)\w)"


class Scores(NamedTuple):
    """The scores of an answer, each the best over the true answers; ``named``: it contains a true answer."""

    named: bool
    exact: bool
    f1: float
    rouge_l: float


def said(text: str) -> str:
    """Return an answer's first line (see `first_line`) without tags, emphasis and invisible characters, in NFC."""
    composed = unicodedata.normalize("NFC", UNSEEN.sub("", html.unescape(TAG.sub("", text))))
    return first_line("\n".join(line.strip().strip("*`") for line in composed.splitlines()))


@functools.lru_cache(10_000)
def normalise(text: str) -> str:
    """Normalise a text as SQuAD does: lower case, no punctuation, no English articles, single spaces.

    Unlike SQuAD, but as in DROP, numbers keep their minus and decimal point: 3.5 is not 35. The text is
    first normalised as in names (`dataset.text`), so that full width and ligatures make no difference.
    """
    plain = marked(names.normalise(text), *MARKS.values()).translate(PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def is_true(answer: str, golds: Sequence[str]) -> bool:
    """Return whether an answer equals a true one, ignoring case, outer spaces and a full stop; an empty one does not.

    This distinguishes answers of which SQuAD's normalisation leaves nothing: `A`, `A+` and `%`.
    """
    told = names.normalise(answer)
    return not {told, told.removesuffix(".")}.isdisjoint({*map(names.normalise, golds)} - {""})


def f1(answer: str, gold: str) -> float:
    """Return F1 over tokens (SQuAD); 1 if neither text has any tokens, 0 if only one has."""
    one, other = normalise(answer).split(), normalise(gold).split()
    if not one or not other:
        return float(one == other)
    shared = (Counter(one) & Counter(other)).total()
    return 2 * shared / (len(one) + len(other))


class _Words:
    """A tokenizer for any script; `rouge-score`'s own knows ASCII alone, for which both find the same words."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words, normalised as in names."""
        return WORD.findall(names.normalise(text))


@functools.cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # slow to load, and only measuring needs it

    return RougeScorer(["rougeL"], tokenizer=_Words())


def rouge_l(answer: str, gold: str) -> float:
    """Return ROUGE-L's F measure, from the longest common subsequence of words, without stemming."""
    return float(_scorer().score(gold, answer)["rougeL"].fmeasure)


@functools.lru_cache(10_000)
def _forms(text: str) -> tuple[str, ...]:
    """Return three normalised forms of a text, without accents, in which names are searched.

    These are: as SQuAD compares it; with words also split at signs (*Paris—the capital*); and split at hyphens, too.
    The third is used for names with several words in it: Coca Cola is Coca-Cola, but Guinea is not in Guinea-Bissau.
    """
    text = unaccented(names.normalise(text))
    parted = PARTING.sub(" ", marked(text, *MARKS.values()))
    return normalise(text), normalise(parted), normalise(HYPHEN.sub(" ", parted))


def _contains(answer: str, gold: str, question: str) -> bool:
    """Return whether an answer contains a true answer as whole words, more often than the question does.

    Dates and numbers match in any format. A name that ends in a common noun matches its plural too. For a name that is
    a stop word (`STOP_WORDS`) see `_stop_word_pattern`.
    """
    if normalise(gold) in STOP_WORDS:
        pattern = _stop_word_pattern(" ".join(typed(gold).split()))
        return len(pattern.findall(typed(answer))) > len(pattern.findall(typed(question)))
    digits = any(map(str.isdigit, gold)) and not CODED.match(gold)
    value = value_of(unaccented(names.normalise(gold))) if digits else None
    if value is not None and _values(answer)[value] > _values(question)[value]:
        return True
    rows = list(zip(_forms(gold), _forms(answer), _forms(question), strict=True))
    several = " " in rows[-1][0]
    if any(_count(name, told) > _count(name, asked) for name, told, asked in rows[: 3 if several else 2]):
        return True
    if not gold.rpartition(" ")[2].islower() or not (name := rows[1][0]):
        return False  # Aliens is another film
    last = name.split()[-1]
    told, asked = (" ".join(last if singular(word) == last else word for word in text.split()) for text in rows[1][1:])
    return _count(name, told) > _count(name, asked)


@functools.lru_cache(10_000)
def _stop_word_pattern(gold: str) -> re.Pattern[str]:
    """Return a pattern for a name that is a stop word, or is one without its article.

    With its article (The Who) it matches in any case. Without, it matches only in its own case: a code anywhere (IS,
    U.S. with or without full stops), others after another word (the film Up) or as in *He is helium* (`APART`). A
    symbol of one letter (I) matches only in the last way; a name in lower case never.
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
    """Count the dates and numbers of a text, by value (see `dataset.values`)."""
    return Counter(values_in(unaccented(names.normalise(text))))


def _count(name: str, text: str) -> int:
    """Count a name in a text as whole words; both are normalised."""
    return len(runs(name.split(), text.split())) if name in text else 0


def names_one(answer: str, golds: Sequence[str], question: str) -> bool:
    """Return whether an answer is a true one, or contains one more often than the question does (see `scores`)."""
    told = normalise(answer)
    return is_true(answer, golds) or any(told == normalise(gold) or _contains(answer, gold, question) for gold in golds)


def scores(answer: str, golds: Sequence[str], question: str = "") -> Scores:
    """Return the best of each score over the true answers.

    A true answer is named if it is the whole answer, or if the answer contains it as whole words, more often than the
    question: to a question about the Ford Motor Company, repeating "Ford" says nothing. An answer that equals a true
    one has the full score in each, even if it has no word for ROUGE-L.

    Raises:
        ValueError: there is no true answer.
    """
    if not golds:
        raise ValueError("a question has no true answer")
    if is_true(answer, golds):
        return Scores(True, True, 1.0, 1.0)
    best = (max(score(answer, gold) for gold in golds) for score in (f1, rouge_l))
    exact = normalise(answer) in map(normalise, golds)
    return Scores(names_one(answer, golds, question), exact, *best)
