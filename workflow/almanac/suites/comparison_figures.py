"""The figures that compare models: accuracy by relation and model, and how similar models and families are."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from almanac.rows import Measure
from almanac.suites.judged import conditions_of
from almanac.suites.looks import hundredths, write_cells

WRITTEN = 20  # with more models, cells do not show their numbers
DIGITS = 12  # of means over models, by which relations are sorted, after rounding
ROOM = 5.0  # inches: if names of models fit side by side in a map this wide, they are not rotated
NEAR, LINE, EDGE, SCALE = 0.12, 0.2, 0.1, 1.0  # inches: name to map, line height, margin, colour bar with its numbers


class Map(NamedTuple):
    """A heat map: the names of its columns and rows, and the width and height of a cell in inches."""

    columns: Sequence[str]
    rows: Sequence[str]
    width: float
    height: float


def heat_map(rows: Sequence[Measure], labels: Mapping[str, str], series: Mapping[str, str] | None = None) -> Figure:
    """Draw accuracy by relation (rows, best first by the mean over models) and model (columns, in their order).

    ``series`` is the family of each model, whose members are adjacent; if given, lines separate families.
    """
    models = list(dict.fromkeys(str(row.model) for row in rows if row.value is not None))
    known: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.value is not None:
            known[str(conditions_of(row)["relation"])][str(row.model)] = row.value
    # Relations whose means differ only by rounding errors are sorted by name.
    mean = {relation: round(fmean(own.values()), DIGITS) for relation, own in known.items()}
    relations = sorted(mean, key=lambda relation: (-mean[relation], relation))
    grid = np.array([[known[name].get(model, np.nan) for model in models] for name in relations])
    written = len(models) <= WRITTEN
    width, height = (0.52, 0.24) if written else (0.2, 0.19)
    upright = max(width, *(_length(model) + NEAR for model in models))
    width = upright if written and upright * len(models) <= ROOM else width
    one = Map(models, [labels.get(name, name) for name in relations], width, height)
    figure, [axes], scale = laid_out([one], not written)
    image = axes.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    if written:
        write_cells(image, lambda share: f"{share * 100:.0f}")
    if series is not None:
        _part(axes, [series[model] for model in models])
    if scale is not None:  # else the numbers in the cells say more
        figure.colorbar(image, cax=scale, label="accuracy")
    return figure


def likeness(rows: Sequence[Measure]) -> Figure:
    """Draw Pearson's correlations of accuracies over relations, between models and, next to it, between families.

    The colour scale starts near the lowest correlation: among models that know much all are high, and differ little.
    """
    models = [str(row.model) for row in rows if row.metric == "mean_accuracy" and row.value is not None]
    families = list(dict.fromkeys(str(row.model) for row in rows if row.metric == "series_pearson"))
    sides = [(models, "pearson")]
    if 1 < len(families) < len(models):
        sides.append((families, "series_pearson"))
    side = 0.5 if len(models) <= WRITTEN else 0.2
    maps = [Map(names, names, side, side) for names, _ in sides]
    figure, panels, scale = laid_out(maps, len(models) > WRITTEN)
    found = [row.value for row in rows if row.metric in ("pearson", "series_pearson") and row.value is not None]
    lowest = min(0.9, math.floor(min(found, default=0.0) * 10) / 10)
    for axes, (names, metric) in zip(panels, sides, strict=True):
        grid = np.full((len(names), len(names)), np.nan)
        for row in rows:
            if row.metric == metric and row.value is not None:
                one, other = names.index(str(row.model)), names.index(str(row.other))
                grid[one, other] = grid[other, one] = row.value
        image = axes.imshow(grid, cmap="cividis", vmin=lowest, vmax=1)
        if len(names) <= WRITTEN:
            write_cells(image, hundredths)
    if scale is not None:
        figure.colorbar(image, cax=scale, label="Pearson's correlation over relations")
    return figure


def laid_out(maps: Sequence[Map], scale: bool) -> tuple[Figure, list[Axes], Axes | None]:
    """Return a figure with axes for labelled maps side by side and, if ``scale`` is set, axes for a colour bar.

    Labels are measured and positions computed here: with ticks and matplotlib's own layout a map takes twice as long.
    """
    lefts = [max(map(_length, one.rows), default=0.0) + NEAR for one in maps]
    longest = [max(map(_length, one.columns), default=0.0) for one in maps]
    turned = [own > 0.95 * one.width for one, own in zip(maps, longest, strict=True)]
    tops = [NEAR + (own if up else LINE) for own, up in zip(longest, turned, strict=True)]
    widths = [len(one.columns) * one.width for one in maps]
    heights = [len(one.rows) * one.height for one in maps]
    across = sum(lefts) + sum(widths) + EDGE * (len(maps) + 1) + (SCALE if scale else 0)
    top, down = max(tops), max(tops) + max(heights) + 2 * EDGE
    figure = Figure(figsize=(across, down))
    places, at = [], 0.0
    for one, left, width, height, own in zip(maps, lefts, widths, heights, turned, strict=True):
        at += EDGE + left
        axes = figure.add_axes((at / across, 1 - (EDGE + top + height) / down, width / across, height / down))
        axes.set_axis_off()
        for column, name in enumerate(one.columns):
            axes.text(column, -0.5 - NEAR / 2 / one.height, name, ha="center", va="bottom", rotation=90 if own else 0)
        for row, name in enumerate(one.rows):
            axes.text(-0.5 - NEAR / 2 / one.width, row, name, ha="right", va="center")
        places.append(axes)
        at += width
    if not scale:
        return figure, places, None
    tall = 0.7 * max(heights)
    bar = figure.add_axes(((at + 2 * EDGE) / across, (EDGE + 0.15 * max(heights)) / down, 0.12 / across, tall / down))
    return figure, places, bar


def _length(name: str) -> float:
    """Return the width of a name in inches."""
    return float(text_to_path.get_text_width_height_descent(name, FontProperties(), ismath=False)[0]) / 72


def _part(axes: Axes, families: Sequence[str]) -> None:
    """Draw a white line between adjacent columns of different families."""
    for place in range(1, len(families)):
        if families[place] != families[place - 1]:
            axes.axvline(place - 0.5, color="white", linewidth=4)
