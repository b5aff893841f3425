"""KaRR's released data: names by id, templates by relation, facts of which the code leaves some out."""

import json
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity
from almanac.sources import kassess, source_tables
from almanac.sources.options import KassessOptions
from almanac.tables import read


def line(relation: str, subject: str, found: str) -> dict:
    """A fact as the release has it, with fields that nothing reads."""
    return {
        "fact_id": "17",
        "relation": relation,
        "subj_label": subject,
        "obj_label": found,
        "token": [],
        "subj_start": 0,
    }


FACTS = {
    "P36": [line("P36", "Q142", "Q90"), line("P36", "Q419", "Q2868"), line("P36", "Q1", "Q90")],
    "P571": [line("P571", "Q142", "1958^^XMLSchema#dateTime")],
    "P9": [line("P9", "Q142", "Q90")],
}
FILES = {
    "relation2template.json": {
        "P36": [
            "The capital of [X] is [Y].",
            "[X]'s capital is [Y].",
            "The capital of [X] is [Y].",
            "[X] is a country.",
            "The Capital of  [X] is [Y].",
        ],
        "P571": ["[X] began in [Y]."],
        "P1": ["[X] has [Y]."],
    },
    "cleaned_T_REx/allsub2alias.json": {"Q142": ["France", "French Republic"], "Q419": ["Peru"], "Q1": ["\u200b"]},
    "cleaned_T_REx/obj2alias_for_gpt2_vocab.json": {"Q90": ["Paris", "City of Light"], "Q2868": ["Lima"]},
}


def write(folder: Path, facts=FACTS, files=FILES) -> None:
    """An archive of these files, below a folder as archives of the data are."""
    with zipfile.ZipFile(folder / "data_for_KAssess.zip", "w") as archive:
        for relation, rows in facts.items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            archive.writestr(f"data_for_KAssess/my_TREx_main_new/{relation}.jsonl", lines)
        for name, found in files.items():
            archive.writestr(f"data_for_KAssess/{name}", json.dumps(found))


def tables(folder: Path, **options):
    source_tables.write(folder / "out", kassess.read(KassessOptions(**options), folder))
    return {name: read(folder / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_are_those_of_the_release_and_what_the_code_drops_is_counted(tmp_path):
    write(tmp_path)
    found = tables(tmp_path)
    assert [row.fact_id for row in found["facts"]] == ["P36|Q142|Q90", "P36|Q419|Q2868"]
    assert Entity("Q142", "France", ("French Republic",), None) in found["entities"]
    assert Entity("Q90", "Paris", ("City of Light",), None) in found["entities"]
    assert [(row.text, row.origin) for row in found["templates"]] == [
        ("The capital of [X] is [Y].", "released"),
        ("[X]'s capital is [Y].", "released"),
    ]
    assert [(row.relation_id, row.label) for row in found["relations"]] == [("P36", "capital")]
    assert {(row.table, row.reason, row.count) for row in found["omissions"]} == {
        ("facts", "a value and no thing", 1),
        ("facts", "relation has no template", 1),
        ("facts", "subject has no name", 1),
        ("templates", "a slot is missing or stands twice", 1),
        ("templates", "another says the same", 2),
        ("templates", "relation has no facts", 2),
    }


def test_the_names_of_objects_are_those_of_all_objects_or_of_the_model_that_is_named(tmp_path):
    several = {**FILES, "cleaned_T_REx/obj2alias_for_t5_vocab.json": {"Q90": ["paris"]}}
    write(tmp_path, files=several)
    with pytest.raises(AlmanacError, match="set `objects`: obj2alias_for_gpt2_vocab, obj2alias_for_t5_vocab"):
        tables(tmp_path)
    named = {row.entity_id: row.label for row in tables(tmp_path, objects="obj2alias_for_t5_vocab")["entities"]}
    assert named == {"Q142": "France", "Q90": "paris"}, "Lima has no name for that model, so its fact is left out"
    write(tmp_path, files={**several, "cleaned_T_REx/allobj2alias.json": {"Q90": ["Paris, all"]}})
    assert "Paris, all" in {row.label for row in tables(tmp_path)["entities"]}


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (
            {name: found for name, found in FILES.items() if "template" not in name},
            {},
            "holds no relation2template.json",
        ),
        (FILES, {"facts": "my_TREx_human_v1"}, "holds no my_TREx_human_v1/P….jsonl; correct `facts`"),
        (FILES, {"objects": "obj2alias"}, "holds no cleaned_T_REx/obj2alias.json"),
        ({**FILES, "relation2template.json": []}, {}, "relation2template.json is not what is expected"),
        ({**FILES, "cleaned_T_REx/allsub2alias.json": {}}, {}, "none of its 5 facts has names and a template"),
    ],
)
def test_what_is_no_released_data_is_refused_by_name(tmp_path, files, options, message):
    write(tmp_path, files=files)
    with pytest.raises(AlmanacError, match=message):
        tables(tmp_path, **options)
