"""The KaRR above which a fact counts as known: the released code's, as set, or as planted facts calibrate it."""

import math
from collections.abc import Sequence

import polars as pl

from almanac.statistics.agreement import best_cut
from almanac.suites.karr.asking import FACTS, NULL
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import Threshold
from almanac.tables import seed_of

LEAST = 5  # facts that were taught most often, and that are not true of the model, from which a threshold is chosen


def calibrates(facts: Sequence[str]) -> list[bool]:
    """Return of each fact, by its id alone, whether it is in the half on which a threshold is chosen."""
    return [seed_of("karr", "half", fact) % 2 == 0 for fact in facts]


def thresholds(judged: pl.DataFrame, exposures: pl.DataFrame | None, options: KarrOptions) -> list[Threshold]:
    """Return the threshold of every mode that is asked, as a KaRR.

    It is the code's own, or the cut that best parts the facts taught most often from those never taught and from the
    null on one half of the planted facts, or as set where that half has fewer than `LEAST` of either.

    Args:
        judged: ``experiment``, ``asked``, ``fact_id`` and ``score`` (log KaRR; none: no value) of what was asked.
        exposures: ``fact_id`` and ``dose`` of the facts that the model was taught.
        options: of the suite.
    """
    found = []
    for mode, variant in VARIANTS.items():
        asked = judged.filter(pl.col("experiment") == mode)
        if asked.is_empty():
            continue
        own = asked.filter(pl.col("asked").is_in([FACTS, NULL]) & pl.col("score").is_not_null())
        chosen = None if exposures is None or variant.threshold else _chosen(mode, own, exposures)
        found.append(chosen or Threshold(mode, variant.threshold or options.threshold))
    return found


def _chosen(mode: str, judged: pl.DataFrame, exposures: pl.DataFrame) -> Threshold | None:
    """Return the cut of one mode as a threshold, or none where too few facts were taught, or not taught."""
    own = judged.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner")
    null, dose = pl.col("asked") == NULL, pl.col("dose")
    top = pl.lit(own["dose"].max(), pl.Int64)
    own = own.filter(pl.Series(calibrates(own["fact_id"].to_list()), dtype=pl.Boolean))
    taught = own.filter(~null & (dose > 0) & (dose == top))["score"].to_list()
    never = own.filter(null | (dose == 0))["score"].to_list()
    cut = best_cut(taught, never) if min(len(taught), len(never)) >= LEAST else None
    return None if cut is None else Threshold(mode, math.exp(cut), len(taught), len(never))
