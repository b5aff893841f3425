"""Shares a machine's GPU cards between processes, with one file lock per card and no server."""

import fcntl
import os
import re
from collections.abc import Sequence
from pathlib import Path


def take(cards: Sequence[str], folder: Path) -> tuple[int, int] | None:
    """Take the first card that no other process has taken.

    The lock is the operating system's lock on an open file: it ends with the process, however that ends.

    Args:
        cards: the names of the cards, the same in every process that can see them.
        folder: the folder of the lock files.

    Returns:
        The index of the card and the open file that locks it; None if all are taken.
    """
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)  # Users of one machine share its cards.
    for index, card in enumerate(cards):
        handle = _open(folder / re.sub(r"\W", "-", card))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return index, handle
        except OSError:
            os.close(handle)
    return None


def _open(path: Path) -> int:
    """Open a lock file for reading, which is enough to lock it and allowed to every user."""
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT)
        os.fchmod(handle, 0o644)  # whatever the user's umask is
        return handle
