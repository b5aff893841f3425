"""`make` refuses a misspelt variable or target instead of passing it over, and no shell reads what a variable holds."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def make(*words, folder=REPOSITORY):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["own", "MODEL=/m", "FACT=x.csv"], "almanac: make knows no FACT=; it knows MODEL FACTS SIZE SUITES CONFIG"),
        (["own", "SUITE=karr", "SIZES=all"], "almanac: make knows no SIZES= SUITE=; it knows MODEL FACTS"),
        (["demo", "model=/m"], "almanac: make knows no model=;"),
        (
            ["demo", "MODEL=/m", "SIZE=all"],
            "almanac: MODEL= SIZE= goes with make own; another edition is chosen by CONFIG=",
        ),
        (["MODEL=/m"], "almanac: MODEL= goes with make own;"),
        (["own", "MODEL=/m", "CONFIG=c.yaml"], "almanac: CONFIG= goes with make demo and make edition"),
        (["dmo"], "almanac: there is no target dmo; there are demo own "),
        (["it's $(touch hit); touch hit"], "there are demo own "),
    ],
)
def test_what_make_does_not_know_is_refused_with_what_it_knows(words, said):
    refused = make(*words)
    assert refused.returncode == 2
    assert said in refused.stderr and refused.stdout == ""
    assert not (REPOSITORY / "hit").exists()


def test_what_make_knows_is_taken_whatever_it_holds():
    hard = 'it\'s "so" `touch hit` $$(touch hit); a  b'
    known = [f"{name}={hard}" for name in ("MODEL", "FACTS", "SIZE", "SUITES", "CONFIG", "ARGS", "PYTHON")]
    shown = make("help", "-j2", "SHELL=/bin/sh", *known)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "make own MODEL=" in shown.stdout and not (REPOSITORY / "hit").exists()


@pytest.mark.parametrize(("target", "name"), [("own", "MODEL"), ("own", "FACTS"), ("demo", "CONFIG")])
def test_what_is_named_arrives_as_it_was_written(target, name):
    named = 'no $(shell touch hit) $HOME `touch hit` it\'s "so" #2.csv'
    words = ["MODEL=http://localhost:8000/v1"] if name == "FACTS" else []
    refused = make(target, *words, f"{name}={named}")
    assert refused.returncode == 2
    assert named in refused.stderr and not (REPOSITORY / "hit").exists()


def test_the_targets_offered_are_those_that_there_are():
    offered = make("dmo").stderr.partition("there are ")[2].partition(".")[0].split()
    rules = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert sorted(offered) == sorted(rules)


@pytest.mark.parametrize(("version", "kept"), [("Python 3.12.1", True), ("Python 3.13.0", False)])
def test_an_environment_of_another_python_is_made_anew(tmp_path, version, kept):
    """`venv` would leave the old interpreter's links where they are."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    shutil.copytree(REPOSITORY / "envs", tmp_path / "envs")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for python, says in ((tmp_path / ".venv" / "bin" / "python", "Python 3.12.1"), (tmp_path / "other", version)):
        python.write_text(
            f'#!/bin/sh\ncase "$1" in -V) echo "{says}";; -c) exec {sys.executable} "$@";; *) exit 3; esac\n'
        )
        python.chmod(0o755)
    made = make(".venv/installed", "PYTHON=./other", folder=tmp_path)
    assert made.returncode == 2 and "./other -m venv .venv" in made.stdout
    assert (tmp_path / ".venv").exists() == kept
