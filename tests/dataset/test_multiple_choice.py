"""T-REx-MC: nothing is lost, no wrong choice is true, no subject on both sides, and draws depend on identity alone."""

import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from almanac.dataset import wrong_choices
from almanac.dataset.multiple_choice import Dataset, build, split
from almanac.dataset.options import DatasetOptions
from almanac.frames import frame_of
from almanac.rows import Entity, Fact, Relation
from almanac.sources.files import read_folder
from almanac.tables import hash_order

REPOSITORY = Path(__file__).parents[2]
TREX = Path(os.environ.get("ALMANAC_TREX") or Path(__file__).parents[2] / ".." / "shared" / "data" / "trex")


def fact(relation: str, subject: str, obj: str, split: str | None = None) -> Fact:
    return Fact(f"{relation}|{subject}|{obj}", relation, subject, obj, None, None, None, (), split, "test")


def entity(identity: str, label: str | None = None, *aliases: str) -> Entity:
    return Entity(identity, label or identity, aliases, None)


def relation(identity: str) -> Relation:
    return Relation(identity, identity, None, None, None, None)


def options(**chosen: object) -> DatasetOptions:
    return DatasetOptions(**{"min_facts": 1, "min_objects": 2, "train": 2, "test": 3, "choices": 3} | chosen)


def fold(name: str) -> str:
    return " ".join(name.lower().split())


NAMES = st.sampled_from(
    ["Rome", "rome", "ROME ", "Roma", "Paris", "Lutetia", "paris", "Bonn", "Oslo", "oslo  ", "Riga"]
)
OBJECTS = [f"o{number}" for number in range(8)]
SUBJECTS = [f"s{number}" for number in range(9)]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Relation], list[Fact], list[Entity]]:
    entities = [entity(one, draw(NAMES), *draw(st.lists(NAMES, max_size=2))) for one in OBJECTS]
    entities += [entity(one) for one in SUBJECTS]
    pairs = st.sets(st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(OBJECTS)), max_size=22)
    facts = [fact(name, *pair) for name in ("P1", "P2") for pair in sorted(draw(pairs))]
    return [relation("P1"), relation("P2")], facts, entities


ASKED = st.builds(
    options,
    train=st.integers(0, 6),
    test=st.integers(1, 8),
    choices=st.integers(2, 5),
    min_facts=st.integers(1, 9),
    exclude_true=st.booleans(),
    seed=st.integers(0, 9),
)
# Both ways to order a pool: a hash for each place, and for large pools SplitMix64.
SIZES = pytest.mark.parametrize("hashed", [wrong_choices.HASHED, 0], ids=["small pools", "large pools"])
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def by_split(made: Dataset, name: str, split: str | None) -> list[Fact]:
    return [one for one in made.facts if one.relation_id == name and one.split == split]


@MANY
@given(worlds(), ASKED)
def test_every_fact_is_train_test_refused_or_surplus(world, asked):
    relations, facts, _ = world
    made = build(*world, asked)
    left_out = {one.relation_id: one.reason for one in made.refused if one.fact_id is None}
    assert sorted(left_out) + sorted(one.relation_id for one in made.relations) == sorted(
        (one.relation_id for one in relations), key=lambda name: (name not in left_out, name)
    )
    assert {one.fact_id for one in made.facts} == {one.fact_id for one in facts if one.relation_id not in left_out}
    refused = {one.fact_id for one in made.refused if one.fact_id}
    for count in made.counts:
        own = [one for one in facts if one.relation_id == count.relation_id]
        assert count.facts == len(own)
        if count.relation_id in left_out:
            assert not count.qualifies
            continue
        train, test = by_split(made, count.relation_id, "train"), by_split(made, count.relation_id, "test")
        assert (count.train, count.test) == (len(train), len(test))
        assert count.refused == len(refused & {one.fact_id for one in own})
        assert count.facts == count.train + count.test + count.refused + count.surplus
        assert not refused & {one.fact_id for one in train + test}
        usable = count.facts - count.refused
        assert count.train == min(asked.train, usable)
        assert count.test == min(asked.test, usable - count.train)
        shared = {one.subject_id for one in train} & {one.subject_id for one in test}
        assert count.shared_subjects == len(shared)


