"""The numbers of the prompt baselines: accuracy by prompt, mean and deviation over the prompts of a relation.

Every metric leaves out items without an answer (too long, unsupported, failed; ``n_error`` says how many) and refusals
(``n_missing``); nothing is invalid, since a choice is always made.
"""

from collections import defaultdict
from collections.abc import Sequence

from almanac.rows import Exposure, Fact, Item, Measure, Outcome
from almanac.suites.ic_lke.averages import accuracy_rows, chance_row, deviation_rows
from almanac.suites.ic_lke.prompts.requests import SUITE
from almanac.suites.judging import Judged, Sheet, gather, recovery_rows, times_taught

MEAN = "mean"  # the setting of what is said of all prompts together


def measure(
    dataset: str,
    items: Sequence[Item],
    outcomes: Sequence[Outcome],
    facts: Sequence[Fact],
    choices: int,
    exposures: Sequence[Exposure] | None = None,
) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        dataset: the dataset's name, written on every row.
        items: what was asked.
        outcomes: one an item, of one model.
        facts: the dataset's facts.
        choices: choices an item; chance is one in as many.
        exposures: the planned doses where the model was taught these facts.

    Returns:
        By experiment, ``accuracy`` of each prompt (the setting) and, with the setting ``mean``, over the prompts: a
        fact's prompts are averaged first, so that a fact counts once in the interval. ``accuracy_deviation`` is the
        standard deviation of the prompts' accuracies (of a sample, n - 1) in a relation; overall the mean over
        relations. ``n`` counts items: facts times prompts. With exposures the recovery stands beside the mean.
    """
    rows: list[Measure] = []
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    together: dict[str, list[Judged]] = defaultdict(list)
    for (experiment, setting), group in gather(items, outcomes, facts, exposures).items():
        sheet = Sheet(SUITE, dataset, experiment, group[0].outcome.model, setting)
        rows += accuracy_rows(sheet, group)
        together[experiment] += group
    for experiment, group in together.items():
        sheet = Sheet(SUITE, dataset, experiment, group[0].outcome.model, MEAN)
        rows += accuracy_rows(sheet, group) + deviation_rows(sheet, group, "accuracy_deviation")
        rows.append(chance_row(sheet, group, choices))
        if exposures is not None:
            rows += recovery_rows(sheet, group, taught)
    return rows
