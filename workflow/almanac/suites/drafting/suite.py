"""Drafts templates with a model: the requests, how its answers are read, and the round trip that tests the drafts."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from almanac.dataset.templates import DROP, KEEP, SLOTS, DraftedText, filled, judge
from almanac.errors import AlmanacError
from almanac.rows import Draft, Fact, Relation, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.data import Data
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.prompts import prompts
from almanac.suites.suite import Author, Round
from almanac.tables import hash_order, seed_of

DRAFT, PARAPHRASE, ROUND_TRIP = "draft", "paraphrase", "round_trip"
SEPARATOR = " -> "
ANNOUNCED = re.compile(r"^\s*(?:Question|Statement|Again):")  # the prompt's last word, which a model may write again


class DraftSetting(NamedTuple):
    """What is drafted: a question or a statement."""

    style: str


class Drafter:
    """The prompts, and the facts shown in them."""

    def __init__(self, data: Data, options: DraftingOptions) -> None:
        self.relations = {row.relation_id: row for row in data.relations}
        self._label, self._prompts = data.names.label, prompts("drafting")
        self.shown: dict[str, list[Fact]] = {}  # by relation, a seeded draw
        for relation_id in self.relations:
            own = {fact.fact_id: fact for fact in data.by_relation.get(relation_id, ())}
            order = hash_order(own, options.seed, "shown", relation_id)
            self.shown[relation_id] = [own[fact_id] for fact_id in order[: options.facts]]

    def pairs(self, relation_id: str) -> list[tuple[str, str]]:
        """Return the subject and object labels of a relation's shown facts."""
        return [(self._label(fact.subject_id), self._label(fact.object_key)) for fact in self.shown[relation_id]]

    def draft_text(self, relation: Relation, style: str) -> str:
        """Return the prompt for a draft of a style: worked examples, then the relation's facts."""
        prompt = self._prompts[style]
        parts = [prompt["instruction"]]
        word = style.capitalize()
        for shot in prompt["shots"]:
            parts.append(f"{_shown(shot['relation'], shot['pairs'])}\n{word}: {shot['text']}")
        parts.append(f"{_shown(relation.label, self.pairs(relation.relation_id))}\n{word}:")
        return "\n\n".join(parts)

    def paraphrase_text(self, text: str) -> str:
        """Return the prompt for a paraphrase of a template."""
        prompt = self._prompts["paraphrase"]
        parts = [f"Text: {shot['text']}\nAgain: {shot['again']}" for shot in prompt["shots"]]
        return "\n\n".join([prompt["instruction"], *parts, f"Text: {text}\nAgain:"])


def _shown(relation: str, pairs: Iterable[Sequence[str]]) -> str:
    return f"Relation: {relation}\nPairs: " + "; ".join(SEPARATOR.join(pair) for pair in pairs)


