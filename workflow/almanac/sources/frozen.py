"""Pulls a source: from settings to a frozen snapshot to tables, the same for every network source."""

import importlib
import json
import os
import tempfile
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from almanac import sealed, tables, unfinished
from almanac.errors import AlmanacError, no_such
from almanac.sources import snapshots, source_tables
from almanac.sources.downloads import Target, download
from almanac.sources.options import Download, DumpOptions, NetworkOptions

RAW = "raw"  # the folder of a snapshot that holds raw responses and downloads
Log = Callable[[str], object]
Done = Callable[..., object]


def _module(options: NetworkOptions) -> ModuleType:
    return importlib.import_module(f"almanac.sources.{options.kind}")


def write_tables(options: NetworkOptions, raw: Path, folder: Path) -> dict[str, int]:
    """Read the tables from a snapshot or a folder of raw files, write them, and return the number of rows of each."""
    inside = raw / RAW if (raw / snapshots.MANIFEST).is_file() else raw
    counts: dict[str, int] = source_tables.write(folder, _module(options).read(options, inside))
    return counts


def own_files(options: DumpOptions) -> dict[str, Any]:
    """Return size and sha256 of the files that the user has put into ``options.path``, by name.

    Raises:
        AlmanacError: the folder or one of the files is missing.
    """
    folder = Path(str(options.path))
    if not folder.is_dir():
        raise AlmanacError(f"path: {no_such(folder, 'folder')}")
    wanted = [one.name for one in options.downloads()]
    missing = [name for name in wanted if not (folder / name).exists()]
    if missing:
        raise AlmanacError(f"{folder}: lacks {', '.join(missing)}; a source of kind {options.kind} is made of them")
    files = [path for name in wanted for path in sorted(_files(folder / name))]
    return {entry.pop("path"): entry for entry in sealed.files(folder, files)}


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]


def first_or_chosen(options: NetworkOptions, contact: str | None, root: Path, date: str, log: Log, done: Done) -> Path:
    """Return the verified snapshot to read; if there is none yet, make the first.

    Args:
        options: the source.
        contact: an e-mail address or a web page, for the User-Agent.
        root: the folder of all snapshots.
        date: the name of the first snapshot, if it must be made.
        log: called with each failure that is retried.
        done: called with progress.
    """
    home = snapshots.home(root, options)
    snapshot = snapshots.chosen(home, options.snapshot)
    if snapshot is None:
        with one_at_a_time(options, log):
            snapshot = snapshots.chosen(home, options.snapshot)  # another pull may have made it in the meantime
            if snapshot is None:
                return _make(options, contact, snapshots.begin(home, date), log, done)
    snapshots.verified(snapshot)
    return snapshot


def _make(options: NetworkOptions, contact: str | None, partial: Path, log: Log, done: Done) -> Path:
    """Download or query everything into a partial snapshot, then freeze it; call it within `one_at_a_time`."""
    raw = partial / RAW
    downloads = options.downloads() if isinstance(options, DumpOptions) else ()
    records = {one.name: _download(one, raw, contact, options, log, done) for one in downloads}
    if not downloads:
        _module(options).fetch(options, raw, contact, log, done)
    return snapshots.finish(partial, options, records)


def _download(one: Download, raw: Path, contact: str | None, options: NetworkOptions, log: Log, done: Done) -> Any:
    """Download a file unless an earlier run has, and return its record, ``NAME.json`` beside the raw folder."""
    if one.url is None:
        raise AlmanacError(
            f"{one.name}: can only be downloaded by hand; put it into a folder and set `path` to that folder"
        )
    note = raw.parent / f"{one.name}.json"
    if not note.is_file():
        found = download(Target(one.url, raw / one.name, one.max_bytes), contact, options, log, done)
        tables.write_text(note, tables.canonical(found) + "\n")
    return json.loads(note.read_text(encoding="utf-8"))


@contextmanager
def one_at_a_time(options: NetworkOptions, log: Log) -> Iterator[None]:
    """Hold a lock for each host of a source: of this user's pulls on this machine, one at a time queries a host."""
    addresses = [str(value) for value in options.model_dump().values() if str(value).startswith("http")]
    addresses += [one.url for one in options.downloads() if one.url] if isinstance(options, DumpOptions) else []
    with ExitStack() as held:
        for host in sorted({urllib.parse.urlsplit(address).netloc for address in addresses}):
            name = f"almanac-{os.getuid()}-{urllib.parse.quote(host, safe='')}.lock"
            handle = held.enter_context((Path(tempfile.gettempdir()) / name).open("a"))
            if unfinished.lock(handle.fileno(), wait=True) is None:
                log(f"{host}: another pull may ask it at the same time, since {handle.name} cannot be locked")
        yield


def origin(snapshot: Path) -> dict[str, Any]:
    """Return the part of a source's record that describes the snapshot it was read from."""
    manifest = json.loads((snapshot / snapshots.MANIFEST).read_text(encoding="utf-8"))
    kept = ("settings", "finished", "requests", "rows", "downloads", "tools")
    return {
        "snapshot": snapshot.name,
        "manifest_sha256": sealed.sha256(snapshot / snapshots.MANIFEST),
        **{name: manifest[name] for name in kept},
    }


def again(options: NetworkOptions, contact: str | None, root: Path, date: str, log: Log, done: Done) -> dict[str, Any]:
    """Make another snapshot and return what changed since the one before, or why that one can no longer be read.

    Raises:
        AlmanacError: there is no snapshot yet, or one of this or a later date; or the files are the user's own.
    """
    if isinstance(options, DumpOptions) and options.path is not None:
        raise AlmanacError(f"path: {options.path} holds files of your own, which are not pulled; put newer ones there")
    home = snapshots.home(root, options)
    before = snapshots.dates(home)
    if not before:
        raise AlmanacError(
            f"{home}: there is no snapshot yet to pull again; pull the source first (snakemake … -- data)"
        )
    if date < before[-1]:  # snapshots are ordered by name, and the first is the default
        raise AlmanacError(
            f"--again: {date} comes before {before[-1]}, the newest snapshot; give a later day or minute"
        )
    with one_at_a_time(options, log):
        new = _make(options, contact, snapshots.begin(home, date), log, done)
    sums: dict[str, Any] = {"from": before[-1], "to": new.name}
    with unfinished.folder() as work:
        old = home / before[-1]
        try:
            snapshots.verified(old)
            write_tables(options, old, work / "old")
        except AlmanacError as error:  # such as a snapshot of another version, often the reason for the new pull
            reason = f"{error}; there is {new.name} now, which `snapshot` selects"
            return {**sums, "not_compared": str(error), "text": f"not compared with {before[-1]}: {reason}"}
        write_tables(options, new, work / "new")
        report = snapshots.changes(work / "old", work / "new")
    return {**sums, **report, "text": snapshots.described(report)}
