"""Metrics of all datasets together; correlation of judge and rules over models (Sun et al., section 3.5, Table 8)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.statistics.correlation import pearson
from almanac.statistics.intervals import Estimate
from almanac.statistics.ranks import spearman
from almanac.suites.head_to_tail.judging import JUDGE, RULES
from almanac.suites.head_to_tail.measures import BY, ONCE, SCORES, WRONG, divided
from almanac.suites.judged import Condition, Judged, Not, as_text

CELL = ("experiment", "prompt", "domain", "level")
# The rates that are correlated: the judge's column, and the suffix of the rules' score columns.
PAIRS = {"accuracy": ("hit", ""), "hallucination": ("hallucinated", WRONG)}
CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def over(judged: Mapping[str, Judged]) -> list[Measure]:
    """Compute the metrics of all datasets together: `divided` for each model, and `correlations` over models.

    Only ways of asking that all datasets share are counted.

    Args:
        judged: the items of each model, with the column ``dataset``.
    """
    shared = {}
    for name, own in judged.items():
        datasets = pl.col("dataset").n_unique()
        shared[name] = replace(own, frame=own.frame.filter(datasets.over(BY) == own.frame["dataset"].n_unique()))
    rows = [row for own in shared.values() for row in divided(own.where(ONCE))]
    return rows + correlations(shared)


def correlations(judged: Mapping[str, Judged]) -> list[Measure]:
    """Return the correlations over models between the judge's rates and the scores by rules, for each cell.

    A cell is an experiment, prompt, domain and level.

    Args:
        judged: by model, its items on one dataset or on several together.

    Returns:
        ``CORRELATION_RATE_SCORE``, such as ``spearman_accuracy_exact``, by cell, with the number of models as ``n``;
        and by experiment and prompt the minimum (``_min``) and the mean (``_mean``) over the cells with a value. A cell
        has no value if fewer than four models were judged, or if one side is the same for all.
    """
    if not judged:
        return []
    cells = pl.concat(map(_cells, judged.values())).sort(CELL, maintain_order=True)
    items, rows, found = next(iter(judged.values())), [], dict[tuple[Any, ...], list[float]]()
    for cell, models in cells.group_by(CELL, maintain_order=True):
        for rate, score, (name, correlation) in product(PAIRS, SCORES, CORRELATIONS.items()):
            metric = f"{name}_{rate}_{score}"
            estimate = correlation(models[rate].to_list(), models[f"{rate} {score}"].to_list())
            where = {**ONCE, **dict(zip(CELL, cell, strict=True))}
            rows.append(_row(items, metric, where, estimate, models.height))
            values = found.setdefault((metric, *cell[:2]), [])
            values += [] if estimate.value is None else [estimate.value]
    for (metric, *asked), values in found.items():
        where = {**ONCE, **dict(zip(CELL[:2], asked, strict=True))}
        mean = sum(values) / len(values) if values else None
        for name, value in (("min", min(values, default=None)), ("mean", mean)):
            rows.append(_row(items, f"{metric}_{name}", where, Estimate(value, None, None), len(values)))
    return rows


def _cells(judged: Judged) -> pl.DataFrame:
    """Return one model's rates by the judge and scores by rules, a row a cell, over the answers that both judged."""
    once = judged.where(ONCE).where(level=Not(None), hit=Not(None)).frame.with_columns(pl.col(CELL).cast(pl.String))
    judge = once.filter(pl.col("reading") == JUDGE)
    rules = once.filter(pl.col("reading") == RULES).join(judge, on="item", how="semi")
    verdicts = {rate: column for rate, (column, _) in PAIRS.items()}
    scores = {f"{rate} {score}": score + end for rate, (_, end) in PAIRS.items() for score in SCORES}
    by_judge, by_rules = (
        own.group_by(CELL).agg(pl.col(old).cast(pl.Float64).mean().round(12).alias(new) for new, old in columns.items())
        for own, columns in ((judge, verdicts), (rules, scores))
    )
    return by_judge.join(by_rules, on=CELL)


def _row(items: Judged, metric: str, where: Mapping[str, Condition], estimate: Estimate, n: int) -> Measure:
    """Return a metric over models, whose ``n`` counts models or cells; ``items`` are the items of any model."""
    texts, counts = as_text(where), (n, 0, 0, 0, 0, 0)
    return Measure(items.suite, items.dataset, None, None, metric, texts, "other", ("hit",), *estimate, None, *counts)
