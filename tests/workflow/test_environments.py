"""The conda environments: what the lock says, and one run of rules inside one of them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from envs.pins import closure, name_of
from packaging.requirements import Requirement
from tests.sources.test_google_re import write
from tests.workflow.local_conda import make_base

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENTS = sorted((REPOSITORY / "envs").glob("*.yaml"))


def lock():
    lines = (REPOSITORY / "envs" / "lock.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_the_pins_of_an_environment_are_the_locks(path):
    text = path.read_text()
    assert "#" not in text, "a comment would rerun every rule that uses the environment"
    environment = yaml.safe_load(text)
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    pins = next(part["pip"] for part in environment["dependencies"] if isinstance(part, dict))
    assert pins
    assert set(pins) <= lock()


def test_every_rule_names_an_environment_that_is_there():
    named = [
        line.strip().strip('"')
        for rules in (REPOSITORY / "rules").glob("*.smk")
        for line in rules.read_text().splitlines()
        if line.strip().startswith('"../envs/')
    ]
    text = "\n".join(path.read_text() for path in (REPOSITORY / "rules").glob("*.smk"))
    rules = len(re.findall(r"^ *rule( \w+)?:$", text, re.MULTILINE))
    assert len(named) == rules
    assert {Path(name).stem for name in named} == {path.stem for path in ENVIRONMENTS}


def test_all_but_torch_is_installed_by_hash():
    names = {one.split()[0] for one in (REPOSITORY / "envs" / "hashes.txt").read_text().split("\n") if "==" in one}
    assert names == {pin for pin in lock() if not pin.startswith("torch==")}
    assert "--require-hashes -r envs/hashes.txt" in (REPOSITORY / "Makefile").read_text()


def test_the_lock_has_what_the_project_needs_and_nothing_else():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["test"])]
    pins = dict(line.split("==") for line in lock())
    assert set(closure(tuple(one.name for one in wanted))) == set(pins)
    assert [one.name for one in wanted if not one.specifier.contains(pins[name_of(one.name)])] == []
    compared = (REPOSITORY / "benchmarks" / "requirements.txt").read_text("utf-8").splitlines()
    assert {line.partition("==")[0] for line in compared} & set(pins) == set(), "pip would refuse another version"


def bring(pins, folder) -> bool:
    """Whether pip brings these packages into a folder; the run itself then needs no registry, which may be shaky."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), *pins]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.whole
def test_rules_run_inside_a_solved_conda_environment(fresh, tmp_path):
    pytest.importorskip("rattler", reason="py-rattler is not installed")
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the environments ask for python 3.11, and the local channel's python is the running one")
    texts = [(REPOSITORY / "envs" / f"{name}.yaml").read_text() for name in ("tables", "sources")]
    parts = [part for text in texts for part in yaml.safe_load(text)["dependencies"] if isinstance(part, dict)]
    if sys.platform != "linux" or not bring({pin for part in parts for pin in part["pip"]}, tmp_path / "wheels"):
        pytest.skip("no package registry is reached, so pip cannot fill the environment")
    project = fresh()
    (tmp_path / "conda").mkdir()
    commands = make_base(tmp_path / "conda")
    environment = project.environment()
    environment["PATH"] = f"{commands}{os.pathsep}{environment['PATH']}"
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    # A publisher's files that lie there already, so that the environment of sources needs no server.
    write(project.root / "lama")
    config = yaml.safe_load((project.root / "tests" / "data" / "tiny.yaml").read_text())
    config |= {"edition": "conda", "sources": config["sources"] | {"births": {"kind": "google_re", "path": "lama"}}}
    (project.root / "tests" / "data" / "tiny.yaml").write_text(yaml.safe_dump(config))
    results = project.root / "results" / "conda"
    made = ("dataset/shipped/facts.parquet", "sources/births/pull.json")
    words = project.command("--sdm", "conda", "--", *(f"results/conda/{path}" for path in made))
    ran = subprocess.run(
        words, cwd=project.root, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Creating conda environment" in ran.stdout + ran.stderr
    assert all((results / path).is_file() for path in made)
    environments = project.root / ".snakemake" / "conda"
    assert len(list(environments.glob("*/lib/python3*/site-packages/pyarrow"))) == 2
    assert len(list(environments.glob("*/lib/python3*/site-packages/stamina"))) == 1, "what pulling alone needs"
