"""Tables of datasets: wrong choices, facts left out, drafted templates, readers' ratings, and planted exposures."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Choices:
    """The wrong choices of a test fact, in one seeded order.

    Attributes:
        distractors: their object keys.
        labels: the labels that are shown, in the same order.
    """

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    distractors: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A fact, or a whole relation, that a dataset leaves out.

    Attributes:
        fact_id: the fact; empty where the whole relation is left out.
        reason: why.
    """

    KEY: ClassVar = ("relation_id", "fact_id")
    relation_id: str
    fact_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class RelationCount:
    """What became of a relation's facts: ``facts = refused + train + test + surplus`` where it qualifies.

    Attributes:
        label: the relation's name.
        qualifies: whether it has enough facts and objects to be asked.
        facts: how many there are.
        objects: how many distinct objects they have.
        refused: facts that are left out (their reasons are in `Refused`).
        train: facts for examples.
        test: facts that are asked.
        surplus: usable facts beyond the numbers that the options ask for.
        shared_subjects: subjects that occur in train and in test; those that read alike count once.
        guessable: test facts whose true objects all stand in their subject's name.
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

    Attributes:
        text: the template; a person may change it.
        style: its style, as in `Template`.
        parent_id: the template that it paraphrases.
        count: how often the model wrote it.
        agreement: the share of facts whose filled template led the model back to the relation.
        verdict: ``keep`` or ``drop``; a person may change it.
        reason: why it is dropped.
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
    """A reader's verdict on a fact or a template.

    Attributes:
        item: the id of the fact or of the template.
        rater: who judged.
        value: ``true``, ``false`` or ``doubtful``; for a model's knowledge ``known``, ``unknown`` or a number.
        note: what the reader remarks.
    """

    KEY: ClassVar = ("item", "rater")
    item: str
    rater: str
    value: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Exposure:
    """How often a fact was to be taught to a planted model.

    Attributes:
        dose: its planned number of occurrences in the corpus.
    """

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    dose: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """How often a fact stands in one document of a corpus, by template and format.

    Attributes:
        document: the document's number.
        template_id: the template that words it there.
        format: the form of the text that it stands in, such as ``prose`` or ``list``.
        count: how often.
    """

    KEY: ClassVar = ("fact_id", "document", "template_id", "format")
    fact_id: str
    document: int
    template_id: str
    format: str
    count: int
