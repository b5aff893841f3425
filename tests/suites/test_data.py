"""A dataset as suites read it: the same from a folder and as given."""

import pytest
from tests.suites.toy_world import DATA

from almanac import tables
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
    assert getattr(read, name) == getattr(DATA, name) == read.rows(name, row)
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
