"""True answers, of each item and of facts that were not asked, and how common the objects of each relation are."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from almanac.dataset.text import normalise
from almanac.frames import frames
from almanac.rows import Entity, Fact, Item
from almanac.suites.answers import Answers
from almanac.suites.commonness import Common, Several
from almanac.suites.data import Data

Accepts = Callable[[str, Iterable[str]], Iterable[str]]  # (answer, names) -> the names for which the answer is right


@dataclass(frozen=True)
class Truths:
    """What each item accepts as a true answer, and the choices that it offers.

    Attributes:
        of_item: ``item`` and ``truth``, the number of a set of accepted texts.
        names: the accepted texts of each truth, normalised.
        offered: the choices (`Suite.offered`); None: answers are open.
        objects: by relation and test fact the names of its object. If a sample was asked, its answers are compared with
            the test facts that were not drawn, too.
        of_subject: the same names of all objects of the fact's subject, if it has several; ``subject``: that subject.
        common: how common the objects of each relation are, among all its facts.
        others: an estimate of how common they are among the facts that names do not give away (`objects_of`).
        given: the facts that names give away (`Data.given_by_names`).
        accepts: returns the names for which an answer is right (`Suite.accepts`); None: those that stand in it.
        forms: by name of an object, other texts that count as its name (`Suite.forms`).
        by_subject: whether a subject is asked once, whatever objects it has (`Suite.asks_subjects`).
    """

    of_item: pl.DataFrame
    names: Mapping[int, frozenset[str]]
    offered: pl.DataFrame | None
    objects: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    of_subject: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    subject: Mapping[str, str] = field(default_factory=dict)
    common: Mapping[str, Common] = field(default_factory=dict)
    others: Mapping[str, Common] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    accepts: Accepts | None = None
    forms: Mapping[str, Set[str]] = field(default_factory=dict)
    by_subject: bool = False

    @classmethod
    def of(
        cls,
        answers: Answers,
        offered: pl.DataFrame | None,
        objects: "FactObjects",
        accepts: Accepts | None = None,
        forms: Mapping[str, Set[str]] | None = None,
        by_subject: bool = False,
    ) -> "Truths":
        """Read what the items of all rounds accept; the other arguments are attributes, ``objects`` several of them."""
        of_item, names = [], {}
        for one in answers.rounds:
            for frame in frames(one.folder / "items.parquet", Item, ["item", "accepted"]):
                numbered = frame.with_columns(pl.col("accepted").list.join("\x1f").hash(seed=0).alias("truth"))
                of_item.append(numbered.select(pl.col("item").cast(pl.UInt32), "truth"))
                for truth, texts in numbered.unique("truth").select("truth", "accepted").iter_rows():
                    names[truth] = frozenset(map(normalise, texts)) - {""}
        return cls(pl.concat(of_item), names, offered, *objects, accepts, forms or {}, by_subject)

    def common_in(self, relation: object, but_given: bool = False) -> Common:
        """Return how common a relation's objects are; ``but_given``: among facts that names do not give away."""
        common = self.common.get(str(relation), Common())
        return self.others.get(str(relation), common) if but_given else common

    def text_of(self, relation: object, truth: int, fact: object) -> str:
        """Return the commonest accepted name of an item, of the fact's own object if that is accepted."""
        counts, accepted = self.common_in(relation).named, self.names[truth]
        names = self.objects.get(str(relation), {}).get(str(fact), frozenset())
        return max(sorted(accepted & names or accepted), key=lambda name: counts.get(name, 0), default="")

    def unasked(self, part: pl.DataFrame, every: bool, left_out: Set[str] = frozenset()) -> dict[str, frozenset[str]]:
        """Return the accepted names of the test facts of a relation that were not asked.

        Nothing where an asked item accepts no name of its fact's object (of any of the relation's objects, if the fact
        is no test fact): such items accept something else than names.

        Args:
            part: the items of one relation, with ``truth``.
            every: whether a fact accepts all objects of its subject.
            left_out: facts whose items are invalid, for instance since no true name is a single token. If there are
                any, nothing is returned: it is not known which other facts would be invalid too.
        """
        relation = str(part["relation"][0])
        objects, of_subject = self.objects.get(relation, {}), self.of_subject.get(relation, {}) if every else {}
        asked, any_name = part.select("fact", "truth").unique().rows(), self.common_in(relation).named.keys()
        if not left_out.isdisjoint(objects) or any(
            (names := objects.get(fact) or any_name) and names.isdisjoint(self.names[truth]) for fact, truth in asked
        ):
            return {}
        facts = {fact for fact, _ in asked}
        found = {fact: of_subject.get(fact, names) for fact, names in objects.items() if fact not in facts}
        if self.by_subject:
            last, subjects = {self.subject.get(fact, fact): fact for fact in found}, set(part["subject"])
            found = {fact: found[fact] for subject, fact in last.items() if subject not in subjects}
        return found


