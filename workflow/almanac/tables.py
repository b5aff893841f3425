"""Reading and writing the tables of `rows.py`: Parquet between steps, canonical JSON Lines in what is frozen.

The schema of a table comes from its dataclass. Writing checks it (types, missing values, duplicate keys), reading
checks that a file is what it says; both name the file, the row and the column. A file appears whole or not at all.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import tempfile
import types
import typing
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from almanac.errors import AlmanacError

Row = TypeVar("Row")

ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _arrow_type(annotation: Any) -> tuple[pa.DataType, bool]:
    """Return the Arrow type of an annotation and whether it may be missing."""
    if isinstance(annotation, types.UnionType):
        inner = [part for part in typing.get_args(annotation) if part is not type(None)]
        return _arrow_type(inner[0])[0], True
    if typing.get_origin(annotation) is tuple:
        element, nullable = _arrow_type(typing.get_args(annotation)[0])
        return pa.list_(pa.field("element", element, nullable=nullable)), False
    if typing.get_origin(annotation) is Literal:
        return ARROW[type(typing.get_args(annotation)[0])], False
    return ARROW[annotation], False


def schema(row: type) -> pa.Schema:
    """Return the Arrow schema of a row class, its fields in their order."""
    return _schema(row)


@functools.cache
def _schema(row: Hashable) -> pa.Schema:
    fields = []
    for name, annotation in typing.get_type_hints(row).items():
        if name == "KEY":
            continue
        kind, nullable = _arrow_type(annotation)
        fields.append(pa.field(name, kind, nullable=nullable))
    return pa.schema(fields)


def columns(row: type) -> list[str]:
    """Return the column names of a row class."""
    return list(schema(row).names)


def _check_column(path: Path, row: type, field: pa.Field, values: list[Any]) -> pa.Array:
    if not field.nullable:
        for index, value in enumerate(values):
            if value is None:
                raise AlmanacError(f"{path}: row {index + 1}, column {field.name!r}: a value is required, found none")
    if pa.types.is_list(field.type):
        _check_lists(path, field, values)
    elif pa.types.is_integer(field.type):
        _check_whole(path, field, values, range(1, len(values) + 1))
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        for index, value in enumerate(values):
            try:
                pa.array([value], type=field.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise AlmanacError(
                    f"{path}: row {index + 1}, column {field.name!r}: {value!r} is no {field.type} ({error})"
                ) from error
        raise


def _check_lists(path: Path, field: pa.Field, values: list[Any]) -> None:
    """Refuse what Arrow takes for a list or notices too late: a text (as its letters) and a missing element."""
    for index, value in enumerate(values):
        where = f"{path}: row {index + 1}, column {field.name!r}"
        if value is not None and not isinstance(value, list | tuple):
            raise AlmanacError(f"{where}: {value!r} is no list")
        if value is not None and not field.type.value_field.nullable and None in value:
            raise AlmanacError(f"{where}: element {value.index(None) + 1}: a value is required, found none")
        if value is not None and pa.types.is_integer(field.type.value_type):
            _check_whole(path, field, value, [index + 1] * len(value))


def _check_whole(path: Path, field: pa.Field, values: Sequence[Any], numbers: Sequence[int]) -> None:
    """Refuse fractions in a column of whole numbers, which Arrow would cut."""
    for number, value in zip(numbers, values, strict=True):
        if isinstance(value, float) and not value.is_integer():
            raise AlmanacError(f"{path}: row {number}, column {field.name!r}: {value!r} is no whole number")


def _check_key(path: Path, row: type, rows: Sequence[Any]) -> None:
    key: tuple[str, ...] = getattr(row, "KEY", ())
    if not key:
        return
    seen: dict[tuple[Any, ...], int] = {}
    for index, one in enumerate(rows):
        identity = tuple(getattr(one, column) for column in key)
        if identity in seen:
            where = ", ".join(f"{column}={value!r}" for column, value in zip(key, identity, strict=True))
            raise AlmanacError(
                f"{path}: rows {seen[identity] + 1} and {index + 1} have the same key ({where}); a key may occur once"
            )
        seen[identity] = index


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
        AlmanacError: the folder cannot be made or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        Path(name).chmod(0o644)
    except OSError as error:
        raise AlmanacError(
            f"{path}: cannot be written ({error.strerror}); give a folder that exists and is writable"
        ) from error
    temporary = Path(name)
    try:
        yield temporary
        try:
            temporary.replace(path)
        except OSError as error:
            raise AlmanacError(f"{path}: cannot be written ({error.strerror}); give the path of a file") from error
    finally:
        temporary.unlink(missing_ok=True)


def write(path: Path | str, row: type[Row], rows: Iterable[Row]) -> int:
    """Write rows as Parquet after checking them against their schema.

    Args:
        path: the file; its folder is made.
        row: the row class, for an empty table too.
        rows: instances of it.

    Returns:
        The number of rows written.

    Raises:
        AlmanacError: a missing value, a wrong type or a repeated key, naming row and column.
    """
    path = Path(path)
    listed = list(rows)
    arrays = [_check_column(path, row, field, [getattr(one, field.name) for one in listed]) for field in schema(row)]
    _check_key(path, row, listed)
    table = pa.Table.from_arrays(arrays, schema=schema(row))
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return len(listed)


def write_batches(path: Path | str, row: type, batches: Iterable[pa.RecordBatch | pa.Table]) -> int:
    """Write Arrow batches as one Parquet file, batch by batch: for tables too large for memory.

    Types and missing values are checked as `write` does; that no key repeats is the promise of who makes the batches.

    Args:
        path: the file; its folder is made.
        row: the row class; every batch has its columns, in any order, of types that convert without loss.
        batches: Arrow tables or record batches.

    Returns:
        The number of rows written.

    Raises:
        AlmanacError: a batch lacks a column or has another, a missing value, a wrong type, naming row and column.
    """
    path = Path(path)
    wanted, count = schema(row), 0
    with atomic(path) as temporary, pq.ParquetWriter(temporary, wanted, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(_conform(path, wanted, batch, count), row_group_size=1 << 20)
            count += batch.num_rows
    return count


def _conform(path: Path, wanted: pa.Schema, batch: pa.RecordBatch | pa.Table, before: int) -> pa.RecordBatch:
    """Return a batch in the wanted columns and types; ``before`` rows stand before it in the file."""
    if sorted(batch.schema.names) != sorted(wanted.names):
        raise AlmanacError(f"{path}: a batch has the columns {batch.schema.names}; needed are {wanted.names}")
    arrays = []
    for field in wanted:
        column = batch.column(field.name)
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if not field.nullable and whole.null_count:
            number = before + whole.is_null().index(True).as_py() + 1
            raise AlmanacError(f"{path}: row {number}, column {field.name!r}: a value is required, found none")
        try:
            fitting = whole.cast(field.type)
        except pa.ArrowException as error:
            raise AlmanacError(
                f"{path}: rows from {before + 1}, column {field.name!r}: {whole.type} does not become {field.type} "
                f"({error})"
            ) from error
        if pa.types.is_list(field.type) and not field.type.value_field.nullable and fitting.flatten().null_count:
            raise AlmanacError(f"{path}: rows from {before + 1}, column {field.name!r}: an element is missing")
        arrays.append(fitting)
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def read_arrow(path: Path | str, row: type) -> pa.Table:
    """Read a Parquet table of a row class as Arrow.

    Raises:
        AlmanacError: the file is missing, no Parquet, or has other columns than the row class.
    """
    path = Path(path)
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; make it first with the step before")
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: is no readable Parquet file ({error}); delete it and run again") from error
    if table.schema.names != schema(row).names:
        missing = sorted(set(schema(row).names) - set(table.schema.names))
        extra = sorted(set(table.schema.names) - set(schema(row).names))
        raise AlmanacError(
            f"{path}: is no table of {row.__name__}: missing columns {missing}, unknown columns {extra}; make it again"
        )
    return table


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def read(path: Path | str, row: type[Row]) -> list[Row]:
    """Read a Parquet table as rows of its class, lists as tuples."""
    return [row(**{name: _tuples(value) for name, value in one.items()}) for one in read_arrow(path, row).to_pylist()]


def canonical(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def as_dict(row: Any) -> dict[str, Any]:
    """Return a row as a dictionary without its missing values, tuples as lists."""
    return {
        field.name: list(value) if isinstance(value, tuple) else value
        for field in dataclasses.fields(row)
        if (value := getattr(row, field.name)) is not None
    }


def jsonl(rows: Iterable[Any]) -> bytes:
    """Return rows as canonical JSON Lines: sorted lines, sorted keys, LF, missing values left out."""
    return "".join(f"{line}\n" for line in sorted(canonical(as_dict(row)) for row in rows)).encode()


def write_jsonl(path: Path | str, rows: Iterable[Any]) -> int:
    """Write rows as canonical JSON Lines (`jsonl`).

    Returns:
        The number of rows written.
    """
    listed = list(rows)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(jsonl(listed))
    return len(listed)


def read_jsonl(path: Path | str, row: type[Row]) -> list[Row]:
    """Read canonical JSON Lines as rows of a class; what a line leaves out is none.

    Raises:
        AlmanacError: the file cannot be read; a line is no JSON, has an unknown key or lacks one, naming the line.
    """
    rows = []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); name a file of JSON Lines") from error
    lacking: dict[str, Any] = {field.name: None for field in schema(row) if field.nullable}
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        try:
            values = {name: _tuples(value) for name, value in json.loads(line).items()}
            rows.append(row(**(lacking | values)))
        except (json.JSONDecodeError, TypeError, AttributeError) as error:
            raise AlmanacError(f"{path}: line {number} is no row of {row.__name__}: {error}") from error
    return rows


def sha256(path: Path | str) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def identity(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON: the identity of a request, a context or an item."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def seed_of(*parts: object) -> int:
    """Derive a 64-bit seed from an identity, so that a draw depends on what it is for and never on order."""
    return int.from_bytes(hashlib.sha256(canonical([str(part) for part in parts]).encode()).digest()[:8], "big")


def hash_order(keys: Iterable[str], *parts: object) -> list[str]:
    """Return keys in a pseudo-random order that depends only on each key and on what is drawn for.

    A key keeps its place among the others when keys are added or removed.
    """
    start = hashlib.sha256(canonical([str(part) for part in parts]).encode())

    def place(key: str) -> bytes:
        own = start.copy()
        own.update(key.encode())
        return own.digest()

    return sorted(keys, key=place)
