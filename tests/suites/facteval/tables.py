"""Small tables of facts for FactEval's tests."""

from almanac.rows import Entity, Evidence, Fact, Relation, Template
from almanac.suites.data import Data


def fact(relation, subject, found, split="test"):
    """Return a fact between entities."""
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "x")


def literal(relation, subject, value, datatype="date", precision=None, split="test"):
    """Return a fact with a literal."""
    return Fact(f"{relation}|{subject}|{value}", relation, subject, None, value, datatype, precision, (), split, "x")


def entity(name, *aliases, kind=None, label=None):
    """Return an entity called by its id, or by a label."""
    return Entity(name, label or name, aliases, kind)


def relation(name, label=None, **more):
    """Return a relation without more than a label."""
    given = {"property": None, "cardinality": None, "object_type": None, "domain": None} | more
    return Relation(name, label or name, **given)


def template(name, text, style="statement", own="capital"):
    """Return a template of a relation."""
    return Template(f"{own}/{name}", own, text, style, "written", None, ())


def entities_of(facts, *known):
    """Return the entities that facts name: those that are given, the others by their ids."""
    found = {row.entity_id: row for row in known}
    for row in facts:
        for name in (row.subject_id, row.object_id):
            if name is not None:
                found.setdefault(name, entity(name))
    return list(found.values())


def data(facts, known=(), relations=None, templates=(), evidence=()):
    """Return a dataset of facts; what is not given is made of the names."""
    return Data.of(
        entities=entities_of(facts, *known),
        relations=relations or [relation(name) for name in sorted({row.relation_id for row in facts})],
        facts=list(facts),
        templates=list(templates),
        evidence=[Evidence(fact_id, text) for fact_id, text in evidence],
    )


CAPITALS = {
    "France": "Paris",
    "Kenya": "Nairobi",
    "Japan": "Tokyo",
    "Peru": "Lima",
    "Ghana": "Accra",
    "Cuba": "Havana",
}
FACTS = [fact("capital", *pair) for pair in CAPITALS.items()]
TEMPLATES = [
    template(0, "The capital of [X] is [Y]."),
    template(1, "[Y] is the seat of the government of [X]."),
    template("q", "What is the capital of [X]?", "question"),
]
