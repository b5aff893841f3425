"""DBpedia's dump of mapping-based objects, streamed once: whole relations or a draw of each, degrees as popularity."""

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
BATCH = 1 << 18  # rows of a table that are made at once
PARTS = 16  # in which triples are laid aside, each relation whole in one
ENDS = ("subject", "object")
TRIPLE = {"subject": pl.String(), "predicate": pl.String(), "object": pl.String()}


def address(relation: str) -> str:
    """Return a property's whole address; a bare name is of the ontology."""
    return relation if "://" in relation else ONTOLOGY + relation


def identity(iri: str) -> str:
    """Return the id of a thing: its name in DBpedia (`Paris`), or its whole address where it is of another place.

    It is cleaned as a dataset cleans ids, for which addresses that look alike are one thing.
    """
    return clean(iri.removeprefix(RESOURCE))


def label_of(iri: str) -> str:
    """Return what a thing's or a property's address says of its name: `birthPlace` is birth place."""
    last = urllib.parse.unquote(re.split(r"[/#]", iri)[-1] or iri)
    if iri.startswith(RESOURCE):
        return clean(urllib.parse.unquote(iri.removeprefix(RESOURCE)).replace("_", " "))
    return clean(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).lower())


def bare(label: str) -> list[str]:
    """Return a name without the last bracket, in which Wikipedia says which of several is meant; none has none."""
    found = BRACKETED.fullmatch(label)
    return [found[1]] if found else []


def relation_row(relation: str) -> Relation:
    """Return a property's row; its label is read from its address."""
    return Relation(relation, label_of(relation), None, None, None, None)


def read_dump(options: DbpediaOptions, folder: Path) -> SourceTables:
    """Return the tables of the dump of mapping-based objects: all facts or a draw, of all relations or the named ones.

    Popularity is the degree of a thing, as subject and as object (Sun et al., section A), whichever relations are kept;
    things are named by their addresses. Of all facts, entities are all things of the dump. A draw (`pool`) takes
    subjects that have one object, as Head-to-Tail asks no others, and its entities are what they are about. The file is
    read once, in memory of eight bytes a triple beside a block of lines, and laid aside in a temporary folder of about
    a third of its unpacked size.

    Raises:
        AlmanacError: the file is missing or damaged, or a relation is not in it.
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
    """The triples of a dump, laid aside: ``subject``, ``predicate``, ``object``; for a draw the subject's ``number``.

    Attributes:
        path: the dump.
        relations: all predicates.
        hashed: of a draw, the hash of each subject and object, as often as it occurs.
    """

    def __init__(self, path: Path, by_relation: bool) -> None:
        """Make the folder.

        Args:
            path: the dump.
            by_relation: whether each relation lies whole in one of `PARTS`; else all lies in the dump's order.
        """
        self.relations: set[str] = set()
        self.hashed: list[pl.Series] = []
        self.path, self._parted = path, by_relation
        more = {"number": pl.UInt64(), "part": pl.UInt64()}
        self._aside = Aside(TRIPLE | more, "part") if by_relation else Aside(TRIPLE)

    def read(self, omitted: Omissions) -> None:
        """Lay the triples aside, and count the lines that are none, or that say what another says."""
        changed = pl.DataFrame(schema=TRIPLE)  # by cleaning the ids; a few
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
        """Keep the first of equal lines; ``keys`` are the hashes of all, which are taken from the list."""
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
        """Yield them, in parts or in the order of the dump."""
        if self._parted:
            yield from (self._aside.stream(part).collect() for part in range(PARTS))
        else:
            yield from self._aside.stream().collect_batches(maintain_order=True)


def _parsed(block: bytes, omitted: Omissions) -> pl.DataFrame:
    """Return the triples of some lines; other lines are counted, but for comments and empty ones."""
    if block.startswith(b"#"):  # A dump begins with a comment, and ends with one.
        block = block.partition(b"\n")[2]
    last = block.rfind(b"\n", 0, -1) + 1
    if block[last:].startswith(b"#"):
        block = block[:last]
    count = block.count(b"\n")
    # Lines of four cells, of which the first three are addresses, in which nothing needs to be looked at one by one.
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
    """Return ids as `identity` cleans them; most have no character that it could change, and are not looked at."""
    odd = ids.filter(ids.str.contains(rf"{APART}|{UNSEEN}|\s")).unique()
    cleaned = {one: found for one in odd if (found := clean(one)) != one}
    return ids.replace(cleaned) if cleaned else ids


def _drawn(triples: _Triples, kept: Mapping[str, str], pool: int, seed: int, omitted: Omissions) -> SourceTables:
    """Return the facts of drawn subjects, and what these are about."""
    degrees = pl.concat(triples.hashed).alias("hash").to_frame().group_by("hash").agg(score=pl.len().cast(pl.Int64))
    triples.hashed.clear()
    degrees, sizes = bucketed(degrees, SOURCE, THING)
    popular = degrees.filter(pl.col("bucket") != TAIL).select("hash", "bucket")  # a few; the others are the tail
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
        raise AlmanacError(f"{triples.path}: no subject has one object of a relation alone; take all facts (no `pool`)")
    omitted.add("facts", "the subject has several objects", SOURCE, several)
    ends = pl.concat([frame[end] for frame in rows for end in ("subject_id", "object_id")])
    named = ends.unique().sort().alias("entity_id")
    scores = named.to_frame().join(degrees, left_on=pl.col("entity_id").hash(), right_on="hash")
    names = pl.DataFrame(_entities(named.to_arrow()))
    relations = [relation_row(relation) for relation in kept.values()]
    return assembled(relations, rows, [names], [popularity(scores, SOURCE, THING)], sizes, omitted)


def _degrees(triples: _Triples) -> pa.Table:
    """Return how often each thing is a subject or an object, sorted by id."""
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
    """Yield the facts of the kept relations, in the order of the dump, in which a triple stands once."""
    for frame in triples.frames():
        own = frame.filter(pl.col("predicate").is_in(list(kept)))
        if own.height:
            relation = pl.col("predicate").replace_strict(kept, return_dtype=pl.String)
            own = own.select(relation.alias("relation"), pl.col("subject").alias("subject_id"), "object")
            yield facts(own, pl.col("relation"), SOURCE, object_id=pl.col("object")).to_arrow()
