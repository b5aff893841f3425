"""A dataset as suites read it: the same from a folder and as given."""

import tracemalloc
from dataclasses import replace

import pytest
from tests.suites.toy_world import DATA

from almanac import tables
from almanac.dataset.names import true_objects
from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Evidence, Exposure, Fact, Popularity, Relation, Template
from almanac.suites.data import Data

TABLES = {
    "entities": Entity,
    "relations": Relation,
    "facts": Fact,
    "choices": Choices,
    "templates": Template,
    "popularity": Popularity,
    "evidence": Evidence,
    "exposures": Exposure,
}


@pytest.fixture
def folder(tmp_path):
    """The same dataset as files."""
    for name, row in TABLES.items():
        tables.write(tmp_path / f"{name}.parquet", row, DATA.rows(name, row))
    return tmp_path


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_same_as_rows_and_as_columns_from_a_folder_and_as_given(folder, name):
    row, read = TABLES[name], Data(folder)
    assert read.rows(name, row) == DATA.rows(name, row) == getattr(read, name, DATA.rows(name, row))
    rows = tables.arrow_of(row, DATA.rows(name, row)).to_pylist()
    assert read.frame(name, row).to_dicts() == DATA.frame(name, row).to_dicts() == rows
    some = read.frame(name, row).columns[2:0:-1]
    assert read.frame(name, row, some).columns == DATA.frame(name, row, some).columns == some


def test_only_what_is_asked_for_is_read(tmp_path):
    tables.write(tmp_path / "facts.parquet", Fact, DATA.facts)
    assert list(Data(tmp_path).by_relation) == ["r1", "r2"]
    with pytest.raises(AlmanacError, match=r"choices\.parquet: there is no such file"):
        _ = Data(tmp_path).choices


def test_what_is_not_given_is_empty():
    assert Data.of(facts=DATA.facts).templates == []
    assert Data.of().frame("popularity", Popularity).columns == ["entity_id", "source", "type", "score", "bucket"]
    assert Data.of().by_relation == {}


def test_names_are_those_of_the_entities():
    assert DATA.names.label("r1s0") == "r1s0"
    assert DATA.names.label("1867") == "1867", "a literal is its own name"


def with_more(few: int) -> Data:
    """The same, of which some facts are shown, and others are beyond what is shown or asked."""
    facts = [replace(fact, split=("test", "train")[at % 2]) for at, fact in enumerate(DATA.facts)]
    asked = facts[0]
    beyond = [
        replace(asked, fact_id=f"r1|more{at}", subject_id=f"more{at}", object_id=f"thing {at}", split=None)
        for at in range(few)
    ]
    # True of the asked subject as well, and of one that reads alike.
    beyond += [replace(row, subject_id=own) for row, own in zip(beyond, (asked.subject_id, "alike"), strict=False)]
    named = {row.subject_id: Entity(row.subject_id, row.subject_id, (), None) for row in beyond}
    named |= {row.object_id: Entity(row.object_id, row.object_id, ("a thing",), None) for row in beyond}
    named |= {row.entity_id: row for row in DATA.entities} | {"alike": Entity("alike", "R1S0", (), None)}
    beyond = [replace(row, fact_id=f"{row.relation_id}|{row.subject_id}|{row.object_id}") for row in beyond]
    given = {name: DATA.rows(name, row) for name, row in TABLES.items()}
    return Data.of(**given | {"facts": facts + beyond, "entities": list(named.values())})


@pytest.mark.parametrize("lies", ["in a folder", "given"])
def test_what_is_true_of_a_subject_is_so_however_many_facts_are_asked(tmp_path, lies):
    more = with_more(20)
    for name, row in TABLES.items():
        tables.write(tmp_path / f"{name}.parquet", row, more.rows(name, row))
    read = more if lies == "given" else Data(tmp_path)
    asked = [fact for own in read.split_facts.values() for fact in own]
    assert asked == [fact for fact in more.facts if fact.split is not None]
    every = true_objects(more.facts, more.names)
    assert read.true_objects == {
        (fact.relation_id, fact.subject_id): every[fact.relation_id, fact.subject_id] for fact in asked
    }
    assert {"thing 0", "thing 1"} < set(read.true_objects["r1", "r1s0"]), (
        "its own beyond what is asked, and its namesake's"
    )
    assert read.choices_of(asked[3:5]) == {row.fact_id: row for row in more.choices[3:5]}
    last = {(fact.relation_id, fact.object_key): fact for fact in more.facts}
    assert sorted(read.object_facts, key=more.facts.index) == sorted(last.values(), key=more.facts.index)


def test_facts_beyond_what_is_asked_become_no_rows(tmp_path):
    """As rows 20,000 facts take some 10 MB; asking must not hold them."""
    more = with_more(20_000)
    for name in ("facts", "choices", "exposures"):
        tables.write(tmp_path / f"{name}.parquet", TABLES[name], more.rows(name, TABLES[name]))
    read = Data(tmp_path)
    tracemalloc.start()
    asked = read.tested(2, 0)
    read.choices_of(asked["r1"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [len(own) for own in asked.values()] == [2, 2]
    assert peak < 4_000_000


def test_what_is_offered_is_found_without_the_facts_beyond_what_is_asked(folder, monkeypatch):
    monkeypatch.setattr(Data, "facts", property(lambda data: pytest.fail("every fact became a row")))
    found = dict(Data(folder).offered.cast({"fact": str}).iter_rows())
    assert found["r1|0"] == ["Lima", "Rome", "Bern", "Oslo"] and len(found) == 16


@pytest.mark.parametrize(
    ("subject", "truth", "others", "given"),
    [
        ("Bulgaria", "Bulgarian lev", ["Danish krone", "euro"], True),
        ("Norway", "Norwegian krone", ["Danish krone", "euro"], True),
        ("Spain", "euro", ["Bulgarian lev", "Danish krone"], False),  # no name is like it
        ("aluminium", "Al", ["Au", "Ca"], True),
        ("gold", "Au", ["Al", "Go"], False),
        ("Alexander III of Russia", "Alexander II of Russia", ["Alexander III", "Nero"], True),  # another is as like
    ],
)
def test_names_give_a_fact_away_whose_object_is_most_like_its_subject_of_those_offered(subject, truth, others, given):
    entities = [Entity(key, label, (), None) for key, label in (("s", subject), ("o", truth))]
    facts = [Fact("r|s|o", "r", "s", "o", None, None, None, (), "test", "x")]
    choices = [Choices("r|s|o", tuple("abcdef"[: len(others)]), tuple(others))]
    found = Data.of(entities=entities, facts=facts, choices=choices).given_by_names
    assert found == ({"r|s|o"} if given else set())
