"""What made the responses of a frozen edition: each file's own record, in the manifest and held against its rows.

The digest of an edition is over its files alone. Of a record the model's digest stands in every row too, and so it is
under that digest.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.edition.layout import Layout
from almanac.edition.manifest import SHORT
from almanac.edition.packing import member
from almanac.errors import AlmanacError
from almanac.frames import frames
from almanac.rows import Response

KEY = "made_by"  # of a file's entry in the manifest
PREFIX = "almanac."  # of what `answer` writes into a response file's metadata
OF_THE_FILE = ("requests", "contexts", "self_test", "job")  # differs from file to file of one model


def made_by(path: Path) -> dict[str, str]:
    """Return what a response file says of the model, of how it was run, and on which requests; empty if it does not."""
    said = tables.read_metadata(path)
    return {key.removeprefix(PREFIX): value for key, value in said.items() if key.startswith(PREFIX)}


def check_makers(layout: Layout, manifest: Mapping[str, Any]) -> list[str]:
    """Hold the manifest's records of response files against the models that the responses name.

    Args:
        layout: the unpacked edition; responses that are withheld are no part of it, and their records are believed.
        manifest: its manifest.

    Returns:
        Lines to print: what made each model's responses, and how many files do not say so.

    Raises:
        AlmanacError: a record is damaged, or names another model than the file's rows.
    """
    entries = {entry["path"]: entry for entry in manifest["files"]}
    answered = {path: step.answerer for step in layout.every_step() for path in layout.files(step).responses}
    found: dict[str, None] = {}
    silent = 0
    for path, answerer in answered.items():
        name = member(layout.root, path)
        record = _record(entries.get(name, {}), name)
        if not record:
            silent += 1
            continue
        if path.is_file():
            _check_rows(path, name, record["model"])
        found[f"{answerer}: {_words(record)}"] = None
    return [*found, *([f"{silent} response files do not say what made them"] if silent else [])]


def _check_rows(path: Path, name: str, model: str) -> None:
    """Refuse a record whose model is not that of the file's rows."""
    for frame in frames(path, Response, ["model_digest"]):
        if others := sorted(set(frame["model_digest"].unique()) - {model}):
            raise AlmanacError(
                f"{name}: the manifest says that the model {model} made it, a row that {others[0]} did; "
                "get the archive again"
            )


def _record(entry: Mapping[str, Any], name: str) -> Mapping[str, str]:
    record = entry.get(KEY, {})
    if not isinstance(record, dict) or (record and not isinstance(record.get("model"), str)):
        raise AlmanacError(f"{name}: {KEY} in the manifest is {record!r} and names no model; get the archive again")
    return record


def _words(record: Mapping[str, str]) -> str:
    """Return a record in one line, the model first, digests by their first digits."""
    kept = {key: value for key, value in sorted(record.items()) if key not in (*OF_THE_FILE, "model")}
    return ", ".join(f"{key} {_short(value)}" for key, value in {"model": record["model"], **kept}.items())


def _short(value: str) -> str:
    return " ".join(word[:SHORT] if len(word) == 64 else word for word in str(value).split(" "))
