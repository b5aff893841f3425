"""What the process of a command loads, and what the installed command starts."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import almanac
from almanac.cli import VERBS, main

HEAVY = ("torch", "transformers", "matplotlib", "snakemake", "openai")  # a second or more to load, or a GPU's memory
# As `python -m almanac` does, then the names of what it has loaded.
COMMAND = """
import runpy, sys
try:
    runpy.run_module("almanac", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""


def loaded(*words: object) -> set[str]:
    """Return what the process of one command has loaded at its end."""
    environment = os.environ | {"PYTHONPATH": str(Path(almanac.__file__).parents[1])}
    command = [sys.executable, "-c", COMMAND, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_what_no_step_may_load_without_need_is_installed_here():
    assert [name for name in HEAVY if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("answer", "report")])
def test_a_verb_that_runs_no_model_and_draws_nothing_loads_neither_networks_nor_plots(verb):
    assert loaded(verb, "--help").isdisjoint(HEAVY)


def test_the_list_of_verbs_needs_no_tables():
    assert loaded("--help").isdisjoint({*HEAVY, "polars", "pyarrow", "numpy", "pydantic"})


def test_each_installed_command_starts_a_function_that_is_there():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = {name: EntryPoint(name, value, "console_scripts").load() for name, value in project["scripts"].items()}
    assert commands == {"almanac": main}
