"""Do the tests notice a changed program? Seeded changes by cosmic-ray, each held against the tests of its package.

.venv-mutation/bin/python -m benchmarks.mutation --mutants 300 --seed 1          # hours; envs/mutation.txt
.venv-mutation/bin/python -m benchmarks.mutation --mutants 20 --packages statistics dataset

A mutant is a comparison turned, a number changed by one, `and` for `or`, a `not` added, a sum for a difference or the
like, of code that runs (annotations are left alone). All are numbered by a hash of the seed and of what they change, so
that fewer are the first of more. A copy of the working tree is changed, never the tree itself. The tests named after
the module run first, then those of its folder, until one fails; whole runs (`make test-all`) are not tried. What
exceeds the limit of CPU seconds is counted apart, neither as caught nor as missed. The exit status is 1 where fewer are
caught than the bar.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("workflow/almanac")
PACKAGES = ("suites", "statistics", "dataset", "sources", "models/scoring")
KINDS = (
    *("ReplaceComparisonOperator_", "NumberReplacer", "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not"),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul")),
)
WALL = 20  # wall seconds for each CPU second that a mutant's tests may take: a busy machine is no hanging test
OUT_OF_TIME = ("timeout", "CPU time limit")


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


def command(module: Path, python: str, limit: int) -> str:
    """Return the command that runs a module's tests until one fails, for so many CPU seconds at most."""
    words = [
        python,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not whole",
        *map(str, tests_of(module)),
    ]
    return shlex.join(["bash", "-c", f"ulimit -t {limit}; exec {shlex.join(words)}"])


def judged(mutation: MutationSpec, python: str, limit: int) -> tuple[str, str]:
    """Return what becomes of a mutant, and how it differs."""
    result = mutate_and_test([mutation], command(mutation.module_path, python, limit), limit * WALL)
    output, diff = result.output or "", result.diff or ""
    if result.test_outcome is None or result.worker_outcome.value != "normal":
        return "failed", output
    killed_by_time = output == OUT_OF_TIME[0] or (result.is_killed and "failed" not in output and "error" not in output)
    if killed_by_time:
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
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"), help="that runs the tests [.venv's]")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="almanac-mutation-") as name:
        copy(Path(name))
        os.chdir(name)
        os.environ["PYTHONPATH"] = f"{name}/workflow"
        found = mutants(arguments.packages, arguments.seed)
        drawn = found[arguments.start : arguments.mutants]
        print(f"{len(found)} mutants, of which {len(drawn)} are tried", flush=True)
        counts: Counter[str] = Counter()
        for number, mutation in enumerate(drawn, arguments.start):
            outcome, more = judged(mutation, arguments.python, arguments.limit)
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
