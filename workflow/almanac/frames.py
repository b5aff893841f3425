"""The tables of `rows/` as polars data frames, for computations over all rows at once."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from almanac import tables
from almanac.columns import schema

SIZE = 16 * tables.GROUP  # rows that are read at once
KEY = ("key", "more")  # columns that identify a request, see `request_key`


def as_frame(table: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Return an Arrow table as a data frame."""
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def request_key() -> list[pl.Expr]:
    """Return expressions for a request's id as two integers, the columns `KEY`: joins use 16 bytes instead of 64.

    They have 120 of the id's 256 bits, which is enough to tell all requests apart.
    """
    digits = pl.col("request_id").str
    return [digits.slice(at, 15).str.to_integer(base=16).alias(name) for at, name in zip((0, 15), KEY, strict=True)]


def frame_of(row: type, rows: Iterable[Any]) -> pl.DataFrame:
    """Return instances of a row class as a data frame, checked against their schema; see `tables.arrow_of`."""
    return as_frame(tables.arrow_of(row, rows))


def frame_of_values(row: type, values: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Return rows, given as tuples of values, as a data frame; without `frame_of`'s checks, for millions of rows."""
    return pl.DataFrame(values, frame_of(row, ()).schema, orient="row")


def frames(path: Path | str, row: type, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield a Parquet table as data frames of up to `SIZE` rows; an empty table gives one frame without rows.

    The columns are ``names``, in their order (None: all).

    Raises:
        AlmanacError: as in `tables.read_arrow`.
    """
    wanted, empty = list(names or schema(row).names), True
    for batch in tables.stream(path, row, wanted, size=SIZE):
        empty = False
        yield as_frame(batch).select(wanted)
    if empty:
        yield as_frame(pa.Table.from_batches([], pa.schema([schema(row).field(name) for name in wanted])))


def read_frame(path: Path | str, row: type, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Read all rows of a Parquet table as one data frame; see `frames`."""
    return pl.concat(frames(path, row, names))