@SIZES
def test_wrong_choices_are_distinct_wrong_and_exactly_as_many_as_asked(hashed, monkeypatch):
    monkeypatch.setattr(wrong_choices, "HASHED", hashed)
    MANY(given(worlds(), ASKED)(check_wrong_choices))()


def check_wrong_choices(world, asked):
    _, facts, entities = world
    made = build(*world, asked)
    names = {one.entity_id: {fold(name) for name in (one.label, *one.aliases)} for one in entities}
    label = {one.entity_id: one.label for one in entities}
    true = defaultdict(set)
    for one in facts:
        true[one.relation_id, one.subject_id].add(one.object_id)
    objects = {name: {one.object_id for one in facts if one.relation_id == name} for name in ("P1", "P2")}
    test = {one.fact_id: one for one in made.facts if one.split == "test"}
    assert [one.fact_id for one in made.choices] == sorted(test, key=lambda one: (one.split("|")[0], one))
    for choice in made.choices:
        asked_fact = test[choice.fact_id]
        assert len(choice.distractors) == asked.choices - 1
        assert [label[key] for key in choice.distractors] == list(choice.labels)
        shown = [fold(text) for text in choice.labels] + [fold(label[asked_fact.object_id])]
        assert len(set(shown)) == asked.choices, "choices are distinct, the true one included"
        assert set(choice.distractors) <= objects[asked_fact.relation_id]
        if asked.exclude_true:
            true_names = {name for key in true[asked_fact.relation_id, asked_fact.subject_id] for name in names[key]}
            assert not any(names[key] & true_names for key in choice.distractors)


@MANY
@given(worlds(), ASKED)
def test_choices_come_in_the_order_of_their_hashes(world, asked):
    """Said in plain words, fact by fact: the first of all that may be offered, in the fact's own order of hashes."""
    _, facts, entities = world
    made = build(*world, asked)
    label = {one.entity_id: one.label for one in entities}
    names = {one.entity_id: {fold(name) for name in (one.label, *one.aliases)} for one in entities}
    for choice in made.choices:
        name, subject, found = choice.fact_id.split("|")
        own = sorted((one for one in facts if one.relation_id == name), key=lambda one: one.object_id)
        stands, known = {}, defaultdict(set)  # the first by key for all that share its label, with all their names
        for one in own:
            known[stands.setdefault(fold(label[one.object_id]), one.object_id)] |= names[one.object_id]
        true = {one.object_id for one in own if one.subject_id == subject} if asked.exclude_true else set()
        wrong = [
            key
            for shown, key in stands.items()
            if not any(known[key] & names[one] for one in true) and shown != fold(label[found])
        ]
        order = hash_order(wrong, asked.seed, "choices", choice.fact_id)
        assert list(choice.distractors) == order[: asked.choices - 1]


@MANY
@given(worlds(), ASKED, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(world, asked, shuffler):
    turned = [list(rows) for rows in world]
    for rows in turned:
        shuffler.shuffle(rows)
    assert build(*turned, asked) == build(*world, asked)


@MANY
@given(worlds(), ASKED)
def test_another_relation_changes_nothing(world, asked):
    relations, facts, entities = world
    alone = build(relations[:1], [one for one in facts if one.relation_id == "P1"], entities, asked)
    together = build(*world, asked)
    for part in ("relations", "facts", "refused", "counts"):
        assert [one for one in getattr(together, part) if one.relation_id == "P1"] == getattr(alone, part)
    assert [one for one in together.choices if one.fact_id.startswith("P1|")] == alone.choices


@MANY
@given(worlds(), ASKED)
def test_a_subject_is_on_both_sides_only_where_the_test_facts_run_short(world, asked):
    made = build(*world, asked)
    refused = {one.fact_id for one in made.refused}
    for count in made.counts:
        train = {one.subject_id for one in by_split(made, count.relation_id, "train")}
        others = [
            one
            for one in made.facts
            if one.relation_id == count.relation_id and one.fact_id not in refused and one.subject_id not in train
        ]
        assert count.shared_subjects <= 1
        if len(others) >= asked.test:
            assert count.shared_subjects == 0


@MANY
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 9), st.integers(1, 9), st.integers(0, 9))
def test_a_divided_subjects_other_facts_come_last(sizes, train, test, seed):
    facts = [fact("P1", f"s{number}", f"o{index}") for number, size in enumerate(sizes) for index in range(size)]
    subjects = np.repeat(np.arange(len(sizes)), sizes)
    made = split(frame_of(Fact, facts), subjects, options(train=train, test=test, seed=seed))
    assert len(made.train) == min(train, len(facts))
    assert len(made.test) == min(test, len(facts) - len(made.train))
    assert not set(made.train) & set(made.test)
    known = set(subjects[made.train])
    shared = known & set(subjects[made.test])
    assert len(shared) <= 1
    assert not shared or sum(one not in known for one in subjects) < test
    inside = Counter(subjects[made.train].tolist())
    divided = [count for number, count in inside.items() if count < sizes[number]]
    assert len(divided) <= 1
    outside = [size for number, size in enumerate(sizes) if number not in inside]
    assert all(size > count for count in divided for size in outside), "one that fits whole would have been taken"


