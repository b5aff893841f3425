"""Read and write the tables of `rows/`: Parquet between steps, canonical JSON Lines in frozen editions.

The schema of a table comes from its dataclass (`columns.py`). Writing checks types, missing values and duplicate keys,
reading checks the columns and the checksum; errors name the file, the row and the column. A file appears completely or
not at all. A long table is read and written a few rows at a time.
"""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from almanac import sealed, unfinished
from almanac.columns import check_column, check_key, columns, conform, schema
from almanac.errors import AlmanacError, disk_full

Row = TypeVar("Row")

GROUP = 4096  # Rows of a Parquet row group, which a writer holds in memory; fixed, so that runs give equal files.
BATCH = 256  # Rows that are read at once when a table is streamed.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check_writable(path: Path) -> None:
    """Check, before long work, that a file can be written at its end.

    Raises:
        AlmanacError: it cannot.
    """
    with contextlib.suppress(InterruptedError), atomic(path):
        raise InterruptedError  # leaves `atomic` without moving anything into place


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, and move the file to ``path`` when the block ends without an error.

    Raises:
        AlmanacError: the folder cannot be made or written, or the disk is full.
    """
    stack = contextlib.ExitStack()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made = stack.enter_context(unfinished.file(path))
    except OSError as error:
        raise AlmanacError(
            disk_full(error, path)
            or f"{path}: cannot be written ({error.strerror}); give a folder that exists and is writable"
        ) from error
    with stack:
        try:
            yield made
        except Exception as error:  # polars and Arrow raise their own classes for a full disk
            if full := disk_full(error, path):
                raise AlmanacError(full) from error
            raise
        try:
            made.replace(path)
        except OSError as error:
            raise AlmanacError(f"{path}: cannot be written ({error.strerror}); give the path of a file") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, which appears completely or not at all; see `atomic`."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write(path: Path | str, row: type[Row], rows: Iterable[Row], metadata: Mapping[str, str] | None = None) -> int:
    """Write rows as Parquet after checking them against their schema; return the number of rows.

    The folder of the file is made if necessary. For ``metadata`` see `read_metadata`.

    Raises:
        AlmanacError: a missing value, a wrong type or a repeated key; the message names row and column.
    """
    listed = list(rows)
    table = arrow_of(row, listed, Path(path)).replace_schema_metadata(metadata or {})
    check_key(Path(path), row, listed)
    with atomic(Path(path)) as temporary, sealed.sealing(temporary, table.schema) as writer:
        writer.write_table(table, row_group_size=GROUP)
    return int(table.num_rows)


def arrow_of(row: type, rows: Iterable[Any], path: Path | None = None) -> pa.Table:
    """Return rows of a class as an Arrow table after checking them against their schema.

    Args:
        row: the class.
        rows: instances of it.
        path: the file to name in error messages; None: the class is named.

    Raises:
        AlmanacError: a row is of another class, or a value is missing or of another type, naming row and column.
    """
    listed, where = list(rows), path or Path(f"table of {row.__name__}")
    if other := next((one for one in listed if not isinstance(one, row)), None):
        raise AlmanacError(f"{where}: rows are of {row.__name__}, found one of {type(other).__name__}")
    arrays = [check_column(where, field, [getattr(one, field.name) for one in listed]) for field in schema(row)]
    return pa.Table.from_arrays(arrays, schema=schema(row))


class Writer:
    """Writes a table piece by piece, in row groups of `GROUP` rows, of which at most one is held in memory.

    Types and missing values are checked as in `write`; the caller must ensure that no key repeats.
    """

    def __init__(self, path: Path, row: type, handle: pq.ParquetWriter) -> None:
        self.rows = 0
        self._path, self._schema, self._handle = path, schema(row), handle
        self._held: list[pa.RecordBatch] = []
        self._count = 0

    def add(self, piece: pa.RecordBatch | pa.Table) -> None:
        """Add rows, with the columns of the row class in any order, of types that convert without loss."""
        if not piece.num_rows:
            return
        batch = conform(self._path, self._schema, piece, self.rows)
        self.rows += batch.num_rows
        while batch.num_rows:
            part = batch.slice(0, GROUP - self._count)
            batch = batch.slice(part.num_rows)
            self._held.append(part)
            self._count += part.num_rows
            if self._count == GROUP:
                self.flush()

    def flush(self) -> None:
        """Write the rows that are held in memory."""
        if self._held or not self.rows:
            self._handle.write_table(pa.Table.from_batches(self._held, self._schema).combine_chunks())
        self._held, self._count = [], 0


@contextmanager
def writing(path: Path | str, row: type, metadata: Mapping[str, str] | None = None) -> Iterator[Writer]:
    """Yield a writer of a table; the file appears when the block ends without an error. See `write`."""
    whole = schema(row).with_metadata(metadata)
    with atomic(Path(path)) as temporary, sealed.sealing(temporary, whole) as handle:
        writer = Writer(Path(path), row, handle)
        yield writer
        writer.flush()


def write_batches(path: Path | str, row: type, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
    """Write Arrow batches as one Parquet file, for tables too large for memory; return the number of rows.

    Types and missing values are checked as in `write`; the caller must ensure that no key repeats. Every batch has the
    columns of the row class, in any order, of types that convert without loss.

    Raises:
        AlmanacError: a missing or unknown column, a missing value or a wrong type, naming row and column.
    """
    path = Path(path)
    wanted, count = schema(row), 0
    with atomic(path) as temporary, sealed.sealing(temporary, wanted) as writer:
        for batch in batches:
            writer.write_batch(conform(path, wanted, batch, count), row_group_size=1 << 20)
            count += batch.num_rows
    return count


@contextmanager
def _opened(path: Path, row: type | None = None) -> Iterator[pq.ParquetFile]:
    """Yield an open Parquet file, after checking its checksum and that its columns are those of the row class."""
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; make it first with the step before")
    try:
        sealed.check_table(path)
        # Column chunks are read in pieces, so that a large row group takes no more memory than a small one.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            if row is not None:
                _check_names(path, row, file.schema_arrow.names)
                file.schema_arrow.empty_table().cast(schema(row))  # fail now, not while reading, if types differ
            yield file
    except (OSError, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: is no readable Parquet file ({error}); delete it and run again") from error


def _check_names(path: Path, row: type, found: Sequence[str]) -> None:
    wanted = schema(row).names
    if found != wanted:
        missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
        raise AlmanacError(
            f"{path}: is no table of {row.__name__}: missing columns {missing}, unknown columns {extra}; make it again"
        )


def read_arrow(path: Path | str, row: type) -> pa.Table:
    """Read a Parquet table of a row class as Arrow.

    Raises:
        AlmanacError: the file is missing, is no Parquet, or has other columns than the row class.
    """
    with _opened(Path(path), row) as file:
        return file.read()


def stream(
    path: Path | str, row: type, names: Sequence[str] | None = None, start: int = 0, size: int = BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield a Parquet table of a row class in batches of at most ``size`` rows, holding one batch in memory.

    Args:
        path: the file.
        row: its row class.
        names: the columns to read; None: all.
        start: the number of rows to skip at the start.
        size: the most rows of a batch.

    Raises:
        AlmanacError: as `read_arrow`.
    """
    with _opened(Path(path), row) as file:
        groups, skip = list(range(file.num_row_groups)), start
        while groups and skip >= file.metadata.row_group(groups[0]).num_rows:
            skip -= file.metadata.row_group(groups.pop(0)).num_rows
        for batch in file.iter_batches(size, row_groups=groups, columns=names, use_threads=False):
            rest = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            if rest.num_rows:
                yield rest


