"""Head, torso and tail of subjects: by a source's popularity, by their facts, or by what a model was taught.

All are divided by one rule, in thirds of the total popularity of a type (`dataset.popularity`; section 2, A.7).
"""

import polars as pl

from almanac.columns import columns
from almanac.dataset.popularity import MENTIONS, bucket_relations, with_buckets
from almanac.rows import Entity, Fact, Popularity
from almanac.suites.data import Data
from almanac.suites.head_to_tail.rows import BucketCount

BUCKETS = ("head", "torso", "tail")
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
    return bucketed(given if measured == SOURCE else _mentions(data)), measured


def bucketed(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `SUBJECT` of things that are divided among those of their type.

    Args:
        scores: rows of `Popularity`; of several measures of one thing the first counts, as in `Judged`.
    """
    rows, _ = with_buckets(scores.lazy())
    found = rows.sort("entity_id", "source", "type").unique("entity_id", keep="first", maintain_order=True)
    names = {"entity_id": "subject", "type": "kind", "score": "popularity", "bucket": "asked_bucket"}
    return found.select(pl.col(old).alias(new) for old, new in names.items()).collect()


def _mentions(data: Data) -> pl.DataFrame:
    """Return how many facts name each thing, as subject and as object."""
    facts = data.frame("facts", Fact, ["subject_id", "object_id"])
    named = pl.concat(facts.select(entity_id=column) for column in ("subject_id", "object_id")).drop_nulls()
    return _scored(data, named.group_by("entity_id", maintain_order=True).agg(score=pl.len().cast(pl.Int64)), MENTIONS)


def _scored(data: Data, scores: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return scores (``entity_id``, ``score``) as rows of `Popularity`, typed by what each thing is."""
    types = data.frame("entities", Entity, ["entity_id", "type"])
    found = scores.join(types, on="entity_id", how="left", maintain_order="left")
    found = found.with_columns(pl.col("type").fill_null(THING), source=pl.lit(source), bucket=pl.lit(None, pl.String))
    return found.select(columns(Popularity))


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
    relations = data.relations
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
    doses = facts.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner", maintain_order="left")
    sums = doses.group_by(entity_id="subject_id", maintain_order=True).agg(score=pl.col("dose").cast(pl.Int64).sum())
    divided = bucketed(_scored(data, sums, EXPOSURE)).select("subject", "popularity", "asked_bucket")
    found = facts.join(divided, left_on="subject_id", right_on="subject", how="inner", maintain_order="left")
    return {fact: (dose, bucket) for fact, dose, bucket in found.drop("subject_id").rows()}
