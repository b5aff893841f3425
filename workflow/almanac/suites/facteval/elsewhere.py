"""Reads tables of questions and answers made elsewhere, to be scored like our own; mistakes are listed by row."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from almanac.columns import columns
from almanac.errors import AlmanacError, refuse
from almanac.rows import STATUSES, Fact, Request, Response
from almanac.sources import records
from almanac.suites.asked import Asked
from almanac.suites.data import Data
from almanac.suites.facteval.asking import ANSWER
from almanac.suites.facteval.judging import UNASKED
from almanac.suites.facteval.questions import MCQ, NONE, SAQ, STATEMENT, TFQ, WH, FactEvalSetting
from almanac.suites.facteval.rows import QuestionNames, QuestionTraits
from almanac.suites.suite import Elsewhere

REQUIRED = ("type", "answer")
LIST_COLUMNS = ("choices", "gold", "gold_object")
TRUTH_COLUMNS = ("truth", "changed", "mentions_subject", "mentions_object")
TEXT_COLUMNS = (
    *("item_id", "model", "status", "style", "origin", "negatives", "context", "relation_id", "fact_id", "subject_id"),
    *("template_id", "text", "passage", "passage_origin", "shown", "stated"),
    *("datatype", "cardinality", "domain", "object_type"),
)
KNOWN = records.Columns(REQUIRED, (*LIST_COLUMNS, *TRUTH_COLUMNS, *TEXT_COLUMNS))
# The columns that identify what a question without a fact asks, besides its form, truth and text.
WITHOUT_FACT = ("item_id", "context", "gold", "gold_object", "choices", "datatype", "object_type", "stated")
TYPES = (TFQ, MCQ, SAQ)
BOOLEANS = {"true": True, "correct": True, "1": True, "false": False, "incorrect": False, "0": False}


@dataclass(frozen=True)
class GivenRow:
    """A checked row: its number, the model, its answer (None if the status is not ``ok``), and the question's cells.

    ``again`` counts the earlier rows that ask the model the same question without an ``item_id``.
    """

    number: int
    model: str
    answer: str | None
    status: str
    cells: Mapping[str, Any]
    again: int = 0

    @property
    def question(self) -> tuple[Any, ...]:
        """The identity of the question; rows of several models with equal ones ask the same question."""
        return self.again, *self.cells.values()

    @property
    def form(self) -> tuple[Any, ...]:
        """The form of the question: type, style, origin and negatives."""
        return tuple(self.cells[name] for name in ("type", "style", "origin", "negatives"))

    @property
    def asks(self) -> tuple[Any, ...]:
        """What the question asks, whatever its passage; without ``fact_id`` it is identified by `WITHOUT_FACT`."""
        own = self.cells["fact_id"] or (self.again, *(self.cells[name] for name in WITHOUT_FACT))
        return *self.form, own, *(self.cells[name] for name in ("template_id", "truth", "text"))


def read(path: Path, own: Mapping[str, type]) -> Elsewhere:
    """Return the questions and the models' answers of a table; `KNOWN` are its columns (docs/facteval.md).

    Raises:
        AlmanacError: a column is unknown, missing or repeated; there is no row; a cell is invalid; a question is there
            twice for one model; or two questions of a context cannot be told apart. Names file, row and column.
    """
    names, cells = records.read(path)
    if fault := records.wrong_columns(names, KNOWN):
        raise AlmanacError(f"{path}: {fault}")
    rows = _rows(path, cells)
    asked, facts = Asked(own), dict[str, Fact]()
    items, first = dict[tuple[Any, ...], str](), dict[tuple[Any, ...], int]()
    answers: dict[str, dict[str, Response]] = defaultdict(dict)
    for row in rows:
        request_id = items.get(row.question)
        if request_id is None:
            request_id = items[row.question] = _ask(asked, row, facts, first)
        texts = None if row.answer is None else (row.answer,)
        answers[row.model][request_id] = Response(request_id, row.status, None, texts=texts)
    responses = {
        model: [found.get(name) or Response(name, "unsupported", UNASKED) for name in items.values()]
        for model, found in answers.items()
    }
    return Elsewhere([asked.take()], Data.of(facts=list(facts.values())), responses)


def _ask(asked: Asked, row: GivenRow, facts: dict[str, Fact], first: dict[tuple[Any, ...], int]) -> str:
    """Add a question, and return its request's id: one per question, since equal texts may have different answers."""
    cells, name = row.cells, row.cells["item_id"] or str(row.number)
    fact_id = cells["fact_id"] or name
    fact = Fact(fact_id, cells["relation_id"], cells["subject_id"] or fact_id, None, "", None, None, (), None, "")
    facts[fact_id] = fact
    accepted = cells["gold"] or ("correct" if cells["truth"] else "incorrect",)
    setting = FactEvalSetting(cells["origin"], cells["negatives"], cells["context"])
    item = asked.item(f"{cells['type']}-{cells['style']}", setting, fact, accepted, template=cells["template_id"])
    own = {**cells, "item": item, "question": first.setdefault(row.asks, item)}
    asked.own["traits"].append(QuestionTraits(**{column: own[column] for column in columns(QuestionTraits)}))
    asked.own["names"].append(QuestionNames(item, cells["gold_object"], cells["shown"], cells["stated"], name))
    context = None if cells["passage"] is None else asked.context(cells["passage"])
    request = Request("", "generate", context, cells["text"], seed=item, options=cells["choices"])
    asked.link(item, ANSWER, request)
    return asked.request(request)


