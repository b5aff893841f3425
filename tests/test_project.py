"""Where the files lie that are no Python: an installed package carries those that the code reads."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from almanac import cli
from almanac.project import INSTALLED, PROJECT, there
from almanac.report.trust import EDITION

REPOSITORY = Path(__file__).resolve().parents[1]
CARRIED = ["Snakefile", "config", "rules", "resources", "envs/lock.txt", "workflow/report"]


def files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]


def test_a_wheel_carries_what_the_code_reads(tmp_path):
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(words, cwd=REPOSITORY, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    editions = REPOSITORY / "resources" / "editions"
    needed = [path for name in CARRIED for path in files(REPOSITORY / name) if not path.is_relative_to(editions)]
    needed += files(editions / EDITION)
    assert len(needed) > 60
    assert {f"almanac/_project/{path.relative_to(REPOSITORY)}" for path in needed} - names == set()
    package = REPOSITORY / "workflow"
    shipped = [path for path in files(package / "almanac") if path.suffix != ".pyc"]
    assert {str(path.relative_to(package)) for path in shipped} - names == set()


def test_a_path_is_the_projects_where_the_working_folder_has_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = Path("config/own.yaml")
    assert not INSTALLED and PROJECT == REPOSITORY
    assert there(own) == REPOSITORY / own
    own.parent.mkdir()
    own.touch()
    assert there(own) == own
    assert there(Path("nowhere.yaml")) == Path("nowhere.yaml")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("build dataset --output out --facts", "facts"),
        ("build templates --output out.jsonl --drafts drafts.jsonl --frozen", "frozen"),
        ("verify facts --against mine --facts", "facts"),
        ("verify facts --facts mine --against", "against"),
        ("pull files --output out --from", "origin"),
    ],
)
def test_the_facts_that_ship_are_found_from_anywhere_as_resources_facts(words, flag, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verb, *others = [*words.split(), "resources/facts"]
    given = vars(cli.parser_of(verb, cli.load(verb)).parse_args(others))
    assert given[flag] == REPOSITORY / "resources" / "facts"
