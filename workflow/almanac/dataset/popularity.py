"""Popularity in a dataset: buckets for the sources that give scores alone, mentions in facts, popular relations."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from almanac import tables
from almanac.rows import BucketSize, Fact, Popularity, Relation
from almanac.sources.frames import bucket_of
from almanac.sources.thirds import Cuts, cuts, sizes


def bucket_tables(folder: Path) -> None:
    """Give the entities and relations of a source's tables their buckets, in place and as streams.

    Entities are divided among those of their source and type, relations by their number of facts. Where a source has
    bucketed a type itself (it saw more entities than it wrote), its buckets stay as they are; so do a relation's.

    Args:
        folder: holds `popularity`, `buckets`, `relations` and `facts` as Parquet.

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


def _bucket_entities(path: Path, summary: Path) -> None:
    groups = ["source", "type"]
    rows = pl.scan_parquet(path)
    counts = rows.group_by(*groups, "score").agg(pl.len(), done=pl.col("bucket").is_not_null().any())
    histograms: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    done: set[tuple[str, str]] = set()
    for source, kind, score, count, bucketed in counts.collect(engine="streaming").iter_rows():
        histograms[source, kind][score] += count
        done |= {(source, kind)} if bucketed else set()
    found = {group: cuts(histogram) for group, histogram in sorted(histograms.items()) if group not in done}
    if not found:
        return
    bucket = pl.col("bucket")
    for (source, kind), cut in found.items():
        own = (pl.col("source") == source) & (pl.col("type") == kind)
        bucket = pl.when(own).then(bucket_of(cut, pl.col("score")).cast(pl.String)).otherwise(bucket)
    batches = rows.with_columns(bucket=bucket).collect_batches(engine="streaming")
    tables.write_batches(path, Popularity, (batch.to_arrow() for batch in batches))
    own_sizes = [size for group, cut in found.items() for size in sizes(*group, histograms[group], cut)]
    tables.write(summary, BucketSize, [*tables.read(summary, BucketSize), *own_sizes])


def mentions(facts: Iterable[Fact]) -> Counter[str]:
    """Count an entity's mentions: one as a subject, one as an object, so that a fact about itself counts twice."""
    found: Counter[str] = Counter()
    for fact in facts:
        found[fact.subject_id] += 1
        if fact.object_id is not None:
            found[fact.object_id] += 1
    return found


def bucket_relations(relations: Sequence[Relation], triples: Mapping[str, int]) -> tuple[list[Relation], Cuts]:
    """Give each relation its number of triples as popularity, and its bucket (Head-to-Tail, Table 6).

    Args:
        relations: all relations of a source.
        triples: how many facts each has; 0 where absent.

    Returns:
        The relations in their order, and the cuts.
    """
    found = cuts(Counter(triples.get(row.relation_id, 0) for row in relations))
    counts = ((row, triples.get(row.relation_id, 0)) for row in relations)
    return [replace(row, popularity=count, bucket=found.bucket(count)) for row, count in counts], found
