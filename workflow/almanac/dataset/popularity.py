"""Popularity in a dataset: buckets for the sources that give scores alone, mentions in facts, popular relations."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from almanac.rows import BucketSize, Fact, Popularity, Relation
from almanac.sources.thirds import Cuts, cuts, sizes


def bucketed(rows: Sequence[Popularity]) -> tuple[list[Popularity], list[BucketSize]]:
    """Give every entity its bucket among those of its source and type.

    Where a source has bucketed a type itself (it saw more entities than it wrote), its buckets stay as they are.

    Returns:
        The rows in their order, and the sizes of the buckets that were made here.

    Raises:
        AlmanacError: a score is below 0.
    """
    histograms: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    done = {(row.source, row.type) for row in rows if row.bucket is not None}
    for row in rows:
        if (row.source, row.type) not in done:
            histograms[row.source, row.type][row.score] += 1
    found = {group: cuts(histogram) for group, histogram in sorted(histograms.items())}
    out = [
        replace(row, bucket=found[row.source, row.type].bucket(row.score)) if (row.source, row.type) in found else row
        for row in rows
    ]
    return out, [size for group, cut in found.items() for size in sizes(*group, histograms[group], cut)]


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
