"""Consistency: how often two prompts of one pair of subject and relation have matching answers (section 4.3).

The agreement of prompt i of n answered prompts is ``sum(match(i, j) for j != i) / (n - 1)``. Its mean over the pair's
prompts is the share of matches among the ½n(n−1) unordered pairs of prompts: Zhao et al.'s consistency. Answers to
blanks match if they are equal, so it is enough to count prompts by answer. Texts match if one contains the other. This
is not transitive, so the distinct texts of a pair are compared, each weighted by how often it occurs. An empty text
matches none; a token of white space alone is a prediction like any other.
"""

from collections.abc import Sequence

import polars as pl

from almanac.suites.belief.lemmas import SEPARATOR, parts_of


def agreement(frame: pl.DataFrame, within: Sequence[str], texts: bool) -> pl.Series:
    """Return each prompt's agreement: the share of its set's other answered prompts whose answers match its own.

    Args:
        frame: prompts, with the columns ``within`` and ``answer``; a null has no answer.
        within: the columns whose values define the sets.
        texts: true: answers match if one contains the other, and an empty one matches none; false: only if equal.

    Returns:
        ``(prompts,)``; null without an answer, or if no other prompt of the set has one.
    """
    answers = frame.select(*within, pl.col("answer").cast(pl.String))
    empty = pl.lit(texts) & (pl.col("answer") == "")
    counts = answers.filter(pl.col("answer").is_not_null() & ~empty).group_by([*within, "answer"], maintain_order=True)
    matches = counts.agg(pl.len().cast(pl.Int64).alias("alike"))
    if texts:
        matches = _contained(matches, within)
    found = answers.join(matches, on=[*within, "answer"], how="left", nulls_equal=True, maintain_order="left")
    share = pl.when(empty).then(0).otherwise(pl.col("alike") - 1) / _others(within)
    return found.select(pl.when(pl.col("answer").is_not_null() & (_others(within) > 0)).then(share)).to_series()


def between(frame: pl.DataFrame, within: Sequence[str], parts: str, whole: pl.Series, inner: pl.Series) -> pl.Series:
    """Return each prompt's agreement with the answered prompts in the other parts of its set.

    With n answered prompts in the set and m in the part: ``(whole * (n - 1) - inner * (m - 1)) / (n - m)``.

    Args:
        frame: as in `agreement`.
        within: the columns whose values define the sets.
        parts: the column that divides each set into parts.
        whole: the `agreement` within the sets, ``(prompts,)``.
        inner: the `agreement` within the parts, ``(prompts,)``.
    """
    every, part = _others(within), _others([*within, parts])
    share = (pl.col("whole") * every - pl.col("inner") * part) / (every - part)
    found = frame.with_columns(whole.alias("whole"), inner.fill_null(0.0).alias("inner"))
    return found.select(pl.when(every > part).then(share)).to_series()


def _others(within: Sequence[str]) -> pl.Expr:
    """Return, for a prompt with an answer, the number of other prompts of its set with one."""
    return pl.col("answer").is_not_null().sum().over(within).cast(pl.Int64) - 1


def _contained(counts: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    """Return how many prompts match each distinct text of a set: by itself, a part of it, or a text around it.

    Args:
        counts: a row for each set and distinct text: ``within``, ``answer`` and ``alike``, how often it occurs.
        within: the columns whose values define the sets.
    """
    texts = counts["answer"].unique().to_list()
    stretches = pl.DataFrame(
        [(one, part) for one in texts for part in parts_of(one.split(SEPARATOR)) if part != one],
        {"answer": pl.String, "part": pl.String},
        orient="row",
    )
    parts = counts.rename({"answer": "part", "alike": "times"})
    holds = counts.join(stretches, on="answer", how="inner")
    holds = holds.join(parts, on=[*within, "part"], how="inner", nulls_equal=True)
    whole = holds.select(*within, "answer", pl.col("times").alias("alike"))
    part = holds.select(*within, pl.col("part").alias("answer"), "alike")
    every = pl.concat([counts, whole, part])
    return every.group_by([*within, "answer"], maintain_order=True).agg(pl.col("alike").sum())
