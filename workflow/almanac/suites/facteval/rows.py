"""FactEval's own tables: questions, verdicts on answers, the questions' texts, and questions written by a model."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """The labels of one question that metrics are grouped by.

    Attributes:
        type: ``tfq``, ``mcq`` or ``saq``.
        style: ``statement``, ``fib`` (one ``[MASK]`` for the object) or ``wh``.
        question: identifies the question without its passage: the first item that asks the same of the same fact. Two
            facts of a subject may share a false statement.
        truth: whether a statement is true.
        answers: whether a short answer has one true object or several (``single``, ``multiple``).
        datatype: of a literal object, as in `Fact`.
        cardinality: of the relation, as in `Relation`.
        domain: of the relation, as in `Relation`.
        object_type: of the relation, as in `Relation`, or else the object's type.
        passage_origin: where the passage that is read before it is from.
        changed: whether an antifactual replacement changed the passage.
        mentions_subject: whether the passage names the subject.
        mentions_object: whether it names the object.
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

    Attributes:
        objects: of a short answer: for each accepted name the object that it names.
        shown: the object of a statement.
        stated: the wrong object that the passage names.
        given: the name of the question in its file, if it comes from elsewhere.
    """

    KEY: ClassVar = ("item",)
    item: int
    objects: tuple[str, ...]
    shown: str | None
    stated: str | None
    given: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionTexts:
    """How much a relation's questions of one type and style repeat each other.

    Attributes:
        experiment: the type and style.
        origin: who worded them.
        negatives: where their wrong objects are from.
        relation_id: empty for the mean over relations.
        questions: how many there are.
        self_bleu: their self-BLEU; empty where no relation has two questions.
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

    Attributes:
        pairs: how many questions from templates the embedder compared it with. The other columns are means over these
            pairs, empty if there are none.
        bertscore_precision: BERTScore's precision.
        bertscore_recall: BERTScore's recall.
        bertscore_f1: BERTScore's F1.
        distance: the distance of their embeddings: 1 minus the cosine.
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
    """The verdict of one mode of scoring on a model's answer to a question.

    Attributes:
        reading: the mode: ``strict``, ``paper`` or ``official``.
        said: what was recognised in the answer: a verdict, choices or accepted names.
        reason: why it is not correct, or why nothing was recognised.
        list_precision: of the things that a short answer lists, the share that are true objects (``strict``).
        list_recall: of the true objects, the share that a short answer names (``strict``).
        follows: whether the answer names the wrong object that its passage states.
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
