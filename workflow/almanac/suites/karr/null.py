"""The false positives of KaRR: what is called known of a model that was taught none of the facts.

The null of a planted model has the same recipe and has read the same names as often, with the objects of each relation
permuted. What of the true facts is called known of it, at the threshold of the model itself, is called so wrongly.
"""

import math
from collections.abc import Mapping, Sequence

from almanac.rows import Fact, Item, KarrValue, Measure, Outcome
from almanac.suites.judging import Sheet, gather, share
from almanac.suites.karr.requests import FACTS, SUITE

METRIC = "null_model_known"


def null_rows(
    model: str,
    dataset: str,
    items: Sequence[Item],
    facts: Sequence[Fact],
    limits: Mapping[str, float],
    values: Sequence[KarrValue],
) -> list[Measure]:
    """Return the share of the true facts that is called known of a model's null, by mode.

    Args:
        model: the model whose rows these are.
        dataset: the dataset's name.
        items: what was asked, of the model and of its null.
        facts: the dataset's facts.
        limits: the thresholds of the model, by mode, as a KaRR.
        values: those of the null.
    """
    value_of = {row.item_id: row.karr for row in values}
    asked = [item for item in items if item.setting == FACTS and item.item_id in value_of]
    outcomes = []
    for item in asked:
        karr = value_of[item.item_id]
        above = karr is not None and karr > math.log(limits[item.experiment])
        verdict = "error" if karr is None else ("correct" if above else "incorrect")
        outcomes.append(Outcome(model, item.item_id, None, verdict, karr, None))
    rows = []
    for (experiment, setting), group in gather(asked, outcomes, facts, None).items():
        known = share([one for one in group if one.answered])
        rows.append(
            Sheet(SUITE, dataset, experiment, model, setting).row(METRIC, known, group, level=limits[experiment])
        )
    return rows
