"""BELIEF's figures: calibration, and fluctuation between templates."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.looks import GREY, STROKES, intervals, legend, look, unit_axis


def calibration(lines: Mapping[str, Sequence[tuple[Measure, Measure]]]) -> Figure:
    """Draw accuracy against confidence, one point per bin; on the dashed line a model is calibrated.

    Args:
        lines: the confidence and the accuracy of each bin, by "model, way of asking".
    """
    ways = list(dict.fromkeys(name.partition(", ")[2] for name in lines))
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axes.set(xlabel="mean confidence of the bin", ylabel="accuracy of the bin", xlim=(-0.02, 1.02))
    for index, (name, bins) in enumerate(lines.items()):
        model, _, way = name.partition(", ")
        at, rows = [confidence.value or 0.0 for confidence, _ in bins], [accuracy for _, accuracy in bins]
        stroke = STROKES[ways.index(way) % len(STROKES)]
        intervals(axes, at, rows, index, model, label=name, linestyle=stroke, capsize=0, linewidth=1, elinewidth=0.5)
    unit_axis(axes)
    legend(figure, [axes])
    return figure


def fluctuation(rows: Sequence[tuple[str, float, float, float, float]]) -> Figure:
    """Draw accuracy with its standard deviation over prompt sets, and a line from the worst to the best templates.

    Args:
        rows: of each model as asked: name, accuracy, standard deviation, and accuracy with worst and best templates.
    """
    figure = Figure(figsize=(6, 0.8 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for place, (_, accuracy, deviation, worst, best) in enumerate(rows):
        axes.plot([worst, best], [place, place], color=GREY, linewidth=1)
        axes.errorbar([accuracy], [place], xerr=[deviation], color=look(0)["color"], marker="o", capsize=3)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.invert_yaxis()
    axes.set(xlabel="accuracy", xlim=(-0.02, 1.02))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