def _rows(path: Path, cells: Iterable[tuple[int, Mapping[str, Any] | None]]) -> list[GivenRow]:
    """Return the checked rows of a table; ``cells`` has each row's number and cells, None if they do not fit."""
    rows, mistakes = list[GivenRow](), list[str]()
    named: dict[tuple[str, str], int] = {}
    before: Counter[tuple[Any, ...]] = Counter()
    for number, own in cells:
        try:
            row = row_of(number, own)
        except ValueError as error:
            mistakes.append(f"{path}: row {number}, {error}")
            continue
        name, same = row.cells["item_id"], (row.model, row.question)
        if name is None:
            row = replace(row, again=before[same])
            before[same] += 1
        elif (other := named.setdefault((row.model, name), number)) != number:
            mistakes.append(
                f"{path}: row {number}, column 'item_id': {name!r} of model {row.model!r} is in row {other} too; "
                "give each question of a model one row"
            )
        rows.append(row)
    refuse(mistakes or _clashing(path, rows))
    if not rows:
        raise AlmanacError(f"{path}: holds no row; give a row for each question and answer")
    return rows


def _clashing(path: Path, rows: Sequence[GivenRow]) -> list[str]:
    """Return the mistakes of questions that cannot be paired across contexts: two in one context ask the same."""
    contexts: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    first: dict[tuple[Any, ...], int] = {}
    clashes = []
    for row in rows:
        form, context = (row.model, row.form), row.cells["context"]
        contexts[form].add(context)
        before = first.setdefault((row.model, context, row.asks), row.number)
        if before != row.number:
            clashes.append((form, before, row.number))
    return [
        f"{path}: row {number}, column 'text': asks the same as row {before} (model, type, style, context, fact_id, "
        "template_id, truth and text are equal), so no passage could be compared with none; give each question its "
        "text or a template_id of its own"
        for form, before, number in clashes
        if len(contexts[form]) > 1
    ]


