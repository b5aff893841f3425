"""How a fact is worded: as a statement, with a blank, as a Wh-question; from templates or as a model has written it.

And the suite's own tables: of questions, of the verdicts on answers, and of the questions' texts.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from almanac.dataset.templates import SLOT, filled, folded, from_label, in_full
from almanac.rows import Relation, Template

TFQ, MCQ, SAQ = "tfq", "mcq", "saq"
STATEMENT, FIB, WH = "statement", "fib", "wh"
NONE, RELEVANT, IRRELEVANT, ANTIFACTUAL = "none", "relevant", "irrelevant", "antifactual"
TEMPLATE, WRITTEN = "template", "written"
LABEL = "label"  # part of the id of a sentence that is made of a relation's label
MASK = "[MASK]"
BLANKS = "blank"  # the kind of documents that teach a planted model to say what a `MASK` stands for
# What a reader is told of each type and style.
NAMES: Mapping[str, str] = {
    f"{TFQ}-{STATEMENT}": "true or false",
    f"{MCQ}-{FIB}": "choice for a blank",
    f"{MCQ}-{WH}": "choice for a question",
    f"{SAQ}-{FIB}": "blank",
    f"{SAQ}-{WH}": "question",
}
Texts = Mapping[str, str]  # of templates that differ, with the first id of each
# Where wrong objects are from.
POOLS = {"relation": "its relation", "type": "its object's type", "uniform": "the dataset"}


class FactEvalSetting(NamedTuple):
    """How a question was made and asked: who worded it, where its wrong objects are from, what is read before it."""

    origin: str
    negatives: str | None
    context: str

    def label(self) -> str:
        """Say it to a reader."""
        wrong = "" if self.negatives is None else f", wrong objects of {POOLS.get(self.negatives, self.negatives)}"
        passage = "no passage" if self.context == NONE else f"{self.context} passage"
        return f"{'by a template' if self.origin == TEMPLATE else self.origin}{wrong}, {passage}"


@dataclass(frozen=True)
class WordedFact:
    """One wording of one fact.

    Attributes:
        style: ``statement``, ``fib`` or ``wh``.
        origin: ``template`` or ``written``.
        template_id: the template, or ``written``.
        parts: the text around each place where the object stands; one part where it stands nowhere.
    """

    style: str
    origin: str
    template_id: str
    parts: tuple[str, ...]

    def says(self, found: str) -> str:
        """Return the text with a name, or the blank, where the object stands."""
        return found.join(self.parts)


@dataclass(frozen=True)
class Wording:
    """The templates of a relation that are used, by id: statements, which serve as blanks too, and questions.

    ``spare`` is the statement for passages: one that asks nothing, where there is one. ``shared`` has the other
    relations that a template of the same words belongs to, by the template's id.
    """

    statements: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, str], ...]
    spare: str
    shared: Mapping[str, tuple[str, ...]]

    def sentences(self, subject: str) -> list[WordedFact]:
        """Return all wordings of a subject's facts."""
        out = []
        for template_id, text in self.statements:
            parts = tuple(part.replace("[X]", subject) for part in text.split("[Y]"))
            out += [WordedFact(STATEMENT, TEMPLATE, template_id, parts), WordedFact(FIB, TEMPLATE, template_id, parts)]
        for template_id, text in self.questions:
            out.append(WordedFact(WH, TEMPLATE, template_id, (filled(text, subject, ""),)))
        return out


def wordings(relations: Iterable[Relation], templates: Iterable[Template], count: int) -> dict[str, Wording]:
    """Return the wording of each relation: its first templates by id.

    A prefix serves where a relation has no statement; where it has nothing, its label does (``The LABEL of X is Y.``).
    Words that another relation is asked in too (``[X] was born in [Y].`` of place and year) come after all others.

    Args:
        relations: all relations of the facts.
        templates: their templates; what lacks a slot for the subject, or a statement's for the object, is passed over.
        count: how many statements, and questions, a relation gets at most.
    """
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in sorted(templates, key=lambda one: one.template_id):
        text = in_full(row)
        wanted = ["[X]"] if row.style == "question" else ["[X]", "[Y]"]
        if sorted(SLOT.findall(text)) == wanted:
            found[row.relation_id, row.style].setdefault(text, row.template_id)
    texts = {row.relation_id: _texts(row, found) for row in relations}
    said: dict[str, set[str]] = defaultdict(set)
    for own, both in texts.items():
        for text in itertools.chain(*both):
            said[folded(text)].add(own)
    return {own: _wording(own, *both, said, count) for own, both in texts.items()}


def _texts(relation: Relation, found: Mapping[tuple[str, str], Texts]) -> tuple[Texts, Texts]:
    """Return the statements and the questions of a relation."""
    own, label = relation.relation_id, relation.label.strip() or relation.relation_id
    statements = (
        found.get((own, "statement")) or found.get((own, "prefix")) or {from_label(label): f"{own}/{LABEL}/statement"}
    )
    return statements, found.get((own, "question")) or {f"What is the {label} of [X]?": f"{own}/{LABEL}/question"}


def _wording(own: str, told: Texts, asked: Texts, said: Mapping[str, set[str]], count: int) -> Wording:
    others = {name: tuple(sorted(said[folded(text)] - {own})) for text, name in (*told.items(), *asked.items())}
    shared = {name: found for name, found in others.items() if found}
    statements, questions = (
        sorted(((name, text) for text, name in texts.items()), key=lambda one: one[0] in shared)
        for texts in (told, asked)
    )
    spare = statements[count if len(statements) > count else 0][1]
    return Wording(tuple(statements[:count]), tuple(questions[:count]), spare, shared)


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """What numbers are counted by, of one question.

    ``type`` is ``tfq``, ``mcq`` or ``saq``; ``style`` is ``statement``, ``fib`` (one ``[MASK]`` for the object) or
    ``wh``. ``question`` is the number of the first item that asks the same, whatever is read before it. ``truth`` says
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
