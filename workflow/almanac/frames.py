"""The tables of `rows/` as columns (polars), for what is computed over all rows at once."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from almanac import tables
from almanac.columns import schema

SIZE = 16 * tables.GROUP  # rows that are read at once
KEY = ("key", "more")  # of a request, see `request_key`


def as_frame(table: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Return an Arrow table as columns."""
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def request_key() -> list[pl.Expr]:
    """Return a request's id as two numbers, the columns `KEY`: 16 bytes to join by instead of the 64 of its text.

    They are 120 of its 256 bits: no two ids that ever occur have them in common.
    """
    digits = pl.col("request_id").str
    return [digits.slice(at, 15).str.to_integer(base=16).alias(name) for at, name in zip((0, 15), KEY, strict=True)]


def frame_of(row: type, rows: Iterable[Any]) -> pl.DataFrame:
    """Return rows of a class as columns, checked against their schema; see `tables.arrow_of`."""
    return as_frame(tables.arrow_of(row, rows))


def frame_of_values(row: type, values: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Return rows of a class, given as their values, as columns: without an object and a check for each of millions."""
    return pl.DataFrame(values, frame_of(row, ()).schema, orient="row")


def frames(path: Path | str, row: type, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield columns of a Parquet table, `SIZE` rows at a time, of an empty one a frame without rows.

    They are those of ``names``, in their order; all if none.

    Raises:
        AlmanacError: as `tables.read_arrow`.
    """
    wanted, empty = list(names or schema(row).names), True
    for batch in tables.stream(path, row, wanted, size=SIZE):
        empty = False
        yield as_frame(batch).select(wanted)
    if empty:
        yield as_frame(pa.Table.from_batches([], pa.schema([schema(row).field(name) for name in wanted])))


def read_frame(path: Path | str, row: type, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Read columns of a Parquet table, all rows; see `frames`."""
    return pl.concat(frames(path, row, names))
