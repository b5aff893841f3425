"""Does answering stay flat in memory? `python -m benchmarks.memory` answers 10,000, 100,000 and 1,000,000 requests.

Each size is one `almanac answer` in a process of its own, on a decoder so small that the work around it is what counts.
Printed are the largest resident memory of the process, its ratio to the smallest size, and requests a CPU second,
starting included.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from almanac import tables
from almanac.rows import Context, Request
from benchmarks.checkpoints import Shape, causal

SIZES = (10_000, 100_000, 1_000_000)
SHAPE = Shape(layers=1, width=32, heads=2, vocabulary=512, length=256)
CHOICES = (" red", " blue", " a green one")
CHUNK = 10_000  # Requests that are made at once.


@dataclass(frozen=True)
class Spent:
    """What a process used: the largest resident memory (MiB), CPU seconds and wall seconds."""

    memory: float
    cpu: float
    wall: float


def requests(start: int, stop: int) -> list[Request]:
    """Return statements with choices, in the order in which `ask` would write them."""
    found = []
    for number in range(start, stop):
        one = Request("", "choices", None, f"The clock with the number {number:08} is", CHOICES)
        found.append(replace(one, request_id=tables.identity(tables.as_dict(one))))
    return found


def write_requests(path: Path, count: int) -> None:
    """Write a request file without holding it."""
    with tables.writing(path, Request) as writer:
        for start in range(0, count, CHUNK):
            writer.add(tables.arrow_of(Request, requests(start, min(start + CHUNK, count))))


# Linux counts the memory of the process that starts another into the other's largest: so a small one starts it.
LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
sys.exit(status != 0)
"""


def measure(command: Sequence[str]) -> Spent:
    """Run a command and return what it used.

    Raises:
        RuntimeError: it fails.
    """
    begun = time.perf_counter()
    launch = [sys.executable, "-S", "-c", LAUNCHER, *command]
    done = subprocess.run(launch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    memory, cpu = map(float, done.stdout.splitlines()[-1].split())
    return Spent(memory / 1024, cpu, time.perf_counter() - begun)


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of requests")
    parser.add_argument("--engine", default="forest", help="as of `almanac answer`")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = causal(folder / "model", [one.text + " ".join(CHOICES) for one in requests(0, 2000)], SHAPE)
        tables.write(folder / "contexts.parquet", Context, [])
        first: Spent | None = None
        print(f"{'requests':>10} {'MiB':>6} {'ratio':>6} {'CPU s':>7} {'wall s':>7} {'requests a CPU s':>17}")
        for count in arguments.sizes:
            write_requests(folder / "requests.parquet", count)
            command = [sys.executable, "-m", "almanac", "answer", "--model", str(model), "--threads", "1"]
            command += ["--engine", arguments.engine, "--requests", str(folder / "requests.parquet"), "--device", "cpu"]
            command += ["--contexts", str(folder / "contexts.parquet"), "--output", str(folder / "responses.parquet")]
            spent = measure(command)
            first = first or spent
            print(
                f"{count:>10,} {spent.memory:>6.0f} {spent.memory / first.memory:>6.2f} {spent.cpu:>7.1f} "
                f"{spent.wall:>7.1f} {count / spent.cpu:>17,.0f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