def plain(facts: int, objects: int, *, name: str = "P1", split: str | None = None) -> tuple[list[Fact], list[Entity]]:
    pairs = [(f"s{number:03}", f"o{number % objects:03}") for number in range(facts)]
    entities = [entity(one) for one in sorted({one for pair in pairs for one in pair})]
    return [fact(name, *pair, split) for pair in pairs], entities


def test_another_seed_draws_other_facts_and_other_choices():
    facts, entities = plain(60, 30)
    one, two = (
        build([relation("P1")], facts, entities, options(train=20, test=20, choices=10, seed=seed)) for seed in (0, 1)
    )
    assert {row.fact_id for row in by_split(one, "P1", "train")} != {
        row.fact_id for row in by_split(two, "P1", "train")
    }
    drawn = [{row.fact_id: row.distractors for row in made.choices} for made in (one, two)]
    both = drawn[0].keys() & drawn[1].keys()
    assert both
    assert all(drawn[0][identity] != drawn[1][identity] for identity in both)


@SIZES
def test_every_object_is_drawn_about_equally_often(hashed, monkeypatch):
    monkeypatch.setattr(wrong_choices, "HASHED", hashed)
    facts, entities = plain(400, 20)
    made = build([relation("P1")], facts, entities, options(train=0, test=400, choices=6))
    counts = Counter(key for choice in made.choices for key in choice.distractors)
    assert sum(counts.values()) == 2000
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 43.8  # chi square, 19 df, p = .001
    first = Counter(choice.distractors[0] for choice in made.choices)
    assert max(first.values()) < 45, "20 expected: the first wrong choice is no favourite"


@SIZES
def test_a_choice_keeps_its_place_when_an_object_joins(hashed, monkeypatch):
    monkeypatch.setattr(wrong_choices, "HASHED", hashed)
    asked = options(train=0, test=60, choices=10)
    facts, entities = plain(60, 30)
    before = build([relation("P1")], facts, entities, asked)
    joined = [fact("P1", "another", "new")], [entity("another"), entity("new")]
    after = build([relation("P1")], facts + joined[0], entities + joined[1], options(train=0, test=61, choices=10))
    drawn = {one.fact_id: list(one.distractors) for one in after.choices}
    changed = 0
    for one in before.choices:
        rest = [key for key in drawn[one.fact_id] if key != "new"]
        assert rest == list(one.distractors)[: len(rest)]
        changed += len(rest) < len(one.distractors)
    assert 8 < changed < 30, "18.9 expected: 9 in 30 of 60 facts draw it"


def test_a_large_pool_is_drawn_from_evenly_and_facts_draw_apart():
    count = 3000
    entities = [entity(f"{kind}{at}") for at in range(count) for kind in "so"]
    facts = [fact("P1", f"s{at}", f"o{at}") for at in range(count)]
    made = build([relation("P1")], facts, entities, options(train=0, test=1000, choices=31))
    drawn = [set(one.distractors) for one in made.choices]
    assert all(len(one) == 30 for one in drawn)
    counts = np.bincount([int(key[1:]) for one in drawn for key in one], minlength=count)
    assert ((counts - 10) ** 2 / 10).sum() < 3000 + 4 * np.sqrt(2 * 3000)  # chi square, four standard deviations
    shared = np.mean([len(one & other) for one, other in pairwise(drawn)])
    assert abs(shared - 0.3) < 0.09, "30 of 3000 twice share .3, five standard errors"


