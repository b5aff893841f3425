"""DBpedia's dump of mapping-based objects, streamed once: whole relations or a sample, degrees as popularity."""

import re
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from almanac.errors import AlmanacError
from almanac.rows import Relation
from almanac.sources.drawing import hashes
from almanac.sources.frames import assembled, bucketed, drawn, facts, popularity
from almanac.sources.names import clean
from almanac.sources.options import DbpediaOptions
from almanac.sources.reading import Aside, opened, whole_lines
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.user_table import APART, UNSEEN

SOURCE, THING, TAIL = "dbpedia", "thing", "tail"
ONTOLOGY = "http://dbpedia.org/ontology/"
RESOURCE = "http://dbpedia.org/resource/"
BRACKETED = re.compile(r"(.*\S) \([^()]+\)")  # Steve McQueen (director)
LINE = re.compile(rb"<([^>]*)> <([^>]*)> <([^>]*)> \.\s*")
BATCH = 1 << 18  # rows of a table that are produced at once
PARTS = 16  # parts of the triples on disk; each relation is in one part
ENDS = ("subject", "object")
TRIPLE = {"subject": pl.String(), "predicate": pl.String(), "object": pl.String()}


def address(relation: str) -> str:
    """Return a property's full IRI; names without a scheme belong to DBpedia's ontology."""
    return relation if "://" in relation else ONTOLOGY + relation


def identity(iri: str) -> str:
    """Return the id of an entity: its name in DBpedia (`Paris`), or its full IRI if it is not a DBpedia resource.

    Ids are cleaned like names, so that IRIs that look the same are one entity.
    """
    return clean(iri.removeprefix(RESOURCE))


def label_of(iri: str) -> str:
    """Return the label of an entity or property, read from its IRI: `birthPlace` gives "birth place"."""
    last = urllib.parse.unquote(re.split(r"[/#]", iri)[-1] or iri)
    if iri.startswith(RESOURCE):
        return clean(urllib.parse.unquote(iri.removeprefix(RESOURCE)).replace("_", " "))
    return clean(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).lower())


def bare(label: str) -> list[str]:
    """Return the label without Wikipedia's disambiguation in brackets at its end, as a list; empty if it has none."""
    found = BRACKETED.fullmatch(label)
    return [found[1]] if found else []


def relation_row(relation: str) -> Relation:
    """Return a property's row; its label is read from its IRI."""
    return Relation(relation, label_of(relation), None, None, None, None)


def read_dump(options: DbpediaOptions, folder: Path) -> SourceTables:
    """Return the tables of the dump of mapping-based objects: all facts or a sample, of all or the named relations.

    Popularity is an entity's degree, as subject and as object (Sun et al., section A), over all relations of the dump.
    Labels are read from IRIs. Without ``pool`` the entities are all those of the dump. With ``pool``, subjects with
    exactly one object of a relation are drawn, since Head-to-Tail asks no others, and only their facts have entities.

    The file is read once. Memory: eight bytes per triple (24 with ``pool``), the degrees of all entities, and a block
    of lines. Disk: a temporary folder of about a third of the unpacked size.

    Raises:
        AlmanacError: the file is missing or damaged, or does not have one of the relations.
    """
    path = folder / options.DOWNLOADS[0].name
    omitted = Omissions()
    triples = _Triples(path, by_relation=options.pool is not None)
    triples.read(omitted)
    if not triples.relations:
        raise AlmanacError(f"{path}: holds no triple of three addresses; is it the right file?")
    wanted = {address(relation): relation for relation in options.relations}
    missing = sorted(set(wanted) - triples.relations)
    if missing:
        raise AlmanacError(f"{path}: has no facts of {', '.join(missing)}; correct `relations`")
    kept = wanted or {iri: iri.removeprefix(ONTOLOGY) for iri in sorted(triples.relations)}
    if options.pool is not None:
        return _drawn(triples, kept, options.pool, options.seed, omitted)
    degrees = _degrees(triples)
    return SourceTables(
        entities=(_entities(part.column("entity_id")) for part in degrees.to_batches(max_chunksize=BATCH)),
        relations=[relation_row(relation) for relation in kept.values()],
        facts=_facts(triples, kept),
        popularity=(_popularity(part) for part in degrees.to_batches(max_chunksize=BATCH)),
        omissions=omitted,
    )


