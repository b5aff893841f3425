"""From answers to verdicts: by our rules (`strict`), by the paper's match, and as the released scorer does."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from almanac.frames import frame_of
from almanac.rows import Fact, Outcome, OutcomeKind
from almanac.suites.answers import Answers, Part
from almanac.suites.data import Data
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import SAQ, TFQ
from almanac.suites.facteval.reading import scoring
from almanac.suites.facteval.reading.abstention import load
from almanac.suites.facteval.reading.longer import NO_LONGER, LongerNames
from almanac.suites.facteval.reading.published import as_paper, as_released
from almanac.suites.facteval.reading.scoring import JudgedQuestion, Verdict
from almanac.suites.facteval.reading.text import mentions
from almanac.suites.facteval.rows import AnswerVerdict
from almanac.suites.facteval.texts import ALIKE, how_alike
from almanac.suites.suite import Judgements

STRICT, PAPER, OFFICIAL = "strict", "paper", "official"
UNASKED = "the file has no such question of this model"  # why an answer from elsewhere is not there
WANTED = ("experiment", "accepted", "role", "text", "options", "status", "reason", "texts", "similarities")


class Scorer:
    """All modes with their lists of abstentions; in mode ``strict`` a true name does not count within a longer one."""

    def __init__(self, options: FactEvalOptions, longer: LongerNames) -> None:
        """Read the lists; without one for mode ``official`` the own one serves, less `beyond`.

        Raises:
            AlmanacError: a list cannot be read.
        """
        official = options.official_abstentions
        self._own = load(Path(options.abstentions) if options.abstentions else None)
        self._published = load(Path(official)) if official else self._own.released()
        self._separator, self._longer = options.official_choices, longer

    def judge(self, mode: str, question: JudgedQuestion, answer: str) -> Verdict:
        """Judge an answer in a mode."""
        if mode == STRICT:
            return scoring.judge(question, answer, self._own, self._longer)
        if mode == PAPER:
            return as_paper(question, answer, self._own)
        return as_released(question, answer, self._published, self._separator)

    def follows(self, mode: str, question: JudgedQuestion, answer: str) -> bool | None:
        """Whether an answer names the wrong object that the passage states, other than within the name of another.

        None where there is no such object.
        """
        stated = question.stated
        if stated is None or question.type == TFQ:
            return None
        said = scoring.of_lines(scoring.own_turn(question, answer))
        right = [span for name in question.gold for span in mentions(name, said)]
        longer = self._longer if mode == STRICT else NO_LONGER
        names = (stated, *longer.called.get(stated, ()))
        return any(
            not (scoring.within_longer(span, right) or longer.hold(span, said, names))
            for span in mentions(stated, said)
        )


def judge(answers: Answers, data: Data, options: FactEvalOptions) -> Iterator[Judgements]:
    """Judge every answer in every mode.

    The prediction is the whole answer. The score is the credit: 1 for correct, of a short answer in `strict` F1 over
    objects, 0 for whatever else was answered or not, none for an error.
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
        question = _question(row)
        for mode in modes:
            found = _unanswered(row) if answer is None else scorer.judge(mode, question, answer)
            follows = None if answer is None else scorer.follows(mode, question, answer)
            credit = None if found.outcome == "error" else found.credit
            outcomes.append(Outcome(row["item"], mode, answer, found.outcome, credit, None))
            measured = (found.precision, found.recall, follows)
            verdicts.append(AnswerVerdict(row["item"], mode, found.said, found.reason, *measured))
    alike = how_alike(part.links.filter(compares))
    return Judgements(
        frame_of(Outcome, outcomes),
        {"verdicts": frame_of(AnswerVerdict, verdicts), "similarities": alike},
    )


def _question(row: Mapping[str, Any]) -> JudgedQuestion:
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
    )


def _unanswered(row: Mapping[str, Any]) -> Verdict:
    """Return what becomes of a question without an answer: missing where the model refused, else an error."""
    outcome: OutcomeKind = "missing" if row["status"] == "refused" else "error"
    return Verdict(outcome, reason=row["reason"] or row["status"])


def longer_names(answers: Answers, data: Data) -> LongerNames:
    """Return the names of a dataset's objects that hold what short answers are accepted, or what passages state."""
    accepted: set[str] = set()
    stated: set[str] = set()
    for part in answers.parts(("accepted",), own=("traits", "names")):
        short = part.own["traits"].filter(pl.col("type") == SAQ)["item"]
        accepted.update(part.links.filter(pl.col("item").is_in(short.implode()))["accepted"].explode().drop_nulls())
        stated.update(part.own["names"]["stated"].drop_nulls())
    names = data.names
    objects = data.frame("facts", Fact, ["object_id"])["object_id"].drop_nulls().unique().sort().to_list()
    called: dict[str, tuple[str, ...]] = {}
    for key in objects:
        if (label := names.label(key)) in stated:
            called[label] = (*called.get(label, ()), *names.names(key))
    return LongerNames.of(accepted | stated, (name for key in objects for name in names.names(key)), called)
