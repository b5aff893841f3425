"""What steps say while they work: progress, as a bar on a terminal and ten lines in a log, and notes for the user."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

NOTE = "note: "  # a line of a step's log that begins so is printed by the run too


def room(path: Path) -> int:
    """Return how many megabytes of a path's disk are free; a quota that is used up is not seen."""
    return int(shutil.disk_usage(path).free / 1e6)


def nothing_in(log: Path) -> str:
    """Return that a log is empty, and how much of its disk is free: on a full one a job can write nothing."""
    return f"{log} is empty, and {room(log)} MB of its disk are free"


def print_notes(notes: Iterable[str]) -> None:
    """Print what the user should know although nothing failed, a line each; a run prints these lines of a job's log."""
    print("".join(f"{NOTE}{note}\n" for note in notes), end="", file=sys.stderr)


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[..., None]]:
    """Yield a callable that is told of steps done: ``done(steps=1, note="", total=None)``.

    Args:
        total: how many steps there will be; if none, the first call says so.
        what: the name of the steps.
    """
    with tqdm(total=total, desc=what, disable=None) as bar:
        reached, expected = 0, total or 0

        def done(steps: int = 1, note: str = "", total: int | None = None) -> None:
            nonlocal reached, expected
            bar.total = expected = total or expected
            before, reached = reached, reached + steps
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(steps)
            if bar.disable and expected and reached * 10 // expected > before * 10 // expected:
                print(f"{what}: {reached} of {expected} {note}".rstrip(), file=sys.stderr, flush=True)

        yield done
