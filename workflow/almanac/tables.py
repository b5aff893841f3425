"""Reading and writing the tables of `rows/`: Parquet between steps, canonical JSON Lines in what is frozen.

The schema of a table comes from its dataclass (`columns.py`). Writing checks it (types, missing values, duplicate
keys), reading checks that a file is what it says; both name the file, the row and the column. A file appears whole or
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

GROUP = 4096  # Rows of a Parquet row group: what must be held to write one, and the same file on every run.
BATCH = 256  # Rows that are read at once where a table is streamed.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check_writable(path: Path) -> None:
    """Find out before long work whether a file can be written at the end of it.

    Raises:
        AlmanacError: it cannot.
    """
    with contextlib.suppress(InterruptedError), atomic(path):
        raise InterruptedError  # leaves `atomic` without moving anything into place


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and move it there when the block ends without an error.

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
        except Exception as error:  # polars and Arrow have errors of their own
            if full := disk_full(error, path):
                raise AlmanacError(full) from error
            raise
        try:
            made.replace(path)
        except OSError as error:
            raise AlmanacError(f"{path}: cannot be written ({error.strerror}); give the path of a file") from error


def write_text(path: Path, text: str) -> None:
    """Write a text as a file, which appears whole or not at all; see `atomic`."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write(path: Path | str, row: type[Row], rows: Iterable[Row], metadata: Mapping[str, str] | None = None) -> int:
    """Write rows as Parquet after checking them against their schema; return how many there are.

    The folder of the file is made. For ``metadata`` see `read_metadata`.

    Raises:
        AlmanacError: a missing value, a wrong type or a repeated key, naming row and column.
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
        path: the file that is named in what is raised; none: the class is.

    Raises:
        AlmanacError: a row is of another class, or a value is missing or of another type, naming row and column.
    """
    listed, where = list(rows), path or Path(f"table of {row.__name__}")
    if other := next((one for one in listed if not isinstance(one, row)), None):
        raise AlmanacError(f"{where}: rows are of {row.__name__}, found one of {type(other).__name__}")
    arrays = [check_column(where, field, [getattr(one, field.name) for one in listed]) for field in schema(row)]
    return pa.Table.from_arrays(arrays, schema=schema(row))


class Writer:
    """Writes one table a piece at a time, in row groups of `GROUP`; holds no more than one of them.

    Types and missing values are checked as `write` does; that no key repeats is the promise of who makes the pieces.
    """

    def __init__(self, path: Path, row: type, handle: pq.ParquetWriter) -> None:
        self.rows = 0
        self._path, self._schema, self._handle = path, schema(row), handle
        self._held: list[pa.RecordBatch] = []
        self._count = 0

    def add(self, piece: pa.RecordBatch | pa.Table) -> None:
        """Add rows: the columns of the row class, in any order, of types that convert without loss."""
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
        """Write what is held."""
        if self._held or not self.rows:
            self._handle.write_table(pa.Table.from_batches(self._held, self._schema).combine_chunks())
        self._held, self._count = [], 0


@contextmanager
def writing(path: Path | str, row: type, metadata: Mapping[str, str] | None = None) -> Iterator[Writer]:
    """Yield a writer of a table, which appears whole when the block ends without an error; see `write`."""
    whole = schema(row).with_metadata(metadata)
    with atomic(Path(path)) as temporary, sealed.sealing(temporary, whole) as handle:
        writer = Writer(Path(path), row, handle)
        yield writer
        writer.flush()


