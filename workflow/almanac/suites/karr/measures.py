"""KaRR's numbers, its baselines' and what they recover of planted knowledge; thresholds, their choice and their curve.

Items without a value (no answer, an empty denominator) are left out of every share; ``without_value`` is their share,
and ``n_error`` of its row (for LAMA ``n_invalid`` too) says how many they were. SP leaves out facts that lack a value
with one of two objects.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from almanac.rows import Exposure, Fact, Item, KarrValue, Measure, Outcome
from almanac.statistics.agreement import agreement, best_cut
from almanac.statistics.intervals import NOTHING, Estimate, macro_share, wilson
from almanac.statistics.ranks import auc
from almanac.suites.judging import Judged, Sheet, gather, recovery_rows, share, times_taught
from almanac.suites.karr.analyses import Runs, label_rows, run_rows, spurious_rows, without_value
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import FACTS, NULL, PARAREL, SPURIOUS, SUITE
from almanac.tables import seed_of

CURVE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 22.0, 50.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Beside:
    """What some settings ask for on top: the runs, and what people say that a model knows."""

    runs: Sequence[Runs] = ()
    labels: Mapping[str, float] = field(default_factory=dict)
    labels_known: float = 0.5


NOT_ANALYSED = Beside()


@dataclass(frozen=True)
class Scored:
    """A KaRR with what the choice of a threshold needs: its fact's dose and half, and whether it is of the null."""

    log: float
    dose: int | None
    chosen_on: bool
    null: bool


def scored(items: Sequence[Item], values: Sequence[KarrValue], mode: str, doses: Mapping[str, int]) -> list[Scored]:
    """Return the values of one mode; a fact is in one half with its null, by its identity."""
    item_of = {item.item_id: item for item in items}
    out = []
    for value in values:
        item = item_of[value.item_id]
        if item.experiment == mode and value.karr is not None and item.setting != SPURIOUS:
            half = seed_of("karr", "half", item.fact_id) % 2 == 0
            out.append(Scored(value.karr, doses.get(item.fact_id), half, item.setting == NULL))
    return out


def threshold_of(mode: str, found: Sequence[Scored], options: KarrOptions) -> float:
    """Return the threshold of a mode: the code's own, or the best cut on one half of the planted facts, or as set.

    The cut parts the facts of the highest dose from those of dose 0 and from the null.
    """
    own = VARIANTS[mode].threshold
    if own is not None:
        return own
    cut = best_cut(*_ends([one for one in found if one.chosen_on]))
    return options.threshold if cut is None else math.exp(cut)


def _ends(found: Sequence[Scored]) -> tuple[list[float], list[float]]:
    """Return the scores of what was taught most often, and of what was never taught or is not true."""
    top = max((one.dose or 0 for one in found), default=0)
    taught = [one.log for one in found if not one.null and one.dose is not None and one.dose == top and top > 0]
    never = [one.log for one in found if one.dose is not None and (one.null or one.dose == 0)]
    return taught, never


def thresholds(
    items: Sequence[Item],
    values: Sequence[KarrValue],
    options: KarrOptions,
    exposures: Sequence[Exposure] | None,
) -> dict[str, float]:
    """Return the threshold of every mode, as a KaRR."""
    doses = {row.fact_id: row.dose for row in exposures or ()}
    return {mode: threshold_of(mode, scored(items, values, mode, doses), options) for mode in VARIANTS}


def measure(
    dataset: str,
    items: Sequence[Item],
    outcomes: Sequence[Outcome],
    values: Sequence[KarrValue],
    facts: Sequence[Fact],
    limits: Mapping[str, float],
    exposures: Sequence[Exposure] | None = None,
    beside: Beside = NOT_ANALYSED,
) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        dataset: the dataset's name.
        items: what was asked.
        outcomes: one an item, of one model.
        values: one an item of KaRR.
        facts: the dataset's facts.
        limits: `thresholds`.
        exposures: the planned doses where the model was taught these facts.
        beside: the runs and the labels, where there are any.

    Returns:
        Rows by experiment (the modes and the baselines) and setting (facts, null, spurious; templates and names for
        runs that replace these).
    """
    rows: list[Measure] = []
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    value_of = {row.item_id: row for row in values}
    doses = {row.fact_id: row.dose for row in exposures or ()}
    known: dict[tuple[str, str], float] = {}
    groups = gather(items, outcomes, facts, exposures)
    for (experiment, setting), group in groups.items():
        sheet = Sheet(SUITE, dataset, experiment, group[0].outcome.model, setting)
        if setting == SPURIOUS:
            rows += spurious_rows(sheet, group, groups.get((experiment, FACTS), ()))
            continue
        rows += _known_rows(sheet, group)
        answered = [one for one in group if one.answered]
        if answered:
            known[experiment, setting] = sum(one.hit for one in answered) / len(answered)
        if experiment in VARIANTS:
            rows += _value_rows(sheet, group, value_of, limits[experiment])
        if experiment == PARAREL:
            rows.append(sheet.row("consistency", _mean([one.outcome.confidence for one in answered]), group))
        if exposures is not None and setting == FACTS:
            rows += recovery_rows(sheet, group, taught)
            rows += _agreement_rows(sheet, group)
            if experiment in VARIANTS:
                rows += _ratio_rows(sheet, group, value_of)
        if exposures is not None and experiment in VARIANTS and setting == FACTS:
            halves = scored(items, values, experiment, doses)
            rows += _held_out_rows(sheet, group, halves, limits[experiment])
        if setting == NULL:
            rows += _null_rows(sheet, group, known)
        if setting == FACTS:
            rows += run_rows(sheet, group, beside.runs)
            rows += label_rows(sheet, group, beside.labels, beside.labels_known)
    return rows


def chances(items: Sequence[Item], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return, for each experiment, the share called known where nothing can be: the null's, and 0 without one."""
    verdict = {row.item_id: row for row in outcomes}
    found: dict[str, list[float]] = defaultdict(list)
    for item in items:
        own = verdict[item.item_id]
        if item.setting == NULL and own.score is not None:
            found[item.experiment].append(float(own.outcome == "correct"))
    return {name: sum(found[name]) / len(found[name]) if found[name] else 0.0 for name in {i.experiment for i in items}}


