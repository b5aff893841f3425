"""BEAR's repository: several labels of an entity, empty ones, bars in aliases, relations without facts."""

import json
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Relation
from almanac.sources import bear, source_tables
from almanac.sources.options import BearOptions
from almanac.tables import read


def line(subject: str, label: str, obj: str, found: str, *aliases: str) -> dict:
    return {"sub_id": subject, "sub_label": label, "sub_aliases": aliases, "obj_id": obj, "obj_label": found}


LINES = {
    "BEAR/P36.jsonl": [
        line("Q1", "France", "Q10", "Paris", "La | France"),
        line("Q2", "Peru", "Q11", "Lima"),
        line("Q3", "", "Q11", "Lima"),
    ],
    "BEAR/P30.jsonl": [line("Q1", "French Republic", "Q20", "Europe"), line("Q2", "Peru", "Q21", "")],
    "BEAR-big/P36.jsonl": [line("Q5", "Chad", "Q50", "N'Djamena")],
}
SAID = {
    "P36": {"templates": ["[Y] is the capital of [X].", "[X]'s capital is [Y].", "[X]'s Capital is [Y]."]},
    "P9": {"templates": ["[X] is [Y]."]},
}


def write(folder: Path) -> None:
    with zipfile.ZipFile(folder / "BEAR.zip", "w") as archive:
        for name, rows in LINES.items():
            archive.writestr(f"BEAR-main/{name}", "".join(json.dumps(row) + "\n" for row in rows))
        for part in ("BEAR", "BEAR-big"):
            archive.writestr(f"BEAR-main/{part}/metadata_relations.json", json.dumps(SAID))
        archive.writestr("BEAR-main/README.md", "BEAR")


def test_the_tables_are_those_of_the_archive(tmp_path):
    write(tmp_path)
    found = bear.read(BearOptions(), tmp_path)
    source_tables.write(tmp_path / "out", found)
    assert [row.fact_id for row in sorted(found.facts, key=lambda row: row.fact_id)] == [
        "P30|Q1|Q20",
        "P36|Q1|Q10",
        "P36|Q2|Q11",
    ]
    names = {row.entity_id: row for row in read(tmp_path / "out" / "entities.parquet", Entity)}
    assert names["Q1"] == Entity("Q1", "French Republic", ("France", "La | France"), None)
    assert read(tmp_path / "out" / "relations.parquet", Relation) == [
        Relation(number, label, number, None, None, None)
        for number, label in (("P30", "continent"), ("P36", "capital"))
    ]
    assert [row.text for row in found.templates] == SAID["P36"]["templates"][:2]
    assert {(row.table, row.reason, row.count, row.example) for row in found.omissions.rows()} == {
        ("facts", "object has no label", 1, "Q21"),
        ("facts", "subject has no label", 1, "Q3"),
        ("templates", "another says the same", 1, "P36/source/2"),
        ("templates", "relation has no facts", 1, "P9/source/0"),
    }


def test_the_large_one_is_another_part(tmp_path):
    write(tmp_path)
    assert [row.fact_id for row in bear.read(BearOptions(part="big"), tmp_path).facts] == ["P36|Q5|Q50"]


def test_another_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "BEAR.zip", "w") as archive:
        archive.writestr("README.md", "x")
    with pytest.raises(AlmanacError, match=r"BEAR\.zip: holds no BEAR/P….jsonl; is it BEAR's repository\?"):
        bear.read(BearOptions(), tmp_path)
