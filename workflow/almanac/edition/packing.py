"""Convert tables to the form in archives, canonical JSON Lines, and back, a few thousand rows at a time.

The order of the rows is kept, since it numbers the items. No table is held in memory as a whole.
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

LINES = ".jsonl"  # file ending of a table in an archive
BLOCK = 1 << 22  # bytes of a member that are read at once
LONGEST = 1 << 26  # most bytes of a line: a line is held in memory, and archives are not trusted


def member(root: Path, path: Path) -> str:
    """Return the name in the archive of a table in an edition's folder."""
    return path.relative_to(root).with_suffix(LINES).as_posix()


def lines(path: Path, row: type, filled: set[str] | None = None) -> Iterator[bytes]:
    """Yield a Parquet table as canonical JSON Lines, a group of rows at a time.

    The names of columns in which any row has a value are added to ``filled``.

    Raises:
        AlmanacError: a number is not finite, which JSON cannot express; or as `tables.read_arrow`.
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
    """Return rows as lines with sorted keys, without missing values; ``names`` are the columns that have values."""
    values = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    rows = ({name: one for name, one in zip(names, row, strict=True) if one is not None} for row in values)
    return "".join(f"{tables.canonical(one)}\n" for one in rows).encode()


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a stream, `BLOCK` bytes at a time."""
    while block := stream.read(BLOCK):
        yield block


def unpack_table(stream: IO[bytes], path: Path, row: type) -> tuple[int, list[str]]:
    """Write JSON Lines as the Parquet table of a row class.

    Returns:
        The number of rows, and the columns in which any row has a value.

    Raises:
        AlmanacError: a line is no row of the class, or too long.
    """
    # The reader lets every value be missing; `tables.writing` refuses missing values in columns that must have them.
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
