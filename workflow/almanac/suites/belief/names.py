"""Names of subjects, by which facts are asked, and of objects, by which answers are recognised."""

from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

from almanac.dataset.names import STOP_WORDS, ObjectNames, in_name
from almanac.dataset.text import normalise
from almanac.rows import Fact
from almanac.suites.data import Data


class EntityNames:
    """The names of a dataset's entities, and the true objects of each pair of relation and subject."""

    def __init__(self, data: Data, guessed: Iterable[tuple[str, str]] = ()) -> None:
        """Index a dataset; ``guessed`` are pairs (relation, subject) whose objects a model guesses from the name."""
        self.names, self.true, self._guessed = data.names, data.true_objects, frozenset(guessed)
        # By normalised label, the entity that has it; None if several have.
        self._labelled: dict[str, str | None] = {}
        for entity in data.entities:
            label = normalise(entity.label)
            self._labelled[label] = None if label in self._labelled else entity.entity_id

    def subject(self, key: str, most: int) -> tuple[str, ...]:
        """Return the names that a subject is asked by, its label first: at most ``most``, or all (0)."""
        return distinct(self.names.names(key))[: most or None]

    def ambiguous(self, key: str, name: str) -> bool:
        """Return whether a name of the entity ``key`` is the label of another entity."""
        return self._labelled.get(normalise(name), key) != key

    def accepted(self, fact: Fact, aliases: str) -> tuple[str, ...]:
        """Return every name of every true object: labels before aliases, and the fact's own object first.

        Args:
            fact: any train or test fact of the pair of subject and relation.
            aliases: ``all``, or ``safe``: without unsafe aliases (see `unsafe`).
        """
        true = self.true[fact.relation_id, fact.subject_id]
        keys = sorted(true, key=lambda key: (key != fact.object_key, key))
        labels = [self.names.label(key) for key in keys]
        others = [name for key in keys for name in self.names.names(key)[1:]]
        return distinct([*labels, *(name for name in others if aliases == "all" or not unsafe(name))])

    def guessable(self, fact: Fact) -> bool:
        """Return whether LAMA-UHN leaves a fact out.

        It does if the subject's label contains that of every true object, ignoring case (first rule), or if the pair
        was guessed (second rule, see `guessing`).
        """
        if (fact.relation_id, fact.subject_id) in self._guessed:
            return True
        subject = self.names.label(fact.subject_id)
        return all(in_name(subject, self.names.label(key)) for key in self.true[fact.relation_id, fact.subject_id])


def unsafe(name: str) -> bool:
    """Return whether a name is a stop word or has at most two letters, so that many texts contain it by accident.

    Names of signs and digits alone (50 %, €) are safe, and so are names in wide characters, such as Chinese.
    """
    written = [one for one in name if one.isalnum()]
    letters = any(one.isalpha() and east_asian_width(one) not in "FW" for one in written)
    return name.lower() in STOP_WORDS or (letters and len(written) <= 2)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct non-empty names; names that differ in case are different to a model."""
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def pairs(facts: Sequence[Fact], names: ObjectNames) -> list[Fact]:
    """Return the first fact of each subject; subjects whose names read alike count as one."""
    return list({names.normalised_label(fact.subject_id): fact for fact in reversed(facts)}.values())[::-1]
