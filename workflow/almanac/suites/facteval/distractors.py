"""What is not true of a fact's subject: wrong objects, and the passages before a question that may state one.

**Wrong objects** are drawn for each fact, never true under any name, never equal to the truth or to each other. The
released code tests membership in lists, which is quadratic, and compares identifiers, so that a wrong choice may read
like the true one. Here a draw costs the logarithm of the pool's size, and names are compared.

**A passage** states the fact, something else, or the fact falsely. Names are matched in a text as whole words, ignoring
case except for the shortest.
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
from almanac.dataset.text import ARTICLES, normalise, same_value
from almanac.dataset.wrong_choices import DATE
from almanac.punctuation import words_of
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import ANTIFACTUAL, IRRELEVANT, NONE, POOLS, RELEVANT, Wording
from almanac.tables import hash_order, seed_of

WRONG = 3  # wrong choices of a multiple-choice question
BITS = 64
EVIDENCE, SENTENCE = "evidence", "template"  # where a passage is from
PURPOSE = "passage"  # what a passage's wrong object is drawn for
TRIES = 8
CASED = 3  # names up to this long count in their own case alone: `US` is no `us`, `May` no `may`


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
        return names | {same_value(key)} if self._names.by_name(key) else names

    def _finer(self, key: str) -> tuple[str, ...]:
        fact = self._literals.get(key)
        kind = self.kind(key) if fact is None else fact.datatype
        dated = kind == "date" or (fact is None and self._names.by_name(key) and re.match(DATE, key))
        return coarser(key) if dated else ()

    def _false(self, fact: Fact) -> Callable[[str], bool]:
        """Return what says of an object whether it is false of a fact's subject.

        It has no name of a true object, and of two dates neither holds the other.
        """
        true = self.true[fact.relation_id, fact.subject_id]
        truth = {name for key in true for name in self._own[key]}
        barred = truth.union(*map(self._finer, true))
        return lambda key: not (self._senses[self._label[key]] & barred or truth.intersection(self._finer(key)))

    def draw(self, fact: Fact, where: str, count: int = WRONG, purpose: str = "negatives") -> list[str]:
        """Draw wrong objects of a fact, uniformly without repetition, seeded by the fact's identity and their purpose.

        Returns:
            Object keys whose labels differ; fewer than wanted where there are no more.
        """
        group = {"relation": fact.relation_id, "type": self.kind(fact.object_key), "uniform": ""}[where]
        pool = self._pools.get((where, group)) if group is not None else None
        if pool is None:
            return []
        identity, false = (self._seed, purpose, where, fact.fact_id), self._false(fact)
        tries = 8 * count
        found: dict[str, None] = {}
        for at in range(tries if len(pool.keys) > tries else 0):
            key = pool.draw(Random(seed_of(*identity, at)))
            if false(key):
                found[key] = None
            if len(found) == count:
                return list(found)
        # A small pool, or one in which little is false: every key has its turn.
        for key in hash_order(pool.keys, *identity):
            if len(found) == count:
                break
            if false(key):
                found[key] = None
        return list(found)


@dataclass(frozen=True)
class Passage:
    """What is read before the questions of one fact: a passage, or nothing.

    Attributes:
        context: ``none``, ``relevant``, ``irrelevant`` or ``antifactual``.
        text: what is read; none: nothing, and so all that follows.
        origin: ``evidence`` (a text of the source) or ``template`` (a sentence made of the fact).
        stated: the label of the wrong object that it names, if it names one.
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
        """What of it `QuestionTraits` holds, in their order; an antifactual one in which nothing changed is none."""
        changed = True if self.context == ANTIFACTUAL else None
        return self.origin, changed, self.mentions_subject, self.mentions_object


