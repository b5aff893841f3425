"""Head, torso and tail of subjects: by a source's popularity, by their facts, or by what a model was taught.

All three are divided by one rule, in thirds of the popularity of a type of thing (`sources.thirds`; section 2, A.7).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from almanac.dataset.popularity import MENTIONS, bucket_relations, with_buckets
from almanac.frames import frame_of
from almanac.rows import Entity, Fact, Popularity, Relation
from almanac.sources.thirds import BUCKETS, cuts
from almanac.suites.data import Data
from almanac.suites.head_to_tail.rows import BucketCount

THING = "thing"  # the type of what has none
DENSITY, SOURCE, EXPOSURE = "density", "source", "exposure"
SUBJECT = {"subject": pl.String, "kind": pl.String, "popularity": pl.Int64, "asked_bucket": pl.String}


def subjects(data: Data, by: str) -> tuple[pl.DataFrame, str]:
    """Return how popular things are: ``subject``, ``kind``, ``popularity`` and ``asked_bucket``, a row a thing.

    Args:
        data: the dataset.
        by: ``source``, ``density``, ``exposure`` (nothing is known before a model is), or ``auto``: the first where
            there is any, else the second.

    Returns:
        The things, and by what they were measured in the end.
    """
    if by == EXPOSURE:
        return pl.DataFrame(schema=SUBJECT), by
    given = data.frame("popularity", Popularity)
    measured = SOURCE if by == SOURCE or (by == "auto" and given.height) else DENSITY
    if measured == DENSITY:
        given = _mentions(data)
    rows, _ = with_buckets(given.lazy())
    # As `joining` takes them: of several measures of one thing the first.
    found = rows.sort("entity_id", "source", "type").unique("entity_id", keep="first", maintain_order=True)
    columns = {"entity_id": "subject", "type": "kind", "score": "popularity", "bucket": "asked_bucket"}
    return found.select(pl.col(old).alias(new) for old, new in columns.items()).collect(), measured


def _mentions(data: Data) -> pl.DataFrame:
    """Return how many facts name each thing, as subject and as object, typed by what it is."""
    facts = data.frame("facts", Fact, ["subject_id", "object_id"])
    named = pl.concat(facts.select(entity_id=column) for column in ("subject_id", "object_id")).drop_nulls()
    types = data.frame("entities", Entity, ["entity_id", "type"])
    counts = named.group_by("entity_id", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("score"))
    counts = counts.join(types, on="entity_id", how="left", maintain_order="left")
    bucket = pl.lit(None, pl.String)
    rows = counts.with_columns(pl.col("type").fill_null(THING), source=pl.lit(MENTIONS), bucket=bucket)
    return rows.select(frame_of(Popularity, ()).columns)


def count(found: pl.DataFrame, measured: str) -> list[BucketCount]:
    """Return how many things each bucket of each type holds (Table 1)."""
    score = pl.col("popularity")
    groups = (
        found.filter(pl.col("asked_bucket").is_not_null())
        .group_by("kind", "asked_bucket")
        .agg(pl.len().cast(pl.Int64), score.sum().alias("sum"), score.min().alias("low"), score.max().alias("high"))
        .sort("kind", pl.col("asked_bucket").replace_strict(list(BUCKETS), [0, 1, 2], return_dtype=pl.Int64))
    )
    return [BucketCount(measured, *row) for row in groups.rows()]


def predicates(data: Data) -> dict[str, str | None]:
    """Return the bucket of each relation by its number of facts (Table 6): the source's, or that of the dataset."""
    relations = data.rows("relations", Relation)
    if all(row.bucket is None for row in relations):
        counts = data.frame("facts", Fact, ["relation_id"]).group_by("relation_id").len()
        relations = bucket_relations(relations, dict(counts.iter_rows()))[0]
    return {row.relation_id: row.bucket for row in relations}


def exposed(data: Data, exposures: pl.DataFrame | None) -> dict[str, tuple[int, str | None]]:
    """Return how often a model was taught facts of each subject, and the bucket of that among those of its type.

    Args:
        data: the dataset.
        exposures: how often the model was taught each fact; none: it was not taught these.

    Returns:
        By fact, so that an item finds that of its subject; subjects of which no fact has a dose are not there.
    """
    if exposures is None:
        return {}
    facts = data.frame("facts", Fact, ["fact_id", "subject_id"])
    types = data.frame("entities", Entity, ["entity_id", "type"]).rename({"entity_id": "subject_id"})
    doses = facts.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner", maintain_order="left")
    sums = doses.group_by("subject_id", maintain_order=True).agg(pl.col("dose").cast(pl.Int64).sum())
    rows = sums.join(types, on="subject_id", how="left", maintain_order="left").rows()
    found = divided([(subject, kind or THING, dose) for subject, dose, kind in rows])
    return {fact: found[subject] for fact, subject in facts.rows() if subject in found}


def divided(rows: Sequence[tuple[str, str, int]]) -> Mapping[str, tuple[int, str | None]]:
    """Return score and bucket of things.

    Args:
        rows: thing, type and score.
    """
    histograms: dict[str, Counter[int]] = defaultdict(Counter)
    for _, kind, score in rows:
        histograms[kind][score] += 1
    ends = {kind: cuts(own) for kind, own in histograms.items()}
    return {thing: (score, ends[kind].bucket(score)) for thing, kind, score in rows}
