"""Wrong objects of facts, and the passages read before a question, which may state one.

**Wrong objects** are drawn for each fact. None shares a name with a true object, and no two have the same label. The
released code tests membership in lists, which is quadratic, and compares identifiers, so a wrong choice may have the
same name as the true one. Here a draw costs the logarithm of the pool's size, and names are compared.

**A passage** states the fact, another fact, or the fact with a wrong object. Names are matched as whole words, ignoring
case except for the shortest, and whichever apostrophes and hyphens are typed.
"""

import contextlib
import hashlib
import itertools
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from random import Random

from almanac.dataset.templates import filled
from almanac.dataset.text import ARTICLES, JOINING, TYPED, normalise, same_value
from almanac.dataset.wrong_choices import DATE
from almanac.punctuation import words_of
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import ANTIFACTUAL, IRRELEVANT, NONE, POOLS, RELEVANT, Wording
from almanac.tables import hash_order, seed_of

WRONG = 3  # wrong choices of a multiple-choice question
BITS = 64  # of a key's hash, its place in an `ObjectPool`
EVIDENCE, SENTENCE = "evidence", "template"  # origins of a passage
PURPOSE = "passage"  # part of the seed of a passage's wrong object
TRIES = 8  # draws, before all keys of a pool are tried in turn
# Typographic characters with one keyboard equivalent, so that a text keeps its length.
ONE_FOR_ONE = {code: char for code, char in TYPED.items() if len(char) == 1}
CASED = 3  # names up to this length are matched with case: `us` is not `US`, `may` not `May`


def alike(name: str) -> str:
    """Return a name without case, articles, punctuation and spaces; no two choices may be equal in this form.

    It is coarser than `normalise`, so that choices differ even for a scorer that drops punctuation and articles.
    """
    words = [word for word in normalise(name).split() if word not in ARTICLES]
    letters = "".join(char for char in "".join(words) if not unicodedata.category(char).startswith("P"))
    return letters or normalise(name)


def coarser(date: str) -> tuple[str, ...]:
    """Return the less precise dates that contain a date: for 1982-05-22 its year and its month."""
    parts = date.split("-")
    return tuple(alike("-".join(parts[:end])) for end in range(1, len(parts)) if parts[0])


