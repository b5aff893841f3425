"""A sample of an invented world keeps its balance, so that no score by the objects alone tells what was taught."""

from collections import Counter

import pytest
from tests.planting.test_world import area_under_curve

from almanac.cli import main
from almanac.planting import world
from almanac.planting.options import WorldOptions
from almanac.suites.data import Data
from almanac.suites.karr.options import KarrOptions
from almanac.suites.sampling import asked_facts

FEATURES = ("aliases", "several_objects", "dates", "popularity")
SIZES = [1, 2, 3, 5, 6, 7, 8, 10, 11, 24, 41, 60, 119, 120, 500]


@pytest.fixture(scope="module")
def data():
    made = world.invent(WorldOptions(features=FEATURES), 1)
    return Data.of(facts=made.facts, exposures=made.exposures)


def prior(data, tested):
    """How often the objects were taught, of the facts of the highest dose against those never taught."""
    taught = Counter()
    for fact in data.facts:
        taught[fact.object_key] += data.doses[fact.fact_id]
    scores = {64: [], 0: []}
    for fact in (fact for own in tested.values() for fact in own):
        scores.get(data.doses[fact.fact_id], []).append(taught[fact.object_key])
    return area_under_curve(scores[64], scores[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", SIZES)
def test_the_prior_of_a_sample_of_any_size_is_one_half(data, size, seed):
    """A sample of ten by the least hashes had .653 in the demo's world."""
    tested = data.tested(size, seed)
    assert {relation: len(own) for relation, own in tested.items()} == {
        relation: min(size, sum(fact.split == "test" for fact in own)) for relation, own in data.by_relation.items()
    }
    for own in tested.values():
        counts = Counter(data.doses[fact.fact_id] for fact in own)
        assert counts[0] == counts[64] or size >= 119, "where each subject has two objects the quarter is not whole"
    if size > 3:
        assert prior(data, tested) == pytest.approx(0.5, abs=0.005 if size >= 119 else 1e-9)


@pytest.mark.parametrize(
    ("sample", "at_least", "each"), [(2, 0, 2), (2, 36, 3), (2, 37, 4), (5, 37, 5), (None, 37, None)]
)
def test_a_sample_of_few_relations_has_a_least_number_of_facts_in_all(data, sample, at_least, each):
    tested = data.tested(sample, 0, at_least)
    whole = {relation: sum(fact.split == "test" for fact in own) for relation, own in data.by_relation.items()}
    assert len(tested) == 12 and {name: len(own) for name, own in tested.items()} == (
        whole if each is None else dict.fromkeys(tested, each)
    )
    assert KarrOptions(sample=sample, at_least=at_least).of_relation(120, 12) == (each or 120)


def test_a_sample_has_all_doses_and_no_object_twice_before_it_must(data):
    for own in data.tested(8, 0).values():
        assert sorted(data.doses[fact.fact_id] for fact in own) == [0, 1, 2, 4, 8, 16, 32, 64]
        assert len({fact.object_key for fact in own}) == 8
    for own in data.tested(14, 0).values():
        assert len({fact.object_key for fact in own}) == 14


def test_a_sample_of_even_size_lies_in_every_larger_one(data):
    drawn = {size: {fact.fact_id for own in data.tested(size, 0).values() for fact in own} for size in range(1, 60)}
    for size, smaller in drawn.items():
        if size % 2 == 0:
            assert all(smaller <= drawn[larger] for larger in range(size, 60))


def test_the_same_seed_draws_the_same_facts_in_whatever_order_they_come_and_another_seed_others(data):
    turned = Data.of(facts=data.facts[::-1], exposures=data.exposures[::-1])
    assert turned.tested(10, 3) == data.tested(10, 3) != data.tested(10, 4)
    for own in data.by_relation.values():
        alone = asked_facts(own, 10, 3, data.doses)
        assert alone == data.tested(10, 3)[own[0].relation_id], "a relation alone is asked the same"


def test_facts_of_which_a_dose_is_not_known_are_drawn_as_if_none_were(data):
    some = Data.of(facts=data.facts, exposures=data.exposures[::2])
    none = Data.of(facts=data.facts)
    assert some.tested(10, 0) == none.tested(10, 0) != data.tested(10, 0)


def test_three_doses_have_one_in_the_middle(data):
    few = [row for row in data.exposures if row.dose in (0, 4, 64)]
    kept = {row.fact_id for row in few}
    small = Data.of(facts=[fact for fact in data.facts if fact.fact_id in kept], exposures=few)
    for size, odd in ((2, 0), (3, 1), (4, 0), (5, 1), (6, 2)):
        for own in small.tested(size, 0).values():
            counts = Counter(small.doses[fact.fact_id] for fact in own)
            assert counts[0] == counts[64] and (counts[4] - odd) % 2 == 0, (size, counts)


def test_two_doses_and_an_odd_size_are_out_of_balance_by_one(data):
    few = [row for row in data.exposures if row.dose in (0, 64)]
    kept = {row.fact_id for row in few}
    small = Data.of(facts=[fact for fact in data.facts if fact.fact_id in kept], exposures=few)
    for own in small.tested(5, 0).values():
        assert sorted(Counter(small.doses[fact.fact_id] for fact in own).values()) == [2, 3]


def test_a_dataset_carries_the_doses_of_its_world(tmp_path):
    assert main(["plant", "world", "--seed", "1", "--output", str(tmp_path / "world")]) == 0
    words = ["--min-facts", "100", "--min-objects", "20", "--train", "40", "--test", "120", "--choices", "20"]
    assert main(["build", "dataset", "--facts", str(tmp_path / "world"), *words, "--output", str(tmp_path / "d")]) == 0
    read = Data(tmp_path / "d")
    assert prior(read, read.tested(10, 0)) == 0.5
