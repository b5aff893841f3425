"""Sequences of many pairs of one relation, in which every object's probability is read (Wu et al., section 3).

One sequence of 200 pairs as it is; others in which 40 are replaced by unknown ones (an invented subject, an object of
the relation) or by incorrect ones (another object), distributed over the sequence or side by side. All of a draw have
the same facts in the same order, and distributed pairs never touch.
"""

import itertools
import random
from collections.abc import Callable, Container, Sequence

from almanac.dataset.invented import Names
from almanac.dataset.names import ObjectNames, true_objects
from almanac.dataset.text import normalise
from almanac.rows import Fact, Item, Link, NotAsked, Request
from almanac.suites.asking import Asked
from almanac.suites.ic_lke.positions.options import Arrangement, Kind, PositionOptions
from almanac.suites.ic_lke.requests import DRAW, chosen
from almanac.suites.method import Data
from almanac.tables import hash_order, seed_of

SUITE = "lke_positions"
AS_IS = "as_is"
WHOLE = "whole"  # the arrangement of a sequence in which nothing is replaced
REPLACED, FOLLOWING, REST = "replaced", "following", "rest"


def ask(data: Data, options: PositionOptions, on_step: Callable[[], object] = lambda: None) -> Asked:
    """Ask the sequences of each relation as `spans` requests, a span an object.

    Args:
        data: a dataset's tables; train and test facts are used alike, one a subject.
        options: length, replacements, draws, relations, seed.
        on_step: called after each relation.

    Returns:
        An item a place of a sequence; its link's ``index`` is the place, from 0, and its role the class of the pair:
        replaced, the one that follows a replaced one, or the rest. A relation with fewer subjects than ``pairs`` is
        refused.

    Raises:
        AlmanacError: the dataset has no relation of that name.
    """
    asked = Asked()
    names = ObjectNames.of(data.entities)
    for relation_id, own in chosen(data.facts, options.relations, SUITE).items():
        relation = Positions(relation_id, own, names, options)
        usable = one_a_subject([fact for fact in own if relation.wrong(fact)], names, options.seed)
        if len(usable) < options.pairs:
            reason = (
                f"it has {len(usable)} subjects with a fact and a wrong object, and {options.pairs} pairs are asked "
                "for; lower `pairs`"
            )
            asked.refused.append(NotAsked(f"relation {relation_id}", reason))
        else:
            for draw in range(options.draws):
                order = hash_order(usable, options.seed, "positions", relation_id, draw)[: options.pairs]
                relation.ask(asked, [usable[key] for key in order], draw)
        on_step()
    return asked


def one_a_subject(facts: Sequence[Fact], names: ObjectNames, seed: int) -> dict[str, Fact]:
    """Return the train and test facts by id, of each subject one and of subjects that read alike one."""
    drawn = {fact.fact_id: fact for fact in facts if fact.split is not None}
    found: dict[str, Fact] = {}
    for fact_id in hash_order(drawn, seed, "one a subject"):
        found.setdefault(normalise(names.label(drawn[fact_id].subject_id)), drawn[fact_id])
    return {fact.fact_id: fact for fact in found.values()}


class Positions:
    """The sequences of one relation."""

    def __init__(self, relation_id: str, facts: Sequence[Fact], names: ObjectNames, options: PositionOptions) -> None:
        self._relation_id = relation_id
        self._names = names
        self._options = options
        self._true = true_objects(facts)
        self._known = {normalise(name) for key in names.entities for name in names.names(key)}
        self._objects = {fact.object_key: names.folded(fact.object_key) for fact in facts}

    def wrong(self, fact: Fact) -> list[str]:
        """Return the objects of the relation that share no name with a true object of the fact's subject."""
        true = {name for key in self._true[fact.relation_id, fact.subject_id] for name in self._names.folded(key)}
        return [key for key, own in self._objects.items() if not own & true]

    def ask(self, asked: Asked, facts: Sequence[Fact], draw: int) -> None:
        """Ask the sequences of one draw: as it is, and each kind of replacement in each arrangement."""
        shown = [(self._names.label(fact.subject_id), self._names.label(fact.object_key)) for fact in facts]
        self._add(asked, facts, shown, frozenset(), AS_IS, f"{WHOLE}{DRAW}{draw}")
        for kind in dict.fromkeys(self._options.kinds):
            for arrangement in dict.fromkeys(self._options.arrangements):
                places = replaced_places(self._options, arrangement, self._relation_id, draw)
                pairs = [
                    self._replacement(fact, kind, draw) if place in places else pair
                    for place, (fact, pair) in enumerate(zip(facts, shown, strict=True))
                ]
                self._add(asked, facts, pairs, places, kind, f"{arrangement}{DRAW}{draw}")

    def _replacement(self, fact: Fact, kind: Kind, draw: int) -> tuple[str, str]:
        """Return the pair that stands for a fact's: an invented subject with an object, or the subject with another."""
        found = self._names.label(hash_order(self.wrong(fact), self._options.seed, kind, fact.fact_id, draw)[0])
        if kind == "unknown":
            return invented_name(fact.fact_id, self._known, self._options.seed), found
        return self._names.label(fact.subject_id), found

    def _add(
        self,
        asked: Asked,
        facts: Sequence[Fact],
        pairs: Sequence[tuple[str, str]],
        replaced: frozenset[int],
        kind: str,
        setting: str,
    ) -> None:
        text, starts, ends = joined(pairs)
        request_id = asked.request(Request("", "spans", None, text, span_starts=starts, span_ends=ends))
        for place, (fact, (_, found)) in enumerate(zip(facts, pairs, strict=True)):
            item_id = f"{SUITE}/{kind}/{setting}/{fact.fact_id}"
            asked.items.append(Item(item_id, SUITE, kind, fact.fact_id, fact.relation_id, None, setting, (found,)))
            asked.links.append(Link(item_id, class_of(place, replaced), request_id, place, None))


def joined(pairs: Sequence[tuple[str, str]]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Return pairs as the paper writes them, one space everywhere, and the characters of each object with its space."""
    text, starts, ends = "", [], []
    for subject, found in pairs:
        text += f"{' ' if text else ''}{subject}"
        starts.append(len(text))
        text += f" {found}"
        ends.append(len(text))
    return text, tuple(starts), tuple(ends)


def class_of(place: int, replaced: frozenset[int]) -> str:
    """Return the class of a place: replaced, right behind a replaced one, or the rest."""
    if place in replaced:
        return REPLACED
    return FOLLOWING if place - 1 in replaced else REST


def replaced_places(options: PositionOptions, arrangement: Arrangement, relation_id: str, draw: int) -> frozenset[int]:
    """Return which places are replaced: side by side, or one in each of as many equal stretches, none at its end."""
    if arrangement == "contiguous":
        return frozenset(range(options.first, options.first + options.replaced))
    edges = [number * options.pairs // options.replaced for number in range(options.replaced + 1)]
    chance = random.Random(seed_of(options.seed, "replaced", relation_id, draw))
    return frozenset(chance.randrange(start, stop - 1) for start, stop in itertools.pairwise(edges))


def invented_name(fact_id: str, known: Container[str], seed: int) -> str:
    """Return a name that the dataset does not know (normalised), for a fact that it stands in for."""
    source = Names(seed_of(seed, "unknown", fact_id))
    names = (source.name("unknown", index, "two_words") for index in itertools.count())
    return next(name for name in names if normalise(name) not in known)
