"""Facts from a folder of the user's own, or from an archive of one.

The tables are `facts`, `entities` and, if there, `relations`, `templates`, `popularity` and `evidence`. Each is one
file: ``NAME.csv``, ``NAME.jsonl`` or ``NAME.parquet``, the first two also as ``.gz``. Every mistake is reported with
its file and row, the first twenty of a folder together; a folder with a mistake is not read at all, so nothing is
dropped silently.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError
from almanac.rows import Entity, Evidence, Fact, Popularity, Relation, Template
from almanac.sources.archives import unpack
from almanac.sources.records import ENDINGS, LIST_SEPARATOR, TABLES, find, records
from almanac.sources.thirds import BUCKETS

DATATYPES = ("date", "quantity", "string")
STYLES = ("statement", "question", "prefix", "alias")
SHOWN = 20
TYPE = "entity"  # of popularity that names none
ARCHIVE_BYTES = 20_000_000_000  # that an archive may unpack to


@dataclass(frozen=True)
class FactTables:
    """The tables of one source: rows by kind, sorted by their keys."""

    entities: list[Entity]
    relations: list[Relation]
    facts: list[Fact]
    templates: list[Template]
    popularity: list[Popularity] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


def table_files(folder: Path) -> list[Path]:
    """Return the files of a facts folder that are read, in a fixed order; of an archive itself.

    Raises:
        AlmanacError: the folder is missing or lacks `facts` or `entities`.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise AlmanacError(f"{folder}: there is no such folder; name a folder that holds facts and entities")
    files = {table: find(folder, table) for table in TABLES}
    for table in ("facts", "entities"):
        if files[table] is None:
            raise AlmanacError(f"{folder}: has no table {table!r}; put one of {table}{{{','.join(ENDINGS)}}} there")
    return [path for path in files.values() if path is not None]


@contextmanager
def as_folder(origin: Path) -> Iterator[Path]:
    """Yield a folder as it is; of a zip or tar archive the folder of tables that it holds, while it is needed.

    Raises:
        AlmanacError: the archive is damaged, or not to be trusted.
    """
    if not origin.is_file():
        yield origin
        return
    with tempfile.TemporaryDirectory(prefix="almanac-") as name:
        folder = Path(name) / origin.name
        unpack(origin, folder, ARCHIVE_BYTES)
        inside = list(folder.iterdir())
        try:
            yield inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
        except AlmanacError as error:  # the user knows the archive, and not where it is unpacked
            raise AlmanacError(str(error).replace(str(folder), str(origin))) from error


def read_folder(folder: Path, source: str) -> FactTables:
    """Read a folder of facts.

    Args:
        folder: holds `facts` and `entities`, and perhaps other tables; or an archive of such a folder.
        source: the source's name, written on every fact and every popularity that does not name its own.

    Raises:
        AlmanacError: anything is wrong with a row, naming file and row; up to twenty mistakes together.
    """
    with as_folder(folder) as inside:
        return _read(inside, source)


def _read(folder: Path, source: str) -> FactTables:
    table_files(folder)
    mistakes: list[str] = []
    entities = _entities(folder, mistakes)
    named = {entity.entity_id for entity in entities}
    facts = _facts(folder, source, named, mistakes)
    relations = _relations(folder, sorted({fact.relation_id for fact in facts}), mistakes)
    templates = _templates(folder, {relation.relation_id for relation in relations}, mistakes)
    popularity = _popularity(folder, source, named, mistakes)
    evidence = _evidence(folder, {fact.fact_id for fact in facts}, mistakes)
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
        sorted(popularity, key=lambda row: (row.entity_id, row.source, row.type)),
        sorted(evidence, key=lambda row: (row.fact_id, row.text)),
    )


def _entities(folder: Path, mistakes: list[str]) -> list[Entity]:
    rows: dict[str, Entity] = {}
    for where, record in records(folder, "entities", mistakes):
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
    for where, record in records(folder, "facts", mistakes):
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
    for where, record in records(folder, "relations", mistakes):
        identity = record["relation_id"]
        if not identity or not record["label"]:
            mistakes.append(f"{where}: relation_id and label are both required")
        elif identity in rows:
            mistakes.append(f"{where}: relation {identity!r} stands twice; keep one row")
        elif record["popularity"] and not record["popularity"].isdecimal():
            mistakes.append(f"{where}: popularity {record['popularity']!r} is no whole number; write digits or nothing")
        elif bucket := _bucket_mistake(record):
            mistakes.append(f"{where}: {bucket}")
        else:
            popularity = record.pop("popularity")
            rows[identity] = Relation(**record, popularity=int(popularity) if popularity else None)
    for identity in used:
        if identity not in rows:
            rows[identity] = Relation(identity, identity, None, None, None, None)
    return list(rows.values())


def _templates(folder: Path, relations: set[str], mistakes: list[str]) -> list[Template]:
    rows: dict[str, Template] = {}
    for where, record in records(folder, "templates", mistakes):
        text, relation = record["text"] or "", record["relation_id"]
        identity = record["template_id"] or f"{relation}/{sum(row.relation_id == relation for row in rows.values())}"
        needs_object = record["style"] in ("statement", "alias")
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


def _popularity(folder: Path, source: str, entities: set[str], mistakes: list[str]) -> list[Popularity]:
    rows: dict[tuple[str, str, str], Popularity] = {}
    for where, record in records(folder, "popularity", mistakes):
        identity, score = record["entity_id"], record["score"]
        key = (identity, record["source"] or source, record["type"] or TYPE)
        if identity not in entities:
            mistakes.append(f"{where}: entity_id {identity!r} is no entity; add it to the entities or remove this row")
        elif not (score and score.isdecimal()):
            mistakes.append(f"{where}: score {score!r} is no whole number; write how often something is counted")
        elif bucket := _bucket_mistake(record):
            mistakes.append(f"{where}: {bucket}")
        elif key in rows:
            mistakes.append(f"{where}: the popularity of {' | '.join(key)} stands twice; keep one row")
        else:
            rows[key] = Popularity(*key, int(score), record["bucket"])
    return list(rows.values())


def _bucket_mistake(record: dict[str, Any]) -> str | None:
    if record["bucket"] in (None, *BUCKETS):
        return None
    return f"bucket {record['bucket']!r} is unknown; allowed are {', '.join(BUCKETS)} or nothing"


def _evidence(folder: Path, facts: set[str], mistakes: list[str]) -> list[Evidence]:
    rows: dict[Evidence, None] = {}
    for where, record in records(folder, "evidence", mistakes):
        row = Evidence(record["fact_id"], record["text"])
        if row.fact_id not in facts:
            mistakes.append(f"{where}: fact_id {row.fact_id!r} is no fact; write relation|subject|object of one")
        elif not row.text:
            mistakes.append(f"{where}: text is empty; write the text in which the fact is said, or remove the row")
        elif row in rows:
            mistakes.append(f"{where}: the fact {row.fact_id} has this text twice; keep one row")
        else:
            rows[row] = None
    return list(rows)
