"""Mode `paper`: a short answer is right where it and a true name hold each other, either way (Luo et al., section 3).

`Obama` is right of Barack Obama, and so is a sentence that names him. Words are compared, so that `p` is not Paris as
it is to the released scorer; nothing else is asked of an answer: neither whether a name is denied in it, nor whether
it is a part of another's. The paper's rule is for short answers alone; the others are read as in mode `strict`.
"""

from almanac.suites.facteval.reading import scoring
from almanac.suites.facteval.reading.abstention import Abstentions
from almanac.suites.facteval.reading.scoring import JudgedQuestion, Verdict
from almanac.suites.facteval.reading.text import ARTICLES, mentions, read, runs, words_of

Words = tuple[str, ...]


def judge(question: JudgedQuestion, answer: str, abstentions: Abstentions) -> Verdict:
    """Judge an answer; see `scoring.judge` for the arguments."""
    if question.type != "saq":
        return scoring.judge(question, answer, abstentions)
    said = scoring.own_turn(question, answer)
    whole = read(said)
    if abstentions.within(whole, [span for name in question.gold for span in mentions(name, whole)]):
        return Verdict("missing")
    words = _bare(said)
    named = [name for name in question.gold if overlap(words, _bare(name))]
    if named:
        return Verdict("correct", "; ".join(named))
    return Verdict("incorrect", reason=None if words else "no words")


def overlap(one: Words, other: Words) -> bool:
    """Whether either of two rows of words stands in the other; one without a word stands nowhere."""
    return bool(runs(one, other) or runs(other, one))


def _bare(text: str) -> Words:
    """Return the words of a text without articles, unless it has no others."""
    words = words_of(text)
    return tuple(word for word in words if word not in ARTICLES) or words
