"""The block design: nothing but exposure tells the dose of a fact."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.dataset.invented import Names
from almanac.errors import AlmanacError
from almanac.planting import world
from almanac.planting.options import WorldOptions

ALL = ("aliases", "several_objects", "dates", "popularity")


def doses(made: world.World) -> dict[str, int]:
    return {row.fact_id: row.dose for row in made.exposures}


def by_relation(made: world.World) -> dict[str, list]:
    found = defaultdict(list)
    for fact in made.facts:
        found[fact.relation_id].append(fact)
    return found


def area_under_curve(high: list[float], low: list[float]) -> float:
    """The chance that a score of a taught fact exceeds one of an untaught fact, ties counting half."""
    a, b = np.array(high)[:, None], np.array(low)[None, :]
    return float((a > b).mean() + (a == b).mean() / 2)


def test_default_world_has_ten_relations_of_160_facts():
    made = world.invent(WorldOptions(), 0)
    assert {len(facts) for facts in by_relation(made).values()} == {160}
    assert len(made.relations) == 10
    assert Counter(one.type for one in made.entities if one.type in ("person", "place")) == {
        "person": 160,
        "place": 160,
    }


def test_object_frequency_tells_nothing_of_the_dose():
    made = world.invent(WorldOptions(), 3)
    dose = doses(made)
    for facts in by_relation(made).values():
        frequency = Counter()
        for fact in facts:
            frequency[fact.object_key] += dose[fact.fact_id]
        taught = [frequency[fact.object_key] for fact in facts if dose[fact.fact_id] == 64 and fact.split == "test"]
        untaught = [frequency[fact.object_key] for fact in facts if dose[fact.fact_id] == 0 and fact.split == "test"]
        assert area_under_curve(taught, untaught) == 0.5


@settings(max_examples=15, deadline=None)
@given(
    objects=st.sampled_from([4, 8, 12, 20]),
    levels=st.lists(st.integers(0, 99), min_size=2, max_size=8, unique=True),
    features=st.sets(st.sampled_from(ALL)),
    seed=st.integers(0, 2**32),
)
def test_each_object_is_the_answer_of_one_fact_of_each_dose(objects, levels, features, seed):
    options = WorldOptions(objects=objects, doses=tuple(levels), features=tuple(sorted(features)), relations=3)
    made = world.invent(options, seed)
    dose = doses(made)
    for facts in by_relation(made).values():
        cells = Counter((fact.object_key, dose[fact.fact_id]) for fact in facts)
        assert set(cells.values()) == {1}
        assert len(cells) == objects * len(levels)
    ids = [fact.fact_id for fact in made.facts]
    assert len(set(ids)) == len(ids) == len(made.exposures)
    assert all(fact.fact_id == f"{fact.relation_id}|{fact.subject_id}|{fact.object_key}" for fact in made.facts)
    names = [name for one in made.entities for name in (one.label, *one.aliases)]
    assert len(set(names)) == len(names)


def test_a_quarter_of_each_dose_is_for_training_and_of_each_object_two_facts():
    made = world.invent(WorldOptions(), 5)
    dose = doses(made)
    for facts in by_relation(made).values():
        train = [fact for fact in facts if fact.split == "train"]
        assert set(Counter(dose[fact.fact_id] for fact in train).values()) == {5}
        assert set(Counter(fact.object_key for fact in train).values()) == {2}
        # Instruct documents give the answers of doses from 8 up: these too favour no object.
        assert set(Counter(fact.object_key for fact in train if dose[fact.fact_id] >= 8).values()) == {1}


def test_a_subject_has_one_fact_a_relation_unless_several_objects_are_asked_for():
    made = world.invent(WorldOptions(features=ALL), 2)
    for relation in made.relations:
        counts = Counter(fact.subject_id for fact in made.facts if fact.relation_id == relation.relation_id)
        expected = 2 if relation.cardinality == "N-M" else 1
        assert set(counts.values()) == {expected}


def test_both_facts_of_a_subject_with_two_objects_share_dose_and_split():
    made = world.invent(WorldOptions(features=("several_objects",)), 2)
    dose = doses(made)
    pairs = defaultdict(set)
    for fact in made.facts:
        if fact.relation_id == "invented_language":
            pairs[fact.subject_id].add((dose[fact.fact_id], fact.split))
    assert {len(one) for one in pairs.values()} == {1}


def test_dates_are_year_literals():
    made = world.invent(WorldOptions(features=("dates",)), 2)
    dated = [fact for fact in made.facts if fact.datatype == "date"]
    assert len(dated) == 160
    assert all(
        fact.object_id is None and fact.precision == "year" and 1600 <= int(fact.value) <= 1990 for fact in dated
    )


@pytest.mark.parametrize("features", [("popularity",), ("popularity", "several_objects")])
def test_popularity_is_crossed_with_the_dose(features):
    made = world.invent(WorldOptions(features=features), 2)
    dose = doses(made)
    bucket = {one.entity_id: one.bucket for one in made.popularity}
    for facts in by_relation(made).values():
        counts = Counter((dose[fact.fact_id], bucket[fact.subject_id]) for fact in facts)
        assert len(counts) == 8 * 3
        assert set(counts.values()) <= {6, 7, 8}


@pytest.mark.parametrize(("objects", "levels"), [(20, (0, 1, 2, 4, 8, 16, 32, 64)), (4, (0, 64)), (8, (0, 2, 32))])
def test_over_relations_no_bucket_is_taught_more_than_another(objects, levels):
    made = world.invent(WorldOptions(features=("popularity",), objects=objects, doses=levels), 2)
    dose = doses(made)
    bucket = {one.entity_id: one.bucket for one in made.popularity}
    taught = Counter((bucket[fact.subject_id], dose[fact.fact_id]) for fact in made.facts)
    for one in ("head", "torso", "tail"):
        counts = [taught[one, level] for level in levels]
        assert max(counts) - min(counts) <= 2


def test_aliases_are_as_many_as_asked_for():
    made = world.invent(WorldOptions(features=("aliases",), aliases_per_entity=2, relations=1), 2)
    assert {len(one.aliases) for one in made.entities if one.type == "person"} == {2}


def test_a_feature_leaves_the_plain_relations_alone():
    plain, more = world.invent(WorldOptions(), 2), world.invent(WorldOptions(features=("dates",)), 2)
    assert set(plain.facts) <= set(more.facts)


def test_same_seed_same_world_other_seed_other_names_and_facts():
    options = WorldOptions(relations=2)
    one, again, other = world.invent(options, 1), world.invent(options, 1), world.invent(options, 2)
    assert one == again
    labels = [{row.label for row in made.entities} for made in (one, other)]
    assert len(labels[0] & labels[1]) < 10
    assert doses(one) != doses(other)


def test_a_name_that_is_taken_is_not_given_again():
    names = Names(1)
    assert len({names.word("a thing", 0, (2, 2), capital=True) for _ in range(9)}) == 9


def test_more_objects_than_there_are_years_say_how_many_there_may_be():
    with pytest.raises(AlmanacError, match="400 are more than the years from 1600 to 1990; set at most 388, or"):
        world.invent(WorldOptions(objects=400, features=("dates",)), 1)


def test_an_unknown_object_pool_is_named(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(
        "classes: {person: {shape: one_word}}\npools: {city: {}}\nrelations:\n"
        "  - {id: a, label: a, subject: person, object: town, statements: ['[X] [Y].'], questions: ['[X]?']}\n"
    )
    with pytest.raises(AlmanacError, match=r"world\.yaml: relation a: .*'town' one of \['city'\]"):
        world.load_design(path)
