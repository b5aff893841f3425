"""Consistency: for each prompt of a pair, the share of the pair's other prompts that are answered alike (section 4.3).

The mean over a pair's prompts is the share of matching among all unordered pairs of prompts, Zhao et al.'s consistency
with ½n(n−1) pairs. Answers to blanks match if they are equal, so prompts are counted by answer; texts match if
one contains the other, which is not transitive: distinct texts of a pair are compared, and weighted by how often they
occur. An empty text matches none; a token that is white space alone is a prediction as any other.
"""

from collections.abc import Sequence

import polars as pl

from almanac.suites.belief.lemmas import SEPARATOR, parts_of


def agreement(frame: pl.DataFrame, within: Sequence[str], texts: bool) -> pl.Series:
    """Return the share of the other answered prompts of its set with which each prompt agrees.

    Args:
        frame: prompts, with the columns ``within`` and ``answer``; none has no answer.
        within: the columns whose values make the sets.
        texts: whether an answer agrees with one that it stands within, an empty one with none; or with its equal alone.

    Returns:
        ``(prompts,)``; none without an answer, or where no other prompt of the set has one.
    """
    answers = frame.select(*within, pl.col("answer").cast(pl.String))
    empty = pl.lit(texts) & (pl.col("answer") == "")
    said = answers.filter(pl.col("answer").is_not_null() & ~empty).group_by([*within, "answer"], maintain_order=True)
    alike = said.agg(pl.len().cast(pl.Int64).alias("alike"))
    if texts:
        alike = _contained(alike, within)
    found = answers.join(alike, on=[*within, "answer"], how="left", nulls_equal=True, maintain_order="left")
    share = pl.when(empty).then(0).otherwise(pl.col("alike") - 1) / _others(within)
    return found.select(pl.when(pl.col("answer").is_not_null() & (_others(within) > 0)).then(share)).to_series()


def between(frame: pl.DataFrame, within: Sequence[str], parts: str, whole: pl.Series, inner: pl.Series) -> pl.Series:
    """Return the share of the answered prompts of other parts of its set with which each prompt agrees.

    Args:
        frame: as in `agreement`.
        within: the columns whose values make the sets.
        parts: the column that divides a set.
        whole: the `agreement` within the sets.
        inner: the `agreement` within their parts.
    """
    every, own = _others(within), _others([*within, parts])
    share = (pl.col("whole") * every - pl.col("inner") * own) / (every - own)
    found = frame.with_columns(whole.alias("whole"), inner.fill_null(0.0).alias("inner"))
    return found.select(pl.when(every > own).then(share)).to_series()


def _others(within: Sequence[str]) -> pl.Expr:
    """Return how many other prompts of its set have an answer, of a prompt that has one."""
    return pl.col("answer").is_not_null().sum().over(within).cast(pl.Int64) - 1


def _contained(said: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    """Return of each distinct text of a set how often those occur that match it: itself, its parts and what holds it.

    Args:
        said: the texts, ``answer``, and how often each occurs, ``alike``.
        within: the columns whose values make the sets.
    """
    distinct = said["answer"].unique().to_list()
    stretches = pl.DataFrame(
        [(one, part) for one in distinct for part in parts_of(one.split(SEPARATOR)) if part != one],
        {"answer": pl.String, "part": pl.String},
        orient="row",
    )
    parts = said.rename({"answer": "part", "alike": "times"})
    holds = said.join(stretches, on="answer", how="inner")
    holds = holds.join(parts, on=[*within, "part"], how="inner", nulls_equal=True)
    whole = holds.select(*within, "answer", pl.col("times").alias("alike"))
    part = holds.select(*within, pl.col("part").alias("answer"), "alike")
    return pl.concat([said, whole, part]).group_by([*within, "answer"], maintain_order=True).agg(pl.col("alike").sum())
