"""The prompt baselines' figure: every method's accuracy by model, prompts with their deviation."""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.figure import Figure

from almanac.suites.ic_lke.figures import COLOURS, GREY, MARKERS


class Point(NamedTuple):
    """A method's accuracy, and the deviation over its prompts where it has several."""

    accuracy: float
    deviation: float | None


def by_model(found: Mapping[str, Mapping[str, Point]], methods: Mapping[str, str], chance: float) -> Figure:
    """Draw accuracy (across) by model (down) and method, with the standard deviation over prompts as a bar.

    Args:
        found: of each model the methods that it answered.
        methods: the methods' names as they are shown, in their order.
        chance: accuracy of a guess.
    """
    models = list(found)
    shown = [method for method in methods if any(method in own for own in found.values())]
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
    axes.axvline(chance, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.annotate("chance", (chance, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color=GREY)
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.5, -0.5)
    _band(figure, len(models))
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("accuracy")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _band(figure: Figure, rows: int) -> None:
    """Shade every second row, so that a row's marks are seen to belong together."""
    [axes] = figure.axes
    for row in range(0, rows, 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#f2f4f6", zorder=-1, linewidth=0)
