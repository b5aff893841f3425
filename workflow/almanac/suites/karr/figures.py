"""KaRR's figures: the share of facts called known by threshold, by relation, and by model size."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from almanac.rows import Measure
from almanac.suites.chapter import Shown
from almanac.suites.karr.asking import FACTS, NULL
from almanac.suites.looks import STROKES, intervals, least, legend, look, unit_axis

MOST_RELATIONS = 30  # as many as the paper draws
SIDE_BY_SIDE = 56  # letters of names that fit below the axis of sizes; more are rotated


def by_threshold(shown: Shown, modes: Mapping[str, str]) -> Figure:
    """Draw the share of facts that reach each threshold (log scale), a panel a mode; dashed with a false object."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(modes), sharey=True, squeeze=False)[0])
    for axes, (mode, title) in zip(panels, modes.items(), strict=True):
        for index, model in enumerate(shown.models):
            style_of_model = look(index, model.name)
            for asked, style in ((FACTS, "-"), (NULL, "--")):
                rows = shown.find("known_at", "ratio", model=model.name, experiment=mode, asked=asked)
                _line(axes, rows, style, label=model.name if asked == FACTS else None, markersize=4, **style_of_model)
            threshold = shown.one("threshold", model.name, experiment=mode, asked=FACTS)
            if threshold is not None:
                axes.axvline(threshold.value or 1.0, color=style_of_model["color"], linewidth=0.8, linestyle=":")
        _log_scale(axes)
        unit_axis(axes)
        axes.set_title(title)
        axes.set_xlabel("KaRR")
    panels[0].set_ylabel("share of facts above")
    legend(figure, panels)
    return figure


def by_relation(shown: Shown, mode: str, named: Sequence[str] = ()) -> Figure:
    """Draw the share of facts that reach each threshold, a panel a relation, a line a model.

    Relations are those of ``named``, in this order, or the `MOST_RELATIONS` with most facts.
    """
    facts: dict[str, int] = {}
    for row in shown.valued("known", "relation", experiment=mode, asked=FACTS):
        facts.setdefault(str(shown.at(row)["relation"]), row.n)
    most = sorted(facts, key=lambda relation: (-facts[relation], relation))[:MOST_RELATIONS]
    relations = list(named) or most
    columns = min(4, len(relations))
    lines = -(-len(relations) // columns)
    figure = Figure(figsize=(7.2, 0.9 + 1.5 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes, relation in zip(grid.flat, relations, strict=False):
        for index, model in enumerate(shown.models):
            rows = shown.find("known_at", "ratio", model=model.name, experiment=mode, asked=FACTS, relation=relation)
            _line(axes, rows, "-", label=model.name, markersize=3, linewidth=1, **look(index, model.name))
        _log_scale(axes)
        axes.set_title(_short(shown.relations.get(relation, relation)), fontsize=8)
    for axes in grid.flat[len(relations) :]:
        axes.set_visible(False)
    for axes in grid.flat[len(relations) - columns : len(relations)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("KaRR")
    for axes in grid.flat:
        unit_axis(axes)
    legend(figure, list(grid.flat[: len(relations)]))
    figure.supylabel("share of facts above", fontsize=9)
    return figure


def sizes(shown: Shown) -> dict[str, int]:
    """Return the number of parameters of each model that states it, without models of permuted facts."""
    return {model.name: model.parameters for model in shown.models if model.parameters and not model.permuted}


def by_size(shown: Shown, names: Mapping[str, str]) -> Figure:
    """Draw the share called known by the number of parameters (log scale), with 95 % intervals.

    Each method has a colour and each model family a line style. A line joins the models of a family; if no family has
    two models, it joins all of them. ``names`` gives the methods, in order, with their labels.
    """
    parameters = sizes(shown)
    known = {name: shown.valued("known", experiment=name, asked=FACTS) for name in names}
    sized = {name: [row for row in rows if row.model in parameters] for name, rows in known.items()}
    drawn = {name: rows for name, rows in sized.items() if rows}
    place = {str(row.model): (parameters[str(row.model)], str(row.model)) for rows in drawn.values() for row in rows}
    models = sorted(place, key=place.__getitem__)
    families = {model.name: model.series for model in shown.models if model.name in place}
    # A family with a single model has no line.
    several = [family for family, count in Counter(families.values()).items() if count > 1]
    strokes = {family: STROKES[at % len(STROKES)] for at, family in enumerate(several)}
    reach = max(1.5, parameters[models[-1]] / parameters[models[0]])
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for index, (experiment, unsorted) in enumerate(drawn.items()):
        rows = sorted(unsorted, key=lambda row: place[str(row.model)])
        # Methods are offset a little, so that intervals at one size do not hide each other.
        at = np.array([parameters[str(row.model)] for row in rows]) * reach ** (0.008 * (index - len(drawn) / 2))
        intervals(axes, at, rows, index, label=names[experiment], linestyle="none" if strokes else "-")
        for family, stroke in strokes.items():
            line = [(x, row.value) for x, row in zip(at, rows, strict=True) if families[str(row.model)] == family]
            if len(line) > 1:
                axes.plot(*zip(*line, strict=True), color=look(index)["color"], linestyle=stroke)
    if len(strokes) > 1:
        for family, stroke in strokes.items():
            axes.plot([], [], color="grey", linestyle=stroke, label=family)
    axes.set_xscale("log")
    groups = _of_like_size(models, parameters, reach**0.1)
    counts = [" / ".join(dict.fromkeys(_parameters(parameters[model]) for model in group)) for group in groups]
    named = ["\n".join([*group, count]) for group, count in zip(groups, counts, strict=True)]
    letters = sum(max(map(len, group)) for group in groups)
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if letters > SIDE_BY_SIDE else {}
    axes.set_xticks([parameters[group[0]] for group in groups], named, **turned)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("parameters")
    axes.set_ylabel("share called known")
    unit_axis(axes)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _of_like_size(models: Sequence[str], parameters: Mapping[str, int], factor: float) -> list[list[str]]:
    """Group models, sorted by size, whose names would overlap on the axis."""
    groups: list[list[str]] = []
    for model in models:
        if groups and parameters[model] < parameters[groups[-1][0]] * factor:
            groups[-1].append(model)
        else:
            groups.append([model])
    return groups


def _line(axes: Axes, rows: Sequence[Measure], style: str, **line_style: Any) -> None:
    """Draw shares by threshold; nothing if none has a value."""
    points = sorted((least(row, "ratio"), row.value) for row in rows if row.value is not None)
    if points:
        axes.plot(*zip(*points, strict=True), style, **line_style)


def _log_scale(axes: Axes) -> None:
    """Use a log scale with plain numbers as tick labels: rendering powers as formulas is by far the slowest step."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _short(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:25]}…"


def _parameters(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)
