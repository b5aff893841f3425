"""LPAQA: facts of T-REx and many prompts for their relations, as its repository holds them (Jiang et al. 2020)."""

import io
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources.lama import Collected
from almanac.sources.options import LpaqaOptions
from almanac.sources.properties import of_property
from almanac.sources.reading import BROKEN, decoded, lines_of, member, zipped
from almanac.sources.source_tables import SourceTables

SOURCE = "lpaqa"
FACTS = re.compile(r"(?:^|/)TREx_train\.tar\.gz$")
TRIPLES = re.compile(r"(?:^|/)(P\d+)\.jsonl$")
ORIGINS = {"mine": "mined", "paraphrase": "paraphrased", "manual_paraphrase": "paraphrased"}
SLOTS = ("[X]", "[Y]")


class LpaqaLine(msgspec.Struct):
    """A fact; LPAQA has no aliases."""

    sub_uri: str
    sub_label: str
    obj_uri: str
    obj_label: str


class LpaqaPrompt(msgspec.Struct):
    """A prompt with its weight in the ensemble, which is not read."""

    template: str


def read(options: LpaqaOptions, folder: Path) -> SourceTables:
    """Make the tables of LPAQA out of an archive of its repository; what is packed in it is read where it lies.

    LPAQA has no names of relations: they bear their property's id until a person names them. A prompt that is in
    several sets, or twice in one, is the template of the first.

    Args:
        options: which sets of prompts.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, lacks the facts or a set, or a file is not of its shape.
    """
    path = folder / LpaqaOptions.DOWNLOADS[0].name
    collected = Collected(SOURCE)
    with zipped(path) as archive:
        packed = [name for name in archive.namelist() if FACTS.search(name)]
        if not packed:
            raise AlmanacError(f"{path}: holds no TREx_train.tar.gz; is it LPAQA's repository?")
        _read_facts(path, archive, packed[0], collected)
        said: dict[str, dict[str, Template]] = {}
        for origin in options.prompts:
            _read_prompts(path, archive, origin, said, collected)
    relations = [of_property(name) for name in sorted(collected.relations())]
    templates = [row for name in sorted(said) for row in said[name].values()]
    for row in templates:
        if row.relation_id not in collected.relations():
            collected.omissions.add("templates", "relation has no facts", row.template_id)
    return collected.tables(relations, templates)


def prompts(path: Path, sets: Iterable[str]) -> dict[str, dict[str, list[Template]]]:
    """Return the prompts of an archive of LPAQA's repository by set and relation, in the order of their files.

    Args:
        path: the archive.
        sets: folders of its ``prompt``, each read by itself; a prompt without one of the slots is passed over.

    Raises:
        AlmanacError: as `read`.
    """
    found = {}
    with zipped(path) as archive:
        for origin in sets:
            said: dict[str, dict[str, Template]] = {}
            _read_prompts(path, archive, origin, said, Collected(SOURCE))
            found[origin] = {relation: list(texts.values()) for relation, texts in said.items()}
    return found


def _read_facts(path: Path, archive: ZipFile, name: str, collected: Collected) -> None:
    where = f"{path}: {name}"
    try:
        with tarfile.open(fileobj=io.BytesIO(member(path, archive, name)), mode="r:gz") as packed:
            for one in packed:
                found = TRIPLES.search(one.name)
                lines = packed.extractfile(one) if found and one.isfile() else None
                if found is None or lines is None:
                    continue
                for line in decoded(f"{where}: {one.name}", lines_of(where, lines), LpaqaLine):
                    _add(collected, found[1], line)
    except BROKEN as error:
        raise AlmanacError(f"{where}: cannot be read ({error}); is it whole? Bring it again") from error
    if not collected.relations():
        raise AlmanacError(f"{where}: holds no facts (P….jsonl); is it LPAQA's repository?")


def _add(collected: Collected, relation: str, line: LpaqaLine) -> None:
    for what, identity, label in (("subject", line.sub_uri, line.sub_label), ("object", line.obj_uri, line.obj_label)):
        if not collected.entity(identity, [label]):
            collected.omissions.add("facts", f"{what} has no label", identity)
            return
    collected.fact(relation, line.sub_uri, object_id=line.obj_uri)


def _read_prompts(
    path: Path, archive: ZipFile, origin: str, said: dict[str, dict[str, Template]], collected: Collected
) -> None:
    """Add a set's templates by relation and text, in the order of its files."""
    wanted = re.compile(rf"(?:^|/)prompt/{origin}/(P\d+)\.(jsonl|txt)$")
    names = sorted(name for name in archive.namelist() if wanted.search(name))
    if not names:
        raise AlmanacError(f"{path}: holds no prompt/{origin}/P….jsonl or .txt; correct `prompts`")
    for name in names:
        relation, form = wanted.search(name).groups()  # type: ignore[union-attr]  # all of them match
        where = f"{path}: {name}"
        try:
            lines = member(path, archive, name).splitlines()
            texts = [one.decode("utf-8") for one in lines]
        except BROKEN as error:
            raise AlmanacError(f"{where}: cannot be read ({error}); is it whole? Bring it again") from error
        if form == "jsonl":
            texts = [one.template for one in decoded(where, lines, LpaqaPrompt)]
        for at, text in enumerate(map(str.strip, texts)):
            template_id = f"{relation}/{origin}/{at}"
            if any(text.count(slot) != 1 for slot in SLOTS):
                collected.omissions.add("templates", "a slot is missing or stands twice", f"{template_id}: {text}")
            elif text in said.setdefault(relation, {}):
                collected.omissions.add("templates", "another says the same", template_id)
            else:
                said[relation][text] = Template(template_id, relation, text, "statement", ORIGINS[origin], None, ())
