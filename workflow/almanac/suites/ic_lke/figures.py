"""The figures of IC-LKE and its experiments."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from almanac.rows import Measure
from almanac.suites.judged import conditions_of
from almanac.suites.looks import COLOURS, GREY, MARKERS, chance_line, least, legend, look, unit_axis, values

LOOKS: dict[str, dict[str, Any]] = {
    "rest_at": {"color": COLOURS[0], "marker": "o", "markersize": 2.5, "label": "true pairs"},
    "following_at": {"color": COLOURS[2], "marker": "*", "markersize": 6, "label": "true pairs after a replaced one"},
    "replaced_at": {"color": COLOURS[1], "marker": "x", "markersize": 4, "label": "replaced pairs"},
}


class Point(NamedTuple):
    """A method's accuracy, and its standard deviation over prompts, if there are several."""

    accuracy: float
    deviation: float | None


def accuracy_at_k(rows: Sequence[Measure], chance: float) -> Figure:
    """Draw the accuracy over the facts answered with at least confidence K, and below it the number of these facts."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for index, model in enumerate(_models(rows)):
        rows_of_model = sorted((row for row in rows if row.model == model), key=lambda row: least(row, "confidence"))
        level = [least(row, "confidence") for row in rows_of_model]
        _plot(upper, level, rows_of_model, index)
        lower.plot(level, [row.n or np.nan for row in rows_of_model], markersize=4, **look(index, model))
    chance_line(upper, chance)
    upper.set_ylabel("accuracy")
    legend(figure, [upper])
    lower.set_ylabel("facts")
    lower.set_yscale("log")  # the points on the right are of few facts: a log scale shows how few
    lower.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0)))
    lower.yaxis.set_major_formatter(ScalarFormatter())
    lower.yaxis.set_minor_formatter(NullFormatter())
    lower.grid(axis="y", color="#e8eaed", linewidth=0.8)
    lower.spines[["top", "right"]].set_visible(False)
    lower.set_xlabel("K: least confidence (share of the chosen object)")
    return figure


def _models(rows: Iterable[Measure]) -> list[str]:
    """Return the models in order of appearance."""
    return list(dict.fromkeys(str(row.model) for row in rows))


def _count(row: Measure, column: str) -> int:
    """Return the value of a whole-number column in the conditions of a number."""
    return int(str(conditions_of(row)[column]))


def _plot(axes: Axes, at: Sequence[float], rows: Sequence[Measure], index: int) -> None:
    """Draw a model's numbers as a line with a band of their intervals."""
    share, low, high = values(rows)
    style = look(index, str(rows[0].model))
    axes.plot(at, share, label=rows[0].model, markersize=5, **style)
    axes.fill_between(at, low, high, color=style["color"], alpha=0.15, linewidth=0)


