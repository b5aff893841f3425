"""The wrong choices of a relation's facts: its objects, without what is true for the subject (Wu et al., section 4).

Objects are numbers here, and a relation's facts are arrays of them, so that neither memory nor time grows with the
square of a relation's objects.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from almanac.dataset.options import DatasetOptions
from almanac.dataset.text import normalise, same_value
from almanac.sources.drawing import Numbers, hashes, places
from almanac.tables import seed_of

Integers = npt.NDArray[np.int64]

DATE = r"^\d{4,}(-\d\d){0,2}$"  # a name that reads as a year, a month or a day
HASHED = 2000  # objects of a relation up to which each place is a hash of its own


@dataclass(frozen=True)
class Objects:
    """The objects of facts, numbered in the order of their keys.

    Attributes:
        keys: the ids of entities or the texts of literals, sorted, (objects,).
        labels: what is shown for them, (objects,).
        label_codes: equal for labels that are the same as they are compared, (objects,).
        alias_codes: of all aliases, numbered as the labels are, object after object, (aliases,).
        alias_starts: where an object's aliases begin among these, (objects + 1,).
    """

    keys: pl.Series
    labels: pl.Series
    label_codes: Integers
    alias_codes: Integers
    alias_starts: Integers

    @classmethod
    def of(cls, facts: pl.DataFrame, entities: pl.DataFrame) -> "tuple[Objects, Integers]":
        """Number the objects of facts.

        Args:
            facts: rows of `Fact`.
            entities: rows of `Entity`; an object that is none of them is a literal, whose name is its text.

        Returns:
            The objects, and the number of each fact's object, (facts,).
        """
        object_key = pl.coalesce("object_id", "value").alias("entity_id")
        keys = facts.select(object_key.unique().sort())
        every = keys.with_row_index("number")
        numbers = facts.select(object_key).join(every, on="entity_id", how="left", maintain_order="left")["number"]
        named = keys.join(entities, on="entity_id", how="left", maintain_order="left")
        labels = named.select(pl.coalesce("label", "entity_id")).to_series()
        valued = labels == named["entity_id"]  # literals, and things that are known by their names
        own = named["aliases"].fill_null([])
        dates = within_dates(facts, entities)
        if dates.height:
            joined = keys.join(dates, on="entity_id", how="left", maintain_order="left")["names"].fill_null([])
            own = pl.DataFrame({"own": own, "dates": joined}).select(pl.concat_list("own", "dates")).to_series()
        counts = own.list.len().to_numpy().astype(np.int64)
        aliases = own.explode(empty_as_null=False, keep_nulls=False)
        shown = (same_value(text) if is_text else normalise(text) for text, is_text in zip(labels, valued, strict=True))
        folded = pl.Series([*shown, *map(normalise, aliases)], dtype=pl.String)
        codes = folded.rank("dense").to_numpy().astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)])
        found = cls(keys.to_series(), labels, codes[: len(labels)], codes[len(labels) :], starts)
        return found, numbers.to_numpy().astype(np.int64)

    def aliases_of(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Return the codes of the aliases of some objects, and the place of each one's object among these."""
        starts, counts = self.alias_starts[numbers], np.diff(self.alias_starts)[numbers]
        owners = np.repeat(np.arange(len(numbers)), counts)
        first = np.cumsum(counts) - counts
        return self.alias_codes[np.arange(len(owners)) - first[owners] + starts[owners]], owners


