"""LPAQA: T-REx facts with many prompts per relation, from an archive of its repository (Jiang et al. 2020)."""

import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources.lama import Collected
from almanac.sources.options import LpaqaOptions
from almanac.sources.reading import decoded, lines_of, member, readable, zipped
from almanac.sources.source_tables import Omissions, SourceTables, distinct

SOURCE = "lpaqa"
FACTS = re.compile(r"(?:^|/)TREx_train\.tar\.gz$")
TRIPLES = re.compile(r"(?:^|/)(P\d+)\.jsonl$")
ORIGINS = {"mine": "mined", "paraphrase": "paraphrased", "manual_paraphrase": "paraphrased"}


class LpaqaLine(msgspec.Struct):
    """A fact; LPAQA has no aliases."""

    sub_uri: str
    sub_label: str
    obj_uri: str
    obj_label: str


class LpaqaPrompt(msgspec.Struct):
    """A prompt; its ensemble weight is ignored."""

    template: str


def read(options: LpaqaOptions, folder: Path) -> SourceTables:
    """Return the tables of LPAQA from an archive of its repository, which is not unpacked.

    LPAQA has no labels of relations; they are taken from `properties`. Of prompts that differ only in case and spaces,
    within a set or across sets, the first is kept.

    Args:
        options: the sets of prompts.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, lacks the facts or a set, or has a file of another shape.
    """
    path = folder / LpaqaOptions.DOWNLOADS[0].name
    collected = Collected(SOURCE)
    with zipped(path) as archive:
        packed = [name for name in archive.namelist() if FACTS.search(name)]
        if not packed:
            raise AlmanacError(f"{path}: holds no TREx_train.tar.gz; is it LPAQA's repository?")
        _read_facts(path, archive, packed[0], collected)
        return collected.tables(row for origin in options.prompts for row in _prompts(path, archive, origin))


def prompts(path: Path, sets: Iterable[str]) -> dict[str, dict[str, list[Template]]]:
    """Return the prompts of an archive of LPAQA's repository by set and relation, in the order of their files.

    Args:
        path: the archive.
        sets: subfolders of ``prompt``; duplicates within a set are removed, and prompts that lack a slot are skipped.

    Raises:
        AlmanacError: as `read`.
    """
    found: dict[str, dict[str, list[Template]]] = {}
    with zipped(path) as archive:
        for origin in sets:
            own = found.setdefault(origin, {})
            for row in distinct(_prompts(path, archive, origin), Omissions()):
                own.setdefault(row.relation_id, []).append(row)
    return found


def _read_facts(path: Path, archive: ZipFile, name: str, collected: Collected) -> None:
    where = f"{path}: {name}"
    data = io.BytesIO(member(path, archive, name))
    with readable(where), tarfile.open(fileobj=data, mode="r:gz") as packed:
        for one in packed:
            found = TRIPLES.search(one.name)
            lines = packed.extractfile(one) if found and one.isfile() else None
            if found is None or lines is None:
                continue
            for line in decoded(f"{where}: {one.name}", lines_of(where, lines), LpaqaLine):
                _add(collected, found[1], line)
    if not collected.relations():
        raise AlmanacError(f"{where}: holds no facts (P….jsonl); is it LPAQA's repository?")


def _add(collected: Collected, relation: str, line: LpaqaLine) -> None:
    if collected.named(subject=(line.sub_uri, [line.sub_label]), object=(line.obj_uri, [line.obj_label])):
        collected.fact(relation, line.sub_uri, object_id=line.obj_uri)


def _prompts(path: Path, archive: ZipFile, origin: str) -> Iterator[Template]:
    """Yield the prompts of a set as templates, in the order of its files."""
    wanted = re.compile(rf"(?:^|/)prompt/{origin}/(P\d+)\.(jsonl|txt)$")
    names = sorted(name for name in archive.namelist() if wanted.search(name))
    if not names:
        raise AlmanacError(f"{path}: holds no prompt/{origin}/P….jsonl or .txt; correct `prompts`")
    for name in names:
        relation, form = wanted.search(name).groups()  # type: ignore[union-attr]  # all of them match
        where = f"{path}: {name}"
        lines = member(path, archive, name).splitlines()
        with readable(where):
            texts = [one.decode("utf-8") for one in lines]
        if form == "jsonl":
            texts = [one.template for one in decoded(where, lines, LpaqaPrompt)]
        for at, text in enumerate(map(str.strip, texts)):
            yield Template(f"{relation}/{origin}/{at}", relation, text, "statement", ORIGINS[origin], None, ())
