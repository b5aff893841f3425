"""The look of all figures: colours for colour-blind readers, and markers that also work in greyscale."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from almanac.rows import Measure
from almanac.suites.judged import Range, conditions_of

# Okabe and Ito's palette, distinguishable for colour-blind readers and, in this order, in greyscale; plus Tol's wine.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
MARKERS = "osD^vPX"
STROKES = ("-", "--", ":", "-.")  # line styles of a model's lines, or of families
GREY = "#777777"
GREYS = ("#555555", "#999999")  # for models that were taught nothing true
APART, SPAN = 0.05, 0.4  # largest offset between adjacent lines, and of all together, as shares of a step on the axis
MANY = 6  # with more lines, the bars of intervals are thin
NAMED = {"dose": "times taught"}  # axis labels of conditions
NEXT_TO, LONG = 10, 36  # a legend of at most so many names, of so many letters, is next to the panels, else below them
COLUMN, LETTER = 1.8, 0.062  # inches: least width of a column of the legend below, and the width of a letter
LINE = 0.17  # inches by which each line of that legend makes the figure taller
LIGHT = 0.179  # relative luminance above which black contrasts more than white does (WCAG 2.2, 1.4.3)


# Colour and marker of each model of the current edition.
_looks: ContextVar[Mapping[str, Mapping[str, Any]]] = ContextVar("looks")


@contextmanager
def coloured(looks: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Give each of these models its colour and marker in every figure that is drawn inside this context."""
    token = _looks.set(looks)
    try:
        yield
    finally:
        _looks.reset(token)


