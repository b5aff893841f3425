"""A copy of the project in a folder of its own, and runs of it as a user would make them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".venv*", ".real-model", ".snakemake", "results", ".git", ".*_cache", ".hypothesis", "*.pyc.*"
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put the tests that share one run of the workflow on one worker."""
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.workflow)
            if "done" in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group("done"))
    # They take longest, so they begin first: what is short fills the other cores until all is done.
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@dataclass(frozen=True)
class Project:
    """A copy of the project, and where its results lie."""

    root: Path

    @property
    def results(self) -> Path:
        return self.root / "results" / "tiny"

    def environment(self, first: Path | None = None) -> dict[str, str]:
        """The environment of `make demo`: the running Python first on the path, or after a folder of programs."""
        folders = [Path(sys.executable).parent] if first is None else [first, Path(sys.executable).parent]
        tools = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        return os.environ | {"PATH": tools, "PYTHONPATH": str(self.root / "workflow"), "COLUMNS": "200"}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "almanac.locked", "snakemake", *self.flags(*words)]

    @staticmethod
    def flags(*words: str, configuration: str = "tests/data/tiny.yaml") -> list[str]:
        return ["--cores", "2", "--rerun-incomplete", "--configfile", configuration, *words]

    def snakemake(self, *words: str, first: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(*self.command(*words), first=first)

    def almanac(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "almanac", *words)

    def run(self, *words: str, first: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.root, env=self.environment(first), capture_output=True, text=True, timeout=900, check=False
        )

    def hashes(self) -> dict[str, str]:
        """The sha256 of everything that must not depend on when or how often a run was interrupted."""
        folders = ("dataset", "requests", "responses", "outcomes", "measures", "models", "planting", "tables")
        files = [path for folder in folders for path in (self.results / folder).rglob("*") if path.is_file()]
        files.append(self.results / "report.html")
        return {
            str(path.relative_to(self.results)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)
        }


def copy_project(target: Path) -> Project:
    shutil.copytree(REPOSITORY, target, ignore=LEFT_OUT)
    return Project(target)


def shell(command: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run lines of a document as a user would, with settings of the environment."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MODEL", "FACTS"))}
    environment = outside | {"PYTHON": sys.executable} | settings
    return subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )


def installed(root: Path) -> None:
    """Let a clone use the environment of this Python: what is installed already is not installed again."""
    environment = root / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(Path(sys.prefix) / part)
    (environment / "installed").touch()


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """Make another copy that has no results."""
    return lambda: copy_project(tmp_path_factory.mktemp("project") / "almanac")


@pytest.fixture(scope="session")
def done(tmp_path_factory):
    """A copy in which the tiny edition has been built once."""
    project = copy_project(tmp_path_factory.mktemp("project") / "almanac")
    built = project.snakemake()
    assert built.returncode == 0, built.stdout + built.stderr
    return project


@pytest.fixture(scope="session")
def plan(done):
    """Plan a run of the tiny edition's copy: ``plan(flags)`` is what Snakemake prints of a dry run that goes well."""
    words, environment = [sys.executable, "-m", "tests.workflow.planner"], done.environment()
    output = done.root / "planned.txt"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=done.root, env=environment, **pipes) as planner:

        def planned(flags: list[str]) -> str:
            output.write_text("")
            planner.stdin.write(json.dumps([["--nolock", "--dry-run", *flags], str(output)]) + "\n")
            planner.stdin.flush()
            status, text = planner.stdout.readline().strip(), output.read_text("utf-8")
            assert status == "0", text
            return text

        yield planned
        planner.stdin.close()
