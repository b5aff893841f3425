"""A table as MyriadLAMA's: a row a pair and template, lists of objects with their names; or its fault named."""

from pathlib import Path

import polars as pl
import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity
from almanac.sources import myriadlama, source_tables
from almanac.sources.files import read_folder
from almanac.sources.options import MyriadlamaOptions
from almanac.suites.belief.templates import of_rows

BORN = ("[X] was born in [Y] .", "[Y] saw the birth of [X] .", "Where was [X] born? [Y] .")


def row(subject, template, objects, manual=False, relation="P19", **more):
    """A row; ``objects`` are (id, name, other names)."""
    return {
        "uuid": f"{subject}-{template}",
        "rel_uri": relation,
        "sub_ent": subject,
        "obj_uris": [one[0] for one in objects],
        "obj_ents": [one[1] for one in objects],
        "obj_aliases": [list(one[2]) for one in objects],
        "template": template,
        "is_manual": manual,
        **more,
    }


OSLO, LIMA = ("Q585", "Oslo", ("Christiania",)), ("Q2868", "Lima", ())
ROWS = [
    *(row("Ada", text, [OSLO, LIMA], manual=at == 1) for at, text in enumerate(BORN)),
    *(row("Bob", text, [LIMA], manual=at == 1) for at, text in enumerate(BORN)),
    row("Bob", "[X] was born .", [LIMA]),
    row("Bob", BORN[0].upper(), [LIMA]),
    row(" ", BORN[0], [LIMA]),
    row("Ada", "[X] lives in [Y] .", [OSLO], relation="http://www.wikidata.org/entity/P551"),
]


def write(folder: Path, rows=ROWS, **change) -> None:
    pl.DataFrame(rows, schema_overrides={"obj_aliases": myriadlama.LISTS}).with_columns(**change).write_parquet(
        folder / "train.parquet"
    )


def test_the_tables_are_those_of_the_pairs_and_templates(tmp_path):
    write(tmp_path)
    found = myriadlama.read(MyriadlamaOptions(), tmp_path)
    source_tables.write(tmp_path / "out", found)
    assert sorted(fact.fact_id for fact in found.facts) == [
        "P19|subject:Ada|Q2868",
        "P19|subject:Ada|Q585",
        "P19|subject:Bob|Q2868",
        "P551|subject:Ada|Q585",
    ]
    assert {entity.entity_id: entity for entity in found.entities}["Q585"] == Entity(
        "Q585", "Oslo", ("Christiania",), None
    )
    assert [(one.relation_id, one.text, one.origin) for one in found.templates] == [
        ("P19", BORN[1], "written"),
        ("P19", BORN[0], "paraphrased"),
        ("P19", BORN[2], "paraphrased"),
        ("P551", "[X] lives in [Y] .", "paraphrased"),
    ]
    assert {(one.table, one.reason, one.count) for one in found.omissions.rows()} == {
        ("facts", "subject has no id or no label", 1),
        ("templates", "a slot is missing or stands twice", 1),
        ("templates", "another says the same", 1),
    }
    assert [one.written for one in of_rows(found.templates)["P19"]] == [True] * 3, "groups are not in the table"


def test_a_table_that_names_its_subjects_has_their_ids_and_other_names(tmp_path):
    write(tmp_path, [row("Ada", BORN[0], [OSLO], sub_uri="Q7259", sub_aliases=["Ada Lovelace"])])
    found = myriadlama.read(MyriadlamaOptions(), tmp_path)
    assert [fact.fact_id for fact in found.facts] == ["P19|Q7259|Q585"]
    assert found.entities[0] == Entity("Q7259", "Ada", ("Ada Lovelace",), None)


def test_a_subject_whose_name_holds_a_bar_has_an_id_that_a_dataset_can_be_built_of(tmp_path):
    write(tmp_path, [row("A|B", BORN[0], [OSLO])])
    source_tables.write(tmp_path / "out", myriadlama.read(MyriadlamaOptions(), tmp_path))
    found = read_folder(tmp_path / "out", "myriadlama")
    assert [fact.fact_id for fact in found.facts] == ["P19|subject:A%7CB|Q585"]
    assert Entity("subject:A%7CB", "A|B", (), None) in found.entities


@pytest.mark.parametrize("column", myriadlama.NEEDED)
def test_a_missing_column_is_named(tmp_path, column):
    pl.DataFrame(ROWS, schema_overrides={"obj_aliases": myriadlama.LISTS}).drop(column).write_parquet(
        tmp_path / "train.parquet"
    )
    with pytest.raises(AlmanacError, match=rf"train\.parquet: lacks the column {column}; it has uuid, "):
        myriadlama.read(MyriadlamaOptions(), tmp_path)


@pytest.mark.parametrize("column", myriadlama.NEEDED)
def test_a_column_of_another_kind_is_named(tmp_path, column):
    write(tmp_path, **{column: pl.lit(1)})
    with pytest.raises(AlmanacError, match=rf"the column '{column}' is Int32; it must be "):
        myriadlama.read(MyriadlamaOptions(), tmp_path)


def test_a_row_with_fewer_names_than_objects_is_named(tmp_path):
    write(tmp_path, [ROWS[0], {**ROWS[3], "obj_ents": []}])
    with pytest.raises(AlmanacError, match="row 2 has 1 obj_uris, 0 obj_ents, 1 obj_aliases; each object needs"):
        myriadlama.read(MyriadlamaOptions(), tmp_path)
