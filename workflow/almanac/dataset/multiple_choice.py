"""T-REx-MC from any fact tables: the filter, the wrong choices and the split of Wu et al. (section 4, appendix A).

Every draw orders its candidates by a hash of what is drawn for, so a fact keeps its place and its choices whatever else
is in the table.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from almanac.dataset.names import ObjectNames, true_objects
from almanac.dataset.options import DatasetOptions
from almanac.dataset.text import normalise
from almanac.rows import Choices, Entity, Fact, Refused, Relation, RelationCount
from almanac.tables import hash_order


@dataclass(frozen=True)
class Dataset:
    """A multiple-choice dataset; ``facts`` are all those of the qualifying relations, the drawn ones with a split."""

    relations: list[Relation]
    facts: list[Fact]
    choices: list[Choices]
    refused: list[Refused]
    counts: list[RelationCount]


def build(
    relations: Sequence[Relation],
    facts: Sequence[Fact],
    entities: Sequence[Entity],
    options: DatasetOptions,
    on_relation: Callable[[], object] = lambda: None,
) -> Dataset:
    """Build the dataset: filter relations, refuse facts without enough wrong choices, split, draw the choices.

    Args:
        relations: all relations of the facts.
        facts: triples; those with a ``split`` keep it, and then nothing is drawn in their relation.
        entities: with labels and aliases, for every entity that a fact names.
        options: the counts and the seed.
        on_relation: called after each relation.

    Returns:
        The dataset, every list sorted by its key. In a qualifying relation each fact is train, test, refused with a
        reason, or surplus to the counts asked for; a relation that does not qualify is refused as a whole.
    """
    names = ObjectNames.of(entities)
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_relation[fact.relation_id].append(fact)
    kept: list[Relation] = []
    out = Dataset(kept, [], [], [], [])
    for relation in sorted(relations, key=lambda row: row.relation_id):
        own = sorted(by_relation[relation.relation_id], key=lambda row: row.fact_id)
        objects = len({normalise(names.label(fact.object_key)) for fact in own})
        if len(own) < options.min_facts or objects < options.min_objects:
            reason = f"{len(own)} facts and {objects} objects; needed are {options.min_facts} and {options.min_objects}"
            out.refused.append(Refused(relation.relation_id, None, reason))
            out.counts.append(
                RelationCount(relation.relation_id, relation.label, False, len(own), objects, 0, 0, 0, 0, 0)
            )
        else:
            kept.append(relation)
            _add_relation(out, relation, own, objects, names, options)
        on_relation()
    return out


def _add_relation(
    out: Dataset, relation: Relation, own: list[Fact], objects: int, names: ObjectNames, options: DatasetOptions
) -> None:
    wrong = WrongChoices(own, names, options)
    refused = {
        fact.fact_id: Refused(
            fact.relation_id, fact.fact_id, f"{found} wrong choices; needed are {options.choices - 1}"
        )
        for fact in own
        if (found := len(wrong.candidates(fact))) < options.choices - 1
    }
    drawn = split([fact for fact in own if fact.fact_id not in refused], options)
    split_of = {fact.fact_id: "train" for fact in drawn.train} | {fact.fact_id: "test" for fact in drawn.test}
    out.facts.extend(replace(fact, split=split_of.get(fact.fact_id)) for fact in own)
    out.choices.extend(wrong.draw(fact) for fact in sorted(drawn.test, key=lambda row: row.fact_id))
    out.refused.extend(refused.values())
    out.counts.append(
        RelationCount(
            relation_id=relation.relation_id,
            label=relation.label,
            qualifies=True,
            facts=len(own),
            objects=objects,
            refused=len(refused),
            train=len(drawn.train),
            test=len(drawn.test),
            surplus=len(own) - len(refused) - len(split_of),
            shared_subjects=drawn.shared_subjects,
        )
    )


class WrongChoices:
    """The wrong choices of a relation's facts: its objects, without what is true for the subject."""

    def __init__(self, facts: Sequence[Fact], names: ObjectNames, options: DatasetOptions) -> None:
        self._names = names
        self._options = options
        self._true = true_objects(facts)
        keys = sorted({fact.object_key for fact in facts})
        self._folded: Mapping[str, frozenset[str]] = {key: names.folded(key) for key in keys}
        by_label: dict[str, str] = {}
        self._keys_by_name: dict[str, set[str]] = defaultdict(set)
        for (
            key
        ) in keys:  # objects that share a label are one choice; the first id stands for them, with all their names
            stands = by_label.setdefault(normalise(names.label(key)), key)
            for name in self._folded[key]:
                self._keys_by_name[name].add(stands)
        self._pool = by_label
        self._found: dict[tuple[str, ...], list[str]] = {}

    def candidates(self, fact: Fact) -> list[str]:
        """Return the object keys that may be offered as wrong, sorted; distinct as normalised labels.

        With ``exclude_true`` no candidate shares a name with any true object of the subject; otherwise only the fact's
        own object is left out (the paper states no more).
        """
        true = self._true[fact.relation_id, fact.subject_id] if self._options.exclude_true else (fact.object_key,)
        if true not in self._found:
            self._found[true] = sorted(set(self._pool.values()) - self._meaning(true))
        return self._found[true]

    def _meaning(self, true: tuple[str, ...]) -> set[str]:
        """Return the pool's keys that mean one of the true objects."""
        if not self._options.exclude_true:
            return {self._pool[normalise(self._names.label(key))] for key in true}
        return {found for key in true for name in self._folded[key] for found in self._keys_by_name[name]}

    def draw(self, fact: Fact) -> Choices:
        """Draw the wrong choices of a test fact: uniform over the candidates, seeded by the fact's identity."""
        ranked = hash_order(self.candidates(fact), self._options.seed, "choices", fact.fact_id)
        drawn = tuple(ranked[: self._options.choices - 1])
        return Choices(fact.fact_id, drawn, tuple(map(self._names.label, drawn)))


