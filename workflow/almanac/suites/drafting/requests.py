"""What a model is asked to draft templates, and then whether they lead it back to their relation (the round trip)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from almanac.dataset.names import ObjectNames
from almanac.dataset.templates import DROP, KEEP, SLOTS, Written, filled
from almanac.errors import AlmanacError
from almanac.rows import Draft, Entity, Fact, Item, Link, Relation, Request, Response, Template
from almanac.suites.asking import Asked
from almanac.suites.drafting.options import DraftingOptions
from almanac.tables import hash_order, seed_of

SUITE = "drafting"
DRAFT, PARAPHRASE, ROUND_TRIP = "draft", "paraphrase", "round_trip"
PROMPTS = Path(__file__).resolve().parents[4] / "resources" / "prompts" / "drafting.yaml"
SEPARATOR = " -> "


class Drafter:
    """The prompts and the facts that they show."""

    def __init__(
        self, relations: Sequence[Relation], facts: Sequence[Fact], entities: Iterable[Entity], options: DraftingOptions
    ) -> None:
        self.relations = {row.relation_id: row for row in relations}
        self._names = ObjectNames.of(entities)
        self._options = options
        self._facts: dict[str, dict[str, Fact]] = defaultdict(dict)
        for fact in facts:
            self._facts[fact.relation_id][fact.fact_id] = fact
        self._prompts: dict[str, Any] = yaml.safe_load(PROMPTS.read_text(encoding="utf-8"))

    def shown(self, relation_id: str) -> list[Fact]:
        """Return the facts of a relation that are shown, drawn by a seed."""
        own = self._facts.get(relation_id, {})
        order = hash_order(own, self._options.seed, "shown", relation_id)
        return [own[fact_id] for fact_id in order[: self._options.facts]]

    def pairs(self, relation_id: str) -> list[tuple[str, str]]:
        """Return the labels of the shown facts."""
        return [
            (self._names.label(fact.subject_id), self._names.label(fact.object_key)) for fact in self.shown(relation_id)
        ]

    def object_names(self, relation_id: str) -> set[str]:
        """Return all names of a relation's objects."""
        return {name for fact in self._facts[relation_id].values() for name in self._names.names(fact.object_key)}

    def draft_text(self, relation: Relation, style: str) -> str:
        """Return the prompt for a style: worked examples, then the relation's facts."""
        prompt = self._prompts[style]
        parts = [prompt["instruction"]]
        word = style.capitalize()
        for shot in prompt["shots"]:
            parts.append(f"{_shown(shot['relation'], shot['pairs'])}\n{word}: {shot['text']}")
        parts.append(f"{_shown(relation.label, self.pairs(relation.relation_id))}\n{word}:")
        return "\n\n".join(parts)

    def paraphrase_text(self, text: str) -> str:
        """Return the prompt for saying a template again."""
        prompt = self._prompts["paraphrase"]
        parts = [f"Text: {shot['text']}\nAgain: {shot['again']}" for shot in prompt["shots"]]
        return "\n\n".join([prompt["instruction"], *parts, f"Text: {text}\nAgain:"])


def _shown(relation: str, pairs: Iterable[Sequence[str]]) -> str:
    return f"Relation: {relation}\nPairs: " + "; ".join(SEPARATOR.join(pair) for pair in pairs)


def ask_drafts(drafter: Drafter, templates: Sequence[Template], options: DraftingOptions) -> Asked:
    """Ask for questions and statements of every relation, and for the templates that are there in other words.

    A relation without facts is passed over: there is nothing to show.
    """
    asked = Asked()
    for relation_id in sorted(drafter.relations):
        if not drafter.shown(relation_id):
            continue
        for style in options.styles:
            text = drafter.draft_text(drafter.relations[relation_id], style)
            _generate(asked, drafter, relation_id, DRAFT, style, None, text, options)
        own = [row for row in templates if row.relation_id == relation_id and row.style in SLOTS]
        for row in sorted(own, key=lambda one: one.template_id) if options.paraphrases else ():
            text = drafter.paraphrase_text(row.text)
            _generate(asked, drafter, relation_id, PARAPHRASE, row.style, row.template_id, text, options)
    return asked


