"""KAMEL: Wikidata facts with several objects, literals, and aliases of objects (Kalo and Fichtel 2022)."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources import values
from almanac.sources.lama import Collected, subject_of
from almanac.sources.names import clean
from almanac.sources.options import KamelOptions
from almanac.sources.reading import decoded, member, zipped
from almanac.sources.source_tables import SourceTables

SOURCE = "kamel"
FACTS = re.compile(r"(?:^|/)data/KAMEL/(P\d+)/(train|dev|test)\.jsonl$")
QUESTIONS = re.compile(r"(?:^|/)question-templates\.csv$")
QUESTION = re.compile(r"\s*(P\d+)\s*,\s*(.+?)\s*")
ITEM = re.compile(r"Q\d+")
LITERALS = {"XMLSchema#dateTime": ("date", "year"), "XMLSchema#decimal": ("quantity", None)}
SPLITS = {"train": "train", "test": "test", "dev": None}  # datasets have no dev part; qualifiers record the original


class KamelObject(msgspec.Struct):
    """An object in the test files: its main name, Wikidata's label, and other names."""

    chosen: str
    rdf: str | None = None
    alternative: list[str] = []


class KamelLine(msgspec.Struct):
    """A subject (a name without id) with all its objects; only the test files have the objects' ids."""

    sub_label: str
    obj_label: list[str | KamelObject]
    obj_uri: list[str] = []


class KamelFile(NamedTuple):
    """A file of facts of one relation."""

    relation: str
    split: str
    where: str
    lines: list[KamelLine]


def read(options: KamelOptions, folder: Path) -> SourceTables:
    """Return the tables of KAMEL from an archive of its repository, which is not unpacked.

    - Subjects have no ids; those with the same name are one (``subject:NAME``).
    - Objects have Wikidata ids in the test files. In the other files an object with the main name of a test object of
      its relation gets that object's id; any other gets ``object:NAME``.
    - If the test objects of a relation are dates (kept as years) or numbers, so are its objects in the other files.
    - The question templates are KAMEL's; labels of relations are taken from `properties`.

    Args:
        options: not used.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, or has a file of another shape.
    """
    path = folder / KamelOptions.DOWNLOADS[0].name
    collected = Collected(SOURCE)
    with zipped(path) as archive:
        parts = list(_parts(path, archive))
        if not parts:
            raise AlmanacError(f"{path}: holds no data/KAMEL/P…/test.jsonl; is it KAMEL's repository?")
        templates = list(_questions(path, archive, collected))
    # Test files first: they have the ids and datatypes of the objects.
    known: dict[tuple[str, str], str] = {}
    literal: dict[str, str] = {}
    for part in sorted(parts, key=lambda one: one.split != "test"):
        for line in part.lines:
            _add(collected, part, line, known, literal)
    return collected.tables(templates)


def _parts(path: Path, archive: ZipFile) -> Iterator[KamelFile]:
    for name in sorted(archive.namelist()):
        if (found := FACTS.search(name)) is not None:
            where = f"{path}: {name}"
            lines = list(decoded(where, member(path, archive, name).splitlines(), KamelLine))
            for number, line in enumerate(lines, 1):
                if line.obj_uri and len(line.obj_uri) != len(line.obj_label):
                    counts = f"{len(line.obj_label)} objects and {len(line.obj_uri)} of their ids"
                    raise AlmanacError(f"{where}: line {number} has {counts}; is it the right file?")
            yield KamelFile(found[1], found[2], where, lines)


def _questions(path: Path, archive: ZipFile, collected: Collected) -> Iterator[Template]:
    for name in filter(QUESTIONS.search, archive.namelist()):
        for number, line in enumerate(member(path, archive, name).decode("utf-8-sig").splitlines(), 1):
            if not line.strip():
                continue
            found = QUESTION.fullmatch(line)
            if found is None or found[2].count("[S]") != 1:
                collected.omissions.add("templates", "names no relation, or not one [S]", f"{number}: {line}")
                continue
            text = found[2].replace("[S]", "[X]")
            yield Template(f"{found[1]}/source/0", found[1], text, "question", "written", None, ())


def _add(
    collected: Collected, part: KamelFile, line: KamelLine, known: dict[tuple[str, str], str], literal: dict[str, str]
) -> None:
    """Add a line's facts; update ``known`` (object ids by relation and name) and ``literal`` (datatype by relation)."""
    subject = subject_of(line.sub_label)
    if not collected.entity(subject, [line.sub_label]):
        collected.omissions.add("facts", "subject has no label", part.where)
        return
    split, qualifiers = SPLITS[part.split], (f"part={part.split}",)
    add = partial(collected.fact, part.relation, subject, split=split, qualifiers=qualifiers)
    for at, found in enumerate(line.obj_label):
        names = _names(found)
        uri = line.obj_uri[at] if line.obj_uri else None
        kind = literal.setdefault(part.relation, uri) if uri in LITERALS else literal.get(part.relation)
        if not names:
            collected.omissions.add("facts", "object has no label", f"{part.relation} {line.sub_label}")
        elif uri in LITERALS or (uri is None and kind is not None):
            datatype, precision = LITERALS[str(uri or kind)]
            value, why = values.read(datatype, names[0], precision)
            if value is None:
                collected.omissions.add("facts", f"{datatype} cannot be read", f"{line.sub_label}: {why}")
            else:
                add(value=value, datatype=datatype, precision=precision)
        else:
            identity = uri or known.get((part.relation, names[0])) or f"object:{names[0]}"
            if uri is not None and not ITEM.fullmatch(uri):
                collected.omissions.add("facts", "object is neither an item nor a date or number", uri)
                continue
            known.setdefault((part.relation, names[0]), identity)
            collected.entity(identity, names)
            add(object_id=identity)


def _names(found: str | KamelObject) -> Sequence[str]:
    """Return an object's names, the main name first."""
    names = [found] if isinstance(found, str) else [found.chosen, *filter(None, [found.rdf]), *found.alternative]
    return list(dict.fromkeys(seen for name in names if (seen := clean(name))))
