"""The one error of the package: a message for the person who runs Almanac, without a traceback."""

import difflib
import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from almanac.project import PROJECT

INSTEAD = "with `almanac run` --config in the place of ARGS="  # follows a remedy that uses `make`

INTERRUPTED = "interrupted; run the same command again to go on"


class AlmanacError(Exception):
    """Bad input, worded for the user.

    The message names the file, row or key, says what was found and what is allowed, and ends with what to do. The
    command line prints it without a traceback and exits with 1, or with 2 if the verb's 1 means something else
    (`differences`) or an installed suite cannot be loaded.
    """


def refuse(mistakes: Sequence[str], most: int = 20) -> None:
    """Raise an error with one line per mistake, of which at most ``most`` are shown; do nothing if there are none.

    Raises:
        AlmanacError: there are mistakes.
    """
    if mistakes:
        more = [f"… and {len(mistakes) - most} more"] if len(mistakes) > most else []
        raise AlmanacError("\n".join([*mistakes[:most], *more]))


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Add a note to any error raised in the block that says where it occurred, such as in which suite."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise


def disk_full(error: BaseException, path: object = None) -> str | None:
    """Return a message if the error is a full disk, else None; polars' errors say so only in their text."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error)
    where = path or getattr(error, "filename", None)
    named = f" ({where})" if where else ""
    return f"the disk is full{named}; free some space and run the same command again" if full else None


def nearest(path: Path, there: Iterable[Path]) -> str:
    """Return "; did you mean …?" with the path whose name is most similar to that of ``path``, or "" if none is."""
    by_name = {one.name: one for one in sorted(there) if one != path}
    found = difflib.get_close_matches(path.name, by_name, 1, 0.7)  # "nofile.csv" is no "profiles"
    return f"; did you mean {by_name[found[0]]}?" if found else ""


def where_from(path: Path) -> str:
    """Return " in FOLDER" with the working folder for a relative path, "" for an absolute one."""
    return "" if path.is_absolute() else f" in {Path.cwd()}"


def did_you_mean(name: str, there: Collection[str]) -> str:
    """Return "; did you mean …?" with the most similar name, or else "; there are …" with all names."""
    found = difflib.get_close_matches(name, sorted(there), 1)
    return f"; did you mean {found[0]}?" if found else f"; there are {', '.join(sorted(there)) or 'none'}"


def unclosed(value: object) -> str:
    """Return "; its braces do not close …" for a text that starts with an unclosed brace or bracket; else ""."""
    text = value.strip() if isinstance(value, str) else ""
    for name, left, right in (("braces", "{", "}"), ("brackets", "[", "]")):
        opened, closed = text.count(left), text.count(right)
        if text.startswith(("{", "[")) and opened != closed:
            return f"; its {name} do not close: {opened} {left} and {closed} {right}"
    return ""


def no_such(path: Path, what: str) -> str:
    """Return a message that a file or folder does not exist, with the most similar name in the same folder."""
    meant = nearest(path, path.parent.iterdir() if path.parent.is_dir() else ())
    return f"there is no {what} {path}{meant or where_from(path) + '; correct its path'}"


def no_configuration(path: Path) -> str:
    """Return a message that a configuration file does not exist, with the file that has the most similar name."""
    project_config = PROJECT / "config"
    folders = dict.fromkeys((project_config, path.parent, Path("config")))  # later folders take precedence
    there = {one.stem: one for folder in folders for one in sorted(folder.glob("*.y*ml"))}  # all have the same ending
    there = {stem: Path("config", one.name) if one.parent == project_config else one for stem, one in there.items()}
    found = difflib.get_close_matches(path.stem, there, 1)
    meant = f"did you mean {there[found[0]]}?" if found else "name one that is there"
    return f"there is no configuration file {path}; {meant}"
