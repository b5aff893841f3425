"""Google-RE's lines become facts with their texts; dates are years, denied texts are no evidence."""

import json
import stat
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Evidence, Fact
from almanac.sources import google_re, source_tables
from almanac.sources.options import GoogleReOptions
from almanac.tables import read


def line(relation: str, found: str, label: str, **more) -> dict:
    row = {
        "pred": f"/people/person/{relation}",
        "sub": "/m/01abc",
        "obj": found,
        "sub_w": "Q1",
        "sub_label": "Ann Example",
        "sub_aliases": ["A. Example"],
        "obj_w": None,
        "obj_label": label,
        "obj_aliases": ["City of Light"] if found == "/m/05qtj" else [],
        "evidences": [{"url": "http://x", "snippet": f"Ann ... {label}.", "considered_sentences": ["Ann."]}],
        "judgments": [{"rater": "1", "judgment": "yes"}, {"rater": "2", "judgment": "no"}],
        "masked_sentences": ["Ann [MASK]."],
        "uuid": "u",
    }
    return row | more


NO = [{"rater": "1", "judgment": "no"}]
LINES = {
    "place_of_birth": [line("place_of_birth", "/m/05qtj", "Paris"), line("place_of_birth", "/m/05qtj", "Paris")],
    "date_of_birth": [
        line("date_of_birth", "1982-05-22", "1982"),
        line("date_of_birth", "soon", "soon", sub="/m/02", sub_label="NA"),
    ],
    "place_of_death": [
        line("place_of_death", "/m/06mxs", '"Quoted" Town', judgments=NO, sub="/m/02", sub_label="NA"),
        line("place_of_death", "/m/07", ""),
    ],
}


def write(folder: Path, lines=LINES) -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        for name, rows in lines.items():
            text = "\n".join(json.dumps(row) for row in rows)
            archive.writestr(f"data/Google_RE/{name}_test.jsonl", text)
        archive.writestr("data/TREx/P19.jsonl", "not read")
    return folder


def test_the_tables_of_a_small_release(tmp_path):
    source_tables.write(tmp_path / "out", google_re.read(GoogleReOptions(), write(tmp_path / "raw")))
    found = {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}
    dated = "google_re.date_of_birth|/m/01abc|1982"
    assert found["facts"] == [
        Fact(
            dated,
            "google_re.date_of_birth",
            "/m/01abc",
            None,
            "1982",
            "date",
            "year",
            ("date=1982-05-22",),
            None,
            "google_re",
        ),
        *(
            Fact(f"{relation}|{subject}|{place}", relation, subject, place, None, None, None, (), None, "google_re")
            for relation, subject, place in (
                ("google_re.place_of_birth", "/m/01abc", "/m/05qtj"),
                ("google_re.place_of_death", "/m/02", "/m/06mxs"),
            )
        ),
    ]
    assert {row.entity_id: (row.label, row.aliases, row.type) for row in found["entities"]} == {
        "/m/01abc": ("Ann Example", ("A. Example",), "person"),
        "/m/02": ("NA", ("A. Example",), "person"),
        "/m/05qtj": ("Paris", ("City of Light",), "place"),
        "/m/06mxs": ('"Quoted" Town', (), "place"),
    }
    born = "google_re.place_of_birth|/m/01abc|/m/05qtj"
    assert found["evidence"] == [Evidence(dated, "Ann ... 1982."), Evidence(born, "Ann ... Paris.")]
    assert {(row.table, row.reason, row.count) for row in found["omissions"]} == {
        ("evidence", "raters deny that the text says the fact", 1),
        ("facts", "date is no date", 1),
        ("facts", "object has no label", 1),
    }
    assert {row.relation_id for row in found["templates"]} == {row.relation_id for row in found["relations"]}


def test_a_line_without_a_label_field_is_named(tmp_path):
    rows = [line("place_of_birth", "/m/05qtj", "Paris"), {"pred": "x", "sub": "y", "obj": "z", "obj_label": "w"}]
    with pytest.raises(AlmanacError, match=r"place_of_birth_test\.jsonl: line 2 is not what is expected"):
        google_re.read(GoogleReOptions(), write(tmp_path / "raw", {"place_of_birth": rows}))


def test_an_archive_with_members_above_it_writes_nothing_there(tmp_path):
    folder = write(tmp_path / "raw")
    with zipfile.ZipFile(folder / "data.zip", "a") as archive:
        archive.writestr("../../evil/Google_RE/place_of_birth_test.jsonl", json.dumps(LINES["place_of_birth"][0]))
    assert len(list(google_re.read(GoogleReOptions(), folder).facts)) == 3
    assert [path.name for path in tmp_path.rglob("*")] == ["raw", "data.zip"]


def test_a_link_in_the_archive_is_no_table(tmp_path):
    folder = write(tmp_path / "raw", {})
    with zipfile.ZipFile(folder / "data.zip", "a") as archive:
        link = zipfile.ZipInfo("data/Google_RE/place_of_birth_test.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(AlmanacError, match=r"place_of_birth_test\.jsonl: line 1 is not what is expected"):
        google_re.read(GoogleReOptions(), folder)


def test_a_member_that_claims_four_gigabytes_is_refused_before_it_is_read(tmp_path):
    folder = write(tmp_path / "raw", {"place_of_birth": LINES["place_of_birth"]})
    content = bytearray((folder / "data.zip").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (4_000_000_000).to_bytes(4, "little")
    (folder / "data.zip").write_bytes(content)
    with pytest.raises(AlmanacError, match=r"place_of_birth_test\.jsonl has more than 1073741824 bytes"):
        google_re.read(GoogleReOptions(), folder)


def test_no_two_relations_are_worded_the_same():
    """LAMA words both births "[X] was born in [Y]."."""
    texts = [text for *_, text in google_re.RELATIONS.values()]
    assert len(set(texts)) == len(texts) == 3
    assert all(text.endswith("is [Y].") for text in texts)  # KaRR reads the object last
