"""Questions that a model writes: the requests, the faults of its answers, and the file that a person proofreads.

The released pipeline replaces the object's label wherever it finds it and continues if it finds none: then the blank
is missing, and the false statement equals the true one. Here unusable texts are dropped, with the reason in the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from almanac import tables
from almanac.dataset.templates import DROP, KEEP, VERDICTS, cleaned, folded
from almanac.errors import AlmanacError
from almanac.rows import Fact, NotAsked, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.passages import names_in, parts_around
from almanac.suites.facteval.questions import FIB, MASK, STATEMENT, WH, WRITTEN, WordedFact, prompts
from almanac.suites.facteval.rows import WrittenQuestion
from almanac.suites.suite import Author, Round

LABEL = re.compile(r"^(?:Sentence|Question):\s*")  # which a model may write before its answer
STYLES = (STATEMENT, FIB, WH)


class WritingSetting(NamedTuple):
    """How a text is asked for: in one way, as a triple."""


class Writing(Author[WritingOptions]):
    """Of each test fact a statement, one with a blank, and a question."""

    name = "writing"
    label = "Writing"
    summary = "have a model write questions of facts, for a person to proofread"
    options = WritingOptions
    setting = WritingSetting
    row = WrittenQuestion
    texts = "questions"

    def ask(self, at: Round, data: Data, options: WritingOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask a model to write."""
        labels = {row.relation_id: row.label for row in data.relations}
        told, asked = prompts()["write" if options.prompts == "own" else "write_as_paper"], Asked()
        for relation_id, facts in data.tested(options.sample, options.seed).items():
            for fact in facts:
                triple = (data.names.label(fact.subject_id), labels[relation_id], data.names.label(fact.object_key))
                for style in dict.fromkeys(options.styles):
                    request = Request(
                        request_id="",
                        kind="generate",
                        context_id=None,
                        text=_shown(triple) if options.prompts == "own" else f"({', '.join(triple)})",
                        max_new_tokens=options.text_tokens,
                        stop=("\n",),
                        samples=1,
                        temperature=0.0,
                        instruction=_instruction(told[style]),
                    )
                    asked.link(asked.item(style, WritingSetting(), fact), style, request)
            yield asked.take()

    def write(self, answers: Answers, data: Data, options: WritingOptions) -> list[WrittenQuestion]:
        """Judge what it wrote; one row for each text asked for, whatever came.

        Raises:
            AlmanacError: a request has no response, the model answered none, or an item is of no fact of the dataset.
        """
        known = {fact.fact_id: fact for own in data.drawn.values() for fact in own}
        wanted = ("fact_id", "experiment", "status", "reason", "texts")
        rows = [row for part in answers.parts(wanted) for row in part.links.iter_rows(named=True)]
        foreign = next((row["fact_id"] for row in rows if row["fact_id"] not in known), None)
        if foreign is not None:
            raise AlmanacError(f"items: {foreign!r} is no fact of the dataset; give the dataset that was asked")
        if not any(row["status"] == "ok" for row in rows):
            reasons = sorted({f"{row['status']}: {row['reason']}" for row in rows})
            raise AlmanacError(
                f"model {answers.model!r}: none of {len(rows)} requests was answered ({'; '.join(reasons)[:200]}); "
                "questions are written by a model that generates"
            )
        out: list[WrittenQuestion] = []
        taken: dict[tuple[str, str], Fact] = {}
        for row in sorted(rows, key=lambda row: (row["fact_id"], row["experiment"])):
            fact, style = known[row["fact_id"]], row["experiment"]
            text = LABEL.sub("", cleaned((row["texts"] or ("",))[0]))
            reason: str | None = f"{row['status']}: {row['reason']}"
            if row["status"] == "ok":
                reason = fault(text, style, fact, data) or _repeats(text, style, fact, taken)
            verdict = KEEP if reason is None else DROP
            out.append(WrittenQuestion(fact.fact_id, fact.relation_id, style, text, verdict, reason))
        return out


