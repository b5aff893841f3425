"""IC-LKE's figures: accuracy by model and relation, accuracy by exposure, accuracy@K."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from almanac.rows import Measure
from almanac.suites.ic_lke.requests import IN_CONTEXT

# Okabe and Ito's palette: told apart by colour-blind readers, and in this order also in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
GREY = "#777777"


def by_relation(measures: Sequence[Measure], labels: Mapping[str, str]) -> Figure:
    """Draw accuracy by relation (rows, best first) and model (columns) as a heat map with its numbers.

    Args:
        measures: rows of one dataset and experiment; those of ``accuracy`` with a relation are drawn.
        labels: the relations' names.
    """
    rows = [row for row in measures if row.metric == "accuracy" and row.relation_id and row.value is not None]
    models = list(dict.fromkeys(row.model for row in rows))
    value = {(row.relation_id, row.model): row.value for row in rows}
    means = {
        relation: float(np.mean([value[relation, model] for model in models if (relation, model) in value]))
        for relation in {row.relation_id for row in rows}
    }
    relations = sorted(means, key=lambda relation: (-means[relation], relation))
    grid = np.array([[value.get((relation, model), np.nan) for model in models] for relation in relations], dtype=float)
    figure = Figure(figsize=(3.6 + 1.0 * len(models), 0.9 + 0.27 * len(relations)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(models)), models)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(relations)), [labels.get(str(relation), str(relation)) for relation in relations])
    axes.tick_params(length=0)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)  # a relation's name may hold dollar signs
    for (row, column), share in np.ndenumerate(grid):
        if not np.isnan(share):
            axes.text(
                column, row, _percent(share), ha="center", va="center", color="black" if share > 0.55 else "white"
            )
    axes.spines[:].set_visible(False)
    return figure


def by_exposure(measures: Sequence[Measure], chance: float) -> Figure:
    """Draw accuracy by the number of times a fact was taught, a line a model and experiment, with 95 % intervals."""
    rows = [row for row in measures if row.metric == "accuracy_by_exposure" and row.value is not None]
    doses = sorted({row.exposure for row in rows if row.exposure is not None})
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for index, (model, experiment) in enumerate(dict.fromkeys((row.model, row.experiment) for row in rows)):
        own = [row for row in rows if (row.model, row.experiment) == (model, experiment)]
        own.sort(key=lambda row: row.exposure or 0)
        at = np.array([doses.index(row.exposure or 0) for row in own]) + 0.05 * index
        share, low, high = (
            np.array([getattr(row, name) for row in own], dtype=float) for name in ("value", "low", "high")
        )
        label = model if experiment == IN_CONTEXT else f"{model} ({experiment})"
        look: Any = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
        reach = np.maximum([share - low, high - share], 0)
        axes.errorbar(at, share, yerr=reach, label=label, capsize=2, markersize=5, **look)
    _chance_line(axes, chance)
    axes.set_xticks(range(len(doses)), [str(dose) for dose in doses])
    axes.set_xlabel("times a fact was taught")
    axes.set_ylabel("accuracy")
    axes.legend(frameon=False, loc="upper left")
    return figure


def accuracy_at_k(measures: Sequence[Measure], chance: float) -> Figure:
    """Draw accuracy over the facts answered with at least confidence K, and below it how many these are."""
    rows = [row for row in measures if row.metric == "accuracy_at_k"]
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for index, model in enumerate(dict.fromkeys(row.model for row in rows)):
        own = sorted((row for row in rows if row.model == model), key=lambda row: row.level or 0.0)
        level = np.array([row.level for row in own], dtype=float)
        share, low, high = (
            np.array([getattr(row, name) for row in own], dtype=float) for name in ("value", "low", "high")
        )
        colour = COLOURS[index % len(COLOURS)]
        upper.plot(level, share, label=model, color=colour, marker=MARKERS[index % len(MARKERS)], markersize=5)
        upper.fill_between(level, low, high, color=colour, alpha=0.15, linewidth=0)
        lower.plot(
            level, [row.n or np.nan for row in own], color=colour, marker=MARKERS[index % len(MARKERS)], markersize=4
        )
    _chance_line(upper, chance)
    upper.set_ylabel("accuracy")
    upper.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.08))  # above the line of chance
    lower.set_ylabel("facts")
    lower.set_yscale("log")  # the points on the right stand for few facts, and it must be seen how few
    lower.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0)))
    lower.yaxis.set_major_formatter(ScalarFormatter())
    lower.yaxis.set_minor_formatter(NullFormatter())
    lower.grid(axis="y", color="#e8eaed", linewidth=0.8)
    lower.spines[["top", "right"]].set_visible(False)
    lower.set_xlabel("K: least confidence (share of the chosen object)")
    return figure


def _chance_line(axes: Axes, chance: float) -> None:
    axes.axhline(chance, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.annotate("  chance", (1, chance), xycoords=("axes fraction", "data"), ha="left", va="center", color=GREY)
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)


def _percent(share: float) -> str:
    return f"{share * 100:.0f}"
