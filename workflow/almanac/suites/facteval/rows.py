"""FactEval's own tables: questions, verdicts on answers, the questions' texts, and questions written by a model."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """The labels of one question that metrics are grouped by.

    ``type`` is ``tfq``, ``mcq`` or ``saq``; ``style`` is ``statement``, ``fib`` (one ``[MASK]`` for the object) or
    ``wh``. ``question`` identifies the question without its passage: it is the first item that asks the same of the
    same fact (two facts of a subject may share a false statement). ``truth`` says whether a statement is true.
    ``answers`` says whether a short answer has one true object or several (``single``, ``multiple``). For an
    antifactual passage ``changed`` says whether anything was replaced.
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
    """The names that one question's answer is judged with, besides the accepted names of its item.

    ``objects``: for each accepted name of a short answer, the object that it names; ``shown``: the object of a
    statement; ``stated``: the wrong object that the passage names; ``given``: the name of a question in its file, if it
    comes from elsewhere.
    """

    KEY: ClassVar = ("item",)
    item: int
    objects: tuple[str, ...]
    shown: str | None
    stated: str | None
    given: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionTexts:
    """How much a relation's questions of one type and style repeat each other: their self-BLEU.

    The row without a relation has the mean over relations; it is empty if no relation has two questions.
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
    """The similarity of a question written by a model to those from templates, of the same fact and style.

    Means over ``pairs`` of the written wording with one from a template: BERTScore, and the distance of the embeddings
    (1 minus the cosine); empty if the embedder answered no pair.
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
    """The verdict of one mode (``strict``, ``paper``, ``official``) on a model's answer to a question.

    ``said`` is what was recognised in the answer; ``reason`` is why it is not correct, or why there is no answer.
    ``list_precision`` and ``list_recall`` are over objects, for short answers in mode ``strict``. ``follows`` says
    whether the answer names the wrong object that its passage states.
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
    """A question that a model wrote for one fact, for a person to proofread.

    ``style`` is ``statement``, ``fib`` or ``wh``. ``verdict`` is ``keep`` or ``drop``, with the reason; a person may
    change the verdict and the text.
    """

    KEY: ClassVar = ("fact_id", "style")
    fact_id: str
    relation_id: str
    style: str
    text: str
    verdict: str
    reason: str | None
