"""BELIEF's requests: pairs × names × templates, as blanks for masked models and as questions for causal models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import polars as pl

from almanac import tables
from almanac.rows import Choices, Context, Fact, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.belief.guessing import Guessed
from almanac.suites.belief.names import EntityNames, distinct, pairs, unsafe
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.prompts import MASK, ZERO, Prompter, filled, usable
from almanac.suites.belief.rows import Grid, PromptTraits
from almanac.suites.belief.templates import AskedTemplate, RelationTemplates, lacking, of_dataset, unused
from almanac.suites.data import Data
from almanac.suites.prompts import prompts
from almanac.tables import hash_order, seed_of

# Experiments. Blanks: any token of the vocabulary, or ranked objects. Texts: the answer, and its control.
VOCABULARY, CANDIDATES, ICL, CONTROL, CONTENT_FREE = "vocabulary", "candidates", "icl", "control", "content_free"
FILL, GREEDY, SAMPLES, SEQUENCE = "fill", "greedy", "samples", "sequence"  # roles of a request of an item
AT_ONCE = 20_000  # items that are held in memory as objects, about


class BeliefSetting(NamedTuple):
    """How a causal model is prompted, and in which style; both are empty where a masked model fills a blank."""

    prompting: str | None = None
    style: str | None = None

    def label(self) -> str:
        """Describe the setting to a reader of the page."""
        if self.prompting is None:
            return "a sentence with a blank"
        return f"{self.prompting.replace('_', '-')}, {'a sentence' if self.style == MASK else 'a question'}"


class SubjectName(NamedTuple):
    """A name that a subject is asked by; whether it is an alias; and whether it is the label of another entity."""

    name: str
    alias: bool
    ambiguous: bool


class Pair(NamedTuple):
    """A subject and a relation, with the names that they are asked and judged by.

    Attributes:
        fact: the first of their facts.
        names: the subject's names, the label first.
        accepted: every name of every true object, labels first.
        labels: how many of the accepted names are labels.
        wrong: labels of wrong objects.
        guessable: whether LAMA-UHN leaves the pair out.
    """

    fact: Fact
    names: tuple[SubjectName, ...]
    accepted: tuple[str, ...]
    labels: int
    wrong: tuple[str, ...]
    guessable: bool


def ask(data: Data, options: BeliefOptions, own: Mapping[str, type]) -> Iterator[Batch]:
    """Yield the first round's items and requests, relation by relation.

    Raises:
        AlmanacError: the user's file of templates, or of guessed pairs, has mistakes.
    """
    found = tables.read_jsonl(Path(options.guessed), Guessed) if options.guessed is not None else []
    names = EntityNames(data, ((row.relation_id, row.subject_id) for row in found))
    asker = _Asker(data, options, names, of_dataset(data, options), Asked(own))
    left_out = {} if options.file is None else unused(Path(options.file), {row.relation_id for row in data.relations})
    for thing, reason in (lacking(asker.templates, asker.tested) | left_out).items():
        asker.asked.refuse(thing, reason)
    for relation in asker.tested:
        if relation in asker.templates:
            yield from asker.relation(relation)
    yield asker.asked.take()


@dataclass(frozen=True)
class _Asker:
    """Makes the items of a dataset, relation by relation."""

    data: Data
    options: BeliefOptions
    names: EntityNames
    templates: Mapping[str, RelationTemplates]
    asked: Asked

    @cached_property
    def prompter(self) -> Prompter:
        return Prompter.of(self.data, self.names, self.templates, self.options)

    @cached_property
    def tested(self) -> dict[str, list[Fact]]:
        """The test facts that are asked, by relation."""
        return self.data.tested(self.options.sample, self.options.seed, self.options.at_least)

    @cached_property
    def wrong(self) -> dict[str, Choices]:
        return self.data.choices_of(fact for own in self.tested.values() for fact in own)

    @cached_property
    def objects(self) -> dict[str, pl.Series]:
        """The distinct objects of every relation, as columns since there may be millions of them."""
        found = self.data.triples.group_by("relation_id").agg(pl.col("object").unique())
        return dict(zip(found["relation_id"], found["object"], strict=True))

    @cached_property
    def sampled(self) -> frozenset[str]:
        """The ids of the facts whose pairs have one prompt with a sampled confidence."""
        if not self.options.sampled:
            return frozenset()
        own = (pairs(tested, self.names.names) for name, tested in self.tested.items() if name in self.templates)
        found = [fact.fact_id for asked in own for fact in asked]
        return frozenset(hash_order(found, self.options.seed, "sampled")[: self.options.sampled])

    def relation(self, relation: str) -> Iterator[Batch]:
        """Ask the pairs of a relation by every name of the subject and every template."""
        source, wordings = self.templates[relation]
        tested = self.tested[relation]
        if not tested:
            self.asked.refuse(f"relation {relation}", "it has no test fact")
            return
        labels = self._labels(relation)
        asked = [self._pair(fact, labels) for fact in pairs(tested, self.names.names)]
        self.asked.own["grid"].append(self._grid(relation, source, wordings, asked))
        if self.options.bias:
            self._content_free(relation, wordings, labels)
        askable = {style: usable(wordings, style) for style in (self.options.styles if self.options.prompting else ())}
        for style in (style for style, own in askable.items() if not own):
            self.asked.refuse(f"relation {relation} as a {style}", "none of its chosen templates has a question")
        for pair in asked:
            if self.options.fill:
                self._fill(pair, wordings)
            for prompting, (style, own) in product(self.options.prompting, askable.items()):
                self._icl(pair, own, BeliefSetting(prompting, style))
            if len(self.asked.own["prompts"]) >= AT_ONCE:
                yield self.asked.take()
        yield self.asked.take()

    def _labels(self, relation: str) -> tuple[str, ...]:
        """Return the labels of a relation's objects, in random order."""
        labels = distinct({self.names.names.label(key) for key in self.objects[relation]})
        return tuple(hash_order(labels, self.options.seed, "objects"))

    def _pair(self, fact: Fact, labels: Sequence[str]) -> Pair:
        """Return the pair of a fact; wrong objects are its wrong choices, or others of the relation's ``labels``."""
        most = self.options.candidates
        accepted = self.names.accepted(fact, self.options.aliases)
        given = self.wrong.get(fact.fact_id)
        true = {name.casefold() for name in accepted}
        offered = self._others(fact, labels) if given is None else given.labels
        wrong = (label for label in offered if label.casefold() not in true)
        named = tuple(
            SubjectName(name, place > 0, self.names.ambiguous(fact.subject_id, name))
            for place, name in enumerate(self.names.subject(fact.subject_id, self.options.names))
        )
        kept = tuple(islice(wrong, None if most < 0 else max(1, most)))
        labelled = {self.names.names.label(key) for key in self.names.true[fact.relation_id, fact.subject_id]}
        return Pair(fact, named, accepted, len(labelled.intersection(accepted)), kept, self.names.guessable(fact))

    def _others(self, fact: Fact, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the relation's labels, rotated to begin at a random place drawn for the pair."""
        start = seed_of(self.options.seed, "wrong", fact.fact_id) % max(1, len(labels))
        return (*labels[start:], *labels[:start])

    def _grid(self, relation: str, source: str, wordings: Sequence[AskedTemplate], asked: Sequence[Pair]) -> Grid:
        """Return the relation's row of the paper's Table 1."""
        names = sum(len(pair.names) for pair in asked)
        true = {pair.fact.subject_id: self.names.true[relation, pair.fact.subject_id] for pair in asked}
        known = self.names.names
        return Grid(
            relation_id=relation,
            source=source,
            templates=len(wordings),
            groups=len({one.group for one in wordings}),
            pairs=len(asked),
            triples=sum(map(len, true.values())),
            names=names,
            derived=sum(len(pair.names) * len(pair.accepted) for pair in asked),
            prompts=names * len(wordings),
            guessable=sum(pair.guessable for pair in asked),
            ambiguous=sum(named.ambiguous for pair in asked for named in pair.names),
            unsafe=len(
                {name for keys in true.values() for key in keys for name in known.names(key)[1:] if unsafe(name)}
            ),
        )

    def _item(
        self,
        experiment: str,
        setting: BeliefSetting,
        pair: Pair,
        wording: AskedTemplate,
        named: SubjectName,
        prompt: int,
        *,
        sampled: bool = False,
        accepted: tuple[str, ...] | None = None,
    ) -> int:
        """Add one item, without a request, and return its number."""
        item = self.asked.item(
            experiment, setting, pair.fact, accepted or pair.accepted, template=wording.template_id, name=named.name
        )
        self.asked.own["prompts"].append(
            PromptTraits(
                item=item,
                prompt=prompt,
                group=wording.group,
                written=wording.written,
                form=wording.form,
                alias=named.alias,
                ambiguous=named.ambiguous,
                guessable=pair.guessable,
                sampled=sampled,
                labels=pair.labels,
            )
        )
        return item

    def _fill(self, pair: Pair, wordings: Sequence[AskedTemplate]) -> None:
        """Ask a pair by blanks: one request per prompt; its choices are the wrong objects, then the true names."""
        ranked = self.options.candidates != 0 and bool(pair.wrong)
        wrong = pair.wrong if ranked else ()
        for prompt, (named, wording) in enumerate(product(pair.names, wordings)):
            text = filled(wording, named.name)
            request = Request("", "fill", None, text, choices=(*wrong, *pair.accepted), top_k=1)
            for experiment in (VOCABULARY, CANDIDATES) if ranked else (VOCABULARY,):
                item = self._item(experiment, BeliefSetting(), pair, wording, named, prompt)
                self.asked.link(item, FILL, request, len(wrong))

    def _icl(self, pair: Pair, wordings: Sequence[AskedTemplate], setting: BeliefSetting) -> None:
        """Ask a pair by prompts answered by a text; the control judges the first one as if a wrong object were true."""
        prompting, style = str(setting.prompting), str(setting.style)
        fact, count = pair.fact, len(pair.names) * len(wordings)
        drawn = seed_of(self.options.seed, "sampled", fact.fact_id) % count if count else 0
        for prompt, (named, wording) in enumerate(product(pair.names, wordings)):
            context = self.prompter.context(fact, wording, prompting, style)
            if context is None:
                self.asked.refuse(
                    f"relation {fact.relation_id}: {prompting}",
                    "its facts that may be examples have fewer than five subjects",
                )
                return
            sampled = prompt == drawn and fact.fact_id in self.sampled
            item = self._item(ICL, setting, pair, wording, named, prompt, sampled=sampled)
            text, context_id = self.prompter.question(wording, named.name, style), self.asked.context(context)
            once = greedy(text, self.options.new_tokens, context_id=context_id)
            self.asked.link(item, GREEDY, once)
            if sampled:
                seed = seed_of(self.options.seed, "samples", fact.fact_id, setting) % 2**31
                samples = replace(once, samples=self.options.samples, temperature=1.0, seed=seed)
                self.asked.link(item, SAMPLES, samples)
            if prompt == 0 and pair.wrong:
                control = self._item(CONTROL, setting, pair, wording, named, 0, accepted=pair.wrong[:1])
                self.asked.link(control, GREEDY, once)

    def _content_free(self, relation: str, wordings: Sequence[AskedTemplate], labels: tuple[str, ...]) -> None:
        """Ask which of a relation's objects a model prefers after content-free subjects (section 5.4)."""
        if len(labels) < 2:
            self.asked.refuse(f"bias of {relation}", "it has one object")
            return
        zero = [style for style in self.options.styles if ZERO in self.options.prompting]
        told = prompts("belief")
        for wording, subject in product(wordings, told["content_free"]["texts"]):
            asked: list[tuple[BeliefSetting, Request]] = []
            if self.options.fill:
                request = Request("", "fill", None, filled(wording, subject), choices=labels, top_k=1)
                asked.append((BeliefSetting(), request))
            for style in zero:
                if usable([wording], style):
                    text = self.prompter.question(wording, subject, style)
                    begin = self.asked.context(f"{told['instructions'][style]['text']}\n")
                    choices = tuple(f" {label}" for label in labels)
                    asked.append((BeliefSetting(ZERO, style), Request("", "choices", begin, text, choices=choices)))
            for setting, request in asked:
                template = wording.template_id
                item = self.asked.item(CONTENT_FREE, setting, None, relation=relation, template=template, name=subject)
                self.asked.link(item, FILL, request)


def ask_sequences(before: Answers, own: Mapping[str, type]) -> Iterator[Batch]:
    """Yield the second round's requests: the probability of each text that a model wrote to a sampled prompt."""
    asked = Asked(own, before.count)
    contexts = {row.context_id: row.text for row in tables.read(before.rounds[0].folder / "contexts.parquet", Context)}
    for part in before.parts(("experiment", "role", "status", "context_id", "text", "texts"), own=("prompts",)):
        wanted = part.links.join(part.own["prompts"].select("item", "sampled"), on="item", how="left")
        wanted = wanted.filter(
            (pl.col("experiment") == ICL) & (pl.col("role") == GREEDY) & (pl.col("status") == "ok") & pl.col("sampled")
        )
        for row in wanted.sort("item").iter_rows(named=True):
            if row["texts"] and row["texts"][0].strip():
                context_id = asked.context(contexts[row["context_id"]])
                request = Request("", "choices", context_id, row["text"], choices=(row["texts"][0],))
                asked.link(row["item"], SEQUENCE, request)
        yield asked.take()
