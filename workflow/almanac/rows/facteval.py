"""The tables that FactEval alone has: its questions, the verdicts on answers, and how questions read."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Question:
    """A question that FactEval puts, or one from elsewhere that is scored.

    ``type`` is ``tfq``, ``mcq`` or ``saq``; ``style`` is ``statement``, ``fib`` (one ``[MASK]`` for the object) or
    ``wh``; ``origin`` is ``template`` or ``written`` (by a model). ``gold`` are the accepted names, ``gold_object``
    beside each the object that it names, the label of each object first: of one object in ``mcq``, of all true ones in
    ``saq``, none in ``tfq``, whose ``truth`` says whether the statement is true and ``shown`` which object it names.
    ``negatives`` says where wrong objects were drawn. ``passage`` is read before the question (``context`` says of what
    kind), ``stated`` is the wrong object that it names, ``changed`` whether an antifactual replacement did anything.
    """

    KEY: ClassVar = ("item_id",)
    item_id: str
    relation_id: str
    type: str
    style: str
    origin: str
    context: str
    negatives: str | None
    text: str
    choices: tuple[str, ...] | None
    gold: tuple[str, ...]
    gold_object: tuple[str, ...]
    datatype: str | None
    truth: bool | None
    shown: str | None
    passage: str | None
    passage_origin: str | None
    stated: str | None
    changed: bool | None
    mentions_subject: bool | None
    mentions_object: bool | None
    cardinality: str | None
    domain: str | None
    object_type: str | None


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question that a model has written for one fact, for a person to proofread.

    ``style`` is ``statement``, ``fib`` or ``wh``. ``verdict`` is ``keep`` or ``drop``, with the reason; a person may
    change it and the text.
    """

    KEY: ClassVar = ("fact_id", "style")
    fact_id: str
    relation_id: str
    style: str
    text: str
    verdict: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class FactEvalVerdict:
    """What one mode of FactEval's scoring (``paper``, ``official``) makes of a model's answer to a question.

    ``said`` is what was recognised in the answer, ``reason`` why it is not correct. ``credit`` is 1 or 0, of a correct
    short answer F1 over objects in mode ``paper``, whose ``precision`` and ``recall`` stand beside; none where there is
    no answer to judge. ``follows`` says whether the answer names the wrong object that its passage states.
    """

    KEY: ClassVar = ("model", "item_id", "mode")
    model: str
    item_id: str
    mode: str
    outcome: str
    said: str | None
    reason: str | None
    credit: float | None
    precision: float | None
    recall: float | None
    follows: bool | None


@dataclass(frozen=True, slots=True)
class QuestionTexts:
    """How much the questions of one type and style repeat each other: their self-BLEU within a relation.

    Without a relation: the mean over relations; none where no relation has two questions.
    """

    KEY: ClassVar = ("experiment", "origin", "negatives", "relation_id")
    experiment: str
    origin: str
    negatives: str | None
    relation_id: str | None
    questions: int
    self_bleu: float | None


@dataclass(frozen=True, slots=True)
class QuestionSimilarity:
    """BERTScore of questions that a model has written against those from templates, of one style.

    Without a relation: the mean over relations.
    """

    KEY: ClassVar = ("style", "relation_id")
    style: str
    relation_id: str | None
    pairs: int
    precision: float
    recall: float
    f1: float
