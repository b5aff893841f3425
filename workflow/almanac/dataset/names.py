"""Names of objects: the label under which an object is shown, and all names under which it is recognised."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from almanac.dataset.text import normalise, same_value
from almanac.rows import Entity, Fact

# Function words, which occur in most answers. Some are aliases in the data: T-REx has "it" for Italian.
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

    def normalised_label(self, key: str) -> str:
        """Return a subject's normalised label. Subjects with equal labels cannot be told apart by a model."""
        return normalise(self.label(key))

    def by_name(self, key: str) -> bool:
        """Return whether an object's key is its label, as for literals and for entities of a single file of facts."""
        return self.label(key) == key

    def normalised_names(self, key: str) -> frozenset[str]:
        """Return all names of an object, normalised; if its key is its label, numbers compare by value."""
        fold = same_value if self.by_name(key) else normalise
        return frozenset(map(fold, self.names(key)))


def in_name(subject: str, object_label: str) -> bool:
    """Return whether the subject's label contains the object's, ignoring case: LAMA-UHN's first rule.

    BELIEF's metrics and `DatasetOptions.guessable` apply it to all true objects of a subject.
    """
    return object_label.lower() in subject.lower()


def likeness(subject: str, object_label: str) -> float:
    """Return the share (0 to 1) of the distinct character bigrams of an object's label that the subject's has too.

    Labels are padded with a space on both sides, so that a one-letter symbol can match the beginning of a word.
    """
    bigrams = _pairs(object_label)
    return len(bigrams & _pairs(subject)) / len(bigrams)


@lru_cache(8192)
def _pairs(name: str) -> frozenset[str]:
    text = f" {normalise(name)} "
    return frozenset(text[at : at + 2] for at in range(len(text) - 1))


def true_objects(facts: Iterable[Fact], names: ObjectNames | None = None) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the object keys that are true for each (relation, subject), sorted.

    Args:
        facts: all known facts of the subjects.
        names: names of the subjects. If given, subjects with equal labels (`ObjectNames.normalised_label`) share their
            objects: a question that names one of them may mean the other.
    """
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        found[fact.relation_id, fact.subject_id].add(fact.object_key)
    if names is not None:
        shared: dict[tuple[str, str], list[str]] = defaultdict(list)
        for relation, subject in found:
            shared[relation, names.normalised_label(subject)].append(subject)
        for (relation, _), subjects in shared.items():
            if len(subjects) > 1:
                every = set().union(*(found[relation, subject] for subject in subjects))
                found |= {(relation, subject): every for subject in subjects}
    return {pair: tuple(sorted(keys)) for pair, keys in found.items()}
