"""One run at a time in a folder, by locks that end with their process; `python -m almanac.locked snakemake …`.

Snakemake's own lock is a file that outlives a killed run and must then be removed by hand. Here the operating system
holds the locks, from the reading of the Snakefile (`begin`) until Snakemake ends. A second run is refused, however the
two were started, and a run after `kill -9` simply resumes. One lock is for the working folder, the other for the
edition, whose folder several working folders may share.
"""

import argparse
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import yaml

from almanac import unfinished
from almanac.errors import AlmanacError
from almanac.yaml_file import read_yaml

LOCK = Path(".snakemake/almanac.lock")
PATIENCE = 10  # seconds to wait for another run's lock
ROOM = 2**20  # bytes of the temporary file that `_no_room` tries to write
KEY = re.compile(r"[a-zA-Z_][\w-]*\w")  # Snakemake's pattern of a key
CONFIG = ("--config", "-C")
QUOTES = "'\""
TEXTS = ("model", "facts")  # keys whose values are taken literally, where Snakemake would read them as YAML
RUN = "ALMANAC_RUN"  # environment variable of a run's jobs: the signature of its locks
MADE = "ALMANAC_EDITION"  # environment variable of a run: flags for the summary that `report` prints at its end
# Flags with which Snakemake only prints something, or removes its own lock.
SHOWS = (
    *("--list-rules", "--list", "-l", "--list-target-rules", "--lt", "--list-conda-envs", "--list-changes", "--lc"),
    *("--list-input-changes", "--li", "--list-params-changes", "--lp", "--list-untracked", "--lu", "--lint"),
    *("--dag", "--rulegraph", "--filegraph", "--d3dag", "--summary", "-S", "--detailed-summary", "-D", "--report"),
    *("--print-compilation", "--containerize", "--generate-unit-tests", "--unlock"),
)
EXPECTED: dict[str, float] = {}  # estimated seconds of a job, by rule: the logger uses them for the remaining time
TARGETS: list[str] = []  # the targets of this run, to suggest one for a misspelt target
_held: list[object] = []  # the open lock files, until this process ends


def begin(command: Sequence[str], edition: Path) -> bool:
    """Lock the working folder and the edition for this process, and remove unfinished files of killed runs.

    Args:
        command: Snakemake's arguments; a command that only prints something locks nothing.
        edition: the edition's folder, in the folder of all results.

    Returns:
        Whether both are locked, so that this process is a run.

    Raises:
        AlmanacError: another run has locked one of them, or a lock file cannot be made.
    """
    if _held or any(word.partition("=")[0] in SHOWS for word in command):
        return bool(_held)
    _held.extend([_lock(LOCK, "this folder"), _lock(edition / unfinished.LOCK, str(edition))])
    os.environ[RUN] = unfinished.signature()
    unfinished.remove_abandoned(edition.parent)
    return True


def check_run(edition: Path) -> None:
    """Check that a job belongs to the last run that has begun: on a cluster, a job may start long after its run.

    Raises:
        AlmanacError: the job's run was killed and another has begun since, which may ask something else.
    """
    own_run, path = os.environ.get(RUN), edition / unfinished.LOCK
    last_run = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else own_run
    if own_run and last_run and own_run != last_run:
        raise AlmanacError(
            f"this job belongs to a run that was killed (process {own_run}), and another run has begun since in "
            f"{edition} (process {last_run}); nothing was done: the new run does what is needed"
        )


