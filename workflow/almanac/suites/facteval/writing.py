"""Questions that a model writes: what it is asked, what is wrong with what it wrote, and the file that a person reads.

The released pipeline replaces the object's label wherever it finds it and goes on where it finds none: then the blank
is missing, and the false statement is the true one. Here what cannot be used is dropped, with the reason in the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.dataset.names import ObjectNames
from almanac.dataset.templates import DROP, KEEP, VERDICTS, cleaned, folded
from almanac.errors import AlmanacError
from almanac.rows import Fact, Item, Link, NotAsked, Relation, Request, Response, WrittenQuestion
from almanac.suites.asking import Asked
from almanac.suites.facteval.naming import names_in, parts_around
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.questions import FIB, MASK, STATEMENT, WH, WRITTEN, Sentence

SUITE = "writing"
LABEL = re.compile(r"^(?:Sentence|Question):\s*")  # which a model may write before its answer
STYLES = (STATEMENT, FIB, WH)
TrueObjects = Mapping[tuple[str, str], Sequence[str]]


def ask_writing(
    facts: Iterable[Fact],
    relations: Iterable[Relation],
    names: ObjectNames,
    told: Mapping[str, Any],
    options: WritingOptions,
) -> Asked:
    """Ask a model to write of each fact a statement, one with a blank, and a question.

    Args:
        facts: those that are to be asked.
        relations: for their labels.
        names: of subjects and objects.
        told: by style the instruction and worked examples (``write`` in facteval.yaml).
        options: styles, length.
    """
    labels = {row.relation_id: row.label for row in relations}
    asked = Asked()
    for fact in facts:
        triple = (names.label(fact.subject_id), labels[fact.relation_id], names.label(fact.object_key))
        for style in dict.fromkeys(options.styles):
            request = Request(
                request_id="",
                kind="generate",
                context_id=None,
                text=_shown(triple),
                max_new_tokens=options.text_tokens,
                stop=("\n",),
                samples=1,
                temperature=0.0,
                instruction=_instruction(told[style]),
            )
            item_id = f"{SUITE}/{style}/{fact.fact_id}"
            asked.items.append(Item(item_id, SUITE, style, fact.fact_id, fact.relation_id, None, "triple", ()))
            asked.links.append(Link(item_id, style, asked.request(request), None, None))
    return asked


def _instruction(told: Mapping[str, Any]) -> str:
    shots = (f"{_shown(shot['triple'])}\n{shot['text']}" for shot in told["shots"])
    return "\n\n".join([told["instruction"], *shots])


def _shown(triple: Sequence[str]) -> str:
    return f"Triple: ({', '.join(triple)})"


def judge(
    items: Sequence[Item],
    links: Sequence[Link],
    responses: Sequence[Response],
    facts: Iterable[Fact],
    names: ObjectNames,
    true: TrueObjects,
) -> list[WrittenQuestion]:
    """Judge what a model wrote; one row for each text asked for, whatever came.

    Raises:
        AlmanacError: a request has no response, or an item is of no fact that is given.
    """
    answers = {row.request_id: row for row in responses}
    known = {fact.fact_id: fact for fact in facts}
    requests = {link.item_id: link.request_id for link in links}
    foreign = next((item.fact_id for item in items if item.fact_id not in known), None)
    if foreign is not None:
        raise AlmanacError(f"items: {foreign!r} is no fact of the dataset; give the dataset that was asked")
    out: list[WrittenQuestion] = []
    taken: dict[tuple[str, str], Fact] = {}
    for item in sorted(items, key=lambda row: (row.fact_id, row.experiment)):
        fact, answer = known[item.fact_id], answers.get(requests[item.item_id])
        if answer is None:
            raise AlmanacError(
                f"responses: request {requests[item.item_id]} of {item.item_id} has none; give all shards"
            )
        text = LABEL.sub("", cleaned((answer.texts or ("",))[0]))
        reason: str | None = f"{answer.status}: {answer.reason}"
        if answer.status == "ok":
            reason = fault(text, item.experiment, fact, names, true) or _repeats(text, item.experiment, fact, taken)
        verdict = KEEP if reason is None else DROP
        out.append(WrittenQuestion(fact.fact_id, fact.relation_id, item.experiment, text, verdict, reason))
    return out


def _repeats(text: str, style: str, fact: Fact, taken: dict[tuple[str, str], Fact]) -> str | None:
    """Return what is wrong if a text was written of another subject or relation before; it would have two answers."""
    first = taken.setdefault((style, folded(text)), fact)
    if (first.relation_id, first.subject_id) == (fact.relation_id, fact.subject_id):
        return None
    return f"says the same as that of {first.fact_id!r}"


def fault(text: str, style: str, fact: Fact, names: ObjectNames, true: TrueObjects) -> str | None:
    """Return what is wrong with a written question, or none.

    A statement must name subject and object; the others must name the subject and no true object, a sentence with a
    blank must hold it once, a question must end as one.
    """
    subject = names.names(fact.subject_id)
    objects = [name for key in true[fact.relation_id, fact.subject_id] for name in names.names(key)]
    if not text:
        return "empty"
    blanks = text.count(MASK)
    if blanks != (style == FIB):
        return f"holds {MASK} {blanks} times; needed is {int(style == FIB)}"
    if not names_in(text, subject):
        return "does not name the subject"
    if style == STATEMENT and len(parts_around(text, names.names(fact.object_key), subject)) == 1:
        return "does not name the object"
    if style != STATEMENT and len(parts_around(text, objects, subject)) > 1:
        return "names the object"
    if (style == WH) != text.endswith("?"):
        return "is no question" if style == WH else "is a question"
    return None


def read_written(
    path: Path, tested: Sequence[Fact], names: ObjectNames, true: TrueObjects
) -> tuple[dict[str, list[Sentence]], list[NotAsked]]:
    """Read written questions as a person has left them.

    Args:
        path: JSON Lines of `WrittenQuestion`.
        tested: the facts that are asked.
        names: of subjects and objects.
        true: the true objects of relations and subjects.

    Returns:
        The wordings of each fact, and what was dropped or is of no fact that is asked, with the reason.

    Raises:
        AlmanacError: the file cannot be read, a style or verdict is unknown, a row repeats, or one that is to be kept
            has a fault; naming the fact and the style.
    """
    known = {fact.fact_id: fact for fact in tested}
    out: dict[str, list[Sentence]] = defaultdict(list)
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
        if reason := fault(row.text, row.style, known[row.fact_id], names, true):
            raise AlmanacError(f"{where}: {row.text!r} {reason}; mend it or say drop")
        out[row.fact_id].append(_sentence(row, known[row.fact_id], names))
    return dict(out), [row for row in refused.values() if row is not None]


def _sentence(row: WrittenQuestion, fact: Fact, names: ObjectNames) -> Sentence:
    if row.style == STATEMENT:
        parts = parts_around(row.text, names.names(fact.object_key), names.names(fact.subject_id))
        return Sentence(STATEMENT, WRITTEN, WRITTEN, parts)
    if row.style == FIB:
        return Sentence(FIB, WRITTEN, WRITTEN, tuple(row.text.split(MASK)))
    return Sentence(WH, WRITTEN, WRITTEN, (row.text,))
