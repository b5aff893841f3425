"""Popularity of entities and relations: buckets where a source has scores only, and counts where it has none."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from almanac import tables
from almanac.rows import BucketSize, Popularity, Relation
from almanac.sources.frames import bucket_of, popularity
from almanac.sources.thirds import Cuts, cuts, sizes

MENTIONS = "mention"  # the type of popularity that is counted from the facts


def bucket_tables(folder: Path) -> int:
    """Assign buckets to the entities and relations of a source's tables, in place and streaming.

    Entities are bucketed by score within their source and type, relations by their number of facts. Buckets that the
    source has assigned itself stay as they are: it may have seen more entities than it wrote.

    Args:
        folder: holds `popularity`, `buckets`, `relations` and `facts` as Parquet.

    Returns:
        The number of rows of `buckets`.

    Raises:
        AlmanacError: a score is below 0; a table is missing or of another shape.
    """
    _bucket_entities(folder / "popularity.parquet", folder / "buckets.parquet")
    path = folder / "relations.parquet"
    relations = tables.read(path, Relation)
    if relations and all(row.bucket is None and row.popularity is None for row in relations):
        facts = pl.scan_parquet(folder / "facts.parquet").group_by("relation_id").len()
        counts = dict(facts.collect(engine="streaming").iter_rows())
        tables.write(path, Relation, bucket_relations(relations, counts)[0])
    return tables.count(folder / "buckets.parquet", BucketSize)


def _bucket_entities(path: Path, summary: Path) -> None:
    rows, own_sizes = with_buckets(pl.scan_parquet(path))
    if own_sizes:
        batches = rows.collect_batches(engine="streaming")
        tables.write_batches(path, Popularity, (batch.to_arrow() for batch in batches))
        tables.write(summary, BucketSize, [*tables.read(summary, BucketSize), *own_sizes])


def with_buckets(rows: pl.LazyFrame) -> tuple[pl.LazyFrame, list[BucketSize]]:
    """Assign buckets to entities within each (source, type).

    A (source, type) of which any row has a bucket already is left as it is: its source may have seen more entities.

    Args:
        rows: rows of `Popularity`.

    Returns:
        The rows with buckets, and the sizes of the buckets assigned here.

    Raises:
        AlmanacError: a score is below 0.
    """
    groups = ["source", "type"]
    counts = rows.group_by(*groups, "score").agg(pl.len(), done=pl.col("bucket").is_not_null().any())
    histograms: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    done: set[tuple[str, str]] = set()
    for source, kind, score, count, bucketed in counts.collect(engine="streaming").iter_rows():
        histograms[source, kind][score] += count
        done |= {(source, kind)} if bucketed else set()
    found = {group: cuts(histogram) for group, histogram in sorted(histograms.items()) if group not in done}
    bucket = pl.col("bucket")
    for (source, kind), cut in found.items():
        own = (pl.col("source") == source) & (pl.col("type") == kind)
        bucket = pl.when(own).then(bucket_of(cut, pl.col("score")).cast(pl.String)).otherwise(bucket)
    own_sizes = [size for group, cut in found.items() for size in sizes(*group, histograms[group], cut)]
    return rows.with_columns(bucket=bucket), own_sizes


def count_mentions(folder: Path, source: str) -> int:
    """Use the number of mentions in the facts as popularity, for a source that has no scores.

    Each fact mentions its subject once and its object once; a fact that relates an entity to itself counts twice.

    Args:
        folder: holds `popularity` and `facts` as Parquet; `popularity` is rewritten if it is empty.
        source: the source's name.

    Returns:
        The number of rows of `popularity`.
    """
    path = folder / "popularity.parquet"
    if found := tables.count(path, Popularity):
        return found
    rows = pl.scan_parquet(folder / "facts.parquet")
    named = pl.concat(rows.select(entity_id=column) for column in ("subject_id", "object_id")).drop_nulls()
    counts = named.group_by("entity_id").agg(score=pl.len().cast(pl.Int64)).sort("entity_id")
    none = pl.lit(None, pl.String)
    scored = popularity(counts.with_columns(bucket=none).collect(engine="streaming"), source, MENTIONS)
    return tables.write_batches(path, Popularity, [scored.to_arrow()])


def bucket_relations(relations: Sequence[Relation], triples: Mapping[str, int]) -> tuple[list[Relation], Cuts]:
    """Set each relation's popularity to its number of triples, and its bucket (Head-to-Tail, Table 6).

    Args:
        relations: all relations of a source.
        triples: number of facts by relation id; 0 where absent.

    Returns:
        The relations in their order, and the cuts between the buckets.
    """
    found = cuts(Counter(triples.get(row.relation_id, 0) for row in relations))
    counts = ((row, triples.get(row.relation_id, 0)) for row in relations)
    return [replace(row, popularity=count, bucket=found.bucket(count)) for row, count in counts], found
