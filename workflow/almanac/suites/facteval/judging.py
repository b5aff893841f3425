"""Judges answers in three modes: by our rules (`strict`), by the paper's match, and as the released scorer does.

Mode `strict` is `reading.scoring`.

Mode `paper` (Luo et al., section 3): a short answer is right if it contains a true name, or a true name contains it.
For Barack Obama, `Obama` is right, and so is a sentence that names him. Words are compared, so `p` does not match Paris
(for the released scorer it does). It does not matter whether the answer denies the name, or whether it is part of
another name. The rule is for short answers; other types are read as in mode `strict`.

Mode `official` reproduces the released scorer with its oddities, from observation of what it returns. It reads only the
first line, compares strings instead of words, and looks for `correct` before `incorrect`.
"""

import functools
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from almanac.dataset import text
from almanac.dataset.text import ARTICLES, runs
from almanac.frames import frame_of
from almanac.rows import Fact, Outcome, OutcomeKind
from almanac.suites.answers import Answers, Part
from almanac.suites.data import Data
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import MCQ, SAQ, TFQ
from almanac.suites.facteval.reading import scoring
from almanac.suites.facteval.reading.names import NO_LONGER, LongerNames, Reading, mentions, read, read_name
from almanac.suites.facteval.reading.scoring import SEVERAL, Abstentions, JudgedQuestion, Verdict, load_phrases
from almanac.suites.facteval.rows import AnswerVerdict
from almanac.suites.facteval.texts import ALIKE, how_alike
from almanac.suites.suite import Judgements

STRICT, PAPER, OFFICIAL = "strict", "paper", "official"
UNASKED = "the file has no such question of this model"  # reason of an answer that a table from elsewhere lacks
WANTED = ("experiment", "accepted", "role", "text", "options", "status", "reason", "texts", "similarities")
Separator = Literal["comma", "dash"]
ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def as_paper(question: JudgedQuestion, answer: str, abstentions: Abstentions) -> Verdict:
    """Judge an answer by the paper's match; see `scoring.judge` for the arguments."""
    if question.type != SAQ:
        return scoring.judge(question, answer, abstentions)
    reading = read(scoring.own_turn(question, answer))
    if abstentions.within(reading, [span for name in question.gold for span in mentions(name, reading)], question.text):
        return Verdict("missing")
    if named := list(dict.fromkeys(_matching(reading, question.gold))):
        return Verdict("correct", "; ".join(named))
    return Verdict("incorrect", reason=None if reading.words else "no words")


