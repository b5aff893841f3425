"""Tables of questions and answers from elsewhere, which are scored like any others; mistakes are listed by row."""

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
from almanac.suites.facteval.reading.scoring import JudgedQuestion
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
TYPES = (TFQ, MCQ, SAQ)
BOOLEANS = {"true": True, "correct": True, "1": True, "false": False, "incorrect": False, "0": False}


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


def read(path: Path, own: Mapping[str, type]) -> Elsewhere:
    """Return the questions and the models' answers of a table.

    Args:
        path: the table; `KNOWN` are the columns that there can be (docs/facteval.md says what they hold).
        own: the suite's own tables.

    Raises:
        AlmanacError: a column is unknown, lacks or stands twice, there is no row, a cell is impossible, a question of a
            model stands twice, or two of a context cannot be told apart; naming file, row and column.
    """
    names, cells = records.read(path)
    if fault := records.wrong_columns(names, KNOWN):
        raise AlmanacError(f"{path}: {fault}")
    rows = _rows(path, cells)
    asked, facts = Asked(own), dict[str, Fact]()
    items, first = dict[GivenQuestion, str](), dict[tuple[Any, ...], int]()
    answers: dict[str, dict[str, Response]] = defaultdict(dict)
    for row in rows:
        request_id = items.get(row.given)
        if request_id is None:
            request_id = items[row.given] = _ask(asked, row, facts, first)
        texts = None if row.answer is None else (row.answer,)
        answers[row.model][request_id] = Response(request_id, row.status, None, texts=texts)
    responses = {
        model: [found.get(name) or Response(name, "unsupported", UNASKED) for name in items.values()]
        for model, found in answers.items()
    }
    return Elsewhere([asked.take()], Data.of(facts=list(facts.values())), responses)


def _ask(asked: Asked, row: GivenRow, facts: dict[str, Fact], first: dict[tuple[Any, ...], int]) -> str:
    """Add a question, and return the id of its request, which is its own: the same text may have two answers."""
    given, question = row.given, row.given.question
    name = given.item_id or str(row.number)
    fact_id = given.fact_id or name
    fact = Fact(fact_id, given.relation_id, given.subject_id or fact_id, None, "", None, None, (), None, "")
    facts[fact_id] = fact
    accepted = question.gold or ("correct" if question.truth else "incorrect",)
    experiment = f"{question.type}-{given.traits.style}"
    item = asked.item(experiment, given.setting, fact, accepted, template=given.template_id)
    asked.own["traits"].append(replace(given.traits, item=item, question=first.setdefault(given.asks, item)))
    asked.own["names"].append(QuestionNames(item, question.gold_object, given.shown, question.stated, name))
    context = None if given.passage is None else asked.context(given.passage)
    request = Request("", "generate", context, question.text, seed=item, options=question.choices)
    asked.link(item, ANSWER, request)
    return asked.request(request)


def _rows(path: Path, cells: Iterable[tuple[int, Mapping[str, Any] | None]]) -> list[GivenRow]:
    """Return the rows of a table, checked; cells are none where they do not fit the header."""
    rows, mistakes = list[GivenRow](), list[str]()
    named: dict[tuple[str, str], int] = {}
    before: Counter[tuple[str, GivenQuestion]] = Counter()
    for number, own in cells:
        try:
            row = row_of(number, own)
        except ValueError as error:
            mistakes.append(f"{path}: row {number}, {error}")
            continue
        name = row.given.item_id
        if name is None:
            row = replace(row, given=replace(row.given, again=before[row.model, row.given]))
            before[row.model, replace(row.given, again=0)] += 1
        elif (other := named.setdefault((row.model, name), number)) != number:
            mistakes.append(
                f"{path}: row {number}, column 'item_id': {name!r} of model {row.model!r} stands in row {other} too; "
                "give each question of a model one row"
            )
        rows.append(row)
    refuse(mistakes or _alike(path, rows))
    if not rows:
        raise AlmanacError(f"{path}: holds no row; give a row for each question and answer")
    return rows


def _alike(path: Path, rows: Sequence[GivenRow]) -> list[str]:
    """Return the mistakes of questions that robustness cannot pair: two of one context seem to ask the same."""
    contexts: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    first: dict[tuple[Any, ...], int] = {}
    alike = []
    for row in rows:
        form, context = (row.model, row.given.form), row.given.setting.context
        contexts[form].add(context)
        before = first.setdefault((row.model, context, row.given.asks), row.number)
        if before != row.number:
            alike.append((form, before, row.number))
    return [
        f"{path}: row {number}, column 'text': asks the same as row {before} (model, type, style, context, fact_id, "
        "template_id, truth and text are equal), so no passage could be compared with none; give each question its "
        "text or a template_id of its own"
        for form, before, number in alike
        if len(contexts[form]) > 1
    ]


def row_of(number: int, row: Mapping[str, Any] | None) -> GivenRow:
    """Return a row as it is judged.

    Raises:
        ValueError: a cell is impossible, naming the column.
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
    question = JudgedQuestion(
        kind,
        cells["text"] or "",
        cells["gold"],
        cells["gold_object"] or ("1",) * len(cells["gold"]),
        cells["choices"] or None,
        *(cells[name] for name in ("truth", "datatype", "object_type", "stated")),
    )
    _check(question)
    several = len(set(question.gold_object)) > 1
    cells |= {
        "item": 0,
        "question": 0,
        "style": cells["style"] or (STATEMENT if kind == TFQ else WH),
        "answers": ("multiple" if several else "single") if kind == SAQ else None,
    }
    given = GivenQuestion(
        question=question,
        traits=QuestionTraits(**{name: cells[name] for name in columns(QuestionTraits)}),
        setting=FactEvalSetting(cells["origin"] or "given", cells["negatives"], cells["context"] or NONE),
        relation_id=cells["relation_id"] or "all",
        **{name: cells[name] for name in ("item_id", "fact_id", "subject_id", "template_id", "passage", "shown")},
    )
    return GivenRow(number, cells["model"] or "model", given, cells["answer"] if status == "ok" else None, status)


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


def _lacks(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(name: str, value: Any) -> str | None:
    """Return a cell's text as it is; of an answer the empty one too, of any other column none."""
    if _lacks(value):
        return None
    if isinstance(value, list | dict | bool):
        raise ValueError(f"column {name!r}: {value!r} is no text")
    text = str(value)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"column {name!r}: holds half a character; write whole ones")
    return text if name == "answer" else text.strip() or None


def _list(name: str, value: Any) -> tuple[str, ...]:
    """Return the texts of a list: a list, or one cell divided at `records.LIST_SEPARATOR`."""
    if _lacks(value) or value == "":
        return ()
    if isinstance(value, dict):
        raise ValueError(f"column {name!r}: {value!r} is no list of texts")
    parts = value if isinstance(value, list | tuple) else str(value).split(records.LIST_SEPARATOR)
    texts = tuple(_text(name, part) for part in parts)
    if not all(texts):
        raise ValueError(f"column {name!r}: {value!r} has an empty text; leave it out")
    return tuple(text for text in texts if text)


def _truth(name: str, value: Any) -> bool | None:
    if _lacks(value) or value == "":
        return None
    text = str(value).strip().lower().removesuffix(".0")
    if text not in BOOLEANS:
        raise ValueError(f"column {name!r}: {value!r} is neither true nor false")
    return BOOLEANS[text]
