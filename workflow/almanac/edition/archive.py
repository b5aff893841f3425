"""A frozen edition: one archive of canonical JSON Lines with a manifest, and its digest inside.

The archive's bytes depend on its content alone: members sorted, times fixed. Hashes stand on JSON Lines and not on
Parquet, whose bytes change with the library that writes it. Large responses are known by their digests alone; then all
that was judged of them travels, so that the numbers can be measured again.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from almanac import __version__, tables
from almanac.config import EditionConfig
from almanac.edition.layout import RECORD, Layout
from almanac.edition.makers import KEY, made_by
from almanac.edition.packing import blocks, lines, unpack_table
from almanac.errors import AlmanacError
from almanac.options import INSIDE, Place, with_places
from almanac.rows import Response
from almanac.suites.listing import SUITES

MANIFEST = "manifest.json"
FILES = "files"  # the folder of an archive that holds the user's files
ELSEWHERE = "elsewhere"  # a folder that no archive has: what stands under it stayed where it was
LINES = ".jsonl"  # how the name of a table ends in an archive
SHORT = 12  # digits of a file's sha256 in its name
NOBODY = "https://withheld.invalid"  # who asked, of whom an edition says nothing
WITHHELD = "withheld"  # of a file's entry in the manifest: it is not in the archive
MEGABYTE = 10**6
EPOCH = (1980, 1, 1, 0, 0, 0)


def freeze(layout: Layout, target: Path, on_file: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Pack an edition, some thousand rows at a time.

    Args:
        layout: the edition.
        target: the archive.
        on_file: called after each table.

    Returns:
        The manifest: every file's path, bytes, sha256 and rows, of responses what made them (``made_by``) and whether
        they are ``withheld``, where the facts came from, and the digest over all files.

    Raises:
        AlmanacError: a table is missing, or a source's facts may not be passed on.
    """
    sources = _sources(layout)
    withheld = too_large(layout)
    settings, carried = portable(layout.config)
    with tables.atomic(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        entries: list[dict[str, Any]] = []
        for name, content in sorted(carried.items()):
            entries.append(_add(archive, name, [content]))
        for path, row in sorted(contents(layout, withheld).items()):
            name = path.relative_to(layout.root).with_suffix(LINES).as_posix()
            entry = _add(None if path in withheld else archive, name, lines(path, row))
            entry["rows"] = tables.count(path, row)
            entry |= {KEY: made_by(path)} if row is Response else {}
            entry |= {WITHHELD: True} if path in withheld else {}
            entries.append(entry)
            on_file()
        entries.append(_add(archive, RECORD, [(tables.canonical(settings) + "\n").encode()]))
        entries.append(_add(archive, layout.page().relative_to(layout.root).as_posix(), [_page(layout)]))
        manifest = {
            "edition": layout.config.edition,
            "almanac": __version__,
            "files": entries,
            "sources": sources,
            "digest": digest(entries),
        }
        archive.writestr(_member(MANIFEST), (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return manifest


def contents(layout: Layout, withheld: Collection[Path]) -> dict[Path, type]:
    """Return the tables of a frozen edition with their row classes.

    Args:
        layout: the edition.
        withheld: the response files that stay outside; in their stead all that was judged of them is there.
    """
    found = layout.tables()
    for asking in layout.config.asked():
        if not set(withheld).isdisjoint(layout.responses(asking)):
            judged = SUITES[asking.suite].tables("judged")
            found |= {layout.judged(asking, table): row for table, row in judged.items()}
    return found


def too_large(layout: Layout) -> set[Path]:
    """Return the response files that an archive withholds: of one model, suite and dataset all or none."""
    found: dict[tuple[str, str, str], set[Path]] = {}
    for step in (step for asking in layout.config.asked() for step in layout.steps(asking)):
        found.setdefault((step.answerer, step.suite, step.dataset), set()).update(layout.files(step).responses)
    most = layout.config.freeze_megabytes * MEGABYTE
    sizes = {key: sum(path.stat().st_size for path in own if path.is_file()) for key, own in found.items()}
    return {path for key, own in found.items() if sizes[key] > most for path in own}


def _add(archive: zipfile.ZipFile | None, name: str, content: Iterable[bytes]) -> dict[str, Any]:
    """Write a file into an archive, or into none, and return its entry in the manifest."""
    size, sha256 = 0, hashlib.sha256()
    with nullcontext() if archive is None else archive.open(_member(name), "w", force_zip64=True) as out:
        for block in content:
            size += len(block)
            sha256.update(block)
            if out is not None:
                out.write(block)
    return {"path": name, "bytes": size, "sha256": sha256.hexdigest()}


def digest(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest of an edition: the sha256 over its files' entries, whatever their order."""
    return tables.identity(sorted((entry["path"], entry["bytes"], entry["sha256"]) for entry in entries))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _page(layout: Layout) -> bytes:
    page = layout.page()
    if not page.is_file():
        raise AlmanacError(f"{page}: there is no such file; make the report first with `report page`")
    return page.read_bytes()


def portable(config: EditionConfig) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a configuration that means the same anywhere, and the files that travel with it.

    What it names on the user's disk is another path in it: of a file that of its copy in the archive, of a folder its
    last name alone. Who asked is no part of it.

    Returns:
        The configuration, and each file's content by its name in the archive.

    Raises:
        AlmanacError: a file cannot be read, naming its key.
    """
    carried: dict[str, bytes] = {}

    def moved(place: Place) -> str:
        path = Path(place.path)
        if place.named.kind != "file":
            return f"{ELSEWHERE}/{path.name}"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise AlmanacError(
                f"{place.key}: {path}: cannot be read ({error.strerror}), and an edition carries its content; bring "
                "the file back"
            ) from error
        name = f"{FILES}/{hashlib.sha256(content).hexdigest()[:SHORT]}/{path.name}"
        carried[name] = content
        return name

    settings = with_places(config.settled(), moved)
    if settings["contact"] is not None:
        settings["contact"] = NOBODY
    return settings, carried


def _sources(layout: Layout) -> list[dict[str, Any]]:
    """Return where each source's facts came from; refuse those that may not be passed on."""
    out = []
    for name, source in sorted(layout.config.sources.items()):
        pulled = layout.source(name) / "pull.json"
        if not any(dataset.source == name for dataset in layout.config.datasets.values()):
            continue
        if not source.redistributable:
            raise AlmanacError(
                f"sources.{name}: its facts may not be passed on, and an edition carries them; if their terms allow "
                "it, set licence and redistributable: true"
            )
        if not pulled.is_file():
            raise AlmanacError(f"{pulled}: there is no such file; bring the source first with `pull files`")
        record = json.loads(pulled.read_text(encoding="utf-8"))
        files = [{key: entry[key] for key in ("path", "bytes", "sha256")} for entry in record["files"]]
        entry = {"name": name, "kind": source.kind, "licence": source.licence, "files": files}
        out.append(entry | ({"raw": record["raw"]} if "raw" in record else {}))
    return out


class Frozen(Layout):
    """An unpacked edition: nothing outside of it is read."""

    @classmethod
    def context(cls, root: Path) -> dict[str, Any]:
        """Return that whatever the configuration names lies in the edition's folder."""
        return {INSIDE: root}


def unpack(archive_path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive after checking every byte against its manifest; its tables become Parquet again.

    Returns:
        The manifest.

    Raises:
        AlmanacError: no archive, no manifest, a file that is missing, added, or differs, naming it.
    """
    try:
        with zipfile.ZipFile(archive_path) as archive:
            manifest = _checked(archive, archive_path)
            here = [entry["path"] for entry in manifest["files"] if not entry.get(WITHHELD)]
            for name in here:
                if not (folder / name).resolve().is_relative_to(folder.resolve()):
                    raise AlmanacError(f"{archive_path}: {name}: would be written outside its folder")

            def write(names: Iterable[str], rows: Mapping[Path, type]) -> None:
                for name in names:
                    path = folder / name
                    table = path.with_suffix(".parquet")
                    with _reading(archive, archive_path, name) as stream:
                        if path.suffix == LINES and table in rows:
                            unpack_table(stream, table, rows[table])
                        else:
                            _write(stream, path)

            # The configuration says which tables there are, and is read with the files that it names.
            known = [name for name in here if name == RECORD or name.startswith(f"{FILES}/")]
            write(known, {})
            layout = Frozen.open(folder)
            write([name for name in here if name not in known], contents(layout, withheld_of(layout, manifest)))
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise AlmanacError(f"{archive_path}: is no readable archive ({error}); freeze the edition again") from error
    return manifest


def withheld_of(layout: Layout, manifest: Mapping[str, Any]) -> set[Path]:
    """Return where the response files would lie that an unpacked edition lacks, by its manifest."""
    names = (entry["path"] for entry in manifest["files"] if entry.get(WITHHELD))
    return {(layout.root / name).with_suffix(".parquet") for name in names}


def _checked(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """Return the manifest of an archive, after holding every byte against it."""
    try:
        with _reading(archive, path, MANIFEST) as stream:
            manifest: dict[str, Any] = json.load(stream)
        entries = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
        outside = {entry["path"] for entry in manifest["files"] if entry.get(WITHHELD)}
        found, stated = digest(manifest["files"]), manifest["digest"]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AlmanacError(f"{path}: {MANIFEST}: is missing or damaged ({error!r})") from error
    inside, here = set(entries) - outside, set(archive.namelist()) - {MANIFEST}
    wrong = [f"{name}: is in the manifest and not in the archive" for name in sorted(inside - here)]
    wrong += [f"{name}: is in the archive and not in the manifest" for name in sorted(here - inside)]
    for name in sorted(inside & here):
        sha256 = hashlib.sha256()
        with _reading(archive, path, name) as stream:
            for block in blocks(stream):
                sha256.update(block)
        if sha256.hexdigest() != entries[name]:
            wrong.append(f"{name}: has sha256 {sha256.hexdigest()}, the manifest says {entries[name]}")
    if found != stated:
        wrong.append(f"{MANIFEST}: its files give the digest {found}, it says {stated}")
    if wrong:
        raise AlmanacError("\n".join(f"{path}: {line}" for line in wrong))
    return manifest


@contextmanager
def _reading(archive: zipfile.ZipFile, path: Path, name: str) -> Iterator[IO[bytes]]:
    """Yield what a file of an archive holds."""
    try:
        with archive.open(name) as stream:
            yield stream
    except (zipfile.BadZipFile, OSError, RuntimeError, EOFError, zlib.error) as error:
        raise AlmanacError(f"{path}: {name}: cannot be read ({error})") from error


def _write(stream: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        for block in blocks(stream):
            out.write(block)