class ObjectPool:
    """Draws keys uniformly and stably: if keys are added to the pool, most draws stay the same.

    A draw descends the binary tree of the keys' hashes. At each node it goes left with a probability equal to the share
    of the node's keys on the left, by a new random number. A new key changes these shares only by its own weight.
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
    """Draws wrong objects of facts: objects of the same ``relation``, of the same ``type``, or any (``uniform``)."""

    def __init__(self, data: Data, seed: int) -> None:
        """Index the objects of all facts of a dataset."""
        facts = data.object_facts
        names = self._names = data.names
        self._seed, self.true = seed, data.true_objects
        self._literals = {fact.object_key: fact for fact in facts if fact.object_id is None}
        keys = sorted({fact.object_key for fact in facts})
        self._label = {key: alike(names.label(key)) for key in keys}
        self._folded = {key: self._folded_names(key) for key in keys}
        # Objects with the same label are one choice: the first key stands for all, with the names of all.
        self._senses: dict[str, set[str]] = defaultdict(set)
        for key in keys:
            self._senses[self._label[key]] |= self._folded[key]
        self._pools = self._grouped(facts, keys)

    def kind(self, key: str) -> str | None:
        """Return the type of an object: the entity's, or a literal's datatype and precision; None if unknown."""
        if key in self._names.entities:
            return self._names.entities[key].type
        fact = self._literals.get(key)
        return f"{fact.datatype} {fact.precision or ''}".rstrip() if fact is not None and fact.datatype else None

    def _grouped(self, facts: Sequence[Fact], keys: Sequence[str]) -> dict[tuple[str, str], ObjectPool]:
        groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for key in keys:
            groups["uniform", ""].setdefault(self._label[key], key)
            if (kind := self.kind(key)) is not None:
                groups["type", kind].setdefault(self._label[key], key)
        for relation, key in sorted({(fact.relation_id, fact.object_key) for fact in facts}):
            groups["relation", relation].setdefault(self._label[key], key)
        return {group: ObjectPool(own.values()) for group, own in groups.items()}

    def _folded_names(self, key: str) -> set[str]:
        names = set(map(alike, self._names.names(key)))
        fact = self._literals.get(key)
        if fact is not None and fact.datatype == "quantity":
            with contextlib.suppress(InvalidOperation):  # a quantity that is no plain number is compared as text alone
                names.add(str(Decimal(key).normalize()))
        return names | {same_value(key)} if self._names.by_name(key) else names

    def _coarser(self, key: str) -> tuple[str, ...]:
        fact = self._literals.get(key)
        kind = self.kind(key) if fact is None else fact.datatype
        dated = kind == "date" or (fact is None and self._names.by_name(key) and re.match(DATE, key))
        return coarser(key) if dated else ()

    def _is_false(self, fact: Fact) -> Callable[[str], bool]:
        """Return a predicate: whether an object, by its key, is false of a fact's subject.

        It is if it shares no name with a true object and, for dates, if neither date contains the other.
        """
        true = self.true[fact.relation_id, fact.subject_id]
        truth = {name for key in true for name in self._folded[key]}
        excluded = truth.union(*map(self._coarser, true))
        return lambda key: not (self._senses[self._label[key]] & excluded or truth.intersection(self._coarser(key)))

    def draw(self, fact: Fact, where: str, count: int = WRONG, purpose: str = "negatives") -> list[str]:
        """Draw wrong objects of a fact, uniformly without repetition; the seed depends on the fact and the purpose.

        Returns:
            Object keys with different labels; fewer than ``count`` if there are no more.
        """
        group = {"relation": fact.relation_id, "type": self.kind(fact.object_key), "uniform": ""}[where]
        pool = self._pools.get((where, group)) if group is not None else None
        if pool is None:
            return []
        identity, false = (self._seed, purpose, where, fact.fact_id), self._is_false(fact)
        tries = 8 * count
        found: dict[str, None] = {}
        for at in range(tries if len(pool.keys) > tries else 0):
            key = pool.draw(Random(seed_of(*identity, at)))
            if false(key):
                found[key] = None
            if len(found) == count:
                return list(found)
        # The pool is small, or few of its objects are false: try every key.
        for key in hash_order(pool.keys, *identity):
            if len(found) == count:
                break
            if false(key):
                found[key] = None
        return list(found)


@dataclass(frozen=True)
class Passage:
    """A passage read before the questions of one fact, or none.

    Attributes:
        context: ``none``, ``relevant``, ``irrelevant`` or ``antifactual``.
        text: the passage; None, like the other attributes, in the context ``none``.
        origin: ``evidence`` (a text of the source) or ``template`` (a sentence made of the fact).
        stated: the label of the wrong object that it names, if any.
        mentions_subject: whether it names the question's subject.
        mentions_object: whether it names a true object.
    """

    context: str
    text: str | None = None
    origin: str | None = None
    stated: str | None = None
    mentions_subject: bool | None = None
    mentions_object: bool | None = None

    @property
    def traits(self) -> tuple[str | None, bool | None, bool | None, bool | None]:
        """The last columns of `QuestionTraits`; ``changed`` is true for an antifactual passage (see `Passages.of`)."""
        changed = True if self.context == ANTIFACTUAL else None
        return self.origin, changed, self.mentions_subject, self.mentions_object


class Passages:
    """The passages of a dataset's facts: evidence where a fact has any, otherwise a sentence of a template."""

    def __init__(
        self, data: Data, worded: Mapping[str, Wording], wrong: WrongObjects, options: FactEvalOptions
    ) -> None:
        """Index the texts of facts and, for irrelevant passages, the facts by relation and object."""
        self._names, self._worded, self._wrong, self._options = data.names, worded, wrong, options
        self._texts: dict[str, list[str]] = defaultdict(list)
        for row in data.evidence:
            self._texts[row.fact_id].append(row.text)
        self._facts_with: dict[tuple[str, str], dict[str, Fact]] = defaultdict(dict)
        for fact in data.facts if IRRELEVANT in options.contexts else ():
            self._facts_with[fact.relation_id, fact.object_key][fact.fact_id] = fact
        self._pools: dict[tuple[str, str], ObjectPool] = {}

    def of(self, fact: Fact, context: str) -> Passage | str:
        """Return a fact's passage for a context, or the reason why there is none."""
        if context == NONE:
            return Passage(NONE)
        subject = self._names.names(fact.subject_id)
        true = [name for key in self._wrong.true[fact.relation_id, fact.subject_id] for name in self._names.names(key)]
        told, stated = fact, None
        if context != RELEVANT:
            found = self._wrong.draw(fact, "relation", 1, PURPOSE)
            if not found:
                return f"no object of {POOLS['relation']} is false of its subject"
            stated = self._names.label(found[0])
            if context == IRRELEVANT:
                other = self._other_fact(fact, found[0])
                if other is None:
                    return f"every fact of {stated!r} has a subject of the same name"
                told = other
        text, origin = self._statement(told)
        if stated is not None and context == ANTIFACTUAL:
            before, text = text, stated.join(parts_around(text, true, subject))
            if text == before:
                return f"its passage names no true object that {stated!r} could replace"
        return Passage(context, text, origin, stated, names_in(text, subject), names_in(text, true))

    def _statement(self, fact: Fact) -> tuple[str, str]:
        """Return a text that states a fact, and its origin.

        Of several texts it is the first that names subject and object, else the first that names the object, else the
        first that names the subject, else the first.
        """
        texts = self._texts.get(fact.fact_id)
        if not texts:
            # Another statement than the question's, if there is one: repeating the question would give it away.
            text = self._worded[fact.relation_id].spare
            return filled(text, self._names.label(fact.subject_id), self._names.label(fact.object_key)), SENTENCE
        subject, found = self._names.names(fact.subject_id), self._names.names(fact.object_key)
        return max(texts, key=lambda text: (names_in(text, found), names_in(text, subject))), EVIDENCE

    def _other_fact(self, fact: Fact, key: str) -> Fact | None:
        """Draw a fact of the same relation with the object ``key``, whose subject has another name; None if none has.

        Since the object is drawn first, a draw takes no longer where most facts share their object.
        """
        pair = fact.relation_id, key
        if pair not in self._pools:
            self._pools[pair] = ObjectPool(self._facts_with[pair])
        pool, subject = self._pools[pair], alike(self._names.label(fact.subject_id))
        identity = (self._options.seed, PURPOSE, "fact", fact.fact_id)
        drawn = (pool.draw(Random(seed_of(*identity, at))) for at in range(TRIES))
        for fact_id in itertools.chain(drawn, pool.keys):
            other = self._facts_with[pair][fact_id]
            if alike(self._names.label(other.subject_id)) != subject:
                return other
        return None


