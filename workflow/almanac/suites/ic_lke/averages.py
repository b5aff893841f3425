"""Accuracies where a fact is asked several times (by several draws, prompts or infixes): a fact counts once."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from almanac.rows import Measure
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
from almanac.suites.judging import Judged, Sheet


def accuracy(group: Sequence[Judged]) -> Estimate:
    """Return the accuracy as mean over relations, a fact's several answers averaged first, with its interval."""
    relations = by_relation(group)
    found = [_by_fact(own) for own in relations.values()]
    return macro_share([[hit for hit, _ in own] for own in found], [[subject for _, subject in own] for own in found])


def accuracy_rows(
    sheet: Sheet, group: Sequence[Judged], metric: str = "accuracy", level: float | None = None
) -> list[Measure]:
    """Return the accuracy over all relations, and in each."""
    rows = [sheet.row(metric, accuracy(group), group, level=level)]
    for relation, own in by_relation(group).items():
        rows.append(sheet.row(metric, accuracy(own), own, relation, level=level))
    return rows


def deviation(group: Sequence[Judged], of: Callable[[Judged], str]) -> float | None:
    """Return the standard deviation (of a sample, n - 1) of the accuracies of several askings; none of fewer than two.

    Args:
        group: items of all askings.
        of: which asking an item belongs to.
    """
    askings: dict[str, list[Judged]] = defaultdict(list)
    for one in group:
        askings[of(one)].append(one)
    found = [value for own in askings.values() if (value := accuracy(own).value) is not None]
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def deviation_rows(sheet: Sheet, group: Sequence[Judged], metric: str) -> list[Measure]:
    """Return the `deviation` of the settings of each relation, and its mean over the relations that have one."""
    relations = by_relation(group)
    found = {relation: deviation(own, lambda one: one.item.setting) for relation, own in relations.items()}
    known = [value for value in found.values() if value is not None]
    overall = Estimate(float(np.mean(known)), None, None) if known else NOTHING
    rows = [sheet.row(metric, overall, group)]
    for relation, value in found.items():
        estimate = NOTHING if value is None else Estimate(value, None, None)
        rows.append(sheet.row(metric, estimate, relations[relation], relation))
    return rows


def by_relation(group: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Return the items of each relation, relations sorted."""
    out: dict[str, list[Judged]] = defaultdict(list)
    for one in group:
        out[one.item.relation_id].append(one)
    return dict(sorted(out.items()))


def chance_row(sheet: Sheet, group: Sequence[Judged], choices: int) -> Measure:
    """Return chance, one in so many choices; nothing where nothing was answered."""
    answered = any(one.answered for one in group)
    return sheet.row("chance", Estimate(1 / choices, None, None) if answered else NOTHING, group)


def _by_fact(group: Sequence[Judged]) -> list[tuple[float, str]]:
    """Return of each answered fact the share of its answers that hit, and its subject."""
    hits: dict[str, list[float]] = defaultdict(list)
    subject = {one.item.fact_id: one.subject for one in group}
    for one in group:
        if one.answered:
            hits[one.item.fact_id].append(one.hit)
    return [(float(np.mean(own)), subject[fact_id]) for fact_id, own in hits.items()]
