"""Tables of questions and answers from elsewhere, which are scored like any others; mistakes are listed by row."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError, refuse
from almanac.rows import Fact, Request, Response
from almanac.sources import records
from almanac.suites.asked import Asked
from almanac.suites.data import Data
from almanac.suites.facteval.asking import ANSWER
from almanac.suites.facteval.given import KNOWN, REQUIRED, GivenQuestion, GivenRow, row_of
from almanac.suites.facteval.judging import UNASKED
from almanac.suites.facteval.rows import QuestionNames
from almanac.suites.suite import Elsewhere


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
    _check_header(path, names)
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


def _check_header(path: Path, names: Sequence[str]) -> None:
    lacking = [name for name in REQUIRED if name not in names]
    unknown = [name for name in names if name not in KNOWN]
    if lacking or unknown:
        raise AlmanacError(
            f"{path}: "
            + " and ".join(
                [f"lacks the column {', '.join(lacking)}"] * bool(lacking)
                + [f"has the unknown column {', '.join(unknown)}"] * bool(unknown)
            )
            + f"; needed are {', '.join(REQUIRED)}, known are {', '.join(KNOWN)}"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise AlmanacError(f"{path}: has the column {', '.join(twice)} twice; keep one of them")


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
