"""Run Snakemake with a lock that dies with its process: `python -m almanac.locked snakemake …`.

Snakemake's own lock is a file that outlives a killed run and must then be removed by hand. Here the operating system
holds the lock, so a second run beside the first is refused, and a run after `kill -9` just goes on.
"""

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from almanac.errors import no_configuration

LOCK = Path(".snakemake/almanac.lock")
PATIENCE = 10  # seconds


def _taken(handle: TextIO) -> bool:
    """Take the lock; wait a little for a run that was just killed and whose processes are not all gone yet."""
    for _ in range(PATIENCE * 10):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            time.sleep(0.1)
    return False


def _given(command: Sequence[str], *flags: str) -> Iterator[str]:
    """Yield what stands behind some flags of a Snakemake command."""
    named = False
    for word in command:
        flag, sign, value = word.partition("=")
        if word.startswith("-"):
            named = flag in flags
            if named and sign:
                yield value
        elif named:
            yield word


def mistake_in(command: Sequence[str]) -> str | None:
    """Return what is wrong with a command that Snakemake would answer with a traceback, or pass over; or none.

    That is a configuration file that is not there, a word that is no KEY=VALUE, and a second `--config`.
    """
    for path in map(Path, _given(command, "--configfile", "--configfiles")):
        if not path.is_file():
            return no_configuration(path)
    if sum(word in ("--config", "-C") for word in command) > 1:
        return "--config is given twice, and Snakemake reads the last alone; give all of KEY=VALUE behind one"
    bare = next((word for word in _given(command, "--config", "-C") if "=" not in word), None)
    return None if bare is None else f"--config: {bare!r} is no KEY=VALUE; give one like shards=4"


def main(command: Sequence[str]) -> int:
    """Run a Snakemake command under the lock and return its exit status.

    Returns:
        Snakemake's; 1 where another run holds the lock, or where `mistake_in` finds one.
    """
    if (mistake := mistake_in(command)) is not None:
        print(f"almanac: {mistake}", file=sys.stderr)
        return 1
    try:
        LOCK.parent.mkdir(exist_ok=True)
        handle = LOCK.open("a")
    except OSError as error:
        print(f"almanac: {LOCK}: cannot be written ({error.strerror}); use a folder of your own", file=sys.stderr)
        return 1
    with handle:
        if not _taken(handle):
            print("almanac: another run is at work in this folder; wait for it, or stop it", file=sys.stderr)
            return 1
        # Snakemake inherits the handle: the lock lasts as long as either of the two lives.
        run = subprocess.Popen([*command[:1], "--nolock", *command[1:]], pass_fds=[handle.fileno()])
        while True:
            try:
                return run.wait()
            except KeyboardInterrupt:
                pass  # Ctrl-C reaches Snakemake too, which takes seconds to end its jobs, on a cluster above all.


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
