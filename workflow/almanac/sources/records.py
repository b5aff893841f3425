"""A folder's tables as records: CSV, JSON Lines or Parquet; columns checked, cells as text or lists of texts."""

import csv
import gzip
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from almanac.errors import AlmanacError

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
LIST_SEPARATOR = "|"


class Columns(NamedTuple):
    """What a table of a folder must have and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


TABLES = {
    "facts": Columns(
        ("relation_id", "subject_id"),
        ("object_id", "value", "datatype", "precision", "qualifiers", "split", "fact_id", "source"),
    ),
    "entities": Columns(("entity_id", "label"), ("aliases", "type")),
    "relations": Columns(
        ("relation_id", "label"), ("property", "cardinality", "object_type", "domain", "popularity", "bucket")
    ),
    "templates": Columns(
        ("relation_id", "text", "style"),
        ("template_id", "origin", "parent_id", "entails"),
    ),
    "popularity": Columns(("entity_id", "score"), ("source", "type", "bucket")),
    "evidence": Columns(("fact_id", "text"), ()),
}
LISTS = {"aliases", "qualifiers", "entails"}


def find(folder: Path, table: str) -> Path | None:
    """Return the file of a table in a folder, or none.

    Raises:
        AlmanacError: two files claim to be the same table.
    """
    found = [folder / f"{table}{ending}" for ending in ENDINGS if (folder / f"{table}{ending}").is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise AlmanacError(f"{folder}: {names} are the same table twice; keep one of them")
    return found[0] if found else None


def records(folder: Path, table: str, mistakes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a table as ``(file: row N, record)``, every known column present, empty texts as none.

    Args:
        folder: holds the table, or does not: then there are no rows.
        table: one of `TABLES`.
        mistakes: gets what is wrong with columns, rows and cells; such rows are not yielded.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    path = find(folder, table)
    if path is None:
        return
    names, rows = read(path)
    known = TABLES[table]
    missing = [name for name in known.required if name not in names]
    if missing:
        mistakes.append(f"{path}: lacks the column {', '.join(missing)}; it has {', '.join(names) or 'none'}")
        return
    unknown = [name for name in names if name not in known.required + known.optional]
    if unknown:
        allowed = ", ".join(known.required + known.optional)
        mistakes.append(f"{path}: has the unknown column {', '.join(map(repr, unknown))}; known are {allowed}")
        return
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        mistakes.append(f"{path}: has the column {', '.join(map(repr, twice))} twice; keep one of them")
        return
    for number, row in rows:
        where = f"{path}: row {number}"
        if row is None:
            mistakes.append(f"{where}: has more or fewer cells than the header")
            continue
        try:
            record = {name: _cell(name, row.get(name)) for name in known.required + known.optional}
        except ValueError as error:
            mistakes.append(f"{where}: {error}")
            continue
        yield where, record


def _cell(name: str, value: Any) -> Any:
    """Return a cell's text, none if it is empty; of a list column, its texts.

    Raises:
        ValueError: the cell holds a structure that is no text, or no list of texts.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):  # NaN: an empty cell of a data frame
        return [] if name in LISTS else None
    if name in LISTS:
        parts = value.split(LIST_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(parts, list) or any(isinstance(part, list | dict) for part in parts):
            raise ValueError(f"{name} is {value!r}; a list of texts is expected")
        return [text for part in parts if part is not None and (text := str(part).strip())]
    if isinstance(value, list | dict):
        raise ValueError(f"{name} is {value!r}; a text is expected")
    return str(value).strip() or None


def read(path: Path) -> tuple[Sequence[str], Iterable[tuple[int, dict[str, Any] | None]]]:
    """Return a file's column names and its rows with their numbers; a row whose cells do not fit the header is none.

    Row 1 is the first after the header; blank rows are skipped but counted, so that a number leads to its row.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    try:
        return _read(path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); is it whole, and what its ending says?") from error


def _read(path: Path) -> tuple[Sequence[str], Iterable[tuple[int, dict[str, Any] | None]]]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.schema.names, enumerate(table.to_pylist(), 1)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8-sig")
    if ".csv" in path.suffixes:
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(lines, [])
        cells = [(number, line) for number, line in enumerate(lines, 1) if line]
        return header, [
            (number, dict(zip(header, line, strict=True)) if len(line) == len(header) else None)
            for number, line in cells
        ]
    rows: list[tuple[int, dict[str, Any] | None]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise AlmanacError(f"{path}: row {number} is no JSON ({error}); one object a line is expected") from error
        if not isinstance(row, dict):
            raise AlmanacError(f"{path}: row {number} is {line[:60]!r}; one JSON object a line is expected")
        rows.append((number, row))
        names.update(dict.fromkeys(row))
    return list(names), rows
