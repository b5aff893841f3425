"""Lines and JSON of very large files, as streams: compressed or not, in an archive or not; what is wrong is named."""

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

CHUNK = 100_000  # rows that are held before they are laid aside
BLOCK = 1 << 16  # packed bytes that are read at once
UNPACKED = 4 << 20  # bytes that are unpacked at once
BYTES = 32 << 20  # of lines that are parsed together
WINDOW = 2**31  # of Zstandard: MAG's files are compressed with the largest that there is
LARGEST_MEMBER = 2**30  # bytes of an archive's member that is decoded as a whole
LONGEST_LINE = 2**28  # bytes
EMPTY = "holds nothing; is it whole? Bring it again"
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
    """Refuse a file that is not there.

    Raises:
        AlmanacError: with the remedy.
    """
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; bring it with `almanac pull`, or set the source's `path`")


@contextmanager
def readable(where: object) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an error that names it.

    Raises:
        AlmanacError: the file is cut, damaged, no table of the shape that is expected.
    """
    try:
        yield
    except BROKEN as error:
        said = str(error).partition("\n")[0]
        raise AlmanacError(f"{where}: cannot be read ({said}); is it whole? Bring it again") from error


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacked by its ending: .gz, .bz2, .zst or none.

    Raises:
        AlmanacError: it is missing, or is cut or damaged where it is read, naming it.
    """
    present(path)
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _Zstandard}
    with readable(path), openers.get(path.suffix, open)(path, "rb") as handle:
        # Python's own readers unpack 8 KiB at a time, and of bzip2 copy what is still packed each time.
        yield io.BufferedReader(handle, UNPACKED)


def whole_lines(handle: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, many at a time: blocks that end where a line does.

    Raises:
        OSError: a line is very long; `opened` names the file.
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
    """A Zstandard file that notices where it is cut, as the library's own reader does not."""

    def __init__(self, path: Path, mode: str) -> None:
        self._packed = path.open(mode)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._frame = self._decompressor.decompressobj()
        self._waiting = b""  # packed
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
    """Yield each line of a JSON Lines file as a value of a type; empty lines are passed over.

    Raises:
        AlmanacError: the file cannot be read or holds nothing, or a line is not what is expected, naming file and line.
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
        AlmanacError: one is so long that it is none, naming it and ``where``.
    """
    for number, line in enumerate(iter(lambda: handle.readline(LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise AlmanacError(f"{where}: line {number} has more than {LONGEST_LINE} bytes; is it the right file?")
        yield line


def decoded(where: object, lines: Iterable[bytes], kind: type[Value]) -> Iterator[Value]:
    """Yield each line as a value of a type.

    Raises:
        AlmanacError: a line is not what is expected, naming it and ``where``.
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
        AlmanacError: it is missing, cut or damaged, naming it.
    """
    present(path)
    with readable(path), zipfile.ZipFile(path) as archive:
        yield archive


def member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an archive's member whole.

    Raises:
        AlmanacError: it is damaged, or says it is larger than any of its kind, or is.
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
    """Rows laid aside in a temporary folder, as Parquet, and read as a stream; the folder goes with this object."""

    def __init__(self, schema: Mapping[str, Any], parts: str | None = None) -> None:
        """Make the folder.

        Args:
            schema: names and Polars types.
            parts: a column of whole numbers by which the rows are kept apart, so that one part can be read alone.
        """
        self._folder = unfinished.Folder()
        self._schema = schema
        self._parts = parts
        self._rows: list[Sequence[object]] = []
        self._files = 0

    def add(self, row: Sequence[object]) -> None:
        """Lay a row aside, its values in the schema's order."""
        self._rows.append(row)
        if len(self._rows) >= CHUNK:
            self._flush()

    def lay(self, frame: pl.DataFrame) -> None:
        """Lay many rows aside at once, after those that were laid before: a frame of the schema."""
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
        """Return all rows, or those of a part; the object must be kept as long as they are read."""
        if self._rows:
            self._flush()
        files = sorted(Path(self._folder.name).glob(f"{part}-*.parquet"))
        return pl.scan_parquet(files) if files else pl.LazyFrame(schema=self._schema)


def laid_aside(rows: Iterable[Sequence[object]], schema: Mapping[str, Any]) -> Aside:
    """Lay rows aside."""
    aside = Aside(schema)
    for row in rows:
        aside.add(row)
    return aside


def blocks(path: Path, width: int, columns: Mapping[str, int], separator: str = "\t") -> Iterator[pl.DataFrame]:
    """Yield a file of cells without header and quoting as frames of texts, a block of lines at a time.

    Args:
        path: the file, perhaps compressed.
        width: cells that every line has.
        columns: the wanted cells: a name for each number, from 0.
        separator: what ends a cell.

    Raises:
        AlmanacError: the file is missing, cut or empty, or a line has more or fewer cells.
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
                said = str(error).partition("\n")[0]
                raise AlmanacError(f"{path}: lines from {first} cannot be read ({said})") from error
            yield frame.select(wanted)
            first += lines
        if first == 1:
            raise AlmanacError(f"{path}: {EMPTY}")


def check_cells(path: Path, lines: Iterable[bytes], first: int, width: int, separator: bytes) -> None:
    """Name the first of some lines that has not as many cells as it should, if any.

    Raises:
        AlmanacError: there is one.
    """
    for number, line in enumerate(lines, first):
        if line.count(separator) != width - 1:
            cells = line.count(separator) + 1
            raise AlmanacError(
                f"{path}: line {number} has {cells} cells; {width} are expected; is it the right file, and whole?"
            )
