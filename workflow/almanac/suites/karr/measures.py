"""The metrics of KaRR and its baselines, and how well they recover planted knowledge.

Every share leaves out items without a value (no answer, an empty denominator); ``without_value`` is the share of these.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.intervals import Estimate
from almanac.statistics.paired import macro_difference
from almanac.statistics.ranks import kendall
from almanac.suites.chapter import Shown
from almanac.suites.headline import NULL_KNOWN, NULL_NEVER
from almanac.suites.judged import FACT, SUBJECT, Judged, Not, Range
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS
from almanac.suites.karr.baselines import PARAREL
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.judging import calibrates
from almanac.suites.karr.options import KarrOptions
from almanac.suites.recovery import area, recovery
from almanac.suites.suite import Method

CURVE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 22.0, 50.0, 100.0, 1000.0)
BY = ("experiment", "asked")


def derived(frame: pl.DataFrame, options: KarrOptions) -> pl.DataFrame:
    """Add columns that metrics select and group by.

    ``without_value``: the item has no score. ``ratio``: KaRR itself (exp of the score). ``calibrating``: its fact is in
    the half from which thresholds are chosen. ``paired``: by this method its fact has a value both with the true object
    and with the false one that the model expects.
    """
    facts = frame["fact"].unique()
    halves = pl.DataFrame({"fact": facts, "calibrating": calibrates(facts.cast(pl.String).to_list())})
    valued = pl.col("score").is_not_null()
    both = [(valued & (pl.col("asked") == name)).any().over("experiment", "fact") for name in (FACTS, SPURIOUS)]
    return frame.join(halves, on="fact", how="left", maintain_order="left").with_columns(
        (~valued).alias("without_value"),
        pl.when(pl.col("experiment").is_in(list(VARIANTS))).then(pl.col("score").exp()).alias("ratio"),
        pl.all_horizontal(both).alias("paired"),
    )


def measure(judged: Judged, own: Mapping[str, pl.DataFrame], options: KarrOptions) -> list[Measure]:
    """Compute every number of one model.

    Returns:
        By method and ``asked`` (``facts``, ``null``): ``known`` over all facts (as in the paper) and in each relation,
        its mean over relations (``known_macro``); ``without_value`` (of ``spurious`` too); for KaRR the threshold, the
        medians of the logarithms and ``known_at`` each of several thresholds; ParaRel's ``consistency``. For true
        facts: recovery of what was taught, agreement with it and with human labels, variance over runs. For facts that
        have a value with both objects: ``known`` with either, and ``spurious_delta``, the difference.
    """
    first = judged.where(asked=(FACTS, NULL))
    rows = first.measures("known", "mean", "hit", by=BY)
    rows += first.measures("known", "mean", "hit", by=(*BY, "relation"))
    rows += first.measures("known_macro", "macro", "hit", by=BY)
    rows += judged.measures("without_value", "mean", "without_value", by=BY)
    rows += first.where(experiment=PARAREL).measures("consistency", "mean", "confidence", by=BY)
    limits = {row["mode"]: row for row in own["thresholds"].iter_rows(named=True)}
    for group in first.groups(*BY):
        experiment = str(group.conditions["experiment"])
        if experiment in VARIANTS:
            rows += _values(group, limits[experiment])
    facts = judged.where(asked=FACTS)
    rows += recovery(facts, "experiment")
    for group in facts.groups("experiment"):
        rows += _taught(group) + _labelled(group, options.labels_known) + _runs(group, own["runs"])
    for group in judged.where(experiment=tuple(VARIANTS), calibrating=False).groups("experiment"):
        rows += _held_out(group)
    paired = judged.where(asked=(FACTS, SPURIOUS), paired=True)
    rows += paired.measures("known", "mean", "hit", by=BY)
    return rows + _deltas(paired) + _deltas(first)


def _values(group: Judged, limit: Mapping[str, Any]) -> list[Measure]:
    """Return a mode's threshold, the medians of the logarithms, and the share known by threshold.

    Where the threshold was chosen from facts, ``threshold_taught`` and ``threshold_never`` say from how many.
    """
    rows = [group.measure("threshold", limit["threshold"], of=("score",))]
    if limit["taught"] is not None:
        rows += [group.measure(f"threshold_{name}", float(limit[name]), of=("score",)) for name in ("taught", "never")]
    for name in ("karr", "karr_s", "karr_r"):
        middle = group.frame[name].median()
        rows.append(group.measure(f"median_log_{name}", middle, "median", (name,)))  # type: ignore[arg-type]
    rows += _curve(group)
    if group.conditions["asked"] == FACTS:
        for relation in group.groups("relation"):
            rows += _curve(relation)
    return rows


def _curve(group: Judged) -> list[Measure]:
    """Return the share of valued items whose KaRR reaches each level of `CURVE`; a number's items are those that do."""
    valued = group.frame.select("ratio", SUBJECT).drop_nulls("ratio")
    levels = pl.DataFrame({"level": CURVE})
    reached = valued.join(levels, how="cross").with_columns((pl.col("ratio") >= pl.col("level")).alias("reached"))
    found = {
        level: Estimate(*rest) for level, *rest in grouped.macro(reached, ["level"], "reached", None, SUBJECT).rows()
    }
    reaching = ((level, group.where(ratio=Range(least=level))) for level in CURVE)
    return [items.measure("known_at", found.get(level), of=("ratio",)) for level, items in reaching]