def test_work_does_not_grow_with_the_square_of_a_relations_objects():
    """8,000 one-to-one facts took 15 CPU seconds and 610 MiB, and four times as many sixteen times as much."""
    count = 32_000
    entities = [entity(f"{kind}{at}") for at in range(count) for kind in "so"]
    facts = [fact("P1", f"s{at}", f"o{at}") for at in range(count)]
    begun = time.process_time()
    made = build([relation("P1")], facts, entities, DatasetOptions())
    assert time.process_time() - begun < 15
    assert (made.counts[0].train, made.counts[0].test, made.counts[0].objects) == (100, 400, count)


@pytest.mark.parametrize("asked", [1, 5])
def test_a_split_that_the_source_gives_is_kept_and_cut(asked):
    train, entities = plain(6, 6, split="train")
    facts = [*train[:2], *(fact("P1", one.subject_id, one.object_id, "test") for one in train[2:])]
    made = build([relation("P1")], facts, entities, options(train=asked, test=3))
    shown = {one.fact_id for one in by_split(made, "P1", "train")}
    assert len(shown) == min(asked, 2) and shown <= {one.fact_id for one in facts[:2]}
    kept = {one.fact_id for one in by_split(made, "P1", "test")}
    assert len(kept) == 3
    assert kept < {one.fact_id for one in facts[2:]}
    assert made.counts[0].surplus == 3 - len(shown)


def two_true() -> tuple[list[Relation], list[Fact], list[Entity]]:
    """One subject has two true objects, and three objects there are in all."""
    facts = [fact("P1", "s0", "o0"), fact("P1", "s0", "o1"), fact("P1", "s1", "o2")]
    return [relation("P1")], facts, [entity(one) for one in ("s0", "s1", "o0", "o1", "o2")]


def test_the_papers_rule_offers_another_true_object_and_ours_refuses_the_fact():
    paper = build(*two_true(), options(train=0, exclude_true=False))
    assert {one.fact_id: set(one.distractors) for one in paper.choices}["P1|s0|o0"] == {"o1", "o2"}
    assert paper.refused == []
    ours = build(*two_true(), options(train=0))
    assert [(one.fact_id, one.reason) for one in ours.refused] == [
        ("P1|s0|o0", "1 wrong choices; needed are 2"),
        ("P1|s0|o1", "1 wrong choices; needed are 2"),
    ]
    assert [one.fact_id for one in ours.choices] == ["P1|s1|o2"]


def test_a_true_object_is_known_by_its_alias_whatever_its_case():
    relations, facts, _ = two_true()
    entities = [
        entity("s0"),
        entity("s1"),
        entity("o0", "Burma"),
        entity("o1", "Laos"),
        entity("o2", "Myanmar", " BURMA"),
    ]
    made = build(relations, facts, entities, options(train=0, choices=2))
    assert {one.fact_id: one.labels for one in made.choices} == {"P1|s1|o2": ("Laos",)}
    assert {one.fact_id for one in made.refused} == {"P1|s0|o0", "P1|s0|o1"}


@pytest.mark.parametrize(
    ("facts", "objects", "reason"),
    [
        (499, 100, "499 facts and 100 objects; needed are 500 and 100"),
        (500, 99, "500 facts and 99 objects; needed are 500 and 100"),
    ],
)
def test_a_relation_below_the_papers_counts_is_refused_with_its_counts(facts, objects, reason):
    made = build([relation("P1")], *plain(facts, objects), DatasetOptions())
    assert [(one.relation_id, one.fact_id, one.reason) for one in made.refused] == [("P1", None, reason)]
    assert made.facts == made.choices == made.relations == []


def test_a_relation_at_the_papers_counts_gives_100_train_and_400_test_facts_of_100_choices():
    made = build([relation("P1")], *plain(500, 100), DatasetOptions())
    assert (made.counts[0].train, made.counts[0].test, made.counts[0].surplus) == (100, 400, 0)
    assert {len(one.distractors) for one in made.choices} == {99}


