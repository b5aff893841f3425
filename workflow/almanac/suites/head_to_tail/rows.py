"""Head-to-Tail's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class EntityTraits:
    """What an item asks about.

    ``domain`` is movie, book, academics, open, or the relation's own; ``kind`` the subject's type; ``popularity`` and
    ``asked_bucket`` the subject's, where they are known before a model is. ``top``: among the tenth most popular of the
    head's questions of its type (section 3.3). ``predicate_bucket`` is the relation's, by its number of facts (Table
    6). ``natural``: whether people are likely to ask this (appendix A.4). ``answer_kind`` says which variants count:
    ``persons``, ``year``, ``profession``, ``school`` or ``text``.
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
    """A bucket of one type of subject: how many the dataset has, and their popularity (the paper's Table 1)."""

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
    """How an answer scores by rules, with variants of the true answers and without, and what the judge says.

    All are none where there is no answer at all; the scores are 0 where the answer is missing. ``unknown``: it is
    missing by the extended list. ``differs``: an answer at temperature 1 is another one than the first of these.
    ``parsed`` and ``disagrees`` are the judge's: whether it gave a verdict, and another than the rules.
    ``false_accept``: it called a wrong answer correct that it was shown on purpose; none where it was shown none.
    ``human`` is a person's verdict. ``exposed`` is how often the model was taught facts of the subject, with its
    bucket; none of a subject of whose facts no dose is known.
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
    """An answer on which judge and rules part, or the judge gave no verdict; ``reply`` is what it said."""

    KEY: ClassVar = ("item",)
    item: int
    answer: str
    accepted: tuple[str, ...]
    rules: str
    judge: str
    reply: str


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """A person's verdict on an answer to the question that a fact answers."""

    KEY: ClassVar = ("fact_id", "answer")
    fact_id: str
    answer: str
    correct: bool
