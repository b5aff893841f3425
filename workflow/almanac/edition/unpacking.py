"""Unpack an archive: check every byte against its manifest, and write its tables as Parquet."""

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from almanac import unfinished
from almanac.edition.archive import FILES, LICENCE, LOCK, WITHHELD, add, contents
from almanac.edition.citation import CITATION, CROISSANT
from almanac.edition.layout import RECORD, SHOWN, Layout
from almanac.edition.manifest import MANIFEST, MOST, check_values, judged, reading, refuse
from almanac.edition.packing import blocks, member, unpack_table
from almanac.errors import AlmanacError, no_such
from almanac.options import places
from almanac.sources.records import ENDINGS, TABLES

SETTINGS = 100_000  # most values in a configuration, since each may give a line of an error message


def manifest_of(archive_path: Path, folder: Path, dense: bool = False) -> dict[str, Any]:
    """Check an archive (`manifest.judged`) before anything is unpacked, and return its manifest.

    Raises:
        AlmanacError: it is no archive, or it cannot be unpacked in that folder.
    """
    with _archive(archive_path) as archive:
        return judged(archive, archive_path, folder, dense)


def unpack(archive_path: Path, folder: Path, dense: bool = False) -> dict[str, Any]:
    """Unpack an archive after checking every byte against its manifest; its tables are written as Parquet.

    ``dense``: whether it may unpack to any multiple of its size.

    Returns:
        The manifest.

    Raises:
        AlmanacError: it is no archive or has no manifest, or a file is missing, added or different, naming the file.
    """
    with _archive(archive_path) as archive:
        manifest = judged(archive, archive_path, folder, dense)
        entries = {entry["path"]: entry for entry in (*manifest["files"], *manifest["about"])}
        here = [name for name, entry in entries.items() if not entry.get(WITHHELD)]
        _check_bytes(archive, archive_path, {name: entries[name]["sha256"] for name in here})
        folder.mkdir(parents=True, exist_ok=True)
        # First the configuration, which tells the tables, and the user's files that it names.
        known = [name for name in here if name == RECORD or name.startswith(f"{FILES}/")]
        for name in known:
            _write(archive, archive_path, entries[name], folder)
        layout = _layout(folder, entries)
        rows = rows_of(layout, manifest)
        refuse(archive_path, _incomplete(layout, manifest, set(entries), set(rows)))
        for name in here:
            if name not in known:
                _write(archive, archive_path, entries[name], folder, rows.get(name))
    return manifest


def opened(path: Path) -> tuple[Layout, unfinished.Folder | None]:
    """Open an edition by its folder or its archive; an archive is checked and unpacked first.

    Returns:
        The edition, and for an archive the temporary folder it was unpacked into, which is removed with that object.

    Raises:
        AlmanacError: there is no edition, or the archive is damaged.
    """
    if (path / MANIFEST).is_file():
        if (path / RECORD).is_file():
            raise AlmanacError(f"{path}: is an archive that was unpacked; name the archive itself, FILE.zip")
        raise AlmanacError(
            f"{path}: holds what is published of an edition (README.md, findings.csv and other tables, which any "
            "program for tables reads), not the edition; docs/editions.md says how to make that"
        )
    if not path.exists():
        raise AlmanacError(no_such(path, "edition"))
    if not path.is_file():
        return Layout.open(path), None
    folder = unfinished.Folder()
    manifest = unpack(path, Path(folder.name))
    return replace(Layout.open(Path(folder.name), unpacked=True), recorded=manifest["parameters"]), folder


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; errors of opening and reading it become an `AlmanacError` that says what to do."""
    if path.is_dir():
        raise AlmanacError(f"{path}: is a folder; name the archive that `make edition` or `almanac freeze` made")
    if not path.exists():
        raise AlmanacError(no_such(path, "archive"))
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise AlmanacError(f"{path}: is no readable archive ({error}); get the archive again") from error


def _layout(folder: Path, entries: Mapping[str, Mapping[str, Any]]) -> Layout:
    """Return the layout of an edition whose configuration has been unpacked."""
    if entries.get(RECORD, {"bytes": 0})["bytes"] > MOST:
        raise AlmanacError(f"{RECORD}: has {entries[RECORD]['bytes']} bytes, at most {MOST} are read")
    if (folder / RECORD).is_file():
        check_values((folder / RECORD).read_bytes(), SETTINGS, RECORD)
    return Layout.open(folder, unpacked=True)


def rows_of(layout: Layout, manifest: Mapping[str, Any]) -> dict[str, type]:
    """Return the row class of each table of an unpacked edition, by its name in the archive."""
    found = contents(layout, withheld_of(layout, manifest))
    return {member(layout.root, path): row for path, row in found.items()}


def withheld_of(layout: Layout, manifest: Mapping[str, Any]) -> set[Path]:
    """Return the paths of withheld response files, which an unpacked edition lacks, according to its manifest."""
    names = (entry["path"] for entry in manifest["files"] if entry.get(WITHHELD))
    return {(layout.root / name).with_suffix(".parquet") for name in names}


def _incomplete(layout: Layout, manifest: Mapping[str, Any], found: set[str], rows: set[str]) -> list[str]:
    """Return a message for each file that is missing, unexpected or may not be withheld, by the configuration."""
    page = layout.page().relative_to(layout.root).as_posix()
    config = layout.config
    expected = rows | {RECORD, page, CITATION, CROISSANT}
    expected |= {f"sources/{name}/{LICENCE}" for name in config.used_sources()}
    expected |= {str(Path(one.path).relative_to(layout.root)) for one in places(config) if one.named.kind == "file"}
    free = {name for name in found if name == LOCK or name.startswith(tuple(f"{what}/" for what in SHOWN))}
    free |= {f"sources/{name}/{table}{end}" for name in config.used_sources() for table in TABLES for end in ENDINGS}
    wrong = [f"{name}: an edition has it, and this one has not" for name in sorted(expected - found)]
    wrong += [f"{name}: is no part of an edition of this configuration" for name in sorted(found - expected - free)]
    withheld = {entry["path"] for entry in manifest["files"] if entry.get(WITHHELD)}
    wrong += [f"{name}: may not be withheld" for name in sorted(withheld) if not name.startswith("responses/")]
    if manifest["edition"] != config.edition:
        wrong.append(f"manifest.json: is of edition {manifest['edition']!r}, {RECORD} of {config.edition!r}")
    return wrong


def _check_bytes(archive: zipfile.ZipFile, path: Path, expected: Mapping[str, str]) -> None:
    """Compare the sha256 of the members with the manifest."""
    wrong = []
    for name, said in sorted(expected.items()):
        with reading(archive, path, name) as stream:
            found = add(None, name, blocks(stream))["sha256"]
        if found != said:
            wrong.append(f"{name}: has sha256 {found}, the manifest says {said}")
    refuse(path, wrong)


def _write(
    archive: zipfile.ZipFile, path: Path, entry: Mapping[str, Any], folder: Path, row: type | None = None
) -> None:
    """Write a member into a folder: unchanged, or as a Parquet table, whose rows and columns must match its entry."""
    name = entry["path"]
    target = folder / name
    with reading(archive, path, name) as stream:
        if row is None:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(stream, out)
            return
        count, filled = unpack_table(stream, target.with_suffix(".parquet"), row)
    if (count, filled) != (entry.get("rows"), entry.get("columns")):
        stated = f"{entry.get('rows')} rows and the columns {entry.get('columns')}"
        refuse(path, [f"{name}: has {count} rows and the columns {filled}, the manifest says {stated}"])
