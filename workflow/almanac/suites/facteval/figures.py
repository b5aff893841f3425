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
from almanac.suites.looks import legend, look

METRICS = ("precision", "recall", "f1")
NAMES = {"precision": "precision", "recall": "recall", "f1": "F1"}
ORIGINS = (TEMPLATE, WRITTEN)
CONTEXTS = (NONE, RELEVANT, IRRELEVANT, ANTIFACTUAL)


def by_type(measures: Sequence[Measure], first: str = STRICT) -> Figure:
    """Draw precision, recall and F1, a panel each, by type and style; hollow: as the released scorer reads answers.

    Args:
        measures: pooled rows of one way of asking, in any modes.
        first: the mode that is drawn filled.
    """
    rows = [row for row in measures if row.metric in METRICS and row.value is not None]
    experiments = _experiments(rows)
    labels = [name.removesuffix(f"-{STATEMENT}").replace("-", "\n") for name in experiments]
    models = _models(rows)
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(METRICS), sharey=True))
    for axes, metric in zip(panels, METRICS, strict=True):
        for index, model in enumerate(models):
            for mode in dict.fromkeys((OFFICIAL, first)):
                own = [row for row in rows if (row.metric, row.model, _told(row, "reading")) == (metric, model, mode)]
                shift = (index - (len(models) - 1) / 2 + 0.3 * (mode != first)) * 0.7 / len(models)
                at = [experiments.index(_told(row, "experiment")) + shift for row in own]
                _points(axes, at, own, index, model, named=mode == first, hollow=mode != first)
        axes.set_title(NAMES[metric])
        axes.set_xticks(range(len(experiments)), labels)
        axes.set_xlim(-0.5, len(experiments) - 0.5)
        _frame(axes)
    legend(figure, panels)
    return figure


def abstention_by_dose(measures: Sequence[Measure]) -> Figure:
    """Draw the share of abstentions by how often a fact was taught, a panel a type and style, a line a model."""
    rows = [row for row in measures if row.metric == "abstained_by_exposure" and row.value is not None]
    doses = sorted({_told(row, "dose") for row in rows})
    figure, panels = _lines(rows, "dose", doses, height=3.2)
    for axes in panels:
        axes.set_xticks(range(len(doses)), [str(dose) for dose in doses])
    figure.supxlabel("times a fact was taught", fontsize="medium")
    panels[0].set_ylabel("share of abstentions")
    return figure


def by_context(measures: Sequence[Measure]) -> Figure:
    """Draw F1 by what is read before the question, a panel a type and style, a line a model."""
    rows = [row for row in measures if row.metric == "f1" and row.value is not None]
    found = {_told(row, "context") for row in rows}
    contexts = [*(one for one in CONTEXTS if one in found), *sorted(found - set(CONTEXTS))]
    figure, panels = _lines(rows, "context", contexts, height=3.4)
    for axes in panels:
        axes.set_xticks(range(len(contexts)), contexts, rotation=40, ha="right")
    panels[0].set_ylabel("F1")
    return figure


def by_origin(measures: Sequence[Measure]) -> Figure:
    """Draw F1 of questions from templates and as a model wrote them, a panel a type and style, a line a model.

    What the paper's Figure 2 compares, whichever model wrote.
    """
    rows = [row for row in measures if row.metric == "f1" and row.value is not None]
    found = {_told(row, "origin") for row in rows}
    origins = [*(one for one in ORIGINS if one in found), *sorted(found - set(ORIGINS))]
    figure, panels = _lines(rows, "origin", origins, height=3.2)
    for axes in panels:
        axes.set_xticks(range(len(origins)), origins)
        axes.set_xlim(-0.4, len(origins) - 0.4)
    panels[0].set_ylabel("F1")
    return figure


def _lines(rows: Sequence[Measure], along: str, places: Sequence[Any], height: float) -> tuple[Figure, list[Axes]]:
    """Draw a panel a type and style and in it a line a model, along the values of one condition."""
    experiments = _experiments(rows)
    figure = Figure(figsize=(1.6 + 1.9 * len(experiments), height), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0])
    for axes, experiment in zip(panels, experiments, strict=True):
        for index, model in enumerate(_models(rows)):
            own = [row for row in rows if (_told(row, "experiment"), row.model) == (experiment, model)]
            own.sort(key=lambda row: places.index(_told(row, along)))
            at = [places.index(_told(row, along)) + 0.05 * index for row in own]
            _points(axes, at, own, index, model, line="-")
        axes.set_title(experiment)
        _frame(axes)
    legend(figure, panels)
    return figure, panels


def _told(row: Measure, column: str) -> Any:
    """Return the value of a column by which a number's items were chosen."""
    return conditions_of(row)[column]


def _experiments(rows: Sequence[Measure]) -> list[str]:
    return sorted({_told(row, "experiment") for row in rows})


def _models(rows: Sequence[Measure]) -> list[str]:
    return [str(name) for name in dict.fromkeys(row.model for row in rows)]


def _points(
    axes: Axes,
    at: Sequence[float],
    rows: Sequence[Measure],
    index: int,
    model: str,
    named: bool = True,
    line: str = "",
    hollow: bool = False,
) -> None:
    """Draw values with their intervals; one without an interval is a point alone."""
    if not rows:
        return
    values = np.array([row.value for row in rows], dtype=float)
    low = np.array([row.value if row.low is None else row.low for row in rows], dtype=float)
    high = np.array([row.value if row.high is None else row.high for row in rows], dtype=float)
    own_look = look(index, model) | ({"markerfacecolor": "none", "alpha": 0.6} if hollow else {})
    reach = np.maximum([values - low, high - values], 0)
    axes.errorbar(
        at,
        values,
        yerr=reach,
        linestyle=line or "none",
        label=model if named else None,
        capsize=2,
        markersize=4.5,
        **own_look,
    )


def _frame(axes: Axes) -> None:
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