class _Triples:
    """The triples of a dump, on disk: ``subject``, ``predicate``, ``object`` and, for a draw, the subject's ``number``.

    Attributes:
        path: the dump.
        relations: all predicates.
        hashed: for a draw, the hashes of all subjects and objects, with repetitions.
    """

    def __init__(self, path: Path, by_relation: bool) -> None:
        """Create the folder.

        Args:
            path: the dump.
            by_relation: whether to partition by relation (for a draw); otherwise the dump's order is kept.
        """
        self.relations: set[str] = set()
        self.hashed: list[pl.Series] = []
        self.path, self._parted = path, by_relation
        more = {"number": pl.UInt64(), "part": pl.UInt64()}
        self._aside = Aside(TRIPLE | more, "part") if by_relation else Aside(TRIPLE)

    def read(self, omitted: Omissions) -> None:
        """Write the triples to disk; count lines that are no triples, and repeated triples."""
        changed = pl.DataFrame(schema=TRIPLE)  # the few triples whose ids change when they are cleaned
        keys = [pl.Series(dtype=pl.UInt64)]
        with opened(self.path) as handle:
            for block in whole_lines(handle):
                frame = _parsed(block, omitted)
                cleaned = frame.with_columns(_cleaned(frame[end]) for end in ENDS)
                named = (cleaned["subject"] != "") & (cleaned["object"] != "")
                omitted.add("facts", "an address names nothing", self.path.name, frame.height - int(named.sum()))
                same = (cleaned["subject"] == frame["subject"]) & (cleaned["object"] == frame["object"])
                changed.extend(cleaned.filter(named & ~same))
                kept = frame.filter(named & same)
                self._lay(kept)
                keys.append(kept.hash_rows())
        self._drop_repeats(keys, omitted)
        if changed.height:
            new = changed.unique(maintain_order=True)
            for frame in self.frames():
                new = new.join(frame, on=list(TRIPLE), how="anti", maintain_order="left")
            omitted.add("facts", "another line says the same", self.path.name, changed.height - new.height)
            self._lay(new)

    def _drop_repeats(self, keys: list[pl.Series], omitted: Omissions) -> None:
        """Keep the first of equal triples; ``keys`` are the hashes of all triples, and the list is emptied."""
        every = pl.concat(keys).sort()
        keys.clear()
        repeated = every.filter(every == every.shift()).unique()
        if repeated.is_empty():
            return
        once, seen = _Triples(self.path, self._parted), pl.Series(dtype=pl.UInt64)
        for frame in self.frames():
            triples = frame.select(*TRIPLE)
            key = triples.hash_rows()
            several = key.is_in(repeated.implode())
            first = ~several | (key.is_first_distinct() & ~key.is_in(seen.implode()))
            seen = seen.append(key.filter(several & first))
            omitted.add("facts", "another line says the same", self.path.name, int((~first).sum()))
            once._lay(triples.filter(first))
        self._aside, self.hashed = once._aside, once.hashed

    def _lay(self, frame: pl.DataFrame) -> None:
        self.relations.update(frame["predicate"].unique())
        if self._parted:
            self.hashed += [frame[end].hash() for end in ENDS]
            subjects = frame["subject"].unique(maintain_order=True)
            numbers = pl.Series(hashes([one.encode() for one in subjects], SOURCE))
            frame = frame.join(pl.DataFrame({"subject": subjects, "number": numbers}), on="subject")
            frame = frame.with_columns(part=pl.col("predicate").hash() % PARTS)
        self._aside.lay(frame)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the triples, by part or in the order of the dump."""
        if self._parted:
            yield from (self._aside.stream(part).collect() for part in range(PARTS))
        else:
            yield from self._aside.stream().collect_batches(maintain_order=True)


def _parsed(block: bytes, omitted: Omissions) -> pl.DataFrame:
    """Return the triples of a block of lines; lines that are no triples are counted, except comments and empty ones."""
    if block.startswith(b"#"):  # a dump begins and ends with a comment
        block = block.partition(b"\n")[2]
    last = block.rfind(b"\n", 0, -1) + 1
    if block[last:].startswith(b"#"):
        block = block[:last]
    count = block.count(b"\n")
    # Fast path: all lines have four cells, of which the first three are IRIs.
    usual = {b" ": 3, b"<": 3, b">": 3, b"> <": 2, b"> .\n": 1}
    if count and all(block.count(sign) == each * count for sign, each in usual.items()):
        with suppress(pl.exceptions.PolarsError):
            cells = pl.read_csv(
                block, has_header=False, separator=" ", quote_char=None, schema={**TRIPLE, "end": pl.String()}
            )
            if cells.select((pl.col("end") == ".").all() & pl.col("subject").str.starts_with("<").all()).item():
                inner = [pl.col(name).str.strip_prefix("<").str.strip_suffix(">") for name in TRIPLE]
                return cells.select(inner).with_columns(pl.col(ENDS).str.strip_prefix(RESOURCE))
    rows: list[tuple[str, ...]] = []
    for line in block.split(b"\n"):
        if found := LINE.fullmatch(line):
            rows.append(tuple(part.decode() for part in found.groups()))
        elif line.strip() and not line.startswith(b"#"):
            omitted.add("facts", "the line is no triple of three addresses", line.decode("utf-8", "replace"))
    return pl.DataFrame(rows, schema=TRIPLE, orient="row").with_columns(pl.col(ENDS).str.strip_prefix(RESOURCE))


def _cleaned(ids: pl.Series) -> pl.Series:
    """Clean ids as `identity` does; only the few with a character that cleaning could change are processed."""
    odd = ids.filter(ids.str.contains(rf"{APART}|{UNSEEN}|\s")).unique()
    cleaned = {one: found for one in odd if (found := clean(one)) != one}
    return ids.replace(cleaned) if cleaned else ids


def _drawn(triples: _Triples, kept: Mapping[str, str], pool: int, seed: int, omitted: Omissions) -> SourceTables:
    """Return the tables of a draw: facts of the drawn subjects, and their entities."""
    degrees = pl.concat(triples.hashed).alias("hash").to_frame().group_by("hash").agg(score=pl.len().cast(pl.Int64))
    triples.hashed.clear()
    degrees, sizes = bucketed(degrees, SOURCE, THING)
    popular = degrees.filter(pl.col("bucket") != TAIL).select("hash", "bucket")  # few: most entities are in the tail
    rows, several = [], 0
    for frame in triples.frames():
        every = frame.filter(pl.col("predicate").is_in(list(kept)))
        alone = every.filter(pl.len().over("predicate", "subject") == 1)
        several += every.height - alone.height
        alone = alone.join(popular, left_on=pl.col("subject").hash(), right_on="hash", how="left")
        alone = alone.select(pl.col("bucket").fill_null(TAIL), "predicate", "object", id="number", subject_id="subject")
        for (predicate,), own in alone.partition_by("predicate", as_dict=True).items():
            relation = kept[str(predicate)]
            picked = drawn(own, pool, seed, SOURCE, relation) if own.height > pool else own
            rows.append(facts(picked, relation, SOURCE, object_id=pl.col("object")))
    if not rows:
        message = "no subject has exactly one object of a relation; take all facts (no `pool`)"
        raise AlmanacError(f"{triples.path}: {message}")
    omitted.add("facts", "the subject has several objects", SOURCE, several)
    ends = pl.concat([frame[end] for frame in rows for end in ("subject_id", "object_id")])
    named = ends.unique().sort().alias("entity_id")
    scores = named.to_frame().join(degrees, left_on=pl.col("entity_id").hash(), right_on="hash")
    names = pl.DataFrame(_entities(named.to_arrow()))
    relations = [relation_row(relation) for relation in kept.values()]
    return assembled(relations, rows, [names], [popularity(scores, SOURCE, THING)], sizes, omitted)


def _degrees(triples: _Triples) -> pa.Table:
    """Return how often each entity is a subject or an object, sorted by id."""
    total = pa.table({"entity_id": pa.array([], pa.string()), "score": pa.array([], pa.int64())})
    waiting: list[pa.Table] = []
    for frame in triples.frames():
        counted = pc.value_counts(pl.concat([frame["subject"], frame["object"]]).to_arrow().cast(pa.string()))
        waiting.append(pa.table({"entity_id": counted.field("values"), "score": counted.field("counts")}))
        if sum(part.num_rows for part in waiting) > max(total.num_rows, 8 * BATCH):
            total, waiting = _summed([total, *waiting]), []
    return _summed([total, *waiting]).sort_by("entity_id")


def _summed(parts: list[pa.Table]) -> pa.Table:
    together = pa.concat_tables(parts).group_by("entity_id").aggregate([("score", "sum")])
    return pa.table({"entity_id": together["entity_id"], "score": together["score_sum"]})


def _entities(ids: pa.Array) -> pa.Table:
    named = ids.to_pylist()
    labels = [label_of(one if "://" in one else RESOURCE + one) or one for one in named]
    aliases = pa.array(map(bare, labels), pa.list_(pa.string()))
    return pa.table({"entity_id": ids, "label": labels, "aliases": aliases, "type": pa.nulls(len(named), pa.string())})


def _popularity(part: pa.RecordBatch) -> pa.Table:
    count = part.num_rows
    columns = {"entity_id": part.column("entity_id"), "source": [SOURCE] * count, "type": [THING] * count}
    return pa.table(columns | {"score": part.column("score"), "bucket": pa.nulls(count, pa.string())})


def _facts(triples: _Triples, kept: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the facts of the kept relations, in the order of the dump; no triple is repeated."""
    for frame in triples.frames():
        own = frame.filter(pl.col("predicate").is_in(list(kept)))
        if own.height:
            relation = pl.col("predicate").replace_strict(kept, return_dtype=pl.String)
            own = own.select(relation.alias("relation"), pl.col("subject").alias("subject_id"), "object")
            yield facts(own, pl.col("relation"), SOURCE, object_id=pl.col("object")).to_arrow()
