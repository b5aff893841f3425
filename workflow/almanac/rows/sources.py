"""Tables of sources, and of datasets made from them: entities, relations, facts, templates and texts."""

from dataclasses import dataclass
from typing import ClassVar
from unicodedata import category

ALIAS = "alias"  # the style of a template that consists of another name of a property


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with its names.

    Attributes:
        label: the name by which it is asked; it comes before its aliases.
        aliases: its other names.
        type: its kind, such as ``film``, where the source has kinds.
    """

    KEY: ClassVar = ("entity_id",)
    entity_id: str
    label: str
    aliases: tuple[str, ...]
    type: str | None


@dataclass(frozen=True, slots=True)
class Popularity:
    """How well known an entity is, by one source's measure.

    Attributes:
        source: whose measure it is.
        type: the kind of entities that it is ranked among.
        score: votes, citations, sitelinks or mentions, by the source.
        bucket: ``head``, ``torso`` or ``tail``; empty where a source gives scores alone, until a dataset divides them.
    """

    KEY: ClassVar = ("entity_id", "source", "type")
    entity_id: str
    source: str
    type: str
    score: int
    bucket: str | None


@dataclass(frozen=True, slots=True)
class BucketSize:
    """A bucket of one type of entity: its size, and the popularity of what is in it.

    Attributes:
        source: whose measure of popularity it is.
        type: the kind of entities.
        bucket: ``head``, ``torso`` or ``tail``.
        entities: how many it holds.
        popularity: the sum of their scores.
        lowest: the least of their scores.
        highest: the largest of them.
        shape: whether popularity could be divided in three (`sources/thirds.py`).
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
    """A relation between subjects and objects.

    Attributes:
        label: its name, such as *place of birth*.
        property: its Wikidata property path, where it has one (``P166/P585``).
        cardinality: ``1-1``, ``N-1`` or ``N-M``; FactEval groups its results by it.
        object_type: the type of its objects, by which FactEval groups its results. Head-to-Tail accepts initials for a
            ``person`` and a date of that year for a ``year``.
        domain: its field, by which FactEval and Head-to-Tail group results. Head-to-Tail does not ask domain
            ``context``.
        popularity: how many facts of it there are, by the source.
        bucket: ``head``, ``torso`` or ``tail`` by that number.
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

    Attributes:
        fact_id: ``relation|subject|object``.
        subject_id: the entity that the fact is about.
        object_id: the entity that is its object.
        value: a literal object as text.
        datatype: of a literal: ``date``, ``quantity`` or ``string``.
        precision: of a date: ``year``, ``month`` or ``day``.
        qualifiers: what else the source says of it, each as ``name=value``, such as a quantity's ``unit``.
        split: ``train`` or ``test``, where a source prescribes it or a dataset has drawn it.
        source: where it is from.
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

    Attributes:
        text: the pattern.
        style: ``statement``, ``question``, ``prefix`` or ``alias``. An alias puts another name of the property between
            subject and object; this is no sentence, and only KaRR uses it, if its settings ask for that.
        origin: who wrote it.
        parent_id: the template that it paraphrases.
        entails: the templates that follow from it.
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
    """A text that states a fact, if the source has such texts.

    Attributes:
        text: the text.
    """

    KEY: ClassVar = ("fact_id", "text")
    fact_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Omission:
    """Rows that a source left out of one of its tables for one reason.

    Attributes:
        table: the table without them.
        reason: why.
        count: how many they are.
        example: one of them.
    """

    KEY: ClassVar = ("table", "reason")
    table: str
    reason: str
    count: int
    example: str | None
