"""One run at a time in a folder, by locks that die with their process; `python -m almanac.locked snakemake …`.

Snakemake's own lock is a file that outlives a killed run and must then be removed by hand. Here the operating system
holds the locks, from the reading of the Snakefile (`begin`) until Snakemake ends: a second run is refused, however the
two were started, and a run after `kill -9` just goes on. One lock is of the working folder, the other of the edition,
whose folder several working folders may share.
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
PATIENCE = 10  # seconds
ROOM = 2**20  # bytes of a temporary file
KEY = re.compile(r"[a-zA-Z_][\w-]*\w")  # as Snakemake has it
CONFIG = ("--config", "-C")
QUOTES = "'\""
TEXTS = ("model", "facts")  # keys whose values are taken as they are given, where Snakemake reads YAML
RUN = "ALMANAC_RUN"  # in the environment of a run's jobs: how it has signed its locks
MADE = "ALMANAC_EDITION"  # in the environment of a run: the flags by which `report` says what it has made
# Flags of Snakemake with which it only shows something, or takes its own lock away.
SHOWS = (
    *("--list-rules", "--list", "-l", "--list-target-rules", "--lt", "--list-conda-envs", "--list-changes", "--lc"),
    *("--list-input-changes", "--li", "--list-params-changes", "--lp", "--list-untracked", "--lu", "--lint"),
    *("--dag", "--rulegraph", "--filegraph", "--d3dag", "--summary", "-S", "--detailed-summary", "-D", "--report"),
    *("--print-compilation", "--containerize", "--generate-unit-tests", "--unlock"),
)
EXPECTED: dict[str, float] = {}  # seconds of a job of each rule, as planned: by these the logger says what is left
TARGETS: list[str] = []  # what this run can be asked for, of which a misspelt target may mean one
_held: list[object] = []  # the open lock files, until this process ends


def begin(command: Sequence[str], edition: Path) -> bool:
    """Lock the working folder and the edition for this process, and remove what killed runs have left unfinished.

    Args:
        command: Snakemake's arguments; one that only shows something locks nothing.
        edition: the folder of the edition, below that of all results.

    Returns:
        Whether both are locked, for a run.

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
    """Look at whether a job that starts now, as one of a cluster may late, is of the run that was the last to begin.

    Raises:
        AlmanacError: another run has begun since the job's own was killed, and may ask something else.
    """
    own, path = os.environ.get(RUN), edition / unfinished.LOCK
    last = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else own
    if own and last and own != last:
        raise AlmanacError(
            f"this job is of a run that was killed (process {own}), after which another has begun in {edition} "
            f"(process {last}); nothing was done: the new run does what is needed"
        )


def _lock(path: Path, what: str) -> TextIO:
    """Return a file that is open and locked; ``what`` says what it stands for."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+", encoding="utf-8", errors="replace")
        process = unfinished.signed(handle)
    except OSError as error:
        raise AlmanacError(f"{path}: cannot be written ({error.strerror}); use a folder of your own") from error
    for attempt in range(PATIENCE * 10):  # for a run that was just killed and whose processes are not all gone yet
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
    """Return what is wrong with a command that Snakemake would answer with a traceback, or pass over; or none.

    That is a configuration file that cannot be read as one, a word that is no KEY=VALUE (`mistake_in_word`), a second
    `--config`, and a flag after which every run would make everything again.
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
        return "--drop-metadata: by what Snakemake remembers a run knows its results from others; leave it out"
    if len(given.config) > 1:
        return "--config is given twice, and Snakemake reads the last alone; give all of KEY=VALUE behind one"
    return next((said for words in given.config for word in words if (said := mistake_in_word(word))), None)


def mistake_in_word(word: str) -> str | None:
    """Return what is wrong with a word after `--config`, which is to be KEY=VALUE; or none."""
    key, equals, value = word.partition("=")
    if equals and KEY.fullmatch(key):
        return None
    first, *inner = key.split(".")
    if not (equals and inner and all(inner) and KEY.fullmatch(first)):
        return f"--config: {word!r} is no KEY=VALUE; give one like shards=4"
    for part in reversed(inner):
        value = f"{{{part}: {value}}}"
    return (
        f"--config: {word!r} has keys with dots between; write the inner ones in braces: {first}={shlex.quote(value)}"
    )


def as_given(word: str) -> str:
    """Return a KEY=VALUE of which Snakemake reads the text that was given, where its key is one of `TEXTS`.

    In YAML what follows " #" is a comment, and 0100 is a number. A text that is in quotes may be YAML's, and stays.
    """
    key, _, value = word.partition("=")
    if key not in TEXTS or not value or (value[0] == value[-1] and value[0] in QUOTES):
        return word
    try:
        read = yaml.load(value, yaml.BaseLoader)
    except yaml.YAMLError:
        read = value  # as Snakemake has it
    if read == value == value.strip(QUOTES) and value not in ("True", "False") and not _is_number(value):
        return word
    quoted = yaml.dump(value, default_style='"', allow_unicode=True, width=math.inf).rstrip()
    return f"{key}=!!str {quoted} #"  # Snakemake takes away quotes at both ends


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_given(command: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, with those after `--config` as they were given."""
    setting = False
    for word in command:
        setting = word in CONFIG if word.startswith("-") else setting
        yield as_given(word) if setting else word


def stop_in_a_thread() -> None:
    """Let what answers a SIGTERM in this process run in a thread of its own.

    Snakemake's answer waits for a lock. A signal is answered in the midst of what the main thread does, which may hold
    just that lock: then it would wait for itself, and the run would neither go on nor end.
    """
    answer = signal.getsignal(signal.SIGTERM)
    if callable(answer):
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=answer, daemon=True).start())


def main(command: Sequence[str]) -> int:
    """Run a Snakemake command without Snakemake's own lock and return its exit status.

    The values of `TEXTS` reach it as they are given.

    SIGTERM is passed on to Snakemake, which starts no further job and waits for those at work. SIGHUP is passed on as
    SIGTERM too: at a SIGHUP Snakemake would leave its jobs behind.

    Returns:
        Snakemake's; 128 and the signal's number where a signal ended it, or Ctrl-C, at which it says 0; 1 where
        `mistake_in` finds a mistake, or no temporary file can be written.
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
            # Ctrl-C reaches Snakemake too, which takes seconds to end its jobs, on a cluster above all.
            interrupted = 128 + signal.SIGINT


def _keep_cache() -> None:
    """Let Snakemake keep its cache in the working folder, where the user's own cannot be written (no home folder)."""
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
    """Return what is wrong with the folder of temporary files, which Snakemake's scheduler writes too; or none."""
    folder = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=folder if folder.is_dir() else None) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        return f"{folder}: no temporary file can be written there ({error.strerror}); set TMPDIR to a folder with room"
    return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
