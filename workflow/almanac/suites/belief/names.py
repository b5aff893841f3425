"""The names by which facts are asked and recognised: of subjects, of objects, and ambiguous or unsafe ones."""

from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

from almanac.dataset.names import STOP_WORDS, ObjectNames, in_name
from almanac.dataset.text import normalise
from almanac.rows import Fact
from almanac.suites.data import Data


class EntityNames:
    """The names of a dataset, and which objects are true of a fact's relation and subject."""

    def __init__(self, data: Data, guessed: Iterable[tuple[str, str]] = ()) -> None:
        """Index a dataset; ``guessed``: pairs of relation and subject whose objects a model guesses from the name."""
        self.names, self.true, self._guessed = data.names, data.true, frozenset(guessed)
        # The entity that bears each label, as labels are compared; none where several do.
        self._labelled: dict[str, str | None] = {}
        for entity in data.entities:
            label = normalise(entity.label)
            self._labelled[label] = None if label in self._labelled else entity.entity_id

    def subject(self, key: str, most: int) -> tuple[str, ...]:
        """Return the names that a subject is asked by, its label first; at most so many, or all (0)."""
        return distinct(self.names.names(key))[: most or None]

    def ambiguous(self, key: str, name: str) -> bool:
        """Return whether another entity has a name as its label."""
        return self._labelled.get(normalise(name), key) != key

    def accepted(self, fact: Fact, aliases: str) -> tuple[str, ...]:
        """Return every name of every true object, the fact's own object first and labels before other names.

        Args:
            fact: any train or test fact of the pair of subject and relation.
            aliases: ``all``, or ``safe``: without names that are unsafe, labels apart.
        """
        true = self.true[fact.relation_id, fact.subject_id]
        keys = sorted(true, key=lambda key: (key != fact.object_key, key))
        labels = [self.names.label(key) for key in keys]
        others = [name for key in keys for name in self.names.names(key)[1:]]
        return distinct([*labels, *(name for name in others if aliases == "all" or not unsafe(name))])

    def guessable(self, fact: Fact) -> bool:
        """Return whether LAMA-UHN leaves a fact out.

        Every true object's label stands in the subject's, case aside (its first rule), or was guessed (its second).
        """
        if (fact.relation_id, fact.subject_id) in self._guessed:
            return True
        subject = self.names.label(fact.subject_id)
        return all(in_name(subject, self.names.label(key)) for key in self.true[fact.relation_id, fact.subject_id])


def unsafe(name: str) -> bool:
    """Return whether a name is a stop word or has at most two letters: it stands in texts that do not mean it.

    Signs and digits alone (50 %, €) are safe, and so is what is written with wide characters, of which one is a word.
    """
    written = [one for one in name if one.isalnum()]
    letters = any(one.isalpha() and east_asian_width(one) not in "FW" for one in written)
    return name.lower() in STOP_WORDS or (letters and len(written) <= 2)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return names, each once, without empty ones; another case is another name to a model."""
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def pairs(facts: Sequence[Fact], names: ObjectNames) -> list[Fact]:
    """Return the first fact of each subject: of several true objects one, and one of subjects that read alike."""
    return list({names.reading(fact.subject_id): fact for fact in reversed(facts)}.values())[::-1]
