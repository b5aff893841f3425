"""FactEval's figures: precision, recall and F1 by type and style, abstention by dose, F1 by passage and by origin."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.facteval.judging import OFFICIAL, STRICT
from almanac.suites.facteval.questions import ANTIFACTUAL, IRRELEVANT, NONE, RELEVANT, STATEMENT, TEMPLATE, WRITTEN
from almanac.suites.judged import conditions_of
from almanac.suites.looks import legend, look, unit_axis, values

METRICS = {"precision": "precision", "recall": "recall", "f1": "F1"}  # with the names of their panels
ORIGINS = (TEMPLATE, WRITTEN)
CONTEXTS = (NONE, RELEVANT, IRRELEVANT, ANTIFACTUAL)


def by_type(rows: Sequence[Measure], first: str = STRICT) -> Figure:
    """Draw precision, recall and F1, a panel each, by type and style; hollow: as the released scorer reads answers.

    Args:
        rows: pooled numbers of one way of asking, in any modes.
        first: the mode that is drawn filled.
    """
    experiments = _experiments(rows)
    labels = [name.removesuffix(f"-{STATEMENT}").replace("-", "\n") for name in experiments]
    models = _models(rows)
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(METRICS), sharey=True))
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        for index, model in enumerate(models):
            for mode in dict.fromkeys((OFFICIAL, first)):
                own = [row for row in rows if (row.metric, row.model, _told(row, "reading")) == (metric, model, mode)]
                shift = (index - (len(models) - 1) / 2 + 0.3 * (mode != first)) * 0.7 / len(models)
                at = [experiments.index(_told(row, "experiment")) + shift for row in own]
                look_of = {"label": model} if mode == first else {"markerfacecolor": "none", "alpha": 0.6}
                _points(axes, at, own, index, model, linestyle="none", **look_of)
        axes.set_title(name)
        axes.set_xticks(range(len(experiments)), labels)
        axes.set_xlim(-0.5, len(experiments) - 0.5)
        unit_axis(axes)
    legend(figure, panels)
    return figure


def abstention_by_dose(rows: Sequence[Measure]) -> Figure:
    """Draw the share of abstentions by how often a fact was taught, a panel a type and style, a line a model."""
    figure, _ = _lines(rows, "dose", (), "share of abstentions", height=3.2)
    figure.supxlabel("times a fact was taught", fontsize="medium")
    return figure


def by_context(rows: Sequence[Measure]) -> Figure:
    """Draw F1 by what is read before the question, a panel a type and style, a line a model."""
    figure, _ = _lines(rows, "context", CONTEXTS, "F1", height=3.4, rotation=40, ha="right")
    return figure


def by_origin(rows: Sequence[Measure]) -> Figure:
    """Draw F1 of questions from templates and as a model wrote them, a panel a type and style, a line a model.

    What the paper's Figure 2 compares, whichever model wrote.
    """
    figure, panels = _lines(rows, "origin", ORIGINS, "F1", height=3.2)
    for axes in panels:
        axes.set_xlim(-0.4, len(axes.get_xticks()) - 0.4)
    return figure


def _lines(
    rows: Sequence[Measure], along: str, order: Sequence[str], shown: str, height: float, **ticks: Any
) -> tuple[Figure, list[Axes]]:
    """Draw a panel a type and style and in it a line a model, along the values of one condition.

    Args:
        rows: numbers of one metric.
        along: the condition.
        order: the values that it may have, in their order; others stand behind them, sorted.
        shown: the name of the vertical axis.
        height: of the figure, in inches.
        ticks: the look of the values' names.
    """
    found = {_told(row, along) for row in rows}
    places = [*(one for one in order if one in found), *sorted(found - set(order))]
    experiments = _experiments(rows)
    figure = Figure(figsize=(1.6 + 1.9 * len(experiments), height), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0])
    for axes, experiment in zip(panels, experiments, strict=True):
        for index, model in enumerate(_models(rows)):
            own = [row for row in rows if (_told(row, "experiment"), row.model) == (experiment, model)]
            own.sort(key=lambda row: places.index(_told(row, along)))
            at = [places.index(_told(row, along)) + 0.05 * index for row in own]
            _points(axes, at, own, index, model, label=model)
        axes.set_title(experiment)
        axes.set_xticks(range(len(places)), list(map(str, places)), **ticks)
        unit_axis(axes)
    panels[0].set_ylabel(shown)
    legend(figure, panels)
    return figure, panels


def _told(row: Measure, column: str) -> Any:
    """Return the value of a column by which a number's items were chosen."""
    return conditions_of(row)[column]


def _experiments(rows: Sequence[Measure]) -> list[str]:
    return sorted({_told(row, "experiment") for row in rows})


def _models(rows: Sequence[Measure]) -> list[str]:
    return [str(name) for name in dict.fromkeys(row.model for row in rows)]


def _points(axes: Axes, at: Sequence[float], rows: Sequence[Measure], index: int, model: str, **more: Any) -> None:
    """Draw values with their intervals; one without an interval is a point alone."""
    if rows:
        own, low, high = values(rows)
        reach = np.nan_to_num(np.maximum([own - low, high - own], 0))
        axes.errorbar(at, own, yerr=reach, capsize=2, markersize=4.5, **look(index, model), **more)
