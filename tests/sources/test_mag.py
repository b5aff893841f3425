"""MAG: tab-separated files of its columns, packed with Zstandard, become papers, journals, conferences and authors."""

from pathlib import Path

import pytest
import zstandard

from almanac.errors import AlmanacError
from almanac.rows import Omission
from almanac.sources import mag, source_tables
from almanac.sources.options import MagOptions
from almanac.tables import read


def line(width: int, **cells: object) -> str:
    out = [""] * width
    for place, value in cells.items():
        out[int(place[1:])] = str(value)
    return "\t".join(out)


def paper(number, title, year, cited, venue="Journal of Tests", publisher="Press", doi="10.1/x") -> str:
    return line(26, _0=number, _2=doi, _5=title, _7=year, _10=publisher, _19=cited, _21=venue)


SMALL = {
    mag.PAPERS: [
        paper(1, '"Quoted" paper.', 2000, 8),
        paper(2, "NA", 2020, 4, venue=" ", publisher="A/B", doi="\u200b"),
        paper(3, "Late", 2021, 100),
        paper(4, "Undated", "", 1),
        paper(5, "非英語の論文", 1999, 1),
        paper(2**63, "Large number", 1998, ""),
    ],
    mag.CREDITED: [
        line(6, _0=1, _1=50, _2=7, _3=1),
        line(6, _0=1, _1=50, _2=8, _3=1),
        line(6, _0=1, _1=51, _3=2),
        line(6, _0=2, _1=59, _3=1),
    ],
    mag.AUTHORS: [line(9, _0=50, _3="Ann Fifty"), line(9, _0=51, _3="NA"), line(9, _0=52, _3="Unused")],
    mag.JOURNALS: [
        line(11, _0=90, _3="Journal of Tests", _4="1234-5678", _9=100, _10="2016-06-24"),
        line(11, _0=94, _3="Journal without a number", _4="\u00a0", _9=1, _10="2016-06-24"),
        line(11, _0=91, _3="Young Journal", _4="1111-2222", _9=60, _10="2021-01-01"),
        line(11, _0=92, _3="Same Name", _4="3333-4444", _9=10, _10="2016-06-24"),
        line(11, _0=93, _3="Same Name", _4="5555-6666", _9=10, _10="2016-06-24"),
    ],
    mag.CONFERENCES: [line(18, _0=80, _2="TEST 2010", _4="Oslo, Norway", _6="2010-01-01", _14=5, _17="2016-06-24")],
}


def write(folder: Path, files=SMALL) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in files.items():
        text = "".join(f"{one}\n" for one in lines).encode()
        (folder / name).write_bytes(zstandard.ZstdCompressor(level=1).compress(text))
    return folder


def tables(folder: Path, tmp_path: Path):
    source_tables.write(tmp_path / "out", mag.read(MagOptions(), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_the_tables_of_a_small_graph(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path)
    facts = {(row.relation_id.removeprefix("mag."), row.subject_id, row.object_key) for row in found["facts"]}
    large = f"paper:{2**63}"
    assert facts == {
        ("paper_year", "paper:1", "2000"),
        ("paper_year", "paper:2", "2020"),
        ("paper_year", large, "1998"),
        *(("venue", subject, "Journal of Tests") for subject in ("paper:1", large)),
        *(("publisher", subject, "Press") for subject in ("paper:1", large)),
        *(("doi", subject, "10.1/x") for subject in ("paper:1", large)),
        ("paper_author", "paper:1", "author:50"),
        ("paper_author", "paper:1", "author:51"),
        ("issn", "journal:90", "1234-5678"),
        ("location", "conference:80", "Oslo, Norway"),
    }
    labels = {row.entity_id: row.label for row in found["entities"]}
    assert labels["paper:1"] == '"Quoted" paper'
    assert (labels["paper:2"], labels["author:51"], labels["conference:80"]) == ("NA", "NA", "TEST 2010")
    scores = {row.entity_id: row.score for row in found["popularity"]}
    assert scores == {"paper:1": 8, "paper:2": 4, large: 0, "journal:90": 100, "conference:80": 5}
    sizes = {kind: sum(row.entities for row in found["buckets"] if row.type == kind) for kind in ("paper", "journal")}
    assert sizes == {"paper": 3, "journal": 5}, "journals all count, though four may not be asked about"
    assert found["omissions"] == [
        Omission("facts", "names an entity that the files do not name", 1, "mag.paper_author|paper:2|author:59"),
        Omission("popularity", "paper whose title is not ASCII for the most part", 1, mag.PAPERS),
        Omission("popularity", "paper without a year, or after 2020", 2, mag.PAPERS),
    ]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (mag.PAPERS, lambda old: old[:-20], "Papers.txt.zst: cannot be read"),
        (mag.JOURNALS, lambda old: b"plain", "Journals.txt.zst: cannot be read"),
        (
            mag.AUTHORS,
            lambda old: zstandard.compress(b"50\t1\tann\tAnn\t\t1\t1\t1\t2016-06-24\n51\tshort\n"),
            "Authors.txt.zst: line 2 has 2 cells; 9 are expected",
        ),
        (
            mag.PAPERS,
            lambda old: zstandard.compress((paper("x", "T", 2000, 1) + "\n").encode()),
            "Papers.txt.zst: cannot be read",
        ),
    ],
)
def test_a_file_that_is_not_whole_or_not_mags_is_named(tmp_path, name, change, message):
    folder = write(tmp_path / "raw")
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    with pytest.raises(AlmanacError) as error:
        mag.read(MagOptions(), folder)
    assert message in str(error.value)


def test_a_window_of_two_gigabytes_is_read(tmp_path):
    folder = write(tmp_path / "raw")
    wide = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=31))
    packer = wide.compressobj()  # of unknown length, so that the header names the whole window
    text = "".join(f"{one}\n" for one in SMALL[mag.JOURNALS]).encode()
    (folder / mag.JOURNALS).write_bytes(packer.compress(text) + packer.flush())
    assert zstandard.get_frame_parameters((folder / mag.JOURNALS).read_bytes()).window_size == 2**31
    assert any(row.entity_id == "journal:90" for row in tables(folder, tmp_path)["entities"])
