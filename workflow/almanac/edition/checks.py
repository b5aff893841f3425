"""Checks of an unpacked edition besides its measures: terms, citation, ids, datasets, models of responses, the page.

A forged archive may have a matching manifest. So each file that can be derived from others is derived again.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from almanac import sealed, tables
from almanac.dataset.building import build_tables, sourced
from almanac.dataset.options import DatasetOptions
from almanac.edition.archive import LICENCE, MADE_BY, about, add
from almanac.edition.citation import CROISSANT, licence_text
from almanac.edition.layout import DATASET_TABLES, SHOWN, Layout
from almanac.edition.manifest import SHORT
from almanac.edition.packing import lines, member
from almanac.edition.unpacking import rows_of
from almanac.errors import AlmanacError, refuse
from almanac.frames import frames
from almanac.rows import Context, Request, Response
from almanac.versions import MAKER, maker_of

# Metadata of response files that differ between the files of one model.
OF_THE_FILE = ("requests", "contexts", "self_test", "job")


def check_terms(layout: Layout, manifest: Mapping[str, Any]) -> None:
    """Compare the manifest's sources, terms and citation with the configuration and the files.

    Raises:
        AlmanacError: they differ; the message names the field or the file.
    """
    config = layout.config
    stated = [(one["name"], one["kind"], one["licence"]) for one in manifest["sources"]]
    options = {name: config.sources[name] for name in config.used_sources()}
    expected = [(name, one.kind, one.licence) for name, one in options.items()]
    if stated != expected:
        raise _forged("manifest.json", f"sources are {stated}, the configuration says {expected}")
    if closed := [name for name, one in options.items() if not one.redistributable]:
        raise _forged("edition.json", f"the facts of {', '.join(closed)} may not be passed on")
    unknown = sorted(set(manifest["parameters"]) - set(config.participants()))
    if unknown:
        raise _forged("manifest.json", f"parameters are of {', '.join(unknown)}, of whom nothing is asked")
    texts = about(config, dict(manifest), rows_of(layout, manifest))
    texts |= {f"sources/{one['name']}/{LICENCE}": licence_text(one) for one in manifest["sources"]}
    for name, text in texts.items():
        if _without_words(name, (layout.root / name).read_bytes()) != _without_words(name, text):
            raise _forged(name, "is not what the manifest and the configuration give")


def _without_words(name: str, text: bytes) -> bytes:
    """Return a file; Croissant's without its words for tables and columns, which may be those of another version."""
    return re.sub(rb'^ {3,}"description": .*\n', b"", text, flags=re.MULTILINE) if name == CROISSANT else text


def check_ids(layout: Layout) -> int:
    """Compute the id of every request and context again from its content; return the number of ids.

    Raises:
        AlmanacError: an id differs; the message names it.
    """
    count = 0
    for found in {one.folder: one for one in layout.every_round()}.values():
        for path in found.requests:
            for request in tables.read_rows(path, Request):
                content = {key: value for key, value in tables.as_dict(request).items() if key != "request_id"}
                _check_id(layout, path, request.request_id, tables.identity(content | {"request_id": ""}))
                count += 1
        path = found.folder / "contexts.parquet"
        for context in tables.read_rows(path, Context):
            _check_id(layout, path, context.context_id, tables.identity(context.text))
            count += 1
    return count


def _check_id(layout: Layout, path: Path, stated: str, found: str) -> None:
    if stated != found:
        raise _forged(member(layout.root, path), f"the text of {stated} has the id {found}")


def check_datasets(layout: Layout, manifest: Mapping[str, Any], again: Path) -> int:
    """Build every dataset again from its source, and compare it with the frozen one byte by byte.

    The texts that state a planted world's facts come from its corpus, which archives do not carry. So the frozen table
    of evidence is used for these. ``again`` is a folder to build in.

    Returns:
        The number of datasets.

    Raises:
        AlmanacError: a table differs; the message names it.
    """
    stated = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    names = layout.config.used_datasets()
    for name in names:
        config = layout.config.datasets[name]
        options = DatasetOptions(**{key: getattr(config, key) for key in DatasetOptions.model_fields})
        source = sourced(layout.facts(name), None, options, Path(config.drafts) if config.drafts else None)
        evidence = layout.dataset(name, "evidence") if config.world is not None else None
        build_tables(source, evidence, options, again / name)
        for table, row in DATASET_TABLES.items():
            called = member(layout.root, layout.dataset(name, table))
            if add(None, called, lines(again / name / f"{table}.parquet", row))["sha256"] != stated[called]:
                raise _forged(called, f"built again from {layout.facts(name).name}, it is another table")
    return len(names)