def test_where_fewer_choices_are_wanted_a_relation_of_few_objects_offers_all_of_them():
    facts, entities = plain(12, 4)
    counts = {"min_facts": 10, "min_objects": 3, "train": 2, "test": 10, "choices": 20}
    refused = build([relation("P1")], facts, entities, DatasetOptions(**counts))
    assert len(refused.refused) == 12 and not refused.choices
    made = build([relation("P1")], facts, entities, DatasetOptions(**counts, fewer_choices=True))
    assert not made.refused
    assert {len({*one.labels}) for one in made.choices} == {3} and len(made.choices) == 10


def test_where_subjects_have_several_objects_as_many_are_offered_as_most_facts_have():
    """Of 30 subjects each has two of ten objects, one has six."""
    facts, entities = plain(30, 10)
    more = [
        replace(fact, fact_id=f"{fact.fact_id}+", object_id=f"o{(at + 1) % 10:03}") for at, fact in enumerate(facts)
    ]
    many = [replace(facts[0], fact_id=f"{facts[0].fact_id}{at}", object_id=f"o{at:03}") for at in range(2, 6)]
    counts = {"min_facts": 10, "min_objects": 3, "train": 2, "test": 40, "choices": 20, "fewer_choices": True}
    every = sorted([*facts, *more, *many], key=lambda fact: fact.fact_id)
    made = build([relation("P1")], every, entities, DatasetOptions(**counts))
    assert {len({*one.labels}) for one in made.choices} == {8}
    assert {one.fact_id for one in made.refused} == {
        one.fact_id for one in every if one.subject_id == facts[0].subject_id
    }


def test_at_least_two_choices_are_offered_whatever_most_facts_have():
    """Of ten subjects five have both objects."""
    facts, entities = plain(10, 2)
    both = [fact("P1", one.subject_id, f"o00{1 - int(one.object_id[1:])}") for one in facts[:5]]
    made = build([relation("P1")], facts + both, entities, options(train=0, test=9, choices=9, fewer_choices=True))
    assert {len(one.labels) for one in made.choices} == {1}
    assert {one.fact_id for one in made.refused} == {one.fact_id for one in facts[:5] + both}


def test_objects_that_differ_in_case_only_are_one_object():
    facts, entities = plain(500, 100)
    entities = [entity(one.entity_id, "O001" if one.entity_id == "o000" else one.entity_id) for one in entities]
    made = build([relation("P1")], facts, entities, DatasetOptions())
    assert made.refused[0].reason.startswith("500 facts and 99 objects")


def build_with_the_command(facts: Path, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "almanac", "build", "dataset", "--facts", facts, "--output", output],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow"), "PYTHONHASHSEED": str(random.randrange(1, 1000))},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture(scope="module")
def trex(tmp_path_factory):
    if not TREX.is_dir():
        pytest.skip(f"no T-REx folder at {TREX}; set ALMANAC_TREX")
    folder = tmp_path_factory.mktemp("trex") / "dataset"
    return folder, build_with_the_command(TREX, folder).stdout


def table(folder: Path, name: str) -> list[dict]:
    return pq.read_table(folder / f"{name}.parquet").to_pylist()


@pytest.mark.whole
def test_trex_builds_to_the_same_bytes_twice(trex, tmp_path):
    (one, printed), two = trex, tmp_path / "dataset"
    assert build_with_the_command(TREX, two).stdout == printed
    files = sorted(path.name for path in one.iterdir())
    assert "choices.parquet" in files
    assert files == sorted(path.name for path in two.iterdir())
    assert [name for name in files if (one / name).read_bytes() != (two / name).read_bytes()] == []


def test_21_relations_of_trex_meet_the_papers_counts(trex):
    folder, printed = trex
    assert "21 of 41 relations qualify. 33981 facts in" in printed
    counts = {row["relation_id"]: row for row in table(folder, "counts")}
    source = read_folder(TREX, "trex")
    facts = Counter(one.relation_id for one in source.facts)
    label = {one.entity_id: one.label.casefold() for one in source.entities}
    objects = defaultdict(set)
    for one in source.facts:
        objects[one.relation_id].add(label[one.object_id])
    qualify = {name for name in facts if facts[name] >= 500 and len(objects[name]) >= 100}
    assert {name for name, row in counts.items() if row["qualifies"]} == qualify
    assert {(row["train"], row["test"]) for row in counts.values() if row["qualifies"]} == {(100, 400)}
    assert sum(row["facts"] for row in counts.values()) == sum(facts.values()) == 33981
    refused = [row for row in table(folder, "refused") if row["fact_id"]]
    lacking = {row["relation_id"] for row in refused if "wrong choices" in row["reason"]}
    assert lacking == {"P530"}, "diplomatic relations: most subjects have too many true objects"
    asked: set[tuple[str, ...]] = set()
    again = []
    for one in sorted(source.facts, key=lambda row: row.fact_id):
        reading = (one.relation_id, fold(label[one.subject_id]), fold(label[str(one.object_id)]))
        if one.relation_id in qualify and reading in asked:
            again.append(one.fact_id)
        asked.add(reading)
    assert sorted(row["fact_id"] for row in refused if row["reason"].startswith("reads like")) == again
    assert len(again) == 10, "eight with another subject of the same label, two with another object"


