"""Accuracy by the number of examples, and how many are enough.

Every metric leaves out items without an answer (too long, unsupported, failed: ``n_error``; refused: ``n_missing``).
"""

from collections import defaultdict
from collections.abc import Sequence

from almanac.rows import Measure
from almanac.statistics.intervals import NOTHING, Estimate
from almanac.suites.ic_lke.averages import accuracy, accuracy_rows, chance_row, deviation
from almanac.suites.ic_lke.measures import judge, most_choices
from almanac.suites.ic_lke.requests import DRAW
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.ic_lke.sweep.requests import SHOTS, SUITE, SWEEP
from almanac.suites.judging import Judged, Sheet, gather
from almanac.suites.method import Answered, Measured


def measure(answered: Answered, options: SweepOptions) -> Measured:
    """Judge and measure one model on one dataset.

    Returns:
        By number of examples (``level``): ``accuracy_at_shots`` over all relations, in each, and with exposures by
        dose, a fact's draws averaged first; ``deviation_at_shots``, the standard deviation of the draws' accuracies;
        and ``enough_shots``, the least number that reaches ``options.enough`` of the accuracy at the most.
    """
    outcomes = judge(answered.model, answered.items, answered.links, answered.requests, answered.responses)
    groups: dict[int, list[Judged]] = defaultdict(list)
    for (_, setting), group in gather(answered.items, outcomes, answered.data.facts, answered.exposures).items():
        groups[int(setting.partition(DRAW)[0].removeprefix(SHOTS))] += group
    sheet = Sheet(SUITE, answered.dataset, SWEEP, answered.model, f"draws={options.draws}")
    rows: list[Measure] = []
    reached: dict[int, float] = {}
    for shots, group in sorted(groups.items()):
        rows += _rows_at(sheet, group, shots)
        if (value := whole_accuracy(group)) is not None:
            reached[shots] = value
    if groups:
        least = enough(reached, options.enough) if len(reached) == len(groups) else None
        every = groups[max(groups)]
        found = NOTHING if least is None else Estimate(float(least), None, None)
        rows += [sheet.row("enough_shots", found, every), chance_row(sheet, every, most_choices(answered.requests))]
    return Measured(outcomes, rows)


def whole_accuracy(group: Sequence[Judged]) -> float | None:
    """Return the accuracy of a group where each of its items has an answer: a longer text may be too long for some."""
    return accuracy(group).value if all(one.answered for one in group) else None


def _rows_at(sheet: Sheet, group: Sequence[Judged], shots: int) -> list[Measure]:
    level = float(shots)
    spread = deviation(group, lambda one: one.item.setting)
    rows = accuracy_rows(sheet, group, "accuracy_at_shots", level)
    found = NOTHING if spread is None else Estimate(spread, None, None)
    rows.append(sheet.row("deviation_at_shots", found, group, level=level))
    doses: dict[int, list[Judged]] = defaultdict(list)
    for one in group:
        if one.dose is not None:
            doses[one.dose].append(one)
    for dose, own in sorted(doses.items()):
        rows.append(sheet.row("accuracy_at_shots", accuracy(own), own, exposure=dose, level=level))
    return rows


def enough(accuracies: dict[int, float], share: float) -> int | None:
    """Return the least number of examples whose accuracy reaches a share of the accuracy at the most examples."""
    if not accuracies:
        return None
    wanted = share * accuracies[max(accuracies)]
    return min(shots for shots, value in accuracies.items() if value >= wanted)
