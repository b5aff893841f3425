"""The one error of the package: a message for the person who runs Almanac, without a traceback."""

import difflib
import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from almanac.project import PROJECT

INSTEAD = "with `almanac run` --config in the place of ARGS="  # of `make`

INTERRUPTED = "interrupted; run the same command again to go on"


class AlmanacError(Exception):
    """Bad input or a broken promise, worded for the user.

    The message names the file, row or key, says what was found and what is allowed, and ends with what to do.
    The command line prints it, without a traceback, and exits with 1; with 2 where the verb's 1 says something else
    (`differences`) or where an installed suite cannot be loaded.
    """


def refuse(mistakes: Sequence[str], most: int = 20) -> None:
    """Refuse input for its mistakes, a line each, of which at most so many are shown; do nothing where there are none.

    Raises:
        AlmanacError: there are mistakes.
    """
    if mistakes:
        more = [f"… and {len(mistakes) - most} more"] if len(mistakes) > most else []
        raise AlmanacError("\n".join([*mistakes[:most], *more]))


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Say below whatever goes wrong where it did, as in whose suite."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise


def disk_full(error: BaseException, path: object = None) -> str | None:
    """Return that the disk is full, where that is what went wrong; the errors of polars say so in their text alone."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error)
    where = path or getattr(error, "filename", None)
    named = f" ({where})" if where else ""
    return f"the disk is full{named}; free some space and run the same command again" if full else None


def nearest(path: Path, there: Iterable[Path]) -> str:
    """Return "; did you mean …?" with the path whose name is most like that of a misspelt one, or "" where none is."""
    by_name = {one.name: one for one in sorted(there) if one != path}
    found = difflib.get_close_matches(path.name, by_name, 1, 0.7)  # "nofile.csv" is no "profiles"
    return f"; did you mean {by_name[found[0]]}?" if found else ""


def where_from(path: Path) -> str:
    """Return " in FOLDER", where a relative path is looked for, or "" of an absolute one."""
    return "" if path.is_absolute() else f" in {Path.cwd()}"


def did_you_mean(name: str, there: Collection[str]) -> str:
    """Return "; did you mean …?" with the name most like a misspelt one, else all the names that there are."""
    found = difflib.get_close_matches(name, sorted(there), 1)
    return f"; did you mean {found[0]}?" if found else f"; there are {', '.join(sorted(there)) or 'none'}"


def unclosed(value: object) -> str:
    """Return "; its braces do not close …" for a text that was meant as keys and values, or as a list; else ""."""
    text = value.strip() if isinstance(value, str) else ""
    for name, left, right in (("braces", "{", "}"), ("brackets", "[", "]")):
        opened, closed = text.count(left), text.count(right)
        if text.startswith(("{", "[")) and opened != closed:
            return f"; its {name} do not close: {opened} {left} and {closed} {right}"
    return ""


def no_such(path: Path, what: str) -> str:
    """Return that a file or folder is not there, with the one in the same folder whose name is most like its own."""
    meant = nearest(path, path.parent.iterdir() if path.parent.is_dir() else ())
    return f"there is no {what} {path}{meant or where_from(path) + '; correct its path'}"


def no_configuration(path: Path) -> str:
    """Return that a configuration file is not there, with the one that is whose name is most like its own."""
    own = PROJECT / "config"
    folders = dict.fromkeys((own, path.parent, Path("config")))  # the last is the nearest
    there = {one.stem: one for folder in folders for one in sorted(folder.glob("*.y*ml"))}  # all end alike
    there = {stem: Path("config", one.name) if one.parent == own else one for stem, one in there.items()}
    found = difflib.get_close_matches(path.stem, there, 1)
    meant = f"did you mean {there[found[0]]}?" if found else "name one that is there"
    return f"there is no configuration file {path}; {meant}"
