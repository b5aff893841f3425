"""A small dataset of two relations whose subjects have a popularity, and one in the form of IMDb's."""

import json
from typing import Any

from tests.suites.support import Question, Trial, ok

from almanac.rows import Entity, Fact, Popularity, Relation, Response, Template
from almanac.suites.data import Data
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.suite import HeadToTail

CITIES = ("Oslo", "Lima", "Kyiv", "Rome", "Bonn")


def fact(relation: str, subject: str, key: str, *, literal: bool = False, qualifiers: tuple[str, ...] = ()) -> Fact:
    """A fact about an entity, or a literal."""
    found, value = (None, key) if literal else (key, None)
    kind = "string" if literal else None
    return Fact(f"{relation}|{subject}|{key}", relation, subject, found, value, kind, None, qualifiers, None, "t")


def tables(head: int = 2, torso: int = 4, tail: int = 12) -> dict[str, list[Any]]:
    """Two relations with so many subjects a bucket: as popular together are 2 of score 60, 4 of 30, 12 of 10."""
    facts, names, popular = [], [Entity(one, one.title(), (f"City of {one}",), "city") for one in CITIES], []
    for relation in ("born", "works"):
        for at in range(head + torso + tail):
            subject = f"{relation}:{at:02}"
            facts.append(fact(relation, subject, CITIES[at % len(CITIES)]))
            names.append(Entity(subject, f"Sam{at:02} of {relation}", (), f"person {relation}"))
            score = 60 if at < head else 30 if at < head + torso else 10
            popular.append(Popularity(subject, "votes", f"person {relation}", score, None))
    return {
        "entities": names,
        "facts": facts,
        "popularity": popular,
        "relations": [
            Relation("born", "place of birth", None, "N-1", "city", "lives"),
            Relation("works", "place of work", None, "N-1", "city", "jobs"),
        ],
        "templates": [
            Template(f"{name}/{style}", name, text, style, "written", None, ())
            for name in ("born", "works")
            for style, text in (("question", f"Where is [X] {name}?"), ("statement", f"The {name} of [X] is [Y]."))
        ],
    }


def imdb() -> dict[str, list[Any]]:
    """Films, people and what tells them apart, with IMDb's ids of relations; every kind has three buckets."""
    facts, names, popular = [], [], []
    for at in range(18):
        title, person, score = f"tt{at:02}", f"nm{at:02}", 60 if at < 2 else 30 if at < 6 else 10
        twin = at in (0, 1, 2, 3, 6, 7)  # shares its name with one other
        names.append(Entity(title, f"Film {at // 2 if twin else at}", (), "movie"))
        names.append(Entity(person, f"Person {at}", (), "person"))
        popular += [Popularity(title, "imdb", "title", score, None), Popularity(person, "imdb", "person", score, None)]
        facts += [
            fact("imdb.release_year", title, str(1990 + at), literal=True),
            fact("imdb.director", title, person),
            fact("imdb.first_year", title, str(1990 + at), literal=True),
            fact("imdb.namesakes", title, str(int(twin)), literal=True),
            fact("imdb.character", title, person, qualifiers=("character=Hero", "character=Villain")),
            fact("imdb.profession", person, "sound_department" if at % 2 else "actress", literal=True),
            fact("imdb.birth_year", person, str(1950 + at), literal=True),
            fact("imdb.first_known_for", person, title),
            fact("imdb.known_for", person, title),
        ]
    facts.append(fact("imdb.director", "tt00", "nm05"))
    context = ("imdb.first_year", "imdb.namesakes", "imdb.first_known_for")
    relations = [
        Relation(name, name, None, None, None, "context" if name in context else "movie")
        for name in dict.fromkeys(row.relation_id for row in facts)
    ]
    return {"entities": names, "facts": facts, "popularity": popular, "relations": relations}


def trial(folder: Any, rows: dict[str, list[Any]] | None = None, doses: Any = None, **settings: Any) -> Trial:
    """The suite asked of a dataset, in its first round."""
    data = Data.of(**(tables() if rows is None else rows))
    return Trial(folder, HeadToTail(), data, HeadToTailOptions(**settings), doses=doses).ask()


def knows_the_head(question: Question) -> Response:
    """Answer right of the first six subjects (head and torso), wrong or unsure of others."""
    at = int(question.item.fact_id.split("|")[1][-2:])
    answer = f" {question.item.accepted[0]}" if at < 6 else " unsure" if at % 2 else " Atlantis"
    return ok(texts=tuple([answer] * (question.request.samples or 1)))


def strict_judge(question: Question) -> Response:
    """Call correct what is among the true answers, word for word; of Atlantis say neither word."""
    lines = dict(line.split(": ", 1) for line in question.text.splitlines() if ": " in line)
    if lines["Prediction"] == "Atlantis":
        return ok(texts=(" A sunken place",))
    right = lines["Prediction"] in json.loads(lines["Ground truth"])
    return ok(texts=(" correct" if right else " Incorrect.",))
