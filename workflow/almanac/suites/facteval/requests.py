"""FactEval's questions of a dataset: each test fact in every type, style and context, from templates and as written."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from almanac.dataset.names import ObjectNames
from almanac.rows import Fact, Item, Link, NotAsked, Question, Relation, Request
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.facteval.contexts import Passage, Passages
from almanac.suites.facteval.negatives import WRONG, WrongObjects
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import (
    MASK,
    MCQ,
    NONE,
    SAQ,
    STATEMENT,
    SUITE,
    TEMPLATE,
    TFQ,
    WH,
    Sentence,
    wordings,
)
from almanac.suites.facteval.writing import read_written
from almanac.suites.method import Data
from almanac.tables import hash_order

PROMPTS = Path(__file__).resolve().parents[4] / "resources" / "prompts" / "facteval.yaml"
ANSWER = "answer"
QUESTIONS = "questions"
POOLS = {"relation": "its relation", "type": "its object's type", "uniform": "the dataset"}
LINE = ("\n",)  # one line answers; a list of answers may take several


def prompts() -> dict[str, Any]:
    """Return what models are told: ``ask`` by type and style, ``write`` by style."""
    found: dict[str, Any] = yaml.safe_load(PROMPTS.read_text(encoding="utf-8"))
    return found


@dataclass
class Questioner:
    """What all questions of a dataset share, and what has been asked so far."""

    options: FactEvalOptions
    names: ObjectNames
    relations: Mapping[str, Relation]
    wrong: WrongObjects
    passages: Passages
    asked: Asked = field(default_factory=Asked)
    questions: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._told = {name: told["text"] for name, told in prompts()["ask"].items()}

    def refuse(self, fact: Fact, what: str, reason: str) -> None:
        """List what could not be asked of a fact."""
        self.asked.refused.append(NotAsked(f"fact {fact.fact_id}: {what}", reason))

    def ask(self, fact: Fact, sentences: Sequence[Sentence], short_answer: bool) -> None:
        """Ask one fact in every type, style and context.

        Args:
            fact: a test fact.
            sentences: its wordings.
            short_answer: whether its subject is asked for a short answer too; once a subject and relation.
        """
        passages = self._passages(fact)
        wrong: dict[str, list[str]] = {where: self._wrong(fact, where) for where in self.options.negatives}
        for sentence in sentences:
            for question in self._forms(fact, sentence, wrong, short_answer):
                for passage in passages:
                    self._add(fact, sentence.template_id, _behind(question, passage))

    def _passages(self, fact: Fact) -> list[Passage | None]:
        """Return what is read before the questions of a fact; none stands for nothing."""
        found: list[Passage | None] = []
        for context in dict.fromkeys(self.options.contexts):
            passage = None if context == NONE else self.passages.of(fact, context)
            if isinstance(passage, str):
                self.refuse(fact, context, passage)
            else:
                found.append(passage)
        return found

    def _wrong(self, fact: Fact, where: str) -> list[str]:
        """Return the labels of a fact's wrong objects; say so where there are too few."""
        keys = self.wrong.draw(fact, where)
        reason = f"{len(keys)} objects of {POOLS[where]} are false of its subject; needed are"
        if where == "type" and self.wrong.kind(fact.object_key) is None:
            reason = "its object has no type; needed are"
        if MCQ in self.options.types and len(keys) < WRONG:
            self.refuse(fact, f"{MCQ}, negatives={where}", f"{reason} {WRONG}")
        if TFQ in self.options.types and not keys:
            self.refuse(fact, f"{TFQ}, negatives={where}, the false statement", f"{reason} 1")
        return [self.names.label(key) for key in keys]

    def _forms(
        self, fact: Fact, sentence: Sentence, wrong: Mapping[str, Sequence[str]], short_answer: bool
    ) -> Iterable[Question]:
        """Yield the questions of one wording, without passages."""
        if sentence.style == STATEMENT:
            if TFQ in self.options.types:
                for where, labels in wrong.items():
                    yield from self._true_false(fact, sentence, where, labels)
            return
        if sentence.style not in self.options.styles:
            return
        if MCQ in self.options.types:
            for where, labels in wrong.items():
                if len(labels) == WRONG:
                    yield self._multiple_choice(fact, sentence, where, labels)
        if SAQ in self.options.types and short_answer:
            yield self._question(fact, sentence, SAQ, None, self.wrong.true[fact.relation_id, fact.subject_id])

    def _true_false(self, fact: Fact, sentence: Sentence, where: str, wrong: Sequence[str]) -> Iterable[Question]:
        """Yield a statement with the true object, and with a wrong one if there is any."""
        question = self._question(fact, sentence, TFQ, where, ())
        for truth, label in ((True, self.names.label(fact.object_key)), *((False, label) for label in wrong[:1])):
            yield replace(question, text=sentence.says(label), truth=truth, shown=label)

    def _multiple_choice(self, fact: Fact, sentence: Sentence, where: str, wrong: Sequence[str]) -> Question:
        """Return a question with the true object among wrong ones, in an order drawn for the fact."""
        label = self.names.label(fact.object_key)
        choices = hash_order((label, *wrong), self.options.seed, "order", where, fact.fact_id)
        return replace(self._question(fact, sentence, MCQ, where, (fact.object_key,)), choices=tuple(choices))

    def _question(self, fact: Fact, sentence: Sentence, kind: str, where: str | None, keys: Sequence[str]) -> Question:
        """Return a question without name, passage or choices; ``keys`` are the objects that answer it."""
        relation = self.relations[fact.relation_id]
        names = [(name, key) for key in keys for name in dict.fromkeys(self.names.names(key))]
        return Question(
            item_id="",
            relation_id=fact.relation_id,
            type=kind,
            style=sentence.style,
            origin=sentence.origin,
            context=NONE,
            negatives=where,
            text=sentence.says(MASK),
            choices=None,
            gold=tuple(name for name, _ in names),
            gold_object=tuple(key for _, key in names),
            datatype=fact.datatype,
            truth=None,
            shown=None,
            passage=None,
            passage_origin=None,
            stated=None,
            changed=None,
            mentions_subject=None,
            mentions_object=None,
            cardinality=relation.cardinality,
            domain=relation.domain,
            object_type=relation.object_type or self.wrong.kind(fact.object_key),
        )

    def _add(self, fact: Fact, template_id: str, question: Question) -> None:
        """Name a question, and add it with its item and the request that serves it."""
        experiment, setting = f"{question.type}-{question.style}", setting_of(question)
        item_id, accepted = f"{SUITE}/{experiment}/{setting}/{fact.fact_id}/{template_id}", question.gold
        if question.truth is not None:
            item_id += "/true" if question.truth else "/false"
            accepted = ("correct" if question.truth else "incorrect",)
        template = template_id if question.origin == TEMPLATE else None
        self.questions.append(replace(question, item_id=item_id))
        self.asked.items.append(
            Item(item_id, SUITE, experiment, fact.fact_id, fact.relation_id, template, setting, accepted)
        )
        request = Request(
            request_id="",
            kind="generate",
            context_id=None if question.passage is None else self.asked.context(question.passage),
            text=question.text,
            max_new_tokens=self.options.answer_tokens,
            stop=None if experiment == f"{SAQ}-{WH}" else LINE,
            samples=1,
            temperature=0.0,
            instruction=self._told[experiment],
            options=question.choices,
        )
        self.asked.links.append(Link(item_id, ANSWER, self.asked.request(request), None, None))


