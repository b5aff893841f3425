"""Do the methods recover planted knowledge? Metrics of each method and model, over all worlds, tested against bars."""

from collections import defaultdict
from collections.abc import Sequence

from almanac.errors import AlmanacError
from almanac.rows import Validation
from almanac.statistics.intervals import LEVEL, NOTHING
from almanac.suites.options import Bars
from almanac.suites.recovery import estimates
from almanac.suites.standings import ALL, FORMAT, CalledFacts

NOT_COMPARED = "there are no facts at dose 0 beside others"
NEVER_MISSED = "the interval at dose 0 does not contain chance"

OfModel = tuple[str, str, str, str]  # a method (`CalledFacts.key`) and a model


def validate(found: Sequence[CalledFacts], bars: Bars) -> list[Validation]:
    """Return how well each method recovers a model's facts in all its worlds, and whether that meets the bars.

    Results of a fact over several draws of examples are averaged first, so each fact counts once. Bars are set for
    methods with `Method.held`, on decoders that read documents of all kinds; other models and methods are only shown.
    Chance must lie in *every* judged interval at dose 0, so these intervals are simultaneous (Bonferroni): at 95 % for
    each, an honest method would miss the bar with every fifth set of four models.

    Raises:
        AlmanacError: the model that the bars refer to was not asked.
    """
    own: dict[OfModel, list[CalledFacts]] = defaultdict(list)
    for one in found:
        if one.axis in (ALL, FORMAT) and one.found.facts["dose"].count():
            own[*one.key, one.model].append(one)
    judged = {key for key, (one, *_) in own.items() if one.found.method.held and one.decoder and one.axis == ALL}
    models = {model for *_, model in judged}
    if judged and bars.reference not in models:
        raise AlmanacError(
            f"validation.reference is {bars.reference!r}, which is no planted decoder that was asked; "
            f"name one of {', '.join(sorted(models))}"
        )
    level = 1 - (1 - LEVEL) / max(1, len(judged))
    return [_row(key, listed, bars, level if key in judged else None) for key, listed in sorted(own.items())]


def _row(key: OfModel, own: Sequence[CalledFacts], bars: Bars, level: float | None) -> Validation:
    """Return one row; ``level`` is the coverage of its interval at dose 0, None if no bars are set for it."""
    facts = [one.found.facts.drop_nulls("dose") for one in own]
    chance = sum(one.chance for one in own) / len(own)
    suite, method, where, model = key
    found = estimates(*facts, never_level=level or LEVEL)
    judged = level is not None
    area, prior, spread, never = (
        found.get(name, NOTHING) for name in ("recovery_auc", "prior_auc", "recovery_spearman", "never_accuracy")
    )
    failed = []
    if judged and "recovery_auc" not in found:
        failed.append(NOT_COMPARED)
    elif judged:
        if model == bars.reference and not (area.value or 0.0) >= bars.auc:
            failed.append(f"AUC is below {bars.auc:g}")
        if not (spread.low if spread.low is not None else -1.0) > bars.spearman_low:
            failed.append(f"Spearman's lower limit is not above {bars.spearman_low:g}")
        if never.low is None or never.high is None or not never.low <= chance <= never.high:
            failed.append(NEVER_MISSED)
        if prior.value is None or abs(prior.value - 0.5) > bars.prior:
            failed.append(f"the prior's AUC is not .50 ± {bars.prior:g}")
    return Validation(
        suite=suite,
        method=method,
        where=where,
        model=model,
        worlds=len(own),
        n=sum(map(len, facts)),
        **area.named("auc"),
        **spread.named("spearman"),
        **never.named("never"),
        chance=chance,
        prior_auc=prior.value,
        judged=judged,
        failed=tuple(failed),
    )
