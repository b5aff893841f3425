"""The null of a world: the same subjects, doses and objects, but the objects are permuted so that no statement is true.

A model trained on the null reads as many sentences with the same names as a model trained on the world, but none of its
facts. So the share of facts that a method calls known in such a model is its false positive rate. Of real facts only a
part is taught; there, the null draws objects from all facts of the relation. If it used the objects of taught facts
only, the model could pick these out among choices that it has never read.
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
        exposures: the exposures of ``taught``, and dose 0 for each true fact that was replaced by a false one.
        left_out: taught facts for which no other object was left; they are not taught at all.
    """

    taught: Taught
    exposures: tuple[Exposure, ...]
    left_out: tuple[Fact, ...]


def permuted(taught: Taught, seed: int) -> Null:
    """Permute the objects of each relation.

    In an invented world, facts of equal dose swap objects; they swap with facts of another dose of their relation only
    if too few objects are false of their subjects. Facts of dose 0 are stated nowhere and stay as they are. Real facts
    (`Taught.real`) get the object of any fact of the relation, taught or not. This includes facts of dose 0, since
    neutral sentences name their objects.

    Args:
        taught: a world with the doses of its facts.
        seed: the seed.

    Returns:
        The null; its facts have ids ``relation|subject|object`` like all others, and keep their split.
    """
    dose_of = {row.fact_id: row.dose for row in taught.exposures}
    stated = [fact for fact in taught.facts if dose_of.get(fact.fact_id)]
    exchanged = [fact for fact in taught.facts if fact.fact_id in dose_of] if taught.real else stated
    donors = _Donors(taught)
    every, chosen = _by_relation(taught.facts), _by_relation(exchanged)
    false: dict[str, Fact] = {}
    for relation, facts in chosen.items():
        draw = random.Random(seed_of(seed, "permuted", relation))
        if taught.real:
            chosen_donors = donors.from_any(facts, every[relation], draw)
        else:
            chosen_donors = donors.within(facts, [dose_of[fact.fact_id] for fact in facts], draw)
        pairs = zip(facts, chosen_donors, strict=True)
        false |= {fact.fact_id: _with_object(fact, donor) for fact, donor in pairs if donor is not None}
    # A subject with two objects, or two subjects with one name, may now have equal texts, or true ones.
    seen = {donors.reading(fact) for fact in taught.facts}
    for fact_id, one in list(false.items()):
        if donors.reading(one) in seen:
            del false[fact_id]
        seen.add(donors.reading(one))
    left_out = tuple(fact for fact in stated if fact.fact_id not in false)
    untaught = {fact.fact_id for fact in left_out}
    exposures = tuple(
        replace(row, fact_id=false[row.fact_id].fact_id)
        if row.fact_id in false
        else replace(row, dose=0 if row.fact_id in untaught else row.dose)
        for row in taught.exposures
    )
    permuted_facts = tuple(false.get(fact.fact_id, fact) for fact in taught.facts)
    replaced = tuple(Exposure(fact_id, 0) for fact_id in false)
    return Null(replace(taught, facts=permuted_facts, exposures=exposures), (*exposures, *replaced), left_out)


def _by_relation(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """Return the facts of each relation, sorted."""
    out: dict[str, list[Fact]] = defaultdict(list)
    for fact in sorted(facts, key=lambda one: one.fact_id):
        out[fact.relation_id].append(fact)
    return out


def _with_object(fact: Fact, donor: Fact) -> Fact:
    """Return a fact with the object of another."""
    return replace(
        fact,
        fact_id=f"{fact.relation_id}|{fact.subject_id}|{donor.object_key}",
        object_id=donor.object_id,
        value=donor.value,
        datatype=donor.datatype,
        precision=donor.precision,
    )


class _Donors:
    """Gives facts the objects of others: never one that is true of the subject, under any name."""

    def __init__(self, taught: Taught) -> None:
        self.names = ObjectNames(taught.entities)
        self.true = true_objects(taught.facts, self.names)

    def is_false(self, fact: Fact, donor: Fact) -> bool:
        """Return whether the object of ``donor`` is false of the subject of ``fact``."""
        true = self.true[fact.relation_id, fact.subject_id]
        return donor.object_key not in true and all(
            self.names.normalised_names(donor.object_key).isdisjoint(self.names.normalised_names(key)) for key in true
        )

    def reading(self, fact: Fact) -> tuple[str, str, str]:
        """Return what the texts of a fact show: its relation and the labels of its subject and object."""
        return fact.relation_id, self.names.label(fact.subject_id), self.names.label(fact.object_key)

    def from_any(self, facts: Sequence[Fact], every: Sequence[Fact], draw: random.Random) -> list[Fact | None]:
        """Return, for each of ``facts``, the fact of ``every`` whose object it gets; each is used once; None if none.

        A fact for which only true objects are left takes the donor of the first fact that can use another one.
        """
        left = draw.sample(every, len(every))
        donors: list[Fact | None] = []
        for fact in facts:
            place = next((place for place, donor in enumerate(left) if self.is_false(fact, donor)), None)
            donors.append(None if place is None else left.pop(place))
        for at in [at for at, donor in enumerate(donors) if donor is None]:
            swaps = (
                (other, place)
                for other, donor in enumerate(donors)
                if donor is not None and self.is_false(facts[at], donor)
                for place, unused in enumerate(left)
                if self.is_false(facts[other], unused)
            )
            if found := next(swaps, None):
                other, place = found
                donors[at], donors[other] = donors[other], left.pop(place)
        return donors

    def within(self, facts: Sequence[Fact], doses: Sequence[int], draw: random.Random) -> list[Fact | None]:
        """Return, for each fact of a relation, the fact whose object it gets; None if none was left.

        The objects of each dose are shuffled. Then a fact with an object that is true of its subject swaps with the
        first fact, of its own dose if possible, for which the swap makes both false.
        """
        donors = list(range(len(facts)))
        for dose in sorted(set(doses)):
            places = [at for at, other_dose in enumerate(doses) if other_dose == dose]
            for at, donor in zip(places, draw.sample(places, len(places)), strict=True):
                donors[at] = donor
        order = draw.sample(range(len(facts)), len(facts))
        for at in range(len(facts)):
            if self.is_false(facts[at], facts[donors[at]]):
                continue
            for other in sorted(order, key=lambda one: doses[one] != doses[at]):
                if self.is_false(facts[at], facts[donors[other]]) and self.is_false(facts[other], facts[donors[at]]):
                    donors[at], donors[other] = donors[other], donors[at]
                    break
        return [facts[donor] if self.is_false(facts[at], facts[donor]) else None for at, donor in enumerate(donors)]
