"""`almanac run`: the same Snakemake command as `make`, with what ships with Almanac."""

import os
import re
import sys
from pathlib import Path

import pytest

from almanac import locked
from almanac.cli import main
from almanac.project import PROJECT

MAKEFILE = (Path(__file__).resolve().parents[1] / "Makefile").read_text(encoding="utf-8")


@pytest.fixture
def started(monkeypatch):
    """What was given to Snakemake."""
    commands = []
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # what the verb sets is taken back
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(locked, "main", lambda command: commands.append(command) or 7)
    return commands


@pytest.mark.parametrize(
    ("words", "file", "settings"),
    [
        ([], "config.yaml", []),
        (["--model", "/m/a", "/m/b"], "own.yaml", ["model=/m/a /m/b"]),
        (
            ["--model", "/m", "--facts", "f.csv", "--size", "full", "--suites", "karr", "ic_lke", "--config", "a=1"],
            "own.yaml",
            ["model=/m", "facts=f.csv", "size=full", "only=karr ic_lke", "a=1"],
        ),
        (["--configfile", "config/trex.yaml", "--facts", "f"], "trex.yaml", ["facts=f"]),
    ],
)
def test_flags_become_settings_of_the_configuration_that_goes_with_them(words, file, settings, started, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    assert main(["run", *words, "--", "edition", "--cores", "4"]) == 7, "Snakemake's status"
    [command] = started
    place = command.index("--configfile")
    assert command[place - 3 : place] == ["edition", "--cores", "4"]
    assert Path(command[place + 1]).name == file and Path(command[place + 1]).is_file()
    assert command[place + 2 :] == (["--config", *settings] if settings else [])
    assert command[command.index("--snakefile") + 1] == str(PROJECT / "Snakefile")


@pytest.mark.parametrize("beside", [True, False])
def test_the_options_of_snakemake_are_those_of_make(started, tmp_path, monkeypatch, beside):
    """The program beside Python is started or, where there is none, the module: whatever PATH has is not."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    if beside:
        (tmp_path / "snakemake").touch()
    main(["run"])
    [command] = started
    [made] = re.findall(r"\tsnakemake (.*)\n", MAKEFILE)
    program = [str(tmp_path / "snakemake")] if beside else [str(tmp_path / "python"), "-m", "snakemake"]
    assert command[: len(program)] == program
    assert sorted(made.split()) == sorted(command[len(program) : command.index("--snakefile")])


def test_what_is_given_twice_counts_twice_and_a_configuration_stands_before_the_options(started, capsys):
    main(["run", "--model", "/a", "--model", "/b", "--config", "a=1", "--config", "b=2"])
    assert started.pop()[-3:] == ["model=/a /b", "a=1", "b=2"]
    assert main(["run", "--", "--configfile=mine.yaml"]) == 1
    assert "--configfile stands after --, where it would be passed over" in capsys.readouterr().err
    assert started == []


def test_facts_without_a_model_are_asked_of_nobody(started, capsys):
    assert main(["run", "--facts", "f.csv"]) == 1
    assert "name the model that is asked: --model /models/mine" in capsys.readouterr().err
    assert started == []


@pytest.mark.parametrize("flag", ["--model", "--facts", "--suites"])
def test_a_flag_that_is_empty_is_refused(started, capsys, flag):
    """As of a variable of the shell that is not set: without it another edition is meant."""
    assert main(["run", "--model", "/models/mine", flag, " "]) == 1
    assert f"{flag} is empty; is a variable of the shell not set?" in capsys.readouterr().err
    assert not started


def test_a_target_may_stand_before_or_after_the_flags_and_snakemakes_own_stand_after_two_hyphens(started, capsys):
    for words in (["edition", "--model", "/m", "--", "-n"], ["--model", "/m", "--", "edition", "-n"]):
        assert main(["run", *words]) == 7
        command = started.pop()
        assert command[command.index("--configfile") - 2 : command.index("--configfile")] == ["edition", "-n"]
    with pytest.raises(SystemExit):
        main(["run", "--model", "/m", "--dry-run"])
    said = capsys.readouterr().err
    assert "unrecognized arguments: --dry-run; options of Snakemake stand after --, as in: almanac run --" in said
