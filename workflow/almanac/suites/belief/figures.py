"""BELIEF's figures: calibration, fluctuation between templates, and recall by how often a fact was taught."""

from collections.abc import Mapping, Sequence
from typing import Any

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
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    for index, (name, bins) in enumerate(lines.items()):
        confidence, _, _ = values([one for one, _ in bins])
        accuracy, low, high = values([one for _, one in bins])
        axes.errorbar(
            confidence,
            accuracy,
            [accuracy - low, high - accuracy],
            label=name,
            linewidth=1,
            elinewidth=0.5,
            **_line(index, name, list(lines)),
        )
    axes.set(xlabel="mean confidence of the bin", ylabel="accuracy of the bin", xlim=(-0.02, 1.02))
    unit_axis(axes)
    legend(figure, [axes])
    return figure


def by_dose(lines: Lines, ylabel: str) -> Figure:
    """Draw numbers by how often a fact was taught, with 95 % intervals."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    doses = sorted({dose for points in lines.values() for dose, _ in points})
    for index, (name, points) in enumerate(lines.items()):
        value, low, high = values([row for _, row in points])
        places = [doses.index(dose) for dose, _ in points]
        axes.errorbar(
            places,
            value,
            [value - low, high - value],
            label=name,
            linewidth=1,
            elinewidth=0.5,
            **_line(index, name, list(lines)),
        )
    axes.set_xticks(range(len(doses)), [f"{dose:g}" for dose in doses])
    axes.set(xlabel="times taught", ylabel=ylabel)
    unit_axis(axes)
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


def _line(index: int, name: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the look of one of several lines: the colour of the model that its name begins with, a dash a way."""
    ways = list(dict.fromkeys(one.partition(", ")[2] for one in names))
    model, _, way = name.partition(", ")
    return {**look(index, model), "linestyle": DASHES[ways.index(way) % len(DASHES)]}
