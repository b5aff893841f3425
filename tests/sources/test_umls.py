"""UMLS: made-up files of the release's columns become facts and concepts with their names."""

from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity
from almanac.sources import source_tables, umls
from almanac.sources.options import UmlsOptions
from almanac.tables import read


def cells(width: int, **values: str) -> str:
    out = [""] * width
    for place, value in values.items():
        out[int(place[1:])] = value
    return "|".join(out) + "|"


def name(concept, label, language="ENG", status="S", form="VO", preferred="N", suppressed="N") -> str:
    return cells(18, _0=concept, _1=language, _2=status, _4=form, _6=preferred, _14=label, _16=suppressed)


def related(first, second, relation, suppressed="N") -> str:
    return cells(16, _0=first, _3="RO", _4=second, _7=relation, _14=suppressed)


SMALL = {
    umls.NAMES: [
        name("C1", "ASA"),
        name("C1", "Aspirin", status="P", form="PF", preferred="Y"),
        name("C1", "Aspirin", status="P", form="PF"),
        name("C1", "Aspirina", language="SPA", status="P", form="PF", preferred="Y"),
        name("C1", "Old aspirin", suppressed="O"),
        name("C2", '"Quoted" pain'),
        name("C3", "NA", status="P"),
        name("C4", "Schmerz", language="GER"),
        name("C2", " \u200b", status="P"),  # nothing that is seen
        name("C9", "Unused"),
    ],
    umls.RELATED: [
        related("C1", "C2", "may_treat"),
        related("C1", "C2", "may_treat"),
        related("C1", "C3", "may_treat"),
        related("C1", "C4", "may_treat"),
        related("C1", "C1", "may_treat"),
        related("C2", "C3", "may_treat", suppressed="O"),
        related("C3", "C2", "may_treat", suppressed="Y"),
        related("C1", "C9", "isa"),
    ],
    umls.TYPES: [cells(6, _0="C1", _1="T121", _3="Pharmacologic Substance"), cells(6, _0="C2", _3="Sign or Symptom")],
}


def write(folder: Path, files=SMALL) -> Path:
    folder.mkdir(exist_ok=True)
    for file, lines in files.items():
        (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", umls.read(UmlsOptions(relations=["may_treat"], **options), folder))
    return {table: read(tmp_path / "out" / f"{table}.parquet", row) for table, row in source_tables.ROWS.items()}


def test_the_tables_of_a_small_release(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path)
    assert [row.fact_id for row in found["facts"]] == ["umls.may_treat|C1|C2", "umls.may_treat|C1|C3"]
    assert found["entities"] == [
        Entity("C1", "Aspirin", ("ASA",), "Pharmacologic Substance"),
        Entity("C2", '"Quoted" pain', (), "Sign or Symptom"),
        Entity("C3", "NA", (), None),
    ]
    assert [(row.table, row.count, row.example) for row in found["omissions"]] == [
        ("facts", 1, "C1 may_treat C1"),
        ("facts", 1, "C1 may_treat C2"),
        ("facts", 1, "umls.may_treat|C1|C4"),
        ("facts", 2, "C2 may_treat C3"),
    ]


def test_the_other_direction(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path, subject="second")
    assert [row.fact_id for row in found["facts"]] == ["umls.may_treat|C2|C1", "umls.may_treat|C3|C1"]


def test_a_line_of_other_columns_is_named(tmp_path):
    folder = write(tmp_path / "raw", SMALL | {umls.TYPES: [SMALL[umls.TYPES][0], "C1|T1|x|"]})
    with pytest.raises(AlmanacError, match=r"MRSTY\.RRF: line 2 has 4 cells; 7 are expected"):
        tables(folder, tmp_path)