def within_dates(facts: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Return names that dates share where one holds the other: ``entity_id`` (or the literal) and ``names``.

    1990 may be true of who was born on 1990-05-22, and 1990-06-01 is not: so a day shares a name with its month and its
    year, each pair its own, and days of one year share none. Dates are literals, entities of the type ``date`` whose
    ids are the dates, or entities whose ids are their labels and read as dates.
    """
    literals = facts.lazy().filter(datatype="date").select(day=pl.col("value"))
    identity = pl.col("entity_id")
    by_name = (identity == pl.col("label")) & identity.str.contains(DATE)
    things = entities.lazy().filter((pl.col("type") == "date") | by_name).select(day=identity)
    days = pl.concat([literals, things]).drop_nulls().unique()
    coarse = pl.concat(
        days.select("day", coarse=pl.col("day").str.extract(pattern)).drop_nulls()
        for pattern in (r"^(\d+-\d\d)-\d\d$", r"^(\d+)-\d\d")
    )
    pairs = coarse.join(days, left_on="coarse", right_on="day", how="semi").with_columns(
        name=pl.format("{} in {}", "day", "coarse")
    )
    both = pl.concat(pairs.select("name", entity_id=end) for end in ("day", "coarse"))
    return both.group_by("entity_id").agg(names=pl.col("name").sort()).collect()


class WrongChoices:
    """What may be offered as wrong for each fact of a relation.

    Objects that share a label are one choice: the first by key stands for them, with all their names. These are the
    relation's pool. With ``exclude_true`` no choice shares a name with any true object of the subject; otherwise only
    the fact's own object is left out (the paper states no more).
    """

    def __init__(self, objects: Objects, numbers: Integers, subjects: Integers, options: DatasetOptions) -> None:
        """Look at a relation's facts.

        Args:
            objects: all objects.
            numbers: of the facts' objects, (facts,).
            subjects: numbers from 0, equal for facts of the same subject and of those that read alike, (facts,).
            options: how many choices, and the seed.
        """
        own, self._object = np.unique(numbers, return_inverse=True)
        _, first, self._stands = np.unique(objects.label_codes[own], return_index=True, return_inverse=True)
        self._subjects, self._options = subjects, options
        self.pool = own[first]  # numbers of objects, (pool,)
        self._keys = [key.encode() for key in objects.keys.gather(self.pool)]
        self._numbers = hashes(self._keys) if len(self._keys) > HASHED else None
        self._find_shared(objects, own)
        true = np.unique(subjects * len(own) + self._object)  # pairs of a subject and one of its true objects
        self._true = true % max(1, len(own))
        self._starts = np.searchsorted(true // max(1, len(own)), np.arange(subjects.max(initial=-1) + 2))
        self._union = lru_cache(maxsize=256)(self._all_of)

    def _find_shared(self, objects: Objects, own: Integers) -> None:
        """Find the names that several choices of the pool bear, and the objects that bear them."""
        codes, owners = objects.aliases_of(own)
        codes = np.concatenate([objects.label_codes[own], codes])
        owners = np.concatenate([np.arange(len(own)), owners])
        size = max(1, len(self.pool))
        borne = np.unique(codes * size + self._stands[owners])
        names, starts, counts = np.unique(borne // size, return_index=True, return_counts=True)
        several = counts[np.searchsorted(names, codes)] > 1
        shared, owners = np.searchsorted(names, codes[several]), owners[several]
        by_object = np.argsort(owners, kind="stable")
        self._bearers, self._name_starts = borne % size, np.append(starts, len(borne))
        self._shared = shared[by_object]  # names by their place in `_name_starts`, object after object
        self._shared_starts = np.searchsorted(owners[by_object], np.arange(len(own) + 1))
        others = np.bincount(owners, weights=counts[shared] - 1, minlength=len(own)).astype(np.int64)
        self._at_most = 1 + others  # choices that may mean an object; more than do, where names share their bearers

    def _all_of(self, names: bytes) -> Integers:
        """Return the choices that bear any of some names, as places in the pool."""
        found = [self._bearers[slice(*self._name_starts[name : name + 2])] for name in np.frombuffer(names, np.int64)]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def _meaning(self, fact: int) -> Integers:
        """Return the choices that are true for a fact, as places in the pool."""
        if not self._options.exclude_true:
            return self._stands[self._object[fact : fact + 1]]
        subject = self._subjects[fact]
        true = self._true[self._starts[subject] : self._starts[subject + 1]]
        shared = [self._shared[self._shared_starts[one] : self._shared_starts[one + 1]] for one in true]
        return np.union1d(self._stands[true], self._union(np.unique(np.concatenate(shared)).tobytes()))

    def lacking(self) -> dict[int, int]:
        """Return the facts that have too few wrong choices, and how many they have."""
        needed, size = self._options.choices - 1, len(self.pool)
        if not self._options.exclude_true:
            return dict.fromkeys(range(len(self._object)), size - 1) if size - 1 < needed else {}
        sums = np.concatenate([[0], np.cumsum(self._at_most[self._true])])
        doubtful = size - (sums[self._starts[1:]] - sums[self._starts[:-1]]) < needed
        counts: dict[int, int] = {}
        out = {}
        for fact in np.flatnonzero(doubtful[self._subjects]).tolist():
            subject = int(self._subjects[fact])
            if subject not in counts:
                counts[subject] = size - len(self._meaning(fact))
            if counts[subject] < needed:
                out[fact] = counts[subject]
        return out

    def draw(self, fact: int, fact_id: str) -> Integers:
        """Draw the wrong choices of a fact that has enough: uniform, seeded by its identity, in one order.

        Returns:
            Numbers of objects, (choices - 1,).
        """
        meaning, needed = self._meaning(fact), self._options.choices - 1
        order, most = self._places(fact_id), needed + len(meaning)
        few = np.argpartition(order, most)[:most] if most < len(order) else np.arange(len(order))
        few = few[np.argsort(order[few])]
        wrong = np.ones(len(order), dtype=bool)
        wrong[meaning] = False
        return self.pool[few[wrong[few]][:needed]]

    def _places(self, fact_id: str) -> Numbers:
        """Return the place of each choice of the pool in the order that belongs to a fact.

        Up to `HASHED` choices it is the order of `hash_order`. A larger pool is ordered by SplitMix64 of the hashes of
        its keys, which takes a hundredth of the time. In both a choice keeps its place when others come and go; where
        a pool grows beyond the border, all places change once.
        """
        drawn_for = (self._options.seed, "choices", fact_id)
        if self._numbers is None:
            return hashes(self._keys, *drawn_for)
        return places(self._numbers, seed_of(*drawn_for))
