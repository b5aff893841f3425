"""A frozen edition: one archive of canonical JSON Lines with a manifest, and its digest inside.

The archive's bytes depend on its content alone: members sorted, times fixed. Hashes stand on JSON Lines and not on
Parquet, whose bytes change with the library that writes it.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from almanac import __version__, tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.makers import KEY, made_by
from almanac.errors import AlmanacError
from almanac.options import INSIDE, Place, with_places
from almanac.rows import Response

MANIFEST = "manifest.json"
FILES = "files"  # the folder of an archive that holds the user's files
ELSEWHERE = "elsewhere"  # a folder that no archive has: what stands under it stayed where it was
SHORT = 12  # digits of a file's sha256 in its name
WITHHELD = "https://withheld.invalid"
EPOCH = (1980, 1, 1, 0, 0, 0)


def freeze(layout: Layout, target: Path, on_file: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Pack an edition.

    Args:
        layout: the edition.
        target: the archive.
        on_file: called after each table.

    Returns:
        The manifest: every file's path, bytes, sha256 and rows, of responses what made them (``made_by``), where the
        facts came from, and the digest over all files.

    Raises:
        AlmanacError: a table is missing, or a source's facts may not be passed on.
    """
    sources = _sources(layout)
    entries: list[dict[str, Any]] = []
    with tables.atomic(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes, **more: Any) -> None:
            archive.writestr(_member(name), content)
            entry = {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            entries.append(entry | more)

        settings, carried = portable(layout.config)
        for name, content in sorted(carried.items()):
            add(name, content)
        for path, row in sorted(layout.tables().items()):
            rows: list[Any] = layout.read(path, row)
            name = path.relative_to(layout.root).with_suffix(".jsonl").as_posix()
            add(name, tables.jsonl(rows), rows=len(rows), **({KEY: made_by(path)} if row is Response else {}))
            on_file()
        add("edition.json", (tables.canonical(settings) + "\n").encode())
        add("report.html", _page(layout))
        manifest = {
            "edition": layout.config.edition,
            "almanac": __version__,
            "files": entries,
            "sources": sources,
            "digest": digest(entries),
        }
        archive.writestr(_member(MANIFEST), (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return manifest


def digest(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest of an edition: the sha256 over its files' entries, whatever their order."""
    return tables.identity(sorted((entry["path"], entry["bytes"], entry["sha256"]) for entry in entries))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _page(layout: Layout) -> bytes:
    page = layout.root / "report.html"
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
        settings["contact"] = WITHHELD
    return settings, carried


def _sources(layout: Layout) -> list[dict[str, Any]]:
    """Return where each source's facts came from; refuse those that may not be passed on."""
    out = []
    for name, source in sorted(layout.config.sources.items()):
        pulled = layout.root / "sources" / name / "pull.json"
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


def unpack(archive_path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive after checking every byte against its manifest.

    Returns:
        The manifest.

    Raises:
        AlmanacError: no archive, no manifest, a file that is missing, added, or differs, naming it.
    """
    try:
        with zipfile.ZipFile(archive_path) as archive:
            contents = {name: _read(archive, archive_path, name) for name in archive.namelist()}
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise AlmanacError(f"{archive_path}: is no readable archive ({error}); freeze the edition again") from error
    try:
        manifest: dict[str, Any] = json.loads(contents.pop(MANIFEST))
        entries = {entry["path"]: entry for entry in manifest["files"]}
        stated = manifest["digest"]
    except (KeyError, TypeError, ValueError) as error:
        raise AlmanacError(f"{archive_path}: {MANIFEST}: is missing or damaged ({error!r})") from error
    wrong = [f"{name}: is in the manifest and not in the archive" for name in sorted(set(entries) - set(contents))]
    wrong += [f"{name}: is in the archive and not in the manifest" for name in sorted(set(contents) - set(entries))]
    for name in sorted(set(entries) & set(contents)):
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != entries[name]["sha256"]:
            wrong.append(f"{name}: has sha256 {found}, the manifest says {entries[name]['sha256']}")
    if digest(manifest["files"]) != stated:
        wrong.append(f"{MANIFEST}: its files give the digest {digest(manifest['files'])}, it says {stated}")
    if wrong:
        raise AlmanacError("\n".join(f"{archive_path}: {line}" for line in wrong))
    for name, content in contents.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise AlmanacError(f"{archive_path}: {name}: would be written outside its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return manifest


def _read(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError, zlib.error) as error:
        raise AlmanacError(f"{path}: {name}: cannot be read ({error})") from error


class Frozen(Layout):
    """An unpacked edition: the same layout, its tables as JSON Lines, and nothing outside of it is read."""

    @classmethod
    def context(cls, root: Path) -> dict[str, Any]:
        """Return that whatever the configuration names lies in the edition's folder."""
        return {INSIDE: root}

    def read(self, path: Path, row: type[tables.Row]) -> list[tables.Row]:
        """Read a table of the edition from its JSON Lines."""
        return tables.read_jsonl(path.with_suffix(".jsonl"), row)