def check_makers(layout: Layout, manifest: Mapping[str, Any]) -> list[str]:
    """Compare the manifest's records of response files with the model digests in their rows.

    Withheld responses are not in the unpacked edition, so their records cannot be checked.

    Returns:
        Lines to print: how each model's responses were made, and the number of files without a record.

    Raises:
        AlmanacError: a record is damaged, or names another model than the file's rows.
    """
    entries = {entry["path"]: entry for entry in manifest["files"]}
    answered = {path: one.answerer for one in layout.every_round() for path in one.responses}
    found: dict[str, None] = {}
    silent = 0
    for path, answerer in answered.items():
        name = member(layout.root, path)
        record = _record(entries.get(name, {}), name)
        if not record:
            silent += 1
            continue
        if path.is_file():
            _check_rows(path, name, record["model"])
        found[f"{answerer}: {_words(record)}"] = None
    return [*found, *([f"{silent} response files do not say what made them"] if silent else [])]


def _check_rows(path: Path, name: str, model: str) -> None:
    """Refuse a record that names another model than the file's rows."""
    for frame in frames(path, Response, ["model_digest"]):
        if others := sorted(set(frame["model_digest"].unique()) - {model}):
            raise AlmanacError(
                f"{name}: the manifest says that the model {model} made it, a row that {others[0]} did; "
                "get the archive again"
            )


def _record(entry: Mapping[str, Any], name: str) -> Mapping[str, str]:
    record = entry.get(MADE_BY, {})
    if not isinstance(record, dict) or (record and not isinstance(record.get("model"), str)):
        raise AlmanacError(f"{name}: {MADE_BY} in the manifest is {record!r} and names no model; get the archive again")
    return record


def _words(record: Mapping[str, str]) -> str:
    """Return a record as one line: the model first, digests shortened."""
    kept = {key: value for key, value in sorted(record.items()) if key not in (*OF_THE_FILE, "model")}
    return ", ".join(f"{key} {_short(value)}" for key, value in {"model": record["model"], **kept}.items())


def _short(value: str) -> str:
    return " ".join(word[:SHORT] if len(word) == 64 else word for word in str(value).split(" "))


def check_shown(layout: Layout, manifest: Mapping[str, Any], draw: Callable[[], None]) -> int:
    """Draw the page with its tables and figures again, compare them with the frozen ones, and return their number.

    The version of Almanac that the page names may differ.

    Raises:
        AlmanacError: a file is missing, added or different; the message names it.
    """
    drawn = (layout.page().relative_to(layout.root).as_posix(), *(f"{what}/" for what in SHOWN))
    shown = {entry["path"]: entry["sha256"] for entry in manifest["files"] if entry["path"].startswith(drawn)}
    page, maker = layout.page(), maker_of(layout.page())
    if maker != MAKER:  # the page names its maker; ignore this difference
        text = page.read_bytes().replace(maker.encode(), MAKER.encode(), 1)
        shown[page.relative_to(layout.root).as_posix()] = hashlib.sha256(text).hexdigest()
    hint = "(with the packages of lock.txt?)" if maker == MAKER else f"by {MAKER}; it was made by {maker}"
    for name in shown:
        (layout.root / name).unlink()
    draw()
    found = {path.relative_to(layout.root).as_posix(): sealed.sha256(path) for path in layout.drawn()}
    wrong = []
    for name in sorted(found.keys() | shown.keys()):
        if found.get(name) != shown.get(name):
            told = "is missing" if name not in shown else "is not made" if name not in found else "is another file"
            wrong.append(f"{name}: {told} when the report is made again {hint}")
    refuse(wrong, len(wrong))
    return len(shown)


def _forged(name: str, what: str) -> AlmanacError:
    return AlmanacError(f"{name}: {what}; get the archive again from who made it")
