"""BELIEF's figures: calibration, fluctuation between templates, and recall by how often a fact was taught."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.looks import GREY, legend, look, unit_axis, values

DASHES = ("-", "--", ":", "-.")
Lines = Mapping[str, Sequence[tuple[float, Measure]]]  # points by the name of their line


def calibration(lines: Mapping[str, Sequence[tuple[Measure, Measure]]]) -> Figure:
    """Draw accuracy against confidence, a point a bin; on the dashed line confidence is right.

    Args:
        lines: by name, the confidence and the accuracy of each bin.
    """
    points = {name: [(float(one.value or 0), other) for one, other in bins] for name, bins in lines.items()}
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axes.set(xlabel="mean confidence of the bin", ylabel="accuracy of the bin", xlim=(-0.02, 1.02))
    _draw(axes, points)
    legend(figure, [axes])
    return figure


def by_dose(lines: Lines, ylabel: str) -> Figure:
    """Draw numbers by how often a fact was taught, with 95 % intervals."""
    doses = sorted({dose for points in lines.values() for dose, _ in points})
    places = {name: [(doses.index(dose), row) for dose, row in points] for name, points in lines.items()}
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    _draw(axes, places)
    axes.set_xticks(range(len(doses)), [f"{dose:g}" for dose in doses])
    axes.set(xlabel="times taught", ylabel=ylabel)
    legend(figure, [axes])
    return figure


def fluctuation(rows: Sequence[tuple[str, float, float, float, float]]) -> Figure:
    """Draw accuracies from the worst to the best template of each relation, and one deviation between prompt sets.

    Args:
        rows: of each model as it is asked: its name, accuracy, deviation, and accuracy with the worst and best.
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


def _draw(axes: Axes, lines: Lines) -> None:
    """Draw lines with their intervals, each in the colour of the model that its name begins with, a dash a way."""
    ways = list(dict.fromkeys(name.partition(", ")[2] for name in lines))
    for index, (name, points) in enumerate(lines.items()):
        model, _, way = name.partition(", ")
        value, low, high = values([row for _, row in points])
        axes.errorbar(
            [place for place, _ in points],
            value,
            [value - low, high - value],
            label=name,
            linewidth=1,
            elinewidth=0.5,
            linestyle=DASHES[ways.index(way) % len(DASHES)],
            **look(index, model),
        )
    unit_axis(axes)
