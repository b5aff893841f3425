"""A small dataset for BELIEF: two relations with aliases, an object that stands in its subject, and a shared name."""

from typing import Any

from almanac.rows import Entity, Fact, Template
from almanac.suites.data import Data

CITIES = {"c:o": ("Oslo", "Christiania"), "c:l": ("Lima", "It"), "c:r": ("Rome",), "c:b": ("Bern",)}
PEOPLE = {
    "p:1": ("Ada Oslo", "Ada"),
    "p:2": ("Bob", "Rome"),  # by which another thing is known
    "p:3": ("Cleo",),
    "p:4": ("Dan",),
}


def fact(relation: str, subject: str, found: str, split: str) -> Fact:
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "t")


FACTS = [
    fact("born", "p:1", "c:o", "test"),
    fact("born", "p:2", "c:l", "test"),
    fact("born", "p:2", "c:b", "test"),
    fact("lived", "p:3", "c:r", "test"),
    *(fact(relation, f"t:{at}", list(CITIES)[at % 4], "train") for relation in ("born", "lived") for at in range(6)),
]
TEMPLATES = [
    Template("born/0", "born", "[X] was born in [Y].", "statement", "written", None, ()),
    Template("born/1", "born", "[X] saw the light in [Y].", "statement", "paraphrase", "born/0", ()),
    Template("born/2", "born", "[Y] is where [X] was born.", "statement", "written", None, ()),
    Template("born/q", "born", "Where was [X] born?", "question", "written", None, ()),
    Template("born/p", "born", "[X] was born in", "prefix", "written", None, ()),
    Template("lived/0", "lived", "[X] lived in [Y].", "statement", "written", None, ()),
    Template("lived/q", "lived", "Where did [X] live?", "question", "written", None, ()),
]


def tables() -> dict[str, list[Any]]:
    names = {**CITIES, **PEOPLE, **{f"t:{at}": (f"Tom {at}",) for at in range(6)}}
    entities = [Entity(key, own[0], tuple(own[1:]), None) for key, own in names.items()]
    return {"facts": FACTS, "entities": entities, "templates": TEMPLATES}


def data() -> Data:
    return Data.of(**tables())
