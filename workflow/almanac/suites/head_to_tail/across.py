"""Numbers of all datasets together; judge against rules over models (Sun et al., section 3.5, Table 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.statistics.correlation import pearson
from almanac.statistics.intervals import NOTHING, Estimate
from almanac.statistics.ranks import spearman
from almanac.suites.head_to_tail.judging import JUDGE, RULES
from almanac.suites.head_to_tail.measures import BY, ONCE, SCORES, WRONG, divided
from almanac.suites.judged import Condition, Judged, Not, as_text

CELL = ("experiment", "prompt", "domain", "level")
# The judge's rates, and by which column of the rules each is held against them, by score.
PAIRS = {"accuracy": ("hit", ""), "hallucination": ("hallucinated", WRONG)}
CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def over(suite: str, judged: Mapping[str, Judged]) -> list[Measure]:
    """Compute the numbers of all datasets together: of each model `divided`, and judge against rules over models.

    Only what was asked in all datasets is counted: a prompt of one alone would say nothing of the others.

    Args:
        suite: the suite's name.
        judged: the items of each model, with the column ``dataset``.
    """
    alike = {}
    for name, own in judged.items():
        datasets = pl.col("dataset").n_unique()
        alike[name] = replace(own, frame=own.frame.filter(datasets.over(BY) == own.frame["dataset"].n_unique()))
    rows = [row for own in alike.values() for row in divided(own.where(ONCE))]
    return rows + correlations(suite, "", alike)


def correlations(suite: str, dataset: str, judged: Mapping[str, Judged]) -> list[Measure]:
    """Return the correlations over models between what the judge says and what rules score, of each cell.

    Args:
        suite: the suite's name.
        dataset: the dataset's; empty: of several.
        judged: of each model on it, by its name.

    Returns:
        ``spearman_accuracy_exact`` and so on: correlation, rate of the judge, score of the rules; by experiment,
        prompt, domain and level, with the number of models as ``n``, and under ``_min`` and ``_mean`` the least and the
        mean over the cells that have one. A cell in which fewer than four models were judged, or one side is the same
        for all, has none.
    """
    cells: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    for own in judged.values():
        for cell, numbers in _cells(own).items():
            cells.setdefault(cell, []).append(numbers)
    rows, found = [], dict[tuple[str, Any, Any], list[float]]()
    for cell, models in sorted(cells.items()):
        for rate in PAIRS:
            for score in SCORES:
                pairs = [(one[rate], one[f"{rate} {score}"]) for one in models]
                for name, correlation in CORRELATIONS.items():
                    metric = f"{name}_{rate}_{score}"
                    estimate = correlation([one for one, _ in pairs], [other for _, other in pairs])
                    where = {**ONCE, **dict(zip(CELL, cell, strict=True))}
                    rows.append(_row(suite, dataset, metric, where, estimate, len(models)))
                    values = found.setdefault((metric, *cell[:2]), [])
                    values += [] if estimate.value is None else [estimate.value]
    for (metric, *asked), values in found.items():
        where = {**ONCE, **dict(zip(CELL[:2], asked, strict=True))}
        for name, value in (("min", min(values, default=None)), ("mean", _mean(values))):
            rows.append(_row(suite, dataset, f"{metric}_{name}", where, Estimate(value, None, None), len(values)))
    return rows


def _cells(judged: Judged) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return what judge and rules say of one model in each cell, over the answers of which both say something."""
    once = judged.where(ONCE).where(level=Not(None), hit=Not(None)).frame
    both = once.filter(pl.col("reading") == JUDGE).select("item")
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for reading in (JUDGE, RULES):
        own = once.filter(pl.col("reading") == reading).join(both, on="item", how="semi")
        columns = {rate: column for rate, (column, _) in PAIRS.items()}
        if reading == RULES:
            columns = {f"{rate} {score}": score + end for rate, (_, end) in PAIRS.items() for score in SCORES}
        means = own.group_by(CELL).agg(pl.col(old).cast(pl.Float64).mean().alias(new) for new, old in columns.items())
        for row in means.iter_rows(named=True):
            found.setdefault(tuple(row[name] for name in CELL), {}).update({name: row[name] for name in columns})
    return found


def _row(suite: str, dataset: str, metric: str, where: Mapping[str, Condition], found: Estimate, n: int) -> Measure:
    """Return one number between models, which counts models."""
    return Measure(
        suite,
        dataset,
        None,
        None,
        metric,
        as_text(where),
        "other",
        ("hit",),
        *(found or NOTHING),
        None,
        n,
        0,
        0,
        0,
        0,
        0,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
