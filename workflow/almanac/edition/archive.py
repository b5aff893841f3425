"""Freeze an edition: one archive of canonical JSON Lines with a manifest, a citation and a digest.

The archive's bytes depend only on its content: members are sorted and their times fixed. Digests are of JSON Lines, not
of Parquet, whose bytes change with the library that writes it. Of large responses the archive has only the digests; it
then has all their judged tables, so that the measures can be computed again.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from typing import Any

from almanac import __version__, tables
from almanac.config import EditionConfig
from almanac.edition.citation import CITATION, CROISSANT, citation, croissant, licence_text
from almanac.edition.layout import CARRIED, RECORD, Layout
from almanac.edition.manifest import MANIFEST, SHORT, digest, written
from almanac.edition.measuring import outdated
from almanac.edition.packing import blocks, lines, member
from almanac.errors import INSTEAD, AlmanacError, refuse, where_from
from almanac.options import DiskKey, with_places
from almanac.project import INSTALLED, PROJECT
from almanac.rows import Response
from almanac.sealed import PULLED, checked_record
from almanac.suites.listing import packages
from almanac.versions import MAKER, commit, maker_of

FILES = "files"  # the folder of an archive that holds the user's files
ELSEWHERE = "elsewhere"  # a folder that no archive has: paths under it were not copied into the archive
NOBODY = "https://withheld.invalid"  # replaces the user's contact address
WITHHELD = "withheld"  # key of a manifest entry: the file is not in the archive
MADE_BY = "made_by"  # key of a response file's manifest entry: the model, and how it was run
OF_ANSWERING = "almanac."  # prefix of the metadata keys that `answer` writes into response files
LICENCE = "LICENCE.txt"  # the terms of a source, next to its facts
LOCK = "lock.txt"  # every package with its version: the project's pins, or the installed ones if pip chose them
LOCKED = PROJECT / "envs" / LOCK
MEGABYTE = 10**6
EPOCH = (1980, 1, 1, 0, 0, 0)


def freeze(layout: Layout, target: Path, on_file: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Pack an edition into an archive, a few thousand rows at a time.

    Args:
        layout: the edition.
        target: the archive, or a folder for it; in a folder it is named after the edition and its digest.
        on_file: called after each table.

    Returns:
        The manifest: path, bytes and sha256 of every file, rows and columns of every table; for responses also the
        model that made them (``made_by``) and whether they are ``withheld``; the sources of the facts and their terms;
        the digest of all this.

    Raises:
        AlmanacError: a table is missing, a source has changed, its facts may not be passed on, the page was made by
            other code, a folder next to the page has a file that is not part of the report, or a run has not ended or
            changes files meanwhile.
    """
    sources = _sources(layout)
    withheld = too_large(layout)
    settings, carried = portable(layout.config, layout.noted(CARRIED).split())
    drawn = _as_they_are(layout)
    refuse(outdated(layout))
    carried |= {f"sources/{source['name']}/{LICENCE}": licence_text(source) for source in sources}
    carried |= _lock(layout)
    carried[RECORD] = (tables.in_order(settings) + "\n").encode()
    # A hidden name until the digest is known: EDITION.zip may be an earlier archive.
    into = target if target.suffix == ".zip" else target / f".{layout.config.edition}.{os.getpid()}.zip"
    found = {member(layout.root, path): (path, row) for path, row in contents(layout, withheld).items()}
    state = _state([*drawn.values(), *(path for path, _ in found.values())])
    with tables.atomic(into) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        entries = [add(archive, name, [content]) for name, content in sorted(carried.items())]
        for name, path in sorted(drawn.items()):
            with path.open("rb") as stream:
                entries.append(add(archive, name, blocks(stream)))
        for name, (path, row) in sorted(found.items()):
            filled: set[str] = set()
            entry = add(None if path in withheld else archive, name, lines(path, row, filled))
            entry |= {"rows": tables.count(path, row), "columns": sorted(filled)}
            entry |= {MADE_BY: made_by(path)} if row is Response else {}
            entry |= {WITHHELD: True} if path in withheld else {}
            entries.append(entry)
            on_file()
        manifest: dict[str, Any] = {
            "edition": layout.config.edition,
            "almanac": __version__,
            "files": entries,
            "sources": sources,
            "parameters": layout.sizes(),
        }
        manifest["digest"] = digest(manifest)
        if (code := commit()) is not None:
            manifest["commit"] = code
        rows = {name: row for name, (_, row) in found.items()}
        manifest["about"] = [add(archive, name, [text]) for name, text in about(layout.config, manifest, rows).items()]
        archive.writestr(_member(MANIFEST), written(manifest))
        if changed := next((path for path, was in state.items() if _state([path])[path] != was), None):
            raise AlmanacError(f"{changed}: was changed meanwhile; wait until the run has ended, and freeze again")
    if into != target:
        into.rename(target / named(manifest))
    return manifest