def read_rows(path: Path | str, row: type[Row], start: int = 0) -> Iterator[Row]:
    """Yield a table's rows one by one, holding at most `BATCH` rows in memory; see `stream`."""
    for batch in stream(path, row, start=start):
        yield from _rows(row, batch)


def read(path: Path | str, row: type[Row]) -> list[Row]:
    """Read a Parquet table as instances of its row class; lists become tuples."""
    return from_arrow(row, read_arrow(path, row))


def from_arrow(row: type[Row], table: pa.Table) -> list[Row]:
    """Return the rows of an Arrow table, of types that convert without loss, as instances of a row class."""
    columns = schema(row)
    return [one for batch in table.select(columns.names).cast(columns).to_batches(BATCH) for one in _rows(row, batch)]


def count(path: Path | str, row: type) -> int:
    """Return the number of rows of a table, from its footer."""
    with _opened(Path(path), row) as file:
        return int(file.metadata.num_rows)


def read_metadata(path: Path | str) -> dict[str, str]:
    """Return a Parquet file's metadata, as given to `write` or `writing`."""
    with _opened(Path(path)) as file:
        found = file.metadata.metadata or {}
    stated = (sealed.CRC.encode(), sealed.SAID.encode())
    given = {key: value for key, value in found.items() if not key.startswith(b"ARROW:") and key not in stated}
    return {key.decode(): value.decode() for key, value in given.items()}


