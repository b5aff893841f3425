"""Head-to-Tail's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class EntityTraits:
    """The labels of an item's question that metrics are grouped by.

    Attributes:
        domain: ``movie``, ``book``, ``academics``, ``open``, or the relation's own.
        kind: the subject's type.
        popularity: the subject's popularity; empty if that depends on the model.
        asked_bucket: the subject's bucket by popularity; empty likewise.
        top: whether it is among the most popular tenth of the head's questions of its type (section 3.3).
        predicate_bucket: the relation's bucket by its number of facts (Table 6).
        natural: whether people are likely to ask this (appendix A.4).
        answer_kind: which variants of the true answer count: ``persons``, ``year``, ``profession``, ``school`` or
            ``text``.
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
    """A bucket of one type of subject: how many subjects it has, and their popularity (the paper's Table 1).

    Attributes:
        measure: what popularity is measured by.
        kind: the type.
        bucket: ``head``, ``torso`` or ``tail``.
        entities: how many subjects of the dataset are in it.
        total: the sum of their popularity.
        lowest: the lowest popularity of one of them.
        highest: the highest popularity of one of them.
    """

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
    """An answer's scores by rules, and what the judge says.

    All but ``exposed`` and ``exposed_bucket`` are empty where there is no answer at all. Scores by rules are 0 where
    the answer is missing; the columns ``…_plain`` compare with the true answers alone, the others with variants too.

    Attributes:
        named: whether it names a true answer, in whatever words.
        exact: whether it is one.
        f1: token F1.
        rouge_l: ROUGE-L.
        named_plain: as ``named``.
        exact_plain: as ``exact``.
        f1_plain: as ``f1``.
        rouge_l_plain: as ``rouge_l``.
        unknown: whether it is missing by the extended list of abstentions.
        differs: whether an answer at temperature 1 differs from the first of these.
        parsed: whether the judge gave a verdict.
        disagrees: whether the judge gave another verdict than the rules.
        false_accept: whether the judge called a wrong answer correct that it was shown on purpose; empty if it saw
            none.
        human: a person's verdict.
        exposed: how often the model was taught facts of the subject; empty where no dose is known.
        exposed_bucket: the subject's bucket by exposure.
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
    """An answer on which judge and rules disagree, or of which the judge gave no verdict.

    Attributes:
        answer: the model's answer.
        accepted: the true answers.
        rules: the outcome by rules.
        judge: the judge's verdict: ``correct``, ``incorrect`` or ``neither``.
        reply: what the judge said.
    """

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
