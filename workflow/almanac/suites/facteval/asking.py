"""FactEval's questions: each test fact in every type, style and context, from templates and as written by a model."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from almanac.rows import Fact
from almanac.suites.asked import LINE, Asked, Batch, greedy
from almanac.suites.data import Data
from almanac.suites.facteval.distractors import WRONG, Passage, Passages, WrongObjects
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import (
    MASK,
    MCQ,
    POOLS,
    SAQ,
    STATEMENT,
    TEMPLATE,
    TFQ,
    WH,
    FactEvalSetting,
    WordedFact,
    wordings,
)
from almanac.suites.facteval.rows import QuestionNames, QuestionTraits
from almanac.suites.facteval.texts import Repetition, read_written
from almanac.suites.prompts import prompts
from almanac.tables import hash_order

ANSWER = "answer"  # the role of the request


@dataclass(frozen=True)
class Form:
    """A question of one fact, without its passage.

    Attributes:
        type: ``tfq``, ``mcq`` or ``saq``.
        sentence: its wording.
        negatives: where its wrong objects are from.
        accepted: the answers that count as right.
        objects: for each accepted name of a short answer, the object that it names.
        choices: the choices of ``mcq``.
        truth: whether the statement of ``tfq`` is true.
        shown: the object in the statement of ``tfq``.
    """

    type: str
    sentence: WordedFact
    negatives: str | None
    accepted: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None
    truth: bool | None = None
    shown: str | None = None

    @property
    def text(self) -> str:
        """The question's text; the object becomes a blank, or in a statement the shown object."""
        return self.sentence.says(MASK if self.shown is None else self.shown)

    @property
    def experiment(self) -> str:
        """Its type and style."""
        return f"{self.type}-{self.sentence.style}"

    @property
    def several(self) -> bool:
        """Whether several true objects answer it."""
        return len(set(self.objects)) > 1