def by_shots(rows: Sequence[Measure], enough: Mapping[str, float | None], chance: float) -> Figure:
    """Draw accuracy by the number of examples, a line a model with 95 % intervals; dashed: how many are enough."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for index, model in enumerate(_models(rows)):
        rows_of_model = sorted((row for row in rows if row.model == model), key=lambda row: _count(row, "shots"))
        _plot(axes, [_count(row, "shots") for row in rows_of_model], rows_of_model, index)
        if (least := enough.get(model)) is not None:
            axes.axvline(least, color=look(index, model)["color"], linestyle="--", linewidth=1)
    axes.axhline(chance, color=GREY, linestyle=":", linewidth=1)
    unit_axis(axes)
    axes.set_xlabel("examples")
    axes.set_ylabel("accuracy")
    legend(figure, [axes])
    return figure


def against(rows: Sequence[Measure]) -> Figure:
    """Draw each relation's accuracy in a text of many facts (up) by IC-LKE's (across), a panel an experiment.

    Args:
        rows: the accuracy of each model in each relation, by ``experiment``; IC-LKE's is ``in_context``.
    """
    value = {
        (str(at["experiment"]), str(row.model), at["relation"]): row.value
        for row, at in ((row, conditions_of(row)) for row in rows)
    }
    models = _models(rows)
    others = [name for name in dict.fromkeys(name for name, _, _ in value) if name != "in_context"]
    figure = Figure(figsize=(0.8 + 3.2 * len(others), 3.6), layout="constrained")
    panels = figure.subplots(1, len(others), sharey=True, squeeze=False)[0]
    for experiment, axes in zip(others, panels, strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=0)
        for index, model in enumerate(models):
            pairs = [
                (value["in_context", model, relation], found)
                for (name, participant, relation), found in value.items()
                if (name, participant) == (experiment, model) and ("in_context", model, relation) in value
            ]
            across, up = zip(*pairs, strict=True) if pairs else ((), ())
            axes.plot(across, up, linestyle="none", markersize=4, alpha=0.7, label=model, **look(index, model))
        unit_axis(axes)
        axes.set_xlim(-0.02, 1.02)
        axes.set_title(experiment)
        axes.set_xlabel("accuracy, IC-LKE")
    panels[0].set_ylabel("accuracy, many facts in one text")
    legend(figure, panels)
    return figure


def arranged(experiment: str, arrangement: str) -> str:
    """Describe which pairs of a text are replaced, and how they are arranged."""
    return "nothing replaced" if experiment == "as_is" else f"{experiment}, {arrangement}"


def by_place(measures: Sequence[Measure], means: Sequence[Measure]) -> Figure:
    """Draw each object's probability by position, a row of panels a model; the black line is the mean of true pairs."""
    rows = [(row, conditions_of(row)) for row in measures if row.value is not None]
    models = _models(row for row, _ in rows)
    kinds = list(dict.fromkeys((str(at["experiment"]), str(at["arrangement"])) for _, at in rows))
    figure = Figure(figsize=(2.1 * len(kinds) + 0.6, 1.7 * len(models) + 0.9), layout="constrained")
    panels = figure.subplots(len(models), len(kinds), sharex=True, sharey=True, squeeze=False)
    for (line, column), axes in np.ndenumerate(panels):
        model, kind = models[line], kinds[column]
        here = [row for row, at in rows if row.model == model and (at["experiment"], at["arrangement"]) == kind]
        for metric, style in LOOKS.items():
            points = [row for row in here if row.metric == metric]
            places, shares = [_count(row, "place") for row in points], [row.value for row in points]
            axes.plot(places, shares, linestyle="none", **style)
        for row in means:
            at = conditions_of(row)
            if row.model == model and (at["experiment"], at["arrangement"]) == kind and row.value is not None:
                axes.axhline(row.value, color="#000000", linewidth=1)
        unit_axis(axes)
        if line == 0:
            axes.set_title(arranged(*kind).replace(", ", "\n"), fontsize=9)
        if column == 0:
            axes.set_ylabel(f"{model}\nprobability")
    for axes in panels[-1]:
        axes.set_xlabel("position")
    figure.legend(*panels[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def by_prompts(found: Mapping[str, Mapping[str, Point]], methods: Mapping[str, str], chance: float | None) -> Figure:
    """Draw accuracy (x) by model (y) and method, with the standard deviation over prompts as a bar.

    Args:
        found: for each model, the methods that it answered.
        methods: the labels of the methods, in order.
        chance: the accuracy of guessing; none if the object is looked for in a text.
    """
    models = list(found)
    shown = [method for method in methods if any(method in of_model for of_model in found.values())]
    step = 0.8 / max(1, len(shown))
    figure = Figure(figsize=(7.2, 1.0 + 0.16 * max(3, len(shown)) * len(models)), layout="constrained")
    axes = figure.subplots()
    for place, method in enumerate(shown):
        at = [row + (place - (len(shown) - 1) / 2) * step for row, model in enumerate(models) if method in found[model]]
        points = [found[model][method] for model in models if method in found[model]]
        axes.errorbar(
            [point.accuracy for point in points],
            at,
            xerr=[point.deviation or 0.0 for point in points],
            linestyle="none",
            marker=MARKERS[place % len(MARKERS)],
            color=COLOURS[place % len(COLOURS)],
            markersize=5,
            capsize=2,
            label=methods[method],
        )
    if chance is not None:
        axes.axvline(chance, color=GREY, linewidth=1, linestyle="--", zorder=0)
        axes.annotate("chance", (chance, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color=GREY)
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.5, -0.5)
    for row in range(0, len(models), 2):  # shade every second row, so that its points are seen to belong together
        axes.axhspan(row - 0.5, row + 0.5, color="#f2f4f6", zorder=-1, linewidth=0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share with the object" if chance is None else "accuracy")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
