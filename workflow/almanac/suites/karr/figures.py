"""KaRR's figures: the share of facts called known by threshold, by relation, by dose, and by the models' sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from almanac.rows import Measure
from almanac.suites.karr.requests import FACTS, NULL

# Okabe and Ito's palette, with markers that tell lines apart in grey.
LOOKS: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "marker": marker}
    for colour, marker in zip(
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"), "osD^vPX", strict=True
    )
)
MOST_RELATIONS = 12  # panels that a reader takes in


def by_threshold(measures: Sequence[Measure], modes: Sequence[str]) -> Figure:
    """Draw, a panel a mode, the share of facts over each threshold (log scale); the null of each model dashed."""
    rows = [row for row in _curves(measures) if row.relation_id is None]
    models = list(dict.fromkeys(row.model for row in rows))
    figure, panels = _panels(modes)
    for axes, mode in zip(panels, modes, strict=True):
        for index, model in enumerate(models):
            look = LOOKS[index % len(LOOKS)]
            for setting, style in ((FACTS, "-"), (NULL, "--")):
                own = [row for row in rows if (row.experiment, row.model, row.setting) == (mode, model, setting)]
                _line(axes, own, style, label=model if setting == FACTS else None, markersize=4, **look)
            for row in measures:
                if (row.metric, row.experiment, row.model, row.setting) == ("threshold", mode, model, FACTS):
                    axes.axvline(row.value or 1.0, color=look["color"], linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_xlabel("KaRR")
    panels[0].set_ylabel("share of facts above")
    panels[-1].legend(frameon=False)
    return figure


def by_relation(measures: Sequence[Measure], mode: str, labels: Mapping[str, str]) -> Figure:
    """Draw, a panel a relation, the share of its facts over each threshold, a line a model.

    Args:
        measures: of one dataset; of many relations those with most facts are drawn.
        mode: paper or official.
        labels: the relations' names.
    """
    rows = [row for row in _curves(measures) if row.relation_id is not None and row.experiment == mode]
    models = list(dict.fromkeys(row.model for row in rows))
    facts = {str(row.relation_id): row.n for row in rows}
    shown = sorted(facts, key=lambda relation: (-facts[relation], relation))[:MOST_RELATIONS]
    columns = min(4, len(shown))
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(7.2, 0.9 + 1.5 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes, relation in zip(grid.flat, shown, strict=False):
        for index, model in enumerate(models):
            own = [row for row in rows if (row.relation_id, row.model) == (relation, model)]
            _line(axes, own, "-", label=model, markersize=3, linewidth=1, **LOOKS[index % len(LOOKS)])
        axes.set_xscale("log")
        title = axes.set_title(_short(labels.get(relation, relation)), fontsize=8)
        title.set_parse_math(False)  # a relation's name may hold dollar signs
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes in grid.flat[max(0, len(shown) - columns) : len(shown)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("KaRR")
    for axes in grid.flat:
        axes.set_ylim(-0.02, 1.02)
        axes.spines[["top", "right"]].set_visible(False)
    handles, names = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(models), frameon=False)
    figure.supylabel("share of facts above", fontsize=9)
    return figure


def by_size(measures: Sequence[Measure], sizes: Mapping[str, int], names: Mapping[str, str]) -> Figure:
    """Draw the share called known by the number of parameters (log scale), a line a method, with 95 % intervals.

    Args:
        measures: of one dataset.
        sizes: parameters by model.
        names: the methods' names by experiment; they are drawn in this order.
    """
    rows = [row for row in scores(measures) if row.model in sizes]
    models = sorted({row.model for row in rows}, key=lambda model: (sizes[model], model))
    reach = max(1.5, sizes[models[-1]] / sizes[models[0]])
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    shown = [name for name in names if any(row.experiment == name for row in rows)]
    for index, experiment in enumerate(shown):
        own = sorted(
            (row for row in rows if row.experiment == experiment), key=lambda row: (sizes[row.model], row.model)
        )
        # Each method stands a little apart, so that intervals at one size do not hide each other.
        at = np.array([sizes[row.model] for row in own]) * reach ** (0.008 * (index - len(shown) / 2))
        _intervals(axes, at, own, names[experiment], index)
    axes.set_xscale("log")
    groups = _of_like_size(models, sizes, reach**0.1)
    axes.set_xticks(
        [sizes[group[0]] for group in groups],
        [
            "\n".join([*group, " / ".join(dict.fromkeys(_parameters(sizes[model]) for model in group))])
            for group in groups
        ],
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("parameters")
    axes.set_ylabel("share called known")
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _of_like_size(models: Sequence[str], sizes: Mapping[str, int], factor: float) -> list[list[str]]:
    """Divide models, smallest first, into groups whose names would stand over each other on the axis."""
    groups: list[list[str]] = []
    for model in models:
        if groups and sizes[model] < sizes[groups[-1][0]] * factor:
            groups[-1].append(model)
        else:
            groups.append([model])
    return groups


def scores(measures: Sequence[Measure]) -> list[Measure]:
    """Return the rows of the share called known, of all true facts together."""
    return [
        row
        for row in measures
        if (row.metric, row.setting, row.relation_id) == ("known", FACTS, None) and row.value is not None
    ]


def by_exposure(measures: Sequence[Measure], modes: Sequence[str]) -> Figure:
    """Draw, a panel a mode, the share called known by the number of times a fact was taught, with 95 % intervals."""
    rows = [row for row in measures if row.metric == "accuracy_by_exposure" and row.value is not None]
    doses = sorted({row.exposure for row in rows if row.exposure is not None})
    figure, panels = _panels(modes)
    for axes, mode in zip(panels, modes, strict=True):
        for index, model in enumerate(dict.fromkeys(row.model for row in rows)):
            own = sorted(
                (row for row in rows if (row.experiment, row.model) == (mode, model)), key=lambda row: row.exposure or 0
            )
            at = np.array([doses.index(row.exposure or 0) for row in own]) + 0.06 * index
            _intervals(axes, at, own, model, index)
        axes.set_xticks(range(len(doses)), [str(dose) for dose in doses])
        axes.set_xlabel("times a fact was taught")
    panels[0].set_ylabel("share called known")
    panels[-1].legend(frameon=False, loc="upper left")
    return figure


def _curves(measures: Sequence[Measure]) -> list[Measure]:
    return [row for row in measures if row.metric == "known_at" and row.value is not None]


def _panels(modes: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel a mode, shares upwards."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(modes), sharey=True, squeeze=False)[0])
    for axes, mode in zip(panels, modes, strict=True):
        axes.set_title(mode)
        axes.set_ylim(-0.02, 1.02)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _line(axes: Axes, rows: Sequence[Measure], style: str, **look: Any) -> None:
    """Draw shares by threshold."""
    own = sorted(rows, key=lambda row: row.level or 0.0)
    axes.plot([row.level or 0.0 for row in own], [row.value or 0.0 for row in own], style, **look)


def _intervals(axes: Axes, at: Any, rows: Sequence[Measure], label: str, index: int) -> None:
    """Draw shares with their intervals."""
    share, low, high = (np.array([getattr(row, name) for row in rows], dtype=float) for name in SIDES)
    reach = np.maximum([share - low, high - share], 0)
    axes.errorbar(at, share, yerr=reach, label=label, capsize=2, markersize=4, **LOOKS[index % len(LOOKS)])


def _short(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:25]}…"


def _parameters(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)


SIDES = ("value", "low", "high")
