"""OpenAlex: works of the snapshot's shape become papers, journals and authors."""

import gzip
import json
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Omission
from almanac.sources import openalex, source_tables
from almanac.sources.options import OpenalexOptions
from almanac.tables import read

PARTS = ("data/works/updated_date=2025-01-01/part_000.gz", "data/works/updated_date=2025-01-02/part_000.gz")


def work(number: int, cited: int, authors=("A5", "A6"), **more) -> dict:
    venue = {
        "id": "https://openalex.org/S9",
        "display_name": "Journal of Tests",
        "issn_l": "1234-5678",
        "host_organization_name": "Press",
        "type": "journal",
        "is_oa": True,
    }
    names = {"A5": "Ann Five", "A6": "NA"}
    return {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/10.1/{number}",
        "title": f'"Paper" {number}.',
        "publication_year": 2019,
        "cited_by_count": cited,
        "primary_location": {"is_oa": False, "source": venue},
        "authorships": [
            {"author": {"id": f"https://openalex.org/{one}", "display_name": names[one], "orcid": None}}
            for one in authors
        ],
        "abstract_inverted_index": {"a": [0]},
    } | more


WORKS = [
    work(1, 8),
    work(2, 4, primary_location=None, doi=None),
    work(3, 2, authors=()),
    work(4, 99, publication_year=2021),
    work(5, 1, title=None),
    work(6, 1, title="非英語の論文"),
]


def write(folder: Path, works=WORKS) -> Path:
    folder.mkdir(exist_ok=True)
    for part, rows in zip(PARTS, (works[::2], works[1::2]), strict=True):
        packed = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        (folder / part.replace("/", "-")).write_bytes(packed)
    return folder


def tables(folder: Path, tmp_path: Path):
    source_tables.write(tmp_path / "out", openalex.read(OpenalexOptions(parts=PARTS), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_works_become_papers_journals_and_authors(tmp_path):
    found = tables(write(tmp_path / "raw"), tmp_path)
    facts = {(row.relation_id.removeprefix("openalex."), row.subject_id, row.object_key) for row in found["facts"]}
    venue = {("venue", f"paper:{n}", "Journal of Tests") for n in (1, 3)}
    publisher = {("publisher", f"paper:{n}", "Press") for n in (1, 3)}
    years = {("paper_year", f"paper:{n}", "2019") for n in (1, 2, 3)}
    doi = {("doi", f"paper:{n}", f"10.1/{n}") for n in (1, 3)}
    authors = {("paper_author", f"paper:{n}", f"author:{a}") for n in (1, 2) for a in (5, 6)}
    assert facts == venue | publisher | years | doi | authors | {("issn", "journal:9", "1234-5678")}
    labels = {row.entity_id: row.label for row in found["entities"]}
    papers = {f"paper:{n}": f'"Paper" {n}' for n in (1, 2, 3)}
    assert labels == papers | {"author:5": "Ann Five", "author:6": "NA", "journal:9": "Journal of Tests"}
    assert {row.entity_id: row.score for row in found["popularity"]} == {
        "paper:1": 8,
        "paper:2": 4,
        "paper:3": 2,
        "journal:9": 11,
    }
    assert sum(row.entities for row in found["buckets"] if row.type == "paper") == 3
    assert found["omissions"] == [
        Omission("popularity", "work without a number or a title", 1, "https://openalex.org/W5"),
        Omission("popularity", "work without a year, or after 2020", 1, "https://openalex.org/W4"),
    ]


@pytest.mark.parametrize("blank", ["", " ", "\u200b", "\u200e\u00a0"])
def test_a_cell_that_shows_nothing_gives_no_fact(tmp_path, blank):
    source = {"id": "S9", "display_name": blank, "issn_l": blank, "host_organization_name": blank, "type": "journal"}
    works = [work(number, 8, primary_location={"source": source}, doi=blank) for number in (1, 2)]
    found = tables(write(tmp_path / "raw", works), tmp_path)
    assert {row.relation_id for row in found["facts"]} == {"openalex.paper_year", "openalex.paper_author"}


def test_a_titles_mark_up_is_no_part_of_it(tmp_path):
    titles = ["H<sub>2</sub>O &amp; <i>E. coli</i>.", "&lt;i&gt;Cats&lt;/i&gt; where p < 0.05 > q", "T<Tc and T>Tc"]
    found = tables(write(tmp_path / "raw", [work(at, 8, (), title=title) for at, title in enumerate(titles)]), tmp_path)
    papers = {row.label for row in found["entities"] if row.entity_id.startswith("paper:")}
    assert papers == {"H2O & E. coli", "Cats where p < 0.05 > q", "T<Tc and T>Tc"}


def test_a_work_that_stands_again_counts_once_and_one_with_other_values_is_refused(tmp_path):
    found = tables(write(tmp_path / "raw", [work(1, 8), work(2, 5), work(2, 5), work(3, 2)]), tmp_path)
    assert {row.entity_id: row.score for row in found["popularity"]}["journal:9"] == 15
    assert sum(row.entities for row in found["buckets"] if row.type == "paper") == 3
    assert found["omissions"] == [Omission("popularity", "work that stands again", 1, "2")]
    with pytest.raises(AlmanacError, match="the id 2 occurs twice, with different values; keep the correct line"):
        tables(write(tmp_path / "raw", [work(1, 8), work(2, 5), work(2, 6), work(3, 2)]), tmp_path)


def test_a_work_whose_citations_are_not_told_has_none(tmp_path):
    untold = {key: value for key, value in work(3, 2).items() if key != "cited_by_count"}
    found = tables(write(tmp_path / "raw", [*WORKS[:2], untold]), tmp_path)
    assert {row.entity_id: row.score for row in found["popularity"]} == {
        "paper:1": 8,
        "paper:2": 4,
        "paper:3": 0,
        "journal:9": 8,
    }


def test_a_line_that_is_no_work_is_named(tmp_path):
    folder = write(tmp_path / "raw")
    (folder / PARTS[1].replace("/", "-")).write_bytes(gzip.compress(b'{"id": 5}\n'))
    with pytest.raises(AlmanacError, match=r"2025-01-02-part_000\.gz: line 1 is not what is expected"):
        openalex.read(OpenalexOptions(parts=PARTS), folder)
    (folder / PARTS[1].replace("/", "-")).unlink()
    with pytest.raises(AlmanacError, match="there is no such file"):
        openalex.read(OpenalexOptions(parts=PARTS), folder)
