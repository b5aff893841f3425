"""Do the tests notice a changed program? Seeded changes by cosmic-ray, each held against the tests that run its line.

.venv-mutation/bin/python -m benchmarks.mutation --trace traced.json                       # once; half an hour
.venv-mutation/bin/python -m benchmarks.mutation --traced traced.json --mutants 300 --seed 1             # hours
.venv-mutation/bin/python -m benchmarks.mutation --traced traced.json --mutants 20 --packages statistics dataset

A mutant is a comparison turned, a number changed by one, `and` for `or`, a `not` added, a sum for a difference or the
like, of code that runs (annotations are left alone). All are numbered by a hash of the seed and of what they change,
so that fewer are the first of more. A copy of the working tree is changed, never the tree itself. The tests that run
the changed line are tried, the shortest first, until one fails or so many CPU seconds of them have passed; without a
trace, and for what runs at import, the tests named after the module and those of its folder; and the check that the
documents have the options as they are. Whole runs (`make test-all`) are not tried. What exceeds the limit of CPU
seconds is counted apart, neither as caught nor as missed. The exit status is 1 where fewer are caught than the bar.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("workflow/almanac")
PACKAGES = ("suites", "statistics", "dataset", "sources", "models/scoring")
TESTS = tuple(f"tests/{name}" for name in ("dataset", "models", "report", "sources", "statistics", "suites"))
KINDS = (
    *("ReplaceComparisonOperator_", "NumberReplacer", "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not"),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul")),
)
TRIED = 60.0  # CPU seconds of the tests that are tried, by what they took when they were traced
WALL = 4  # wall seconds for each CPU second that a mutant's tests may take: a busy machine is no hanging test
OUT_OF_TIME = "CPU time limit exceeded"  # as bash says it


def copy(folder: Path) -> None:
    """Copy what git tracks, and what is new and not ignored, as it lies in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def mutants(packages: Sequence[str], seed: int) -> list[MutationSpec]:
    """Return the mutations of some packages, of the tree in the working folder, in the order of the seed."""
    operators = {name: get_operator(name)() for name in operator_names() if name.partition("/")[2].startswith(KINDS)}
    wanted = []
    for path in (path for package in packages for path in sorted((SOURCE / package).rglob("*.py"))):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name, operator in operators.items():
            places = (place for node in nodes for place in operator.mutation_positions(node))
            wanted += [MutationSpec(path, name, at, *place) for at, place in enumerate(places)]
    return sorted(
        wanted,
        key=lambda one: hashlib.sha256(
            f"{seed} {one.module_path} {one.operator_name} {one.occurrence}".encode()
        ).digest(),
    )


def tests_of(module: Path) -> list[Path]:
    """Return the tests of a module: the file of its name, if there is one, and its folder's, or the nearest above."""
    folder = Path("tests") / module.relative_to(SOURCE).parent
    while not folder.is_dir():
        folder = folder.parent
    own = folder / f"test_{module.stem}.py"
    whole = [folder] if folder != Path("tests/suites") else sorted(folder.glob("test_*.py"))
    return [*([own] if own.is_file() else []), *whole]