@dataclass(frozen=True)
class Split:
    """Train and test facts of a relation, and how many subjects stand in both."""

    train: list[Fact]
    test: list[Fact]
    shared_subjects: int


def split(facts: Sequence[Fact], options: DatasetOptions) -> Split:
    """Split a relation's facts into train and test, at most one subject in both, and that only where test runs short.

    A split that the source prescribes is kept, cut to the counts. Otherwise subjects are taken in seeded order: into
    train while they fit, then into test. Where no whole subject fits the last gap in train, one subject is divided, and
    its other facts come last for test. (No search is made for an order in which no subject need be divided.)
    """
    if any(fact.split for fact in facts):
        train = [fact for fact in _shuffled(facts, options) if fact.split == "train"][: options.train]
        test = [fact for fact in _shuffled(facts, options) if fact.split == "test"][: options.test]
    else:
        train, test = _draw_split(facts, options)
    shared = {fact.subject_id for fact in train} & {fact.subject_id for fact in test}
    return Split(train, test, len(shared))


def _draw_split(facts: Sequence[Fact], options: DatasetOptions) -> tuple[list[Fact], list[Fact]]:
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in _shuffled(facts, options):
        groups[fact.subject_id].append(fact)
    wanted = min(options.train, len(facts))
    train: list[Fact] = []
    waiting: list[list[Fact]] = []
    for group in groups.values():
        if len(train) + len(group) <= wanted:
            train.extend(group)
        else:
            waiting.append(group)
    if len(train) < wanted:  # no whole subject fits the gap: the first that waits fills it
        gap = wanted - len(train)
        first = waiting.pop(0)
        train.extend(first[:gap])
        waiting.append(first[gap:])  # last in line, so that its rest is used only where the test facts run short
    test = [fact for group in waiting for fact in group][: options.test]
    return train, test


def _shuffled(facts: Iterable[Fact], options: DatasetOptions) -> list[Fact]:
    by_id = {fact.fact_id: fact for fact in facts}
    return [by_id[identity] for identity in hash_order(by_id, options.seed, "split")]
