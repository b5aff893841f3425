"""Streams lines and JSON of very large files, compressed or in archives; errors name the file and line."""

import bz2
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import polars as pl
import zstandard

from almanac import unfinished
from almanac.errors import AlmanacError

Value = TypeVar("Value")

CHUNK = 100_000  # rows that are buffered before they are written to disk
BLOCK = 1 << 16  # compressed bytes that are read at once
UNPACKED = 4 << 20  # bytes that are unpacked at once
BYTES = 32 << 20  # bytes of lines that are parsed together
WINDOW = 2**31  # Zstandard's window: MAG's files use the largest possible
LARGEST_MEMBER = 2**30  # bytes of an archive's member that is decoded as a whole
LONGEST_LINE = 2**28  # bytes
EMPTY = "is empty; is it complete? Download it again"
BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    tarfile.TarError,
    UnicodeDecodeError,
    pl.exceptions.PolarsError,
)


def present(path: Path) -> None:
    """Raise an `AlmanacError` if a file does not exist."""
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; run `almanac pull`, or set the source's `path`")


@contextmanager
def readable(where: object) -> Iterator[None]:
    """Convert errors while reading a file (truncated, damaged or of another shape) into an `AlmanacError`."""
    try:
        yield
    except BROKEN as error:
        reason = str(error).partition("\n")[0]
        raise AlmanacError(f"{where}: cannot be read ({reason}); is it complete? Download it again") from error


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if it ends in .gz, .bz2 or .zst.

    Raises:
        AlmanacError: naming the file, if it is missing, truncated or damaged.
    """
    present(path)
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _Zstandard}
    with readable(path), openers.get(path.suffix, open)(path, "rb") as handle:
        # Python's own readers decompress 8 KiB at a time, and bzip2's copies all remaining input each time.
        yield io.BufferedReader(handle, UNPACKED)


def whole_lines(handle: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in large blocks of whole lines.

    Raises:
        OSError: a line is longer than `LONGEST_LINE`; `opened` adds the file's name.
    """
    rest = b""
    while read := handle.read(BYTES):
        lines, end, rest = (rest + read).rpartition(b"\n")
        if end:
            yield lines + end
        if len(rest) > LONGEST_LINE:
            raise OSError(f"a line has more than {LONGEST_LINE} bytes")
    if rest:
        yield rest


class _Zstandard(io.RawIOBase):
    """A Zstandard file that raises an error if it is truncated, unlike the library's own reader."""

    def __init__(self, path: Path, mode: str) -> None:
        self._packed = path.open(mode)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._frame = self._decompressor.decompressobj()
        self._waiting = b""  # compressed bytes that were read but not used yet
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._waiting or self._packed.read(BLOCK)
            if not packed:
                if not self._frame.eof:
                    raise EOFError("the compressed file ends in the middle")
                return 0
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(packed))
            self._waiting = self._frame.unused_data if self._frame.eof else b""
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._packed.close()
        super().close()


def json_lines(path: Path, kind: type[Value]) -> Iterator[Value]:
    """Decode each line of a JSON Lines file as a value of type ``kind``; empty lines are skipped.

    Raises:
        AlmanacError: naming file and line, if the file cannot be read, is empty, or a line has another shape.
    """
    value = None
    with opened(path) as handle:
        for value in decoded(path, lines_of(path, handle), kind):
            yield value
    if value is None:
        raise AlmanacError(f"{path}: {EMPTY}")


