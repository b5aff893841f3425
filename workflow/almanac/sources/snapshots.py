"""Snapshots: frozen responses or files of a source on one date, and the differences between two snapshots.

A snapshot is a folder ``KIND-SETTINGS/DATE`` with raw responses or files, and ``manifest.json``, which is written last.
SETTINGS is a digest of the settings that determine what is fetched, so equal settings find it in any edition.
"""

import datetime
import json
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from almanac import __version__, sealed, tables
from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact
from almanac.sources.answers import INDEX, now
from almanac.sources.options import DumpOptions, NetworkOptions

MANIFEST = "manifest.json"
PARTIAL = ".partial"
TOOLS = ("SPARQLWrapper", "requests", "stamina")
SHOWN = 20
RESUMED = 7  # days after which a repeated pull that was interrupted is too old to be resumed


def settings_of(options: NetworkOptions) -> dict[str, Any]:
    """Return the settings that determine what is fetched: without `Manners`, licence and the choice of a snapshot.

    Downloads are identified by their addresses alone, so that one download serves all settings for reading it.
    """
    values = options.model_dump(mode="json")
    if isinstance(options, DumpOptions) and options.downloads():
        return {"kind": values["kind"], "downloads": {one.name: one.url for one in options.downloads()}}
    return {name: value for name, value in values.items() if name not in {*NetworkOptions.model_fields, "path"}}


def home(root: Path, options: NetworkOptions) -> Path:
    """Return the folder of all snapshots of these settings."""
    settings = settings_of(options)
    return root / f"{settings['kind']}-{tables.identity(settings)[:12]}"


def dates(folder: Path) -> list[str]:
    """Return the dates of the complete snapshots in a `home`, sorted."""
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}") if not path.parent.name.endswith(PARTIAL))


def chosen(folder: Path, date: str | None) -> Path | None:
    """Return the snapshot to read: that of ``date`` or, by default, the first; None if there is none yet.

    Raises:
        AlmanacError: there is no snapshot of this date.
    """
    there = dates(folder)
    if date is not None and date not in there:
        raise AlmanacError(
            f"snapshot: no snapshot {date!r} with these settings; there are {', '.join(there) or 'none'}"
        )
    return folder / (date or there[0]) if there else None


def begin(folder: Path, date: str) -> Path:
    """Return the folder of a partial snapshot of a date; an interrupted one is resumed under this date, and reported.

    The newest partial snapshot is resumed. If there are complete ones, it must be newer than all of them and at most
    `RESUMED` days old.

    Raises:
        AlmanacError: the snapshot of this date is complete already.
    """
    whole = dates(folder)
    if date in whole:
        raise AlmanacError(
            f"{folder / date}: exists already, and snapshots are never changed; give another date, or wait a minute"
        )
    partial, newest = folder / f"{date}{PARTIAL}", max(whole, default="")
    oldest = (datetime.date.fromisoformat(date[:10]) - datetime.timedelta(days=RESUMED)).isoformat() if whole else ""
    names = {path: path.name.removesuffix(PARTIAL) for path in sorted(folder.glob(f"*{PARTIAL}"))}
    begun = [path for path, name in names.items() if name > newest and name >= oldest]
    if begun and partial not in begun:
        print(f"going on with what was begun on {names[begun[-1]]}", file=sys.stderr)
        begun[-1].rename(partial)
    partial.mkdir(parents=True, exist_ok=True)
    return partial


def finish(partial: Path, options: NetworkOptions, downloads: Mapping[str, Any]) -> Path:
    """Write the manifest of a partial snapshot, give it its final name, and return its folder.

    Args:
        partial: the folder from `begin`.
        options: the settings it was made with.
        downloads: the records of downloaded files, by name.
    """
    (partial / MANIFEST).unlink(missing_ok=True)  # left by a run that was killed just before the rename below
    files = sealed.files(partial, sorted(path for path in partial.rglob("*") if path.is_file()))
    asked = [json.loads(line) for index in partial.rglob(INDEX) for line in index.read_text("utf-8").splitlines()]
    manifest = {
        "settings": settings_of(options),
        "licence": options.licence,
        "redistributable": options.redistributable,
        "almanac": __version__,
        "tools": {"python": platform.python_version()} | {name: metadata.version(name) for name in TOOLS},
        "finished": now(),
        "requests": len(asked),
        "rows": sum(entry.get("rows", 0) for entry in asked),
        "downloads": dict(downloads),
        "files": files,
    }
    tables.write_text(partial / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    return partial.rename(partial.with_name(partial.name.removesuffix(PARTIAL)))


def verified(snapshot: Path) -> dict[str, Any]:
    """Check every file of a snapshot against its manifest, and return the manifest.

    Raises:
        AlmanacError: a file is missing or has changed.
    """
    remedy = "a snapshot may not change: pull again, or take it from where it was made"
    return sealed.checked_record(snapshot / MANIFEST, remedy)


def changes(old: Path, new: Path) -> dict[str, Any]:
    """Return the differences between two folders of a source's tables.

    Facts are compared by id and reported by relation; entities are compared by label and aliases.
    """
    facts = [{row.fact_id: row for row in tables.read(folder / "facts.parquet", Fact)} for folder in (old, new)]
    names = [{row.entity_id: row for row in tables.read(folder / "entities.parquet", Entity)} for folder in (old, new)]
    before, after = facts
    by_relation: dict[str, dict[str, Any]] = defaultdict(lambda: {"before": 0, "after": 0, "added": [], "removed": []})
    for label, rows in (("before", before), ("after", after)):
        for relation, count in Counter(row.relation_id for row in rows.values()).items():
            by_relation[relation][label] = count
    for label, ids in (("added", set(after) - set(before)), ("removed", set(before) - set(after))):
        for identity in sorted(ids):
            by_relation[(after | before)[identity].relation_id][label].append(identity)
    both = sorted(set(names[0]) & set(names[1]))
    renamed = [one for one in both if names[0][one].label != names[1][one].label]
    aliases = [one for one in both if names[0][one].aliases != names[1][one].aliases]
    return {
        "facts": {relation: by_relation[relation] for relation in sorted(by_relation)},
        "renamed": [f"{one}: {names[0][one].label} -> {names[1][one].label}" for one in renamed],
        "other_aliases": aliases,
    }


def described(report: Mapping[str, Any]) -> str:
    """Format a report of `changes` as text."""
    lines = []
    for relation, one in report["facts"].items():
        lines.append(
            f"{relation}: {one['before']} facts, now {one['after']}; "
            f"{len(one['added'])} added, {len(one['removed'])} removed"
        )
        lines += [f"  + {identity}" for identity in one["added"][:SHOWN]]
        lines += [f"  - {identity}" for identity in one["removed"][:SHOWN]]
    lines += [f"renamed {text}" for text in report["renamed"][:SHOWN]]
    lines.append(f"{len(report['renamed'])} renamed, {len(report['other_aliases'])} with other aliases")
    return "\n".join(lines)
