"""Accuracy by separator, and its difference from the space's on the same facts.

Every metric leaves out items without an answer (too long, unsupported, failed: ``n_error``; refused: ``n_missing``);
differences are over facts answered with both.
"""

from collections.abc import Iterable, Sequence

from almanac.rows import Measure
from almanac.statistics.intervals import Estimate
from almanac.statistics.paired import macro_difference
from almanac.suites.ic_lke.averages import accuracy_rows, by_relation, chance_row, deviation_rows
from almanac.suites.ic_lke.measures import judge, most_choices
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.ic_lke.separators.requests import CODE, SEPARATOR, SPACE, SUITE
from almanac.suites.judging import Judged, Sheet, gather
from almanac.suites.method import Answered, Measured
from almanac.tables import seed_of

INFIXES = "infixes"  # the setting of what is said of all infixes together
DRAWS = 1000  # of the bootstrap of a paired difference


def measure(answered: Answered, options: SeparatorOptions) -> Measured:
    """Judge and measure one model on one dataset.

    Returns:
        By setting (a separator; ``infixes`` are all infixes of a relation, a fact's answers averaged) ``accuracy`` and
        ``difference``, the accuracy less the space's on the same facts, over all relations and in each; of the infixes
        also ``deviation``, the standard deviation of their accuracies, a mean over relations.
    """
    outcomes = judge(answered.model, answered.items, answered.links, answered.requests, answered.responses)
    gathered = gather(answered.items, outcomes, answered.data.facts, answered.exposures)
    groups = {setting: group for (_, setting), group in gathered.items()}
    if found := infixes(groups):
        groups[INFIXES] = [one for setting in found for one in groups[setting]]
    rows: list[Measure] = []
    for setting, group in groups.items():
        sheet = Sheet(SUITE, answered.dataset, SEPARATOR, answered.model, setting)
        rows += accuracy_rows(sheet, group)
        if setting == SPACE:
            rows.append(chance_row(sheet, group, most_choices(answered.requests)))
        else:
            rows += difference_rows(sheet, group, groups[SPACE])
        if setting == INFIXES:
            rows += deviation_rows(sheet, group, "deviation")
    return Measured(outcomes, rows)


def infixes(settings: Iterable[str]) -> tuple[str, ...]:
    """Return the settings whose separator is an infix."""
    return tuple(setting for setting in settings if setting not in (SPACE, CODE))


def difference_rows(sheet: Sheet, group: Sequence[Judged], space: Sequence[Judged]) -> list[Measure]:
    """Return the accuracy less that of the space on the same facts, over all relations and in each."""
    rows = [sheet.row("difference", _difference(sheet, group, space), group)]
    for relation, own in by_relation(group).items():
        rows.append(sheet.row("difference", _difference(sheet, own, space), own, relation))
    return rows


def _difference(sheet: Sheet, group: Sequence[Judged], space: Sequence[Judged]) -> Estimate:
    reference = {one.item.fact_id: one.hit for one in space if one.answered}
    kept = [one for one in group if one.answered and one.item.fact_id in reference]
    return macro_difference(
        [one.hit - reference[one.item.fact_id] for one in kept],
        [one.item.relation_id for one in kept],
        [one.subject for one in kept],
        DRAWS,
        seed_of(sheet.suite, sheet.dataset, sheet.model, sheet.setting),
    )