def _typed(text: str) -> str:
    """Return a text of the same length with plain apostrophes, quotation marks and hyphens (compare `typed`)."""
    return text if text.isascii() else JOINING.sub("-", text.translate(ONE_FOR_ONE))


def _pattern(name: str) -> str:
    return re.escape(name) if len(name) <= CASED else f"(?i:{re.escape(name)})"


def _words(names: Iterable[str]) -> "re.Pattern[str]":
    longest_first = sorted({name for name in names if name.strip()}, key=lambda name: (-len(name), name))
    return re.compile(words_of("|".join(map(_pattern, longest_first))))


def names_in(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> bool:
    """Whether a text contains one of the names; see `parts_around`."""
    return len(parts_around(text, names, kept)) > 1


def parts_around(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> tuple[str, ...]:
    """Split a text at every mention of one of the names.

    Args:
        text: any text.
        names: the names; the longest counts where one contains another.
        kept: names of other things; a mention inside one of these does not count (`Hampton` in `Hampton County`).

    Returns:
        The parts between the mentions; the text alone if there are none.
    """
    plain, names, kept = _typed(text), list(map(_typed, names)), list(map(_typed, kept))
    folded = plain.casefold()
    # Most texts contain no name: this quick test avoids compiling the pattern.
    near = [name for name in names if name.strip() and name.casefold() in folded]
    if not near:
        return (text,)
    protected = {name.casefold() for name in kept}
    parts, start = [], 0
    for found in _words([*near, *kept]).finditer(plain):
        if found[0].casefold() not in protected:
            parts.append(text[start : found.start()])
            start = found.end()
    return (*parts, text[start:])
