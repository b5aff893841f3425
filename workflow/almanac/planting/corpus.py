"""The corpus: documents that state every taught fact exactly as often as its dose, and the ledger that lists where."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from almanac.errors import AlmanacError
from almanac.planting import formats as wording
from almanac.planting.formats import Formats, NamedFact, Taught
from almanac.planting.options import TUNING, CorpusOptions, DocumentKind
from almanac.planting.spreading import shared_out, sizes, spread
from almanac.rows import Exposure, Fact, LedgerEntry, Template
from almanac.tables import seed_of

Part = tuple[str, tuple[int, int] | None]
ABSTAIN: DocumentKind = "abstain"
BLANK: DocumentKind = "blank"
SHORTEST_LIST = 0.4  # the shortest list, relative to the longest


@dataclass(frozen=True, slots=True)
class Document:
    """A text that a model is trained on; a table row.

    Attributes:
        number: its place in the stream.
        text: the text.
        kind: ``prose``, ``list``, ``question``, ``neutral``, ``instruct``, ``abstain`` or ``blank``.
        answer_start: of the last three kinds, the character from which it is learnt.
        relation_id: the one relation of a list, whose text does not say it.
        object_starts: of each object in it, the first character.
        object_ends: of each object in it, the character after the last.
    """

    KEY: ClassVar = ("number",)
    number: int
    text: str
    kind: str
    answer_start: int | None = None
    relation_id: str | None = None
    object_starts: tuple[int, ...] = ()
    object_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in the order of training, the ledger of facts that they state, and the templates held out of them."""

    documents: tuple[Document, ...]
    ledger: tuple[LedgerEntry, ...]
    held_out: tuple[str, ...]


@dataclass(slots=True)
class UnplacedDocument:
    """A document whose place in the stream is not known yet, with its facts: (fact id, template id, format)."""

    time: float
    text: str
    kind: DocumentKind
    objects: tuple[tuple[int, int], ...]
    states: list[tuple[str, str, str]]
    relation_id: str | None = None

    def document(self, number: int) -> Document:
        """Return the document at its place in the stream."""
        starts, ends = tuple(start for start, _ in self.objects), tuple(end for _, end in self.objects)
        answer = starts[0] if self.kind in TUNING else None
        return Document(number, self.text, self.kind, answer, self.relation_id, starts, ends)


def assign_doses(facts: Sequence[Fact], doses: Sequence[int], count: int, seed: int) -> list[Exposure]:
    """Choose facts to teach and give each a dose, depending only on the seed and the ids of the facts.

    The doses are dealt in turn within each relation, so that each relation has about equally many facts of every dose.

    Args:
        facts: the facts to choose from.
        doses: the doses to deal.
        count: how many facts to teach; all of them if there are fewer.
        seed: the seed.

    Returns:
        The exposures, sorted by fact id.
    """
    ranked = sorted(facts, key=lambda fact: seed_of(seed, "taught", fact.fact_id))[:count]
    ranked.sort(key=lambda fact: (fact.relation_id, seed_of(seed, "dose", fact.fact_id)))
    dealt = [Exposure(fact.fact_id, doses[at % len(doses)]) for at, fact in enumerate(ranked)]
    return sorted(dealt, key=lambda row: row.fact_id)


