"""Checksums in what one step leaves for the next, so that no damaged file is read as different data.

A Parquet table states the CRC-32 of all its bytes, footer and page headers included, which Parquet's own page checksums
leave out; it stands in the footer's metadata, and is made with zeros in its place. A record in JSON holds the sha256 of
its content; a folder of files, of a source or of a model, holds a record of theirs. Files without any, a user's own,
are read as they are.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from almanac.errors import AlmanacError

CRC = "almanac.crc32"  # of a Parquet file's own metadata
NONE = "00000000"  # what stands there while the checksum is made
STATED = re.compile(re.escape(CRC).encode() + rb"\x18\x08([0-9a-f]{8})\x00")  # as Thrift writes it
SAID = "almanac.sealed"  # says that a checksum is stated: where a bit of the statement itself is damaged
TAIL = 1 << 20  # bytes before a file's end in which it stands, whatever the footer says of its own length
BLOCK = 1 << 20
KEY = "sha256"  # of a record in JSON: the digest of all its other keys
PULLED = "pull.json"  # the record of what was pulled into a folder
MADE = "files.json"  # the record of what a step made in a folder

_intact: set[tuple[str, int, int, int]] = set()  # files that this process has looked at, as they were then


@contextmanager
def sealing(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Yield a writer of a Parquet file, which states its checksum when the block ends without an error."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer
        writer.add_key_value_metadata({SAID: "crc32", CRC: NONE})
    place, _ = _stated(path) or (0, b"")
    with path.open("r+b") as handle:
        found = _checksum(path, place)
        handle.seek(place)
        handle.write(found)


def _stated(path: Path) -> tuple[int, bytes] | None:
    """Return where a Parquet file states its checksum, and what it states; none if it does not.

    Raises:
        AlmanacError: it says that it does, and does not.
    """
    start = max(0, path.stat().st_size - TAIL)
    with path.open("rb") as handle:
        handle.seek(start)
        tail = handle.read()
    found = list(STATED.finditer(tail))
    if not found and SAID.encode() in tail:
        raise _damaged(path)
    return (start + found[-1].start(1), found[-1][1]) if found else None


def _checksum(path: Path, place: int) -> bytes:
    """Return the CRC-32 of a file in which `NONE` stands at a place, as digits."""
    found, end = 0, place + len(NONE)
    with path.open("rb") as handle:
        while place and (block := handle.read(min(BLOCK, place))):
            found = zlib.crc32(block, found)
            place -= len(block)
        found = zlib.crc32(NONE.encode(), found)
        handle.seek(end)
        while block := handle.read(BLOCK):
            found = zlib.crc32(block, found)
    return b"%08x" % found


def check_table(path: Path) -> None:
    """Hold a Parquet file against its checksum, once in a process, if it has one.

    Raises:
        AlmanacError: the file is damaged.
        OSError: it cannot be read.
    """
    stat = path.stat()
    key = (str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key in _intact:
        return
    stated = _stated(path)
    if stated is not None and _checksum(path, stated[0]) != stated[1]:
        raise _damaged(path)
    _intact.add(key)


def _damaged(path: Path) -> AlmanacError:
    return AlmanacError(f"{path}: is damaged: its bytes do not give its checksum; delete it and run again")


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the digest of its content."""
    return {**record, KEY: _digest(record)}


def opened(record: Any) -> dict[str, Any]:
    """Return a record without its digest, if it has one.

    Raises:
        ValueError: it is no record, or not the one that was written.
    """
    if not isinstance(record, dict):
        raise ValueError(f"it is no record but {type(record).__name__}")
    kept = {key: value for key, value in record.items() if key != KEY}
    if KEY in record and record[KEY] != _digest(kept):
        raise ValueError("its content does not give its sha256")
    return kept


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def files(folder: Path, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the entries of a folder's files in its record: path, bytes and sha256."""
    return [
        {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in paths
    ]


def sha256(path: Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def checked_record(path: Path, remedy: str = "") -> dict[str, Any]:
    """Return a folder's record after holding its files against their sha256.

    ``remedy`` says what to do about damage; if it is empty, that is to delete the record and to run again.

    Raises:
        AlmanacError: the record is missing or damaged; a file is missing, or is not the one that was brought or made.
    """
    remedy = remedy or f"delete {path} and run again"
    if not path.is_file():
        raise AlmanacError(f"{path}: there is no such file; bring or make what is in its folder first")
    try:
        record = opened(json.loads(path.read_text(encoding="utf-8")))
        entries = {str(entry["path"]): str(entry["sha256"]) for entry in record["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AlmanacError(f"{path}: is damaged ({error}); {remedy}") from error
    for name, then in entries.items():
        file = path.parent / name
        found = sha256(file) if file.is_file() else "none"
        if found != then:
            raise AlmanacError(f"{file}: has sha256 {found}, at first it had {then}; {remedy}")
    return record