def _lock(path: Path, what: str) -> TextIO:
    """Open and lock a file; ``what`` names in messages the folder that it locks."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+", encoding="utf-8", errors="replace")
        process = unfinished.signed(handle)
    except OSError as error:
        raise AlmanacError(f"{path}: cannot be written ({error.strerror}); use a folder of your own") from error
    for attempt in range(PATIENCE * 10):  # wait in case a run was just killed and its last processes are ending
        locked = unfinished.lock(handle.fileno())
        if locked is not False:
            break
        if not attempt:
            print(f"almanac: another run is at work in {what}{process}; waiting {PATIENCE} s", file=sys.stderr)
        time.sleep(0.1)
    else:
        raise AlmanacError(f"another run is at work in {what}{process}; wait for it, or stop it")
    unfinished.sign(handle)
    if locked is None:
        print(
            f"almanac: {path}: this file system has no locks, so that a second run in {what} is not refused and "
            f"unfinished files of killed runs stay (results/**/.*{unfinished.ENDING}); start one run at a time",
            file=sys.stderr,
        )
    return handle


def mistake_in(command: Sequence[str]) -> str | None:
    """Return a mistake in a command that Snakemake would ignore or answer with a traceback; None if there is none.

    Mistakes are an unreadable configuration file, a word that is no KEY=VALUE (`mistake_in_word`), a second `--config`,
    and `--drop-metadata`, after which every run would make everything again.
    """
    flags = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    flags.add_argument("--configfile", "--configfiles", type=Path, nargs="*", action="extend", default=[])
    flags.add_argument(*CONFIG, nargs="*", action="append", default=[])
    given, _ = flags.parse_known_args(command)
    try:
        for path in given.configfile:
            read_yaml(path)
    except AlmanacError as error:
        return str(error)
    if "--drop-metadata" in command:
        return "--drop-metadata: a run needs Snakemake's metadata to know its own results; leave it out"
    if len(given.config) > 1:
        return "--config is given twice, and Snakemake reads the last alone; give all of KEY=VALUE behind one"
    return next((said for words in given.config for word in words if (said := mistake_in_word(word))), None)


def mistake_in_word(word: str) -> str | None:
    """Return what is wrong with a word after `--config`, which must be KEY=VALUE; None if nothing is."""
    key, equals, value = word.partition("=")
    if equals and KEY.fullmatch(key):
        return None
    first, *inner = key.split(".")
    if not (equals and inner and all(inner) and KEY.fullmatch(first)):
        return f"--config: {word!r} is no KEY=VALUE; give one like shards=4"
    for part in reversed(inner):
        value = f"{{{part}: {value}}}"
    return f"--config: {word!r} has dots in its key; write the inner keys in braces: {first}={shlex.quote(value)}"


def as_given(word: str) -> str:
    """Quote the value of a KEY=VALUE, if its key is one of `TEXTS`, so that Snakemake reads it literally.

    In YAML " #" starts a comment, and 0100 is a number. A value in quotes may already be YAML, and is not changed.
    """
    key, _, value = word.partition("=")
    if key not in TEXTS or not value or (value[0] == value[-1] and value[0] in QUOTES):
        return word
    try:
        read = yaml.load(value, yaml.BaseLoader)
    except yaml.YAMLError:
        read = value  # as Snakemake does
    if read == value == value.strip(QUOTES) and value not in ("True", "False") and not _is_number(value):
        return word
    quoted = yaml.dump(value, default_style='"', allow_unicode=True, width=math.inf).rstrip()
    return f"{key}=!!str {quoted} #"  # no quote at either end, where Snakemake would strip it


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_given(command: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, with the values after `--config` quoted by `as_given`."""
    setting = False
    for word in command:
        setting = word in CONFIG if word.startswith("-") else setting
        yield as_given(word) if setting else word


def stop_in_a_thread() -> None:
    """Run this process's handler of SIGTERM in a thread of its own.

    Snakemake's handler waits for a lock. Handlers interrupt the main thread, which may hold that very lock: then it
    would wait for itself, and the run would neither continue nor end.
    """
    answer = signal.getsignal(signal.SIGTERM)
    if callable(answer):
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=answer, daemon=True).start())


def main(command: Sequence[str]) -> int:
    """Run a Snakemake command without Snakemake's own lock and return its exit status.

    The values of `TEXTS` are passed literally.

    SIGTERM is passed on to Snakemake, which starts no further jobs and waits for the running ones. SIGHUP is passed on
    as SIGTERM too: at a SIGHUP Snakemake would leave its jobs behind.

    Returns:
        Snakemake's exit status; 128 plus the signal's number if a signal or Ctrl-C ended it (after Ctrl-C Snakemake
        returns 0); 1 if `mistake_in` finds a mistake, or no temporary file can be written.
    """
    _keep_cache()
    if (mistake := mistake_in(command) or _no_room()) is not None:
        print(f"almanac: {mistake}", file=sys.stderr)
        return 1
    begins = 3 if command[1:2] == ["-m"] else 1
    run = subprocess.Popen([*command[:begins], "--nolock", *_as_given(command[begins:])])
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda *_: run.terminate())
    interrupted = 0
    while True:
        try:
            status = run.wait()
            return 128 - status if status < 0 else status or interrupted
        except KeyboardInterrupt:
            # Ctrl-C reaches Snakemake too, which may take seconds to end its jobs, above all on a cluster.
            interrupted = 128 + signal.SIGINT


def _keep_cache() -> None:
    """Move Snakemake's cache to the working folder if the user's cannot be written (there may be no home folder)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        cache = cache.expanduser()
        cache.mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK)
    except (OSError, RuntimeError):  # no folder can be made, or no home is known
        writable = False
    if not writable:
        os.environ["XDG_CACHE_HOME"] = str(LOCK.parent.resolve() / "cache")


def _no_room() -> str | None:
    """Return an error message if no temporary file can be written, as Snakemake's scheduler must; else None."""
    folder = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=folder if folder.is_dir() else None) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        return f"{folder}: no temporary file can be written there ({error.strerror}); set TMPDIR to a folder with room"
    return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
