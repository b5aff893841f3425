"""The null of a world: the same subjects, doses and objects, the objects dealt out so that no statement is true.

A model that is trained on it has read as many sentences of the same names as one that is trained on the world, and was
taught none of its facts. What a method calls known of such a model is its rate of false positives. Of real facts, of
which a part is taught, the null's objects are those of any facts of the relation: had it read those of the taught facts
alone, it would find these among choices of which it has read no other.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from almanac.dataset.names import ObjectNames, true_objects
from almanac.planting.formats import Taught
from almanac.rows import Exposure, Fact
from almanac.tables import seed_of


@dataclass(frozen=True, slots=True)
class Null:
    """A permuted world.

    Attributes:
        taught: what a corpus teaches: every taught fact with another object, at the same dose.
        exposures: those of ``taught``, and 0 for each true fact that gave way to a false one.
        left_out: taught facts for which no other object was left; they are not taught at all.
    """

    taught: Taught
    exposures: tuple[Exposure, ...]
    left_out: tuple[Fact, ...]


def permuted(taught: Taught, seed: int) -> Null:
    """Deal the objects of each relation out anew, by the seed.

    In a world facts of equal dose swap objects; only where they are too few or too alike do they swap with facts of
    another dose of their relation. Facts of dose 0 are stated nowhere and stay as they are. Of real facts
    (`Taught.real`) all with a dose, 0 too since sentences name their objects, have that of any fact of the relation,
    taught or not.

    Args:
        taught: a world with the doses of its facts.
        seed: the seed.

    Returns:
        The null, whose facts are called ``relation|subject|object`` as others are, and keep their split.
    """
    dose_of = {row.fact_id: row.dose for row in taught.exposures}
    stated = [fact for fact in taught.facts if dose_of.get(fact.fact_id)]
    exchanged = [fact for fact in taught.facts if fact.fact_id in dose_of] if taught.real else stated
    dealt = _Deal(taught)
    every, chosen = _by_relation(taught.facts), _by_relation(exchanged)
    false: dict[str, Fact] = {}
    for relation, facts in chosen.items():
        draw = random.Random(seed_of(seed, "permuted", relation))
        if taught.real:
            given = dealt.of_any(facts, every[relation], draw)
        else:
            given = dealt.among(facts, [dose_of[fact.fact_id] for fact in facts], draw)
        false |= {fact.fact_id: _with_object(fact, of) for fact, of in zip(facts, given, strict=True) if of is not None}
    # Of one subject with two objects, or of two subjects of one name, texts may have become the same, or true.
    seen = {dealt.reading(fact) for fact in taught.facts}
    for fact_id, one in list(false.items()):
        if dealt.reading(one) in seen:
            del false[fact_id]
        seen.add(dealt.reading(one))
    left_out = tuple(fact for fact in stated if fact.fact_id not in false)
    untaught = {fact.fact_id for fact in left_out}
    exposures = tuple(
        replace(row, fact_id=false[row.fact_id].fact_id)
        if row.fact_id in false
        else replace(row, dose=0 if row.fact_id in untaught else row.dose)
        for row in taught.exposures
    )
    dealt_facts = tuple(false.get(fact.fact_id, fact) for fact in taught.facts)
    true = tuple(Exposure(fact_id, 0) for fact_id in false)
    return Null(replace(taught, facts=dealt_facts, exposures=exposures), (*exposures, *true), left_out)


def _by_relation(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """Return the facts of each relation, sorted."""
    out: dict[str, list[Fact]] = defaultdict(list)
    for fact in sorted(facts, key=lambda one: one.fact_id):
        out[fact.relation_id].append(fact)
    return out


def _with_object(fact: Fact, of: Fact) -> Fact:
    """Return a fact with the object of another."""
    return replace(
        fact,
        fact_id=f"{fact.relation_id}|{fact.subject_id}|{of.object_key}",
        object_id=of.object_id,
        value=of.value,
        datatype=of.datatype,
        precision=of.precision,
    )


class _Deal:
    """Who may be given which object: none that is true of the subject, under whatever name."""

    def __init__(self, taught: Taught) -> None:
        self.names = ObjectNames(taught.entities)
        self.true = true_objects(taught.facts, self.names)

    def may(self, fact: Fact, of: Fact) -> bool:
        """Whether the object of one fact is false of the subject of another."""
        own = self.true[fact.relation_id, fact.subject_id]
        return of.object_key not in own and all(
            self.names.folded(of.object_key).isdisjoint(self.names.folded(key)) for key in own
        )

    def reading(self, fact: Fact) -> tuple[str, str, str]:
        """Return what of a fact its texts show."""
        return fact.relation_id, self.names.label(fact.subject_id), self.names.label(fact.object_key)

    def of_any(self, facts: Sequence[Fact], every: Sequence[Fact], draw: random.Random) -> list[Fact | None]:
        """Return for each of some facts of a relation one of all whose object it is given, each given once.

        Who finds only objects that are true of its subject swaps with the first who may have one of them.
        """
        left = draw.sample(every, len(every))
        given: list[Fact | None] = []
        for fact in facts:
            at = next((at for at, of in enumerate(left) if self.may(fact, of)), None)
            given.append(None if at is None else left.pop(at))
        for at in [at for at, own in enumerate(given) if own is None]:
            swaps = (
                (other, place)
                for other, own in enumerate(given)
                if own is not None and self.may(facts[at], own)
                for place, of in enumerate(left)
                if self.may(facts[other], of)
            )
            if found := next(swaps, None):
                other, place = found
                given[at], given[other] = given[other], left.pop(place)
        return given

    def among(self, facts: Sequence[Fact], doses: Sequence[int], draw: random.Random) -> list[Fact | None]:
        """Return for each fact of a relation the one whose object it is given; none where none was left.

        The facts of each dose are shuffled. Whoever has drawn an object that is true of its subject then swaps with the
        first other, of its own dose before all others, with whom both hold false ones.
        """
        given = list(range(len(facts)))
        for dose in sorted(set(doses)):
            places = [at for at, own in enumerate(doses) if own == dose]
            for at, of in zip(places, draw.sample(places, len(places)), strict=True):
                given[at] = of
        order = draw.sample(range(len(facts)), len(facts))
        for at in range(len(facts)):
            if self.may(facts[at], facts[given[at]]):
                continue
            for other in sorted(order, key=lambda one: doses[one] != doses[at]):
                if self.may(facts[at], facts[given[other]]) and self.may(facts[other], facts[given[at]]):
                    given[at], given[other] = given[other], given[at]
                    break
        return [facts[of] if self.may(facts[at], facts[of]) else None for at, of in enumerate(given)]
