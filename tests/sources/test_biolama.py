"""BioLAMA's archive is read from one end to the other: several objects, aliases, the prescribed split."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from almanac.dataset.multiple_choice import build
from almanac.dataset.options import DatasetOptions
from almanac.errors import AlmanacError
from almanac.rows import Entity, Template
from almanac.sources import biolama, reading, source_tables
from almanac.sources.options import BiolamaOptions
from almanac.tables import read


def line(subject: str, objects: dict[str, list[str]], **more) -> dict:
    return {
        "uuid": f"P2176_{subject}",
        "predicate_id": "P2176",
        "sub_uri": subject,
        "sub_label": f"disease {subject}",
        "sub_type": "disease",
        "sub_aliases": ["NA"],
        "obj_uris": list(objects),
        "obj_labels": [names[0] for names in objects.values()],
        "obj_types": ["drug"] * len(objects),
        "obj_aliases": [names[1:] for names in objects.values()],
    } | more


FILES = {
    "wikidata/triples_processed/P2176/train.jsonl": [line("Q1", {"Q10": ["aspirin", "ASA"], "Q11": ["ibuprofen"]})],
    "wikidata/triples_processed/P2176/dev.jsonl": [line("Q2", {"Q10": ["aspirin"]})],
    "wikidata/triples_processed/P2176/test.jsonl": [
        line("Q3", {"Q10": ["aspirin", "Aspro"]}),
        line("Q4", {"Q10": ["aspirin"]}, obj_labels=[]),
    ],
    "wikidata/prompts/manual.jsonl": [
        {"relation": "P2176", "template": "[X] is treated with [Y].", "property": "drug used for treatment"},
        {"relation": "P1", "template": "[X] [Y].", "property": "unused"},
    ],
    "umls/triples_processed/UR1/test.jsonl": [line("C1", {"C2": ["other"]}, predicate_id="UR1")],
}


def write(folder: Path, files=FILES, prefix="data/") -> Path:
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
        for name, rows in files.items():
            data = "".join(json.dumps(row) + "\n" for row in rows).encode()
            member = tarfile.TarInfo(f"{prefix}{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return folder


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", biolama.read(BiolamaOptions(**options), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


@pytest.mark.parametrize("prefix", ["", "data/", "./"])
def test_a_part_becomes_tables(tmp_path, prefix):
    found = tables(write(tmp_path / "raw", prefix=prefix), tmp_path)
    assert {(row.fact_id, row.split, row.qualifiers) for row in found["facts"]} == {
        ("P2176|Q1|Q10", "train", ("part=train",)),
        ("P2176|Q1|Q11", "train", ("part=train",)),
        ("P2176|Q2|Q10", None, ("part=dev",)),
        ("P2176|Q3|Q10", "test", ("part=test",)),
    }
    entities = {row.entity_id: row for row in found["entities"]}
    assert set(entities["Q10"].aliases) == {"ASA", "Aspro"}
    assert entities["Q1"] == Entity("Q1", "disease Q1", ("NA",), "disease")
    assert [(row.relation_id, row.label, row.property) for row in found["relations"]] == [
        ("P2176", "drug used for treatment", "P2176")
    ]
    text = "[X] is treated with [Y]."
    assert found["templates"] == [Template("P2176/source/0", "P2176", text, "statement", "written", None, ())]
    assert [(row.reason, row.count) for row in found["omissions"]] == [
        ("objects and their labels are not as many", 1),
        ("relation has no facts", 1),
    ]


def test_every_fact_can_be_asked(tmp_path):
    """Luo et al. ask the facts of train, dev and test."""
    found = tables(write(tmp_path / "raw"), tmp_path, split="none")
    assert [row.split for row in found["facts"]] == [None] * 4
    options = DatasetOptions(train=0, test=9, choices=2, min_facts=1, min_objects=2, exclude_true=False)
    built = build(found["relations"], found["facts"], found["entities"], options)
    assert sorted(row.fact_id for row in built.facts if row.split == "test") == sorted(
        row.fact_id for row in found["facts"]
    )


def test_another_part_and_one_that_is_not_there(tmp_path):
    folder = write(tmp_path / "raw")
    assert [row.fact_id for row in tables(folder, tmp_path, part="umls")["facts"]] == ["UR1|C1|C2"]
    with pytest.raises(AlmanacError, match=r"holds no ctd/triples_processed"):
        tables(folder, tmp_path, part="ctd")


def test_a_cut_archive_and_a_bad_line_are_named(tmp_path):
    folder = write(tmp_path / "raw")
    whole = (folder / "data.tar.gz").read_bytes()
    (folder / "data.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AlmanacError, match=r"data\.tar\.gz: cannot be read"):
        tables(folder, tmp_path)
    bad = {"wikidata/triples_processed/P1/test.jsonl": [{"predicate_id": 3}]}
    with pytest.raises(AlmanacError, match=r"P1/test\.jsonl: line 1 is not what is expected"):
        tables(write(tmp_path / "raw", bad), tmp_path)


def test_an_archive_that_points_outside_reads_and_writes_nothing_there(tmp_path):
    folder = write(tmp_path / "raw", prefix="../../data/")  # names lead nowhere, since nothing is unpacked
    assert len(tables(folder, tmp_path)["facts"]) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]
    (tmp_path / "secret.jsonl").write_text(json.dumps(FILES["wikidata/triples_processed/P2176/dev.jsonl"][0]))
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
            link = tarfile.TarInfo("data/wikidata/triples_processed/P1/test.jsonl")
            link.type, link.linkname = kind, str(tmp_path / "secret.jsonl")
            archive.addfile(link)
        with pytest.raises(AlmanacError, match=r"P1/test\.jsonl: is a link or a device"):
            tables(folder, tmp_path)


def test_a_line_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 500)
    good = {"wikidata/triples_processed/P1/test.jsonl": [line("Q1", {"Q2": ["a"]})]}
    assert len(tables(write(tmp_path / "raw", good), tmp_path)["facts"]) == 1
    bad = {"wikidata/triples_processed/P1/test.jsonl": [line("Q1", {"Q2": ["a"]}), line("Q1", {"Q2": ["a" * 600]})]}
    with pytest.raises(AlmanacError, match=r"P1/test\.jsonl: line 2 has more than 500 bytes"):
        tables(write(tmp_path / "raw", bad), tmp_path)
