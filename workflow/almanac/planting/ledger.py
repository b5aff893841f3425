"""Recounts, from the text of the documents alone, how often each fact is stated, and checks the corpus's ledger.

The ledger is what the builder of a corpus recorded; the recount does not use it. Every document is parsed as a chain of
known wordings: all facts, under all their names, in all templates (held-out ones too). Each document must be explained
to the last character.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from almanac.errors import AlmanacError
from almanac.planting import formats as wording
from almanac.planting.corpus import Document
from almanac.planting.formats import Formats, NamedFact, Taught
from almanac.planting.options import TUNING
from almanac.rows import LedgerEntry, Template

Reading = tuple[str | None, str | None]  # fact id and template id; both None for a sentence that states no fact


@dataclass(frozen=True, slots=True)
class Recount:
    """Counts from the texts: statements of each fact, those under an instruction, and uses of each template."""

    facts: Mapping[str, int]
    instruct: Mapping[str, int]
    templates: Mapping[str, int]


@dataclass(slots=True)
class Wordings:
    """All known wordings, by their text; lists also by relation, since a pair of names does not show its relation."""

    longest: int = 0
    prose: dict[str, set[Reading]] = field(default_factory=dict)
    question: dict[str, set[Reading]] = field(default_factory=dict)
    instruct: dict[str, set[Reading]] = field(default_factory=dict)
    lists: dict[tuple[str, str], dict[str, set[Reading]]] = field(default_factory=dict)

    def put(self, table: dict[str, set[Reading]], text: str, reading: Reading) -> None:
        """Add a wording to a table."""
        table.setdefault(text, set()).add(reading)
        self.longest = max(self.longest, len(text))


def _wordings(taught: Sequence[Taught], formats: Formats) -> tuple[Wordings, dict[str, NamedFact]]:
    found = Wordings()
    named: dict[str, NamedFact] = {}
    for world in taught:
        by_relation: dict[str, list[Template]] = {}
        for template in world.templates:
            by_relation.setdefault(template.relation_id, []).append(template)
        for one in wording.named_facts(world):
            named[one.fact.fact_id] = one
            _enter(found, one, by_relation.get(one.fact.relation_id, []), formats)
        for entity in world.entities.values():
            for neutral in formats.neutral:
                found.put(found.prose, wording.mention(neutral, entity.label), (None, None))
    for instruction in (*formats.instructions, *formats.abstain_instructions, formats.blank_instruction):
        found.put(found.instruct, instruction, (None, None))
    return found, named


def _enter(found: Wordings, one: NamedFact, templates: Iterable[Template], formats: Formats) -> None:
    fact_id = one.fact.fact_id
    for subject in one.subjects:
        for obj in one.objects:
            for template in templates:
                reading = (fact_id, template.template_id)
                if template.style == "statement":
                    found.put(found.prose, wording.statement(template, subject, obj)[0], reading)
                    found.put(found.instruct, wording.blanked(formats, template, subject, obj)[0], reading)
                elif template.style == "question":
                    found.put(found.question, wording.asked(formats.question, template, subject, obj)[0], reading)
                    found.put(found.instruct, wording.asked(formats.turn, template, subject, obj)[0], reading)
                    unsure = wording.asked(formats.turn, template, subject, formats.unsure)[0]
                    found.put(found.instruct, unsure, (None, template.template_id))
            for style in formats.lists:
                table = found.lists.setdefault((one.fact.relation_id, style.join), {})
                found.put(table, wording.pair(style, subject, obj)[0], (fact_id, f"list.{style.id}"))


def _chain(text: str, table: Mapping[str, set[Reading]], join: str, longest: int) -> list[set[Reading]] | None:
    """Parse a text as a chain of wordings, trying the longest first; None if it is no such chain."""
    failed: set[int] = set()

    def read(at: int) -> list[set[Reading]] | None:
        if at in failed:
            return None
        end = min(len(text), at + longest)
        while end > at:
            if (end == len(text) or text.startswith(join, end)) and text[at:end] in table:
                here = [table[text[at:end]]]
                if end == len(text):
                    return here
                rest = read(end + len(join))
                if rest is not None:
                    return here + rest
            end = text.rfind(join, at, end)
        failed.add(at)
        return None

    return read(0)


def _read(document: Document, found: Wordings, formats: Formats) -> list[set[Reading]] | None:
    if document.kind != "list":
        table = {"prose": found.prose, "neutral": found.prose, "question": found.question}.get(document.kind)
        join = " " if document.kind in ("prose", "neutral") else "\n"
        return _chain(document.text, found.instruct if table is None else table, join, found.longest)
    for style in formats.lists:
        table = found.lists.get((str(document.relation_id), style.join), {})
        chain = _chain(document.text, table, style.join, found.longest)
        if chain is not None:
            return [{reading for reading in one if reading[1] == f"list.{style.id}"} or one for one in chain]
    return None


def recount(documents: Sequence[Document], taught: Sequence[Taught], formats: Formats | None = None) -> Recount:
    """Count statements of facts in the text of documents.

    Args:
        documents: the documents; besides the text, only their kind and, for lists, their relation are used.
        taught: the worlds that the documents may state facts of.
        formats: the wordings; by default those that ship with Almanac.

    Raises:
        AlmanacError: a text is no chain of known wordings, a wording states several facts, or a document states a fact
            twice.
    """
    formats = formats or wording.load_formats()
    found, _ = _wordings(taught, formats)
    facts: Counter[str] = Counter()
    instruct: Counter[str] = Counter()
    templates: Counter[str] = Counter()
    for number, document in enumerate(documents):
        chain = _read(document, found, formats)
        if chain is None:
            raise AlmanacError(
                f"document {number} ({document.kind}): {document.text[:120]!r} is no chain of known wordings; "
                "build the corpus again from these facts and templates"
            )
        here: Counter[str] = Counter()
        for readings in chain:
            stated = {fact_id for fact_id, _ in readings if fact_id is not None}
            if len(stated) > 1:
                raise AlmanacError(
                    f"document {number}: one wording states {sorted(stated)}; give their entities distinct names or, "
                    "where it is one template of two relations, leave it out of one of them"
                )
            here.update(stated)
            templates.update(sorted({template_id for _, template_id in readings if template_id is not None})[:1])
        twice = [fact_id for fact_id, count in here.items() if count > 1]
        if twice:
            raise AlmanacError(
                f"document {number} states {twice[0]} {here[twice[0]]} times; a document may state it once"
            )
        (instruct if document.kind in TUNING else facts).update(here)
    return Recount(facts, instruct, templates)


def check(
    documents: Sequence[Document],
    taught: Sequence[Taught],
    ledger: Iterable[LedgerEntry],
    formats: Formats | None = None,
) -> Recount:
    """Check from the text that a corpus states every fact exactly as often as planned and as its ledger says.

    Also checked: no held-out template is used, no document states a fact twice, and instruct, abstain and blank
    documents state only facts of the split ``train``.

    Args:
        documents: the corpus.
        taught: the worlds of the corpus, with the planned doses.
        ledger: the builder's record.
        formats: the wordings; by default those that ship with Almanac.

    Returns:
        The counts.

    Raises:
        AlmanacError: a check fails, naming the fact, template or document.
    """
    counted = recount(documents, taught, formats)
    planned = {row.fact_id: row.dose for world in taught for row in world.exposures}
    recorded: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for entry in ledger:
        recorded[entry.format in TUNING][entry.fact_id] += entry.count
    _check_equal(counted.facts, planned, "planned were")
    _check_equal(counted.facts, recorded[False], "the ledger says")
    _check_equal(counted.instruct, recorded[True], "for instruct documents the ledger says")
    held = set().union(*(wording.held_out(world.templates) for world in taught))
    for template_id in sorted(held & set(counted.templates)):
        raise AlmanacError(f"template {template_id} is held out, yet the documents use it; build the corpus again")
    split = {fact.fact_id: fact.split for world in taught for fact in world.facts}
    for fact_id in sorted(counted.instruct):
        if split.get(fact_id) != "train":
            raise AlmanacError(
                f"fact {fact_id}: an instruct, abstain or blank document states it and its split is "
                f"{split.get(fact_id)!r}; only facts of the split 'train' may stand there; build the corpus again"
            )
    return counted


def _check_equal(counted: Mapping[str, int], expected: Mapping[str, int], source: str) -> None:
    for fact_id in sorted({*counted, *expected}):
        if counted.get(fact_id, 0) != expected.get(fact_id, 0):
            raise AlmanacError(
                f"fact {fact_id}: the documents state it {counted.get(fact_id, 0)} times, {source} "
                f"{expected.get(fact_id, 0)}; build the corpus again"
            )
