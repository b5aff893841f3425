"""Head-to-Tail's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class EntityTraits:
    """The labels of an item's question that metrics are grouped by.

    ``domain`` is movie, book, academics, open, or the relation's own; ``kind`` is the subject's type; ``popularity``
    and ``asked_bucket`` are the subject's, empty if they depend on the model. ``top``: among the most popular tenth of
    the head's questions of its type (section 3.3). ``predicate_bucket`` is the relation's bucket, by its number of
    facts (Table 6). ``natural``: people are likely to ask this (appendix A.4). ``answer_kind`` says which variants of
    true answers count: ``persons``, ``year``, ``profession``, ``school`` or ``text``.
    """

    KEY: ClassVar = ("item",)
    item: int
    domain: str
    kind: str
    popularity: int | None
    asked_bucket: str | None
    top: bool
    predicate_bucket: str | None
    natural: bool
    answer_kind: str


@dataclass(frozen=True, slots=True)
class BucketCount:
    """A bucket of one type of entity: the number of entities, and their popularity (the paper's Table 1)."""

    KEY: ClassVar = ("measure", "kind", "bucket")
    measure: str
    kind: str
    bucket: str
    entities: int
    total: int
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Score:
    """An answer's scores by rules, with variants of the true answers and without (``_plain``), and further verdicts.

    Scores are empty if the item has no answer, and 0 if the answer is missing. ``unknown``: it is missing by the
    extended list. ``differs``: an answer at temperature 1 differs from the first one. ``parsed``: the judge's reply has
    a verdict; ``disagrees``: that differs from the rules'. ``false_accept``: the judge called an answer correct that
    was wrong on purpose; empty if it was shown none. ``human`` is a person's verdict. ``exposed``: how often the model
    was taught facts about the subject, with the bucket by that; empty if no dose is known.
    """

    KEY: ClassVar = ("item",)
    item: int
    named: bool | None
    exact: bool | None
    f1: float | None
    rouge_l: float | None
    named_plain: bool | None
    exact_plain: bool | None
    f1_plain: float | None
    rouge_l_plain: float | None
    unknown: bool | None
    differs: bool | None
    parsed: bool | None
    disagrees: bool | None
    false_accept: bool | None
    human: bool | None
    exposed: int | None
    exposed_bucket: str | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer on which judge and rules disagree, or the judge gave no verdict; ``reply`` is the judge's text."""

    KEY: ClassVar = ("item",)
    item: int
    answer: str
    accepted: tuple[str, ...]
    rules: str
    judge: str
    reply: str


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """A person's verdict on an answer to the question of a fact."""

    KEY: ClassVar = ("fact_id", "answer")
    fact_id: str
    answer: str
    correct: bool
