"""Do the methods recover planted knowledge: their numbers on every model over all its worlds, held against bars."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from almanac.errors import AlmanacError
from almanac.rows import Exposure, Fact, Item, Outcome, Validation
from almanac.statistics.intervals import LEVEL, NOTHING
from almanac.statistics.recovery import Sample, estimates
from almanac.suites.ic_lke.options import Bars
from almanac.suites.ic_lke.requests import DRAW, IN_CONTEXT, SUITE
from almanac.suites.judging import Judged, gather, sample, times_taught


@dataclass(frozen=True)
class Run:
    """One planted model asked of its own world by one suite.

    ``chances`` are the rates of experiments at which nothing is known, where that is not one in ``choices``.
    """

    model: str
    decoder: bool
    choices: int
    items: list[Item]
    outcomes: list[Outcome]
    facts: list[Fact]
    exposures: list[Exposure]
    suite: str = SUITE
    chances: Mapping[str, float] = field(default_factory=dict)


def validate(runs: Sequence[Run], bars: Bars) -> list[Validation]:
    """Pool the runs of each model over its worlds, measure the recovery and hold it against the bars.

    Of several draws of the examples a fact's results are averaged first, so a fact counts once. Bars are set for
    decoders' answers in context; what others answer, or in other experiments, is shown. That chance must lie in every
    judged interval at dose 0 is one statement about all of them, so these intervals are simultaneous (Bonferroni):
    with 95 % each, an honest method would miss the bar with every fifth set of four models.
    """
    samples: dict[tuple[str, str, str, str], list[tuple[Sample, float]]] = defaultdict(list)
    for run in runs:
        taught = times_taught(run.exposures, {fact.fact_id: fact for fact in run.facts})
        by_setting: dict[tuple[str, str], list[Judged]] = defaultdict(list)
        for (experiment, setting), group in gather(run.items, run.outcomes, run.facts, run.exposures).items():
            by_setting[experiment, setting.partition(DRAW)[0]] += group
        for (experiment, setting), group in by_setting.items():
            found = sample(group, taught)
            if found.doses:
                chance = run.chances.get(experiment, 1 / run.choices)
                samples[run.suite, experiment, setting, run.model].append((found, chance))
    decoders = {run.model for run in runs if run.decoder}
    judged = {key for key in samples if key[:2] == (SUITE, IN_CONTEXT) and key[3] in decoders}
    if judged and bars.reference not in {key[3] for key in judged}:
        raise AlmanacError(
            f"validation.reference is {bars.reference!r}, which is no planted decoder that was asked; "
            f"name one of {', '.join(sorted({key[3] for key in judged}))}"
        )
    level = 1 - (1 - LEVEL) / max(1, len(judged))
    return [_row(*key, own, bars, level if key in judged else None) for key, own in sorted(samples.items())]


def _row(
    suite: str,
    experiment: str,
    setting: str,
    model: str,
    own: list[tuple[Sample, float]],
    bars: Bars,
    level: float | None,
) -> Validation:
    """Return one row; ``level`` is the coverage of its interval at dose 0 where it is judged."""
    pooled = sum((part for part, _ in own), Sample())
    chance = sum(share for _, share in own) / len(own)
    found = estimates(pooled, level or LEVEL)
    judged = level is not None
    area, prior, spread, never = (
        found.get(name, NOTHING) for name in ("recovery_auc", "prior_auc", "recovery_spearman", "never_accuracy")
    )
    failed = []
    if judged:
        if model == bars.reference and not (area.value or 0.0) >= bars.auc:
            failed.append(f"AUC is below {bars.auc:g}")
        if not (spread.low if spread.low is not None else -1.0) > bars.spearman_low:
            failed.append(f"Spearman's lower limit is not above {bars.spearman_low:g}")
        if never.low is None or never.high is None or not never.low <= chance <= never.high:
            failed.append("the interval at dose 0 does not contain chance")
        if prior.value is None or abs(prior.value - 0.5) > bars.prior:
            failed.append(f"the prior's AUC is not .50 ± {bars.prior:g}")
    return Validation(
        suite,
        experiment,
        setting,
        model,
        len(own),
        len(pooled.doses),
        *area,
        *spread,
        *never,
        chance,
        prior.value,
        judged,
        tuple(failed),
    )
