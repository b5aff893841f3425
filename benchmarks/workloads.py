"""What is measured: requests made from the facts that ship, of the kinds that the papers' methods ask.

Each workload has one unit of work, an `Item`: a request of ours, or several, and the plain parts from which the other
programs are asked the same.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from almanac.dataset.multiple_choice import build
from almanac.dataset.names import ObjectNames
from almanac.dataset.options import DatasetOptions
from almanac.rows import Context, Fact, Relation, Request
from almanac.sources.files import FactTables, read_folder
from almanac.suites.data import Data
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.suite import IcLke
from almanac.tables import as_dict, from_arrow, hash_order, identity, seed_of

FACTS = Path(__file__).resolve().parents[1] / "resources" / "facts"
# Works and firms and who made them: one pool, since no relation of names alone has 400 facts and 100 objects.
POOL = ("P50", "P57", "P112")
STATED = (*POOL, "P17", "P36", "P159")  # Relations whose objects are names of people, countries and cities.
LEADS = (
    "",
    "It is known that ",
    "As many people know, ",
    "According to the encyclopedia, ",
    "Most sources agree: ",
    "In short, ",
    "Here is a fact: ",
    "Everybody remembers that ",
    "It is often said that ",
    "One should know that ",
)
SPLIT = 2  # Of the first eight seeds the one whose prefixes come nearest to the bars' 300 and 530 tokens: 320 and 538.
TRAIN = 100  # Facts that examples are drawn from, the paper's number.
WORD = re.compile(r"\w+|[^\w\s]")  # What BERT's pre-tokenizer calls a word.


@dataclass(frozen=True)
class Item:
    """One unit of work.

    Attributes:
        requests: what we are asked.
        text: what stands before the answers: the whole prompt, or a template with ``[Y]``.
        answers: the candidates, in the requests' order.
        subject: what a template's ``[X]`` stands for.
        template: of a statement, ``[X]`` and ``[Y]`` in it.
    """

    requests: tuple[Request, ...]
    text: str
    answers: tuple[str, ...] = ()
    subject: str = ""
    template: str = ""


@dataclass(frozen=True)
class Workload:
    """Items and the contexts that their requests refer to."""

    items: list[Item]
    contexts: Mapping[str, str]

    @property
    def requests(self) -> list[Request]:
        """The requests of all items, each once."""
        return list({request.request_id: request for item in self.items for request in item.requests}.values())


def shipped() -> FactTables:
    """Read the facts that ship with Almanac."""
    return read_folder(FACTS, "shipped")


def statements_of(tables: FactTables) -> list[str]:
    """Return one sentence a fact, by its relation's first statement: the texts that the tokenizers are trained on."""
    names = ObjectNames.of(tables.entities)
    first = {row.relation_id: row.text for row in reversed(tables.templates) if row.style == "statement"}
    return [
        first[fact.relation_id]
        .replace("[X]", names.label(fact.subject_id))
        .replace("[Y]", names.label(fact.object_key))
        for fact in tables.facts
        if fact.relation_id in first
    ]


def in_context(tables: FactTables, shots: int, facts: int, choices: int = 100) -> Workload:
    """Return the requests of IC-LKE: examples, a subject, and choices (Wu et al., section 3), as its suite asks them.

    Args:
        tables: the facts.
        shots: in-context examples.
        facts: test facts.
        choices: a test fact.
    """
    pool = [replace(fact, relation_id="pool", split=None) for fact in tables.facts if fact.relation_id in POOL]
    relation = Relation("pool", "maker", None, None, None, None)
    options = DatasetOptions(min_facts=TRAIN + facts, train=TRAIN, test=facts, choices=choices, seed=SPLIT)
    dataset = build([relation], pool, tables.entities, options)
    suite = IcLke()
    data = Data.of(facts=dataset.facts, entities=tables.entities, choices=dataset.choices)
    asked = list(suite.ask(suite.rounds[0], data, IcLkeOptions(shots=shots), None))
    texts = {context.context_id: context.text for one in asked for context in from_arrow(Context, one.contexts)}
    items = [
        Item((one,), texts[one.context_id or ""] + one.text, tuple(choice.strip() for choice in one.choices or ()))
        for batch in asked
        for one in from_arrow(Request, batch.requests)
    ]
    return Workload(items, texts)


