"""What the process of a command loads, and that nothing of its thrift reaches a process that only imports us."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import almanac
from almanac.rows import Draw
from almanac.tables import write_jsonl

HEAVY = ("torch", "transformers", "pandas", "scipy", "matplotlib", "polars", "snakemake", "openai")
MODEL = {"torch", "transformers", "scipy"}  # transformers takes scipy up where it is there
# As `python -m almanac` does, then the names of what it has loaded.
COMMAND = """
import runpy, sys
try:
    runpy.run_module("almanac", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""


def python(code: str, *words: object, stream: str = "stdout") -> str:
    """Run code in a process of its own; return what it wrote to a stream."""
    environment = os.environ | {"PYTHONPATH": str(Path(almanac.__file__).parents[1])}
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return str(getattr(done, stream))


def loaded(*words: object) -> set[str]:
    """Return what the process of one command has loaded at its end."""
    return set(python(COMMAND, *words).splitlines()[-1].split())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tiny Llama with random weights."""
    import torch
    from tests.models.tiny_networks import llama
    from tests.models.tiny_tokenizers import byte_level

    torch.manual_seed(0)
    folder, words = tmp_path_factory.mktemp("llama"), byte_level()
    llama(len(words)).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def test_what_no_step_may_load_without_need_is_installed_here():
    assert [name for name in HEAVY if importlib.util.find_spec(name) is None] == []


def test_asking_and_measuring_load_no_heavy_package_and_answering_a_models_alone(tmp_path, checkpoint):
    """Loading them takes longer than most steps."""
    item = "karr/paper/facts/born|Ada|London"
    rows = [Draw(item, "template", 0, None, None, "[X] was born in [Y]."), Draw(item, "name", 0, None, None, "Ada")]
    rows += [Draw(item, "object", 0, None, None, "London"), Draw(item, "subject", 1, "zoe", None, "Zoë")]
    rows += [Draw(item, "relation", 1, "lives", "Ada", "[X] lives in [Y].")]
    write_jsonl(tmp_path / "draws.jsonl", rows)
    asked, said = tmp_path / "asked", tmp_path / "said.parquet"
    assert loaded("ask", "karr", "--draws", tmp_path / "draws.jsonl", "--output", asked).isdisjoint(HEAVY)
    files = ("--requests", asked / "requests-0.parquet", "--contexts", asked / "contexts.parquet")
    answered = loaded("answer", "--model", checkpoint, "--device", "cpu", "--threads", 1, *files, "--output", said)
    assert answered & set(HEAVY) <= MODEL
    measured = ("--requests", asked, "--responses", said, "--output", tmp_path / "out")
    assert loaded("measure", "karr", *measured).isdisjoint(HEAVY)
    assert (tmp_path / "out" / "values.jsonl").stat().st_size


@pytest.mark.parametrize("verb", ["pull", "plan", "build", "freeze", "verify"])
def test_a_verb_that_runs_no_model_starts_light(verb):
    assert loaded(verb, "--help").isdisjoint(HEAVY)


def test_the_list_of_verbs_needs_no_tables():
    assert loaded("--help").isdisjoint({*HEAVY, "pyarrow", "numpy", "pydantic"})


def test_recovery_and_agreement_are_computed_without_scipy():
    code = """
import sys
from almanac.statistics.agreement import agreement
from almanac.statistics.recovery import Sample, estimates
sample = Sample((0, 0, 1, 8, 8), (0, 0, 1, 1, 1), (0.1, 0.3, 0.2, 0.4, 0.5), (1, 1, 1, 1, 1))
assert estimates(sample)["recovery_auc"].value and agreement(sample.scores, [True] * 5, sample.doses, 8).tau
print("scipy" in sys.modules)
"""
    assert python(code) == "False\n"


def test_arrow_finds_pandas_in_a_process_that_imports_us():
    """Not so if Arrow had made its first array while pandas was hidden: NaN is then a number, and None an error."""
    code = """
import sys
import almanac.columns, almanac.tables
from almanac.cli import load
load("measure")
assert "pandas" not in sys.modules
import pandas, pyarrow
series = [pandas.Series([1.0, float("nan")]), pandas.Series(["a", None]), pandas.Series([1, None], dtype="Int64")]
print([pyarrow.array(one).null_count for one in series])
"""
    assert python(code) == "[1, 1, 1]\n"


def test_a_commands_own_process_still_turns_tables_into_pandas():
    code = """
import sys
from almanac import __main__
sys.argv = ["almanac", "freeze", "--help"]
try:
    __main__.run()
except SystemExit:
    pass
import pyarrow
assert "pandas" not in sys.modules
table = pyarrow.table({"number": [1, None], "text": ["a", "b"]})
print(pyarrow.Table.from_pandas(table.to_pandas()).column("text").to_pylist())
"""
    assert python(code).splitlines()[-1] == "['a', 'b']"


@pytest.mark.parametrize("collecting", ["enable", "disable"])
def test_garbage_is_collected_as_before(collecting):
    """`main`, which may be called often, freezes nothing; the command's process keeps what it found."""
    code = f"""
import gc, sys
gc.{collecting}()
from almanac import __main__, cli
for call in (cli.main, __main__.run):
    sys.argv = ["almanac", "freeze", "--help"]
    try:
        call()
    except SystemExit:
        pass
    print(gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr)
"""
    on = collecting == "enable"
    assert python(code, stream="stderr") == f"{on} False\n{on} True\n"
