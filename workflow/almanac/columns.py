"""The columns of a table: the Arrow schema of a row class, and checks of rows against it.

Errors name the file, the row and the column.
"""

import functools
import inspect
import re
import types
import typing
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from almanac.errors import AlmanacError

# What a column means wherever it stands, if the row class says nothing else.
SHARED = {
    "item": "the item's number; items of a suite and dataset are counted through all rounds",
    "experiment": "which of the suite's experiments it belongs to",
    "suite": "the suite's name",
    "dataset": "the dataset's name",
    "model": "the model's name",
    "method": "the suite's method: what it takes for knowing a fact",
    "where": "which items the method counts, as in `Measure`",
    **{
        f"{thing}_id": f"the {thing}'s id" for thing in ("fact", "relation", "template", "entity", "request", "context")
    },
}
LIMITS = {"low": "lower", "high": "upper"}
ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _arrow_type(annotation: Any) -> tuple[pa.DataType, bool]:
    """Return the Arrow type of an annotation, and whether values may be missing."""
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
    """Return the Arrow schema of a row class, with the fields in their order."""
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


def kinds(row: type) -> dict[str, type]:
    """Return the Python type of each column of a row class, or of each field of a named tuple, without ``| None``."""
    of_arrow = {arrow: python for python, arrow in ARROW.items()}
    return {field.name: of_arrow.get(field.type, list) for field in schema(row)}


def columns(row: type) -> list[str]:
    """Return the column names of a row class."""
    return list(schema(row).names)


def described(row: type) -> tuple[str, dict[str, str]]:
    """Return a row class's docstring without its ``Attributes``, and the meaning of each column by its name.

    A meaning is taken from ``Attributes`` or else from `SHARED`. Limits of an interval (``auc_low``) need no words of
    their own. A column without a meaning is left out.
    """
    names, (text, _, said) = columns(row), (inspect.getdoc(row) or "").partition("\n\nAttributes:\n")
    own = {
        one[1]: " ".join(one[2].split()).removesuffix(".")
        for one in re.finditer(r"^    (\w+): (.*(?:\n {8}.*)*)", said, re.M)
    }
    of_interval = {
        f"{name}_{end}": f"the {which} limit of the 95 % interval of `{name}`"
        for name in names
        for end, which in LIMITS.items()
    }
    found = SHARED | of_interval | own
    return text, {name: found[name] for name in names if name in found}


def check_column(path: Path, field: pa.Field, values: list[Any]) -> pa.Array:
    """Return the values of a column as an Arrow array.

    Raises:
        AlmanacError: a value is missing or of another type; the message names the file, the row and the column.
    """
    if not field.nullable and None in values:
        number = values.index(None) + 1
        raise AlmanacError(f"{path}: row {number}, column {field.name!r}: a value is required, found none")
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
    """Refuse strings, which Arrow takes for lists of letters, and missing elements, which it notices too late."""
    required, whole = not field.type.value_field.nullable, pa.types.is_integer(field.type.value_type)
    for index, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, list | tuple):
            raise AlmanacError(f"{path}: row {index + 1}, column {field.name!r}: {value!r} is no list")
        if required and None in value:
            raise AlmanacError(
                f"{path}: row {index + 1}, column {field.name!r}: element {value.index(None) + 1}: a value is "
                "required, found none"
            )
        if whole:
            _check_whole(path, field, value, [index + 1] * len(value))


def _check_whole(path: Path, field: pa.Field, values: Sequence[Any], numbers: Sequence[int]) -> None:
    """Refuse fractions in a column of whole numbers, which Arrow would truncate."""
    for number, value in zip(numbers, values, strict=True):
        if isinstance(value, float) and not value.is_integer():
            raise AlmanacError(f"{path}: row {number}, column {field.name!r}: {value!r} is no whole number")


def check_key(path: Path, row: type, rows: Sequence[Any]) -> None:
    """Check that no two rows have the same key.

    Raises:
        AlmanacError: two rows have; the message names both.
    """
    key: tuple[str, ...] = getattr(row, "KEY", ())
    if not key:
        return
    identities = list(zip(*([getattr(one, column) for one in rows] for column in key), strict=True))
    if len(set(identities)) == len(identities):
        return
    seen: dict[tuple[Any, ...], int] = {}
    for index, identity in enumerate(identities):
        if identity in seen:
            where = ", ".join(f"{column}={value!r}" for column, value in zip(key, identity, strict=True))
            raise AlmanacError(
                f"{path}: rows {seen[identity] + 1} and {index + 1} have the same key ({where}); a key may occur once"
            )
        seen[identity] = index


def conform(path: Path, wanted: pa.Schema, batch: pa.RecordBatch | pa.Table, before: int) -> pa.RecordBatch:
    """Return a batch with the wanted columns and types; ``before``: the number of rows before it in the file."""
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
