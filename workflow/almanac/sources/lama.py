"""Routines shared by the sources of the LAMA family: a collector of rows, and LAMA's relations and templates."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from almanac.rows import Entity, Evidence, Fact, Relation, Template
from almanac.sources.names import clean
from almanac.sources.properties import of_property
from almanac.sources.reading import decoded, member, zipped
from almanac.sources.records import LIST_SEPARATOR
from almanac.sources.source_tables import Omissions, SourceTables, distinct

RELATIONS = "data/relations.jsonl"


class Probed(msgspec.Struct):
    """A line of LAMA's ``relations.jsonl``."""

    relation: str
    template: str
    label: str = ""
    description: str = ""
    type: str = ""


class Collected:
    """Collects facts, entities and evidence without duplicates, and returns them as a source's tables.

    Ids are cleaned like names, since some are names: ids that look the same are one.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._facts: dict[str, Fact] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._types: dict[str, str | None] = {}
        self._evidence: dict[tuple[str, str], Evidence] = {}
        self.omissions = Omissions()

    def entity(self, identity: str, names: Iterable[str], kind: str | None = None) -> bool:
        """Add names of an entity (the first ever added is its label); return whether it has any name."""
        identity = clean(identity)
        found = self._names.setdefault(identity, {})
        found.update(dict.fromkeys(name.strip() for name in names if clean(name)))
        self._types[identity] = self._types.get(identity) or kind
        return bool(found)

    def named(self, **ends: tuple[str, Iterable[str]]) -> bool:
        """Add names of subject and object, as (id, names); return whether both have a name, else count an omission."""
        for end, (identity, names) in ends.items():
            if not self.entity(identity, names):
                self.omissions.add("facts", f"{end} has no label", identity)
                return False
        return True

    def fact(
        self,
        relation: str,
        subject: str,
        *,
        object_id: str | None = None,
        value: str | None = None,
        datatype: str | None = None,
        precision: str | None = None,
        qualifiers: tuple[str, ...] = (),
        split: str | None = None,
    ) -> str:
        """Add a fact and return its id."""
        subject, object_id = clean(subject), object_id and clean(object_id)
        fact_id = f"{relation}|{subject}|{object_id or value}"
        fact = Fact(fact_id, relation, subject, object_id, value, datatype, precision, qualifiers, split, self._source)
        self._facts.setdefault(fact_id, fact)
        return fact_id

    def evidence(self, fact_id: str, text: str) -> None:
        """Add a text that states a fact."""
        if text.strip():
            self._evidence[fact_id, text.strip()] = Evidence(fact_id, text.strip())

    def relations(self) -> set[str]:
        """Return the ids of the relations that have facts."""
        return {fact.relation_id for fact in self._facts.values()}

    def tables(self, templates: Iterable[Template], relations: Iterable[Relation] = ()) -> SourceTables:
        """Return the tables; without ``relations`` the relation ids are taken for Wikidata properties.

        Relations without facts are left out with their templates, and so are templates that are not `distinct`.
        """
        used, kept = self.relations(), list[Template]()
        for row in distinct(templates, self.omissions):
            if row.relation_id in used:
                kept.append(row)
            else:
                self.omissions.add("templates", "relation has no facts", row.template_id)
        entities = [
            Entity(identity, next(iter(names)), tuple(names)[1:], self._types[identity])
            for identity, names in self._names.items()
            if names
        ]
        return SourceTables(
            entities=entities,
            relations=[row for row in relations or map(of_property, sorted(used)) if row.relation_id in used],
            facts=list(self._facts.values()),
            templates=kept,
            evidence=list(self._evidence.values()),
            omissions=self.omissions,
        )


def probed(archive: Path) -> tuple[list[Template], list[Relation]]:
    """Return the templates and relations of LAMA's archive.

    Raises:
        AlmanacError: the archive is missing or damaged, or lacks them.
    """
    with zipped(archive) as opened:
        lines = member(archive, opened, RELATIONS).splitlines()
    found = list(decoded(f"{archive}: {RELATIONS}", lines, Probed))
    relations = [
        Relation(row.relation, row.label or row.relation, row.relation, row.type or None, None, None) for row in found
    ]
    return [template(row.relation, row.template) for row in found], relations


def subject_of(name: str) -> str:
    """Return the id of a subject that has only a name; bars are escaped, since they separate the parts of a fact id."""
    return f"subject:{clean(name).replace(LIST_SEPARATOR, '%7C')}"


def template(relation: str, text: str) -> Template:
    """Return a relation's only template from the source itself: a statement with both slots."""
    return Template(f"{relation}/source/0", relation, text.strip(), "statement", "written", None, ())
