"""BEAR: Wikidata facts with balanced objects, from an archive of its repository (Wiland et al. 2024)."""

import re
from pathlib import Path

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources.lama import Collected
from almanac.sources.options import BearOptions
from almanac.sources.reading import decoded, member, zipped
from almanac.sources.source_tables import SourceTables

SOURCE = "bear"
FOLDERS = {"bear": "BEAR", "big": "BEAR-big"}


class BearLine(msgspec.Struct):
    """A line of a relation's facts; it has no aliases of the object."""

    sub_id: str
    sub_label: str
    obj_id: str
    obj_label: str
    sub_aliases: list[str] = []


class Templates(msgspec.Struct):
    """The templates of a relation, which need not have facts."""

    templates: list[str]


def read(options: BearOptions, folder: Path) -> SourceTables:
    """Return the tables of BEAR or BEAR-big from an archive of its repository, which is not unpacked.

    If the files have several labels for an entity, the first is its label and the others are aliases. BEAR has no
    labels of relations; they are taken from `properties`.

    Args:
        options: the part.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, lacks the part, or has a file of another shape.
    """
    path = folder / BearOptions.DOWNLOADS[0].name
    part = re.compile(rf"(?:^|/){FOLDERS[options.part]}/(?:(P\d+)\.jsonl|metadata_relations\.json)$")
    collected, sentences = Collected(SOURCE), dict[str, Templates]()
    with zipped(path) as archive:
        names = sorted(name for name in archive.namelist() if part.search(name))
        if not names:
            raise AlmanacError(f"{path}: holds no {FOLDERS[options.part]}/P….jsonl; is it BEAR's repository?")
        for name in names:
            found, where = part.search(name), f"{path}: {name}"
            content = member(path, archive, name)
            if found is None or found[1] is None:
                sentences |= next(decoded(where, [content], dict[str, Templates]), {})
                continue
            for line in decoded(where, content.splitlines(), BearLine):
                _add(collected, found[1], line)
    return collected.tables(
        Template(f"{name}/source/{at}", name, text.strip(), "statement", "written", None, ())
        for name, own in sorted(sentences.items())
        for at, text in enumerate(own.templates)
    )


def _add(collected: Collected, relation: str, line: BearLine) -> None:
    subject = line.sub_id, [line.sub_label, *line.sub_aliases]
    if collected.named(subject=subject, object=(line.obj_id, [line.obj_label])):
        collected.fact(relation, line.sub_id, object_id=line.obj_id)
