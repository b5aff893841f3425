"""Messages of a step while it works: progress, as a bar on a terminal or ten lines in a log, and notes for the user."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

NOTE = "note: "  # prefix of lines in a step's log that the run prints too


def room(path: Path) -> int:
    """Return the free megabytes of a path's disk; quotas are not considered."""
    return int(shutil.disk_usage(path).free / 1e6)


def nothing_in(log: Path) -> str:
    """Return a message that a log is empty, with the free space of its disk, since a full disk may be the reason."""
    return f"{log} is empty, and {room(log)} MB of its disk are free"


def print_notes(notes: Iterable[str]) -> None:
    """Print notes for the user, one line each, although nothing failed; a run prints these lines of a job's log."""
    print("".join(f"{NOTE}{note}\n" for note in notes), end="", file=sys.stderr)


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[..., None]]:
    """Yield a function to call after steps are done: ``done(steps=1, note="", total=None)``.

    Args:
        total: the number of steps; None: the first call gives it, if any.
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
