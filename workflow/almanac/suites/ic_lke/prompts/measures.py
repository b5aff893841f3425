"""The numbers of the prompt baselines: accuracy by prompt, mean and deviation over the prompts of a relation.

Every metric leaves out items without an answer (too long, unsupported, failed; ``n_error`` says how many) and refusals
(``n_missing``); nothing is invalid, since a choice is always made.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from almanac.rows import Exposure, Fact, Item, Measure, Outcome
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
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
        rows += _accuracy(sheet, group)
        together[experiment] += group
    for experiment, group in together.items():
        sheet = Sheet(SUITE, dataset, experiment, group[0].outcome.model, MEAN)
        rows += _accuracy(sheet, group) + _deviation(sheet, group)
        answered = any(one.answered for one in group)
        rows.append(sheet.row("chance", Estimate(1 / choices, None, None) if answered else NOTHING, group))
        if exposures is not None:
            rows += recovery_rows(sheet, group, taught)
    return rows


def _accuracy(sheet: Sheet, group: Sequence[Judged]) -> list[Measure]:
    relations = _by_relation(group)
    means = {relation: _by_fact(own) for relation, own in relations.items()}
    values = [[hit for hit, _ in own] for own in means.values()]
    subjects = [[subject for _, subject in own] for own in means.values()]
    rows = [sheet.row("accuracy", macro_share(values, subjects), group)]
    for (relation, own), hits, clusters in zip(relations.items(), values, subjects, strict=True):
        rows.append(sheet.row("accuracy", macro_share([hits], [clusters]), own, relation))
    return rows


def _by_fact(group: Sequence[Judged]) -> list[tuple[float, str]]:
    """Return of each answered fact the share of its prompts that hit, and its subject."""
    hits: dict[str, list[float]] = defaultdict(list)
    subject = {one.item.fact_id: one.subject for one in group}
    for one in group:
        if one.answered:
            hits[one.item.fact_id].append(one.hit)
    return [(float(np.mean(own)), subject[fact_id]) for fact_id, own in hits.items()]


def _deviation(sheet: Sheet, group: Sequence[Judged]) -> list[Measure]:
    relations = _by_relation(group)
    found = {relation: _spread(own) for relation, own in relations.items()}
    known = [value for value in found.values() if value is not None]
    overall = Estimate(float(np.mean(known)), None, None) if known else NOTHING
    rows = [sheet.row("accuracy_deviation", overall, group)]
    for relation, value in found.items():
        estimate = NOTHING if value is None else Estimate(value, None, None)
        rows.append(sheet.row("accuracy_deviation", estimate, relations[relation], relation))
    return rows


def _spread(group: Sequence[Judged]) -> float | None:
    """Return the standard deviation of the prompts' accuracies in a relation; none of fewer than two prompts."""
    hits: dict[str, list[float]] = defaultdict(list)
    for one in group:
        if one.answered:
            hits[one.item.setting].append(one.hit)
    means = [float(np.mean(own)) for own in hits.values()]
    return float(np.std(means, ddof=1)) if len(means) > 1 else None


def _by_relation(group: Sequence[Judged]) -> dict[str, list[Judged]]:
    out: dict[str, list[Judged]] = defaultdict(list)
    for one in group:
        out[one.item.relation_id].append(one)
    return dict(sorted(out.items()))
