"""Draws the wrong choices of a fact: objects of its relation that are not true for its subject (Wu et al., section 4).

Objects are represented by numbers and a relation's facts by arrays of them. Neither memory nor time grows with the
square of the number of objects.
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
HASHED = 2000  # choices in a pool up to which SHA-256 orders them; see `WrongChoices._places`


@dataclass(frozen=True)
class Objects:
    """The distinct objects of facts, numbered in the order of their keys.

    Attributes:
        keys: ids of entities or texts of literals, sorted, (objects,).
        labels: the texts shown for them, (objects,).
        label_codes: numbers, equal for equal normalised labels, (objects,).
        alias_codes: the same numbering for all aliases, concatenated over objects, (aliases,).
        alias_starts: offset of each object's aliases in ``alias_codes``, (objects + 1,).
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
            entities: rows of `Entity`; any other object is a literal, whose name is its text.

        Returns:
            The objects, and the number of each fact's object, (facts,).
        """
        object_key = pl.coalesce("object_id", "value").alias("entity_id")
        keys = facts.select(object_key.unique().sort())
        every = keys.with_row_index("number")
        numbers = facts.select(object_key).join(every, on="entity_id", how="left", maintain_order="left")["number"]
        named = keys.join(entities, on="entity_id", how="left", maintain_order="left")
        labels = named.select(pl.coalesce("label", "entity_id")).to_series()
        valued = labels == named["entity_id"]  # literals, and entities whose id is their label
        listed = named["aliases"].fill_null([])
        dates = within_dates(facts, entities)
        if dates.height:
            joined = keys.join(dates, on="entity_id", how="left", maintain_order="left")["names"].fill_null([])
            listed = pl.DataFrame({"own": listed, "dates": joined}).select(pl.concat_list("own", "dates")).to_series()
        counts = listed.list.len().to_numpy().astype(np.int64)
        aliases = listed.explode(empty_as_null=False, keep_nulls=False)
        shown = (same_value(text) if is_text else normalise(text) for text, is_text in zip(labels, valued, strict=True))
        folded = pl.Series([*shown, *map(normalise, aliases)], dtype=pl.String)
        codes = folded.rank("dense").to_numpy().astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)])
        found = cls(keys.to_series(), labels, codes[: len(labels)], codes[len(labels) :], starts)
        return found, numbers.to_numpy().astype(np.int64)

    def aliases_of(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Return the codes of all aliases of some objects, and for each the index into ``numbers`` of its object."""
        starts, counts = self.alias_starts[numbers], np.diff(self.alias_starts)[numbers]
        owners = np.repeat(np.arange(len(numbers)), counts)
        first = np.cumsum(counts) - counts
        return self.alias_codes[np.arange(len(owners)) - first[owners] + starts[owners]], owners