def lines_of(where: object, handle: IO[bytes]) -> Iterator[bytes]:
    """Yield a file's lines.

    Raises:
        AlmanacError: a line is longer than `LONGEST_LINE`, naming it and ``where``.
    """
    for number, line in enumerate(iter(lambda: handle.readline(LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise AlmanacError(f"{where}: line {number} has more than {LONGEST_LINE} bytes; is it the right file?")
        yield line


def decoded(where: object, lines: Iterable[bytes], kind: type[Value]) -> Iterator[Value]:
    """Decode each line of JSON as a value of type ``kind``.

    Raises:
        AlmanacError: a line is not of this type, naming it and ``where``.
    """
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            yield decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AlmanacError(
                f"{where}: line {number} is not what is expected ({error}); is it the right file?"
            ) from error


@contextmanager
def zipped(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive.

    Raises:
        AlmanacError: naming the archive, if it is missing, truncated or damaged.
    """
    present(path)
    with readable(path), zipfile.ZipFile(path) as archive:
        yield archive


def member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of an archive's member.

    Raises:
        AlmanacError: the member is damaged or, by its stated or real size, larger than `LARGEST_MEMBER`.
    """
    data = b""
    with readable(f"{path}: {name}"):
        if (size := archive.getinfo(name).file_size) <= LARGEST_MEMBER:
            with archive.open(name) as handle:
                data = handle.read(LARGEST_MEMBER + 1)
    if max(size, len(data)) > LARGEST_MEMBER:
        raise AlmanacError(f"{path}: {name} has more than {LARGEST_MEMBER} bytes; is it the right archive?")
    return data


class Aside:
    """Buffers rows on disk, as Parquet files in a temporary folder, and streams them; the folder is deleted with it."""

    def __init__(self, schema: Mapping[str, Any], parts: str | None = None) -> None:
        """Create the folder.

        Args:
            schema: column names and Polars types.
            parts: an integer column by which the rows are partitioned, so that one part can be read alone.
        """
        self._folder = unfinished.Folder()
        self._schema = schema
        self._parts = parts
        self._rows: list[Sequence[object]] = []
        self._files = 0

    def add(self, row: Sequence[object]) -> None:
        """Add a row, its values in the schema's order."""
        self._rows.append(row)
        if len(self._rows) >= CHUNK:
            self._flush()

    def lay(self, frame: pl.DataFrame) -> None:
        """Add all rows of a frame of this schema, after the rows added before."""
        if self._rows:
            self._flush()
        for part in frame.partition_by(self._parts) if self._parts else [frame]:
            self._files += 1
            name = f"{part[self._parts][0] if self._parts else 0}-{self._files:06}.parquet"
            part.write_parquet(Path(self._folder.name) / name)

    def _flush(self) -> None:
        frame = pl.DataFrame(self._rows, schema=self._schema, orient="row")
        self._rows.clear()
        self.lay(frame)

    def stream(self, part: int = 0) -> pl.LazyFrame:
        """Return all rows, or those of one part; this object must outlive the returned frame."""
        if self._rows:
            self._flush()
        files = sorted(Path(self._folder.name).glob(f"{part}-*.parquet"))
        return pl.scan_parquet(files) if files else pl.LazyFrame(schema=self._schema)


def laid_aside(rows: Iterable[Sequence[object]], schema: Mapping[str, Any]) -> Aside:
    """Buffer rows on disk; see `Aside`."""
    aside = Aside(schema)
    for row in rows:
        aside.add(row)
    return aside


def blocks(path: Path, width: int, columns: Mapping[str, int], separator: str = "\t") -> Iterator[pl.DataFrame]:
    """Yield a delimited file without header and quoting as frames of strings, one block of lines at a time.

    Args:
        path: the file, perhaps compressed.
        width: the number of cells in every line.
        columns: the wanted cells: name and index (from 0).
        separator: the delimiter.

    Raises:
        AlmanacError: the file is missing, truncated or empty, or a line has more or fewer cells.
    """
    names = [f"column_{place}" for place in range(width)]
    wanted = [pl.col(f"column_{place}").fill_null("").alias(name) for name, place in columns.items()]
    with opened(path) as handle:
        first = 1
        for block in whole_lines(handle):
            lines = block.count(b"\n") + (not block.endswith(b"\n"))
            if block.count(separator.encode()) != lines * (width - 1):
                check_cells(path, block.removesuffix(b"\n").split(b"\n"), first, width, separator.encode())
            try:
                frame = pl.read_csv(
                    block,
                    has_header=False,
                    separator=separator,
                    quote_char=None,
                    schema=dict.fromkeys(names, pl.String()),
                )
            except pl.exceptions.PolarsError as error:
                reason = str(error).partition("\n")[0]
                raise AlmanacError(f"{path}: lines from {first} cannot be read ({reason})") from error
            yield frame.select(wanted)
            first += lines
        if first == 1:
            raise AlmanacError(f"{path}: {EMPTY}")


def check_cells(path: Path, lines: Iterable[bytes], first: int, width: int, separator: bytes) -> None:
    """Raise an `AlmanacError` for the first line without ``width`` cells; ``first`` is the number of the first line."""
    for number, line in enumerate(lines, first):
        if line.count(separator) != width - 1:
            cells = line.count(separator) + 1
            raise AlmanacError(
                f"{path}: line {number} has {cells} cells; {width} are expected; is it the right file, and complete?"
            )
