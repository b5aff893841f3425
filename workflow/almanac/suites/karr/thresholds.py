"""The KaRR above which a fact counts as known: the released code's, as set, or as planted facts calibrate it."""

import math
from collections.abc import Sequence

import polars as pl

from almanac.statistics.agreement import best_cut
from almanac.suites.karr.asking import FACTS, NULL
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.tables import seed_of


def calibrates(facts: Sequence[str]) -> list[bool]:
    """Return of each fact, by its id alone, whether it is in the half on which a threshold is chosen."""
    return [seed_of("karr", "half", fact) % 2 == 0 for fact in facts]


def thresholds(judged: pl.DataFrame, exposures: pl.DataFrame | None, options: KarrOptions) -> dict[str, float]:
    """Return the threshold of every mode that is asked, as a KaRR.

    It is the code's own, or the cut that best parts the facts taught most often from those never taught and from the
    null on one half of the planted facts, or as set where there are none.

    Args:
        judged: ``experiment``, ``asked``, ``fact_id`` and ``score`` (log KaRR; none: no value) of what was asked.
        exposures: ``fact_id`` and ``dose`` of the facts that the model was taught.
        options: of the suite.
    """
    found = {}
    for mode, variant in VARIANTS.items():
        asked = judged.filter(pl.col("experiment") == mode)
        if asked.is_empty():
            continue
        own = asked.filter(pl.col("asked").is_in([FACTS, NULL]) & pl.col("score").is_not_null())
        cut = None if exposures is None or variant.threshold else _cut(own, exposures)
        found[mode] = variant.threshold or (options.threshold if cut is None else math.exp(cut))
    return found


def _cut(judged: pl.DataFrame, exposures: pl.DataFrame) -> float | None:
    """Return the cut of one mode, or none where nothing was taught."""
    own = judged.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner")
    own = own.filter(pl.Series(calibrates(own["fact_id"].to_list()), dtype=pl.Boolean))
    null, dose = pl.col("asked") == NULL, pl.col("dose")
    taught = own.filter(~null & (dose > 0) & (dose == dose.max()))
    never = own.filter(null | (dose == 0))
    return best_cut(taught["score"].to_list(), never["score"].to_list())
