"""docs/papers.md against what the papers' configurations make at a thousandth of their size: files and numbers."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
import torch
from tests.papers.overlays import OVERLAYS
from tests.papers.runs import make

from almanac.suites import comparison_chapter

DOCUMENT = Path(__file__).parents[2] / "docs" / "papers.md"
COMMAND = "python -m "  # what a row has instead of files, where no edition makes it
HEAD = ["in the paper", "what", "there", "numbers", "files", "chapter", "what differs, and why"]


class Row(NamedTuple):
    """A row of the map."""

    paper: str
    what: str
    there: str
    numbers: list[str]
    files: list[str]
    chapter: str
    differs: str


def rows(name: str) -> list[Row]:
    section = DOCUMENT.read_text("utf-8").split(f"`config/papers/{name}.yaml`\n", 1)[1].split("\n## ")[0]
    head, _, *lines = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    assert head == HEAD
    return [Row(*cells[:3], *(re.findall("`([^`]+)`", cell) for cell in cells[3:5]), *cells[5:]) for cells in lines]


@pytest.fixture(scope="module", params=OVERLAYS)
def made(request, tmp_path_factory):
    """A paper's name, and its configuration run small."""
    torch.set_num_threads(1)
    name = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison_chapter, "FEW", 2)  # so few facts a relation are still drawn
        return name, make(name, OVERLAYS[name], tmp_path_factory.mktemp(name))


def lines_of(path: Path) -> int:
    """How many rows a table has, or characters a drawing."""
    if path.suffix == ".csv":
        return len(path.read_text("utf-8").splitlines()) - 1
    return pq.ParquetFile(path).metadata.num_rows if path.suffix == ".parquet" else path.stat().st_size


@pytest.mark.whole
def test_every_row_is_produced_as_the_map_says(made):
    name, layout = made
    with (layout.shown("tables") / "measures.csv").open(encoding="utf-8") as handle:
        measured = {row["metric"] for row in csv.DictReader(handle) if row["value"]}
    wrong = []
    for row in rows(name):
        files = [file for file in row.files if not file.startswith(COMMAND)]
        missing = [file for file in files if not (layout.root / file).is_file() or not lines_of(layout.root / file)]
        missing += [number for number in row.numbers if number not in measured]
        if missing:
            wrong.append(f"{row.paper}, {row.what}: {', '.join(missing)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.whole
def test_the_chapters_of_the_map_are_the_pages(made):
    name, layout = made
    headings = re.findall(r"<h[23]>(.*?)</h[23]>", (layout.root / "report.html").read_text("utf-8"))
    for row in rows(name):
        for chapter in filter("–".__ne__, row.chapter.split("; ")):
            begin = re.split(r": DATASET|: [a-z_]+, ", chapter)[0]
            assert any(heading.startswith(begin) for heading in headings), f"{chapter!r} is none of {headings}"


@pytest.mark.whole
def test_every_dataset_of_a_paper_stands_in_its_map(made):
    name, layout = made
    said = " ".join(file for row in rows(name) for file in row.files)
    assert all(dataset in said for dataset in layout.config.datasets)


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_command_that_stands_for_a_file_prints_a_table(name):
    for command in (file for row in rows(name) for file in row.files if file.startswith(COMMAND)):
        done = subprocess.run(
            [sys.executable, *shlex.split(command)[1:]], cwd=DOCUMENT.parents[1], capture_output=True, check=True
        )
        assert b"\n| --- |" in done.stdout, command


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_row_says_whether_it_is_there_and_what_is_lacking(name):
    for row in rows(name):
        assert row.there in ("yes", "partly", "no")
        assert bool(row.files) == (row.there != "no"), row
        assert row.differs or row.there == "yes", f"{row.what}: {row.there}, and nothing says why"