class FactObjects(NamedTuple):
    """The objects of test facts, how common objects are, and the facts that names give away: see `Truths`."""

    objects: dict[str, dict[str, frozenset[str]]]
    of_subject: dict[str, dict[str, frozenset[str]]]
    subject: dict[str, str]
    common: dict[str, Common]
    others: dict[str, Common]
    given: frozenset[str]


def objects_of(data: Data) -> FactObjects:
    """Return the objects of a dataset's test facts and how common they are.

    Which part of an object's facts names do not give away is estimated from its test facts. For an object without test
    facts it is the mean part of objects with a single one (as Good and Turing estimate what was not seen).
    """
    given = data.given_by_names
    facts = data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id", "object_id", "value", "split"])
    facts = facts.with_columns(pl.coalesce(pl.col("object_id").cast(pl.String), "value").alias("object"))
    entities = data.frame("entities", Entity, ["entity_id", "label", "aliases"])
    entities = entities.filter(pl.col("entity_id").cast(pl.String).is_in(facts["object"].unique().implode()))
    known = {key: (label, *aliases) for key, label, aliases in entities.iter_rows()}
    names = {key: frozenset(map(normalise, known.get(key, (key,)))) - {""} for key in facts["object"].unique()}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    counts_rest: dict[str, dict[str, float]] = defaultdict(dict)
    object_of: dict[str, dict[str, str]] = defaultdict(dict)
    distinct = Counter[str]()
    tested = pl.when(pl.col("split") == "test").then(~pl.col("fact_id").cast(pl.String).is_in(list(given)))
    by_object = facts.group_by("relation_id", "object", maintain_order=True).agg(
        pl.len(), tested.mean().alias("rest"), tested.count().alias("tested")
    )
    once = pl.col("rest").filter(pl.col("tested") == 1).mean().over("relation_id")
    by_object = by_object.with_columns(pl.coalesce("rest", once, pl.lit(1.0))).drop("tested")
    for relation, key in by_object.select("relation_id", "object").iter_rows():  # labels before other names
        object_of[relation].setdefault(normalise(known.get(key, (key,))[0]), key)
    for relation, key, count, rest in by_object.iter_rows():
        counts[relation].update(dict.fromkeys(names[key], count))
        for name in names[key]:
            counts_rest[relation][name] = counts_rest[relation].get(name, 0.0) + count * rest
            object_of[relation].setdefault(name, key)
        distinct[relation] += 1
    sizes = dict(facts.group_by("relation_id").len().iter_rows())
    pairs = facts.unique(["relation_id", "subject_id", "object"], maintain_order=True)
    pairs = pairs.with_columns((pl.len().over("relation_id", "subject_id") > 1).alias("several"))
    asked = facts.filter(pl.col("split") == "test")
    all_names: dict[tuple[str, str], frozenset[str]] = {}
    more = pairs.filter("several").join(asked, on=["relation_id", "subject_id"], how="semi", maintain_order="left")
    for relation, subject, key in more.select("relation_id", "subject_id", "object").iter_rows():
        all_names[relation, subject] = all_names.get((relation, subject), frozenset()) | names[key]
    objects, of_subject = (defaultdict[str, dict[str, frozenset[str]]](dict) for _ in range(2))
    subject_of: dict[str, str] = {}
    for fact, relation, subject, key in asked.select("fact_id", "relation_id", "subject_id", "object").iter_rows():
        objects[relation][fact] = names[key]
        if (relation, subject) in all_names:
            of_subject[relation][fact] = all_names[relation, subject]
            subject_of[fact] = subject
    several = {
        relation: Several(
            pairs.filter(pl.col("relation_id") == relation),
            asked.filter(pl.col("relation_id") == relation)["subject_id"].unique(),
        )
        for relation in pairs.filter("several")["relation_id"].unique()
    }
    common = {
        relation: Common(sizes[relation], distinct[relation], named, object_of[relation], several.get(relation))
        for relation, named in counts.items()
    }
    others = {relation: common[relation]._replace(named=named) for relation, named in counts_rest.items()}
    return FactObjects(objects, of_subject, subject_of, common, others, given)
