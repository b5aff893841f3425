"""Unfinished files and folders: locked while they are written, and removed after their run was killed.

The operating system holds the locks, which end with their process, however it ends. So files that a killed run has left
can be told from files that a process still writes, even if that process has outlived its run.
"""

import fcntl
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

ENDING = ".tmp"
NAME = re.compile(r"\..+\.[a-z0-9_]{8}" + re.escape(ENDING))  # names that `file` and `Folder` give
LOCK = ".lock"  # the lock file in a folder; a file is locked itself
SIGNED = re.compile(r"\d+ on \S+")  # a signature: the process and its machine
NEW = 60  # seconds for which a folder without a lock file may be one that is just being made


def lock(handle: int, wait: bool = False) -> bool | None:
    """Lock an open file until it is closed or the process ends.

    Args:
        handle: the open file.
        wait: wait until another process releases it.

    Returns:
        Whether it is locked now: False if another process has locked it, None if the file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sign(handle: TextIO) -> None:
    """Write this process's signature into a locked file."""
    with suppress(OSError):  # a full disk; the lock holds without it
        os.ftruncate(handle.fileno(), 0)
        os.write(handle.fileno(), f"{signature()}\n".encode())


def signature() -> str:
    """Return the signature of this process: its number and its machine."""
    return f"{os.getpid()} on {socket.gethostname()}"


def signed(handle: TextIO) -> str:
    """Return the signature in a file as " (process …)", to append to a message; empty if there is none."""
    handle.seek(0)
    text = handle.read().strip()
    return f" (process {text})" if SIGNED.fullmatch(text) else ""


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """Yield a new, locked temporary file in the folder of ``path``; it is removed at the end unless it was moved.

    Raises:
        OSError: it cannot be made there.
    """
    name = path.parent / f".{path.name}.{secrets.token_hex(4)}{ENDING}"
    with name.open("xb") as handle:  # `tempfile` would ignore the user's umask and give no rights to others
        try:
            lock(handle.fileno())
            yield name
        finally:
            name.unlink(missing_ok=True)


class Folder(tempfile.TemporaryDirectory[str]):
    """A new temporary folder, next to ``path`` or in the system's folder; it is removed with this object.

    Raises:
        OSError: it cannot be made there.
    """

    def __init__(self, path: Path | None = None) -> None:
        place, name = (path.parent, path.name) if path else (None, "almanac")
        super().__init__(dir=place, prefix=f".{name}.", suffix=ENDING, ignore_cleanup_errors=True)
        self._lock = (Path(self.name) / LOCK).open("a")
        lock(self._lock.fileno())

    def cleanup(self) -> None:
        """Remove the folder with all that is in it."""
        super().cleanup()
        self._lock.close()


@contextmanager
def folder(path: Path | None = None) -> Iterator[Path]:
    """Yield a `Folder`, which is removed at the end."""
    with Folder(path) as name:
        yield Path(name)


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield a new folder, which replaces the one at ``path`` when the block ends without an error.

    Raises:
        OSError: it cannot be made there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with folder(path) as work:
        new = work / "new"
        new.mkdir()
        yield new
        if path.exists():
            path.replace(work / "old")
        new.replace(path)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process at a time make a file: another prints a message and waits until the first ends.

    A killed run may leave jobs running, and the next run would start the same jobs again.

    Raises:
        OSError: nothing can be written there.
    """
    lock_path = path.parent / f".{path.name}.own_lock{ENDING}"  # matches `NAME`, so that it is removed if left behind
    while True:
        with lock_path.open("a+") as handle:
            if lock(handle.fileno()) is False:
                told = f"{path}: another process makes it{signed(handle)}; waiting until that has ended"
                print(told, file=sys.stderr, flush=True)
                lock(handle.fileno(), wait=True)
            if not os.fstat(handle.fileno()).st_nlink:
                continue  # the process that made it has removed it meanwhile: make a new one
            sign(handle)
            try:
                yield
            finally:
                lock_path.unlink(missing_ok=True)
            return


def remove_abandoned(root: Path) -> None:
    """Remove unfinished files of killed runs in a folder (recursively), and in the system's folder of temporary files.

    Files that a process still holds stay, as does everything if the file system has no locks.
    """
    found = [path for path in Path(tempfile.gettempdir()).glob(f".almanac.*{ENDING}") if NAME.fullmatch(path.name)]
    for parent, folders, files in os.walk(root):
        found += [Path(parent) / name for name in (*folders, *files) if NAME.fullmatch(name)]
    for path in found:
        if not _abandoned(path):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _abandoned(path: Path) -> bool:
    held = path / LOCK if path.is_dir() else path
    if path.is_symlink() or not path.exists() or path.lstat().st_uid != os.getuid():
        return False
    try:
        handle = os.open(held, os.O_RDWR)
    except OSError:
        try:
            old = path.lstat().st_mtime < time.time() - NEW
        except FileNotFoundError:
            return False
        return old and not held.exists()  # a folder that was being removed when its run was killed
    try:
        return lock(handle) is True
    finally:
        os.close(handle)