def _taught(group: Judged) -> list[Measure]:
    """Return the agreement of a method's true facts with what was taught; facts of the highest dose count as known.

    For KaRR also ``recovery_auc`` of each component: how well it separates the facts of the highest dose from dose 0.
    """
    known = group.where(hit=Not(None), dose=Not(None))
    top = known.frame["dose"].max()
    if not top:
        return []
    rows = known.where(dose=top).measures("recall", "mean", "hit")  # type: ignore[arg-type]
    rows.append(_kendall("kendall", known, "dose"))
    if group.conditions["experiment"] in VARIANTS:
        for name in ("karr_s", "karr_r", "numerator"):
            ends = group.where({name: Not(None), "dose": (0, top)})  # type: ignore[dict-item]
            found = area([[ends.frame.filter(dose=top), ends.frame.filter(dose=0)]], name)
            rows.append(ends.measure(f"recovery_auc_{name}", found, "auc", (name, "dose")))
    return rows


def _labelled(group: Judged, known: float) -> list[Measure]:
    """Return recall and Kendall's tau against human labels; a fact counts as known from the mean label ``known`` on."""
    labelled = group.where(hit=Not(None), label=Not(None))
    if labelled.frame.is_empty():
        return []
    recall = labelled.where(label=Range(least=known)).measures("recall_labels", "mean", "hit")
    return [*recall, _kendall("kendall_labels", labelled, "label")]


def _kendall(metric: str, known: Judged, reference: str) -> Measure:
    """Return Kendall's tau of the score and a reference column, with its p-value."""
    tau, p = kendall(known.frame["score"].to_list(), known.frame[reference].to_list()) or (None, None)
    return known.measure(metric, tau, of=("score", reference), p=p)


def _runs(group: Judged, runs: pl.DataFrame) -> list[Measure]:
    """Return the variance and standard deviation of the share known over runs, for replaced templates and for names."""
    rows = []
    of_method = runs.filter(pl.col("experiment") == group.conditions["experiment"])
    for (replaced,), scores in of_method.group_by("replaced", maintain_order=True):
        variance = float(np.var(scores["score"].to_numpy(), ddof=1)) if scores.height > 1 else None
        deviation = None if variance is None else math.sqrt(variance)
        rows.append(group.measure(f"variance_over_{replaced}", variance, of=("hit",)))
        rows.append(group.measure(f"deviation_over_{replaced}", deviation, of=("hit",)))
    return rows


