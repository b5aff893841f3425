"""The command line: every verb explains itself, and bad input ends with one message and no traceback."""

import ctypes
import functools
import hashlib
import json
import operator
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from almanac import __version__, cli
from almanac.cli import VERBS, load, main
from almanac.errors import INTERRUPTED
from almanac.job_size import USED

REPOSITORY = Path(__file__).parents[1]
FACTS = "relation_id,subject_id,object_id\n" + "".join(f"P,s{one},o{one % 9}\n" for one in range(30))
ENTITIES = (
    "entity_id,label\n"
    + "".join(f"s{one},S {one}\n" for one in range(30))
    + "".join(f"o{one},O {one}\n" for one in range(9))
)
SMALL = ["--min-facts", "30", "--min-objects", "9", "--train", "5", "--test", "10", "--choices", "4"]


def almanac(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow")} | variables
    command = [sys.executable, "-m", "almanac", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def facts(tmp_path):
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "facts.csv").write_text(FACTS)
    (folder / "entities.csv").write_text(ENTITIES)
    (folder / "notes.txt").write_text("no table")
    return folder


def test_a_terminal_that_lacks_a_character_gets_a_question_mark():
    done = almanac("pull", "--help", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert "almanac pull wikidata ? --again" in done.stdout


def test_what_a_shell_ran_before_a_verb_is_not_counted_as_its_own(facts, tmp_path, monkeypatch, capsys):
    """A shell that becomes the last program of its script leaves it the times of all that it ran before."""
    times = {resource.RUSAGE_SELF: 2.0, resource.RUSAGE_CHILDREN: 30.0}
    monkeypatch.setattr(
        resource, "getrusage", lambda who: SimpleNamespace(ru_utime=times[who], ru_stime=0.0, ru_maxrss=2**20)
    )
    assert main(["build", "dataset", "--facts", str(facts), "--output", str(tmp_path / "data"), *SMALL]) == 0
    assert float(USED.match(capsys.readouterr().err.splitlines()[-1])["cpu"]) == 2.0


def test_no_verb_gives_the_usage_with_every_verb():
    done = almanac()
    assert done.returncode == 2
    shown = done.stdout + done.stderr
    assert "usage: almanac" in shown
    assert all(f"  {verb} " in shown for verb in VERBS)


def test_an_unknown_verb_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bild"])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert "there is no verb 'bild'; did you mean build?" in message
    with pytest.raises(SystemExit):
        main(["xyz"])
    assert f"there are {', '.join(sorted(VERBS))}" in capsys.readouterr().err


def test_a_flag_is_not_taken_by_a_part_of_its_name(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["build", "dataset", "--facts", str(tmp_path), "--output", str(tmp_path / "built"), "--choice", "4"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --choice 4" in capsys.readouterr().err


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"almanac {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself_with_an_example(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    _, _, examples = text.partition("examples:\n")
    assert f"  almanac {verb}" in examples


def test_a_pull_never_removes_what_it_did_not_bring(tmp_path, facts, capsys):
    kept = sorted(path.name for path in facts.iterdir())
    for output in (facts, facts / "inside", facts.parent):
        assert main(["pull", "files", "--from", str(facts), "--output", str(output)]) == 1
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    assert main(["pull", "files", "--from", str(facts), "--output", str(full)]) == 1
    assert "holds notes.txt, which no pull has brought" in capsys.readouterr().err
    assert (full / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in facts.iterdir()) == kept
    out = tmp_path / "out"
    assert main(["pull", "files", "--from", str(facts), "--output", str(out)]) == 0
    assert main(["pull", "files", "--from", str(facts), "--output", str(out)]) == 0, "a pull replaces a pull"


@pytest.mark.parametrize("what", ["page", "spent", "failed", "found", "after"])
def test_nothing_is_reported_of_an_edition_that_is_not_there(tmp_path, capsys, what):
    assert main(["report", what, "--edition", str(tmp_path / "none")]) == 1
    assert f"there is no edition {tmp_path}/none" in capsys.readouterr().err


def test_a_verb_that_runs_no_model_loads_none(tmp_path, facts):
    script = (
        "import sys; from almanac.cli import main; "
        f"words = ['build', 'dataset', '--facts', {str(facts)!r}, '--output', {str(tmp_path / 'd')!r}, *{SMALL}]; "
        "assert main(words) == 0; "
        "print([name for name in ('torch', 'transformers', 'matplotlib') if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ["build", "dataset", "--facts", "{}", "--output", "{}/out"],
        ["pull", "files", "--from", "{}", "--output", "{}/out"],
        ["verify", "facts", "--facts", "{}", "--against", "{}"],
    ],
    ids=lambda words: words[0],
)
def test_a_bad_folder_ends_with_1_and_one_message(tmp_path, words):
    folder = tmp_path / "nowhere"
    done = almanac(*(word.format(folder) for word in words))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"almanac {words[0]}: there is no folder {folder}; correct its path; name a folder that holds the tables facts "
        "and entities, or one file of facts"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["build", "pull"])
def test_a_mistake_in_the_facts_leaves_nothing(tmp_path, facts, verb, capsys):
    (facts / "facts.csv").write_text(FACTS + "P,s1,o99\n")
    words = {"build": ["dataset", *SMALL, "--facts"], "pull": ["files", "--from"]}[verb]
    assert main([verb, *words, str(facts), "--output", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert f"{facts}/facts.csv: line 32: object_id 'o99' is no entity" in message
    assert "Traceback" not in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["build", "pull"])
def test_an_output_that_cannot_be_written_is_named(tmp_path, facts, verb, capsys):
    (tmp_path / "file").write_text("kept")
    output = tmp_path / "file" / "out"
    words = {"build": ["dataset", *SMALL, "--facts"], "pull": ["files", "--from"]}[verb]
    assert main([verb, *words, str(facts), "--output", str(output)]) == 1
    assert str(output) in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"


FULL = Path("/dev/full")
FILLING = {
    "polars": lambda: pl.DataFrame({"n": [1]}).write_parquet(FULL),
    # Given a path, Arrow would remove what it could not write.
    "Arrow": lambda: pq.write_table(pa.table({"n": [1]}), pa.OSFile(str(FULL), "wb")),
    "text": lambda: FULL.write_text("text", encoding="utf-8"),
}


@pytest.mark.parametrize("kind", FILLING)
def test_a_full_disk_ends_with_one_line(kind, monkeypatch, capsys):
    monkeypatch.setattr(load("report"), "run", lambda arguments: FILLING[kind]())
    assert main(["report", "page", "--edition", "e"]) == 1
    said = "almanac report: the disk is full; free some space and run the same command again\n"
    assert capsys.readouterr().err == said


def test_an_impossible_setting_is_refused_by_its_flag(tmp_path, facts, capsys):
    words = ["build", "dataset", "--facts", str(facts), "--output", str(tmp_path / "out"), "--choices", "1"]
    assert main(words) == 1
    assert "command line: choices: must be at least 2" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--real-facts", "-5"], ["--real-doses", "0", "-1"]])
def test_a_negative_number_of_taught_facts_or_statements_is_refused(tmp_path, capsys, words):
    with pytest.raises(SystemExit):
        main(["plant", "corpus", "--world", str(tmp_path), "--output", str(tmp_path / "corpus"), *words])
    assert f"argument {words[0]}: {words[-1]!r} is no whole number from 0" in capsys.readouterr().err


def test_a_built_dataset_accounts_for_every_fact_and_says_so(tmp_path, facts, capsys):
    out = tmp_path / "out"
    assert main(["build", "dataset", "--facts", str(facts), "--output", str(out), "--name", "mine", *SMALL]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 relations qualify. 30 facts in: 0 in relations that do not, 0 refused" in printed
    assert "5 train, 10 test, 15 beyond the counts asked for or without a `split` where others" in printed
    rows = pq.read_table(out / "facts.parquet").to_pylist()
    assert [row["split"] for row in rows].count("train") == 5
    assert len(rows) == 30
    assert {row["source"] for row in rows} == {"mine"}
    assert [len(row["labels"]) for row in pq.read_table(out / "choices.parquet").to_pylist()] == [3] * 10


def test_where_no_relation_qualifies_nothing_is_built_and_the_reason_is_named(tmp_path, facts, capsys):
    assert main(["build", "dataset", "--facts", str(facts), "--output", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()
    captured = capsys.readouterr()
    assert "refused P: 30 facts and 9 objects; needed are 500 and 100" in captured.err
    assert "no relation has 500 facts and 100 objects" in captured.err
    assert "0 of 1 relations qualify. 30 facts in: 30 in relations that do not" in captured.out


def test_what_is_pulled_is_recorded_by_its_bytes(tmp_path, facts):
    out = tmp_path / "out"
    words = ["pull", "files", "--from", str(facts), "--output", str(out), "--licence", "CC0-1.0", "--redistributable"]
    assert main(words) == 0
    record = json.loads((out / "pull.json").read_text())
    assert record["licence"] == "CC0-1.0"
    assert record["redistributable"] is True
    assert {entry["path"]: entry["sha256"] for entry in record["files"]} == {
        name: hashlib.sha256((facts / name).read_bytes()).hexdigest() for name in ("facts.csv", "entities.csv")
    }
    assert sorted(path.name for path in out.iterdir()) == ["entities.csv", "facts.csv", "pull.json"]
    assert (out / "facts.csv").read_bytes() == (facts / "facts.csv").read_bytes()


def test_the_record_of_an_edition_is_its_whole_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    out = tmp_path / "edition.json"
    assert main(["build", "edition", "--config", "config/config.yaml", "--output", str(out)]) == 0
    again = tmp_path / "again.json"
    assert main(["build", "edition", "--settings", out.read_text(), "--output", str(again)]) == 0
    assert json.loads(out.read_text())["edition"] == "demo"
    assert again.read_bytes() == out.read_bytes()


def test_the_record_keeps_the_order_of_worlds_and_datasets(tmp_path):
    """The page and the differences between models go by it, and a record is what they are made of again."""
    worlds = {"two": {"seed": 2}, "one": {"seed": 1}}
    config = {"edition": "e", "planting": {"worlds": worlds}, "datasets": {name: {"world": name} for name in worlds}}
    out = tmp_path / "edition.json"
    assert main(["build", "edition", "--settings", json.dumps(config), "--output", str(out)]) == 0
    record = json.loads(out.read_text())
    assert [list(record["planting"]["worlds"]), list(record["datasets"])] == [["two", "one"]] * 2


def test_a_bad_edition_ends_with_1_and_the_key(tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text("edition: mine\nshard: 2\n")
    words = ["build", "edition", "--config", str(tmp_path / "mine.yaml"), "--output", str(tmp_path / "out.json")]
    assert main(words) == 1
    assert "mine.yaml: shard: is unknown" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("model", "said"),
    [("mien", "; did you mean mine? (it asks mine, other)"), ("zebra", " (it asks mine, other)")],
)
def test_measuring_a_model_that_an_edition_does_not_ask_names_the_nearest_right_name(
    tmp_path, facts, capsys, model, said
):
    config = {
        "edition": "e",
        "sources": {"real": {"path": str(facts)}},
        "datasets": {"real": {"source": "real"}},
        "suites": {"ic_lke": {"real": {"shots": 4}}, "karr": {"real": {"models": ["mine"]}}},
        "models": [{"name": name, "path": "/models/mine"} for name in ("mine", "other")],
    }
    assert main(["build", "edition", "--settings", json.dumps(config), "--output", str(tmp_path / "edition.json")]) == 0
    capsys.readouterr()
    assert main(["measure", "model", "--edition", str(tmp_path), "--model", model]) == 1
    assert capsys.readouterr().err == f"almanac measure: --model: {tmp_path} asks no model {model!r}{said}\n"


def test_a_broken_suite_of_another_package_is_named_without_a_traceback(tmp_path):
    (tmp_path / "broken.dist-info").mkdir()
    (tmp_path / "broken.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (tmp_path / "broken.dist-info" / "entry_points.txt").write_text("[almanac.suites]\nbroken = nowhere:Broken\n")
    paths = os.pathsep.join([str(REPOSITORY / "workflow"), str(tmp_path)])
    command = [sys.executable, "-m", "almanac", "ask", "broken", "--help"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths})
    message = "cannot be imported (ModuleNotFoundError: No module named 'nowhere'); fix or uninstall its package"
    assert found.stderr == f"almanac ask: entry point broken = 'nowhere:Broken': {message}\n"
    assert found.returncode == 2


@pytest.mark.parametrize("thing", ["edition", "rebuild"])
def test_several_archives_are_answered_with_what_to_do(thing, capsys):
    assert main(["verify", thing, "a.zip", "b.zip"]) == 1
    message = f"almanac verify: command line: verify {thing} checks one archive, and 2 are given; run it once for each"
    assert capsys.readouterr().err.startswith(message)
    with pytest.raises(SystemExit):
        main(["verify", thing, "--help"])
    usage = capsys.readouterr().out.partition("positional arguments")[0]
    assert "more" not in usage, "the place for several is not offered"


def test_an_interrupt_that_is_raised_twice_is_told_once(monkeypatch, capsys):
    """As where polars raises it, and then Python, which looks for signals when a call into C has ended."""
    raised = functools.partial(ctypes.pythonapi.PyErr_SetNone, ctypes.py_object(KeyboardInterrupt))
    both = (ctypes.pythonapi.PyErr_SetInterrupt, raised)
    monkeypatch.setattr(cli, "_run", lambda *_: [*map(operator.call, both)])
    assert main(["report"]) == 130
    assert capsys.readouterr().err == f"almanac report: {INTERRUPTED}\n"
