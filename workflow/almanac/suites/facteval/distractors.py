"""Wrong objects: drawn for each fact, never true under any name, never equal to the truth or to each other.

The released code tests membership in lists, which is quadratic, and compares identifiers, so that a wrong choice may
read like the true one. Here a draw costs the logarithm of the pool's size, and names are compared.
"""

import contextlib
import hashlib
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from random import Random

from almanac.dataset.text import normalise
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.tables import hash_order, seed_of

WRONG = 3  # wrong choices of a multiple-choice question
ARTICLES = {"a", "an", "the"}
BITS = 64


def alike(name: str) -> str:
    """Return a name without case, articles, punctuation and space: what no two choices may have in common.

    Coarser than `normalise`, so that no choice reads like another to a scorer that drops punctuation and articles.
    """
    words = [word for word in normalise(name).split() if word not in ARTICLES]
    letters = "".join(char for char in "".join(words) if not unicodedata.category(char).startswith("P"))
    return letters or normalise(name)


def coarser(date: str) -> tuple[str, ...]:
    """Return the less precise dates that hold a date: of 1982-05-22 its month and its year."""
    parts = date.split("-")
    return tuple(alike("-".join(parts[:end])) for end in range(1, len(parts)) if parts[0])


class ObjectPool:
    """Keys to draw from: each as likely as any other, and a draw stays as it is when others are added, mostly.

    A draw walks down the binary tree of the keys' hashes, left with the share of the keys that are left, by a random
    number of its own at each level: a new key shifts a share at each level by as much as it weighs there, no more.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        placed = sorted((_place(key), key) for key in set(keys))
        self._places = [place for place, _ in placed]
        self.keys = [key for _, key in placed]

    def draw(self, random: Random) -> str:
        """Draw a key; the pool must not be empty."""
        low, high, start, half = 0, len(self.keys), 0, 1 << (BITS - 1)
        while high - low > 1 and half:
            middle = bisect_left(self._places, start + half, low, high)
            if random.getrandbits(32) * (high - low) >> 32 < middle - low:
                high = middle
            else:
                low, start = middle, start + half
            half >>= 1
        return self.keys[low]


def _place(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[: BITS // 8], "big")


class WrongObjects:
    """The wrong objects of facts, by where they are drawn: the ``relation``, the ``type``, or all (``uniform``)."""

    def __init__(self, data: Data, seed: int) -> None:
        """Index the objects of all facts of a dataset; they are drawn for its train and test facts."""
        facts = data.saying
        names = self._names = data.names
        self._seed, self.true = seed, data.true
        self._literals = {fact.object_key: fact for fact in facts if fact.object_id is None}
        keys = sorted({fact.object_key for fact in facts})
        self._label = {key: alike(names.label(key)) for key in keys}
        self._own = {key: self._called(key) for key in keys}
        # Objects of one label are one choice: the first id stands for it, with the names of all.
        self._senses: dict[str, set[str]] = defaultdict(set)
        for key in keys:
            self._senses[self._label[key]] |= self._own[key]
        self._pools = self._gathered(facts, keys)
        self._barred: dict[tuple[str, str], tuple[set[str], set[str]]] = {}

    def kind(self, key: str) -> str | None:
        """Return the type of an object: the entity's, or a literal's datatype and precision; none if it has none."""
        if key in self._names.entities:
            return self._names.entities[key].type
        fact = self._literals.get(key)
        return f"{fact.datatype} {fact.precision or ''}".rstrip() if fact is not None and fact.datatype else None

    def _gathered(self, facts: Sequence[Fact], keys: Sequence[str]) -> dict[tuple[str, str], ObjectPool]:
        groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for key in keys:
            groups["uniform", ""].setdefault(self._label[key], key)
            if (kind := self.kind(key)) is not None:
                groups["type", kind].setdefault(self._label[key], key)
        for relation, key in sorted({(fact.relation_id, fact.object_key) for fact in facts}):
            groups["relation", relation].setdefault(self._label[key], key)
        return {group: ObjectPool(own.values()) for group, own in groups.items()}

    def _called(self, key: str) -> set[str]:
        names = set(map(alike, self._names.names(key)))
        fact = self._literals.get(key)
        if fact is not None and fact.datatype == "quantity":
            with contextlib.suppress(InvalidOperation):  # one written in another way is compared by its letters alone
                names.add(str(Decimal(key).normalize()))
        return names

    def _finer(self, key: str) -> tuple[str, ...]:
        fact = self._literals.get(key)
        kind = self.kind(key) if fact is None else fact.datatype
        return coarser(key) if kind == "date" else ()

    def _bars(self, pair: tuple[str, str]) -> tuple[set[str], set[str]]:
        """Return what no wrong object may be called, and what none may be a finer date of."""
        if pair not in self._barred:
            names = {name for key in self.true[pair] for name in self._own[key]}
            dates = {name for key in self.true[pair] for name in self._finer(key)}
            self._barred[pair] = (names | dates, names)
        return self._barred[pair]

    def false(self, key: str, fact: Fact) -> bool:
        """Whether an object is false of a fact's subject under all its names and all names of the true objects."""
        barred, truth = self._bars((fact.relation_id, fact.subject_id))
        label = self._label[key]
        return not (self._senses[label] & barred or truth.intersection(self._finer(key)))

    def draw(self, fact: Fact, where: str, count: int = WRONG, purpose: str = "negatives") -> list[str]:
        """Draw wrong objects of a fact, uniformly without repetition, seeded by the fact's identity.

        Args:
            fact: a train or test fact of the dataset.
            where: ``relation``, ``type`` or ``uniform``.
            count: how many are wanted.
            purpose: what they are drawn for; another purpose is another draw.

        Returns:
            Object keys whose labels differ; fewer than wanted where there are no more.
        """
        group = {"relation": fact.relation_id, "type": self.kind(fact.object_key), "uniform": ""}[where]
        pool = self._pools.get((where, group)) if group is not None else None
        if pool is None:
            return []
        identity = (self._seed, purpose, where, fact.fact_id)
        tries = 8 * count
        found: dict[str, None] = {}
        for at in range(tries if len(pool.keys) > tries else 0):
            key = pool.draw(Random(seed_of(*identity, at)))
            if self.false(key, fact):
                found[key] = None
            if len(found) == count:
                return list(found)
        # A small pool, or one in which little is false: every key has its turn.
        for key in hash_order(pool.keys, *identity):
            if len(found) == count:
                break
            if self.false(key, fact):
                found[key] = None
        return list(found)
