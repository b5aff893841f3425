"""The numbers of the prompt baselines: accuracy by prompt, mean and deviation over the prompts of a relation.

Every metric leaves out items without an answer (too long, unsupported, failed; ``n_error`` says how many) and refusals
(``n_missing``); nothing is invalid, since a choice is always made.
"""

from collections import defaultdict
from collections.abc import Sequence

from almanac.rows import Measure, Outcome
from almanac.suites.ic_lke.averages import accuracy_rows, chance_row, deviation_rows
from almanac.suites.ic_lke.measures import most_choices
from almanac.suites.ic_lke.prompts.requests import SUITE
from almanac.suites.judging import Judged, Sheet, gather, recovery_rows, times_taught
from almanac.suites.method import Answered

MEAN = "mean"  # the setting of what is said of all prompts together


def measure(answered: Answered, outcomes: Sequence[Outcome]) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        answered: what was asked and answered.
        outcomes: one an item.

    Returns:
        By experiment, ``accuracy`` of each prompt (the setting) and, with the setting ``mean``, over the prompts: a
        fact's prompts are averaged first, so that a fact counts once in the interval. ``accuracy_deviation`` is the
        standard deviation of the prompts' accuracies (of a sample, n - 1) in a relation; overall the mean over
        relations. ``n`` counts items: facts times prompts. With exposures the recovery stands beside the mean.
    """
    rows: list[Measure] = []
    facts, exposures, choices = answered.data.facts, answered.exposures, most_choices(answered.requests)
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    together: dict[str, list[Judged]] = defaultdict(list)
    for (experiment, setting), group in gather(answered.items, outcomes, facts, exposures).items():
        sheet = Sheet(SUITE, answered.dataset, experiment, answered.model, setting)
        rows += accuracy_rows(sheet, group)
        together[experiment] += group
    for experiment, group in together.items():
        sheet = Sheet(SUITE, answered.dataset, experiment, answered.model, MEAN)
        rows += accuracy_rows(sheet, group) + deviation_rows(sheet, group, "accuracy_deviation")
        rows.append(chance_row(sheet, group, choices))
        if exposures is not None:
            rows += recovery_rows(sheet, group, taught)
    return rows