def test_no_subject_of_trex_is_in_train_and_test_and_the_table_says_so(trex):
    folder, printed = trex
    label = {row["entity_id"]: fold(row["label"]) for row in table(folder, "entities")}
    sides = defaultdict(lambda: defaultdict(set))
    for row in table(folder, "facts"):
        sides[row["relation_id"]][row["split"]].add(label[row["subject_id"]])
    for relation_id, side in sides.items():
        assert not side["train"] & side["test"], relation_id
    last = {line.split()[0]: line.split()[-1] for line in printed.splitlines() if line.startswith("P")}
    assert last["P190"] == last["P530"] == "0"


def test_no_wrong_choice_of_trex_is_true(trex):
    folder, _ = trex
    names = {row["entity_id"]: [row["label"], *row["aliases"]] for row in table(folder, "entities")}
    folded = {key: {fold(name.casefold()) for name in own} for key, own in names.items()}
    true = defaultdict(set)
    for one in read_folder(TREX, "trex").facts:
        true[one.relation_id, fold(names[one.subject_id][0])] |= folded[one.object_id]
    facts = {row["fact_id"]: row for row in table(folder, "facts")}
    choices = table(folder, "choices")
    assert len(choices) == 8400
    for row in choices:
        own = facts[row["fact_id"]]
        truth = true[own["relation_id"], fold(names[own["subject_id"]][0])]
        assert len(row["distractors"]) == 99
        assert (
            len({fold(text.casefold()) for text in row["labels"]} | {fold(names[own["object_id"]][0].casefold())})
            == 100
        )
        for key, shown in zip(row["distractors"], row["labels"], strict=True):
            assert not folded[key] & truth, (row["fact_id"], key)
            assert shown == names[key][0]


def test_the_sums_printed_for_trex_add_up(trex):
    _, printed = trex
    words = [int(word) for word in printed.splitlines()[-1].replace(",", "").split() if word.isdigit()]
    facts, parts = words[2], words[3:]
    assert facts == sum(parts)
    names = [line.split()[0] for line in printed.splitlines() if line.startswith("P")]
    assert all(one < two for one, two in pairwise(names))


@st.composite
def namesakes(draw: st.DrawFn) -> tuple[list[Relation], list[Fact], list[Entity]]:
    """Return a world in which subjects share labels, some written in another case."""
    relations, facts, entities = draw(worlds())
    labels = {one: draw(st.sampled_from(["Ann", "ann", "Bea", "Cy"])) for one in SUBJECTS[:6]}
    sides = st.sampled_from(["train", "test", None]) if draw(st.booleans()) else st.none()
    return (
        relations,
        [replace(one, split=draw(sides)) for one in facts],
        [replace(one, label=labels.get(one.entity_id, one.label)) for one in entities],
    )