def _held_out(group: Judged) -> list[Measure]:
    """Return the share known in the half from which no threshold was chosen: taught most, never taught, false objects.

    Null models have none of these: they were not taught these facts, and no threshold was chosen from them.
    """
    known = group.where(asked=(FACTS, NULL), hit=Not(None), dose=Not(None))
    top = known.frame["dose"].max()
    if not top:
        return []
    parts = {
        "held_out_taught": known.where(asked=FACTS, dose=top),  # type: ignore[arg-type]
        "held_out_never": known.where(asked=FACTS, dose=0),
        "held_out_null": known.where(asked=NULL),
    }
    return [row for metric, part in parts.items() for row in part.measures(metric, "mean", "hit")]


def _deltas(judged: Judged) -> list[Measure]:
    """Return, by method, the share known of facts with the other object minus that of the same facts with their own.

    There is an interval only if all facts have a value with both.
    """
    rows = []
    for group in judged.groups("experiment"):
        asked = group.frame.pivot("asked", index=[FACT, SUBJECT], values="hit", maintain_order=True)
        others = [name for name in asked.columns if name not in (FACT, SUBJECT, FACTS)]
        if FACTS in asked.columns and others:
            delta = Estimate(asked.select(pl.col(others[0]).mean() - pl.col(FACTS).mean()).item(), None, None)
            if asked[FACTS].null_count() == asked[others[0]].null_count() == 0:
                delta = macro_difference(asked.with_columns(pl.lit(0).alias("all")), others[0], FACTS, "all", SUBJECT)
            rows.append(group.measure("spurious_delta", delta, of=("hit", "asked")))
    return rows


def comparable(method: Method, judged: Mapping[str, Judged], shown: Shown) -> Mapping[str, Judged]:
    """Return one mode's items of all models, judged at one threshold: the geometric mean of the models' chosen ones.

    Left out of the mean are null models, and models whose threshold was set because they had too few facts to choose
    by.
    """
    if not method.compared:
        return judged
    mode = method.name
    found = {model.name: _threshold(shown, model.name, mode) for model in shown.models if model.name in judged}
    limits = [
        limit
        for model in shown.models
        if (limit := found.get(model.name)) is not None
        and not model.permuted
        and shown.one("threshold_taught", model.name, experiment=mode, asked=FACTS) is not None
    ]
    if not limits or len(set(found.values())) == 1:
        return judged
    common = math.exp(math.fsum(map(math.log, limits)) / len(limits))
    return {name: _judged_at(items.where(experiment=mode), common) for name, items in judged.items()}


def _threshold(shown: Shown, model: str, mode: str) -> float | None:
    limit = shown.one("threshold", model, experiment=mode, asked=FACTS)
    return None if limit is None else limit.value


def _judged_at(judged: Judged, threshold: float) -> Judged:
    """Return items with their outcomes at another threshold than they were judged by."""
    known = pl.col("score") > math.log(threshold)
    again = pl.when(known).then(pl.lit("correct")).when(~known).then(pl.lit("incorrect"))
    return replace(judged, frame=judged.frame.with_columns(hit=known, outcome=again.otherwise("outcome")))


def null_known(judged: Mapping[str, Judged], shown: Shown, options: KarrOptions) -> list[Measure]:
    """Return the share of true facts that each model's null calls known, at the threshold of the model itself.

    The null of a planted model has the same recipe and read the same names as often, with the objects of each relation
    permuted, so whatever it calls known is a false positive. For a fact that the model was taught, the null was taught
    another object, which draws it away from the true one. Facts never taught therefore have a share of their own.
    """
    rows = []
    for model in shown.models:
        for mode in VARIANTS if model.null in judged else ():
            limit = _threshold(shown, model.name, mode)
            null = judged[str(model.null)].where(experiment=mode, asked=FACTS)
            if limit is None or null.frame.is_empty():
                continue
            found = replace(_judged_at(null, limit), model=model.name)
            untaught = judged[model.name].where(experiment=mode, asked=FACTS, dose=0)
            never = found.frame.filter(pl.col("fact").is_in(untaught.frame["fact"].implode()))
            without = replace(found, frame=never, conditions=untaught.conditions)
            for name, counted in ((NULL_KNOWN, found), (NULL_NEVER, without)):
                rows += [replace(row, other=model.null) for row in counted.measures(name, "mean", "hit")]
    return rows
