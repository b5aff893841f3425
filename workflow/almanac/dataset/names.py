"""The names of objects: which label is shown for an object, and under which names it is recognised."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from almanac.dataset.text import normalise, same_value
from almanac.rows import Entity, Fact

# Words that stand in many answers whatever is meant; among T-REx's aliases, "it" is a name of Italian.
STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "for", "from", "had", "has"),
        *("have", "he", "her", "him", "his", "i", "if", "in", "is", "it", "its", "me", "my", "no", "not", "of", "on"),
        *("one", "or", "our", "she", "so", "that", "the", "their", "them", "they", "this", "to", "up", "us", "was"),
        *("we", "were", "what", "when", "where", "which", "who", "will", "with", "you", "your"),
    )
)


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

    def reading(self, key: str) -> str:
        """Return a subject's label as it is compared: subjects that read alike are one subject to a model."""
        return normalise(self.label(key))

    def by_name(self, key: str) -> bool:
        """Return whether an object is its name and so maybe a value: a literal, or a thing of one file of facts."""
        return self.label(key) == key

    def folded(self, key: str) -> frozenset[str]:
        """Return all names of an object as they are compared."""
        fold = same_value if self.by_name(key) else normalise
        return frozenset(map(fold, self.names(key)))


def in_name(subject: str, found: str) -> bool:
    """Return whether an object's label stands in its subject's, case aside: LAMA-UHN's first rule.

    `BELIEF`'s measures and datasets (`DatasetOptions.guessable`) apply it to all true objects of a subject.
    """
    return found.lower() in subject.lower()


def likeness(subject: str, found: str) -> float:
    """Return how much of an object's label stands in its subject's: the share of its pairs of letters, 0 to 1.

    Both ends count as a space, so that a symbol may be like the beginning of a word.
    """
    own = _pairs(found)
    return len(own & _pairs(subject)) / len(own)


@lru_cache(8192)
def _pairs(name: str) -> frozenset[str]:
    text = f" {normalise(name)} "
    return frozenset(text[at : at + 2] for at in range(len(text) - 1))


def true_objects(facts: Iterable[Fact], names: ObjectNames | None = None) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the object keys that are true for each (relation, subject), sorted.

    Args:
        facts: all that are known of the subjects.
        names: of the subjects; those that read alike (`ObjectNames.reading`) share their objects, since a question
            that names one of them may mean the other. None: each subject has its own.
    """
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        found[fact.relation_id, fact.subject_id].add(fact.object_key)
    if names is not None:
        shared: dict[tuple[str, str], list[str]] = defaultdict(list)
        for relation, subject in found:
            shared[relation, names.reading(subject)].append(subject)
        for (relation, _), subjects in shared.items():
            if len(subjects) > 1:
                every = set().union(*(found[relation, subject] for subject in subjects))
                found |= {(relation, subject): every for subject in subjects}
    return {pair: tuple(sorted(keys)) for pair, keys in found.items()}
