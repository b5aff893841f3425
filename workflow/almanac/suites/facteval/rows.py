"""FactEval's own tables: of questions, of the verdicts on answers, of the questions' texts, of what a model wrote."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """What numbers are counted by, of one question.

    ``type`` is ``tfq``, ``mcq`` or ``saq``; ``style`` is ``statement``, ``fib`` (one ``[MASK]`` for the object) or
    ``wh``. ``question`` is the number of the first item that asks the same of the same fact, whatever is read before
    it; of two facts of a subject a false statement may be the same. ``truth`` says
    whether a statement is true, ``answers`` whether a short answer has one true object or several (``single``,
    ``multiple``). Of a passage ``changed`` says whether an antifactual replacement did anything.
    """

    KEY: ClassVar = ("item",)
    item: int
    type: str
    style: str
    question: int
    truth: bool | None
    answers: str | None
    datatype: str | None
    cardinality: str | None
    domain: str | None
    object_type: str | None
    passage_origin: str | None
    changed: bool | None
    mentions_subject: bool | None
    mentions_object: bool | None


@dataclass(frozen=True, slots=True)
class QuestionNames:
    """The names of objects that one question's answer is read with, besides the accepted names of its item.

    ``objects`` has for each accepted name of a short answer the object that it names; ``shown`` is the object of a
    statement, ``stated`` the wrong object that the passage names. ``given`` is the name that a question from elsewhere
    has in its file.
    """

    KEY: ClassVar = ("item",)
    item: int
    objects: tuple[str, ...]
    shown: str | None
    stated: str | None
    given: str | None = None


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
    """How alike a question that a model has written is to those from templates, of the same fact and style.

    The means over ``pairs``, of one wording by the model and one by a template: BERTScore, and the distance of their
    embeddings (1 minus the cosine); none if the embedder answered no pair.
    """

    KEY: ClassVar = ("item",)
    item: int
    pairs: int
    bertscore_precision: float | None
    bertscore_recall: float | None
    bertscore_f1: float | None
    distance: float | None


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """What one mode of scoring (``strict``, ``paper``, ``official``) makes of a model's answer to a question.

    ``said`` is what was recognised in the answer, ``reason`` why it is not correct or why there is none. Of a short
    answer in mode ``strict`` ``list_precision`` and ``list_recall`` are over objects. ``follows`` says whether the
    answer names the wrong object that its passage states.
    """

    KEY: ClassVar = ("item", "reading")
    item: int
    reading: str
    said: str | None
    reason: str | None
    list_precision: float | None
    list_recall: float | None
    follows: bool | None


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
