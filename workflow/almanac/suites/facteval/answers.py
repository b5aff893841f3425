"""Questions and answers from elsewhere, one a row of a table, as the scorer takes them: columns checked, rows named."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError
from almanac.rows import Fact, Item, Question
from almanac.suites.facteval.judging import Answer
from almanac.suites.facteval.measuring import VERDICTS, scored
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import MCQ, NONE, SAQ, STATEMENT, SUITE, TFQ, WH
from almanac.suites.facteval.requests import QUESTIONS, setting_of
from almanac.suites.facteval.robustness import asks
from almanac.suites.method import Answered, Data, Measured, Rows

REQUIRED = ("type", "answer")
BESIDE = ("model", "fact_id", "subject_id", "template_id", "status")  # columns that are not the question's
LISTS = ("choices", "gold", "gold_object")
TRUTHS = ("truth", "changed", "mentions_subject", "mentions_object")
KNOWN = (*REQUIRED, *(field.name for field in fields(Question) if field.name != "type"), *BESIDE)
TYPES = (TFQ, MCQ, SAQ)
STATUSES = ("ok", "refused", "too_long", "unsupported", "failed")
BOOLEANS = {"true": True, "correct": True, "1": True, "false": False, "incorrect": False, "0": False}
SEPARATOR = "|"  # of the texts of a list in one cell
MOST_SHOWN = 20  # mistakes in one message


@dataclass(frozen=True)
class Given:
    """One row: who answered, the question, its fact, the answer."""

    model: str
    question: Question
    item: Item
    fact: Fact
    answer: Answer


def given(where: Path, names: Sequence[str], rows: Rows) -> list[Given]:
    """Check a table of questions and answers.

    Args:
        where: the file, for messages.
        names: its columns; `KNOWN` are the ones there can be (docs/facteval.md says what they hold).
        rows: each with its number; none where its cells do not fit the header.

    Raises:
        AlmanacError: a column is unknown, lacks or stands twice, there is no row, a cell is impossible, a question of a
            model stands twice, or two of a context cannot be told apart; naming file, row and column.
    """
    lacking = [name for name in REQUIRED if name not in names]
    unknown = [name for name in names if name not in KNOWN]
    if lacking or unknown:
        raise AlmanacError(
            f"{where}: "
            + " and ".join(
                [f"lacks the column {', '.join(lacking)}"] * bool(lacking)
                + [f"has the unknown column {', '.join(unknown)}"] * bool(unknown)
            )
            + f"; needed are {', '.join(REQUIRED)}, known are {', '.join(KNOWN)}"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise AlmanacError(f"{where}: has the column {', '.join(twice)} twice; keep one of them")
    found, mistakes, seen = dict[int, Given](), [], dict[tuple[str, str], int]()
    for number, row in rows:
        try:
            one = _given(number, row)
        except ValueError as error:
            mistakes.append(f"{where}: row {number}, {error}")
            continue
        before = seen.setdefault((one.model, one.question.item_id), number)
        if before != number:
            mistakes.append(
                f"{where}: row {number}, column 'item_id': {one.question.item_id!r} of model {one.model!r} stands in "
                f"row {before} too; give each question of a model one row"
            )
        found[number] = one
    if mistakes := mistakes or _alike(where, found):
        more = len(mistakes) - MOST_SHOWN
        raise AlmanacError("\n".join([*mistakes[:MOST_SHOWN], *([f"… and {more} more mistakes"] if more > 0 else [])]))
    if not found:
        raise AlmanacError(f"{where}: holds no row; give a row for each question and answer")
    return list(found.values())


def measure(where: Path, names: Sequence[str], rows: Rows, dataset: str, options: FactEvalOptions) -> Measured:
    """Score a table of questions and answers, each model by itself; see `given` and `measuring.scored`."""
    by_model: dict[str, list[Given]] = defaultdict(list)
    for one in given(where, names, rows):
        by_model[one.model].append(one)
    parts = [_measured(model, own, dataset, options) for model, own in by_model.items()]
    return Measured(
        [row for part in parts for row in part.outcomes],
        [row for part in parts for row in part.measures],
        {VERDICTS: [row for part in parts for row in part.beside[VERDICTS]]},
    )


def _alike(where: Path, rows: Mapping[int, Given]) -> list[str]:
    """Return the mistakes of questions that robustness cannot pair: two of one context seem to ask the same.

    Args:
        where: the file, for messages.
        rows: by their numbers.
    """
    contexts: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    first: dict[tuple[Any, ...], int] = {}
    alike = []
    for number, one in rows.items():
        ways = one.model, one.item.experiment, one.item.setting.partition("context=")[0]
        contexts[ways].add(one.question.context)
        before = first.setdefault((*ways, one.question.context, asks(one.item, one.question)), number)
        if before != number:
            alike.append((ways, before, number))
    return [
        f"{where}: row {number}, column 'text': asks the same as row {before} (model, type, style, context, fact_id, "
        "template_id, truth and text are equal), so no passage could be compared with none; give each question its "
        "text or a template_id of its own"
        for ways, before, number in alike
        if len(contexts[ways]) > 1
    ]


def _measured(model: str, own: Sequence[Given], dataset: str, options: FactEvalOptions) -> Measured:
    facts = {one.fact.fact_id: one.fact for one in own}
    asked = Answered(
        model=model,
        dataset=dataset,
        data=Data(facts=list(facts.values())),
        items=[one.item for one in own],
        links=(),
        requests=(),
        responses=(),
        beside={QUESTIONS: [one.question for one in own]},
    )
    return scored(asked, {one.question.item_id: one.answer for one in own}, options)


def _given(number: int, row: Mapping[str, Any] | None) -> Given:
    """Return a row as it is scored.

    Raises:
        ValueError: a cell is impossible, naming the column.
    """
    if row is None:
        raise ValueError("has more or fewer cells than the header")
    texts = {name: _text(name, row.get(name)) for name in KNOWN if name not in (*LISTS, *TRUTHS)}
    lists = {name: _list(name, row.get(name)) for name in LISTS}
    truths = {name: _truth(name, row.get(name)) for name in TRUTHS}
    answer = _answer(texts)
    kind = texts["type"]
    if kind not in TYPES:
        raise ValueError(f"column 'type': {kind!r} is no type; allowed are {', '.join(TYPES)}")
    question = Question(
        **{field.name: (texts | lists | truths).get(field.name) for field in fields(Question)}  # type: ignore[arg-type]
        | {
            "item_id": texts["item_id"] or str(number),
            "relation_id": texts["relation_id"] or "all",
            "style": texts["style"] or (STATEMENT if kind == TFQ else WH),
            "origin": texts["origin"] or "given",
            "context": texts["context"] or NONE,
            "text": texts["text"] or "",
            "choices": lists["choices"] or None,
            "gold": lists["gold"],
            "gold_object": lists["gold_object"] or ("1",) * len(lists["gold"]),
        }
    )
    _check(question)
    fact_id = texts["fact_id"] or question.item_id
    fact = Fact(fact_id, question.relation_id, texts["subject_id"] or fact_id, None, "", None, None, (), None, "")
    accepted = question.gold or (("correct" if question.truth else "incorrect"),)
    experiment = f"{question.type}-{question.style}"
    item = Item(
        question.item_id,
        SUITE,
        experiment,
        fact_id,
        question.relation_id,
        texts["template_id"],
        setting_of(question),
        accepted,
    )
    return Given(texts["model"] or "model", question, item, fact, answer)


def _answer(texts: Mapping[str, str | None]) -> Answer:
    status = texts["status"] or "ok"
    if status not in STATUSES:
        raise ValueError(f"column 'status': {status!r} is no status; allowed are {', '.join(STATUSES)}")
    if status != "ok":
        return Answer(None, "missing" if status == "refused" else "error", status)
    if texts["answer"] is None:
        raise ValueError("column 'answer': there is none; write \"\" for an empty answer, or say why in `status`")
    return Answer(texts["answer"])


def _check(question: Question) -> None:
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