class Passages:
    """The passages of a dataset's facts: evidence where a fact has any, otherwise a sentence of a template."""

    def __init__(
        self, data: Data, worded: Mapping[str, Wording], wrong: WrongObjects, options: FactEvalOptions
    ) -> None:
        """Index the facts by what they say, where another's passage may be read, and their texts."""
        self._names, self._worded, self._wrong, self._options = data.names, worded, wrong, options
        self._texts: dict[str, list[str]] = defaultdict(list)
        for row in data.evidence:
            self._texts[row.fact_id].append(row.text)
        self._saying: dict[tuple[str, str], dict[str, Fact]] = defaultdict(dict)
        for fact in data.facts if IRRELEVANT in options.contexts else ():
            self._saying[fact.relation_id, fact.object_key][fact.fact_id] = fact
        self._pools: dict[tuple[str, str], ObjectPool] = {}

    def of(self, fact: Fact, context: str) -> Passage | str:
        """Return a fact's passage of a kind, or the reason why there is none."""
        if context == NONE:
            return Passage(NONE)
        subject = self._names.names(fact.subject_id)
        true = [name for key in self._wrong.true[fact.relation_id, fact.subject_id] for name in self._names.names(key)]
        said, stated = fact, None
        if context != RELEVANT:
            found = self._wrong.draw(fact, "relation", 1, PURPOSE)
            if not found:
                return f"no object of {POOLS['relation']} is false of its subject"
            stated = self._names.label(found[0])
            if context == IRRELEVANT:
                other = self._saying_it(fact, found[0])
                if other is None:
                    return f"every fact of {stated!r} has a subject of the same name"
                said = other
        text, origin = self._about(said)
        if stated is not None and context == ANTIFACTUAL:
            before, text = text, stated.join(parts_around(text, true, subject))
            if text == before:
                return f"its passage names no true object that {stated!r} could replace"
        return Passage(context, text, origin, stated, names_in(text, subject), names_in(text, true))

    def _about(self, fact: Fact) -> tuple[str, str]:
        """Return a text that says a fact, and where it is from.

        Of several texts the first counts that names subject and object; then one that names the object; then the first.
        """
        texts = self._texts.get(fact.fact_id)
        if not texts:
            # Not the statement that asks, where there is another: a passage that repeats the question gives it away.
            text = self._worded[fact.relation_id].spare
            return filled(text, self._names.label(fact.subject_id), self._names.label(fact.object_key)), SENTENCE
        subject, found = self._names.names(fact.subject_id), self._names.names(fact.object_key)
        return max(texts, key=lambda text: (names_in(text, found), names_in(text, subject))), EVIDENCE

    def _saying_it(self, fact: Fact, key: str) -> Fact | None:
        """Draw a fact of the same relation with a given object, whose subject has another name; none if there is none.

        The object is drawn first: so the draw takes no longer where most facts share theirs.
        """
        pair = fact.relation_id, key
        if pair not in self._pools:
            self._pools[pair] = ObjectPool(self._saying[pair])
        pool, subject = self._pools[pair], alike(self._names.label(fact.subject_id))
        identity = (self._options.seed, PURPOSE, "fact", fact.fact_id)
        drawn = (pool.draw(Random(seed_of(*identity, at))) for at in range(TRIES))
        for fact_id in itertools.chain(drawn, pool.keys):
            other = self._saying[pair][fact_id]
            if alike(self._names.label(other.subject_id)) != subject:
                return other
        return None


def _pattern(name: str) -> str:
    return re.escape(name) if len(name) <= CASED else f"(?i:{re.escape(name)})"


def _words(names: Iterable[str]) -> "re.Pattern[str]":
    longest_first = sorted({name for name in names if name.strip()}, key=lambda name: (-len(name), name))
    return re.compile(words_of("|".join(map(_pattern, longest_first))))


def names_in(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> bool:
    """Whether one of the names stands in a text; see `parts_around`."""
    return len(parts_around(text, names, kept)) > 1


def parts_around(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> tuple[str, ...]:
    """Divide a text at every place where one of the names stands.

    Args:
        text: any text.
        names: where to divide; of names within each other the longest counts.
        kept: names of other things, in which no name is looked for (`Hampton` within `Hampton County`).

    Returns:
        The parts between; the text alone where no name stands.
    """
    folded = text.casefold()
    # Most names stand nowhere: a look at the letters spares the pattern.
    near = [name for name in names if name.strip() and name.casefold() in folded]
    if not near:
        return (text,)
    protected = {name.casefold() for name in kept}
    parts, start = [], 0
    for found in _words([*near, *kept]).finditer(text):
        if found[0].casefold() not in protected:
            parts.append(text[start : found.start()])
            start = found.end()
    return (*parts, text[start:])
