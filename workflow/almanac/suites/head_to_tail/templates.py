"""The templates of relations: their own, those shipped for IMDb, Goodreads, MAG, OpenAlex, DBLP and DBpedia, or labels.

A relation's own question comes first, then shipped ones, by the id that the source gives the relation; those of
DBpedia's predicates for its facts alone (`team` may mean anything elsewhere). Others are asked by their label.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from almanac.dataset.templates import LABEL, SHIPPED, in_full, of_label
from almanac.project import RESOURCES
from almanac.punctuation import ends_in_object
from almanac.rows import Fact, Relation, Template
from almanac.suites.data import Data
from almanac.suites.head_to_tail.options import OPEN_CAP

FOLDER = RESOURCES / "head_to_tail"
ONTOLOGY, ELEMENTS = "http://dbpedia.org/ontology/", "http://purl.org/dc/elements/1.1/"
DBPEDIA = "dbpedia"  # the source of its facts
OPEN = "open"
CONTEXT = "context"  # domain of relations that only distinguish subjects, and are not asked
CAPS = {"imdb": 85, "goodreads": 250, "mag": 100, "openalex": 100, "dblp": 100}  # from Sun et al.'s code
Wordings = Mapping[str, str]


@dataclass(frozen=True)
class QuestionWording:
    """A template of a relation: a question and a cloze.

    Attributes:
        template_id: the template's id.
        domain: the domain that it counts towards.
        question: the question, with ``[X]`` for the subject.
        cloze: a sentence that ends in ``[Y]``, if there is one.
        answer_kind: persons, year, profession, school, or anything else.
        context: what the question says of the subject to distinguish it.
        values: the only object values that are asked for; None: all.
        variants: other questions and clozes, by the object's type.
        natural: whether people are likely to ask it.
        single: whether it is asked only about subjects with one object, which the question does not name.
        cap: the paper's number of questions per bucket.
    """

    template_id: str
    domain: str
    question: str
    cloze: str | None
    answer_kind: str
    context: str | None = None
    values: tuple[str, ...] | None = None
    variants: Mapping[str, Wordings] = field(default_factory=dict)
    natural: bool = True
    single: bool = False
    cap: int = OPEN_CAP


@functools.cache
def shipped() -> tuple[Mapping[str, Sequence[QuestionWording]], Mapping[str, tuple[str, str]]]:
    """Read the shipped templates by relation (``dbpedia/capital``), and the predicates left out (kind, reason)."""
    found: dict[str, list[QuestionWording]] = {}
    for domain in ("movie", "book", "academics"):
        for row in _rows(domain):
            for relation in row["relations"]:
                values = tuple(row["values"]) if "values" in row else None
                wording = QuestionWording(
                    f"{relation}/{row['template']}",
                    domain,
                    row["question"],
                    row["cloze"],
                    row["answer"],
                    row["context"],
                    values,
                    row.get("variants", {}),
                    row["natural"],
                    cap=CAPS[relation.partition(".")[0]],
                )
                found.setdefault(relation, []).append(wording)
    for row in _rows("dbpedia"):
        name = f"dbpedia/{row['predicate']}"
        kind = "persons" if row["range"] in ("Person", "Artist") else "text"
        found[name] = [QuestionWording(name, OPEN, row["question"], row["cloze"], kind, single=True)]
    return found, {row["predicate"]: (row["filter"], row["reason"]) for row in _rows("filters")}


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def asked_of(data: Data, filters: Sequence[str]) -> Iterator[tuple[Relation, Sequence[QuestionWording], str | None]]:
    """Yield the relations in order of their ids, each with its `wordings`."""
    templates: dict[str, list[Template]] = {}
    for row in data.templates:
        templates.setdefault(row.relation_id, []).append(row)
    sources = data.frame("facts", Fact, ["relation_id", "source"])
    dbpedia = set(sources.filter(source=DBPEDIA)["relation_id"])
    for relation in sorted(data.relations, key=lambda row: row.relation_id):
        own = relation.relation_id
        yield relation, *wordings(relation, templates.get(own, ()), filters, own in dbpedia)


def wordings(
    relation: Relation, templates: Iterable[Template], filters: Sequence[str], of_dbpedia: bool = False
) -> tuple[Sequence[QuestionWording], str | None]:
    """Return the templates of a relation; none, with the reason, if it is left out (without a reason in `CONTEXT`).

    Args:
        relation: the relation.
        templates: its own: the first question by id, and as a cloze the first sentence that ends in its object.
        filters: the kinds left out of DBpedia's predicates, and of Wikidata's properties with a shipped question.
        of_dbpedia: whether it is one of DBpedia's predicates.
    """
    if relation.domain == CONTEXT:
        return [], None
    own = sorted(templates, key=lambda row: row.template_id)
    questions = [row for row in own if row.style == "question" and row.text.count("[X]") == 1]
    ships, left_out = shipped()
    if questions:
        kind, reason = left_out.get(f"wdt:{relation.property}", ("", ""))
        if questions[0].origin == SHIPPED and kind in filters:
            return [], f"left out as {kind}: {reason}"
        return [_wording(relation, questions[0], own)], None
    if of_dbpedia:
        predicate = relation.relation_id.removeprefix(ONTOLOGY).replace(ELEMENTS, "dc:")
        kind, reason = left_out.get(predicate, ("", ""))
        if kind in filters:
            return [], f"left out as {kind}: {reason}"
        asked = ships.get(f"{DBPEDIA}/{predicate}", ())
        return asked, None if asked else "has no question, and none ships for it"
    if relation.relation_id in ships:
        return ships[relation.relation_id], None
    statement, question = of_label(relation)
    return [_wording(relation, question, own, statement.text)], None


def _wording(
    relation: Relation, question: Template, templates: Iterable[Template], statement: str | None = None
) -> QuestionWording:
    """Return the template made of a question; ``statement`` is its cloze if no template ends in the object."""
    ends = [row.text for row in templates if row.style == "statement" and ends_in_object(row.text)]
    prefixes = [in_full(row) for row in templates if row.style == "prefix"]
    cloze = next((text for text in (*ends, *prefixes) if text.count("[X]") == 1), statement)
    domain, kind = relation.domain or OPEN, _answer_kind(relation.object_type)
    return QuestionWording(question.template_id, domain, question.text, cloze, kind)


def by_label(data: Data, filters: Sequence[str]) -> set[str]:
    """Return the relations that are asked by their label."""
    found = asked_of(data, filters)
    ids = ((row.relation_id, one.template_id) for row, own, _ in found for one in own)
    return {relation for relation, name in ids if name.startswith(f"{relation}/{LABEL}/")}


def _answer_kind(object_type: str | None) -> str:
    if object_type in ("person", "human", "author"):
        return "persons"
    return "year" if object_type == "year" else "text"
