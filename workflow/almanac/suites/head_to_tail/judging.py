"""Judges answers by rules and by the judge model's replies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from almanac import tables
from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.frames import frame_of
from almanac.rows import Outcome
from almanac.suites.answers import Answers
from almanac.suites.data import Data
from almanac.suites.head_to_tail.asking import ANSWER
from almanac.suites.head_to_tail.buckets import exposed
from almanac.suites.head_to_tail.judge import CHECK, VERDICT, says_nothing, verdict
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.rows import Disagreement, HumanLabel, Score
from almanac.suites.head_to_tail.scores import Scores, normalise, said, scores
from almanac.suites.head_to_tail.variants import reduced, variants
from almanac.suites.suite import Judgements

RULES, JUDGE = "rules", "judge"
WANTED = ("fact_id", "accepted", "role", "index", "text", "status", "reason", "texts")
NOTHING = Scores(False, False, 0.0, 0.0)  # the scores of a missing answer
Row = Mapping[str, Any]


@dataclass(frozen=True)
class JudgingInputs:
    """What judging needs besides the answers.

    Attributes:
        options: the settings.
        exposed: by fact, how often the model was taught facts about its subject, and the subject's bucket by that.
        labels: a person's verdicts, by fact and normalised answer.
    """

    options: HeadToTailOptions
    exposed: Mapping[str, tuple[int, str | None]]
    labels: Mapping[tuple[str, str], bool]


def read_labels(path: str | None) -> dict[tuple[str, str], bool]:
    """Read a person's verdicts, by fact and normalised answer; empty without a file.

    Raises:
        AlmanacError: the file cannot be read, or has contradictory verdicts on one answer.
    """
    found: dict[tuple[str, str], bool] = {}
    for row in tables.read_jsonl(path, HumanLabel) if path is not None else ():
        key = (row.fact_id, normalise(row.answer))
        if found.setdefault(key, row.correct) != row.correct:
            raise AlmanacError(f"{path}: {row.fact_id}: {row.answer!r} is both correct and incorrect; keep one row")
    return found


def judge(answers: Answers, data: Data, options: HeadToTailOptions) -> Iterator[Judgements]:
    """Judge every answer by rules and, if there is a judge, by its reply.

    By rules an answer is correct if it names a true answer or a variant of one; the score is the token F1. By the judge
    the score is 1 or 0; a reply without a verdict counts as incorrect, no reply as an error. A missing answer is
    missing in both.

    Raises:
        AlmanacError: the file of labels cannot be read, or has contradictory verdicts on one answer.
    """
    inputs = JudgingInputs(options, exposed(data, answers.exposures), read_labels(options.labels))
    for part in answers.parts(WANTED, own=("questions",)):
        links = part.links.join(part.own["questions"], on="item", how="left", maintain_order="left")
        outcomes: list[Outcome] = []
        scored: list[Score] = []
        disagreements: list[Disagreement] = []
        for item, rows in groupby(links.iter_rows(named=True), itemgetter("item")):
            links_of = {row["role"]: row for row in rows}
            one = _JudgedAnswer(item, links_of[ANSWER], links_of.get(VERDICT), links_of.get(CHECK), inputs)
            outcomes += one.outcomes()
            scored.append(one.scored())
            disagreements += one.disagreement()
        tables_of = {"scores": frame_of(Score, scored), "disagreements": frame_of(Disagreement, disagreements)}
        yield Judgements(frame_of(Outcome, outcomes), tables_of)


def _reply(row: Row | None) -> str | None:
    """Return the judge's reply; None if it was not asked or did not reply."""
    return None if row is None or row["status"] != "ok" else str(row["texts"][0])


class _JudgedAnswer:
    """One answer with the judge's replies, and the rows made of them."""

    def __init__(self, item: int, row: Row, ruled: Row | None, checked: Row | None, inputs: JudgingInputs) -> None:
        self.item, self._row, self._inputs = item, row, inputs
        texts = row["texts"] if row["status"] == "ok" else None
        self.answer = said(texts[row["index"]]) if texts else None
        self._normalised = normalise(self.answer or "")
        self._differs = self._normalised != normalise(said(texts[0])) if texts and row["index"] > 0 else None
        self.missing = row["status"] == "refused" or (
            self.answer is not None and self._says_nothing(inputs.options.unsure)
        )
        self.plain = self.varied = NOTHING
        if self.answer is not None and not self.missing:
            golds, kind = tuple(row["accepted"]), row["answer_kind"]
            self.plain = scores(self.answer, golds, row["text"])
            self.varied = scores(reduced(self.answer, kind), variants(golds, kind), row["text"])
        self._reply, check = _reply(ruled), _reply(checked)
        self._verdict = None if self._reply is None else verdict(self._reply)
        self._false_accept = None if check is None else verdict(check) is True

    @property
    def answered(self) -> bool:
        """Whether the model answered, even if only that it is unsure."""
        return self.answer is not None or self.missing

    def _says_nothing(self, listed: str) -> bool:
        return says_nothing(self.answer or "", listed, self._row["accepted"])

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of the answer by rules and, if there is one, by the judge."""
        readings = (RULES,) if self._inputs.options.judge is None else (RULES, JUDGE)
        for reading in readings:
            if not self.answered or (reading == JUDGE and not self.missing and self._reply is None):
                outcome, score = "error", None
            elif self.missing:
                outcome, score = "missing", 0.0
            elif reading == RULES:
                outcome, score = "correct" if self.varied.named else "incorrect", self.varied.f1
            else:
                outcome, score = "correct" if self._verdict else "incorrect", float(bool(self._verdict))
            yield Outcome(self.item, reading, self.answer, outcome, score, None)

    def scored(self) -> Score:
        """Return the answer's row of scores."""
        dose, bucket = self._inputs.exposed.get(self._row["fact_id"], (None, None))
        if not self.answered:
            nothing: dict[str, Any] = dict.fromkeys(columns(Score))
            return Score(**nothing | {"item": self.item, "exposed": dose, "exposed_bucket": bucket})
        return Score(
            self.item,
            *self.varied,
            *self.plain,
            unknown=self._says_nothing("extended"),
            differs=self._differs,
            parsed=None if self._reply is None else self._verdict is not None,
            disagrees=None if self._verdict is None else self._verdict != self.varied.named,
            false_accept=self._false_accept,
            human=None if self.missing else self._inputs.labels.get((self._row["fact_id"], self._normalised)),
            exposed=dose,
            exposed_bucket=bucket,
        )

    def disagreement(self) -> Iterator[Disagreement]:
        """Yield a row if rules and judge disagree, or the judge's reply has no verdict."""
        if self._reply is not None and self.answer is not None and self._verdict != self.varied.named:
            ruled = {True: "correct", False: "incorrect", None: "neither"}[self._verdict]
            rules = "correct" if self.varied.named else "incorrect"
            yield Disagreement(self.item, self.answer, tuple(self._row["accepted"]), rules, ruled, self._reply)
