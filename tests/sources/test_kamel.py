"""KAMEL's repository: subjects without ids, several objects a row, literals, other names, questions without facts."""

import json
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Template
from almanac.sources import kamel, source_tables
from almanac.sources.options import KamelOptions
from almanac.tables import read


def named(chosen: str, *others: str, rdf: str | None = None) -> dict:
    return {"chosen": chosen, "rdf": rdf, "alternative": others}


FILES = {
    "P36/train": [
        {"index": [1], "sub_label": "Peru", "obj_label": ["Lima"]},
        {"index": [2, 3], "sub_label": "Bolivia", "obj_label": ["Sucre", "La Paz"]},
        {"index": [2], "sub_label": "Bolivia", "obj_label": ["Sucre"]},
        {"index": [4], "sub_label": " ", "obj_label": ["Nowhere"]},
    ],
    "P36/dev": [{"index": [5], "sub_label": "France", "obj_label": ["Paris"]}],
    "P36/test": [
        {
            "index": [6, 7],
            "sub_label": "Shu",
            "obj_uri": ["Q30002", "Q2868"],
            "obj_label": [named("Chengdu", "Chengtu", rdf="Chengdu"), named("Lima", "Ciudad de los Reyes", rdf="Lima")],
        }
    ],
    "P569/train": [{"index": [8], "sub_label": "Ada", "obj_label": ["1815"]}],
    "P569/test": [
        {
            "index": [9],
            "sub_label": "Dieudonné",
            "obj_uri": ["XMLSchema#dateTime"],
            "obj_label": [named("1976", "6 June 1976", "1976")],
        },
        {"index": [1], "sub_label": "Eve", "obj_uri": ["XMLSchema#dateTime"], "obj_label": [named("long ago")]},
    ],
    "P1082/test": [
        {"index": [3], "sub_label": "Casau", "obj_uri": ["XMLSchema#decimal"], "obj_label": [named("68", "68")]}
    ],
}
QUESTIONS = (
    "P36, What is the capital of [S]?\nP569, What is the year of birth of [S]?\nP9, What is [S]?\nP30, no slot\n"
)


def write(folder: Path, files=FILES) -> None:
    with zipfile.ZipFile(folder / "KAMEL.zip", "w") as archive:
        for name, rows in files.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            archive.writestr(f"KAMEL-master/data/KAMEL/{name}.jsonl", text)
        archive.writestr("KAMEL-master/question-templates.csv", QUESTIONS)


def tables(folder: Path, tmp_path: Path):
    source_tables.write(tmp_path / "out", kamel.read(KamelOptions(), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_are_those_of_the_archive(tmp_path):
    write(tmp_path)
    found = tables(tmp_path, tmp_path)
    assert {row.fact_id: (row.object_key, row.datatype, row.split) for row in found["facts"]} == {
        "P1082|subject:Casau|68": ("68", "quantity", "test"),
        "P36|subject:Bolivia|object:La Paz": ("object:La Paz", None, "train"),
        "P36|subject:Bolivia|object:Sucre": ("object:Sucre", None, "train"),
        "P36|subject:France|object:Paris": ("object:Paris", None, None),
        "P36|subject:Peru|Q2868": ("Q2868", None, "train"),
        "P36|subject:Shu|Q2868": ("Q2868", None, "test"),
        "P36|subject:Shu|Q30002": ("Q30002", None, "test"),
        "P569|subject:Ada|1815": ("1815", "date", "train"),
        "P569|subject:Dieudonné|1976": ("1976", "date", "test"),
    }
    names = {row.entity_id: row for row in found["entities"]}
    assert names["Q30002"] == Entity("Q30002", "Chengdu", ("Chengtu",), None)
    assert names["Q2868"].aliases == ("Ciudad de los Reyes",), "in the train file it has its name alone"
    assert found["templates"] == [
        Template("P36/source/0", "P36", "What is the capital of [X]?", "question", "written", None, ()),
        Template("P569/source/0", "P569", "What is the year of birth of [X]?", "question", "written", None, ()),
    ]
    assert {(row.table, row.reason, row.count) for row in found["omissions"]} == {
        ("facts", "subject has no label", 1),
        ("facts", "date cannot be read", 1),
        ("templates", "names no relation, or not one [S]", 1),
        ("templates", "relation has no facts", 1),
    }


def test_names_that_look_alike_are_one_thing(tmp_path):
    cities = ("City\u200b", "City", "Citta\u0300", "Citt\u00e0")
    subjects = {"test": "Person 5", "train": "Person 5\u200e", "dev": "\u200b Person 5"}
    rows = {
        f"P36/{part}": [{"sub_label": name, "obj_label": [city]} for city in cities] for part, name in subjects.items()
    }
    rows["P36/test"] = [{"sub_label": "Person 5", "obj_label": [named("City")], "obj_uri": ["Q1"]}]
    rows["P36/dev"].append({"sub_label": "\u00ad", "obj_label": ["\u00ad"]})
    write(tmp_path, rows)
    found = tables(tmp_path, tmp_path)
    own = "P36|subject:Person 5"
    assert {row.fact_id for row in found["facts"]} == {f"{own}|Q1", f"{own}|object:Citt\u00e0"}
    assert {row.entity_id for row in found["entities"]} == {"subject:Person 5", "Q1", "object:Citt\u00e0"}


def test_ids_that_are_not_as_many_as_objects_and_another_archive_are_refused(tmp_path):
    write(tmp_path, {"P36/test": [{"sub_label": "Shu", "obj_uri": ["Q1", "Q2"], "obj_label": [named("Chengdu")]}]})
    with pytest.raises(AlmanacError, match=r"P36/test.jsonl: line 1 has 1 objects and 2 of their ids"):
        kamel.read(KamelOptions(), tmp_path)
    with zipfile.ZipFile(tmp_path / "KAMEL.zip", "w") as archive:
        archive.writestr("README.md", "x")
    with pytest.raises(AlmanacError, match=r"holds no data/KAMEL/P…/test.jsonl; is it KAMEL's repository\?"):
        kamel.read(KamelOptions(), tmp_path)
