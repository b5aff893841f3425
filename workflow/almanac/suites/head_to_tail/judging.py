"""From answers to outcomes, by rules and by the judge."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from almanac import tables
from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.frames import frame_of
from almanac.rows import OutcomeKind
from almanac.suites.answers import Answers, Part
from almanac.suites.data import Data
from almanac.suites.head_to_tail.asking import ANSWER
from almanac.suites.head_to_tail.buckets import exposed
from almanac.suites.head_to_tail.judge import VERDICT, unsure, verdict
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.rows import Disagreement, HumanLabel, Score
from almanac.suites.head_to_tail.scores import Scores, normalise, said, scores
from almanac.suites.head_to_tail.variants import reduced, variants
from almanac.suites.suite import Judgements

RULES, JUDGE = "rules", "judge"
WANTED = ("fact_id", "accepted", "role", "index", "status", "reason", "texts")
OUTCOMES = {
    "item": pl.UInt32,
    "reading": pl.String,
    "prediction": pl.String,
    "outcome": pl.String,
    "score": pl.Float64,
    "confidence": pl.Float64,
}
NOTHING = Scores(False, 0.0, 0.0)  # what a missing answer scores


@dataclass(frozen=True)
class Bench:
    """What every answer is held against.

    Attributes:
        options: the settings.
        silent: answers that say nothing, as they are compared.
        unknown: the same by the extended list.
        exposed: how often the model was taught facts of a fact's subject, with the bucket.
        labels: a person's verdict, by fact and compared answer.
    """

    options: HeadToTailOptions
    silent: frozenset[str]
    unknown: frozenset[str]
    exposed: Mapping[str, tuple[int, str | None]]
    labels: Mapping[tuple[str, str], bool]

    @classmethod
    def of(cls, answers: Answers, data: Data, options: HeadToTailOptions) -> "Bench":
        """Read what there is.

        Raises:
            AlmanacError: the file of labels cannot be read, or judges an answer twice, in two ways.
        """
        silent, unknown = unsure(options), unsure(options, extended=True)
        return cls(options, silent, unknown, exposed(data, answers.exposures), read_labels(options.labels))


def read_labels(path: str | None) -> dict[tuple[str, str], bool]:
    """Read a person's verdicts, by fact and answer as it is compared; none without a file.

    Raises:
        AlmanacError: the file cannot be read, or judges an answer twice, in two ways.
    """
    found: dict[tuple[str, str], bool] = {}
    for row in tables.read_jsonl(path, HumanLabel) if path is not None else ():
        key = (row.fact_id, normalise(row.answer))
        if found.setdefault(key, row.correct) != row.correct:
            raise AlmanacError(f"{path}: {row.fact_id}: {row.answer!r} is correct and is not; keep one of the two rows")
    return found


def judge(answers: Answers, data: Data, options: HeadToTailOptions) -> Iterator[Judgements]:
    """Judge every answer by rules, and by what the judge said of it.

    By rules an answer is correct if it matches a true one, or a variant of one, exactly; the score is its token F1. By
    the judge the score is 1 or 0, and 0 too where its reply holds no verdict; a judge that did not reply is an error. A
    missing answer is missing in both.
    """
    bench = Bench.of(answers, data, options)
    for part in answers.parts(WANTED, own=("questions",)):
        yield _judged(part, bench)


def _judged(part: Part, bench: Bench) -> Judgements:
    links = part.links.join(part.own["questions"], on="item", how="left", maintain_order="left")
    outcomes: list[tuple[Any, ...]] = []
    own: list[Score] = []
    parted: list[Disagreement] = []
    for (item,), rows in links.group_by("item", maintain_order=True):
        of = {row["role"]: row for row in rows.iter_rows(named=True)}
        one = _Item(int(str(item)), of[ANSWER], of.get(VERDICT), bench)
        outcomes += [(one.item, *outcome, None) for outcome in one.outcomes()]
        own.append(one.scored())
        parted += one.parted()
    return Judgements(
        pl.DataFrame(outcomes, OUTCOMES, orient="row"),
        {"scores": frame_of(Score, own), "disagreements": frame_of(Disagreement, parted)},
    )


class _Item:
    """One answer, and what is made of it."""

    def __init__(self, item: int, row: Mapping[str, Any], ruled: Mapping[str, Any] | None, bench: Bench) -> None:
        self.item, self._row, self._ruled, self._bench = item, row, ruled, bench
        texts = row["texts"] if row["status"] == "ok" else None
        self.answer = said(texts[row["index"]]) if texts else None
        self._first = said(texts[0]) if texts else None
        self._again = texts is not None and len(texts) > 1 and row["index"] > 0
        refused = row["status"] == "refused"
        self.missing = refused or (self.answer is not None and normalise(self.answer) in bench.silent)
        self.plain = self.varied = NOTHING
        if self.answer is not None and not self.missing:
            golds, kind = tuple(row["accepted"]), row["answer_kind"]
            self.plain = scores(self.answer, golds)
            self.varied = scores(reduced(self.answer, kind), variants(golds, kind))
        self._reply = None if ruled is None or ruled["status"] != "ok" else str(ruled["texts"][0])

    @property
    def answered(self) -> bool:
        """Whether the model said anything, be it that it is unsure."""
        return self.answer is not None or self.missing

    def outcomes(self) -> Iterator[tuple[str, str | None, OutcomeKind, float | None]]:
        """Yield reading, prediction, outcome and score."""
        readings = (RULES,) if self._bench.options.judge is None else (RULES, JUDGE)
        for reading in readings:
            if not self.answered or (reading == JUDGE and not self.missing and self._reply is None):
                yield reading, self.answer, "error", None
            elif self.missing:
                yield reading, self.answer, "missing", 0.0
            elif reading == RULES:
                yield reading, self.answer, "correct" if self.varied.exact else "incorrect", self.varied.f1
            else:
                right = bool(verdict(str(self._reply)))
                yield reading, self.answer, "correct" if right else "incorrect", float(right)

    def scored(self) -> Score:
        """Return the row of its scores."""
        dose, bucket = self._bench.exposed.get(self._row["fact_id"], (None, None))
        if not self.answered:
            nothing: dict[str, Any] = dict.fromkeys(columns(Score))
            return Score(**nothing | {"item": self.item, "exposed": dose, "exposed_bucket": bucket})
        told = normalise(self.answer or "")
        differs = told != normalise(self._first or "") if self._again else None
        ruling = None if self._reply is None else verdict(self._reply)
        return Score(
            self.item,
            *self.varied,
            *self.plain,
            told in self._bench.unknown,
            differs,
            None if self._reply is None else ruling is not None,
            None if ruling is None else ruling != self.varied.exact,
            None if self.missing else self._bench.labels.get((self._row["fact_id"], told)),
            dose,
            bucket,
        )

    def parted(self) -> Iterator[Disagreement]:
        """Yield a row where rules and judge part, or the judge gave no verdict."""
        if self._reply is not None and self.answer is not None and verdict(self._reply) != self.varied.exact:
            ruled = {True: "correct", False: "incorrect", None: "neither"}[verdict(self._reply)]
            rules = "correct" if self.varied.exact else "incorrect"
            yield Disagreement(self.item, self.answer, tuple(self._row["accepted"]), rules, ruled, self._reply)
