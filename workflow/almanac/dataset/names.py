"""The names of objects: which label is shown for an object, and under which names it is recognised."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from almanac.dataset.text import normalise
from almanac.rows import Entity, Fact


@dataclass(frozen=True)
class ObjectNames:
    """Names of the objects of facts: entities by label and aliases, literals by their text."""

    entities: Mapping[str, Entity]

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> "ObjectNames":
        """Index entities by their id."""
        return cls({entity.entity_id: entity for entity in entities})

    def label(self, key: str) -> str:
        """Return the text shown for an object key: the entity's label, or the literal itself."""
        return self.entities[key].label if key in self.entities else key

    def names(self, key: str) -> tuple[str, ...]:
        """Return all names of an object, the label first."""
        return (self.entities[key].label, *self.entities[key].aliases) if key in self.entities else (key,)

    def folded(self, key: str) -> frozenset[str]:
        """Return all names of an object as they are compared."""
        return frozenset(map(normalise, self.names(key)))


def true_objects(facts: Iterable[Fact]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the object keys that are true for each (relation, subject), sorted."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        found[fact.relation_id, fact.subject_id].add(fact.object_key)
    return {pair: tuple(sorted(keys)) for pair, keys in found.items()}
