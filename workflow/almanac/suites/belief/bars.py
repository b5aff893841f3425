"""BELIEF's validation bars for planted models: facts taught more often are answered better and more consistently."""

from collections.abc import Mapping, Sequence
from typing import Any

from almanac.rows import Measure
from almanac.statistics.intervals import NOTHING, Estimate, combined
from almanac.suites.belief.asking import CANDIDATES, ICL, BeliefSetting
from almanac.suites.belief.measures import BY
from almanac.suites.chapter import Shown
from almanac.suites.suite import BarResult

AUC = 0.8  # the interval of the AUC must lie above
PRIOR = 0.02  # largest distance from one half of the prior's AUC, which uses the objects' frequencies alone
JUDGED = (CANDIDATES, ICL)


def verdicts(measures: Sequence[Measure]) -> list[BarResult]:
    """Check each way of asking that a model answered against the bars.

    Three must hold. The interval of the AUC, of facts taught most often against facts never taught, lies above `AUC`.
    The prior's AUC is within `PRIOR` of one half. Accuracy and consistency are higher for the facts taught most than
    for those never taught: the interval of the difference (`combined`) lies above 0. A model that knows nothing has an
    AUC of about one half, however consistent its answers.

    Args:
        measures: one model's metrics.
    """
    shown = Shown("", 0, (), measures=measures)
    answered = sorted(shown.valued("accuracy", *BY), key=lambda row: row.where)
    ways = [where for where in map(shown.at, answered) if where["experiment"] in JUDGED]
    return [_verdict(shown, where) for where in ways] or [BarResult("no answers", False)]


def _verdict(shown: Shown, way: Mapping[str, Any]) -> BarResult:
    """Check one way of asking, and name the bars that it misses."""
    label = BeliefSetting(way["prompting"], way["style"]).label()
    area, prior = (
        next(map(_estimate, shown.find(name, "hit", "dose", **way)), NOTHING) for name in ("recovery_auc", "prior_auc")
    )
    lines = [f"{name} {found}" for name, found in (("AUC", area), ("prior", prior))]
    missed = [] if (area.low or 0.0) > AUC else [f"the AUC's interval is not above {AUC:g}"]
    if abs((prior.value or 0.0) - 0.5) > PRIOR:
        missed.append(f"the prior's AUC is not .50 ± {PRIOR:g}")
    by_dose = {
        "accuracy": shown.find("accuracy_by_exposure", "hit", "dose", **way),
        "consistency": shown.find("consistency", "dose", **way),
    }
    for name, rows in by_dose.items():
        found = {shown.at(row)["dose"]: _estimate(row) for row in rows}
        never, most = found.get(0, NOTHING), found.get(max(found, default=0), NOTHING)
        lines.append(f"{name} never taught {never}, most {most}")
        if (combined([(1, most), (-1, never)]).low or 0.0) <= 0:
            missed.append(f"{name} does not rise with what was taught")
    return BarResult("; ".join([f"{label}: {lines[0]}", *lines[1:], *missed]), not missed)


def _estimate(row: Measure) -> Estimate:
    return Estimate(row.value, row.low, row.high)
