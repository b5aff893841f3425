"""The files of a folder's tables: CSV, JSON Lines or Parquet, found, opened and read a part at a time.

No more of a file than `PART` rows is held as Python's objects.
"""

import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from almanac.errors import AlmanacError

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
LIST_SEPARATOR = "|"
PART = 50_000
ARROW_LIST = pa.list_(pa.string())
TEXTUAL = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
LONGEST = 10_000_000  # characters of a line or a cell: a damaged or hostile file is refused before it fills memory
PIECE = 1 << 20  # bytes that are looked at together where a wrong one is looked for
LISTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_fixed_size_list)

Cells: TypeAlias = Sequence[Any] | pa.Array

Item = TypeVar("Item")


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
    "exposures": Columns(("fact_id", "dose"), ()),
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


class Part(NamedTuple):
    """Some rows of a file: their numbers, their cells by column, and the numbers of rows that do not fit the header."""

    numbers: Sequence[int]
    cells: Mapping[str, Cells]
    ragged: Sequence[int] = ()


def wrong_columns(names: Sequence[str], known: Columns) -> str | None:
    """Return what is wrong with a table's column names, or none."""
    missing = [name for name in known.required if name not in names]
    if missing:
        return f"lacks the column {', '.join(missing)}; it has {', '.join(names) or 'none'}"
    unknown = [name for name in names if name not in known.required + known.optional]
    if unknown:
        allowed = ", ".join(known.required + known.optional)
        return f"has the unknown column {', '.join(map(repr, unknown))}; known are {allowed}"
    twice = [name for name, count in Counter(names).items() if count > 1]
    return f"has the column {', '.join(map(repr, twice))} twice; keep one of them" if twice else None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    try:
        try:
            yield
        except UnicodeDecodeError:
            raise ValueError(_wrong_byte(path)) from None  # with the place in the file: parts begin at 0
    except (OSError, EOFError, ValueError, csv.Error, zlib.error, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); is it whole, and what its ending says?") from error


def _wrong_byte(path: Path) -> str:
    """Return what is wrong with the first byte of a file that is no UTF-8, and where it stands."""
    begin, left = 0, b""  # where the text begins that is looked at, and what was left of a character
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        while piece := file.read(PIECE):
            text = left + piece
            left = b""
            try:
                text.decode()
            except UnicodeDecodeError as error:
                if error.reason != "unexpected end of data":
                    return f"'utf-8' codec can't decode byte {text[error.start]:#04x} in position {begin + error.start}"
                left = text[error.start :]
            begin += len(text) - len(left)
    return f"'utf-8' codec can't decode byte {left[:1].hex(' ') or '?'} in position {begin}: the text ends within it"


def _text(path: Path, newline: str) -> TextIO:
    """Open a file of text, perhaps gzipped."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


def _lines(path: Path, text: TextIO) -> Iterator[str]:
    """Yield the lines of a text with their ends.

    Raises:
        AlmanacError: one is longer than any line of facts is.
    """
    number = 0
    while line := text.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise AlmanacError(f"{path}: line {number} has more than {LONGEST} characters; is it what its ending says?")
        yield line


def _csv(path: Path, text: TextIO) -> Iterator[list[str]]:
    """Yield the rows of CSV; a cell may be as long as a line."""
    csv.field_size_limit(LONGEST)
    return csv.reader(_lines(path, text), strict=True)


def parts(path: Path, names: list[str], wanted: Iterable[str]) -> Iterator[Part]:
    """Yield a file's rows, part by part; ``names`` gets its column names, all of them by the end."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            names += file.schema_arrow.names
            read = 0
            for batch in file.iter_batches(PART):
                cells = {name: _arrow(batch.column(at)) for at, name in enumerate(names) if name in wanted}
                yield Part(range(read + 1, read + batch.num_rows + 1), cells)
                read += batch.num_rows
    elif ".csv" in path.suffixes:
        with _text(path, "") as text:
            lines = _csv(path, text)
            names += next(lines, [])
            for numbered in _batched(enumerate(lines, 1)):
                whole = [(number, line) for number, line in numbered if len(line) == len(names)]
                cells = dict(zip(names, zip(*(line for _, line in whole), strict=True), strict=False))
                ragged = [number for number, line in numbered if line and len(line) != len(names)]
                yield Part([number for number, _ in whole], cells, ragged)
    else:
        seen: dict[str, None] = {}
        for rows in _batched(_objects(path)):
            for _, row in rows:
                seen.update(dict.fromkeys(row))
            yield Part([number for number, _ in rows], {name: [row.get(name) for _, row in rows] for name in wanted})
        names += seen


def _arrow(column: pa.Array) -> pa.Array | list[Any]:
    """Return a column of Parquet as texts or lists of texts; anything else as Python's objects.

    Raises:
        pa.ArrowException: a text, or a binary string, is no UTF-8.
    """
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    plain.validate(full=True)
    listed = any(is_kind(plain.type) for is_kind in LISTED)
    inner = plain.type.value_type if listed else plain.type
    if any(is_kind(inner) for is_kind in BINARY):  # as some programs write all their texts
        plain = plain.cast(pa.list_(pa.binary()) if listed else pa.binary())
    if any(is_kind(inner) for is_kind in (*TEXTUAL, *BINARY)):
        return plain.cast(ARROW_LIST if listed else pa.string())
    return plain.to_pylist()


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON Lines with their numbers; blank lines are counted and left out."""
    with _text(path, "\n") as text:
        for number, ended in enumerate(_lines(path, text), 1):
            line = ended.removesuffix("\n")
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
                reason = str(error).partition(";")[0]
                raise AlmanacError(
                    f"{path}: row {number} is no JSON that can be read ({reason}); one object a line is expected"
                ) from error
            if not isinstance(row, dict):
                raise AlmanacError(f"{path}: row {number} is {line[:60]!r}; one JSON object a line is expected")
            yield number, row


def _batched(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield lists of `PART` items, the last of what is left."""
    every = iter(items)
    while part := list(islice(every, PART)):
        yield part


def read(path: Path) -> tuple[Sequence[str], Iterable[tuple[int, dict[str, Any] | None]]]:
    """Return a file's column names and its rows with their numbers; a row whose cells do not fit the header is none.

    Row 1 is the first after the header; blank rows are skipped but counted, so that a number leads to its row. For
    files that may be held as Python's objects; `user_table` has them as columns.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    with readable(path):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            return table.schema.names, enumerate(table.to_pylist(), 1)
        if ".csv" in path.suffixes:
            with _text(path, "") as text:
                lines = _csv(path, text)
                header = next(lines, [])
                return header, [
                    (number, dict(zip(header, line, strict=True)) if len(line) == len(header) else None)
                    for number, line in enumerate(lines, 1)
                    if line
                ]
        rows = list(_objects(path))
        return list(dict.fromkeys(name for _, row in rows for name in row)), rows
