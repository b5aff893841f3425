"""BioLAMA: biomedical facts of Wikidata, UMLS or CTD, with aliases and BioLAMA's own split."""

import re
import tarfile
from pathlib import Path

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Relation, Template
from almanac.sources.lama import Collected, template
from almanac.sources.options import BiolamaOptions
from almanac.sources.reading import decoded, lines_of, opened
from almanac.sources.source_tables import SourceTables

SOURCE = "biolama"
SPLITS = {"train": "train", "test": "test", "dev": None}  # datasets have no dev part; qualifiers record the original


class BioLamaPrompt(msgspec.Struct):
    """A line of the manual prompts."""

    relation: str
    template: str
    property: str = ""


class BioLamaLine(msgspec.Struct):
    """A line of a relation's triples; the lists of objects are parallel."""

    predicate_id: str
    sub_uri: str
    sub_label: str
    obj_uris: list[str]
    obj_labels: list[str]
    sub_type: str = ""
    sub_aliases: list[str] = []
    obj_types: list[str] = []
    obj_aliases: list[list[str]] = []


def read(options: BiolamaOptions, folder: Path) -> SourceTables:
    """Return the tables of one of BioLAMA's three parts; the archive is streamed and not unpacked.

    Args:
        options: the part, and whether BioLAMA's split is kept.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, lacks the part, or has a line of another shape.
    """
    path = folder / BiolamaOptions.DOWNLOADS[0].name
    prompts_file = re.compile(rf"(?:^|/){options.part}/prompts/manual\.jsonl$")
    triples_file = re.compile(rf"(?:^|/){options.part}/triples_processed/[^/]+/(train|dev|test)\.jsonl$")
    collected, prompts, read_any = Collected(SOURCE), list[BioLamaPrompt](), False
    with opened(path) as handle, tarfile.open(fileobj=handle, mode="r|") as archive:
        for member in archive:
            found = triples_file.search(member.name)
            if found is None and not prompts_file.search(member.name):
                continue
            where = f"{path}: {member.name}"
            lines = archive.extractfile(member) if member.isfile() else None
            if lines is None:
                raise AlmanacError(f"{where}: is a link or a device; the archive is not to be trusted")
            if found is None:
                prompts = list(decoded(where, lines_of(where, lines), BioLamaPrompt))
                continue
            read_any = True
            for line in decoded(where, lines_of(where, lines), BioLamaLine):
                _add(collected, line, found[1], options)
    if not read_any:
        raise AlmanacError(f"{path}: holds no {options.part}/triples_processed/…; is it BioLAMA's archive?")
    labels = {prompt.relation: prompt.property or prompt.relation for prompt in prompts}
    relations = {
        relation: Relation(relation, labels.get(relation, relation), _property(relation), "N-M", None, "biomedicine")
        for relation in sorted({*labels, *collected.relations()})
    }
    templates: dict[str, Template] = {prompt.relation: template(prompt.relation, prompt.template) for prompt in prompts}
    return collected.tables(templates.values(), relations.values())


def _property(relation: str) -> str | None:
    return relation if re.fullmatch(r"P\d+", relation) else None


def _add(collected: Collected, line: BioLamaLine, part: str, options: BiolamaOptions) -> None:
    if not collected.entity(line.sub_uri, [line.sub_label, *line.sub_aliases], line.sub_type or None):
        collected.omissions.add("facts", "subject has no label", line.sub_uri)
        return
    if len(line.obj_uris) != len(line.obj_labels):
        collected.omissions.add("facts", "objects and their labels are not as many", line.sub_uri)
        return
    for place, (identity, label) in enumerate(zip(line.obj_uris, line.obj_labels, strict=True)):
        aliases = line.obj_aliases[place] if place < len(line.obj_aliases) else []
        kind = line.obj_types[place] if place < len(line.obj_types) else None
        if not collected.entity(identity, [label, *aliases], kind):
            collected.omissions.add("facts", "object has no label", identity)
            continue
        split = SPLITS[part] if options.split == "released" else None
        collected.fact(line.predicate_id, line.sub_uri, object_id=identity, split=split, qualifiers=(f"part={part}",))
