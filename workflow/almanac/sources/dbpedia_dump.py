"""DBpedia's dump of mapping-based objects, streamed: facts of whole relations, degrees as popularity, names."""

import bz2
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.rows import Fact, Relation
from almanac.sources.names import clean
from almanac.sources.options import DbpediaOptions
from almanac.sources.source_tables import Omissions, SourceTables

ONTOLOGY = "http://dbpedia.org/ontology/"
RESOURCE = "http://dbpedia.org/resource/"
LINE = re.compile(rb"<([^>]*)> <([^>]*)> <([^>]*)> \.\s*")
BATCH = 1 << 18  # lines of the dump that are handled at once
Triples = tuple[list[str], list[str], list[str]]


def address(relation: str) -> str:
    """Return a property's whole address; a bare name is of the ontology."""
    return relation if "://" in relation else ONTOLOGY + relation


def identity(iri: str) -> str:
    """Return the id of a thing: its name in DBpedia (`Paris`), or its whole address where it is of another place."""
    return iri.removeprefix(RESOURCE)


def label_of(iri: str) -> str:
    """Return what a thing's or a property's address says of its name: `birthPlace` is birth place."""
    last = urllib.parse.unquote(re.split(r"[/#]", iri)[-1] or iri)
    if iri.startswith(RESOURCE):
        return clean(urllib.parse.unquote(iri.removeprefix(RESOURCE)).replace("_", " "))
    return clean(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).lower())


def relation_row(relation: str) -> Relation:
    """Return a property's row; its label is read from its address."""
    return Relation(relation, label_of(relation), None, None, None, None)


def read_dump(options: DbpediaOptions, folder: Path) -> SourceTables:
    """Return the tables of the dump of mapping-based objects: every fact, or those of the named relations.

    Entities are all things of the dump, named by their addresses; their popularity is their degree, as subject and as
    object (Sun et al., section A), whichever relations are kept. The file is read twice, in bounded memory.

    Raises:
        AlmanacError: the file is missing or damaged, or a relation is not in it.
    """
    path = folder / options.DOWNLOADS[0].name
    omitted = Omissions()
    degrees, relations = _degrees(path, omitted)
    if not relations:
        raise AlmanacError(f"{path}: holds no triple of three addresses; is it the right file?")
    wanted = {address(relation): relation for relation in options.relations}
    missing = sorted(set(wanted) - relations)
    if missing:
        raise AlmanacError(f"{path}: has no facts of {', '.join(missing)}; correct `relations`")
    kept = wanted or {iri: iri.removeprefix(ONTOLOGY) for iri in sorted(relations)}
    return SourceTables(
        entities=(_entities(part) for part in degrees.to_batches(max_chunksize=BATCH)),
        relations=[relation_row(relation) for relation in kept.values()],
        facts=_facts(path, kept),
        popularity=(_popularity(part) for part in degrees.to_batches(max_chunksize=BATCH)),
        omissions=omitted,
    )


def _triples(path: Path, omitted: Omissions | None) -> Iterator[Triples]:
    """Yield batches of subjects, predicates and objects; other lines are counted, if asked."""
    rows: list[tuple[str, str, str]] = []
    try:
        with bz2.open(path) as lines:
            for line in lines:
                if found := LINE.fullmatch(line):
                    subject, predicate, object_iri = (part.decode() for part in found.groups())
                    rows.append((identity(subject), predicate, identity(object_iri)))
                elif omitted is not None and line.strip() and not line.startswith(b"#"):
                    omitted.add("facts", "the line is no triple of three addresses", line.decode("utf-8", "replace"))
                if len(rows) == BATCH:
                    yield _turned(rows)
                    rows = []
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); download it again") from error
    if rows:
        yield _turned(rows)


def _turned(rows: list[tuple[str, str, str]]) -> Triples:
    subjects, predicates, objects = zip(*rows, strict=True)
    return list(subjects), list(predicates), list(objects)


def _degrees(path: Path, omitted: Omissions) -> tuple[pa.Table, set[str]]:
    """Return how often each thing is a subject or an object, sorted by id, and all predicates."""
    total = pa.table({"entity_id": pa.array([], pa.string()), "score": pa.array([], pa.int64())})
    waiting: list[pa.Table] = []
    relations: set[str] = set()
    for subjects, predicates, objects in _triples(path, omitted):
        counted = pc.value_counts(pa.array(subjects + objects, pa.string()))
        waiting.append(pa.table({"entity_id": counted.field("values"), "score": counted.field("counts")}))
        relations.update(predicates)
        if sum(part.num_rows for part in waiting) > max(total.num_rows, 8 * BATCH):
            total, waiting = _summed([total, *waiting]), []
    return _summed([total, *waiting]).sort_by("entity_id"), relations


def _summed(parts: list[pa.Table]) -> pa.Table:
    together = pa.concat_tables(parts).group_by("entity_id").aggregate([("score", "sum")])
    return pa.table({"entity_id": together["entity_id"], "score": together["score_sum"]})


def _entities(part: pa.RecordBatch) -> pa.Table:
    ids = part.column("entity_id").to_pylist()
    labels = [label_of(one if "://" in one else RESOURCE + one) or one for one in ids]
    aliases = pa.array([[]] * len(ids), pa.list_(pa.string()))
    return pa.table({"entity_id": ids, "label": labels, "aliases": aliases, "type": pa.nulls(len(ids), pa.string())})


def _popularity(part: pa.RecordBatch) -> pa.Table:
    count = part.num_rows
    columns = {"entity_id": part.column("entity_id"), "source": ["dbpedia"] * count, "type": ["thing"] * count}
    return pa.table(columns | {"score": part.column("score"), "bucket": pa.nulls(count, pa.string())})


def _facts(path: Path, kept: dict[str, str]) -> Iterator[pa.Table]:
    """Yield the facts of the kept relations, in the order of the dump, in which a triple stands once."""
    for triples in _triples(path, None):
        rows = [
            (kept[predicate], subject, object_id)
            for subject, predicate, object_id in zip(*triples, strict=True)
            if predicate in kept
        ]
        if not rows:
            continue
        relations, subjects, objects = (list(column) for column in zip(*rows, strict=True))
        found: dict[str, object] = {name: pa.nulls(len(rows), pa.string()) for name in columns(Fact)}
        found["fact_id"] = ["|".join(row) for row in rows]
        found |= {"relation_id": relations, "subject_id": subjects, "object_id": objects}
        found["qualifiers"] = pa.array([[]] * len(rows), pa.list_(pa.string()))
        found["source"] = ["dbpedia"] * len(rows)
        yield pa.table(found)