def write_batches(path: Path | str, row: type, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
    """Write Arrow batches as one Parquet file, for tables too large for memory; return the number of rows.

    Types and missing values are checked as `write` does; that no key repeats is the promise of who makes the batches.
    Every batch has the columns of the row class, in any order, of types that convert without loss.

    Raises:
        AlmanacError: a batch lacks a column or has another, a missing value, a wrong type, naming row and column.
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
    """Yield an open Parquet file whose columns are those of a row class."""
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; make it first with the step before")
    try:
        sealed.check_table(path)
        # Column chunks are read in pieces, so that a row group of any size costs no more memory than a small one.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            if row is not None:
                _check_names(path, row, file.schema_arrow.names)
                file.schema_arrow.empty_table().cast(schema(row))  # other types are said to be so here, and not later
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
        AlmanacError: the file is missing, no Parquet, or has other columns than the row class.
    """
    with _opened(Path(path), row) as file:
        return file.read()


def stream(
    path: Path | str, row: type, names: Sequence[str] | None = None, start: int = 0, size: int = BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield a Parquet table of a row class in batches of at most ``size`` rows, without holding more.

    Args:
        path: the file.
        row: its row class.
        names: the columns that are wanted; all if none.
        start: the number of rows that are left out.
        size: rows of a batch.

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
    """Yield a table's rows one after the other, without holding more than `BATCH`; see `stream`."""
    for batch in stream(path, row, start=start):
        yield from _rows(row, batch)


def read(path: Path | str, row: type[Row]) -> list[Row]:
    """Read a Parquet table as rows of its class, lists as tuples."""
    return from_arrow(row, read_arrow(path, row))


def from_arrow(row: type[Row], table: pa.Table) -> list[Row]:
    """Return Arrow rows, of types that convert without loss, as rows of their class."""
    columns = schema(row)
    return [one for batch in table.select(columns.names).cast(columns).to_batches(BATCH) for one in _rows(row, batch)]


def count(path: Path | str, row: type) -> int:
    """Return the number of rows of a table, which its footer says."""
    with _opened(Path(path), row) as file:
        return int(file.metadata.num_rows)


def read_metadata(path: Path | str) -> dict[str, str]:
    """Return what a Parquet file says of itself beside its rows (`write`'s and `writing`'s ``metadata``)."""
    with _opened(Path(path)) as file:
        found = file.metadata.metadata or {}
    stated = (sealed.CRC.encode(), sealed.SAID.encode())
    own = {key: value for key, value in found.items() if not key.startswith(b"ARROW:") and key not in stated}
    return {key.decode(): value.decode() for key, value in own.items()}


def says(path: Path | str, key: str, value: str) -> bool:
    """Return whether a Parquet file is there, whole, and says so of itself; see `read_metadata`."""
    try:
        return read_metadata(path).get(key) == value
    except AlmanacError:  # not there, or damaged
        return False


def _rows(row: type[Row], batch: pa.RecordBatch) -> Iterator[Row]:
    """Return the rows of a batch: its columns are the fields of the class, in their order."""
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
    """Return the JSON of a value with keys in their own order, of worlds and datasets that of the page."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def as_dict(row: Any) -> dict[str, Any]:
    """Return a row as a dictionary without its missing values, tuples as lists."""
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field in dataclasses.fields(row)
        if (value := getattr(row, field.name)) is not None
    }


def write_jsonl(path: Path | str, rows: Iterable[Any]) -> None:
    """Write rows as canonical JSON Lines: sorted lines, sorted keys, LF, missing values left out."""
    lines = sorted(canonical(as_dict(row)) for row in rows)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode())


def read_jsonl(path: Path | str, row: type[Row], texts: Sequence[str] = ()) -> list[Row]:
    """Read canonical JSON Lines as rows of a class; what a line leaves out is none.

    Args:
        path: the file.
        row: the class.
        texts: fields of text in which a number may stand; it is read as text.

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
        values = {name: tuple(own) if isinstance(own, list) else own for name, own in found.items()}
        values |= {name: str(values[name]) for name in texts if isinstance(values.get(name), int | float)}
        rows.append(row(**(lacking | values)))
    for field in schema(row):
        check_column(Path(path), field, [getattr(one, field.name) for one in rows])
    return rows


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON by its pairs, as a hook of `json.loads`, which would drop the first of two alike.

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
        ValueError: the line is no object, lacks a needed field or has an unknown one, in words.
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
    """Return the sha256 of a value's canonical JSON: the identity of a request, a context or an item."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def seed_of(*parts: object) -> int:
    """Derive a 64-bit seed from an identity, so that a draw depends on what it is for and never on order."""
    return int.from_bytes(hashlib.sha256(canonical([str(part) for part in parts]).encode()).digest()[:8], "big")


def hash_start(*parts: object) -> bytes:
    """Return what is hashed before each key by `hash_order`."""
    return canonical([str(part) for part in parts]).encode()


def hash_order(keys: Iterable[str], *parts: object) -> list[str]:
    """Return keys in a pseudo-random order that depends only on each key and on what is drawn for.

    A key keeps its place among the others when keys are added or removed.
    """
    start = hash_start(*parts)
    return sorted(keys, key=lambda key: hashlib.sha256(start + key.encode()).digest())
