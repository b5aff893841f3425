"""Calibration: how far confidence exceeds accuracy (Zhao et al., section 4.4), in bins with equally many answers."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile


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

    That is the paper's signed measure, the mean over equal bins of confidence less accuracy, whatever the bins.

    Args:
        frame: answers with ``hit``, ``subject`` and confidence.
        column: the confidence.
    """
    if frame.is_empty():
        return NOTHING
    gaps = frame.select("subject", (pl.col(column) - pl.col("hit").cast(pl.Float64)).alias("gap"))
    mean = float(gaps["gap"].to_numpy().mean())
    sums = (
        gaps.group_by("subject", maintain_order=True).agg((pl.col("gap") - mean).sum().alias("sum"))["sum"].to_numpy()
    )
    count = len(sums)
    if count < 2:
        return Estimate(mean, None, None)
    half = normal_quantile(LEVEL) * float(np.sqrt((sums**2).sum() * count / (count - 1))) / gaps.height
    return Estimate(mean, max(-1.0, mean - half), min(1.0, mean + half))


def calibration_error(frame: pl.DataFrame, column: str, bins: str) -> float | None:
    """Return the expected calibration error: bins' mean distance of confidence and accuracy, by their answers.

    Args:
        frame: answers with ``hit`` and confidence.
        column: the confidence.
        bins: the column of their bins.
    """
    if frame.is_empty():
        return None
    gap = (pl.col(column).mean() - pl.col("hit").cast(pl.Float64).mean()).abs()
    found = frame.group_by(bins, maintain_order=True).agg(gap.alias("gap"), pl.len().alias("size")).sort(bins)
    return float(np.average(found["gap"].to_numpy(), weights=found["size"].to_numpy()))
