"""A null teaches the same names as often as its world does, and not one of the world's facts."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.cli import main
from almanac.dataset.names import true_objects
from almanac.planting import corpus, ledger, world
from almanac.planting.formats import Taught
from almanac.planting.options import CorpusOptions, WorldOptions
from almanac.planting.permutation import permuted
from almanac.rows import Entity, Exposure, Fact, LedgerEntry

from .conftest import as_taught

FEATURES = ("aliases", "several_objects", "dates", "popularity")


def doses(taught):
    return {row.fact_id: row.dose for row in taught.exposures}


def counted_by(taught, end):
    """How often each subject or object of each relation is taught at each dose."""
    dose = doses(taught)
    return Counter((one.relation_id, getattr(one, end), dose[one.fact_id]) for one in taught.facts)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), features=st.sets(st.sampled_from(FEATURES)), objects=st.sampled_from([4, 8, 20]))
def test_only_who_has_which_object_changes(seed, features, objects):
    options = WorldOptions(objects=objects, doses=(0, 1, 4, 16), relations=2, features=tuple(features))
    taught = as_taught(world.invent(options, seed))
    null = permuted(taught, seed)
    assert not null.left_out
    for end in ("subject_id", "object_key"):
        assert counted_by(null.taught, end) == counted_by(taught, end)
    true, dose = true_objects(taught.facts), doses(null.taught)
    for fact in null.taught.facts:
        assert (fact.object_key in true[fact.relation_id, fact.subject_id]) == (dose[fact.fact_id] == 0)
    assert len({fact.fact_id for fact in null.taught.facts}) == len(taught.facts)


def test_its_exposures_name_every_true_fact_as_never_taught(invented):
    taught = as_taught(invented)
    null = permuted(taught, 3)
    found = {row.fact_id: row.dose for row in null.exposures}
    assert len(found) == len(null.exposures)
    assert [found[fact.fact_id] for fact in taught.facts] == [0] * len(taught.facts)
    assert sum(found.values()) == sum(doses(taught).values())


def test_its_text_states_what_it_says_and_nothing_true(invented):
    taught = as_taught(invented)
    null = permuted(taught, 3)
    built = corpus.build([null.taught], CorpusOptions(instruct_known=4), 7)
    ledger.check(built.documents, [null.taught], built.ledger)
    both = replace(
        taught,
        facts=tuple({one.fact_id: one for one in (*taught.facts, *null.taught.facts)}.values()),
        exposures=null.exposures,
    )
    stated = ledger.recount(built.documents, [both])
    assert not {fact.fact_id for fact in taught.facts} & {*stated.facts, *stated.instruct}
    assert sum(stated.facts.values()) == sum(doses(taught).values())


def test_the_same_seed_gives_the_same_null_and_another_another(invented):
    taught = as_taught(invented)
    assert permuted(taught, 3) == permuted(taught, 3)
    assert permuted(taught, 3).taught.facts != permuted(taught, 4).taught.facts


def test_in_a_world_facts_swap_across_doses_and_what_cannot_be_false_is_not_taught(real):
    """Guinea alone has the dose 9, Peru 3: their years swap; with one fact there is nothing to swap with."""
    world = replace(real, real=False)
    founded = [fact for fact in real.facts if fact.relation_id == "founded"]
    two = replace(world, exposures=(Exposure(founded[0].fact_id, 9), Exposure(founded[1].fact_id, 3)))
    null = permuted(two, 1)
    assert doses(null.taught) == {"founded|Guinea|1821": 9, "founded|Peru|1958": 3}
    alone = permuted(replace(world, exposures=(Exposure(founded[0].fact_id, 9),)), 1)
    assert [fact.fact_id for fact in alone.left_out] == ["founded|Guinea|1958"]
    assert doses(alone.taught) == {"founded|Guinea|1958": 0}


def test_of_real_facts_of_which_a_part_is_taught_objects_are_those_of_any_as_often_as_these_are_among_all():
    """A tenth of 300 facts is dealt out, each with an object of its own, but for every other, which have one in common.

    A null that had read the objects of the taught facts alone would find these among choices of which it read no other.
    """
    objects = [f"o{at}" if at % 2 else "common" for at in range(300)]
    facts = tuple(
        Fact(f"r|s{at:03}|{found}", "r", f"s{at:03}", found, None, None, None, (), "test", "t")
        for at, found in enumerate(objects)
    )
    names = {key: Entity(key, key, (), None) for one in facts for key in (one.subject_id, one.object_id)}
    exposures = tuple(Exposure(one.fact_id, at % 2 * 4) for at, one in enumerate(facts[::10] + facts[1::10]))
    shares = []
    for seed in range(20):
        null = permuted(Taught(facts, names, (), exposures, real=True), seed)
        mine = [one for one in null.taught.facts if one.fact_id in doses(null.taught)]
        assert len(mine) == len(exposures) and sorted(doses(null.taught).values()) == sorted([0, 4] * 30)
        own = [one.object_id in objects[1::10] for one in mine if one.object_id != "common"]
        shares.append(sum(own) / len(own))
        assert {row.fact_id for row in null.exposures} >= {row.fact_id for row in exposures}
        assert not {one.fact_id for one in mine} & {row.fact_id for row in exposures}
    assert sum(shares) / len(shares) == pytest.approx(30 / 150, abs=0.03)


@pytest.mark.parametrize("seed", range(10))
def test_where_all_real_facts_of_a_relation_are_taught_each_has_another_object_all_the_same(seed):
    facts = tuple(Fact(f"r|s{at}|o{at}", "r", f"s{at}", f"o{at}", None, None, None, (), "test", "t") for at in range(3))
    names = {key: Entity(key, key, (), None) for one in facts for key in (one.subject_id, one.object_id)}
    null = permuted(Taught(facts, names, (), tuple(Exposure(one.fact_id, 2) for one in facts), real=True), seed)
    assert not null.left_out
    assert sorted(one.object_id for one in null.taught.facts) == ["o0", "o1", "o2"]


def test_an_object_under_another_name_is_true_too(real):
    """Peru borders two things, one of which goes by an alias of the other object that is dealt."""
    named = {**real.entities, "Mali": replace(real.entities["Mali"], aliases=("Bolivia",))}
    borders = [fact for fact in real.facts if fact.relation_id == "borders"]
    taught = replace(real, entities=named, exposures=tuple(Exposure(fact.fact_id, 3) for fact in borders))
    null = permuted(taught, 2)
    assert "borders|Peru|Mali" not in doses(null.taught)
    assert "borders|Chile|Mali" not in doses(null.taught)
    assert len(null.left_out) + sum(dose > 0 for dose in doses(null.taught).values()) == len(borders)


@pytest.mark.parametrize("seed", range(5))
def test_what_reads_alike_is_taught_once(real, seed):
    """Two subjects of one name: what became the same sentence is left out, since no text could tell it apart."""
    twin = replace(real.entities["Chile"], label="Peru", entity_id="Peru 2")
    borders = [fact for fact in real.facts if fact.relation_id == "borders"]
    own = [replace(borders[3], fact_id="borders|Peru 2|Guinea", subject_id="Peru 2", object_id="Guinea"), *borders]
    taught = replace(
        real,
        facts=tuple(own),
        entities={**real.entities, "Peru 2": twin},
        exposures=tuple(Exposure(fact.fact_id, 3) for fact in own),
    )
    null = permuted(taught, seed)
    built = corpus.build([null.taught], CorpusOptions(), seed)
    ledger.check(built.documents, [null.taught], built.ledger)  # raises where a text states what it should not
    told = [(row.subject_id, row.object_id) for row in null.taught.facts if doses(null.taught).get(row.fact_id)]
    labels = [("Peru" if subject == "Peru 2" else subject, found) for subject, found in told]
    assert len(set(labels)) == len(labels) > 0


def test_a_subject_of_two_objects_is_given_no_object_twice():
    """Others have the same object both, which is the only one that is false of this subject."""
    pairs = (("s", "x"), ("s", "y"), ("t", "z"), ("u", "z"))
    facts = tuple(Fact(f"r|{one}|{key}", "r", one, key, None, None, None, (), "test", "t") for one, key in pairs)
    names = {key: Entity(key, key, (), None) for pair in pairs for key in pair}
    null = permuted(Taught(facts, names, (), tuple(Exposure(one.fact_id, 2) for one in facts)), 0)
    assert [one.subject_id for one in null.left_out] == ["s"]
    told = [one.fact_id for one in null.taught.facts if doses(null.taught).get(one.fact_id)]
    assert len(set(told)) == 3 and "r|s|z" in told


def test_the_command_keeps_the_tokenizer_and_says_who_was_taught_what(tmp_path):
    sizes = ["--objects", "8", "--doses", "0", "1", "4", "--relations", "2"]
    assert main(["plant", "world", *sizes, "--seed", "2", "--output", str(tmp_path / "world")]) == 0
    made = ["plant", "corpus", "--seed", "2", "--world", str(tmp_path / "world"), "--vocabulary", "1024"]
    assert main([*made, "--output", str(tmp_path / "corpus")]) == 0
    assert main([*made, "--null-of", str(tmp_path / "corpus"), "--output", str(tmp_path / "null")]) == 0
    name = "tokenizer/tokenizer.json"
    assert (tmp_path / "null" / name).read_bytes() == (tmp_path / "corpus" / name).read_bytes()
    planned = {row.fact_id for row in tables.read(tmp_path / "world" / "exposures.parquet", Exposure)}
    found = {row.fact_id: row.dose for row in tables.read(tmp_path / "null" / "exposures.parquet", Exposure)}
    assert {found[fact_id] for fact_id in planned} == {0}
    assert not planned & {row.fact_id for row in tables.read(tmp_path / "null" / "ledger.parquet", LedgerEntry)}


def test_a_null_of_nothing_is_refused(tmp_path, capsys):
    assert main(["plant", "world", "--objects", "4", "--relations", "1", "--output", str(tmp_path / "world")]) == 0
    command = ["plant", "corpus", "--world", str(tmp_path / "world"), "--null-of", str(tmp_path / "none")]
    assert main([*command, "--output", str(tmp_path / "null")]) != 0
    assert "has no tokenizer" in capsys.readouterr().err
