"""Calibration: how far confidence exceeds accuracy (Zhao et al., section 4.4), in bins with equally many answers."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, wilson

# Subjects that each bin needs for a calibration error. A bin's distance is never below 0, so it is biased upwards: for
# a perfectly calibrated model with accuracy .5 and n answers it is 0.4/√n on average: .13 for ten, .5 for one.
LEAST = 10


def binned(column: str, by: Sequence[str], bins: int) -> pl.Expr:
    """Return the bin of each answer's confidence within its group, 0 the least confident; bins are about equal in size.

    Args:
        column: the confidence.
        by: the columns that define the groups.
        bins: the number of bins, at most.
    """
    # Ties are ranked by their order, so that bins stay equal in size.
    place = pl.col(column).rank("ordinal").over(by).cast(pl.Int64) - 1
    count = pl.col(column).is_not_null().sum().over(by).cast(pl.Int64)
    return pl.when(pl.col(column).is_not_null()).then(place * bins // count)


def overconfidence(frame: pl.DataFrame, column: str) -> Estimate:
    """Return mean confidence minus accuracy, in [-1, 1], with a 95 % interval clustered by subject.

    This equals the paper's signed measure, the mean over equal-sized bins of confidence minus accuracy. Each pair of
    subject and relation counts once, however many of its prompts there are. The interval is the union of two: Student's
    t over subjects, since confidence is often sampled for few; and mean confidence minus Wilson's interval of the
    accuracy (n = subjects), since Student's is too narrow where nearly all answers, or nearly none, are right. With a
    single subject there is no interval.

    Args:
        frame: answers of one way of asking with ``hit``, ``fact``, ``subject`` and the confidence.
        column: the confidence.
    """
    if frame.is_empty():
        return NOTHING
    gap = pl.col(column) - pl.col("hit").cast(pl.Float64)
    frame = frame.with_columns((1 / pl.len().over("fact").cast(pl.Float64)).alias("worth"))
    gaps = frame.select("subject", "worth", gap.alias("gap"))
    whole = float(gaps["worth"].sum())
    mean = float((gaps["worth"] * gaps["gap"]).sum()) / whole
    weighted = ((pl.col("gap") - mean) * pl.col("worth")).sum().alias("sum")
    sums = gaps.group_by("subject", maintain_order=True).agg(weighted)["sum"].to_numpy()
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
    """Return the expected calibration error (ECE), and its mean for a perfectly calibrated model.

    ECE = Σ_b n_b |confidence_b − accuracy_b| / Σ_b n_b over the bins b of n_b answers. Ties in confidence may lie in
    two bins: each counts as right as often as all of them are, so that their order changes nothing. The second number
    has √(2/π) times the standard deviation of accuracy_b in place of the distance: the mean absolute value of a normal
    variable. It takes a subject's answers to be all right or all wrong; where they are not it is somewhat too high.

    Args:
        frame: answers with ``hit``, ``subject`` and the confidence.
        column: the confidence.
        bins: the column of the bins.

    Returns:
        ECE and that mean; both None if a bin has fewer than `LEAST` subjects.
    """
    confidence, hit = pl.col(column), pl.col("hit").cast(pl.Float64).mean().over(column)
    answers = frame.select(
        bins, "subject", confidence, hit.alias("hit"), (confidence * (1 - confidence)).clip(0).sqrt().alias("sd")
    )
    subjects = answers.group_by(bins, "subject", maintain_order=True).agg(
        pl.len(), pl.col(column, "hit").sum(), pl.col("sd").sum() ** 2
    )
    totals = (
        subjects.group_by(bins, maintain_order=True)
        .agg(pl.len().alias("subjects"), pl.col("len", column, "hit", "sd").sum())
        .sort(bins)
    )
    if totals.is_empty() or not (totals["subjects"] >= LEAST).all():
        return None, None
    size, confidences, hits, variance = (totals[name].to_numpy() for name in ("len", column, "hit", "sd"))
    error = float(np.abs(confidences - hits).sum() / size.sum())
    return error, math.sqrt(2 / math.pi) * float(np.sqrt(variance).sum() / size.sum())
