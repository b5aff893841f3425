"""BELIEF's bars for planted models: facts taught more often are answered better and more consistently."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from almanac.rows import Measure
from almanac.suites.belief.asking import CANDIDATES, ICL, BeliefSetting
from almanac.suites.judged import conditions_of
from almanac.suites.suite import BarResult

BY = ("experiment", "prompting", "style")
AUC = 0.8  # that its interval must lie above
PRIOR = 0.02  # how far that of the objects alone may be from one half
JUDGED = (CANDIDATES, ICL)


def verdicts(measures: Sequence[Measure]) -> list[BarResult]:
    """Hold each way of asking that a model answered against the bars.

    It meets them where the interval of its AUC, taught most against never, lies above `AUC`; where the AUC of the
    objects alone is one half to within `PRIOR`; and where accuracy and consistency of what was taught most lie above
    those of what was never taught (`_rises`). A model that knows nothing has an AUC about one half,
    however alike it answers.

    Args:
        measures: one model's numbers.
    """
    ways: dict[tuple[Any, ...], list[Measure]] = {}
    answered: set[tuple[Any, ...]] = set()
    for row in measures:
        where = conditions_of(row)
        if where.get("experiment") in JUDGED:
            way = tuple(where.get(name) for name in BY)
            ways.setdefault(way, []).append(row)
            if row.metric == "accuracy" and where.keys() == set(BY) and row.value is not None:
                answered.add(way)
    found = [
        _verdict(dict(zip(BY, way, strict=True)), own) for way, own in sorted(ways.items(), key=str) if way in answered
    ]
    return found or [BarResult("no answers", False)]


def _verdict(way: Mapping[str, Any], own: Sequence[Measure]) -> BarResult:
    """Return how one way of asking stands, with what it misses."""
    label = BeliefSetting(way["prompting"], way["style"]).label()
    by_dose = {metric: _by_dose(own, metric) for metric in ("accuracy_by_exposure", "consistency")}
    area, prior = (next((row for row in own if row.metric == name), None) for name in ("recovery_auc", "prior_auc"))
    said = [f"{name} {_text(row)}" for name, row in (("AUC", area), ("prior", prior))]
    missed = [] if area is not None and (area.low or 0.0) > AUC else [f"the AUC's interval is not above {AUC:g}"]
    if prior is None or abs((prior.value or 0.0) - 0.5) > PRIOR:
        missed.append(f"the prior's AUC is not .50 ± {PRIOR:g}")
    for metric, rows in by_dose.items():
        name = metric.partition("_")[0]
        never, most = rows.get(0), rows.get(max(rows, default=0))
        said.append(f"{name} never taught {_text(never)}, most {_text(most)}")
        if not _rises(never, most):
            missed.append(f"{name} does not rise with what was taught")
    return BarResult("; ".join([f"{label}: {said[0]}", *said[1:], *missed]), not missed)


def _rises(never: Measure | None, most: Measure | None) -> bool:
    """Return whether the 95 % interval of the difference lies above 0 (Newcombe 1998, method 10, of both intervals)."""
    if never is None or most is None or None in (never.value, never.high, most.value, most.low):
        return False
    below, above = float(most.value or 0) - float(most.low or 0), float(never.high or 0) - float(never.value or 0)
    return float(most.value or 0) - float(never.value or 0) > math.hypot(below, above)


def _by_dose(own: Sequence[Measure], metric: str) -> dict[int, Measure]:
    found: Iterator[tuple[Any, Measure]] = (
        (conditions_of(row).get("dose"), row) for row in own if row.metric == metric
    )
    return {dose: row for dose, row in found if isinstance(dose, int)}


def _text(row: Measure | None) -> str:
    if row is None or row.value is None:
        return "–"
    return f"{row.value:.3f}" + ("" if row.low is None else f" [{row.low:.3f}, {row.high:.3f}]")
