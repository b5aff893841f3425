"""How common the objects of a relation are, and which of several that are offered is the true one by that alone."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

MOST = 1e6  # how much likelier one object may be than another


class Several:
    """Which objects the subjects of a relation have, where some have several.

    Attributes:
        place: of each object among them.
        number: of each subject that is asked.
    """

    def __init__(self, pairs: pl.DataFrame, asked: pl.Series) -> None:
        """Count the ``pairs`` of ``subject_id`` and ``object``, each once; ``asked`` are the subjects to be known."""
        self._rows = pairs["subject_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
        self._columns = pairs["object"].rank("dense").cast(pl.Int64).to_numpy() - 1
        self.place: Mapping[str, int] = dict(zip(pairs["object"], self._columns.tolist(), strict=True))
        some = pairs["subject_id"].is_in(asked.implode())
        self.number: Mapping[str, int] = dict(
            zip(pairs["subject_id"].filter(some), self._rows[some.to_numpy()].tolist(), strict=True)
        )
        self._having = np.bincount(self._columns)
        # A subject counts as often as a wrong object is any given one of those that it does not have.
        self._weights = (1 / np.maximum(1, len(self._having) - np.bincount(self._rows)))[self._rows]
        self._worth = np.bincount(self._columns, self._weights)
        self.with_each = cache(self._with_each)

    def _with_each(self, place: int) -> NDArray[np.float64]:
        """Return how much the subjects of one object count that have each other one, too."""
        some = np.isin(self._rows, self._rows[self._columns == place])
        return np.asarray(np.bincount(self._columns[some], self._weights[some], len(self._having)), np.float64)

    def part(self, other: str, named: str) -> float:
        """Return how much likelier one object is the true one of two than by their facts, relative to the other.

        What is true of a subject is no wrong choice for it: so those facts count whose subject has one of the two.
        """
        at, own = self.place.get(other), self.place.get(named)
        if at is None or own is None:
            return 1.0
        both = self.with_each(own)[at]
        its, mine = ((self._worth[one] - both) / self._having[one] for one in (at, own))
        return float(min(its / mine, MOST)) if mine > 0 else MOST if its > 0 else 1.0

    def of_subject(self, subject: str) -> tuple[float, float] | None:
        """Return how many objects a subject has, and how many facts have one of these; none where it is unknown."""
        if (number := self.number.get(subject)) is None:
            return None
        own = self._columns[self._rows == number]
        return float(len(own)), float(self._having[own].sum())


class Common(NamedTuple):
    """How common a relation's objects are.

    Attributes:
        facts: how many it has.
        objects: how many.
        named: how many facts have an object of a name.
        object: one object that has the name.
        several: which subjects have which, where some have several.
    """

    facts: int = 0
    objects: int = 0
    named: Mapping[str, float] = MappingProxyType({})
    object: Mapping[str, str] = MappingProxyType({})
    several: Several | None = None

    def parts(self, offered: Iterable[str], named: str) -> dict[str, float]:
        """Return of each name that is offered the part of its facts that counts next to those of a ``named`` one.

        It is 1 where each subject has one object (`Several.part`), and 0 for a further name of an object.
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
        """Return the share that some names have of the facts of all that are offered, as far as these count.

        An object of no fact counts as of one.
        """
        weights = {text: part * self.named.get(text, 1) for text, part in parts.items()}
        whole = sum(weights.values())
        return sum(weights[text] for text in named) / whole if whole else 1.0

    def of_subject(self, subject: str, object_facts: float) -> tuple[float, float]:
        """Return how many objects a subject has, and how many facts have these; by itself 1 and ``object_facts``."""
        return (self.several.of_subject(subject) if self.several else None) or (1.0, object_facts)
