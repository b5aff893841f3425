"""Tables as they travel in an archive: canonical JSON Lines in the order of their rows, some thousand rows at a time.

The order is kept since items are counted in it. Nothing is held whole, in either direction.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.json

from almanac import tables
from almanac.columns import schema
from almanac.errors import AlmanacError

LINES = ".jsonl"  # how the name of a table ends in an archive
BLOCK = 1 << 22  # bytes that are read of a member at once
LONGEST = 1 << 26  # bytes of a line: an archive may come from anywhere, and a line is held whole


def member(root: Path, path: Path) -> str:
    """Return the name that a table of an edition's folder has in an archive."""
    return path.relative_to(root).with_suffix(LINES).as_posix()


def lines(path: Path, row: type, filled: set[str] | None = None) -> Iterator[bytes]:
    """Yield a Parquet table as canonical JSON Lines, some rows at a time.

    ``filled`` gets the names of the columns in which any row has a value.

    Raises:
        AlmanacError: a number is not finite, which JSON cannot say; or as `tables.read_arrow`.
    """
    count = 0
    for batch in tables.stream(path, row, size=tables.GROUP):
        names = [field.name for field in batch.schema if batch.column(field.name).null_count < batch.num_rows]
        if filled is not None:
            filled.update(names)
        try:
            yield _lines(batch, names)
        except ValueError as error:
            raise AlmanacError(
                f"{path}: one of the rows {count + 1} to {count + batch.num_rows} has a number that is not finite, "
                "which an edition cannot carry; make the file again"
            ) from error
        count += batch.num_rows


def _lines(batch: pa.RecordBatch, names: Sequence[str]) -> bytes:
    """Return rows as lines: sorted keys, missing values left out; ``names`` are the columns that have any."""
    values = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    rows = ({name: one for name, one in zip(names, own, strict=True) if one is not None} for own in values)
    return "".join(f"{tables.canonical(one)}\n" for one in rows).encode()


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what a stream holds, `BLOCK` bytes at a time."""
    while block := stream.read(BLOCK):
        yield block


def unpack_table(stream: IO[bytes], path: Path, row: type) -> tuple[int, list[str]]:
    """Write JSON Lines as the Parquet table of a row class.

    Returns:
        How many rows there are, and the columns in which any has a value.

    Raises:
        AlmanacError: a line is no row of the class, or too long.
    """
    # What must be there is checked when it is written: as the reader sees it, every value may be missing.
    fields = [field.with_nullable(True) for field in schema(row)]
    filled: set[str] = set()
    with tables.writing(path, row) as writer:
        for block in _whole_lines(stream, path):
            try:
                piece = pyarrow.json.read_json(
                    io.BytesIO(block),
                    pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                    pyarrow.json.ParseOptions(pa.schema(fields), unexpected_field_behavior="error"),
                )
                filled.update(field.name for field in fields if piece[field.name].null_count < piece.num_rows)
                writer.add(piece.select([field.name for field in fields]))
            except pa.ArrowException as error:
                raise AlmanacError(
                    f"{path.with_suffix(LINES)}: a line after row {writer.rows} is no row of {row.__name__} "
                    f"({error}); get the archive again"
                ) from error
    return writer.rows, sorted(filled)


def _whole_lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    rest = b""
    for block in blocks(stream):
        whole, end, rest = (rest + block).rpartition(b"\n")
        if len(rest) > LONGEST:
            raise AlmanacError(f"{path.with_suffix(LINES)}: a line has more than {LONGEST} bytes; get another archive")
        if end:
            yield whole + end
    if rest:
        yield rest
