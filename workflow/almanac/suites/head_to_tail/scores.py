"""Scores of an answer by rules: exact match and token F1 as SQuAD computes them, ROUGE-L by `rouge-score`."""

import functools
import html
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
WORD = re.compile(r"[^\W_]+")
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


class Scores(NamedTuple):
    """How an answer scores, the best over the true ones."""

    exact: bool
    f1: float
    rouge_l: float


def said(text: str) -> str:
    """Return what an answer says: its first line that is not empty, without tags and emphasis characters."""
    for line in html.unescape(TAG.sub("", text)).splitlines():
        if stripped := line.strip().strip("*`").strip():
            return stripped
    return ""


def normalise(text: str) -> str:
    """Return a text as SQuAD compares it: lower case, no ASCII punctuation, no English articles, spaces squeezed."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


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
        """Return the words in lower case."""
        return WORD.findall(text.lower())


@functools.cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # slow to load, and only measuring needs it

    return RougeScorer(["rougeL"], tokenizer=_Words())


def rouge_l(answer: str, gold: str) -> float:
    """Return ROUGE-L's F measure: by the longest common subsequence of words, not stemmed."""
    return float(_scorer().score(gold, answer)["rougeL"].fmeasure)


def scores(answer: str, golds: Sequence[str]) -> Scores:
    """Return the best of each score over the true answers.

    Raises:
        ValueError: there is none.
    """
    if not golds:
        raise ValueError("a question has no true answer")
    told = normalise(answer)
    exact = any(told == normalise(gold) for gold in golds)
    return Scores(exact, max(f1(answer, gold) for gold in golds), max(rouge_l(answer, gold) for gold in golds))
