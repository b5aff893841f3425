"""Unpacks untrusted archives: no member leaves the target folder, and the unpacked size is limited."""

import contextlib
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from almanac import unfinished
from almanac.errors import AlmanacError

CHUNK = 1 << 20
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # zipfile: the archive is encrypted
    NotImplementedError,
    ValueError,  # invalid file name
)


def unpack(archive: Path, folder: Path, max_bytes: int) -> None:
    """Unpack a zip or tar archive into a new folder, which appears only when it is complete.

    Raises:
        AlmanacError: the file is no archive or is damaged; a member would leave the folder, or is no plain file or
            folder; or there are more than ``max_bytes``.
    """
    with unfinished.replacement(folder) as new:
        try:
            left = max_bytes
            for member, size, content in _members(archive):
                path = _inside(archive, member, new)
                if size > left:
                    raise AlmanacError(f"{archive}: {member}: has {size} bytes; {left} are left of {max_bytes} allowed")
                path.parent.mkdir(parents=True, exist_ok=True)
                with content() as source, path.open("xb") as out:
                    left -= _copy(archive, member, source, out, left)
        except FileExistsError as error:
            raise AlmanacError(f"{archive}: holds {error.filename} twice, or as a file and a folder") from error
        except BROKEN as error:
            raise AlmanacError(f"{archive}: cannot be unpacked ({error}); fetch it again") from error


def _copy(archive: Path, member: str, source: Any, out: Any, left: int) -> int:
    """Copy a member and return its size, which may differ from the size that the archive states."""
    size = 0
    while chunk := source.read(CHUNK):
        size += len(chunk)
        if size > left:
            raise AlmanacError(f"{archive}: {member}: holds more than the {left} bytes that are left to it")
        out.write(chunk)
    return size


def _inside(archive: Path, member: str, folder: Path) -> Path:
    """Return the path of a member; refuse one outside the folder."""
    path = (folder / member).resolve()
    if "\\" in member:
        raise AlmanacError(f"{archive}: {member!r} has backslashes for slashes; pack it again with another program")
    if not path.is_relative_to(folder.resolve()):
        raise AlmanacError(
            f"{archive}: {member!r} would be written outside its folder; the archive is not to be trusted"
        )
    return path


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield the files of an archive: name, stated size, and a function that opens it."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                kind = stat.S_IFMT(info.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise AlmanacError(f"{archive}: {info.filename!r} is a link or a device; only files are unpacked")
                if not info.is_dir():
                    yield info.filename, info.file_size, lambda info=info: packed.open(info)  # type: ignore[misc]
        return
    with contextlib.closing(tarfile.open(archive)) as tar:
        for member in tar:
            if not member.isreg() and not member.isdir():
                raise AlmanacError(f"{archive}: {member.name!r} is a link or a device; only files are unpacked")
            if member.isreg():
                yield member.name, member.size, lambda member=member: tar.extractfile(member)  # type: ignore[misc]
