"""The manifest of a frozen edition: the list of an archive's files, checked before any other file is read.

Archives are not trusted. So the names and sizes of the members are compared with the manifest first, and the manifest
is read only if it is small: whatever the archive holds, this check takes little memory.
"""

import json
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any

from pydantic import FailFast, Field, ValidationError

from almanac import errors, tables
from almanac.errors import AlmanacError
from almanac.options import Options, explain

MANIFEST = "manifest.json"
MOST = 1 << 25  # most bytes of a manifest or a configuration, since each is read as a whole
VALUES = 1_000_000  # most values in a manifest: about 40,000 files; 32 MiB of {} would take gigabytes of memory
SPARE = 1 << 26  # an archive may unpack to this many bytes plus
DENSEST = 30  # times its own size; editions unpack to 5 to 8 times their size
SHORT = 12  # digits of a digest in file names and in print
NOT_DIGESTED = ("digest", "about", "commit")  # `commit` because other code may make the same edition

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Entry(Options, strict=True):
    """A file of the archive, or a ``withheld`` file, whose content is not in the archive."""

    path: str = Field(min_length=1, max_length=1000)
    bytes: int = Field(ge=0)
    sha256: Digest
    rows: int | None = Field(default=None, ge=0)
    columns: list[str] | None = None
    made_by: Any = None
    withheld: bool = False


class Source(Options, strict=True):
    """The origin of facts, and their licence."""

    name: str
    kind: str
    licence: str
    raw: Any = None


class Manifest(Options, strict=True):
    """A whole manifest; ``about``: the files that cite the edition by its digest; ``commit``: of Almanac's code."""

    edition: str
    almanac: str
    files: Annotated[list[Entry], FailFast()]
    sources: Annotated[list[Source], FailFast()]
    parameters: dict[str, int]
    digest: Digest
    about: Annotated[list[Entry], FailFast()]
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}(-dirty)?$")


def digest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of an edition: of its manifest without the keys `NOT_DIGESTED`, files sorted by path."""
    digested = {key: value for key, value in manifest.items() if key not in NOT_DIGESTED}
    return tables.identity(digested | {"files": sorted(digested["files"], key=lambda entry: str(entry["path"]))})


def written(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest file."""
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def parsed(content: bytes, where: str) -> tuple[dict[str, Any], Manifest]:
    """Parse and check a manifest; ``where`` names its file in messages.

    Returns:
        The manifest as it is written, and as a checked object.

    Raises:
        AlmanacError: it is damaged, or its digest is not that of its content.
    """
    check_values(content, VALUES, where)
    try:
        found: dict[str, Any] = json.loads(content)
        manifest = Manifest.model_validate(found)
    except ValidationError as error:
        raise explain(error, f"{where} is damaged") from error
    except (ValueError, RecursionError) as error:
        raise AlmanacError(f"{where}: is damaged ({error}); get it again") from error
    if digest(found) != manifest.digest:
        raise AlmanacError(
            f"{where}: its files and fields give the digest {digest(found)}, it says {manifest.digest}; get it again"
        )
    return found, manifest


def judged(archive: zipfile.ZipFile, path: Path, folder: Path, dense: bool = False) -> dict[str, Any]:
    """Check an archive without reading the content of its other members, and return its manifest.

    Raises:
        AlmanacError: the archive would unpack to far more than an edition of its size, and ``dense`` is not set; the
            manifest is missing, damaged or too large; a member occurs twice, is missing, is not in the manifest, has
            another size than there, or would be written outside its folder; ``folder`` has too little space.
    """
    wrong = [f"{name}: is in the archive {n} times" for name, n in Counter(archive.namelist()).items() if n > 1]
    refuse(path, wrong)
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    whole = sum(sizes.values())
    if whole > SPARE + DENSEST * path.stat().st_size and not dense:
        packed = f"would unpack to {whole} bytes, {whole // path.stat().st_size} times its size"
        remedy = "get the archive again, or add --dense where you know who made it"
        raise AlmanacError(f"{path}: {packed}; editions have less than {DENSEST} times; {remedy}")
    if sizes.get(MANIFEST, 0) > MOST:
        raise AlmanacError(f"{path}: {MANIFEST}: has {sizes[MANIFEST]} bytes, at most {MOST} are read")
    if MANIFEST not in sizes:
        raise AlmanacError(f"{path}: has no {MANIFEST}, so it is no edition; name the archive that `freeze` made")
    with reading(archive, path, MANIFEST) as stream:
        found, manifest = parsed(stream.read(), f"{path}: {MANIFEST}")
    refuse(path, [*_wrong_entries(manifest), *_wrong_members(manifest, sizes)])
    room = shutil.disk_usage(next(one for one in (folder, *folder.parents) if one.is_dir())).free
    if whole > room:
        needed = f"unpacked it has {whole} bytes, and {room} are free there"
        raise AlmanacError(f"{path}: {needed}; set TMPDIR to a folder with more room")
    return found


def check_values(content: bytes, most: int, what: str) -> None:
    """Check that JSON has at most ``most`` values: parsed values may take a hundred times the memory of their text.

    Raises:
        AlmanacError: it has more.
    """
    values = sum(map(content.count, (b",", b"[", b"{")))  # an upper bound: commas and brackets in strings count too
    if values > most:
        raise AlmanacError(f"{what}: holds {values} values, at most {most} are read; get the archive again")


def _wrong_entries(manifest: Manifest) -> Iterator[str]:
    """Yield a message for each entry that occurs twice or has an unsafe path."""
    for name, count in Counter(entry.path for entry in (*manifest.files, *manifest.about)).items():
        if count > 1:
            yield f"{name}: is in the manifest {count} times"
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or "\\" in name or str(PurePosixPath(name)) != name:
            yield f"{name}: would be written outside its folder"


def _wrong_members(manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a message for each member whose name or size is not that of the manifest."""
    inside = {entry.path: entry.bytes for entry in (*manifest.files, *manifest.about) if not entry.withheld}
    here = set(sizes) - {MANIFEST}
    for name in sorted(set(inside) - here):
        yield f"{name}: is in the manifest and not in the archive"
    for name in sorted(here - set(inside)):
        yield f"{name}: is in the archive and not in the manifest"
    for name in sorted(here & set(inside)):
        if sizes[name] != inside[name]:
            yield f"{name}: has {sizes[name]} bytes, the manifest says {inside[name]}"


def refuse(path: Path, wrong: list[str]) -> None:
    """Refuse an archive if there are messages about it (``wrong``)."""
    errors.refuse([f"{path}: {line}" for line in wrong])


@contextmanager
def reading(archive: zipfile.ZipFile, path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file of an archive for reading.

    Raises:
        AlmanacError: it cannot be read, or the disk is full while the caller writes its content.
    """
    try:
        with archive.open(name) as stream:
            yield stream
    except (zipfile.BadZipFile, OSError, RuntimeError, EOFError, zlib.error) as error:
        if full := errors.disk_full(error):
            raise AlmanacError(full) from error
        raise AlmanacError(f"{path}: {name}: cannot be read ({error}); get the archive again") from error