def within_dates(facts: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Return artificial names that a date shares with the month and year that contain it: ``entity_id`` and ``names``.

    For somebody born on 1990-05-22 the choice 1990 is true, but 1990-06-01 is wrong. So each pair of a date and a
    coarser date gets a name of its own, while two days of one year share no name. Dates are literals, entities of the
    type ``date`` (whose ids are the dates), or entities whose ids are their labels and match `DATE`.
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
    """Selects and draws the wrong choices of each fact of one relation.

    The relation's pool has one choice for each distinct label: the first object by key represents all objects with
    that label, and has all their names. With ``exclude_true`` a wrong choice shares no name with any true object of
    the subject. Otherwise only the fact's own object is excluded, which is all that the paper states.
    """

    def __init__(self, objects: Objects, numbers: Integers, subjects: Integers, options: DatasetOptions) -> None:
        """Build the pool of a relation.

        Args:
            objects: the objects of all relations.
            numbers: numbers of the facts' objects, (facts,).
            subjects: numbers from 0, equal for equal normalised labels of subjects, (facts,).
            options: the number of choices, and the seed.
        """
        distinct, self._object_of = np.unique(numbers, return_inverse=True)
        _, first, self._choice_of = np.unique(objects.label_codes[distinct], return_index=True, return_inverse=True)
        self._subjects, self._options = subjects, options
        self.pool = distinct[first]  # object numbers, (pool,)
        self._keys = [key.encode() for key in objects.keys.gather(self.pool)]
        self._numbers = hashes(self._keys) if len(self._keys) > HASHED else None
        self._find_shared(objects, distinct)
        pairs = np.unique(subjects * len(distinct) + self._object_of)  # (subject, true object) pairs as single numbers
        self._true = pairs % max(1, len(distinct))
        self._starts = np.searchsorted(pairs // max(1, len(distinct)), np.arange(subjects.max(initial=-1) + 2))
        self._union = lru_cache(maxsize=256)(self._with_names)

    def _find_shared(self, objects: Objects, distinct: Integers) -> None:
        """Find the names that several choices of the pool share, and the objects that have these names."""
        codes, owners = objects.aliases_of(distinct)
        codes = np.concatenate([objects.label_codes[distinct], codes])
        owners = np.concatenate([np.arange(len(distinct)), owners])
        size = max(1, len(self.pool))
        borne = np.unique(codes * size + self._choice_of[owners])
        names, starts, counts = np.unique(borne // size, return_index=True, return_counts=True)
        several = counts[np.searchsorted(names, codes)] > 1
        shared, owners = np.searchsorted(names, codes[several]), owners[several]
        by_object = np.argsort(owners, kind="stable")
        self._bearers, self._name_starts = borne % size, np.append(starts, len(borne))
        self._shared = shared[by_object]  # shared names as indices of `_name_starts`, concatenated over objects
        self._shared_starts = np.searchsorted(owners[by_object], np.arange(len(distinct) + 1))
        others = np.bincount(owners, weights=counts[shared] - 1, minlength=len(distinct)).astype(np.int64)
        self._at_most = 1 + others  # upper bound of the choices that share a name with each object

    def _with_names(self, names: bytes) -> Integers:
        """Return the choices that have any of these names (int64 indices as bytes), as indices of the pool."""
        found = [self._bearers[slice(*self._name_starts[name : name + 2])] for name in np.frombuffer(names, np.int64)]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def _excluded(self, fact: int) -> Integers:
        """Return the choices that must not be offered as wrong for a fact, as indices of the pool."""
        if not self._options.exclude_true:
            return self._choice_of[self._object_of[fact : fact + 1]]
        subject = self._subjects[fact]
        true = self._true[self._starts[subject] : self._starts[subject + 1]]
        shared = [self._shared[self._shared_starts[one] : self._shared_starts[one + 1]] for one in true]
        return np.union1d(self._choice_of[true], self._union(np.unique(np.concatenate(shared)).tobytes()))

    def lacking(self) -> dict[int, int]:
        """Return the facts with too few wrong choices, and the number that each has."""
        needed, size = self._options.choices - 1, len(self.pool)
        if not self._options.exclude_true:
            return dict.fromkeys(range(len(self._object_of)), size - 1) if size - 1 < needed else {}
        sums = np.concatenate([[0], np.cumsum(self._at_most[self._true])])
        doubtful = size - (sums[self._starts[1:]] - sums[self._starts[:-1]]) < needed
        counts: dict[int, int] = {}
        out = {}
        for fact in np.flatnonzero(doubtful[self._subjects]).tolist():
            subject = int(self._subjects[fact])
            if subject not in counts:
                counts[subject] = size - len(self._excluded(fact))
            if counts[subject] < needed:
                out[fact] = counts[subject]
        return out

    def draw(self, fact: int, fact_id: str) -> Integers:
        """Draw the wrong choices of a fact that has enough, uniformly and in an order seeded by the fact's id.

        Returns:
            Object numbers, (choices - 1,).
        """
        excluded, needed = self._excluded(fact), self._options.choices - 1
        order, most = self._places(fact_id), needed + len(excluded)
        few = np.argpartition(order, most)[:most] if most < len(order) else np.arange(len(order))
        few = few[np.argsort(order[few])]
        wrong = np.ones(len(order), dtype=bool)
        wrong[excluded] = False
        return self.pool[few[wrong[few]][:needed]]

    def _places(self, fact_id: str) -> Numbers:
        """Return sort keys of the pool's choices in the pseudo-random order of a fact, (pool,).

        Pools of up to `HASHED` choices use the order of `tables.hash_order`. Larger pools use SplitMix64 of the hashed
        keys, which takes a hundredth of the time. In both, the relative order of choices does not depend on the others;
        it changes once, when a pool grows beyond `HASHED`.
        """
        drawn_for = (self._options.seed, "choices", fact_id)
        if self._numbers is None:
            return hashes(self._keys, *drawn_for)
        return places(self._numbers, seed_of(*drawn_for))
