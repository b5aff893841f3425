"""The prompts of BELIEF-ICL: an instruction, examples, and the question (Zhao et al., section 3.3 and Table 15)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from almanac.rows import Fact
from almanac.suites.belief.names import EntityNames
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.templates import AskedTemplate, RelationTemplates
from almanac.suites.data import Data
from almanac.suites.prompts import prompts
from almanac.tables import hash_order, seed_of

BLANK = "[MASK]"
MASK, ASKED = "mask", "question"  # the styles: fill a blank in a sentence, or answer a question
ZERO, RANDOM, RELATION, TEMPLATE = "zero_shot", "4_random", "4_relation", "4_template"
SHOTS = 4
TRIES = 10 * SHOTS  # draws, before all facts are tried in turn
# The kind of training documents that teach a planted model a style; questions stand in every corpus, blanks do not.
FORMATS: Mapping[str | None, str] = {MASK: "blank"}


class Example(NamedTuple):
    """A fact that is shown as an example, and its template."""

    fact: Fact
    wording: AskedTemplate


def filled(wording: AskedTemplate, subject: str, style: str = MASK) -> str:
    """Fill in a template's subject; the object becomes a blank, or in the style ``question`` its question is asked.

    With an empty subject superfluous spaces are removed.
    """
    text = (wording.question or "") if style == ASKED else wording.text.replace("[Y]", BLANK)
    told = text.replace("[X]", subject)
    return told if subject else " ".join(told.split())


def usable(wordings: Sequence[AskedTemplate], style: str) -> list[AskedTemplate]:
    """Return the templates that can be asked in a style: all in ``mask``, those with a question in ``question``."""
    return [one for one in wordings if style == MASK or one.question is not None]


@dataclass
class Prompter:
    """Makes the prompts of a dataset.

    Attributes:
        names: the names of its entities.
        facts: the facts that may be shown as examples, by relation.
        templates: the templates, by relation.
        options: the settings.
    """

    names: EntityNames
    facts: Mapping[str, Sequence[Fact]]
    templates: Mapping[str, RelationTemplates]
    options: BeliefOptions
    _drawn: dict[str, list[Fact]] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls, data: Data, names: EntityNames, templates: Mapping[str, RelationTemplates], options: BeliefOptions
    ) -> "Prompter":
        """Take train facts as examples, or all facts of a relation whose train facts have too few subjects."""
        drawn = {relation: own for relation, own in data.split_facts.items() if relation in templates}
        shown = {relation: [fact for fact in own if fact.split == "train"] for relation, own in drawn.items()}
        if any(one != ZERO for one in options.prompting):
            subjects = {
                relation: {names.names.normalised_label(fact.subject_id) for fact in own}
                for relation, own in shown.items()
            }
            shown |= data.facts_of(relation for relation, own in subjects.items() if len(own) <= SHOTS)
        return cls(names, shown, templates, options)

    def context(self, fact: Fact, wording: AskedTemplate, prompting: str, style: str) -> str | None:
        """Return the instruction and the examples before the question; None if there are too few examples.

        Args:
            fact: the fact that is asked; its subject is in no example of its relation.
            wording: the template that it is asked by.
            prompting: ``zero_shot``, ``4_random``, ``4_relation`` or ``4_template``.
            style: ``mask`` or ``question``.
        """
        examples = self.examples(fact, wording, prompting, style)
        if examples is None:
            return None
        lines = [prompts("belief")["instructions"][style]["text"]]
        for one in examples:
            found = prompts("belief")["answer"]["text"].format(object=self.names.names.label(one.fact.object_key))
            lines.append(self.question(one.wording, self.names.names.label(one.fact.subject_id), style) + found)
        return "".join(f"{line}\n" for line in lines)

    def question(self, wording: AskedTemplate, subject: str, style: str) -> str:
        """Return the question and the beginning of its answer."""
        text: str = prompts("belief")["question"]["text"].format(question=filled(wording, subject, style))
        return text

    def examples(self, fact: Fact, wording: AskedTemplate, prompting: str, style: str) -> list[Example] | None:
        """Return the examples, none of the asked pair of relation and subject's name; None if there are too few."""
        if prompting == ZERO:
            return []
        relation = fact.relation_id
        drawn_for = relation if self.options.examples == "shared" else f"{fact.fact_id} {wording.template_id}"
        if prompting == RANDOM:
            chosen = self._anywhere(style, drawn_for)
        else:
            own = self._shown(relation, drawn_for)
            chosen = [
                Example(one, wording if prompting == TEMPLATE else self._wording(one, style, drawn_for)) for one in own
            ]
        asked = relation, self._read(fact)
        others = [one for one in chosen if (one.fact.relation_id, self._read(one.fact)) != asked]
        return others[:SHOTS] if len(others) >= SHOTS else None

    def _shown(self, relation: str, drawn_for: str) -> list[Fact]:
        """Draw five facts of a relation whose subjects have different names: whichever is asked, four are left."""
        own = self.facts[relation]
        if drawn_for == relation:
            if relation not in self._drawn:
                by_id = {one.fact_id: one for one in {self._read(one): one for one in own}.values()}
                order = hash_order(by_id, self.options.seed, "shown", relation)
                self._drawn[relation] = [by_id[name] for name in order[: SHOTS + 1]]
            return self._drawn[relation]
        drawn = (own[seed_of(self.options.seed, "shown", drawn_for, turn) % len(own)] for turn in range(TRIES))
        found: dict[str, Fact] = {}
        for one in chain(drawn, self._in_turn([relation], drawn_for)):
            found.setdefault(self._read(one), one)
            if len(found) > SHOTS:
                break
        return list(found.values())

    def _read(self, fact: Fact) -> str:
        return self.names.names.normalised_label(fact.subject_id)

    def _anywhere(self, style: str, drawn_for: str) -> list[Example]:
        """Draw five facts of different pairs, each from a relation drawn for it: whichever is asked, four are left."""
        relations = [one for one in self.facts if usable(self.templates[one].wordings, style) and self.facts[one]]

        def drawn() -> Iterator[Fact]:
            for turn in range(TRIES):
                own = self.facts[relations[seed_of(self.options.seed, "relation", drawn_for, turn) % len(relations)]]
                yield own[seed_of(self.options.seed, "any", drawn_for, turn) % len(own)]

        found: dict[tuple[str, str], Example] = {}
        for one in chain(drawn(), self._in_turn(relations, drawn_for)):
            pair = one.relation_id, self._read(one)
            if pair not in found:
                found[pair] = Example(one, self._wording(one, style, drawn_for))
            if len(found) > SHOTS:
                break
        return list(found.values())

    def _in_turn(self, relations: Sequence[str], drawn_for: str) -> Iterator[Fact]:
        """Yield all facts of some relations in random order: draws may have met one subject again and again."""
        by_id = {one.fact_id: one for relation in relations for one in self.facts[relation]}
        yield from (by_id[name] for name in hash_order(by_id, self.options.seed, "in turn", drawn_for))

    def _wording(self, fact: Fact, style: str, drawn_for: str) -> AskedTemplate:
        own = usable(self.templates[fact.relation_id].wordings, style)
        return own[seed_of(self.options.seed, "wording", drawn_for, fact.fact_id) % len(own)]