@dataclass(frozen=True)
class _Fact:
    """A fact as a sentence's parts: the subject's label, its relation's statement, and the answers to choose from."""

    subject: str
    template: str
    answers: tuple[str, ...]


def _stated(tables: FactTables, count: int, answers: int) -> list[_Fact]:
    """Return facts with statements of their relation, and for each relation a fixed space of answers, as BEAR has."""
    names = ObjectNames.of(tables.entities)
    templates = defaultdict(list)
    for row in tables.templates:
        if row.style == "statement":
            templates[row.relation_id].append(row.text)
    found: dict[str, _Fact] = {}
    for relation_id in STATED:
        own = [fact for fact in tables.facts if fact.relation_id == relation_id]
        space = hash_order({fact.object_key for fact in own}, "answers", relation_id)[:answers]
        labels = tuple(names.label(key) for key in space)
        for fact in own:
            if fact.object_key in space:
                for text in templates[relation_id]:
                    found[f"{fact.subject_id} {text}"] = _Fact(names.label(fact.subject_id), text, labels)
    return [found[key] for key in hash_order(found, "statements")[:count]]


def _sentence(template: str, subject: str, answer: str) -> str:
    """Fill a template and begin it with a capital, as LM Pub Quiz does."""
    text = template.replace("[X]", subject).replace("[Y]", answer)
    return text[:1].upper() + text[1:]


def statements(tables: FactTables, count: int, answers: int = 60) -> Workload:
    """Return statements as BEAR has them: for each fact the whole sentence with each answer, scored from BOS on."""
    items = []
    for fact in _stated(tables, count, answers):
        sentences = tuple(_sentence(fact.template, fact.subject, answer) for answer in fact.answers)
        request = _named(Request("", "choices", None, "", choices=sentences))
        items.append(Item((request,), "", fact.answers, fact.subject, fact.template))
    return Workload(items, {})


def masked_statements(tables: FactTables, count: int, answers: int = 60) -> Workload:
    """Return statements for masked models: every word of the sentence a span, its later tokens masked with it.

    That is the within-word variant of the pseudo-log-likelihood (Kauf & Ivanova 2023), LM Pub Quiz's default.
    """
    items = []
    for fact in _stated(tables, count, answers):
        requests = []
        for answer in fact.answers:
            sentence = _sentence(fact.template, fact.subject, answer)
            words = [(match.start(), match.end()) for match in WORD.finditer(sentence)]
            starts, ends = zip(*words, strict=True)
            requests.append(_named(Request("", "spans", None, sentence, span_starts=starts, span_ends=ends)))
        items.append(Item(tuple(requests), "", fact.answers, fact.subject, fact.template))
    return Workload(items, {})


def masked_answers(tables: FactTables, count: int, answers: int = 60) -> Workload:
    """Return statements with a blank for masked models: only the answer is scored, left to right under masks."""
    items = []
    for fact in _stated(tables, count, answers):
        text = _sentence(fact.template, fact.subject, "[MASK]")
        request = _named(Request("", "fill", None, text, choices=fact.answers))
        items.append(Item((request,), "", fact.answers, fact.subject, fact.template))
    return Workload(items, {})


