"""Facts from a folder of the user's own: tables `facts`, `entities` and, if there, `relations` and `templates`.

Each table is one file: ``NAME.csv``, ``NAME.jsonl`` or ``NAME.parquet``, the first two also as ``.gz``. Every mistake
is reported with its file and row, the first twenty of a folder together; a folder with a mistake is not read at all, so
nothing is dropped silently.
"""

import csv
import gzip
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Relation, Template

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
DATATYPES = ("date", "quantity", "string")
STYLES = ("statement", "question", "prefix")
SHOWN = 20
LIST_SEPARATOR = "|"


class Columns(NamedTuple):
    """What a table of a folder must have and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


TABLES = {
    "facts": Columns(
        ("relation_id", "subject_id"),
        ("object_id", "value", "datatype", "precision", "qualifiers", "split", "fact_id", "source"),
    ),
    "entities": Columns(("entity_id", "label"), ("aliases", "type")),
    "relations": Columns(
        ("relation_id", "label"), ("property", "cardinality", "object_type", "domain", "popularity", "bucket")
    ),
    "templates": Columns(
        ("relation_id", "text", "style"),
        ("template_id", "origin", "parent_id", "entails"),
    ),
}
LISTS = {"aliases", "qualifiers", "entails"}


@dataclass(frozen=True)
class FactTables:
    """The tables of one source: rows by kind, sorted by their keys."""

    entities: list[Entity]
    relations: list[Relation]
    facts: list[Fact]
    templates: list[Template]


def find(folder: Path, table: str) -> Path | None:
    """Return the file of a table in a folder, or none.

    Raises:
        AlmanacError: two files claim to be the same table.
    """
    found = [folder / f"{table}{ending}" for ending in ENDINGS if (folder / f"{table}{ending}").is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise AlmanacError(f"{folder}: {names} are the same table twice; keep one of them")
    return found[0] if found else None


def table_files(folder: Path) -> list[Path]:
    """Return the files of a facts folder that are read, in a fixed order.

    Raises:
        AlmanacError: the folder is missing or lacks `facts` or `entities`.
    """
    if not folder.is_dir():
        raise AlmanacError(f"{folder}: there is no such folder; name a folder that holds facts and entities")
    files = {table: find(folder, table) for table in TABLES}
    for table in ("facts", "entities"):
        if files[table] is None:
            raise AlmanacError(f"{folder}: has no table {table!r}; put one of {table}{{{','.join(ENDINGS)}}} there")
    return [path for path in files.values() if path is not None]


def read_folder(folder: Path, source: str) -> FactTables:
    """Read a folder of facts.

    Args:
        folder: holds `facts` and `entities`, and perhaps `relations` and `templates`.
        source: the source's name, written on every fact that does not name its own.

    Raises:
        AlmanacError: anything is wrong with a row, naming file and row; up to twenty mistakes together.
    """
    table_files(folder)
    mistakes: list[str] = []
    entities = _entities(folder, mistakes)
    facts = _facts(folder, source, {entity.entity_id for entity in entities}, mistakes)
    relations = _relations(folder, sorted({fact.relation_id for fact in facts}), mistakes)
    templates = _templates(folder, {relation.relation_id for relation in relations}, mistakes)
    if mistakes:
        more = f"\n... and {len(mistakes) - SHOWN} more" if len(mistakes) > SHOWN else ""
        raise AlmanacError(
            "\n".join(mistakes[:SHOWN]) + more + "\nNothing was read; mend these rows and run the step again."
        )
    return FactTables(
        sorted(entities, key=lambda row: row.entity_id),
        sorted(relations, key=lambda row: row.relation_id),
        sorted(facts, key=lambda row: row.fact_id),
        sorted(templates, key=lambda row: row.template_id),
    )


def _entities(folder: Path, mistakes: list[str]) -> list[Entity]:
    rows: dict[str, Entity] = {}
    for where, record in _records(folder, "entities", mistakes):
        identity, label = record["entity_id"], record["label"]
        if not identity or not label:
            mistakes.append(f"{where}: {'entity_id' if not identity else 'label'} is empty; every entity needs both")
        elif identity in rows:
            mistakes.append(f"{where}: entity {identity!r} stands twice; keep one row")
        else:
            aliases = tuple(dict.fromkeys(alias for alias in record["aliases"] if alias and alias != label))
            rows[identity] = Entity(identity, label, aliases, record["type"])
    return list(rows.values())


def _facts(folder: Path, source: str, entities: set[str], mistakes: list[str]) -> list[Fact]:
    rows: dict[str, Fact] = {}
    for where, record in _records(folder, "facts", mistakes):
        wrong = _fact_mistake(record, entities)
        if wrong is None:
            key = record["object_id"] or record["value"]
            identity = f"{record['relation_id']}|{record['subject_id']}|{key}"
            if identity not in rows:
                names = ("relation_id", "subject_id", "object_id", "value", "datatype", "precision")
                values = {name: record[name] for name in names}
                values["datatype"] = None if record["object_id"] else record["datatype"] or "string"
                rows[identity] = Fact(
                    fact_id=identity,
                    qualifiers=tuple(record["qualifiers"]),
                    split=record["split"],
                    source=record["source"] or source,
                    **values,
                )
                continue
            wrong = f"the fact {identity} stands twice; keep one row"
        mistakes.append(f"{where}: {wrong}")
    return list(rows.values())


def _fact_mistake(record: dict[str, Any], entities: set[str]) -> str | None:
    """Return what is wrong with a fact's record, or none."""
    for name in ("relation_id", "subject_id"):
        if not record[name]:
            return f"{name} is empty"
        if LIST_SEPARATOR in record[name]:
            return f"{name} {record[name]!r} holds {LIST_SEPARATOR!r}, which separates the parts of a fact's id"
    if bool(record["object_id"]) == bool(record["value"]):
        return "needs either an object_id (an entity) or a value (a literal), and not both"
    for name in ("subject_id", "object_id"):
        if record[name] and record[name] not in entities:
            return f"{name} {record[name]!r} is no entity; add it to the entities table or remove the fact"
    if record["value"] in entities:
        return f"value {record['value']!r} is the id of an entity; give it as object_id, or give the entity another id"
    if record["datatype"] and record["datatype"] not in DATATYPES:
        return f"datatype {record['datatype']!r} is unknown; allowed are {', '.join(DATATYPES)}"
    if record["split"] not in (None, "train", "test"):
        return f"split {record['split']!r} is unknown; allowed are train, test or nothing"
    return None


