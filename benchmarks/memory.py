"""Does answering stay flat in memory? `python -m benchmarks.memory` answers 10,000, 100,000 and 1,000,000 requests.

Each size is one `almanac answer` in a process of its own, on a decoder so small that the work around it is what counts.
Printed are the largest resident memory of the process, requests a second, and both as ratios to the smallest size.
"""

import argparse
import os
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
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        parts = []
        for start in range(0, count, CHUNK):
            parts.append(Path(name) / f"{start:09}.parquet")
            tables.write(parts[-1], Request, requests(start, min(start + CHUNK, count)))
        tables.join(path, Request, parts)


def measure(command: Sequence[str]) -> Spent:
    """Run a command and return what it used.

    Raises:
        RuntimeError: it fails.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(said)
    return Spent(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, time.perf_counter() - begun)


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
        print(f"{'requests':>10} {'MiB':>8} {'ratio':>6} {'CPU s':>8} {'wall s':>8} {'a CPU s':>8} {'ratio':>6}")
        for count in arguments.sizes:
            write_requests(folder / "requests.parquet", count)
            command = [sys.executable, "-m", "almanac", "answer", "--model", str(model), "--threads", "1"]
            command += ["--engine", arguments.engine, "--requests", str(folder / "requests.parquet"), "--device", "cpu"]
            command += ["--contexts", str(folder / "contexts.parquet"), "--output", str(folder / "responses.parquet")]
            spent = measure(command)
            first = first or spent
            slower = spent.cpu / count / (first.cpu / arguments.sizes[0])
            print(
                f"{count:>10,} {spent.memory:>8.0f} {spent.memory / first.memory:>6.2f} {spent.cpu:>8.1f} "
                f"{spent.wall:>8.1f} {count / spent.cpu:>8.0f} {1 / slower:>6.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