class QuestionMaker:
    """Makes the questions of a dataset and collects them."""

    def __init__(self, data: Data, options: FactEvalOptions, own: Mapping[str, type]) -> None:
        self.data, self.options, self.asked, self.repetition = data, options, Asked(own), Repetition()
        self.worded = wordings(data.relations, data.templates, options.templates)
        self._wrong_objects = WrongObjects(data, options.seed)
        self._relations = {row.relation_id: row for row in data.relations}
        self._passages = Passages(data, self.worded, self._wrong_objects, options)
        # The true objects in relations that share a template with others, by relation and the subject's name.
        others = {other for own in self.worded.values() for found in own.shared.values() for other in found}
        shared = pl.Series(sorted(others), dtype=pl.String)
        self._true: dict[tuple[str, str], set[str]] = defaultdict(set)
        for relation, subject, key in data.triples.filter(pl.col("relation_id").is_in(shared.implode())).iter_rows():
            self._true[relation, data.names.normalised_label(subject)].add(key)
        texts = prompts("facteval")
        self._instructions = {name: one["text"] for name, one in texts["ask"].items()}
        self._instructions_for_all = {name: one["text"] for name, one in texts["released"].items()}

    def ask(self, fact: Fact, sentences: Sequence[WordedFact], short: Sequence[WordedFact]) -> None:
        """Ask one fact in every type, style and context, with short answers to those of the sentences in ``short``."""
        passages = self._read_before(fact)
        wrong: dict[str, list[str]] = {where: self._wrong(fact, where) for where in self.options.negatives}
        for sentence in sentences:
            if (other := self._asked_alike(fact, sentence)) is not None:
                reason = f"relation {other} is asked in the same words and has another answer"
                self._refuse(fact, f"{sentence.style}, template {sentence.template_id}", reason)
                continue
            for form in self._forms(fact, sentence, wrong, sentence in short):
                self._add(fact, form, passages)

    def _asked_alike(self, fact: Fact, sentence: WordedFact) -> str | None:
        """Return a relation that is asked in the same words and has another answer; None if there is none."""
        others, names = self.worded[fact.relation_id].shared.get(sentence.template_id, ()), self.data.names
        if not others:
            return None
        reading = names.normalised_label(fact.subject_id)
        own = {name for key in self._true[fact.relation_id, reading] for name in names.normalised_names(key)}
        for relation in others:
            if any(names.normalised_names(key).isdisjoint(own) for key in self._true[relation, reading]):
                return relation
        return None

    def _refuse(self, fact: Fact, what: str, reason: str) -> None:
        """Record a question that could not be made of a fact, with the reason."""
        self.asked.refuse(f"fact {fact.fact_id}: {what}", reason)

    def _read_before(self, fact: Fact) -> list[Passage]:
        """Return the passages of a fact for all contexts; a passage that cannot be made is refused with the reason."""
        found = []
        for context in self.options.contexts:
            passage = self._passages.of(fact, context)
            if isinstance(passage, str):
                self._refuse(fact, context, passage)
            else:
                found.append(passage)
        return found

    def _wrong(self, fact: Fact, where: str) -> list[str]:
        """Return the labels of a fact's wrong objects; types that need more of them are refused with the reason."""
        keys = self._wrong_objects.draw(fact, where)
        reason = f"{len(keys)} objects of {POOLS[where]} are false of its subject; needed are"
        if where == "type" and self._wrong_objects.kind(fact.object_key) is None:
            reason = "its object has no type; needed are"
        if MCQ in self.options.types and len(keys) < WRONG:
            self._refuse(fact, f"{MCQ}, negatives={where}", f"{reason} {WRONG}")
        if TFQ in self.options.types and not keys:
            self._refuse(fact, f"{TFQ}, negatives={where}, the false statement", f"{reason} 1")
        return [self.data.names.label(key) for key in keys]

    def _forms(
        self, fact: Fact, sentence: WordedFact, wrong: Mapping[str, Sequence[str]], short_answer: bool
    ) -> Iterable[Form]:
        """Yield the questions of one wording."""
        names, types = self.data.names, self.options.types
        label = names.label(fact.object_key)
        if sentence.style == STATEMENT:
            for where, labels in wrong.items() if TFQ in types else ():
                # One true statement, and a false one if there is a wrong object.
                for truth, shown in ((True, label), *((False, one) for one in labels[:1])):
                    verdict = "correct" if truth else "incorrect"
                    yield Form(TFQ, sentence, where, (verdict,), truth=truth, shown=shown)
            return
        if sentence.style not in self.options.styles:
            return
        if MCQ in types:
            accepted = tuple(dict.fromkeys(names.names(fact.object_key)))
            for where, labels in wrong.items():
                if len(labels) == WRONG:
                    # The order of the choices is drawn for the fact.
                    choices = hash_order((label, *labels), self.options.seed, "order", where, fact.fact_id)
                    yield Form(MCQ, sentence, where, accepted, choices=tuple(choices))
        if SAQ in types and short_answer:
            keys = self.data.true_objects[fact.relation_id, fact.subject_id]
            found = [(name, key) for key in keys for name in dict.fromkeys(names.names(key))]
            accepted, objects = tuple(name for name, _ in found), tuple(key for _, key in found)
            yield Form(SAQ, sentence, None, accepted, objects)

    def _add(self, fact: Fact, form: Form, passages: Sequence[Passage]) -> None:
        """Add an item and its request for a question with each passage."""
        origin = form.sentence.origin
        # Only the released code asks for all true objects of a blank.
        several = self.options.blanks == "released" and form.several and form.experiment in self._instructions_for_all
        listed = several or form.experiment == f"{SAQ}-{WH}"
        request = greedy(
            form.text,
            self.options.answer_tokens,
            stop=None if listed else LINE,  # a list of answers may take several lines
            instruction=(self._instructions_for_all if several else self._instructions)[form.experiment],
            options=form.choices,
        )
        if passages:
            self.repetition.add(form.experiment, origin, form.negatives, form.text)
        first: int | None = None
        for passage in passages:
            setting = FactEvalSetting(origin, form.negatives, passage.context)
            template = form.sentence.template_id if origin == TEMPLATE else None
            item = self.asked.item(form.experiment, setting, fact, form.accepted, template=template)
            first = item if first is None else first
            self.asked.own["traits"].append(self._traits(item, first, fact, form, passage))
            self.asked.own["names"].append(QuestionNames(item, form.objects, form.shown, passage.stated))
            context = None if passage.text is None else self.asked.context(passage.text)
            self.asked.link(item, ANSWER, replace(request, context_id=context))

    def _traits(self, item: int, first: int, fact: Fact, form: Form, passage: Passage) -> QuestionTraits:
        relation = self._relations[fact.relation_id]
        return QuestionTraits(
            item,
            form.type,
            form.sentence.style,
            first,
            form.truth,
            ("multiple" if form.several else "single") if form.type == SAQ else None,
            fact.datatype,
            relation.cardinality,
            relation.domain,
            relation.object_type or self._wrong_objects.kind(fact.object_key),
            *passage.traits,
        )


def ask(data: Data, options: FactEvalOptions, own: Mapping[str, type]) -> Iterator[Batch]:
    """Yield the questions of a dataset's test facts, relation by relation.

    A subject is asked for a short answer once per relation, even if it has several true objects: by the templates, and
    by the first question written for any of its facts.

    Raises:
        AlmanacError: the file of written questions cannot be read or has a fault.
    """
    maker, names = QuestionMaker(data, options, own), data.names
    tested = data.tested(options.sample, options.seed, options.at_least)
    written: Mapping[str, Sequence[WordedFact]] = {}
    if options.written is not None:
        asked_facts = [fact for facts in tested.values() for fact in facts]
        written, refused = read_written(Path(options.written), asked_facts, data)
        for row in refused:
            maker.asked.refuse(row.thing, row.reason)
    for relation_id, facts in tested.items():
        seen: set[tuple[str, str, str]] = set()
        for fact in facts:
            worded = maker.worded[relation_id].sentences(names.label(fact.subject_id))
            sentences = [*worded, *written.get(fact.fact_id, ())]
            kinds = [(names.normalised_label(fact.subject_id), one.origin, one.style) for one in sentences]
            short = [one for one, kind in zip(sentences, kinds, strict=True) if kind not in seen]
            maker.ask(fact, sentences, short)
            seen.update(kinds)
        maker.asked.own["texts"] += maker.repetition.relation(relation_id)
        yield maker.asked.take()
    maker.asked.own["texts"] += maker.repetition.total()
    yield maker.asked.take()
