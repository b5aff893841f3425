"""FactEval's figure: precision, recall and F1 by type and style."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.facteval.judging import OFFICIAL, STRICT
from almanac.suites.facteval.questions import NAMES
from almanac.suites.judged import conditions_of
from almanac.suites.looks import intervals, legend, unit_axis

METRICS = {"precision": "precision", "recall": "recall", "f1": "F1"}  # with the titles of their panels


def by_type(rows: Sequence[Measure], first: str = STRICT) -> Figure:
    """Draw precision, recall and F1 by type and style, one panel each.

    Markers are filled for the mode ``first``, and hollow for mode ``official``.
    """
    experiments = sorted({_at(row, "experiment") for row in rows})
    labels = ["\n".join(wrap(NAMES[name], 8)) for name in experiments]  # lines that leave room for their neighbours
    models = list(dict.fromkeys(str(row.model) for row in rows))
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(METRICS), sharey=True))
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        for index, model in enumerate(models):
            for mode in dict.fromkeys((OFFICIAL, first)):
                own = [row for row in rows if (row.metric, row.model, _at(row, "reading")) == (metric, model, mode)]
                shift = (index - (len(models) - 1) / 2 + 0.3 * (mode != first)) * 0.7 / len(models)
                if own:
                    at = [experiments.index(_at(row, "experiment")) + shift for row in own]
                    apart = {"label": model} if mode == first else {"markerfacecolor": "none", "alpha": 0.6}
                    intervals(axes, at, own, index, model, linestyle="none", **apart)
        axes.set_title(name)
        axes.set_xticks(range(len(experiments)), labels)
        axes.set_xlim(-0.5, len(experiments) - 0.5)
        unit_axis(axes)
    legend(figure, panels)
    return figure


def _at(row: Measure, column: str) -> Any:
    """Return the value of a column among the conditions that a metric's items were selected by."""
    return conditions_of(row)[column]
