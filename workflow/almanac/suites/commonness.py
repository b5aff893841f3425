"""How common a relation's objects are, and how likely that alone makes each of several offered objects the true one."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

MOST = 1e6  # the most by which one object may be likelier than another


class Several:
    """The objects of each subject of a relation in which some subjects have several.

    Attributes:
        place: the index of each object.
        number: the index of each subject that is asked.
    """

    def __init__(self, pairs: pl.DataFrame, asked: pl.Series) -> None:
        """Index ``pairs``, distinct rows of ``subject_id`` and ``object``; ``asked`` are the subjects to look up."""
        self._rows = pairs["subject_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
        self._columns = pairs["object"].rank("dense").cast(pl.Int64).to_numpy() - 1
        self.place: Mapping[str, int] = dict(zip(pairs["object"], self._columns.tolist(), strict=True))
        some = pairs["subject_id"].is_in(asked.implode())
        self.number: Mapping[str, int] = dict(
            zip(pairs["subject_id"].filter(some), self._rows[some.to_numpy()].tolist(), strict=True)
        )
        self._having = np.bincount(self._columns)
        # A subject's weight: the probability that a wrong object, drawn for it, is a certain one that it does not have.
        self._weights = (1 / np.maximum(1, len(self._having) - np.bincount(self._rows)))[self._rows]
        self._worth = np.bincount(self._columns, self._weights)
        self.with_each = cache(self._with_each)

    def _with_each(self, place: int) -> NDArray[np.float64]:
        """Return the weight of the subjects that have both the object at ``place`` and each other one, (objects,)."""
        some = np.isin(self._rows, self._rows[self._columns == place])
        return np.asarray(np.bincount(self._columns[some], self._weights[some], len(self._having)), np.float64)

    def part(self, other: str, named: str) -> float:
        """Return which part of the facts of ``other`` counts, relative to those of ``named``, if both are offered.

        A true object of a subject is no wrong choice for it: so only facts count whose subject has one of the two.
        """
        at, own = self.place.get(other), self.place.get(named)
        if at is None or own is None:
            return 1.0
        both = self.with_each(own)[at]
        its, mine = ((self._worth[one] - both) / self._having[one] for one in (at, own))
        return float(min(its / mine, MOST)) if mine > 0 else MOST if its > 0 else 1.0

    def of_subject(self, subject: str) -> tuple[float, float] | None:
        """Return how many objects a subject has, and how many facts have one of these; None for an unknown subject."""
        if (number := self.number.get(subject)) is None:
            return None
        own = self._columns[self._rows == number]
        return float(len(own)), float(self._having[own].sum())


class Common(NamedTuple):
    """How common a relation's objects are.

    Attributes:
        facts: the number of facts.
        objects: the number of distinct objects.
        named: for each name, how many facts have an object of that name.
        object: for each name, one object of that name.
        several: the objects of each subject; None where each subject has one.
    """

    facts: int = 0
    objects: int = 0
    named: Mapping[str, float] = MappingProxyType({})
    object: Mapping[str, str] = MappingProxyType({})
    several: Several | None = None

    def parts(self, offered: Iterable[str], named: str) -> dict[str, float]:
        """Return for each offered name which part of its facts counts, relative to those of ``named``.

        It is 1 where each subject has one object (else see `Several.part`), and 0 for a second name of an object.
        """
        found: dict[str, float] = {}
        seen = {own := self.object.get(named, named)}
        for text in offered:
            key = self.object.get(text, text)
            found[text] = 1.0 if text == named else 0.0 if key in seen else self._part(key, own)
            seen.add(key)
        return found

    def _part(self, other: str, named: str) -> float:
        return 1.0 if self.several is None else self.several.part(other, named)

    def share(self, named: Iterable[str], parts: Mapping[str, float]) -> float:
        """Return the share of the offered names' facts, weighted by their ``parts``, that the ``named`` ones have.

        A name without facts counts as having one.
        """
        weights = {text: part * self.named.get(text, 1) for text, part in parts.items()}
        whole = sum(weights.values())
        return sum(weights[text] for text in named) / whole if whole else 1.0

    def of_subject(self, subject: str, object_facts: float) -> tuple[float, float]:
        """Return how many objects a subject has and how many facts have one of these; by default (1, object_facts)."""
        return (self.several.of_subject(subject) if self.several else None) or (1.0, object_facts)