def look(index: int, model: str | None = None) -> dict[str, Any]:
    """Return colour and marker of a model, the same in all figures of an edition; by default those of a line number."""
    # Every len(COLOURS) lines the colours get other markers.
    marker = MARKERS[(index + index // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, **_looks.get({}).get(model or "", {})}


def least(row: Measure, column: str) -> float:
    """Return the lower bound of a number's condition on a column."""
    reached = conditions_of(row)[column]
    assert isinstance(reached, Range) and reached.least is not None
    return reached.least


def values(rows: Sequence[Measure]) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the values, lower and upper limits of numbers, each ``(rows,)``; NaN for null."""
    return tuple(np.array([getattr(row, name) for row in rows], dtype=float) for name in ("value", "low", "high"))


def intervals(
    axes: Axes, at: npt.ArrayLike, rows: Sequence[Measure], index: int, model: str | None = None, **style: Any
) -> None:
    """Draw numbers with their intervals as a line in a model's look; a number without an interval is a mere point.

    ``index`` is the line number, which determines the look if there is no model; ``style`` overrides the usual look.
    """
    own, low, high = values(rows)
    # Rounding may put a limit on the wrong side of its number, but matplotlib refuses bars of negative length.
    reach = np.nan_to_num(np.maximum([own - low, high - own], 0))
    usual = {"capsize": 2, "markersize": 4, "linewidth": 1.2, "elinewidth": 0.9}
    axes.errorbar(at, own, yerr=reach, **{**usual, **look(index, model), **style})


def apart(lines: int) -> float:
    """Return the offset between adjacent lines, so that no interval hides another."""
    return min(APART, SPAN / max(1, lines))


def lines_along(
    rows: Sequence[Measure],
    along: str,
    ylabel: str,
    order: Sequence[Any] = (),
    panel: Callable[[Measure], str] = lambda row: "",
    way: Callable[[Measure], str] = lambda row: "",
    chance: float | None = None,
    **ticks: Any,
) -> Figure:
    """Draw numbers with their intervals over the values of a condition, one line for each model and way of asking.

    Args:
        rows: numbers of one metric that have a value, at least one.
        along: the column of the condition, on the horizontal axis.
        ylabel: the label of the vertical axis.
        order: values of the condition in order; any others follow, sorted.
        panel: returns the title of a number's panel; panels are in the order of their first numbers.
        way: returns how a number's items were asked, if models have several lines; each way has its own line style.
        chance: the accuracy of a guess, to draw as a line; None: no line.
        ticks: text properties of the tick labels.
    """
    found: set[Any] = {conditions_of(row)[along] for row in rows}
    places = [*(one for one in order if one in found), *sorted(found - set(order))]

    def place(row: Measure) -> int:
        return places.index(conditions_of(row)[along])

    points: dict[tuple[str, str, str], list[Measure]] = defaultdict(list)
    for row in sorted(rows, key=place):
        points[panel(row), str(row.model), way(row)].append(row)
    names = list(dict.fromkeys(map(panel, rows)))
    lines = list(dict.fromkeys((str(row.model), way(row)) for row in rows))
    models, ways = (list(dict.fromkeys(own)) for own in zip(*lines, strict=True))
    shift = apart(len(lines))
    fine: dict[str, Any] = {"capsize": 0, "elinewidth": 0.5} if len(lines) > MANY else {}
    figure = Figure(figsize=(max(6.4, 1.6 + 1.9 * len(names)), 3.6), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(names), sharey=True, squeeze=False)[0])
    for axes, name in zip(panels, names, strict=True):
        for index, (model, asked) in enumerate(lines):
            if own := points.get((name, model, asked)):
                at = [place(row) + shift * index for row in own]
                label = f"{model}, {asked}" if asked else model
                stroke = STROKES[ways.index(asked) % len(STROKES)]
                intervals(axes, at, own, models.index(model), model, label=label, linestyle=stroke, **fine)
        axes.set_title(name)
        axes.set_xticks(range(len(places)), list(map(str, places)), **ticks)
        axes.set_xlim(-0.3, len(places) - 1 + SPAN + 0.2)
        axes.set_xlabel(NAMED.get(along, ""))
        if chance is None:
            unit_axis(axes)
        else:
            chance_line(axes, chance)
    panels[0].set_ylabel(ylabel)
    legend(figure, panels)
    return figure


def unit_axis(axes: Axes) -> None:
    """Set the vertical axis to 0 to 1, and remove the frame above and to the right."""
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)


def chance_line(axes: Axes, chance: float) -> None:
    """Draw chance as a labelled dashed line."""
    axes.axhline(chance, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.annotate("  chance", (1, chance), xycoords=("axes fraction", "data"), ha="left", va="center", color=GREY)
    unit_axis(axes)


def write_cells(image: AxesImage, shown: Callable[[float], str], size: float | str = "small") -> None:
    """Write its value into each cell of a heat map, in black or white, whichever contrasts more with the cell."""
    grid: npt.NDArray[np.float64] = np.ma.filled(np.ma.asarray(image.get_array()), np.nan)
    red, green, blue, _ = np.moveaxis(image.to_rgba(grid) ** 2.2, -1, 0)  # roughly linear light
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            ink = "black" if light[row, column] else "white"
            cell = image.axes.text(column, row, shown(value), ha="center", va="center", color=ink, fontsize=size)
            cell.set_in_layout(False)  # cells lie within the axes, and measuring them all is slow


def hundredths(value: float) -> str:
    """Return a number between -1 and 1 with two decimals: .62, -.05; 0 never has a sign."""
    return f"{value:z.2f}".replace("0.", ".")


def columns(width: float, names: Collection[str], most: int) -> int:
    """Return the largest number of columns, up to ``most``, into which names fit in a width (inches) without cuts."""
    return max(1, min(most, int(width / (0.5 + LETTER * max(map(len, names))))))


def legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Add one legend for all panels, outside of them, with every line once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    place: dict[str, Any] = {"loc": "outside right upper"}
    if len(found) > NEXT_TO or max(map(len, found)) > LONG:
        across = columns(figure.get_figwidth(), found, most=int(figure.get_figwidth() / COLUMN))
        figure.set_figheight(figure.get_figheight() + LINE * -(-len(found) // across))
        place = {"loc": "outside lower center", "ncols": across}
    figure.legend(list(found.values()), list(found), frameon=False, fontsize="small", **place)