def says(path: Path | str, key: str, value: str) -> bool:
    """Return whether a Parquet file exists, is undamaged, and has this value in its metadata (`read_metadata`)."""
    try:
        return read_metadata(path).get(key) == value
    except AlmanacError:  # missing, or damaged
        return False


def _rows(row: type[Row], batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield the rows of a batch whose columns are the fields of the class, in their order."""
    return (row(*values) for values in zip(*map(_values, batch.columns), strict=True))


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column, lists as tuples."""
    if column.null_count == len(column):
        return [None] * len(column)
    values: list[Any] = column.to_pylist()
    return [None if value is None else tuple(value) for value in values] if pa.types.is_list(column.type) else values


def canonical(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value)


def in_order(value: Any) -> str:
    """Return the JSON of a value with its keys in their order, which for worlds and datasets is that of the page."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def as_dict(row: Any) -> dict[str, Any]:
    """Return a row as a dictionary without its missing values, tuples as lists."""
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field in dataclasses.fields(row)
        if (value := getattr(row, field.name)) is not None
    }


def write_jsonl(path: Path | str, rows: Iterable[Any]) -> None:
    """Write rows as canonical JSON Lines: sorted lines, sorted keys, LF line ends, without missing values."""
    lines = sorted(canonical(as_dict(row)) for row in rows)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode())


def read_jsonl(path: Path | str, row: type[Row], texts: Sequence[str] = ()) -> list[Row]:
    """Read JSON Lines as instances of a row class; an optional field that a line lacks is None or its default.

    Args:
        path: the file.
        row: the class.
        texts: string fields in which a number is allowed, and read as a string.

    Raises:
        AlmanacError: the file cannot be read; a line is no JSON, has an unknown key or lacks one, naming the
            line; a value is missing or of another type than its field's, naming row and field.
    """
    rows: list[Row] = []
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); name a file of JSON Lines") from error
    lacking: dict[str, Any] = {field.name: None for field in schema(row) if field.nullable}
    by_default = {one.name for one in dataclasses.fields(row) if one.default is not dataclasses.MISSING}  # type: ignore[arg-type]
    optional = [name for name in columns(row) if name in lacking or name in by_default]
    needed = [name for name in columns(row) if name not in optional]
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = _fields(line, needed, optional)
        except (ValueError, RecursionError) as error:
            raise AlmanacError(f"{path}: line {number} is no row of {row.__name__}: {error}") from error
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
        values |= {name: str(values[name]) for name in texts if isinstance(values.get(name), int | float)}
        rows.append(row(**(lacking | values)))
    for field in schema(row):
        check_column(Path(path), field, [getattr(one, field.name) for one in rows])
    return rows


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its pairs: a hook for `json.loads`, which would drop the first of two equal keys.

    Raises:
        ValueError: a key is given twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return found


def _fields(line: str, needed: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a line of JSON.

    Raises:
        ValueError: the line is no object, lacks a needed field or has an unknown one; the message says which.
    """
    try:
        found = json.loads(line, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}; write one JSON object a line") from error
    if not isinstance(found, dict):
        raise ValueError(f"{line[:60]} is no JSON object; write one a line")
    missing = [name for name in needed if name not in found]
    unknown = [repr(name) for name in found if name not in (*needed, *optional)]
    wrong = [f"it lacks {', '.join(missing)}"] * bool(missing) + [f"{', '.join(unknown)} is unknown"] * bool(unknown)
    if wrong:
        may = f" and may have {', '.join(optional)}" if optional else ""
        raise ValueError(f"{'; '.join(wrong)}; a line has {', '.join(needed)}{may}")
    return found


def identity(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, used as the id of a request, a context or an item."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def seed_of(*parts: object) -> int:
    """Derive a 64-bit seed from parts that identify a random draw, so that it does not depend on the order of draws."""
    return int.from_bytes(hashlib.sha256(canonical([str(part) for part in parts]).encode()).digest()[:8], "big")


def hash_start(*parts: object) -> bytes:
    """Return the prefix that `hash_order` puts before each key when it hashes it."""
    return canonical([str(part) for part in parts]).encode()


def hash_order(keys: Iterable[str], *parts: object) -> list[str]:
    """Return keys in a pseudo-random order that depends only on the keys and on ``parts``.

    The relative order of two keys does not change when others are added or removed.
    """
    start = hash_start(*parts)
    return sorted(keys, key=lambda key: hashlib.sha256(start + key.encode()).digest())