@MANY
@given(namesakes(), ASKED)
def test_subjects_that_read_alike_are_one_subject(world, asked):
    _, facts, entities = world
    made = build(*world, asked)
    names = {one.entity_id: {fold(name) for name in (one.label, *one.aliases)} for one in entities}
    reading = {one.entity_id: fold(one.label) for one in entities}
    true = defaultdict(set)
    for one in facts:
        true[one.relation_id, reading[one.subject_id]] |= names[one.object_id]
    test = {one.fact_id: one for one in made.facts if one.split == "test"}
    for choice in made.choices if asked.exclude_true else ():
        one = test[choice.fact_id]
        assert not any(names[key] & true[one.relation_id, reading[one.subject_id]] for key in choice.distractors)
    refused = {one.fact_id for one in made.refused}
    for count in made.counts:
        own = [one for one in facts if one.relation_id == count.relation_id]
        train, tested = (by_split(made, count.relation_id, side) for side in ("train", "test"))
        said = [(reading[one.subject_id], reading[one.object_id]) for one in train + tested]
        assert len(set(said)) == len(said)
        shared = {reading[one.subject_id] for one in train} & {reading[one.subject_id] for one in tested}
        assert count.shared_subjects == len(shared)
        if any(one.split for one in own if one.fact_id not in refused):
            pairs = [(one, other) for one in train for other in tested]
            assert not any(
                reading[one.subject_id] == reading[other.subject_id] and one.subject_id != other.subject_id
                for one, other in pairs
            ), "no prescribed train fact is of a test subject's namesake"
            continue
        known = {reading[one.subject_id] for one in train}
        others = [one for one in own if one.fact_id not in refused and reading[one.subject_id] not in known]
        assert len(shared) <= (len(others) < asked.test)


def test_what_a_namesake_leaves_out_is_listed():
    facts = [
        *(fact("P1", one, obj) for one, obj in [("s0", "o0"), ("s1", "o0"), ("s1", "o1")]),
        *(fact("P2", one, obj, side) for one, obj, side in [("s0", "o0", "test"), ("s1", "o1", "train")]),
        fact("P2", "s1", "o0", "test"),  # of the subject itself, as the source has it
        *(fact("P3", one, "o0", side) for one, side in [("s0", "test"), ("s1", "train")]),
        *(fact("P4", "s0", obj) for obj in ("o0", "o3")),
    ]
    entities = [entity("s0", "Springfield"), entity("s1", "springfield "), entity("o0"), entity("o1"), entity("o2")]
    sides = {"P1": None, "P2": "test", "P3": "test", "P4": None}
    facts += [fact(name, f"x{at}", "o2", side) for name, side in sides.items() for at in range(3)]
    entities += [entity("o3", "o0"), *(entity(f"x{at}") for at in range(3))]
    made = build([*map(relation, sides)], facts, entities, options(choices=2, train=1, test=9))
    assert {row.fact_id: row.reason for row in made.refused} == {
        "P1|s1|o0": "reads like P1|s0|o0, whose subject has the same label",
        "P2|s0|o0": "its subject reads like s1, of which the source has a train fact",
        "P3|s0|o0": "its subject reads like s1, of which the source has a train fact",
        "P4|s0|o3": "reads like P4|s0|o0, whose object has the same label",
    }
    assert [one.fact_id for one in by_split(made, "P3", "train")] == ["P3|s1|o0"]


def test_a_fact_that_is_neither_asked_nor_shown_leaves_out_no_fact_of_a_prescribed_split():
    facts = [fact("P1", "s0", "o0"), fact("P1", "s1", "o0", "test"), fact("P1", "s2", "o1", "train")]
    labels = {"s0": "Ann", "s1": "ann"}
    entities = [entity(one, labels.get(one, one)) for one in ("s0", "s1", "s2", "o0", "o1")]
    made = build([relation("P1")], facts, entities, options(choices=2))
    assert [one.fact_id for one in by_split(made, "P1", "test")] == ["P1|s1|o0"]
    assert [(row.fact_id, row.reason) for row in made.refused] == [
        ("P1|s0|o0", "reads like P1|s1|o0, whose subject has the same label")
    ]


def test_where_all_facts_of_a_prescribed_split_are_left_out_the_others_are_split_by_a_draw():
    facts = [fact("P1", "s0", "o0"), fact("P1", "s1", "o0", "test"), fact("P1", "s2", "o1"), fact("P1", "s3", "o2")]
    entities = [entity("s1", "Ann of o0"), *map(entity, ("s0", "s2", "s3", "o0", "o1", "o2"))]
    made = build([relation("P1")], facts, entities, options(choices=2, train=1, test=2, guessable=False))
    assert [row.fact_id for row in made.refused] == ["P1|s1|o0"]
    assert [len(by_split(made, "P1", side)) for side in ("train", "test")] == [1, 2]


def literals(kind: str | None, *values: str) -> tuple[list[Fact], list[Entity]]:
    facts = [
        Fact(f"P1|s{at}|{one}", "P1", f"s{at}", None, one, kind, None, (), None, "t") for at, one in enumerate(values)
    ]
    return facts, [entity(f"s{at}") for at in range(len(values))]


