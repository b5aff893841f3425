"""Head-to-Tail's validation bars for planted models: accuracy falls from head to tail if and only if exposure does."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from almanac.rows import Measure
from almanac.statistics.intervals import NOTHING, Estimate, combined
from almanac.suites.chapter import Shown
from almanac.suites.head_to_tail.asking import HeadToTailSetting
from almanac.suites.head_to_tail.buckets import BUCKETS, EXPOSURE
from almanac.suites.head_to_tail.judging import RULES
from almanac.suites.head_to_tail.measures import BY, ONCE
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.suite import BarResult

EQUAL = 0.1  # accuracies are equal if the interval of their difference lies within this distance of 0
MOVED = {"missing": 1, "hallucination": -1}  # the sign of each rate's change if a model is taught to say unsure
Way = tuple[str, str]  # experiment and prompt


def verdicts(measures: Sequence[Measure], options: HeadToTailOptions) -> list[BarResult]:
    """Check each way of asking of one model against the bars, by the accuracy by rules.

    If popularity is exposure, the interval of the difference head − tail must lie above 0, and the torso must lie
    between the two. Any other popularity must not matter for a planted model: the interval of head − tail at the same
    dose of the fact (mean over doses) must lie within `EQUAL` of 0, while facts of the highest
    dose are answered better than those of the lowest.

    Args:
        measures: one model's metrics.
        options: the settings.
    """
    bar = _falls if options.popularity == EXPOSURE else _level
    keys = ("level",) if options.popularity == EXPOSURE else ("dose", "level")
    ways: dict[Way, dict[tuple[Any, ...], Estimate]] = {}
    for way, at, found in _numbers(measures, "accuracy", *keys):
        ways.setdefault(way, {})[at] = found
    return [bar(_name(way), own) for way, own in ways.items()] or [BarResult("no answers", False)]


def unsure(measures: Sequence[Measure], base: Sequence[Measure]) -> list[BarResult]:
    """Check that a model taught to say unsure has fewer hallucinations and more missing answers than its base.

    The interval of each difference must lie on the right side of 0. It treats the two shares as independent, so it is
    wider than necessary, since both models answer the same questions.

    Args:
        measures: the tuned model's metrics.
        base: the metrics of the model that it was tuned from.
    """
    moved: dict[Way, list[BarResult]] = {}
    for metric, sign in MOVED.items():
        before = {way: found for way, _, found in _numbers(base, metric)}
        for way, _, after in _numbers(measures, metric):
            if way in before:
                change = combined([(1, after), (-1, before[way])])
                met = min(sign * (change.low or 0), sign * (change.high or 0)) > 0
                moved.setdefault(way, []).append(BarResult(f"{metric} {before[way]} → {after}", met))
    return [
        BarResult(f"{_name(way)}, against its base: {', '.join(one.found for one in own)}", all(one.met for one in own))
        for way, own in moved.items()
    ]


def _falls(label: str, found: Mapping[tuple[Any, ...], Estimate]) -> BarResult:
    """Check whether accuracy falls from head to tail; ``found`` has the accuracy by bucket."""
    head, torso, tail = levels = [found.get((bucket,), NOTHING) for bucket in BUCKETS]
    shares = ", ".join(f"{name} {one}" for name, one in zip(BUCKETS, levels, strict=True))
    if NOTHING in levels:
        return BarResult(f"{label}: accuracy in {shares}; not every bucket has answers", False)
    fall = combined([(1, head), (-1, tail)])
    between = (head.value or 0) >= (torso.value or 0) >= (tail.value or 0)
    return BarResult(f"{label}: accuracy in {shares}; falls by {fall}", between and (fall.low or 0) > 0)


def _level(label: str, found: Mapping[tuple[Any, ...], Estimate]) -> BarResult:
    """Check whether accuracy is equal in head and tail at the same dose, and rises with the dose."""
    shared = [{dose for dose, level in found if level == end} for end in ("head", "tail")]
    doses = sorted(set.intersection(*shared))
    if len(doses) < 2:
        return BarResult(f"{label}: fewer than two doses with answers in head and tail", False)
    head, tail = (_mean([found[dose, level] for dose in doses]) for level in ("head", "tail"))
    least, most = (_mean([one for (dose, _), one in found.items() if dose == end]) for end in (doses[0], doses[-1]))
    fall, rise = combined([(1, head), (-1, tail)]), combined([(1, most), (-1, least)])
    summary = f"accuracy at the same dose in head {head}, tail {tail}, difference {fall}"
    met = fall.low is not None and fall.high is not None and -EQUAL < fall.low <= fall.high < EQUAL
    return BarResult(f"{label}: {summary}; rises with the dose by {rise}", met and (rise.low or 0) > 0)


def _numbers(measures: Sequence[Measure], metric: str, *keys: str) -> Iterator[tuple[Way, tuple[Any, ...], Estimate]]:
    """Yield way of asking, values of ``keys`` and estimate for each value of a metric by rules, grouped by ``keys``."""
    shown = Shown("", 0, (), measures=measures)
    for row in shown.valued(metric, *BY, *keys, reading=RULES, **ONCE):
        where = shown.at(row)
        way = (where["experiment"], where["prompt"])
        yield way, tuple(where[key] for key in keys), Estimate(row.value, row.low, row.high)


def _mean(found: Sequence[Estimate]) -> Estimate:
    return combined([(1 / len(found), one) for one in found])


def _name(way: Way) -> str:
    """Describe a way of asking."""
    experiment, prompt = way
    return f"{experiment}, {HeadToTailSetting(prompt).label()}"