def _instruction(told: Mapping[str, Any]) -> str:
    shots = (f"{_shown(shot['triple'])}\n{shot['text']}" for shot in told.get("shots", ()))
    return "\n\n".join([told["instruction"], *shots])


def _shown(triple: Sequence[str]) -> str:
    return f"Triple: ({', '.join(triple)})"


def _repeats(text: str, style: str, fact: Fact, taken: dict[tuple[str, str], Fact]) -> str | None:
    """Return what is wrong if a text was written of another subject or relation before; it would have two answers."""
    first = taken.setdefault((style, folded(text)), fact)
    if (first.relation_id, first.subject_id) == (fact.relation_id, fact.subject_id):
        return None
    return f"says the same as that of {first.fact_id!r}"


def fault(text: str, style: str, fact: Fact, data: Data) -> str | None:
    """Return what is wrong with a written question, or none.

    A statement must name subject and object; the others must name the subject and no true object, a sentence with a
    blank must hold it once, a question must end as one.
    """
    names = data.names
    subject = names.names(fact.subject_id)
    objects = [name for key in data.true[fact.relation_id, fact.subject_id] for name in names.names(key)]
    if not text:
        return "empty"
    blanks = text.count(MASK)
    if blanks != (style == FIB):
        return f"holds {MASK} {blanks} times; needed is {int(style == FIB)}"
    if not names_in(text, subject):
        return "does not name the subject"
    if style == STATEMENT and not names_in(text, names.names(fact.object_key), subject):
        return "does not name the object"
    if style != STATEMENT and names_in(text, objects, subject):
        return "names the object"
    if (style == WH) != text.endswith("?"):
        return "is no question" if style == WH else "is a question"
    return None


def read_written(path: Path, tested: Sequence[Fact], data: Data) -> tuple[dict[str, list[WordedFact]], list[NotAsked]]:
    """Read written questions as a person has left them.

    Args:
        path: JSON Lines of `WrittenQuestion`.
        tested: the facts that are asked.
        data: their dataset.

    Returns:
        The wordings of each fact, and what was dropped or is of no fact that is asked, with the reason.

    Raises:
        AlmanacError: the file cannot be read, a style or verdict is unknown, a row repeats, or one that is to be kept
            has a fault; naming the fact and the style.
    """
    known = {fact.fact_id: fact for fact in tested}
    out: dict[str, list[WordedFact]] = defaultdict(list)
    refused: dict[tuple[str, str], NotAsked | None] = {}
    for row in tables.read_jsonl(path, WrittenQuestion):
        where, key = f"{path}: {row.fact_id}: {row.style}", (row.fact_id, row.style)
        if row.style not in STYLES:
            raise AlmanacError(f"{where} is no style; allowed are {', '.join(STYLES)}")
        if row.verdict not in VERDICTS:
            raise AlmanacError(f"{where}: verdict {row.verdict!r}; allowed are keep and drop")
        if key in refused:
            raise AlmanacError(f"{where}: stands twice; keep one of them")
        refused[key] = None
        if row.verdict == DROP or row.fact_id not in known:
            dropped = row.reason or "dropped" if row.verdict == DROP else "the fact is not asked here"
            refused[key] = NotAsked(f"fact {row.fact_id}: written {row.style}", dropped)
            continue
        fact = known[row.fact_id]
        if reason := fault(row.text, row.style, fact, data):
            raise AlmanacError(f"{where}: {row.text!r} {reason}; mend it or say drop")
        parts = tuple(row.text.split(MASK))
        if row.style == STATEMENT:
            parts = parts_around(row.text, data.names.names(fact.object_key), data.names.names(fact.subject_id))
        out[row.fact_id].append(WordedFact(row.style, WRITTEN, WRITTEN, parts))
    return dict(out), [row for row in refused.values() if row is not None]