def paraphrases(
    tables: FactTables, count: int, examples: int, candidates: int = 0, wordings: int = 20, k: int = 10
) -> Workload:
    """Return prompts as MyriadLAMA has them: a fact under many wordings that end in a blank.

    Args:
        tables: the facts.
        count: prompts.
        examples: facts of the same relation and wording before it.
        candidates: words that are scored in the blank, besides the top k of the vocabulary.
        wordings: a fact.
        k: the likeliest tokens that are returned.
    """
    names = ObjectNames.of(tables.entities)
    items: list[Item] = []
    contexts: dict[str, str] = {}
    by_relation = {key: [fact for fact in tables.facts if fact.relation_id == key] for key in STATED}
    pool = {f"{fact.relation_id} {fact.subject_id}": fact for facts in by_relation.values() for fact in facts}
    for key in hash_order(pool, "paraphrases"):
        fact, own = pool[key], by_relation[pool[key].relation_id]
        others = hash_order({one.object_key for one in own} - {fact.object_key}, "candidates", key)[: candidates - 1]
        answers = tuple(dict.fromkeys(map(names.label, (*others, fact.object_key)))) if candidates else ()
        for wording in _wordings(tables, fact.relation_id)[:wordings]:
            shown = _shown(own, fact, wording, names, examples) if examples else ""
            contexts |= {identity(shown): shown} if shown else {}
            text = wording.replace("[X]", names.label(fact.subject_id))
            request = Request(
                request_id="",
                kind="fill",
                context_id=identity(shown) if shown else None,
                text=f"{text} [MASK]",
                choices=answers or None,
                top_k=k,
            )
            items.append(Item((_named(request),), shown + text, answers, names.label(fact.subject_id)))
            if len(items) == count:
                return Workload(items, contexts)
    raise ValueError(f"the facts give {len(items)} prompts, not {count}")


def _wordings(tables: FactTables, relation_id: str) -> list[str]:
    """Return ways to say a relation that end before the object, in a fixed order that mixes them."""
    endings = [
        row.text.removesuffix(".").removesuffix("[Y]").rstrip()
        for row in tables.templates
        if row.relation_id == relation_id
        and (row.style == "prefix" or (row.style == "statement" and row.text.rstrip(".").endswith("[Y]")))
    ]
    made = [
        lead + (ending[:1].lower() + ending[1:] if lead and not ending.startswith("[") else ending)
        for lead in LEADS
        for ending in endings
    ]
    return hash_order(set(made), "wordings", relation_id)


def _shown(own: Sequence[Fact], fact: Fact, wording: str, names: ObjectNames, examples: int) -> str:
    """Return the examples before a prompt: the first facts of the relation that are about other subjects."""
    by_id = {one.fact_id: one for one in own if one.subject_id != fact.subject_id}
    drawn = [by_id[key] for key in hash_order(by_id, "examples", wording)[:examples]]
    texts = [f"{wording.replace('[X]', names.label(one.subject_id))} {names.label(one.object_key)}." for one in drawn]
    return "".join(f"{text[:1].upper()}{text[1:]}\n" for text in texts)


def samples(tables: FactTables, count: int, number: int = 100, new: int = 10) -> Workload:
    """Return short prompts that are sampled often: confidence as the share of samples that agree (Zhao et al.)."""
    prompts = paraphrases(tables, count, examples=4, wordings=1).items[:count]
    items = []
    for prompt in prompts:
        request = Request("", "generate", None, prompt.text, max_new_tokens=new, samples=number, temperature=1.0)
        named = _named(replace(request, seed=seed_of("samples", prompt.text) % 2**31))
        items.append(Item((named,), prompt.text))
    return Workload(items, {})


def greedy(tables: FactTables, shots: int, count: int, new: int = 16) -> Workload:
    """Return prompts that share a long prefix, to be continued greedily."""
    base = in_context(tables, shots, 2 * count, choices=2)
    items: dict[str, Item] = {}
    for item in base.items:
        [one] = item.requests
        named = _named(Request("", "generate", one.context_id, one.text, max_new_tokens=new))
        items.setdefault(named.request_id, Item((named,), item.text))
    return Workload(list(items.values())[:count], base.contexts)


def _named(request: Request) -> Request:
    """Return a request under the id that its content gives it."""
    return replace(request, request_id=identity(as_dict(request)))