def _matching(answer: Reading, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that contain an answer or stand in it, comparing words without articles."""
    words = _bare(answer.words)
    for name in names:
        own_words = _bare(read_name(name).words)
        # A name of signs or an article alone has no words to compare; it is searched for as a mention.
        if runs(words, own_words) or runs(own_words, words) or (not own_words and mentions(name, answer)):
            yield name


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words without articles."""
    return tuple(word for word in words if word not in ARTICLES)


def as_released(
    question: JudgedQuestion, answer: str, abstentions: Abstentions, separator: Separator = "dash"
) -> Verdict:
    """Judge an answer as the released scorer does.

    Phrases of abstention are searched first, as strings in the whole answer. Choices are parsed back out of the prompt,
    split as ``separator`` says: at commas (its code for chat models), or at commas and dashes (for others).
    """
    if abstentions.within_text(answer):
        return Verdict("missing")
    line = normalise(answer)
    if question.type == TFQ:
        return _true_false(question, line)
    if question.type == MCQ:
        return _multiple_choice(question, line, separator)
    right = any(_contained(line, normalise(name)) for name in question.gold)
    return Verdict("correct" if right else "incorrect", line or None)


@functools.lru_cache(65536)
def normalise(said: str) -> str:
    """Return the first line in lower case, without ASCII punctuation, articles and superfluous space."""
    first = said.split("\n", maxsplit=1)[0].lower().translate(_NO_PUNCTUATION)
    return " ".join(ARTICLE.sub(" ", first).split())


def _true_false(question: JudgedQuestion, said: str) -> Verdict:
    """Take `correct` if it is a word of the answer, else `incorrect`."""
    words = said.split()
    for word, truth in (("correct", True), ("incorrect", False)):
        if word in words:
            return Verdict("correct" if truth == question.truth else "incorrect", word)
    return Verdict("invalid", reason="no verdict")


def _multiple_choice(question: JudgedQuestion, said: str, separator: Separator) -> Verdict:
    """Correct if the answer contains the gold choice, as a string, and exactly one choice."""
    choices = reparsed(question.choices or (), separator)
    gold = next(name for name in question.gold if name in (question.choices or ()))
    found = [choice for choice in choices if normalise(choice) in said]
    named = "; ".join(found) or None
    if normalise(gold) in said and len(found) == 1:
        return Verdict("correct", named)
    reason = SEVERAL if len(found) > 1 else None if found else "no choice"
    return Verdict("incorrect", named, reason)


def reparsed(choices: tuple[str, ...], separator: Separator) -> list[str]:
    """Return the choices as the released scorer parses them out of the prompt: split at commas, or dashes too."""
    pieces = ", ".join(choices).split(",")
    if separator == "dash":
        pieces = [part for piece in pieces for part in piece.split("-")]
    return [piece.strip() for piece in pieces if piece.strip()]


def _contained(said: str, gold: str) -> bool:
    """Whether one of two normalised strings contains the other; an empty one matches only an empty one."""
    if not said or not gold:
        return said == gold
    return said in gold or gold in said


def right_for(mode: str, answer: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that a short answer, if no abstention, matches in a mode (``paper`` or ``official``).

    The names are normalised as in facts, which the released scorer does not do, so answers are compared in both forms.
    """
    if mode == PAPER:
        yield from _matching(read(answer), names)
        return
    first = answer.split("\n", maxsplit=1)[0]
    forms = {normalise(first), normalise(text.normalise(first))}
    yield from (name for name in names if any(_contained(said, normalise(name)) for said in forms))


class Scorer:
    """Judges answers in all modes, with the lists of abstentions and the longer names that mode ``strict`` needs."""

    def __init__(self, options: FactEvalOptions, longer: LongerNames) -> None:
        """Read the lists of abstentions; mode ``official`` by default takes our list without `beyond`.

        Raises:
            AlmanacError: a list cannot be read.
        """
        official = options.official_abstentions
        self._ours = load_phrases(Path(options.abstentions) if options.abstentions else None)
        self._published = load_phrases(Path(official)) if official else self._ours.released()
        self._separator, self._longer = options.official_choices, longer

    def question(self, row: Mapping[str, Any]) -> JudgedQuestion:
        """Return the question of a row, with what is needed to judge its answer."""
        return JudgedQuestion(
            row["type"],
            row["text"],
            () if row["type"] == TFQ else tuple(row["accepted"]),
            tuple(row["objects"]),
            None if row["options"] is None else tuple(row["options"]),
            row["truth"],
            row["datatype"],
            row["object_type"],
            row["stated"],
            self._longer.called,
        )

    def judge(self, mode: str, question: JudgedQuestion, answer: str) -> Verdict:
        """Judge an answer in a mode."""
        if mode == STRICT:
            return scoring.judge(question, answer, self._ours, self._longer)
        if mode == PAPER:
            return as_paper(question, answer, self._ours)
        return as_released(question, answer, self._published, self._separator)

    def follows(self, mode: str, question: JudgedQuestion, answer: str) -> bool | None:
        """Whether an answer names the wrong object that the passage states; None if the passage states none.

        The object is searched by its label, alone or inside one of its aliases. A mention inside another object's name
        does not count: a true object's in every mode, any other object's in mode ``strict`` alone.
        """
        stated = question.stated
        if stated is None or question.type == TFQ:
            return None
        reading = scoring.of_lines(scoring.own_turn(question, answer))
        right = [span for name in question.gold for span in mentions(name, reading)]
        longer = self._longer if mode == STRICT else NO_LONGER
        names = (stated, *longer.called.get(stated, ()))
        return any(
            not (scoring.within_longer(span, right) or longer.hold(span, reading, names))
            for span in mentions(stated, reading)
        )


def judge(answers: Answers, data: Data, options: FactEvalOptions) -> Iterator[Judgements]:
    """Judge every answer in every mode.

    The prediction is the part of the answer that the mode reads: all in `official`, else its `own_turn`. The score is
    the credit: 1 if correct (F1 over objects for short answers in `strict`), 0 if not, None for an error.
    """
    scorer = Scorer(options, longer_names(answers, data))
    for part in answers.parts(WANTED, own=("traits", "names")):
        yield _judged(part, scorer, options.modes)


def _judged(part: Part, scorer: Scorer, modes: Sequence[str]) -> Judgements:
    compares = pl.col("role") == ALIKE
    asked = part.links.filter(~compares & pl.col("reason").ne_missing(UNASKED))
    for own in part.own.values():
        asked = asked.join(own, on="item", how="left", maintain_order="left")
    outcomes: list[Outcome] = []
    verdicts: list[AnswerVerdict] = []
    for row in asked.iter_rows(named=True):
        answer = row["texts"][0] if row["status"] == "ok" and row["texts"] else None
        question = scorer.question(row)
        for mode in modes:
            found = _unanswered(row) if answer is None else scorer.judge(mode, question, answer)
            follows = None if answer is None else scorer.follows(mode, question, answer)
            credit = None if found.outcome == "error" else found.credit
            prediction = answer if answer is None or mode == OFFICIAL else scoring.own_turn(question, answer)
            outcomes.append(Outcome(row["item"], mode, prediction, found.outcome, credit, None))
            measured = (found.precision, found.recall, follows)
            verdicts.append(AnswerVerdict(row["item"], mode, found.said, found.reason, *measured))
    similarities = how_alike(part.links.filter(compares))
    return Judgements(
        frame_of(Outcome, outcomes),
        {"verdicts": frame_of(AnswerVerdict, verdicts), "similarities": similarities},
    )


def _unanswered(row: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a question without an answer: missing if the model refused, else an error."""
    outcome: OutcomeKind = "missing" if row["status"] == "refused" else "error"
    return Verdict(outcome, reason=row["reason"] or row["status"])


def longer_names(answers: Answers, data: Data) -> LongerNames:
    """Return the names of objects that contain an accepted short answer, or an object stated by a passage.

    With them are all names of the objects that passages state or questions offer.
    """
    accepted: set[str] = set()
    stated: set[str] = set()
    offered: set[str] = set()
    for part in answers.parts(("accepted", "options"), own=("traits", "names")):
        short = part.own["traits"].filter(pl.col("type") == SAQ)["item"]
        accepted.update(part.links.filter(pl.col("item").is_in(short.implode()))["accepted"].explode().drop_nulls())
        stated.update(part.own["names"]["stated"].drop_nulls())
        offered.update(part.links["options"].explode().drop_nulls())
    names = data.names
    objects = data.frame("facts", Fact, ["object_id"])["object_id"].drop_nulls().unique().sort().to_list()
    called: dict[str, tuple[str, ...]] = {}
    for key in objects:
        if (label := names.label(key)) in stated or label in offered:
            called[label] = (*called.get(label, ()), *names.names(key))
    return LongerNames.of(accepted | stated, (name for key in objects for name in names.names(key)), called)
