"""The manifest of a frozen edition: what an archive says of itself, judged before anything else of it is read.

An archive may come from anywhere. So the names and sizes of its members are held against the manifest first, and the
manifest itself is read only where it is small: whatever the archive holds, judging it takes little memory.
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
MOST = 1 << 25  # bytes of a manifest, or of a configuration: both are read whole
VALUES = 1_000_000  # in a manifest: of some 40,000 files; 32 MiB of nothing but {} take gigabytes
SPARE = 1 << 26  # bytes that any archive may unpack to, and
DENSEST = 30  # times its own size; editions were seen to have 5 to 8 times
SHORT = 12  # digits of a digest in a file's name, and where it is printed
NOT_DIGESTED = ("digest", "about", "commit")  # other code may make the same edition

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Entry(Options, strict=True):
    """A file of the archive, or one that is known by its digest alone (``withheld``)."""

    path: str = Field(min_length=1, max_length=1000)
    bytes: int = Field(ge=0)
    sha256: Digest
    rows: int | None = Field(default=None, ge=0)
    columns: list[str] | None = None
    made_by: Any = None
    withheld: bool = False


class Source(Options, strict=True):
    """Where facts came from, and under which terms."""

    name: str
    kind: str
    licence: str
    raw: Any = None


class Manifest(Options, strict=True):
    """The whole of it; ``about`` are the files that cite the edition by its digest, ``commit``: of the code."""

    edition: str
    almanac: str
    files: Annotated[list[Entry], FailFast()]
    sources: Annotated[list[Source], FailFast()]
    parameters: dict[str, int]
    digest: Digest
    about: Annotated[list[Entry], FailFast()]
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}(-dirty)?$")


def digest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of an edition: over all that its manifest says, the files' order apart."""
    said = {key: value for key, value in manifest.items() if key not in NOT_DIGESTED}
    return tables.identity(said | {"files": sorted(said["files"], key=lambda entry: str(entry["path"]))})


def written(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as it stands in an archive."""
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def parsed(content: bytes, where: str) -> tuple[dict[str, Any], Manifest]:
    """Return a manifest as it is written and as it is checked: whole, and with the digest that it gives.

    ``where`` names its file in messages.

    Raises:
        AlmanacError: it is damaged, or says another digest.
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
    """Return the manifest of an archive that is as it should be, the content of its other members not yet read.

    Raises:
        AlmanacError: the archive would unpack to far more than an edition of its size, and ``dense`` is not set; the
            manifest is missing, damaged or too large; a member is there twice, is not in the manifest or missing, has
            another size than is said, or would be written outside its folder; there is too little room in ``folder``.
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
    """Check that some JSON holds no more values than are read, which may take a hundred times the room of their text.

    Raises:
        AlmanacError: it holds more.
    """
    values = sum(map(content.count, (b",", b"[", b"{")))  # commas and brackets in texts are counted too
    if values > most:
        raise AlmanacError(f"{what}: holds {values} values, at most {most} are read; get the archive again")


def _wrong_entries(manifest: Manifest) -> Iterator[str]:
    """Yield what is wrong with the entries themselves."""
    for name, count in Counter(entry.path for entry in (*manifest.files, *manifest.about)).items():
        if count > 1:
            yield f"{name}: is in the manifest {count} times"
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or "\\" in name or str(PurePosixPath(name)) != name:
            yield f"{name}: would be written outside its folder"


def _wrong_members(manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield where the members' names and sizes are not those of the manifest."""
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
    """Refuse an archive for what is wrong with it, if anything is."""
    errors.refuse([f"{path}: {line}" for line in wrong])


@contextmanager
def reading(archive: zipfile.ZipFile, path: Path, name: str) -> Iterator[IO[bytes]]:
    """Yield what a file of an archive holds.

    Raises:
        AlmanacError: it cannot be read, or, where its content is being written, the disk is full.
    """
    try:
        with archive.open(name) as stream:
            yield stream
    except (zipfile.BadZipFile, OSError, RuntimeError, EOFError, zlib.error) as error:
        if full := errors.disk_full(error):
            raise AlmanacError(full) from error
        raise AlmanacError(f"{path}: {name}: cannot be read ({error}); get the archive again") from error
