"""Calibration: how far confidence exceeds accuracy (Zhao et al., section 4.4), in bins with equally many answers."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, wilson

# Subjects that each bin of a calibration error needs. The distance of a bin is never below 0: of a perfectly
# calibrated model that is half right it is 0.4/√n on average for n answers, so .13 for ten, and .5 for a single one.
LEAST = 10


def binned(column: str, by: Sequence[str], bins: int) -> pl.Expr:
    """Return the bin of each answer of its group by a column, 0 the least confident; as many answers in each, about.

    Args:
        column: the confidence.
        by: the columns that make groups.
        bins: how many there are, at most.
    """
    # Equal confidences are told apart by their place, so that bins stay equal in size.
    place = pl.col(column).rank("ordinal").over(by).cast(pl.Int64) - 1
    count = pl.col(column).is_not_null().sum().over(by).cast(pl.Int64)
    return pl.when(pl.col(column).is_not_null()).then(place * bins // count)


def overconfidence(frame: pl.DataFrame, column: str) -> Estimate:
    """Return the mean confidence less the accuracy, -1 to 1, with a 95 % interval; facts of a subject are one draw.

    That is the paper's signed measure, the mean over equal bins of confidence less accuracy, whatever the bins. The
    interval is Student's, since confidence is often sampled for few subjects. Where nearly all answers are right, or
    nearly none, few of them say how often the others are; so it holds the mean confidence less Wilson's interval of the
    accuracy too, of as many draws as there are subjects. There is none of a single subject. A pair of subject and
    relation counts once, however many of its prompts are here.

    Args:
        frame: answers of one way of asking with ``hit``, ``fact``, ``subject`` and confidence.
        column: the confidence.
    """
    if frame.is_empty():
        return NOTHING
    gap = pl.col(column) - pl.col("hit").cast(pl.Float64)
    frame = frame.with_columns((1 / pl.len().over("fact").cast(pl.Float64)).alias("worth"))
    gaps = frame.select("subject", "worth", gap.alias("gap"))
    whole = float(gaps["worth"].sum())
    mean = float((gaps["worth"] * gaps["gap"]).sum()) / whole
    own = ((pl.col("gap") - mean) * pl.col("worth")).sum().alias("sum")
    sums = gaps.group_by("subject", maintain_order=True).agg(own)["sum"].to_numpy()
    count = len(sums)
    if count < 2:
        return Estimate(mean, None, None)
    from scipy import stats  # slow to load, and most steps compute nothing with it

    quantile = float(stats.t.ppf(0.5 + LEVEL / 2, count - 1))
    half = quantile * float(np.sqrt((sums**2).sum() * count / (count - 1))) / whole
    right = float((frame["worth"] * frame["hit"].cast(pl.Float64)).sum()) / whole
    accuracy = wilson(right, count)
    assert accuracy.low is not None and accuracy.high is not None
    low, high = mean + right - accuracy.high, mean + right - accuracy.low
    return Estimate(mean, max(-1.0, min(mean - half, low)), min(1.0, max(mean + half, high)))


def calibration_error(frame: pl.DataFrame, column: str, bins: str) -> tuple[float | None, float | None]:
    """Return the expected calibration error, and what it would be on average if the confidences were right.

    The error is the bins' mean distance of confidence and accuracy, by their answers. Answers of one confidence may lie
    in two bins: each then counts as right as often as all of them are, so that their order changes nothing. The second
    number is √(2/π) times the standard deviation of a bin's accuracy, where the answers of a subject are right together
    or not at all: somewhat too high where they are not.

    Args:
        frame: answers with ``hit``, ``subject`` and confidence.
        column: the confidence.
        bins: the column of their bins.

    Returns:
        None of either where a bin has fewer than `LEAST` subjects.
    """
    confidence, hit = pl.col(column), pl.col("hit").cast(pl.Float64).mean().over(column)
    answers = frame.select(
        bins, "subject", confidence, hit.alias("hit"), (confidence * (1 - confidence)).clip(0).sqrt().alias("sd")
    )
    subjects = answers.group_by(bins, "subject", maintain_order=True).agg(
        pl.len(), pl.col(column, "hit").sum(), pl.col("sd").sum() ** 2
    )
    found = (
        subjects.group_by(bins, maintain_order=True)
        .agg(pl.len().alias("subjects"), pl.col("len", column, "hit", "sd").sum())
        .sort(bins)
    )
    if found.is_empty() or not (found["subjects"] >= LEAST).all():
        return None, None
    size, said, right, variance = (found[name].to_numpy() for name in ("len", column, "hit", "sd"))
    error = float(np.abs(said - right).sum() / size.sum())
    return error, math.sqrt(2 / math.pi) * float(np.sqrt(variance).sum() / size.sum())