def ask(data: Data, options: FactEvalOptions, on_relation: Callable[[], object] = lambda: None) -> Asked:
    """Put the test facts of a dataset as questions.

    Args:
        data: a dataset's tables; all its facts say what is true, and wrong objects are drawn among them.
        options: types, styles, wrong objects, contexts, sample, seed; a file of written questions.
        on_relation: called after each relation.

    Returns:
        Items by type and style, one request each, the questions beside them, and what could not be asked with the
        reason. A subject with several true objects is asked for a short answer once a relation.

    Raises:
        AlmanacError: the file of written questions cannot be read or has a fault.
    """
    names = ObjectNames.of(data.entities)
    wrong = WrongObjects(data.facts, names, options.seed)
    worded = wordings(data.relations, data.templates, options.templates)
    passages = Passages(data.facts, names, data.evidence, worded, wrong, options.seed)
    questioner = Questioner(options, names, {row.relation_id: row for row in data.relations}, wrong, passages)
    tested = asked_facts(data.facts, options.sample, options.seed)
    written: Mapping[str, Sequence[Sentence]] = {}
    if options.written is not None:
        written, refused = read_written(Path(options.written), tested, names, wrong.true)
        questioner.asked.refused += refused
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in tested:
        by_relation[fact.relation_id].append(fact)
    for relation_id, own in sorted(by_relation.items()):
        first: set[str] = set()
        for fact in own:
            sentences = worded[relation_id].sentences(names.label(fact.subject_id))
            sentences += written.get(fact.fact_id, ())
            questioner.ask(fact, sentences, fact.subject_id not in first)
            first.add(fact.subject_id)
        on_relation()
    questioner.asked.beside[QUESTIONS] = questioner.questions
    return questioner.asked


def setting_of(question: Question) -> str:
    """Return how a question was made and asked, as items name it."""
    where = "" if question.negatives is None else f",negatives={question.negatives}"
    return f"origin={question.origin}{where},context={question.context}"


def _behind(question: Question, passage: Passage | None) -> Question:
    """Return a question behind a passage."""
    if passage is None:
        return question
    return replace(
        question,
        context=passage.context,
        passage=passage.text,
        passage_origin=passage.origin,
        stated=passage.stated,
        changed=passage.changed,
        mentions_subject=passage.mentions_subject,
        mentions_object=passage.mentions_object,
    )
