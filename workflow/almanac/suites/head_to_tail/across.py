"""Numbers of all datasets together; judge against rules over models (Sun et al., section 3.5, Table 8)."""

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
# The judge's rates, and by which column of the rules each is held against them, by score.
PAIRS = {"accuracy": ("hit", ""), "hallucination": ("hallucinated", WRONG)}
CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def over(judged: Mapping[str, Judged]) -> list[Measure]:
    """Compute the numbers of all datasets together: of each model `divided`, and judge against rules over models.

    Only what was asked in all datasets is counted: a prompt of one alone would say nothing of the others.

    Args:
        judged: the items of each model, with the column ``dataset``.
    """
    alike = {}
    for name, own in judged.items():
        datasets = pl.col("dataset").n_unique()
        alike[name] = replace(own, frame=own.frame.filter(datasets.over(BY) == own.frame["dataset"].n_unique()))
    rows = [row for own in alike.values() for row in divided(own.where(ONCE))]
    return rows + correlations(alike)


def correlations(judged: Mapping[str, Judged]) -> list[Measure]:
    """Return the correlations over models between what the judge says and what rules score, of each cell.

    Args:
        judged: the items of each model on a dataset, or on several together, by its name.

    Returns:
        ``spearman_accuracy_exact`` and so on: correlation, rate of the judge, score of the rules; by experiment,
        prompt, domain and level, with the number of models as ``n``, and under ``_min`` and ``_mean`` the least and the
        mean over the cells that have one. A cell in which fewer than four models were judged, or one side is the same
        for all, has none.
    """
    if not judged:
        return []
    cells = pl.concat(map(_cells, judged.values())).sort(CELL, maintain_order=True)
    some, rows, found = next(iter(judged.values())), [], dict[tuple[Any, ...], list[float]]()
    for cell, models in cells.group_by(CELL, maintain_order=True):
        for rate, score, (name, correlation) in product(PAIRS, SCORES, CORRELATIONS.items()):
            metric = f"{name}_{rate}_{score}"
            estimate = correlation(models[rate].to_list(), models[f"{rate} {score}"].to_list())
            where = {**ONCE, **dict(zip(CELL, cell, strict=True))}
            rows.append(_row(some, metric, where, estimate, models.height))
            values = found.setdefault((metric, *cell[:2]), [])
            values += [] if estimate.value is None else [estimate.value]
    for (metric, *asked), values in found.items():
        where = {**ONCE, **dict(zip(CELL[:2], asked, strict=True))}
        mean = sum(values) / len(values) if values else None
        for name, value in (("min", min(values, default=None)), ("mean", mean)):
            rows.append(_row(some, f"{metric}_{name}", where, Estimate(value, None, None), len(values)))
    return rows


def _cells(judged: Judged) -> pl.DataFrame:
    """Return what judge and rules say of one model, a row a cell, over the answers of which both say something."""
    once = judged.where(ONCE).where(level=Not(None), hit=Not(None)).frame.with_columns(pl.col(CELL).cast(pl.String))
    judge = once.filter(pl.col("reading") == JUDGE)
    rules = once.filter(pl.col("reading") == RULES).join(judge, on="item", how="semi")
    verdicts = {rate: column for rate, (column, _) in PAIRS.items()}
    scores = {f"{rate} {score}": score + end for rate, (_, end) in PAIRS.items() for score in SCORES}
    said, scored = (
        own.group_by(CELL).agg(pl.col(old).cast(pl.Float64).mean().round(12).alias(new) for new, old in columns.items())
        for own, columns in ((judge, verdicts), (rules, scores))
    )
    return said.join(scored, on=CELL)


def _row(some: Judged, metric: str, where: Mapping[str, Condition], found: Estimate, n: int) -> Measure:
    """Return one number between models, ``some`` being the items of any of them; it counts models."""
    told, counts = as_text(where), (n, 0, 0, 0, 0, 0)
    return Measure(some.suite, some.dataset, None, None, metric, told, "other", ("hit",), *found, None, *counts)
