"""Consistency: for each prompt of a pair, the share of the pair's other prompts that are answered alike (section 4.3).

The mean over a pair's prompts is the share of matching among all unordered pairs of prompts, Zhao et al.'s consistency
with ½n(n−1) pairs. Answers to blanks match if they are equal, so prompts are counted by answer; texts match if
one contains the other, which is not transitive: distinct texts of a pair are compared, and weighted by how often they
occur.
"""

from collections.abc import Sequence

import polars as pl

from almanac.suites.belief.lemmas import SEPARATOR, parts_of

ROW = "agreement row"


def agreement(frame: pl.DataFrame, within: Sequence[str], texts: bool) -> pl.Series:
    """Return the share of the other answered prompts of its set with which each prompt agrees.

    Args:
        frame: prompts, with the columns ``within`` and ``answer``; none has no answer, an empty one agrees with none.
        within: the columns whose values make the sets.
        texts: whether an answer agrees with one that it stands within, or only with its equal.

    Returns:
        ``(prompts,)``; none without an answer, or where no other prompt of the set has one.
    """
    answers = frame.select(*within, pl.col("answer").cast(pl.String)).with_row_index(ROW)
    answered = answers.filter(pl.col("answer").is_not_null())
    said = answered.group_by([*within, "answer"], maintain_order=True).agg(pl.len().alias("times"))
    there = said.filter(pl.col("answer") != "")
    alike = _contained(there, within) if texts else there.with_columns(pl.col("answer").alias("other"))
    times = there.select(*within, pl.col("answer").alias("other"), pl.col("times").alias("others"))
    keys = [*within, "other"]
    total = (
        alike.select(*within, "answer", "other")
        .join(times, on=keys, how="inner", nulls_equal=True)
        .group_by([*within, "answer"], maintain_order=True)
        .agg(pl.col("others").sum().cast(pl.Int64).alias("alike"))
    )
    size = said.group_by(within, maintain_order=True).agg(pl.col("times").sum().cast(pl.Int64).alias("size"))
    found = answered.join(size, on=list(within), how="left", nulls_equal=True, maintain_order="left")
    found = found.join(total, on=[*within, "answer"], how="left", nulls_equal=True, maintain_order="left")
    share = pl.when(pl.col("answer") == "").then(0).otherwise(pl.col("alike") - 1) / (pl.col("size") - 1)
    found = found.select(ROW, pl.when(pl.col("size") > 1).then(share).alias("agreement"))
    return answers.select(ROW).join(found, on=ROW, how="left", maintain_order="left")["agreement"]


def between(frame: pl.DataFrame, within: Sequence[str], parts: str, whole: pl.Series, inner: pl.Series) -> pl.Series:
    """Return the share of the answered prompts of other parts of its set with which each prompt agrees.

    Args:
        frame: as in `agreement`.
        within: the columns whose values make the sets.
        parts: the column that divides a set.
        whole: the `agreement` within the sets.
        inner: the `agreement` within their parts.
    """
    answered = pl.col("answer").is_not_null()
    sizes = frame.select(
        (answered.sum().over(within).cast(pl.Int64) - 1).alias("all"),
        (answered.sum().over([*within, parts]).cast(pl.Int64) - 1).alias("own"),
    )
    found = sizes.with_columns(whole.alias("whole"), inner.fill_null(0.0).alias("inner")).select(
        pl.when(pl.col("all") > pl.col("own")).then(
            (pl.col("whole") * pl.col("all") - pl.col("inner") * pl.col("own")) / (pl.col("all") - pl.col("own"))
        )
    )
    return found.to_series()


def _contained(said: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    """Return the pairs of distinct answers of a set that match: equal ones, and one within the other in both orders."""
    distinct = said["answer"].unique().to_list()
    stretches = pl.DataFrame(
        [(one, part) for one in distinct for part in parts_of(one.split(SEPARATOR)) if part != one],
        {"answer": pl.String, "other": pl.String},
        orient="row",
    )
    own = said.select(*within, "answer")
    holds = own.join(stretches, on="answer", how="inner").join(
        own.rename({"answer": "other"}), on=[*within, "other"], how="semi", nulls_equal=True
    )
    columns = [*within, "answer", "other"]
    turned = holds.rename({"answer": "other", "other": "answer"}).select(columns)
    return pl.concat([own.with_columns(pl.col("answer").alias("other")).select(columns), holds.select(columns), turned])
