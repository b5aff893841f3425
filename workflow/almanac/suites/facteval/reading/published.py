"""Short answers as the paper matches them (mode `paper`), and all as its released code does (mode `official`).

Mode `paper` (Luo et al., section 3): a short answer is right where it and a true name hold each other, either way.
`Obama` is right of Barack Obama, and so is a sentence that names him. Words are compared, so that `p` is not Paris as
it is to the released scorer; nothing else is asked of an answer: neither whether a name is denied in it, nor whether
it is a part of another's. The rule is for short answers alone; the others are read as in mode `strict`.

Mode `official` is the released scorer's behaviour, its oddities included, written from observation of what it returns.
It reads the first line alone, compares strings and not words, and tries `correct` before `incorrect`.
"""

import re
import string
from typing import Literal

from almanac.suites.facteval.reading import scoring
from almanac.suites.facteval.reading.abstention import Abstentions
from almanac.suites.facteval.reading.scoring import JudgedQuestion, Verdict
from almanac.suites.facteval.reading.text import ARTICLES, mentions, read, runs, words_of

Separator = Literal["comma", "dash"]
ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def as_paper(question: JudgedQuestion, answer: str, abstentions: Abstentions) -> Verdict:
    """Judge an answer by the paper's match; see `scoring.judge` for the arguments."""
    if question.type != "saq":
        return scoring.judge(question, answer, abstentions)
    said = scoring.own_turn(question, answer)
    whole = read(said)
    if abstentions.within(whole, [span for name in question.gold for span in mentions(name, whole)]):
        return Verdict("missing")
    words = _bare(said)
    names = {name: _bare(name) for name in question.gold}
    # One without a word stands nowhere.
    named = [name for name, own in names.items() if runs(words, own) or runs(own, words)]
    if named:
        return Verdict("correct", "; ".join(named))
    return Verdict("incorrect", reason=None if words else "no words")


def _bare(text: str) -> tuple[str, ...]:
    """Return the words of a text without articles, unless it has no others."""
    words = words_of(text)
    return tuple(word for word in words if word not in ARTICLES) or words


def as_released(
    question: JudgedQuestion, answer: str, abstentions: Abstentions, separator: Separator = "dash"
) -> Verdict:
    """Judge an answer as the released scorer does.

    Args:
        question: what was asked.
        answer: what the model said.
        abstentions: phrases; the whole answer is searched for them as strings, before anything else.
        separator: how choices are read back out of the prompt: chat models' at commas, others' at dashes too.
    """
    if abstentions.within_text(answer):
        return Verdict("missing")
    said = normalise(answer)
    if question.type == "tfq":
        return _true_false(question, said)
    if question.type == "mcq":
        return _multiple_choice(question, said, separator)
    right = any(_overlap(said, normalise(name)) for name in question.gold)
    return Verdict("correct" if right else "incorrect", said or None)


def normalise(text: str) -> str:
    """Return the first line in lower case, without ASCII punctuation, articles and superfluous space."""
    first = text.split("\n", maxsplit=1)[0].lower().translate(_NO_PUNCTUATION)
    return " ".join(ARTICLE.sub(" ", first).split())


def _true_false(question: JudgedQuestion, said: str) -> Verdict:
    words = said.split()
    for word, truth in (("correct", True), ("incorrect", False)):
        if word in words:
            return Verdict("correct" if truth == question.truth else "incorrect", word)
    return Verdict("invalid", reason="no verdict")


def _multiple_choice(question: JudgedQuestion, said: str, separator: Separator) -> Verdict:
    """Correct where the gold choice is a substring and exactly one choice is."""
    choices = reparsed(question.choices or (), separator)
    gold = next(name for name in question.gold if name in (question.choices or ()))
    found = [choice for choice in choices if normalise(choice) in said]
    named = "; ".join(found) or None
    if normalise(gold) in said and len(found) == 1:
        return Verdict("correct", named)
    reason = "several choices" if len(found) > 1 else None if found else "no choice"
    return Verdict("incorrect", named, reason)


def reparsed(choices: tuple[str, ...], separator: Separator) -> list[str]:
    """Return the choices as they are read back out of the prompt, where commas and dashes divide them."""
    pieces = ", ".join(choices).split(",")
    if separator == "dash":
        pieces = [part for piece in pieces for part in piece.split("-")]
    return [piece.strip() for piece in pieces if piece.strip()]


def _overlap(said: str, gold: str) -> bool:
    """Whether either of two normalised strings contains the other; an empty one only equals an empty one."""
    if not said or not gold:
        return said == gold
    return said in gold or gold in said
