"""Do the methods recover planted knowledge? Their numbers on every model over all its worlds, tested against bars."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Validation
from almanac.statistics.intervals import LEVEL, NOTHING
from almanac.suites.agreement import Called
from almanac.suites.judged import Judged
from almanac.suites.options import Bars
from almanac.suites.recovery import estimates
from almanac.suites.suite import Method

NEVER_MISSED = "the interval at dose 0 does not contain chance"


class PooledBy(NamedTuple):
    """What is pooled over worlds: one method, on the items that it counts, of one model."""

    suite: str
    method: str
    where: str
    model: str


@dataclass(frozen=True)
class Run:
    """One method on one planted model, asked of its own world.

    Attributes:
        pooled: what it is pooled by; the model is named as in every world.
        decoder: whether the model is a decoder that read what the bars are set for.
        method: the method.
        facts: what it calls the facts that have a dose (`recovery.facts_of`).
        chance: how often it is right where nothing is known.
    """

    pooled: PooledBy
    decoder: bool
    method: Method
    facts: pl.DataFrame
    chance: float


def runs(found: Iterable[Called], judged: Judged, recipe: str, decoder: bool, choices: int) -> Iterator[Run]:
    """Yield what the methods of a suite recover of what one model was taught.

    Args:
        found: what each method calls the facts.
        judged: the model's items.
        recipe: the model's name in every world.
        decoder: whether it is a decoder that read what the bars are set for.
        choices: how many choices a fact of the dataset has.
    """
    for one in found:
        facts = one.facts.drop_nulls("dose")
        if one.method.validated and facts.height:
            asked_so = judged.where({name: one.conditions[name] for name in one.method.by})
            chance = _chance(one.method, asked_so, choices)
            yield Run(PooledBy(*one.key, recipe), decoder, one.method, facts, chance)


def _chance(method: Method, judged: Judged, choices: int) -> float:
    """Return how often a method is right where nothing is known."""
    if method.guess is None:
        return 1 / choices
    if isinstance(method.guess, float | int):
        return float(method.guess)
    hits = judged.where(method.guess).frame["hit"].drop_nulls().to_list()
    return sum(hits) / len(hits) if hits else 0.0


def validate(found: Sequence[Run], bars: Bars) -> list[Validation]:
    """Pool the runs of each model over its worlds, measure the recovery and hold it against the bars.

    Of several draws of the examples a fact's results are averaged first, so a fact counts once. Bars are set for the
    methods that are held against them (`Method.held`), of decoders; what others answer, or by other methods, is shown.
    That chance must lie in every judged interval at dose 0 is one statement about all of them, so these intervals are
    simultaneous (Bonferroni): with 95 % each, an honest method would miss the bar with every fifth set of four models.

    Raises:
        AlmanacError: the model that the bars refer to was not asked.
    """
    own: dict[PooledBy, list[Run]] = defaultdict(list)
    for run in found:
        own[run.pooled].append(run)
    judged = {key for key, listed in own.items() if listed[0].method.held and listed[0].decoder}
    if judged and bars.reference not in {key.model for key in judged}:
        raise AlmanacError(
            f"validation.reference is {bars.reference!r}, which is no planted decoder that was asked; "
            f"name one of {', '.join(sorted({key.model for key in judged}))}"
        )
    level = 1 - (1 - LEVEL) / max(1, len(judged))
    return [_row(key, listed, bars, level if key in judged else None) for key, listed in sorted(own.items())]


def _row(key: PooledBy, own: Sequence[Run], bars: Bars, level: float | None) -> Validation:
    """Return one row; ``level`` is the coverage of its interval at dose 0 where it is judged."""
    facts = pl.concat(run.facts for run in own)
    chance = sum(run.chance for run in own) / len(own)
    found = estimates(facts, level or LEVEL)
    judged = level is not None
    area, prior, spread, never = (
        found.get(name, NOTHING) for name in ("recovery_auc", "prior_auc", "recovery_spearman", "never_accuracy")
    )
    failed = []
    if judged:
        if key.model == bars.reference and not (area.value or 0.0) >= bars.auc:
            failed.append(f"AUC is below {bars.auc:g}")
        if not (spread.low if spread.low is not None else -1.0) > bars.spearman_low:
            failed.append(f"Spearman's lower limit is not above {bars.spearman_low:g}")
        if never.low is None or never.high is None or not never.low <= chance <= never.high:
            failed.append(NEVER_MISSED)
        if prior.value is None or abs(prior.value - 0.5) > bars.prior:
            failed.append(f"the prior's AUC is not .50 ± {bars.prior:g}")
    return Validation(
        **key._asdict(),
        worlds=len(own),
        n=facts.height,
        **area.named("auc"),
        **spread.named("spearman"),
        **never.named("never"),
        chance=chance,
        prior_auc=prior.value,
        judged=judged,
        failed=tuple(failed),
    )