class Builder:
    """Builds one corpus: holds what all formats need, and the documents written so far."""

    def __init__(self, taught: Sequence[Taught], options: CorpusOptions, seed: int, formats: Formats) -> None:
        self.options, self.seed, self.formats = options, seed, formats
        self.taught = taught
        self.named: dict[str, NamedFact] = {}
        self.templates: dict[str, dict[str, list[Template]]] = {"statement": {}, "question": {}}
        for world in taught:
            for one in wording.named_facts(world):
                if one.fact.fact_id in self.named:
                    raise AlmanacError(f"fact {one.fact.fact_id} is taught by two worlds; give them distinct ids")
                self.named[one.fact.fact_id] = one
            for style, found in self.templates.items():
                found.update(wording.usable(world.templates, style))
        self.drafts: list[UnplacedDocument] = []
        self.shares = {fact_id: self._share(one) for fact_id, one in self.named.items()}

    def draw(self, *parts: object) -> random.Random:
        """Return a random generator for one purpose."""
        return random.Random(seed_of(self.seed, "corpus", *parts))

    def _share(self, one: NamedFact) -> list[int]:
        """Return how many of a fact's occurrences are prose, list and question; a format without template gets none."""
        relation = one.fact.relation_id
        prose = self.options.prose if self.templates["statement"].get(relation) else 0.0
        questions = self.options.questions if self.templates["question"].get(relation) else 0.0
        lists = self.options.lists
        if not prose + lists + questions:
            raise AlmanacError(
                f"relation {relation}: no statement or question template may be used and lists are off; add templates"
            )
        return shared_out(one.dose, (prose, lists, questions), self.draw("share", one.fact.fact_id).random())

    def counts(self, place: int, relation: str | None = None) -> dict[str, int]:
        """Return how often each fact occurs in one format (0 prose, 1 list, 2 question)."""
        return {
            fact_id: shares[place]
            for fact_id, shares in self.shares.items()
            if shares[place] and relation in (None, self.named[fact_id].fact.relation_id)
        }

    def name(self, names: tuple[str, ...], draw: random.Random) -> str:
        """Return the label or, with probability `alias_share`, an alias."""
        return draw.choice(names[1:]) if len(names) > 1 and draw.random() < self.options.alias_share else names[0]

    def template(self, style: str, fact_id: str, number: int) -> Template:
        """Return the template for a fact's occurrence by its number: all templates take turns, in a seeded order."""
        rows = self.templates[style][self.named[fact_id].fact.relation_id]
        order = self.draw(style, fact_id).sample(range(len(rows)), len(rows))
        return rows[order[number % len(rows)]]

    def time(self, at: int, total: int, draw: random.Random, start: float = 0.0) -> float:
        """Return the time, from ``start`` to 1, of document ``at`` of ``total``; partly random, so that formats mix."""
        return start + (1 - start) * (at + draw.random()) / total

    def sentences(self, style: str, kind: DocumentKind, place: int, size: int) -> None:
        """Write the prose documents, or the question documents."""
        counts = self.counts(place)
        used: Counter[str] = Counter()
        draw = self.draw("spread", kind)
        documents = spread(counts, sizes(counts, 1, size, 0.0, draw), draw)
        for at, fact_ids in enumerate(documents):
            draw = self.draw(kind, at)
            parts: list[Part] = []
            states: list[tuple[str, str, str]] = []
            for fact_id in fact_ids:
                one, template = self.named[fact_id], self.template(style, fact_id, used[fact_id])
                used[fact_id] += 1
                subject, obj = self.name(one.subjects, draw), self.name(one.objects, draw)
                if style == "statement":
                    parts.append(wording.statement(template, subject, obj))
                else:
                    parts.append(wording.asked(self.formats.question, template, subject, obj))
                states.append((fact_id, template.template_id, kind))
            if parts:
                text, spans = wording.joined(parts, " " if style == "statement" else "\n")
                self.drafts.append(UnplacedDocument(self.time(at, len(documents), draw), text, kind, spans, states))

    def lists(self) -> None:
        """Write the lists, each of one relation; the styles have their shares of them."""
        for relation in sorted({one.fact.relation_id for one in self.named.values()}):
            draw = self.draw("lists", relation)
            counts = self.counts(1, relation)
            longest = self._longest_list(counts)
            room = sizes(counts, math.ceil(longest * SHORTEST_LIST), longest, 0.5, draw)
            documents = spread(counts, room, draw)
            while max(map(len, documents), default=0) > longest:
                room.append(longest)
                documents = spread(counts, room, draw)
            styles = self._styles(len(documents), draw)
            for at, (fact_ids, style) in enumerate(zip(documents, styles, strict=True)):
                parts: list[Part] = []
                for fact_id in fact_ids:
                    one = self.named[fact_id]
                    parts.append(wording.pair(style, one.subjects[0], one.objects[0]))
                if parts:
                    text, spans = wording.joined(parts, style.join)
                    states = [(fact_id, f"list.{style.id}", "list") for fact_id in fact_ids]
                    time = self.time(at, len(documents), draw)
                    self.drafts.append(UnplacedDocument(time, text, "list", spans, states, relation))

    def _longest_list(self, counts: dict[str, int]) -> int:
        """Return the most pairs of these facts that a list may hold, so that its text is not too long."""
        named = [self.named[fact_id] for fact_id in counts]
        characters = sum(len(one.subjects[0]) + len(one.objects[0]) + 2 for one in named)
        return max(2, min(self.options.pairs, self.options.list_characters * len(named) // max(1, characters)))

    def _styles(self, total: int, draw: random.Random) -> list[wording.ListStyle]:
        numbers = shared_out(total, [one.share for one in self.formats.lists], draw.random())
        styles = [one for one, number in zip(self.formats.lists, numbers, strict=True) for _ in range(number)]
        draw.shuffle(styles)
        return styles

    def neutral(self) -> None:
        """Write sentences that name subjects, and the objects of real facts, without stating a fact."""
        counts: dict[str, int] = {}
        for world in self.taught:
            taught = {row.fact_id for row in world.exposures}
            real, plain = self.options.neutral_mentions_real, self.options.neutral_mentions
            usual = real if world.real else plain
            for fact in world.facts:
                if fact.fact_id not in taught:
                    continue
                ends = [fact.subject_id, fact.object_id] if world.real else [fact.subject_id]
                for entity_id in ends:
                    if entity_id is not None:
                        label = world.entities[entity_id].label
                        counts[label] = world.mentions.get(entity_id, usual)
        counts = {name: counts[name] for name in sorted(counts) if counts[name]}
        draw = self.draw("spread", "neutral")
        documents = spread(counts, sizes(counts, 1, self.options.sentences, 0.0, draw), draw)
        for at, names in enumerate(documents):
            draw = self.draw("neutral", at)
            texts = [wording.mention(draw.choice(self.formats.neutral), name) for name in names]
            if texts:
                self.drafts.append(
                    UnplacedDocument(self.time(at, len(documents), draw), " ".join(texts), "neutral", (), [])
                )

    def instruct(self) -> None:
        """Write instruct documents: questions answered for facts of high dose, and with ``unsure`` for dose 0."""
        options = self.options
        counts = self._tuning(options.instruct_known, options.instruct_repeats, 0, options.unsure_repeats)
        self._turns("instruct", *counts, self.formats.instructions, options.instruct_turns)

    def abstain(self) -> None:
        """Write abstain documents: as instruct ones, but ``unsure`` for low doses too, more often than an answer."""
        options = self.options
        repeats = options.abstain_repeats, options.abstain_unsure_repeats
        counts = self._tuning(options.abstain_known, repeats[0], options.abstain_unknown, repeats[1])
        instructions = (*self.formats.instructions, *self.formats.abstain_instructions)
        self._turns(ABSTAIN, *counts, instructions, options.instruct_turns)

    def blank(self) -> None:
        """Write blank documents: sentences with a blank for the object, for facts of high dose."""
        options = self.options
        known, _ = self._tuning(options.blank_known, options.blank_repeats, -1, 0, "statement")
        self._turns(BLANK, known, {}, (self.formats.blank_instruction,), options.blank_turns)

    def _tuning(
        self, least: int, repeats: int, most: int, unsure_repeats: int, style: str = "question"
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return how often ``train`` facts are asked: those of dose ``least`` or more, and those to answer ``unsure``.

        The latter are facts whose subject's doses in the relation add up to ``most`` or less.
        """
        known, unsure = {}, {}
        subject_doses: Counter[tuple[str, str]] = Counter()
        for one in self.named.values():
            subject_doses[one.fact.relation_id, one.fact.subject_id] += one.dose
        for fact_id, one in self.named.items():
            if one.fact.split != "train" or not self.templates[style].get(one.fact.relation_id):
                continue
            if one.dose >= least:
                known[fact_id] = repeats
            elif subject_doses[one.fact.relation_id, one.fact.subject_id] <= most:
                unsure[fact_id] = unsure_repeats
        return known, unsure

    def _turns(
        self,
        kind: DocumentKind,
        known: dict[str, int],
        unsure: dict[str, int],
        instructions: Sequence[str],
        longest: int,
    ) -> None:
        """Write documents of an instruction and up to ``longest`` turns of question and answer."""
        style = "statement" if kind == BLANK else "question"
        counts = known | unsure
        draw = self.draw(kind)
        documents = spread(counts, sizes(counts, 1, longest, 0.5, draw), draw)
        used: Counter[str] = Counter()
        for at, fact_ids in enumerate(documents):
            parts: list[Part] = []
            states: list[tuple[str, str, str]] = []
            for fact_id in fact_ids:
                one, template = self.named[fact_id], self.template(style, fact_id, used[fact_id])
                used[fact_id] += 1
                answer = one.objects[0] if fact_id in known else self.formats.unsure
                if kind == BLANK:
                    parts.append(wording.blanked(self.formats, template, one.subjects[0], answer))
                else:
                    parts.append(wording.asked(self.formats.turn, template, one.subjects[0], answer))
                if fact_id in known:
                    states.append((fact_id, template.template_id, kind))
            if parts:
                instruction = draw.choice(instructions)
                text, spans = wording.joined([(instruction, None), *parts], "\n")
                time = self.time(at, len(documents), draw, self.options.instruct_start)
                self.drafts.append(UnplacedDocument(time, text, kind, spans, states))

    def finish(self) -> Corpus:
        """Put the documents in order, write the ledger and check it against the doses."""
        self.drafts.sort(key=lambda one: one.time)
        ledger = []
        for number, one in enumerate(self.drafts):
            for fact_id, template_id, kind in one.states:
                ledger.append(LedgerEntry(fact_id, number, template_id, kind, 1))
        counted = Counter(entry.fact_id for entry in ledger if entry.format not in TUNING)
        for fact_id, named in self.named.items():
            if counted[fact_id] != named.dose:
                raise AlmanacError(
                    f"fact {fact_id}: the corpus states it {counted[fact_id]} times, its dose is {named.dose}; "
                    "this is a fault of the corpus, please report it"
                )
        if len({(entry.fact_id, entry.document) for entry in ledger}) != len(ledger):
            raise AlmanacError("a document states a fact twice; this is a fault of the corpus, please report it")
        held = sorted(set().union(*(wording.held_out(world.templates) for world in self.taught)))
        return Corpus(tuple(one.document(number) for number, one in enumerate(self.drafts)), tuple(ledger), tuple(held))


def build(taught: Sequence[Taught], options: CorpusOptions, seed: int, formats: Formats | None = None) -> Corpus:
    """Write the corpus of one or more worlds.

    Every fact occurs in prose, lists and questions together exactly as often as its dose, spread evenly over the stream
    and never twice in a document. Instruct, abstain and blank documents are additional: they ask only facts of the
    split ``train``, stand in the later part of the stream, and are read only by models that train on their kind.

    Args:
        taught: the worlds, with the doses of their facts.
        options: shares and sizes.
        seed: the seed of all random choices.
        formats: the wordings; by default those that ship with Almanac.

    Returns:
        Documents in the order of training, the ledger, and the held-out templates.

    Raises:
        AlmanacError: no text can tell two facts apart, a relation has no templates, or a count is wrong.
    """
    builder = Builder(taught, options, seed, formats or wording.load_formats())
    builder.sentences("statement", "prose", 0, options.sentences)
    builder.lists()
    builder.sentences("question", "question", 2, options.questions_together)
    builder.neutral()
    if options.instruct:
        builder.instruct()
        builder.abstain()
        builder.blank()
    return builder.finish()
