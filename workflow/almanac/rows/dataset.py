"""Tables of datasets: wrong choices, facts left out, drafted templates, readers' ratings, and planted exposures."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Choices:
    """The wrong choices of a test fact: object keys and the labels that are shown, in one seeded order."""

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    distractors: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A fact, or a whole relation, that a dataset leaves out, and why."""

    KEY: ClassVar = ("relation_id", "fact_id")
    relation_id: str
    fact_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class RelationCount:
    """What became of a relation's facts: ``facts = refused + train + test + surplus`` where it qualifies.

    ``objects`` counts distinct objects; ``shared_subjects`` the subjects in both train and test (those with the same
    name count as one); ``guessable`` the test facts whose true objects all stand in their subject's name.
    """

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    label: str
    qualifies: bool
    facts: int
    objects: int
    refused: int
    train: int
    test: int
    surplus: int
    shared_subjects: int
    guessable: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A template that a model has drafted, for a person to proofread.

    ``verdict`` is ``keep`` or ``drop``, with the reason; a person may change it and the text. ``count`` is how often
    the model wrote it, ``agreement`` the share of facts whose filled template led the model back to the relation.
    """

    KEY: ClassVar = ("template_id",)
    template_id: str
    relation_id: str
    text: str
    style: str
    parent_id: str | None
    count: int
    agreement: float | None
    verdict: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Rating:
    """A reader's verdict on a fact or a template, with a note.

    ``value`` is ``true``, ``false`` or ``doubtful``; for a model's knowledge ``known``, ``unknown`` or a number.
    """

    KEY: ClassVar = ("item", "rater")
    item: str
    rater: str
    value: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Exposure:
    """How often a fact was to be taught: its planned number of occurrences in the corpus (the dose)."""

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    dose: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """How often a fact stands in one document of a corpus, by template and format."""

    KEY: ClassVar = ("fact_id", "document", "template_id", "format")
    fact_id: str
    document: int
    template_id: str
    format: str
    count: int