def row_of(number: int, row: Mapping[str, Any] | None) -> GivenRow:
    """Check a row's cells and fill in defaults.

    Raises:
        ValueError: a cell is invalid; names the column.
    """
    if row is None:
        raise ValueError("has more or fewer cells than the header")
    cells: dict[str, Any] = {name: _text(name, row.get(name)) for name in (*REQUIRED, *TEXT_COLUMNS)}
    cells |= {name: _list(name, row.get(name)) for name in LIST_COLUMNS}
    cells |= {name: _truth(name, row.get(name)) for name in TRUTH_COLUMNS}
    status = cells["status"] or "ok"
    if status not in STATUSES:
        raise ValueError(f"column 'status': {status!r} is no status; allowed are {', '.join(STATUSES)}")
    if status == "ok" and cells["answer"] is None:
        raise ValueError("column 'answer': there is none; write \"\" for an empty answer, or say why in `status`")
    kind = cells["type"]
    if kind not in TYPES:
        raise ValueError(f"column 'type': {kind!r} is no type; allowed are {', '.join(TYPES)}")
    _check(cells)
    objects = cells["gold_object"] or ("1",) * len(cells["gold"])
    cells |= {
        "text": cells["text"] or "",
        "gold_object": objects,
        "choices": cells["choices"] or None,
        "style": cells["style"] or (STATEMENT if kind == TFQ else WH),
        "answers": ("multiple" if len(set(objects)) > 1 else "single") if kind == SAQ else None,
        "origin": cells["origin"] or "given",
        "context": cells["context"] or NONE,
        "relation_id": cells["relation_id"] or "all",
    }
    model, answer = cells.pop("model") or "model", cells.pop("answer")
    del cells["status"]
    return GivenRow(number, model, answer if status == "ok" else None, status, cells)


def _check(cells: Mapping[str, Any]) -> None:
    """Raise ValueError for a question that cannot be scored."""
    kind, gold, objects, choices = (cells[name] for name in ("type", "gold", "gold_object", "choices"))
    if kind == TFQ:
        if cells["truth"] is None:
            raise ValueError("column 'truth': is empty; a true-false question needs true or false")
        return
    if not gold:
        raise ValueError(f"column 'gold': is empty; a question of type {kind} needs its accepted names")
    if objects and len(objects) != len(gold):
        raise ValueError(
            f"column 'gold_object': has {len(objects)} texts and gold {len(gold)}; give each name its object, or leave "
            "the column out"
        )
    if kind == MCQ and len(choices) < 2:
        raise ValueError("column 'choices': has fewer than two; a multiple-choice question needs them all")
    if kind == MCQ and not set(gold) & set(choices):
        raise ValueError(f"column 'choices': {choices} holds none of gold {gold}; add the true one")
    if kind == MCQ and len(true := sorted(set(gold) & set(choices))) > 1:
        raise ValueError(f"column 'choices': {true} are all in gold; a multiple-choice question has one true choice")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(name: str, value: Any) -> str | None:
    """Return a cell's text; an empty one only for ``answer``, None for any other column."""
    if _is_empty(value):
        return None
    if isinstance(value, list | dict | bool):
        raise ValueError(f"column {name!r}: {value!r} is no text")
    text = str(value)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"column {name!r}: has half a character (a surrogate); write complete characters")
    return text if name == "answer" else text.strip() or None


def _list(name: str, value: Any) -> tuple[str, ...]:
    """Return the texts of a cell: a list, or one text split at `records.LIST_SEPARATOR`."""
    if _is_empty(value) or value == "":
        return ()
    if isinstance(value, dict):
        raise ValueError(f"column {name!r}: {value!r} is no list of texts")
    parts = value if isinstance(value, list | tuple) else str(value).split(records.LIST_SEPARATOR)
    texts = tuple(_text(name, part) for part in parts)
    if not all(texts):
        raise ValueError(f"column {name!r}: {value!r} has an empty text; leave it out")
    return tuple(text for text in texts if text)


def _truth(name: str, value: Any) -> bool | None:
    if _is_empty(value) or value == "":
        return None
    text = str(value).strip().lower().removesuffix(".0")
    if text not in BOOLEANS:
        raise ValueError(f"column {name!r}: {value!r} is neither true nor false")
    return BOOLEANS[text]
