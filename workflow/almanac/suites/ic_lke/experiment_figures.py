"""Figures of IC-LKE's experiments: accuracy by the number of examples, probability by the place in a sequence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.ic_lke.figures import COLOURS, GREY, MARKERS


def by_shots(measures: Sequence[Measure]) -> Figure:
    """Draw accuracy by the number of examples, a line a model with 95 % intervals, dashed where it is enough.

    Args:
        measures: rows of the sweep on one dataset, ``accuracy_at_shots``, ``enough_shots`` and ``chance``.
    """
    rows = [
        row
        for row in measures
        if row.metric == "accuracy_at_shots" and row.value is not None and not row.relation_id and row.exposure is None
    ]
    enough = {row.model: row.value for row in measures if row.metric == "enough_shots"}
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for index, model in enumerate(dict.fromkeys(row.model for row in rows)):
        own = sorted((row for row in rows if row.model == model), key=lambda row: row.level or 0.0)
        at = [row.level or 0.0 for row in own]
        share, low, high = (
            np.array([getattr(row, name) for row in own], dtype=float) for name in ("value", "low", "high")
        )
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(at, share, color=colour, marker=MARKERS[index % len(MARKERS)], markersize=5, label=model)
        axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        least = enough.get(model)
        if least is not None:
            axes.axvline(least, color=colour, linestyle="--", linewidth=1)
    for chance in {row.value for row in measures if row.metric == "chance" and row.value is not None}:
        axes.axhline(chance, color=GREY, linestyle=":", linewidth=1)
    _plain(axes)
    axes.set_xlabel("examples")
    axes.set_ylabel("accuracy")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def by_place(measures: Sequence[Measure]) -> Figure:
    """Draw each object's probability by its place, a row of panels a model; replaced ones apart, a line their mean.

    Args:
        measures: rows of the study of positions on one dataset.
    """
    rows = [row for row in measures if row.metric in ("probability_at", "replaced_at") and row.value is not None]
    models = list(dict.fromkeys(row.model for row in rows))
    kinds = list(dict.fromkeys((row.experiment, row.setting) for row in rows))
    figure = Figure(figsize=(2.1 * len(kinds) + 0.6, 1.7 * len(models) + 0.9), layout="constrained")
    panels = figure.subplots(len(models), len(kinds), sharex=True, sharey=True, squeeze=False)
    for (line, column), axes in np.ndenumerate(panels):
        model, (experiment, setting) = models[line], kinds[column]
        own = [row for row in measures if (row.model, row.experiment, row.setting) == (model, experiment, setting)]
        for metric, look in LOOKS.items():
            points = [(row.level, row.value) for row in own if row.metric == metric and row.value is not None]
            axes.plot([at for at, _ in points], [share for _, share in points], linestyle="none", **look)
        for row in own:
            if row.metric == "probability_correct" and row.relation_id is None and row.value is not None:
                axes.axhline(row.value, color="#000000", linewidth=1)
        _plain(axes)
        if line == 0:
            axes.set_title(f"{experiment.replace('_', ' ')}\n{setting}", fontsize=9)
        if column == 0:
            axes.set_ylabel(f"{model}\nprobability")
    for axes in panels[-1]:
        axes.set_xlabel("place")
    figure.legend(*panels[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


LOOKS: dict[str, dict[str, Any]] = {
    "probability_at": {"color": COLOURS[0], "marker": "o", "markersize": 2.5, "label": "true pairs"},
    "replaced_at": {"color": COLOURS[1], "marker": "x", "markersize": 4, "label": "replaced pairs"},
}


def _plain(axes: Axes) -> None:
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