class Drafting(Author[DraftingOptions]):
    """Drafts questions and statements for every relation, and paraphrases of existing templates."""

    name = "drafting"
    label = "Drafting"
    summary = "have a model draft templates, for a person to proofread"
    options = DraftingOptions
    setting = DraftSetting
    rounds = (Round("drafts"), Round(ROUND_TRIP, about_one=True, wanted=lambda options: options.round_trip))
    row = Draft
    texts = "drafts"

    def ask(self, at: Round, data: Data, options: DraftingOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask for drafts; in the second round ask, for each kept draft, which relation it expresses.

        Raises:
            AlmanacError: the options name a relation that is not in the dataset, or no draft was answered.
        """
        drafter = Drafter(data, options)
        if before is None:
            yield from _drafts(drafter, data, options)
        else:
            yield from _round_trip(drafter, self._written(before, data, drafter), before.count)

    def write(self, answers: Answers, data: Data, options: DraftingOptions) -> list[Draft]:
        """Return every draft with its verdict; drafts that do not lead the model back to their relation are dropped.

        If a model cannot score choices, the agreement stays open and the decision is left to the person who proofreads.
        """
        votes: dict[str, list[bool]] = defaultdict(list)
        for part in answers.parts(("experiment", "template_id", "index", "logprobs")):
            for row in part.links.iter_rows(named=True):
                if row["experiment"] == ROUND_TRIP and row["logprobs"]:
                    votes[row["template_id"]].append(row["logprobs"].index(max(row["logprobs"])) == row["index"])
        drafts = self._written(answers, data, Drafter(data, options))
        return [_agreed(draft, votes.get(draft.template_id, ()), options.agreement) for draft in drafts]

    def _written(self, answers: Answers, data: Data, drafter: Drafter) -> list[Draft]:
        """Judge the texts that the model wrote."""
        columns = ("experiment", "relation_id", "style", "template_id", "status", "reason", "texts")
        drafts = (part.links.filter(pl.col("experiment") != ROUND_TRIP) for part in answers.parts(columns))
        rows = [row for links in drafts for row in links.iter_rows(named=True)]
        texts = [
            DraftedText(row["relation_id"], row["style"], ANNOUNCED.sub("", text), row["template_id"])
            for row in rows
            for text in row["texts"] or ()
        ]
        if not texts:
            why = {f"{row['status']}: {row['reason']}" if row["reason"] else "an empty text" for row in rows}
            raise AlmanacError(
                f"{answers.rounds[0].folder}: none of {len(rows)} requests was answered "
                f"({'; '.join(sorted(why))[:200]}); templates are drafted by a model that generates"
            )
        pairs = {relation: drafter.pairs(relation) for relation in drafter.relations}
        names = {
            relation: {name for fact in facts for name in data.names.names(fact.object_key)}
            for relation, facts in data.by_relation.items()
        }
        return judge(texts, data.templates, pairs, names)


def _drafts(drafter: Drafter, data: Data, options: DraftingOptions) -> Iterator[Batch]:
    """Ask for questions and statements of every relation, and for paraphrases of existing templates.

    A relation without facts is skipped: there is nothing to show.
    """
    if strange := sorted(set(options.relations) - set(drafter.relations)):
        there = ", ".join(sorted(drafter.relations))
        raise AlmanacError(f"drafting: relations: {', '.join(strange)}: not in the dataset, which has {there}")
    asked = Asked()
    for relation_id in sorted(options.relations or drafter.relations):
        shown, relation = drafter.shown[relation_id], drafter.relations[relation_id]
        if not shown:
            continue
        wanted: list[tuple[str, str, str | None, str]] = [
            (DRAFT, style, None, drafter.draft_text(relation, style)) for style in options.styles
        ]
        own = [row for row in data.templates if row.relation_id == relation_id and row.style in SLOTS]
        wanted += [
            (PARAPHRASE, row.style, row.template_id, drafter.paraphrase_text(row.text))
            for row in (sorted(own, key=lambda one: one.template_id) if options.paraphrases else ())
        ]
        for experiment, style, parent, text in wanted:
            request = replace(
                greedy(text, options.tokens),
                samples=options.samples,
                temperature=options.temperature,
                seed=seed_of(options.seed, "drafting", relation_id, style, parent) % 2**31,
            )
            asked.link(asked.item(experiment, DraftSetting(style), shown[0], template=parent), experiment, request)
        yield asked.take()


def _round_trip(drafter: Drafter, drafts: Sequence[Draft], first: int) -> Iterator[Batch]:
    """Ask, for each kept draft and each shown fact, which relation the filled template expresses.

    The choices are the labels of all relations, without duplicates: relations with equal labels share a choice.
    """
    asked = Asked(first=first)
    labels = sorted({row.label for row in drafter.relations.values()})
    choices = tuple(f" {label}" for label in labels)
    for draft in drafts:
        if draft.verdict != KEEP:
            continue
        true = labels.index(drafter.relations[draft.relation_id].label)
        for fact, pair in zip(drafter.shown[draft.relation_id], drafter.pairs(draft.relation_id), strict=True):
            what = "question asks for" if draft.style == "question" else "sentence speaks of"
            text = f"{filled(draft.text, *pair)}\nThe {what}:"
            request = Request(request_id="", kind="choices", context_id=None, text=text, choices=choices)
            item = asked.item(ROUND_TRIP, DraftSetting(draft.style), fact, template=draft.template_id)
            asked.link(item, ROUND_TRIP, request, true)
    yield asked.take()


def _agreed(draft: Draft, votes: Sequence[bool], least: float) -> Draft:
    if draft.verdict != KEEP or not votes:
        return draft
    share = sum(votes) / len(votes)
    if share >= least:
        return replace(draft, agreement=share)
    reason = f"led a model back to the relation for {sum(votes)} of {len(votes)} facts"
    return replace(draft, agreement=share, verdict=DROP, reason=reason)