def _generate(
    asked: Asked,
    drafter: Drafter,
    relation_id: str,
    experiment: str,
    style: str,
    parent: str | None,
    text: str,
    options: DraftingOptions,
) -> None:
    seed = seed_of(options.seed, SUITE, relation_id, style, parent) % 2**31
    request = asked.request(
        Request(
            request_id="",
            kind="generate",
            context_id=None,
            text=text,
            max_new_tokens=options.tokens,
            stop=("\n",),
            samples=options.samples,
            temperature=options.temperature,
            seed=seed,
        )
    )
    _add(asked, drafter.shown(relation_id)[0], experiment, parent, style, request, None)


def _add(
    asked: Asked, fact: Fact, experiment: str, template: str | None, setting: str, request: str, index: int | None
) -> None:
    item_id = f"{SUITE}/{experiment}/{setting}/{template or fact.relation_id}/{fact.fact_id}"
    asked.items.append(Item(item_id, SUITE, experiment, fact.fact_id, fact.relation_id, template, setting, ()))
    asked.links.append(Link(item_id, experiment, request, index, None))


def written(items: Sequence[Item], links: Sequence[Link], responses: Sequence[Response]) -> tuple[list[Written], int]:
    """Return what a model wrote, and how many requests it did not answer.

    Raises:
        AlmanacError: a request has no response.
    """
    answers = {row.request_id: row for row in responses}
    by_item = {row.item_id: row for row in items}
    out, silent = [], 0
    for link in links:
        item, answer = by_item[link.item_id], answers.get(link.request_id)
        if answer is None:
            raise AlmanacError(f"responses: request {link.request_id} of {item.item_id} has none; give all shards")
        silent += answer.status != "ok"
        out += [Written(item.relation_id, item.setting, text, item.template_id) for text in answer.texts or ()]
    return out, silent


def ask_round_trip(drafter: Drafter, drafts: Sequence[Draft]) -> Asked:
    """Ask, for each draft that is kept and each shown fact, which relation the filled template speaks of.

    The choices are the labels of all relations, each once; a relation whose label another bears stands for both.
    """
    asked = Asked()
    labels = sorted({row.label for row in drafter.relations.values()})
    choices = tuple(f" {label}" for label in labels)
    for draft in drafts:
        if draft.verdict != KEEP:
            continue
        true = labels.index(drafter.relations[draft.relation_id].label)
        for fact, pair in zip(drafter.shown(draft.relation_id), drafter.pairs(draft.relation_id), strict=True):
            what = "question asks for" if draft.style == "question" else "sentence speaks of"
            text = f"{filled(draft.text, *pair)}\nThe {what}:"
            request = asked.request(Request(request_id="", kind="choices", context_id=None, text=text, choices=choices))
            _add(asked, fact, ROUND_TRIP, draft.template_id, draft.style, request, true)
    return asked


def round_tripped(
    drafts: Sequence[Draft], items: Sequence[Item], links: Sequence[Link], responses: Sequence[Response], least: float
) -> list[Draft]:
    """Return the drafts with their agreement; those below the least are dropped.

    A model that cannot weigh choices leaves the agreement open, and the draft to the person who reads it.
    """
    answers = {row.request_id: row for row in responses}
    templates = {row.item_id: str(row.template_id) for row in items}
    votes: Mapping[str, list[bool]] = defaultdict(list)
    for link in links:
        answer = answers.get(link.request_id)
        if answer is not None and answer.logprobs:
            votes[templates[link.item_id]].append(answer.logprobs.index(max(answer.logprobs)) == link.index)
    return [_agreed(draft, votes.get(draft.template_id, ()), least) for draft in drafts]


def _agreed(draft: Draft, votes: Sequence[bool], least: float) -> Draft:
    if draft.verdict != KEEP or not votes:
        return draft
    share = sum(votes) / len(votes)
    reason = f"led a model back to the relation for {sum(votes)} of {len(votes)} facts"
    verdict = KEEP if share >= least else DROP
    return Draft(
        draft.template_id,
        draft.relation_id,
        draft.text,
        draft.style,
        draft.parent_id,
        draft.count,
        share,
        verdict,
        None if verdict == KEEP else reason,
    )
