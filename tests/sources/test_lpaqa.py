"""LPAQA's repository: facts packed in a tar, prompts as JSON lines and as plain lines, equal ones, broken ones."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Template
from almanac.sources import lpaqa, source_tables
from almanac.sources.options import LpaqaOptions
from almanac.tables import read


def line(subject: str, label: str, obj: str, found: str) -> dict:
    return {"sub_uri": subject, "sub_label": label, "obj_uri": obj, "obj_label": found}


FACTS = {
    "P36": [line("Q1", "France", "Q10", "Paris"), line("Q2", "Peru", "Q11", "Lima"), line("Q3", "", "Q11", "Lima")],
    "P19": [line("Q4", "Ada", "Q12", "London")],
}
PROMPTS = {
    "mine/P36.jsonl": '{"template": "[Y] , capital of [X] .", "weight": 0.5}\n{"template": "[X] city"}\n'
    '{"template": "[Y] , Capital of [X] ."}\n',
    "paraphrase/P36.jsonl": '{"template": "the capital of [X] is [Y] .", "weight": 0.1}\n',
    "manual_paraphrase/P36.txt": "the Capital of [X] is  [Y] .\n[X] is ruled from [Y] .\n",
    "manual_paraphrase/P9.txt": "[X] is [Y] .\n",
}


def write(folder: Path, facts=FACTS, prompts=PROMPTS) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for relation, rows in facts.items():
            data = "".join(json.dumps(row) + "\n" for row in rows).encode()
            one = tarfile.TarInfo(f"TREx_train/{relation}.jsonl")
            one.size = len(data)
            archive.addfile(one, io.BytesIO(data))
    with zipfile.ZipFile(folder / "LPAQA.zip", "w") as archive:
        archive.writestr("LPAQA-master/README.md", "LPAQA")
        archive.writestr("LPAQA-master/TREx_train.tar.gz", packed.getvalue())
        for name, text in prompts.items():
            archive.writestr(f"LPAQA-master/prompt/{name}", text)


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", lpaqa.read(LpaqaOptions(**options), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_are_those_of_the_archive(tmp_path):
    write(tmp_path)
    found = tables(tmp_path, tmp_path)
    assert [row.fact_id for row in found["facts"]] == ["P19|Q4|Q12", "P36|Q1|Q10", "P36|Q2|Q11"]
    assert Entity("Q10", "Paris", (), None) in found["entities"]
    assert {row.template_id: (row.text, row.origin) for row in found["templates"]} == {
        "P36/mine/0": ("[Y] , capital of [X] .", "mined"),
        "P36/paraphrase/0": ("the capital of [X] is [Y] .", "paraphrased"),
        "P36/manual_paraphrase/1": ("[X] is ruled from [Y] .", "paraphrased"),
    }
    assert {(row.table, row.reason, row.count) for row in found["omissions"]} == {
        ("facts", "subject has no label", 1),
        ("templates", "a slot is missing or stands twice", 1),
        ("templates", "another says the same", 2),
        ("templates", "relation has no facts", 1),
    }


def test_the_sets_that_are_wanted_are_read_alone(tmp_path):
    write(tmp_path)
    assert tables(tmp_path, tmp_path, prompts=("mine",))["templates"] == [
        Template("P36/mine/0", "P36", "[Y] , capital of [X] .", "statement", "mined", None, ())
    ]


def test_another_archive_and_one_without_a_set_are_refused(tmp_path):
    write(tmp_path)
    with zipfile.ZipFile(tmp_path / "LPAQA.zip") as archive:
        kept = {name: archive.read(name) for name in archive.namelist() if "mine/" not in name}
    with zipfile.ZipFile(tmp_path / "LPAQA.zip", "w") as archive:
        for name, data in kept.items():
            archive.writestr(name, data)
    with pytest.raises(AlmanacError, match=r"holds no prompt/mine/P….jsonl or .txt; correct `prompts`"):
        lpaqa.read(LpaqaOptions(), tmp_path)
    with zipfile.ZipFile(tmp_path / "LPAQA.zip", "w") as archive:
        archive.writestr("README.md", "x")
    with pytest.raises(AlmanacError, match=r"LPAQA\.zip: holds no TREx_train.tar.gz; is it LPAQA's repository\?"):
        lpaqa.read(LpaqaOptions(), tmp_path)