def _state(paths: Iterable[Path]) -> dict[Path, tuple[int, int, int] | None]:
    """Return inode, size and time of each file, which change when it is written anew; None if it does not exist."""
    found: dict[Path, tuple[int, int, int] | None] = {}
    for path in paths:
        seen = path.stat() if path.is_file() else None
        found[path] = None if seen is None else (seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


def named(manifest: dict[str, Any]) -> str:
    """Return the file name of an archive: its edition, and the first digits of its digest."""
    return f"{manifest['edition']}-{manifest['digest'][:SHORT]}.zip"


def about(config: EditionConfig, manifest: dict[str, Any], rows: dict[str, type]) -> dict[str, bytes]:
    """Return the files that cite and describe an edition, by their names in its archive; see `citation.croissant`."""
    return {CITATION: citation(config, manifest), CROISSANT: croissant(config, manifest, rows)}


def contents(layout: Layout, withheld: Collection[Path]) -> dict[Path, type]:
    """Return the tables of a frozen edition with their row classes.

    For responses that are not in the archive (``withheld``) it includes all their judged tables.
    """
    found = layout.tables() | layout.facts_tables()
    for asking in layout.config.asked():
        if not set(withheld).isdisjoint(layout.responses(asking)):
            found |= layout.judgements(asking)
    return found


def too_large(layout: Layout) -> set[Path]:
    """Return the response files that an archive withholds: all or none of one model, suite and dataset."""
    found: dict[tuple[str, str, str], set[Path]] = {}
    for asking in layout.config.asked():
        for one in layout.rounds(asking):
            found.setdefault((one.answerer, asking.suite, asking.dataset), set()).update(one.responses)
    most = layout.config.freeze_megabytes * MEGABYTE
    large = [paths for paths in found.values() if sum(path.stat().st_size for path in paths if path.is_file()) > most]
    return set().union(*large)


def _as_they_are(layout: Layout) -> dict[str, Path]:
    """Return the files that are packed unchanged, by name: copied facts, and the page with its tables and figures."""
    if not layout.page().is_file():
        raise AlmanacError(f"{layout.page()}: there is no page, as its run has not ended; run it again, whole")
    if (maker := maker_of(layout.page())) != MAKER:
        raise AlmanacError(
            f"{layout.page()}: was made by {maker}, and this is {MAKER}, which may find or draw something else; run "
            "`make` for this edition again, or freeze it with the code that made it"
        )
    found = {path.relative_to(layout.root).as_posix(): path for path in layout.drawn()}
    if layout.drawn_list().is_file():
        drawn = {*layout.drawn_list().read_text("utf-8").splitlines(), layout.page().name}
        strange = [
            f"{found[name]}: is no part of the report; move it elsewhere" for name in sorted(found.keys() - drawn)
        ]
        gone = [
            f"{layout.root / name}: is gone; delete {layout.page()} and run again"
            for name in sorted(drawn - found.keys())
        ]
        refuse([*strange, *gone])
    return found | {path.relative_to(layout.root).as_posix(): path for path in layout.copied()}


def _lock(layout: Layout) -> dict[str, bytes]:
    """Return the file with the list of packages, those that provide suites last; empty if there is no such list."""
    if INSTALLED:
        listed = sorted({f"{one.name}=={one.version}" for one in metadata.distributions() if one.name != "almanac"})
    elif LOCKED.is_file():
        listed = LOCKED.read_text("utf-8").splitlines()
    else:
        return {}
    others = packages({asking.suite for asking in layout.config.asked()})
    return {LOCK: "".join(f"{line}\n" for line in (*listed, *others)).encode()}


def made_by(path: Path) -> dict[str, str]:
    """Return a response file's metadata: the model, how it was run, and on which requests; empty if there are none."""
    found = tables.read_metadata(path)
    return {key.removeprefix(OF_ANSWERING): value for key, value in found.items() if key.startswith(OF_ANSWERING)}


def add(archive: zipfile.ZipFile | None, name: str, content: Iterable[bytes]) -> dict[str, Any]:
    """Write a file into an archive and return its manifest entry: path, bytes, sha256; without archive, only that."""
    size, sha256 = 0, hashlib.sha256()
    with nullcontext() if archive is None else archive.open(_member(name), "w", force_zip64=True) as out:
        for block in content:
            size += len(block)
            sha256.update(block)
            if out is not None:
                out.write(block)
    return {"path": name, "bytes": size, "sha256": sha256.hexdigest()}


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def portable(
    config: EditionConfig, made_with: Collection[str] | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a configuration that is valid on any machine, and the user's files that belong to it.

    A path on the user's disk is replaced: the path of a file by that of its copy in the archive, the path of a folder
    by its last part. The user's contact address is removed.

    Args:
        config: the configuration.
        made_with: the sha256 of the files that the edition was made with; None: files are not checked.

    Returns:
        The configuration, and each file's content by its name in the archive.

    Raises:
        AlmanacError: a file cannot be read, or its content has changed; the message names its key.
    """
    carried: dict[str, bytes] = {}

    def moved(place: DiskKey) -> str:
        path = Path(place.path)
        if place.named.kind != "file":
            return f"{ELSEWHERE}/{path.name}"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise AlmanacError(
                f"{place.key}: {path}: cannot be read ({error.strerror}{where_from(path)}), and an edition carries "
                "its content; bring the file back"
            ) from error
        found = hashlib.sha256(content).hexdigest()
        if made_with is not None and found not in made_with:
            raise AlmanacError(
                f"{place.key}: {path}: is not the file that the edition was made with, whose content it carries; run "
                "it again, whole, or bring that file back"
            )
        name = f"{FILES}/{found[:SHORT]}/{path.name}"
        carried[name] = content
        return name

    settings = with_places(config.settled(), moved)
    if settings["contact"] is not None:
        settings["contact"] = NOBODY
    return settings, carried


def _sources(layout: Layout) -> list[dict[str, Any]]:
    """Return name, kind, licence and origin of each source; refuse facts that may not be passed on or have changed."""
    out = []
    for name in layout.config.used_sources():
        source = layout.config.sources[name]
        if not source.redistributable or not source.licence:
            raise AlmanacError(
                f"sources.{name}: its facts may not be passed on, and an edition carries them; if their terms allow "
                f"it, set its licence and redistributable: true and run again, with `make own` by "
                f"ARGS=\"sources='{{{name}: {{licence: CC-BY-4.0, redistributable: true}}}}'\"; {INSTEAD}"
            )
        record = checked_record(layout.source(name) / PULLED)
        entry = {"name": name, "kind": source.kind, "licence": source.licence}
        out.append(entry | ({"raw": record["raw"]} if "raw" in record else {}))
    return out
