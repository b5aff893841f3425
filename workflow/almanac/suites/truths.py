"""What is right: for each item, and for the facts that were not asked; and how common the objects of a relation are."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from almanac.dataset.templates import folded
from almanac.frames import frames
from almanac.rows import Entity, Fact, Item
from almanac.suites.answers import Answers
from almanac.suites.data import Data


class Common(NamedTuple):
    """How common a relation's objects are: how many ``facts`` and ``objects`` it has, how many facts one of a name."""

    facts: int = 0
    objects: int = 0
    named: Mapping[str, int] = MappingProxyType({})


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
        told: the facts whose object names tell (`Data.told_by_names`).
    """

    of_item: pl.DataFrame
    names: Mapping[int, frozenset[str]]
    offered: pl.DataFrame | None
    objects: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    common: Mapping[str, Common] = field(default_factory=dict)
    told: frozenset[str] = frozenset()

    @classmethod
    def of(cls, answers: Answers, offered: pl.DataFrame | None, data: Data) -> "Truths":
        """Read what the items accept (see `Suite.offered`), and what the dataset's test facts have for objects."""
        found, names = [], {}
        for one in answers.rounds:
            for frame in frames(one.folder / "items.parquet", Item, ["item", "accepted"]):
                numbered = frame.with_columns(pl.col("accepted").list.join("\x1f").hash(seed=0).alias("truth"))
                found.append(numbered.select(pl.col("item").cast(pl.UInt32), "truth"))
                for truth, texts in numbered.unique("truth").select("truth", "accepted").iter_rows():
                    names[truth] = frozenset(map(folded, texts)) - {""}
        return cls(pl.concat(found), names, offered, *_objects(data, offered is None), data.told_by_names)

    def common_in(self, relation: object) -> Common:
        """Return how common the objects of a relation are."""
        return self.common.get(str(relation), Common())

    def facts_of(self, relation: object, truth: int) -> int:
        """Return how many facts of a relation have an object of a truth's names; one that none has counts as of one."""
        named = self.common_in(relation).named
        return max((named.get(text, 1) for text in self.names[truth]), default=1)

    def unasked(self, part: pl.DataFrame) -> list[frozenset[str]]:
        """Return what the test facts of a relation accept that were not asked; none where items accept no such names.

        Where facts are asked that are no test facts, those that are say whether items accept the names of objects.

        Args:
            part: the items of one relation, with ``truth``.
        """
        objects = self.objects.get(str(part["relation"][0]), {})
        asked = [pair for pair in part.select("fact", "truth").unique().iter_rows() if pair[0] in objects]
        if not asked or any(objects[fact].isdisjoint(self.names[truth]) for fact, truth in asked):
            return []
        facts = {fact for fact, _ in asked}
        return [names for fact, names in objects.items() if fact not in facts]


def _objects(data: Data, every: bool) -> tuple[dict[str, dict[str, frozenset[str]]], dict[str, Common]]:
    """Return by relation the names of the objects of each test fact, and how common objects are.

    With ``every``, a fact has the objects of all facts of its subject.
    """
    facts = data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id", "object_id", "value", "split"])
    facts = facts.with_columns(pl.coalesce(pl.col("object_id").cast(pl.String), "value").alias("object"))
    named = data.frame("entities", Entity, ["entity_id", "label", "aliases"])
    named = named.filter(pl.col("entity_id").cast(pl.String).is_in(facts["object"].unique().implode()))
    known = {key: (label, *aliases) for key, label, aliases in named.iter_rows()}
    texts = {key: frozenset(map(folded, known.get(key, (key,)))) - {""} for key in facts["object"].unique()}
    found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    objects = Counter[str]()
    for relation, key, count in facts.group_by("relation_id", "object", maintain_order=True).len().iter_rows():
        counts[relation].update(dict.fromkeys(texts[key], count))
        objects[relation] += 1
    sizes = dict(facts.group_by("relation_id").len().iter_rows())
    of_subject: dict[tuple[str, str], frozenset[str]] = {}
    columns = ("relation_id", "subject_id", "object")
    if every:
        for relation, subject, key in facts.select(columns).iter_rows():
            of_subject[relation, subject] = of_subject.get((relation, subject), frozenset()) | texts[key]
    for fact, relation, subject, key in facts.filter(pl.col("split") == "test").select("fact_id", *columns).iter_rows():
        found[relation][fact] = of_subject.get((relation, subject), texts[key])
    return found, {name: Common(sizes[name], objects[name], own) for name, own in counts.items()}