@dataclass
class Traced:
    """Which tests run which lines.

    Attributes:
        seconds: CPU seconds by test.
        lines: by file and line (as JSON has it, in letters) the tests.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def of(cls, parts: Sequence[Mapping[str, Any]]) -> "Traced":
        """Join what several processes noted."""
        seconds: dict[str, float] = {}
        lines: dict[str, dict[str, list[str]]] = {}
        for part in parts:
            seconds |= part["seconds"]
            for file, own in part["lines"].items():
                for line, names in own.items():
                    known = lines.setdefault(file, {}).setdefault(line, [])
                    known += [name for name in names if name not in known]
        return cls(seconds, lines)

    def tests(self, mutation: MutationSpec) -> list[str]:
        """Return the tests that run a changed line, the shortest first, up to some CPU seconds."""
        own = self.lines.get(str(mutation.module_path), {})
        lines = range(mutation.start_pos[0], mutation.end_pos[0] + 1)
        found, total = [], 0.0
        for name in sorted({name for line in lines for name in own.get(str(line), ())}, key=self._cost):
            total += self.seconds[name]
            if found and total > TRIED:
                break
            found.append(name)
        return found

    def _cost(self, name: str) -> tuple[float, str]:
        return round(self.seconds[name], 1), name


def trace(path: Path, python: str) -> None:
    """Run the tests and write which of them run which lines."""
    with tempfile.TemporaryDirectory() as name:
        # The tests' environment has no `coverage`; this one's is shown to it, alone.
        (Path(name) / "coverage").symlink_to(Path(coverage.__file__).parent)
        places = [name, str(ROOT), str(ROOT / "workflow"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
        words = [
            "-m",
            "pytest",
            "-n",
            "2",
            "-m",
            "not whole",
            "-p",
            "benchmarks.tracing",
            "--notes",
            f"{name}/notes",
            *TESTS,
        ]
        subprocess.run([python, *words], cwd=ROOT, env=environment, check=False)
        parts = [json.loads(one.read_text("utf-8")) for one in sorted(Path(name).glob("notes.*"))]
    found = Traced.of(parts)
    path.write_text(json.dumps({"seconds": found.seconds, "lines": found.lines}), "utf-8")
    print(f"{path}: {len(found.seconds)} tests run lines of {len(found.lines)} files")


def command(tests: Sequence[str], python: str, limit: int) -> str:
    """Return the command that runs tests until one fails, then the check of the options' documents, within a limit."""
    words = [python, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not whole", *tests]
    lines = ["exec 2>&1", f"ulimit -S -t {limit}", shlex.join(words)]
    if (SOURCE / "schema.py").is_file():
        lines.append(shlex.join([python, "-m", "almanac.schema", "--check"]))
    lines.append("true")  # Without it bash becomes its last command, and cannot say why that ended.
    return shlex.join(["bash", "-e", "-c", "\n".join(lines)])


def judged(mutation: MutationSpec, python: str, limit: int, traced: Traced | None = None) -> tuple[str, str]:
    """Return what becomes of a mutant, and how it differs."""
    tests = (traced.tests(mutation) if traced else []) or list(map(str, tests_of(mutation.module_path)))
    result = mutate_and_test([mutation], command(tests, python, limit), limit * WALL)
    output, diff = result.output or "", result.diff or ""
    if result.test_outcome is None or result.worker_outcome.value != "normal" or "ERROR: not found" in output:
        return "failed", output
    if output == "timeout" or OUT_OF_TIME in output:
        return "out of time", diff
    return ("caught" if result.is_killed else "missed"), diff


def main(words: Sequence[str] | None = None) -> int:
    """Change, test and count; print what was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=300, help="how many are drawn [300]")
    parser.add_argument("--start", type=int, default=0, help="how many of the first are left out [0]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [1]")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, metavar="PACKAGE", help=" ".join(PACKAGES))
    parser.add_argument("--limit", type=int, default=300, help="CPU seconds of a mutant's tests [300]")
    parser.add_argument("--bar", type=float, default=0.9, help="share that must be caught [0.9]")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="run the tests and note which lines they run")
    parser.add_argument("--traced", type=Path, metavar="FILE", help="such notes")
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"), help="that runs the tests [.venv's]")
    arguments = parser.parse_args(words)
    if arguments.trace:
        trace(arguments.trace, arguments.python)
        return 0
    traced = Traced.of([json.loads(arguments.traced.read_text("utf-8"))]) if arguments.traced else None
    with tempfile.TemporaryDirectory(prefix="almanac-mutation-") as name:
        copy(Path(name))
        os.chdir(name)
        os.environ["PYTHONPATH"] = f"{name}/workflow"
        found = mutants(arguments.packages, arguments.seed)
        drawn = found[arguments.start : arguments.mutants]
        print(f"{len(found)} mutants, of which {len(drawn)} are tried", flush=True)
        counts: Counter[str] = Counter()
        for number, mutation in enumerate(drawn, arguments.start):
            outcome, more = judged(mutation, arguments.python, arguments.limit, traced)
            counts[outcome] += 1
            place = f"{mutation.module_path}:{mutation.start_pos[0]}"
            print(f"{number} {outcome}: {place} {mutation.operator_name.removeprefix('core/')}", flush=True)
            if outcome != "caught":
                print(more, flush=True)
        os.chdir(ROOT)
    known = counts["caught"] + counts["missed"]
    said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    print(f"{said}; caught {counts['caught'] / known:.1%} of {known}" if known else said)
    return int(not known or counts["caught"] / known < arguments.bar)


if __name__ == "__main__":
    sys.exit(main())
