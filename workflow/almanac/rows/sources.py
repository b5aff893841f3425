"""Tables of sources, and of datasets made from them: entities, relations, facts, templates and texts."""

from dataclasses import dataclass
from typing import ClassVar
from unicodedata import category

ALIAS = "alias"  # the style of a template that consists of another name of a property


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with its names."""

    KEY: ClassVar = ("entity_id",)
    entity_id: str
    label: str
    aliases: tuple[str, ...]
    type: str | None


@dataclass(frozen=True, slots=True)
class Popularity:
    """How well known an entity is, by one source's measure (votes, citations, sitelinks, mentions)."""

    KEY: ClassVar = ("entity_id", "source", "type")
    entity_id: str
    source: str
    type: str
    score: int
    bucket: str | None


@dataclass(frozen=True, slots=True)
class BucketSize:
    """A bucket of one type of entity: how many entities, their total popularity, the range of their scores.

    ``shape`` says whether popularity could be divided in three (`sources/thirds.py`).
    """

    KEY: ClassVar = ("source", "type", "bucket")
    source: str
    type: str
    bucket: str
    entities: int
    popularity: int
    lowest: int | None
    highest: int | None
    shape: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation; ``property`` is its Wikidata property path where it has one (``P166/P585``).

    ``cardinality`` (``1-1``, ``N-1``, ``N-M``), ``object_type`` and ``domain`` are labels by which FactEval groups its
    results (Head-to-Tail by ``domain``), or null. Head-to-Tail accepts initials for objects of type ``person``, a date
    of that year for type ``year``, and does not ask relations of the domain ``context``.
    """

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    label: str
    property: str | None
    cardinality: str | None
    object_type: str | None
    domain: str | None
    popularity: int | None = None
    bucket: str | None = None

    def without_words(self) -> bool:
        """Return whether it has no label but its id, and that is no plain word (lower-case letters)."""
        letters = all(category(char)[0] in "LM" or char in "-'’" for char in self.label)
        return self.label == self.relation_id and not (letters and self.label == self.label.lower())


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple. The object is an entity (``object_id``) or a literal (``value`` with ``datatype``), never both.

    ``fact_id`` is ``relation|subject|object``. ``datatype`` is ``date``, ``quantity`` or ``string``; ``precision`` is
    ``year``, ``month`` or ``day`` for dates. ``split`` is ``train`` or ``test`` where a source prescribes it or a
    dataset has drawn it.
    """

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    relation_id: str
    subject_id: str
    object_id: str | None
    value: str | None
    datatype: str | None
    precision: str | None
    qualifiers: tuple[str, ...]
    split: str | None
    source: str

    @property
    def object_key(self) -> str:
        """The object's identity within the relation: the entity's id or the literal's text."""
        return self.object_id if self.object_id is not None else str(self.value)


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence pattern: ``[X]`` is the subject, ``[Y]`` the object (absent from prefixes and questions).

    ``style`` is ``statement``, ``question``, ``prefix`` or ``alias``. An alias puts another name of the property
    between subject and object; this is no sentence, and only KaRR uses it, if its settings ask for that.
    """

    KEY: ClassVar = ("template_id",)
    template_id: str
    relation_id: str
    text: str
    style: str
    origin: str
    parent_id: str | None
    entails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that states a fact, if the source has such texts."""

    KEY: ClassVar = ("fact_id", "text")
    fact_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Omission:
    """Rows that a source left out of one of its tables for one reason: how many, and an example."""

    KEY: ClassVar = ("table", "reason")
    table: str
    reason: str
    count: int
    example: str | None