def _relations(folder: Path, used: list[str], mistakes: list[str]) -> list[Relation]:
    rows: dict[str, Relation] = {}
    for where, record in _records(folder, "relations", mistakes):
        identity = record["relation_id"]
        if not identity or not record["label"]:
            mistakes.append(f"{where}: relation_id and label are both required")
        elif identity in rows:
            mistakes.append(f"{where}: relation {identity!r} stands twice; keep one row")
        elif record["popularity"] and not record["popularity"].isdecimal():
            mistakes.append(f"{where}: popularity {record['popularity']!r} is no whole number; write digits or nothing")
        else:
            popularity = record.pop("popularity")
            rows[identity] = Relation(**record, popularity=int(popularity) if popularity else None)
    for identity in used:
        if identity not in rows:
            rows[identity] = Relation(identity, identity, None, None, None, None)
    return list(rows.values())


def _templates(folder: Path, relations: set[str], mistakes: list[str]) -> list[Template]:
    rows: dict[str, Template] = {}
    for where, record in _records(folder, "templates", mistakes):
        text, relation = record["text"] or "", record["relation_id"]
        identity = record["template_id"] or f"{relation}/{sum(row.relation_id == relation for row in rows.values())}"
        needs_object = record["style"] == "statement"
        if relation not in relations:
            mistakes.append(f"{where}: relation {relation!r} is in no facts or relations table")
        elif record["style"] not in STYLES:
            mistakes.append(f"{where}: style {record['style']!r} is unknown; allowed are {', '.join(STYLES)}")
        elif text.count("[X]") != 1 or (needs_object and text.count("[Y]") != 1):
            mistakes.append(f"{where}: {text!r} must hold [X] once and, unless a question or prefix, [Y] once")
        elif identity in rows:
            mistakes.append(f"{where}: template {identity!r} stands twice; keep one row")
        else:
            origin = record["origin"] or "written"
            entails = tuple(record["entails"])
            rows[identity] = Template(identity, relation, text, record["style"], origin, record["parent_id"], entails)
    return list(rows.values())


def _records(folder: Path, table: str, mistakes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a table as ``(file: row N, record)``, every known column present, empty texts as none."""
    path = find(folder, table)
    if path is None:
        return
    try:
        names, rows = _read(path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); is it whole, and what its ending says?") from error
    known = TABLES[table]
    missing = [name for name in known.required if name not in names]
    if missing:
        mistakes.append(f"{path}: lacks the column {', '.join(missing)}; it has {', '.join(names) or 'none'}")
        return
    unknown = [name for name in names if name not in known.required + known.optional]
    if unknown:
        allowed = ", ".join(known.required + known.optional)
        mistakes.append(f"{path}: has the unknown column {', '.join(map(repr, unknown))}; known are {allowed}")
        return
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        mistakes.append(f"{path}: has the column {', '.join(map(repr, twice))} twice; keep one of them")
        return
    for number, row in rows:
        where = f"{path}: row {number}"
        if row is None:
            mistakes.append(f"{where}: has more or fewer cells than the header")
            continue
        try:
            record = {name: _cell(name, row.get(name)) for name in known.required + known.optional}
        except ValueError as error:
            mistakes.append(f"{where}: {error}")
            continue
        yield where, record


def _cell(name: str, value: Any) -> Any:
    """Return a cell's text, none if it is empty; of a list column, its texts.

    Raises:
        ValueError: the cell holds a structure that is no text, or no list of texts.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):  # NaN: an empty cell of a data frame
        return [] if name in LISTS else None
    if name in LISTS:
        parts = value.split(LIST_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(parts, list) or any(isinstance(part, list | dict) for part in parts):
            raise ValueError(f"{name} is {value!r}; a list of texts is expected")
        return [text for part in parts if part is not None and (text := str(part).strip())]
    if isinstance(value, list | dict):
        raise ValueError(f"{name} is {value!r}; a text is expected")
    return str(value).strip() or None


def _read(path: Path) -> tuple[Sequence[str], Iterable[tuple[int, dict[str, Any] | None]]]:
    """Return a file's column names and its rows with their numbers; a row whose cells do not fit the header is none.

    Row 1 is the first after the header; blank rows are skipped but counted, so that a number leads to its row.
    """
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.schema.names, enumerate(table.to_pylist(), 1)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8-sig")
    if ".csv" in path.suffixes:
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(lines, [])
        cells = [(number, line) for number, line in enumerate(lines, 1) if line]
        return header, [
            (number, dict(zip(header, line, strict=True)) if len(line) == len(header) else None)
            for number, line in cells
        ]
    rows: list[tuple[int, dict[str, Any] | None]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise AlmanacError(f"{path}: row {number} is no JSON ({error}); one object a line is expected") from error
        if not isinstance(row, dict):
            raise AlmanacError(f"{path}: row {number} is {line[:60]!r}; one JSON object a line is expected")
        rows.append((number, row))
        names.update(dict.fromkeys(row))
    return list(names), rows