def _known_rows(sheet: Sheet, group: Sequence[Judged]) -> list[Measure]:
    """Return the share of facts known, all together as the paper counts and as mean over relations, and by relation."""
    by_relation: dict[str, list[Judged]] = defaultdict(list)
    for one in group:
        by_relation[one.item.relation_id].append(one)
    strata = [[one for one in own if one.answered] for own in by_relation.values()]
    values = [[one.hit for one in own] for own in strata]
    rows = [
        sheet.row("known", share([one for own in strata for one in own]), group),
        sheet.row("known_macro", macro_share(values, [[one.subject for one in own] for own in strata]), group),
        without_value(sheet, group),
    ]
    for (relation, own), kept in zip(by_relation.items(), strata, strict=True):
        rows.append(sheet.row("known", share(kept), own, relation))
        if sheet.experiment in VARIANTS and sheet.setting == FACTS:
            rows += _curve(sheet, own, relation)
    return rows


def _curve(sheet: Sheet, group: Sequence[Judged], relation: str | None = None) -> list[Measure]:
    """Return the share known by threshold."""
    answered = [one for one in group if one.answered]
    rows = []
    for level in CURVE:
        above = sum(one.score > math.log(level) for one in answered)
        estimate = wilson(above / len(answered), len(answered)) if answered else NOTHING
        rows.append(sheet.row("known_at", estimate, group, relation, level=level))
    return rows


def _value_rows(
    sheet: Sheet, group: Sequence[Judged], value_of: Mapping[str, KarrValue], threshold: float
) -> list[Measure]:
    """Return the threshold, the medians of the logarithms, and the share known by threshold."""
    rows = [sheet.row("threshold", Estimate(threshold, None, None), group)]
    for name in ("karr", "karr_s", "karr_r"):
        found = [value for one in group if (value := getattr(value_of[one.item.item_id], name)) is not None]
        middle = Estimate(float(np.median(found)), None, None) if found else NOTHING
        rows.append(sheet.row(f"median_log_{name}", middle, group))
    return rows + _curve(sheet, group)


def _ratio_rows(sheet: Sheet, group: Sequence[Judged], value_of: Mapping[str, KarrValue]) -> list[Measure]:
    """Return how well each ratio alone parts what was taught most from what was never taught."""
    top = max((one.dose for one in group if one.dose is not None), default=0)
    rows = []
    for name in ("karr_s", "karr_r", "numerator"):
        by_dose: dict[int, list[float]] = {0: [], top: []}
        for one in group:
            value = getattr(value_of[one.item.item_id], name)
            if value is not None and one.dose in by_dose:
                by_dose[one.dose].append(value)
        rows.append(sheet.row(f"recovery_auc_{name}", auc(by_dose[top], by_dose[0]) if top else NOTHING, group))
    return rows


def _held_out_rows(sheet: Sheet, group: Sequence[Judged], found: Sequence[Scored], threshold: float) -> list[Measure]:
    """Return what is called known in the half on which no threshold was chosen: taught most, never, and not true."""
    other = [one for one in found if not one.chosen_on and one.dose is not None]
    top = max((one.dose or 0 for one in other), default=0)
    if not top:
        return []  # A null: nothing of this was taught, and no threshold was chosen by it.
    parts = {
        "held_out_taught": [one for one in other if not one.null and one.dose == top],
        "held_out_never": [one for one in other if not one.null and one.dose == 0],
        "held_out_null": [one for one in other if one.null],
    }
    rows = []
    for name, own in parts.items():
        above = sum(one.log > math.log(threshold) for one in own)
        estimate = wilson(above / len(own), len(own)) if own else NOTHING
        rows.append(sheet.row(name, estimate, group, level=threshold))
    return rows


def _agreement_rows(sheet: Sheet, group: Sequence[Judged]) -> list[Measure]:
    """Return recall, Kendall's tau and p against what was taught; a fact of the highest dose is held known."""
    own = [one for one in group if one.answered and one.dose is not None]
    doses = [float(one.dose or 0) for one in own]
    if not own or max(doses) == 0:
        return []
    found = agreement([one.score for one in own], [one.hit > 0 for one in own], doses, max(doses))
    return [
        sheet.row("recall", found.recall, [one for one in own if one.dose == max(doses)]),
        sheet.row("kendall", Estimate(found.tau, None, None), own),
        sheet.row("kendall_p", Estimate(found.p, None, None), own),
    ]


def _null_rows(sheet: Sheet, group: Sequence[Judged], known: Mapping[tuple[str, str], float]) -> list[Measure]:
    """Return the share of facts with any false object that are called known, less that of the true ones."""
    false, true = known.get((sheet.experiment, NULL)), known.get((sheet.experiment, FACTS))
    delta = None if false is None or true is None else false - true
    return [sheet.row("spurious_delta", Estimate(delta, None, None), group)]


def _mean(values: Sequence[float | None]) -> Estimate:
    found = [value for value in values if value is not None]
    return macro_share([found]) if found else NOTHING
