"""A row of a table of questions and answers from elsewhere: its cells, checked, as a question and what was answered."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from almanac.suites.facteval.questions import MCQ, NONE, SAQ, STATEMENT, TFQ, WH, FactEvalSetting
from almanac.suites.facteval.reading.scoring import JudgedQuestion
from almanac.suites.facteval.rows import QuestionTraits

REQUIRED = ("type", "answer")
LISTS = ("choices", "gold", "gold_object")
TRUTHS = ("truth", "changed", "mentions_subject", "mentions_object")
TEXTS = (
    *("item_id", "model", "status", "style", "origin", "negatives", "context", "relation_id", "fact_id", "subject_id"),
    *("template_id", "text", "passage", "passage_origin", "shown", "stated"),
    *("datatype", "cardinality", "domain", "object_type"),
)
KNOWN = (*REQUIRED, *LISTS, *TRUTHS, *TEXTS)
TYPES = (TFQ, MCQ, SAQ)
STATUSES = ("ok", "refused", "too_long", "unsupported", "failed")
BOOLEANS = {"true": True, "correct": True, "1": True, "false": False, "incorrect": False, "0": False}
SEPARATOR = "|"  # of the texts of a list in one cell


@dataclass(frozen=True)
class GivenQuestion:
    """A question as a row gives it; equal ones of several models are one.

    Attributes:
        item_id: its name in the file; none where the row has none.
        question: what its answer is judged by.
        traits: what it is counted by; its items' numbers are not known yet.
        setting: how it was asked.
        relation_id: its relation.
        fact_id: its fact; none: a fact of its own.
        subject_id: the fact's subject; none: one of its own.
        template_id: its wording.
        passage: what is read before it.
        shown: the object of a statement.
        again: how often its model was asked the same before, in rows without a name.
    """

    item_id: str | None
    question: JudgedQuestion
    traits: QuestionTraits
    setting: FactEvalSetting
    relation_id: str
    fact_id: str | None
    subject_id: str | None
    template_id: str | None
    passage: str | None
    shown: str | None
    again: int = 0

    @property
    def form(self) -> tuple[Any, ...]:
        """What tells it apart from other questions, whatever its context and its text."""
        return self.traits.type, self.traits.style, self.setting.origin, self.setting.negatives

    @property
    def asks(self) -> tuple[Any, ...]:
        """What it asks, whatever is read before it; without a fact it asks what no other does."""
        own = self.fact_id if self.fact_id is not None else (self.item_id, self.again, self.setting, self.question)
        return *self.form, own, self.template_id, self.question.truth, self.question.text


@dataclass(frozen=True)
class GivenRow:
    """A row: its number, who answered, the question, and the answer or why there is none."""

    number: int
    model: str
    given: GivenQuestion
    answer: str | None
    status: str


def row_of(number: int, row: Mapping[str, Any] | None) -> GivenRow:
    """Return a row as it is judged.

    Raises:
        ValueError: a cell is impossible, naming the column.
    """
    if row is None:
        raise ValueError("has more or fewer cells than the header")
    texts = {name: _text(name, row.get(name)) for name in (*REQUIRED, *TEXTS)}
    lists = {name: _list(name, row.get(name)) for name in LISTS}
    truths = {name: _truth(name, row.get(name)) for name in TRUTHS}
    status = _status(texts)
    kind = texts["type"]
    if kind not in TYPES:
        raise ValueError(f"column 'type': {kind!r} is no type; allowed are {', '.join(TYPES)}")
    question = JudgedQuestion(
        kind,
        texts["text"] or "",
        lists["gold"],
        lists["gold_object"] or ("1",) * len(lists["gold"]),
        lists["choices"] or None,
        truths["truth"],
        texts["datatype"],
        texts["object_type"],
        texts["stated"],
    )
    _check(question)
    several = len(set(question.gold_object)) > 1
    traits = QuestionTraits(
        item=0,
        type=kind,
        style=texts["style"] or (STATEMENT if kind == TFQ else WH),
        question=0,
        answers=("multiple" if several else "single") if kind == SAQ else None,
        truth=truths["truth"],
        changed=truths["changed"],
        mentions_subject=truths["mentions_subject"],
        mentions_object=truths["mentions_object"],
        datatype=texts["datatype"],
        cardinality=texts["cardinality"],
        domain=texts["domain"],
        object_type=texts["object_type"],
        passage_origin=texts["passage_origin"],
    )
    setting = FactEvalSetting(texts["origin"] or "given", texts["negatives"], texts["context"] or NONE)
    given = GivenQuestion(
        texts["item_id"],
        question,
        traits,
        setting,
        texts["relation_id"] or "all",
        texts["fact_id"],
        texts["subject_id"],
        texts["template_id"],
        texts["passage"],
        texts["shown"],
    )
    return GivenRow(number, texts["model"] or "model", given, texts["answer"] if status == "ok" else None, status)


def _status(texts: Mapping[str, str | None]) -> str:
    status = texts["status"] or "ok"
    if status not in STATUSES:
        raise ValueError(f"column 'status': {status!r} is no status; allowed are {', '.join(STATUSES)}")
    if status == "ok" and texts["answer"] is None:
        raise ValueError("column 'answer': there is none; write \"\" for an empty answer, or say why in `status`")
    return status


def _check(question: JudgedQuestion) -> None:
    """Refuse a question that cannot be scored."""
    if question.type == TFQ:
        if question.truth is None:
            raise ValueError("column 'truth': is empty; a true-false question needs true or false")
        return
    if not question.gold:
        raise ValueError(f"column 'gold': is empty; a question of type {question.type} needs its accepted names")
    if len(question.gold_object) != len(question.gold):
        raise ValueError(
            f"column 'gold_object': has {len(question.gold_object)} texts and gold {len(question.gold)}; give each "
            "name its object, or leave the column out"
        )
    if question.type == MCQ and len(question.choices or ()) < 2:
        raise ValueError("column 'choices': has fewer than two; a multiple-choice question needs them all")
    if question.type == MCQ and not set(question.gold) & set(question.choices or ()):
        raise ValueError(f"column 'choices': {question.choices} holds none of gold {question.gold}; add the true one")


def _text(name: str, value: Any) -> str | None:
    """Return a cell's text as it is; of an answer the empty one too, of any other column none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, list | dict | bool):
        raise ValueError(f"column {name!r}: {value!r} is no text")
    text = str(value)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"column {name!r}: holds half a character; write whole ones")
    return text if name == "answer" else text.strip() or None


def _list(name: str, value: Any) -> tuple[str, ...]:
    """Return the texts of a list: a list, or one cell divided at `SEPARATOR`."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return ()
    if isinstance(value, dict):
        raise ValueError(f"column {name!r}: {value!r} is no list of texts")
    parts = value if isinstance(value, list | tuple) else str(value).split(SEPARATOR)
    texts = tuple(_text(name, part) for part in parts)
    if not all(texts):
        raise ValueError(f"column {name!r}: {value!r} has an empty text; leave it out")
    return tuple(text for text in texts if text)


def _truth(name: str, value: Any) -> bool | None:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value).strip().lower().removesuffix(".0")
    if text not in BOOLEANS:
        raise ValueError(f"column {name!r}: {value!r} is neither true nor false")
    return BOOLEANS[text]
