"""DBLP: a release in its true shape, and XML that is cut, unknown or malicious."""

import gzip
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Omission, Popularity
from almanac.sources import dblp, source_tables
from almanac.sources.options import DblpOptions
from almanac.tables import read

HEAD = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<!DOCTYPE dblp SYSTEM "dblp-2019-11-22.dtd">\n<dblp>\n'
DTD = """<!ELEMENT dblp (article|phdthesis)*>
<!ENTITY % field "author|editor">
<!ENTITY uuml "&#252;" ><!-- small u, dieresis or umlaut mark -->
<!ENTITY Eacute "&#201;" >
<!ENTITY reg "&#174;" >
"""
RECORDS = """<article mdate="2020-01-01" key="journals/x/1"><author>J&uuml;rgen A. One</author>
<author>Wei Wang 0001</author><title>On H<sub>2</sub>O.</title><year>2021</year></article>
<proceedings key="conf/x"><editor>J&uuml;rgen A. One</editor><title>Proc.</title><year>1999</year></proceedings>
<www key="homepages/1"><author>J&uuml;rgen A. One</author><title>Home Page</title></www>
<www key="homepages/2"><author>Wei Wang 0002</author><title>Home Page</title></www>
<phdthesis key="phd/1"><author>J&uuml;rgen A. One</author><title>NA of <i>&Eacute;lan</i> &amp; <sup>2</sup>.</title>
<year>2001</year><school>Univ. of M&#252;nster, Germany</school></phdthesis>
<phdthesis key="phd/2"><author>Wei Wang 0001</author><title>Shared.</title>
<year>2002</year><school>S</school></phdthesis>
<phdthesis key="phd/3"><author>Ann Sole 0001</author><title>"Quoted".</title><year>2003</year></phdthesis>
<phdthesis key="phd/4"><author>Twice Done</author><title>A.</title><year>2003</year></phdthesis>
<phdthesis key="phd/5"><author>Twice Done</author><title>B.</title><year>2004</year></phdthesis>
<phdthesis key="phd/6"><author>Too Late</author><title>C.</title><year>2021</year></phdthesis>
<mastersthesis key="ms/1"><author>Ann Sole 0001</author><title>Master.</title>
<year>1999</year><school>S</school></mastersthesis>
"""


def write(folder: Path, body: str | bytes = HEAD + RECORDS + "</dblp>\n", dtd: str = DTD) -> Path:
    folder.mkdir(exist_ok=True)
    data = body.encode("ascii") if isinstance(body, str) else body
    (folder / "dblp-2024-11-01.xml.gz").write_bytes(gzip.compress(data))
    (folder / "dblp-2019-11-22.dtd").write_text(dtd)
    return folder


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", dblp.read(DblpOptions(release="2024-11-01", **options), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_of_a_small_release(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path)
    facts = {(row.relation_id.removeprefix("dblp."), row.subject_id, row.object_key) for row in found["facts"]}
    one, sole = "person:Jürgen A. One", "person:Ann Sole 0001"
    assert facts == {
        ("phd_title", one, "NA of Élan & 2"),
        ("phd_year", one, "2001"),
        ("phd_school", one, "Univ. of Münster, Germany"),
        ("phd_title", sole, '"Quoted"'),
        ("phd_year", sole, "2003"),
        ("ms_title", sole, "Master"),
        ("ms_year", sole, "1999"),
        ("ms_school", sole, "S"),
    }
    assert {row.entity_id: row.label for row in found["entities"]} == {one: "Jürgen A. One", sole: "Ann Sole"}
    # Mentions: Jürgen 4, Wei Wang 0001 2, 0002 1, Ann 2, Twice 2, Late 1; 2 crosses both thirds of 12.
    assert found["popularity"] == [
        Popularity(sole, "dblp", "person", 2, "tail"),
        Popularity(one, "dblp", "person", 4, "head"),
    ]
    assert (sum(row.entities for row in found["buckets"]), sum(row.popularity for row in found["buckets"])) == (6, 12)
    assert found["omissions"] == [
        Omission("facts", "person has several theses of one degree", 1, "Twice Done"),
        Omission("facts", "thesis of a person who shares the name with another", 1, "dblp"),
        Omission("facts", "thesis without a year, or after 2020", 1, "phd/6"),
    ]


def test_mentions_as_an_editor_can_be_left_out(tmp_path):
    """As author: Jürgen 3, Wei Wang 0001 2, 0002 1, Ann 2, Twice 2, Late 1; 2 crosses the first third of 11."""
    found = tables(write(tmp_path / "raw"), tmp_path, mentions="authors")
    assert {row.entity_id: row.score for row in found["popularity"]} == {
        "person:Jürgen A. One": 3,
        "person:Ann Sole 0001": 2,
    }
    assert (sum(row.entities for row in found["buckets"]), sum(row.popularity for row in found["buckets"])) == (6, 11)


def test_each_school_of_a_thesis_is_a_fact_and_a_draw_is_of_people(tmp_path):
    both = "<school>S</school><school>T</school><school>S</school>"
    raw = write(tmp_path / "raw", HEAD + RECORDS.replace("<school>S</school></m", f"{both}</m") + "</dblp>")
    for pool in (1, 20):
        facts = tables(raw, tmp_path / str(pool), pool=pool)["facts"]
        assert {row.value for row in facts if row.relation_id == "dblp.ms_school"} == {"S", "T"}


def test_a_title_of_which_nothing_is_seen_is_none(tmp_path):
    body = HEAD + RECORDS.replace("Master.", "&#8203;.") + "</dblp>"
    found = {row.relation_id for row in tables(write(tmp_path / "raw", body), tmp_path)["facts"]}
    assert "dblp.ms_title" not in found
    assert "dblp.ms_year" in found


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE dblp [\n<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">\n'
)
for letter, before in zip("bcdefgh", "abcdefg", strict=True):
    BOMB += f'<!ENTITY {letter} "{f"&{before};" * 20}">\n'
BOMB += "]>\n<dblp><article><title>&h;</title></article></dblp>"
FILE = '<?xml version="1.0"?>\n<!DOCTYPE dblp [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<dblp><www><title>&x;</title></www></dblp>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (HEAD + RECORDS, "no element found"),
        (HEAD + "<article><title>&nope;</title></article></dblp>", "undefined entity &nope;: line 4"),
        (HEAD + "<article><title></article></dblp>", "mismatched tag: line 4"),
        (BOMB, "amplification"),
        (FILE, "undefined entity &x;"),
        (b"\x00\x01", "not well-formed"),
    ],
)
def test_xml_that_cannot_be_trusted_is_named(tmp_path, body, message):
    with pytest.raises(AlmanacError) as error:
        dblp.read(DblpOptions(release="2024-11-01"), write(tmp_path / "raw", body))
    assert "dblp-2024-11-01.xml.gz: " in str(error.value)
    assert message in str(error.value)


def test_a_cut_archive_and_a_dtd_without_characters_are_named(tmp_path):
    folder = write(tmp_path / "raw")
    path = folder / "dblp-2024-11-01.xml.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(AlmanacError, match="cannot be read"):
        dblp.read(DblpOptions(release="2024-11-01"), folder)
    with pytest.raises(AlmanacError, match=r"\.dtd: defines no characters"):
        dblp.read(DblpOptions(release="2024-11-01"), write(tmp_path / "raw", dtd="<html></html>"))
