"""The record of a pull: what was brought, and whether its files are still those."""

import json
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.errors import AlmanacError

PULLED = "pull.json"


def checked_record(path: Path) -> dict[str, Any]:
    """Return the record of a pull after holding the files beside it against their sha256.

    Raises:
        AlmanacError: the record is missing or damaged; a file is missing, or is not the one that was brought.
    """
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; bring the source first with `pull`")
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        entries = {str(entry["path"]): str(entry["sha256"]) for entry in record["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AlmanacError(f"{path}: is damaged ({error!r}); delete it and run again") from error
    for name, brought in entries.items():
        file = path.parent / name
        found = tables.sha256(file) if file.is_file() else "none"
        if found != brought:
            raise AlmanacError(
                f"{file}: has sha256 {found}, what was brought had {brought}; delete {path} and run again"
            )
    return record
