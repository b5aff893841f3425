"""The figures that compare models: accuracy by relation and model, and how similar models and families are."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.judged import conditions_of

WRITTEN = 20  # models up to which each cell holds its number
LIGHT = 0.55  # of the colours' range; above, text is black
Grid = npt.NDArray[np.float64]


def heat_map(rows: Sequence[Measure], series: Mapping[str, str], labels: Mapping[str, str]) -> Figure:
    """Draw accuracy by relation (rows, best first) and model (columns, families side by side with a gap between).

    Args:
        rows: the comparison of one dataset, in its order.
        series: the family of each model.
        labels: the relations' names.
    """
    models = [str(row.model) for row in rows if row.metric == "mean_accuracy" and row.value is not None]
    relations = [str(conditions_of(row)["relation"]) for row in rows if row.metric == "relation_mean"]
    value = {
        (str(conditions_of(row)["relation"]), row.model): row.value for row in rows if row.metric == "relation_accuracy"
    }
    grid = np.array([[value.get((name, model), np.nan) for model in models] for name in relations], dtype=float)
    written = len(models) <= WRITTEN
    width = (0.52 if written else 0.2) * len(models)
    figure = Figure(figsize=(2.9 + width, 1.7 + (0.24 if written else 0.19) * len(relations)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    _name(axes, models, [labels.get(name, name) for name in relations])
    if written:
        _write(axes, grid, grid > LIGHT, lambda share: f"{share * 100:.0f}")
    _part(axes, [series[model] for model in models])
    if not written:  # else the cells say more than a scale
        figure.colorbar(image, ax=axes, label="accuracy", shrink=0.6, aspect=30)
    return figure


def likeness(rows: Sequence[Measure]) -> Figure:
    """Draw Pearson's correlations of accuracies over relations, between models and, next to it, between families.

    The colours begin at the lowest correlation: among models that know much all are high, and the differences count.
    """
    models = [str(row.model) for row in rows if row.metric == "mean_accuracy" and row.value is not None]
    families = list(dict.fromkeys(str(row.model) for row in rows if row.metric == "series_pearson"))
    sides = [(models, "pearson")]
    if 1 < len(families) < len(models):
        sides.append((families, "series_pearson"))
    sizes = [1.5 + (0.5 if len(names) <= WRITTEN else 0.2) * len(names) for names, _ in sides]
    figure = Figure(figsize=(sum(sizes) + 1.2, max(sizes) + 0.6), layout="constrained")
    found = [row.value for row in rows if row.metric in ("pearson", "series_pearson") and row.value is not None]
    lowest = min(0.9, math.floor(min(found, default=0.0) * 10) / 10)
    panels = figure.subplots(1, len(sides), squeeze=False, width_ratios=sizes)[0]
    for axes, (names, metric) in zip(panels, sides, strict=True):
        grid = np.full((len(names), len(names)), np.nan)
        for row in rows:
            if row.metric == metric and row.value is not None:
                one, other = names.index(str(row.model)), names.index(str(row.other))
                grid[one, other] = grid[other, one] = row.value
        image = axes.imshow(grid, cmap="cividis", vmin=lowest, vmax=1)
        _name(axes, names, names)
        if len(names) <= WRITTEN:
            _write(axes, grid, (grid - lowest) / (1 - lowest) > LIGHT, lambda value: f"{value:.2f}".replace("0.", "."))
    if len(models) > WRITTEN:
        figure.colorbar(image, ax=list(panels), label="Pearson's correlation over relations", shrink=0.7, aspect=30)
    return figure


def _name(axes: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    axes.set_xticks(range(len(columns)), columns, rotation=90 if len(columns) > 4 else 0)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
        label.set_parse_math(False)  # a name may hold dollar signs
    axes.spines[:].set_visible(False)


def _write(axes: Axes, grid: Grid, light: npt.NDArray[np.bool_], shown: Callable[[float], str]) -> None:
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            colour = "black" if light[row, column] else "white"
            cell = axes.text(column, row, shown(value), ha="center", va="center", color=colour, fontsize="small")
            cell.set_in_layout(False)  # it lies within the axes, and measuring all of them is slow


def _part(axes: Axes, families: Sequence[str]) -> None:
    """Draw a white line between neighbours of different families."""
    for place in range(1, len(families)):
        if families[place] != families[place - 1]:
            axes.axvline(place - 0.5, color="white", linewidth=4)
