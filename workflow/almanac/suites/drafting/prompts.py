"""The prompts by which a model drafts templates, and the facts that they show."""

from collections.abc import Iterable, Sequence

from almanac.rows import Fact, Relation
from almanac.suites.data import Data
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.prompts import prompts
from almanac.tables import hash_order

SEPARATOR = " -> "


class Drafter:
    """The prompts and the facts that they show."""

    def __init__(self, data: Data, options: DraftingOptions) -> None:
        self.relations = {row.relation_id: row for row in data.relations}
        self._names, self._facts = data.names, data.by_relation
        self._options = options
        self._prompts = prompts("drafting")

    def shown(self, relation_id: str) -> list[Fact]:
        """Return the facts of a relation that are shown, drawn by a seed."""
        own = {fact.fact_id: fact for fact in self._facts.get(relation_id, ())}
        order = hash_order(own, self._options.seed, "shown", relation_id)
        return [own[fact_id] for fact_id in order[: self._options.facts]]

    def pairs(self, relation_id: str) -> list[tuple[str, str]]:
        """Return the labels of the shown facts."""
        return [
            (self._names.label(fact.subject_id), self._names.label(fact.object_key)) for fact in self.shown(relation_id)
        ]

    def object_names(self, relation_id: str) -> set[str]:
        """Return all names of a relation's objects; none of a relation without facts."""
        facts = self._facts.get(relation_id, ())
        return {name for fact in facts for name in self._names.names(fact.object_key)}

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
