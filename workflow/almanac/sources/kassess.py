"""KAssess: the facts, templates and names that Dong et al. released, in the layout of their archive."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from zipfile import ZipFile

import msgspec

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources.lama import Collected
from almanac.sources.names import clean
from almanac.sources.options import KassessOptions
from almanac.sources.reading import decoded, member, zipped
from almanac.sources.source_tables import SourceTables, distinct

Value = TypeVar("Value")

SOURCE = "kassess"
NAMES = "cleaned_T_REx"  # the folder with the files of names
TEMPLATES, SUBJECTS, OBJECTS = "relation2template.json", f"{NAMES}/allsub2alias.json", f"{NAMES}/allobj2alias.json"
VOCABULARY = re.compile(rf"(?:^|/){NAMES}/(obj2alias_for_.+_vocab)\.json$")


class KassessLine(msgspec.Struct):
    """A fact; the release's "labels" are Wikidata ids."""

    relation: str
    subj_label: str
    obj_label: str


def read(options: KassessOptions, folder: Path) -> SourceTables:
    """Return the tables of an archive of the released data; the first name of an entity is its label.

    As in the released code, a fact is omitted if its subject or object has no name, its relation has no template, or an
    id contains a ``#`` (a literal value, which has no names).

    Args:
        options: the folder of facts, and the file of the objects' names.
        folder: holds the archive.

    Raises:
        AlmanacError: the archive is missing or damaged, lacks a file, or has a file of another shape.
    """
    path = folder / KassessOptions.DOWNLOADS[0].name
    collected = Collected(SOURCE)
    with zipped(path) as archive:
        released = _dictionary(path, archive, TEMPLATES, dict[str, list[str]])
        templates = list(distinct(_templates(released), collected.omissions))
        facts = list(_facts(path, archive, options.facts))
        names = {
            SUBJECTS: _dictionary(path, archive, SUBJECTS, dict[str, list[str]]),
            OBJECTS: _dictionary(path, archive, _objects(path, archive, options.objects), dict[str, list[str]]),
        }
    worded = {row.relation_id for row in templates}
    for fact in facts:
        _add(collected, fact, names, worded)
    if not collected.relations():
        raise AlmanacError(f"{path}: none of its {len(facts)} facts has names and a template; is it the released data?")
    return collected.tables(templates)


def _add(
    collected: Collected, fact: KassessLine, names: Mapping[str, Mapping[str, Sequence[str]]], worded: set[str]
) -> None:
    """Add a fact with the names of its subject and object, or count it as omitted."""
    ends = {"subject": (fact.subj_label, SUBJECTS), "object": (fact.obj_label, OBJECTS)}
    if any("#" in identity for identity, _ in ends.values()):
        collected.omissions.add("facts", "a value and no thing", f"{fact.relation}: {fact.subj_label} {fact.obj_label}")
        return
    if fact.relation not in worded:
        collected.omissions.add("facts", "relation has no template", fact.relation)
        return
    labels = {end: [one for one in names[file].get(key, ()) if clean(one)] for end, (key, file) in ends.items()}
    for end, (identity, _) in ends.items():
        if not labels[end]:
            collected.omissions.add("facts", f"{end} has no name", identity)
            return
    for end, (identity, _) in ends.items():
        collected.entity(identity, labels[end])
    collected.fact(fact.relation, fact.subj_label, object_id=fact.obj_label)


def _templates(found: Mapping[str, Sequence[str]]) -> Iterator[Template]:
    for relation, texts in sorted(found.items()):
        for at, text in enumerate(map(str.strip, texts)):
            yield Template(f"{relation}/released/{at}", relation, text, "statement", "released", None, ())


def _facts(path: Path, archive: ZipFile, folder: str) -> Iterable[KassessLine]:
    wanted = re.compile(rf"(?:^|/){re.escape(folder)}/P\d+\.jsonl$")
    found = sorted(filter(wanted.search, archive.namelist()))
    if not found:
        raise AlmanacError(f"{path}: holds no {folder}/P….jsonl; correct `facts`")
    for name in found:
        yield from decoded(f"{path}: {name}", member(path, archive, name).splitlines(), KassessLine)


def _objects(path: Path, archive: ZipFile, named: str | None) -> str:
    """Return the file of the objects' names: the one named by the user, that of all objects, or the only model's."""
    if named is not None:
        return f"{NAMES}/{named}.json"
    every = [match[1] for name in archive.namelist() if (match := VOCABULARY.search(name))]
    if any(name.endswith(OBJECTS) for name in archive.namelist()) or not every:
        return OBJECTS
    if len(every) > 1:
        raise AlmanacError(f"{path}: has the names of objects for several models; set `objects`: {', '.join(every)}")
    return f"{NAMES}/{every[0]}.json"


def _dictionary(path: Path, archive: ZipFile, name: str, kind: type[Value]) -> Value:
    """Decode a file of the archive, in whatever parent folder, as a value of type ``kind``."""
    found = [one for one in archive.namelist() if f"/{one}".endswith(f"/{name}")]
    if not found:
        raise AlmanacError(f"{path}: holds no {name}; is it the released data?")
    try:
        return msgspec.json.decode(member(path, archive, found[0]), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{path}: {found[0]} is not what is expected ({error}); is it the right file?") from error
