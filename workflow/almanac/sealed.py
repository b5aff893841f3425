"""Checksums in the files that steps pass on, so that no damaged file is read as different data.

A Parquet table has in its footer's metadata the CRC-32 of all its bytes, including the footer and the page headers,
which Parquet's own page checksums leave out; it is computed with zeros in its own place. A JSON record has the sha256
of its content. A folder of files (of a source or a model) has a record with the sha256 of each file. Files without a
checksum, such as a user's, are read unchecked.
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

CRC = "almanac.crc32"  # metadata key of the checksum
NONE = "00000000"  # the checksum's value while it is computed
STATED = re.compile(re.escape(CRC).encode() + rb"\x18\x08([0-9a-f]{8})\x00")  # key and value as Thrift writes them
SAID = "almanac.sealed"  # metadata key that tells that there is a checksum, in case a bit of the other key is damaged
TAIL = 1 << 20  # the checksum is searched in the last bytes of a file: the footer's length may be damaged
BLOCK = 1 << 20
KEY = "sha256"  # key of a JSON record: the digest of all its other keys
PULLED = "pull.json"  # the record of the files that were pulled into a folder
MADE = "files.json"  # the record of the files that a step made in a folder

_intact: set[tuple[str, int, int, int]] = set()  # path, inode, size and time of files that this process has checked


@contextmanager
def sealing(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Yield a writer of a Parquet file; the checksum is written when the block ends without an error."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer
        writer.add_key_value_metadata({SAID: "crc32", CRC: NONE})
    place, _ = _stated(path) or (0, b"")
    with path.open("r+b") as handle:
        found = _checksum(path, place)
        handle.seek(place)
        handle.write(found)


def _stated(path: Path) -> tuple[int, bytes] | None:
    """Return the position and value of a Parquet file's checksum; None if it has none.

    Raises:
        AlmanacError: the checksum cannot be found although the metadata say that there is one.
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
    """Return the CRC-32 of a file, in hexadecimal digits, as if `NONE` stood at position ``place``."""
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
    """Compare a Parquet file with its checksum, if it has one; once per process.

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
    """Return a record with the digest of its content added."""
    return {**record, KEY: _digest(record)}


def opened(record: Any) -> dict[str, Any]:
    """Check a record's digest, if it has one, and return the record without it.

    Raises:
        ValueError: it is no record, or its content does not match the digest.
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
    """Return the record entries of a folder's files: path, bytes and sha256."""
    return [
        {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in paths
    ]


def sha256(path: Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def checked_record(path: Path, remedy: str = "") -> dict[str, Any]:
    """Return a folder's record after comparing its files with their sha256.

    ``remedy`` says what to do about damage; by default, to delete the record and run again.

    Raises:
        AlmanacError: the record is missing or damaged, or a file is missing or has changed.
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