def offered_to(made: Dataset, value: str) -> set[str]:
    return {label for row in made.choices if row.fact_id.endswith(f"|{value}") for label in row.labels}


def test_one_number_in_two_spellings_is_no_wrong_choice_of_itself():
    facts, entities = literals("string", "1000", "1000.0", "0.5", "7")
    made = build([relation("P1")], facts, entities, options(train=0, test=4, choices=3))
    assert offered_to(made, "1000") == offered_to(made, "1000.0") == {"0.5", "7"}
    assert made.counts[0].objects == 3


@pytest.mark.parametrize("things", [False, True])
def test_a_date_that_holds_another_is_no_wrong_choice_of_it(things):
    dates = ("1990", "1990-05", "1990-05-22", "1990-06-01", "1991-05-22")
    facts, entities = literals("date", *dates)
    if things:  # entities that are called as texts call them
        facts = [replace(one, object_id=one.value, value=None, datatype=None) for one in facts]
        entities += [Entity(one, one, (f"the date {one}",), "date") for one in dates]
    made = build([relation("P1")], facts, entities, options(train=0, test=9, choices=2))
    assert {row.fact_id for row in made.refused} == set()
    possible = {value: set() for value in ("1990", "1990-05", "1990-05-22", "1990-06-01")}
    for seed in range(40):
        made = build([relation("P1")], facts, entities, options(train=0, test=9, choices=2, seed=seed))
        for value, seen in possible.items():
            seen.update(offered_to(made, value))
    assert possible == {
        "1990": {"1991-05-22"},
        "1990-05": {"1990-06-01", "1991-05-22"},
        "1990-05-22": {"1990-06-01", "1991-05-22"},
        "1990-06-01": {"1990-05", "1990-05-22", "1991-05-22"},
    }


def test_numbers_and_dates_that_are_known_by_their_names_alone_are_compared_by_value():
    """One file of facts makes a thing of each object, whose name is its id."""
    names = ("1990-05-22", "1990", "1991", "1000.0", "1000", "1,000", "1990-Ave")
    facts = [fact("born", f"s{at}", name) for at, name in enumerate(names)]
    entities = [*map(entity, names), *(entity(f"s{at}") for at in range(len(names)))]
    made = build([relation("born")], facts, entities, options(train=0, test=9, choices=3))
    assert made.counts[0].objects == 5
    seen = {name: set() for name in names}
    for seed in range(40):
        made = build([relation("born")], facts, entities, options(train=0, test=9, choices=3, seed=seed))
        for name in names:
            seen[name] |= offered_to(made, name)
    assert seen["1990-05-22"] == {"1991", "1,000", "1990-Ave"}
    assert seen["1990"] == {"1991", "1,000", "1990-Ave"}
    assert seen["1000"] == seen["1000.0"] == seen["1,000"] == {"1990-05-22", "1990", "1991", "1990-Ave"}


def test_facts_whose_objects_all_stand_in_the_subjects_name_are_counted_and_can_be_left_out():
    """LAMA-UHN's first rule: the Apple Watch names its maker; of two makers one in the name does not do."""
    names = [entity("o1", "Apple"), entity("o2", "Nokia"), entity("o3", "Sony")]
    subjects = [entity("s1", "The APPLE Watch"), entity("s2", "Nokia Sony phone"), entity("s3", "Sony and others")]
    pairs = [("s1", "o1"), ("s2", "o2"), ("s2", "o3"), ("s3", "o3"), ("s3", "o1")]
    facts = [fact("P1", *pair) for pair in pairs]
    wanted = options(train=0, test=9, choices=2)
    made = build([relation("P1")], facts, names + subjects, wanted)
    assert (made.counts[0].test, made.counts[0].guessable) == (5, 3)
    left = build([relation("P1")], facts, names + subjects, wanted.model_copy(update={"guessable": False}))
    assert {one.fact_id: one.reason for one in left.refused if "name" in one.reason} == dict.fromkeys(
        ["P1|s1|o1", "P1|s2|o2", "P1|s2|o3"], "its objects stand in its subject's name"
    )
    assert (left.counts[0].test, left.counts[0].guessable) == (2, 0)
