"""What is right: for each item, and for the facts that were not asked; and how common the objects of a relation are."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from almanac.dataset.text import normalise
from almanac.frames import frames
from almanac.rows import Entity, Fact, Item
from almanac.suites.answers import Answers
from almanac.suites.data import Data


class Common(NamedTuple):
    """How common a relation's objects are: how many ``facts`` and ``objects`` it has, how many facts one of a name."""

    facts: int = 0
    objects: int = 0
    named: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Truths:
    """What is right for each item, and what its answer was chosen among.

    Attributes:
        of_item: ``item`` and ``truth``, the number of what is accepted as right.
        names: the accepted texts of each such number.
        offered: what answers are chosen among (`Suite.offered`); none: they are open.
        objects: of each relation's facts that can be asked the names of their objects, by fact: a sample's answers are
            held against those, too, that were not drawn.
        common: how common the objects of each relation are, among all its facts.
        given: the facts that names give away (`Data.given_by_names`).
        others: how common objects are among the other facts, about: of as large a part of the facts of each object as
            of its test facts.
    """

    of_item: pl.DataFrame
    names: Mapping[int, frozenset[str]]
    offered: pl.DataFrame | None
    objects: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    common: Mapping[str, Common] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    others: Mapping[str, Common] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: Answers, offered: pl.DataFrame | None, data: Data) -> "Truths":
        """Read what the items accept (see `Suite.offered`), and what the dataset's test facts have for objects."""
        found, names = [], {}
        for one in answers.rounds:
            for frame in frames(one.folder / "items.parquet", Item, ["item", "accepted"]):
                numbered = frame.with_columns(pl.col("accepted").list.join("\x1f").hash(seed=0).alias("truth"))
                found.append(numbered.select(pl.col("item").cast(pl.UInt32), "truth"))
                for truth, texts in numbered.unique("truth").select("truth", "accepted").iter_rows():
                    names[truth] = frozenset(map(normalise, texts)) - {""}
        given = data.given_by_names
        objects, common, others = objects_of(data, offered is None, given)
        return cls(pl.concat(found), names, offered, objects, common, given, others)

    def common_in(self, relation: object, but_given: bool = False) -> Common:
        """Return how common the objects of a relation are, ``but_given``: among facts that names do not give away."""
        common = self.common.get(str(relation), Common())
        return self.others.get(str(relation), common) if but_given else common

    def facts_of(self, relation: object, truth: int, but_given: bool = False) -> float:
        """Return how many facts of a relation have an object of a truth's names; one that none has counts as of one."""
        named = self.common_in(relation, but_given).named
        return max((named.get(text, 1) for text in self.names[truth]), default=1)

    def unasked(self, part: pl.DataFrame) -> dict[str, frozenset[str]]:
        """Return what the test facts of a relation accept that were not asked; none where items accept no such names.

        Where facts are asked that are no test facts, those that are say whether items accept the names of objects.

        Args:
            part: the items of one relation, with ``truth``.
        """
        objects = self.objects.get(str(part["relation"][0]), {})
        asked = [pair for pair in part.select("fact", "truth").unique().iter_rows() if pair[0] in objects]
        if not asked or any(objects[fact].isdisjoint(self.names[truth]) for fact, truth in asked):
            return {}
        facts = {fact for fact, _ in asked}
        return {fact: names for fact, names in objects.items() if fact not in facts}


def objects_of(
    data: Data, every: bool, given: Set[str]
) -> tuple[dict[str, dict[str, frozenset[str]]], dict[str, Common], dict[str, Common]]:
    """Return by relation the names of the objects of each test fact, and how common objects are.

    With ``every``, a fact has the objects of all facts of its subject. Last, how common they are among facts that names
    do not give away: of an object's facts the part that its test facts have of these; of one without test facts the
    part of objects with one (as Good and Turing count what was not seen).
    """
    facts = data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id", "object_id", "value", "split"])
    facts = facts.with_columns(pl.coalesce(pl.col("object_id").cast(pl.String), "value").alias("object"))
    named = data.frame("entities", Entity, ["entity_id", "label", "aliases"])
    named = named.filter(pl.col("entity_id").cast(pl.String).is_in(facts["object"].unique().implode()))
    known = {key: (label, *aliases) for key, label, aliases in named.iter_rows()}
    texts = {key: frozenset(map(normalise, known.get(key, (key,)))) - {""} for key in facts["object"].unique()}
    found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    rest: dict[str, dict[str, float]] = defaultdict(dict)
    objects = Counter[str]()
    tested = pl.when(pl.col("split") == "test").then(~pl.col("fact_id").cast(pl.String).is_in(list(given)))
    by_object = facts.group_by("relation_id", "object", maintain_order=True).agg(
        pl.len(), tested.mean().alias("rest"), tested.count().alias("tested")
    )
    once = pl.col("rest").filter(pl.col("tested") == 1).mean().over("relation_id")
    by_object = by_object.with_columns(pl.coalesce("rest", once, pl.lit(1.0))).drop("tested")
    for relation, key, count, part in by_object.iter_rows():
        counts[relation].update(dict.fromkeys(texts[key], count))
        for text in texts[key]:
            rest[relation][text] = rest[relation].get(text, 0.0) + count * part
        objects[relation] += 1
    sizes = dict(facts.group_by("relation_id").len().iter_rows())
    of_subject: dict[tuple[str, str], frozenset[str]] = {}
    columns = ("relation_id", "subject_id", "object")
    if every:
        for relation, subject, key in facts.select(columns).iter_rows():
            of_subject[relation, subject] = of_subject.get((relation, subject), frozenset()) | texts[key]
    for fact, relation, subject, key in facts.filter(pl.col("split") == "test").select("fact_id", *columns).iter_rows():
        found[relation][fact] = of_subject.get((relation, subject), texts[key])
    common = {name: Common(sizes[name], objects[name], own) for name, own in counts.items()}
    return found, common, {name: common[name]._replace(named=own) for name, own in rest.items()}
