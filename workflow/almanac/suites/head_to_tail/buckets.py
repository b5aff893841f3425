"""Head, torso and tail of subjects: by a source's popularity, by number of facts, or by a planted model's exposure.

Each bucket holds a third of the total popularity of a type (`dataset.popularity`; Sun et al., section 2, A.7).
"""

import polars as pl

from almanac.columns import columns
from almanac.dataset.popularity import MENTIONS, bucket_relations, with_buckets
from almanac.rows import Entity, Fact, Popularity
from almanac.suites.data import Data
from almanac.suites.head_to_tail.rows import BucketCount

BUCKETS = ("head", "torso", "tail")
THING = "thing"  # the type of entities that have none
DENSITY, SOURCE, EXPOSURE = "density", "source", "exposure"
SUBJECT = {"subject": pl.String, "kind": pl.String, "popularity": pl.Int64, "asked_bucket": pl.String}


def subjects(data: Data, by: str) -> tuple[pl.DataFrame, str]:
    """Return the popularity of entities: ``subject``, ``kind``, ``popularity`` and ``asked_bucket``, a row an entity.

    Args:
        data: the dataset.
        by: ``source``, ``density``, ``exposure`` (no rows: it depends on the model), or ``auto``: ``source`` if the
            dataset has popularity, else ``density``.

    Returns:
        The rows, and the measure that was used.
    """
    if by == EXPOSURE:
        return pl.DataFrame(schema=SUBJECT), by
    given = data.frame("popularity", Popularity)
    measured = SOURCE if by == SOURCE or (by == "auto" and given.height) else DENSITY
    return bucketed(given if measured == SOURCE else _mentions(data)), measured


def bucketed(scores: pl.DataFrame) -> pl.DataFrame:
    """Divide entities into buckets within their type, and return the columns of `SUBJECT`.

    Args:
        scores: rows of `Popularity`; the first counts if an entity has several, as in `Judged`.
    """
    rows, _ = with_buckets(scores.lazy())
    found = rows.sort("entity_id", "source", "type").unique("entity_id", keep="first", maintain_order=True)
    names = {"entity_id": "subject", "type": "kind", "score": "popularity", "bucket": "asked_bucket"}
    return found.select(pl.col(old).alias(new) for old, new in names.items()).collect()


def _mentions(data: Data) -> pl.DataFrame:
    """Return the number of facts with each entity as subject or object, as rows of `Popularity`."""
    facts = data.frame("facts", Fact, ["subject_id", "object_id"])
    named = pl.concat(facts.select(entity_id=column) for column in ("subject_id", "object_id")).drop_nulls()
    return _scored(data, named.group_by("entity_id", maintain_order=True).agg(score=pl.len().cast(pl.Int64)), MENTIONS)


def _scored(data: Data, scores: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return scores (``entity_id``, ``score``) as rows of `Popularity`, with each entity's type."""
    types = data.frame("entities", Entity, ["entity_id", "type"])
    found = scores.join(types, on="entity_id", how="left", maintain_order="left")
    found = found.with_columns(pl.col("type").fill_null(THING), source=pl.lit(source), bucket=pl.lit(None, pl.String))
    return found.select(columns(Popularity))


def count(found: pl.DataFrame, measured: str) -> list[BucketCount]:
    """Count the entities in each bucket of each type (Table 1)."""
    score = pl.col("popularity")
    groups = (
        found.filter(pl.col("asked_bucket").is_not_null())
        .group_by("kind", "asked_bucket")
        .agg(pl.len().cast(pl.Int64), score.sum().alias("sum"), score.min().alias("low"), score.max().alias("high"))
        .sort("kind", pl.col("asked_bucket").replace_strict(list(BUCKETS), [0, 1, 2], return_dtype=pl.Int64))
    )
    return [BucketCount(measured, *row) for row in groups.rows()]


def predicates(data: Data) -> dict[str, str | None]:
    """Return each relation's bucket by number of facts (Table 6): the source's, or else computed from the dataset."""
    relations = data.relations
    if all(row.bucket is None for row in relations):
        counts = data.frame("facts", Fact, ["relation_id"]).group_by("relation_id").len()
        relations = bucket_relations(relations, dict(counts.iter_rows()))[0]
    return {row.relation_id: row.bucket for row in relations}


def exposed(data: Data, exposures: pl.DataFrame | None) -> dict[str, tuple[int, str | None]]:
    """Return each subject's exposure (the summed doses of its facts), and its bucket by exposure within its type.

    Args:
        data: the dataset.
        exposures: the dose of each fact; None if the model was not taught the dataset.

    Returns:
        The exposure and the bucket of the subject, by fact; subjects without any dose are left out.
    """
    if exposures is None:
        return {}
    facts = data.frame("facts", Fact, ["fact_id", "subject_id"])
    doses = facts.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner", maintain_order="left")
    sums = doses.group_by(entity_id="subject_id", maintain_order=True).agg(score=pl.col("dose").cast(pl.Int64).sum())
    divided = bucketed(_scored(data, sums, EXPOSURE)).select("subject", "popularity", "asked_bucket")
    found = facts.join(divided, left_on="subject_id", right_on="subject", how="inner", maintain_order="left")
    return {fact: (dose, bucket) for fact, dose, bucket in found.drop("subject_id").rows()}
