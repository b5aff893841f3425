"""The look of all figures: colours that colour-blind readers tell apart, markers that tell lines apart in grey."""

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

# Okabe and Ito's palette: told apart by colour-blind readers, and in this order also in grey; with wine, Tol's.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
MARKERS = "osD^vPX"
STROKES = ("-", "--", ":", "-.")  # of a model's lines, or of families
GREY = "#777777"
GREYS = ("#555555", "#999999")  # of models that were taught nothing true
APART, SPAN = 0.05, 0.4  # of the way from place to place: how far neighbouring lines stand apart at most, and all
MANY = 6  # lines above which the bars of their intervals are fine
NAMED = {"dose": "times taught"}  # what a condition is called below the panels
NEXT_TO, LONG = 10, 36  # names that a legend next to the panels has at most, of so many letters; else it is below,
COLUMN, LETTER = 1.8, 0.062  # in columns each so wide at least, inches, with so much for each letter,
LINE = 0.17  # and the figure grows by so much for each line of them, inches.
LIGHT = 0.179  # relative luminance above which black contrasts more than white does (WCAG 2.2, 1.4.3)


# Colour and marker of each model of the edition that is drawn.
_looks: ContextVar[Mapping[str, Mapping[str, Any]]] = ContextVar("looks")


@contextmanager
def coloured(looks: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Give each of these models its colour and marker in every figure that is drawn inside of this."""
    token = _looks.set(looks)
    try:
        yield
    finally:
        _looks.reset(token)


def look(index: int, model: str | None = None) -> dict[str, Any]:
    """Return colour and marker of a model's line, the same in all figures of an edition; else of the line's number."""
    # After each len(COLOURS) lines every colour has another marker.
    marker = MARKERS[(index + index // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, **_looks.get({}).get(model or "", {})}


def least(row: Measure, column: str) -> float:
    """Return from which value of a column on the items of a number were chosen."""
    reached = conditions_of(row)[column]
    assert isinstance(reached, Range) and reached.least is not None
    return reached.least


def values(rows: Sequence[Measure]) -> tuple[npt.NDArray[np.float64], ...]:
    """Return values, lower and upper limits of numbers, each ``(rows,)``; NaN for none."""
    return tuple(np.array([getattr(row, name) for row in rows], dtype=float) for name in ("value", "low", "high"))


def intervals(
    axes: Axes, at: npt.ArrayLike, rows: Sequence[Measure], index: int, model: str | None = None, **style: Any
) -> None:
    """Draw numbers with their intervals as a line in a model's look; one without an interval is a point alone.

    ``index`` is the place of the line, for its look where there is no model; ``style`` is what differs from the usual
    look.
    """
    own, low, high = values(rows)
    # Rounding may put a limit on the wrong side of its number, and a bar of negative length is refused.
    reach = np.nan_to_num(np.maximum([own - low, high - own], 0))
    usual = {"capsize": 2, "markersize": 4, "linewidth": 1.2, "elinewidth": 0.9}
    axes.errorbar(at, own, yerr=reach, **{**usual, **look(index, model), **style})


def apart(lines: int) -> float:
    """Return how far apart neighbours of so many lines stand, so that no interval hides another."""
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
    """Draw numbers with their intervals along the values of a condition, a line a model and way of asking.

    Args:
        rows: numbers of one metric that have a value, at least one.
        along: the condition.
        ylabel: what the numbers are.
        order: the values that the condition may have, in their order; others stand behind them, sorted.
        panel: the title of the panel that a number stands in; panels stand in the order of their first numbers.
        way: how a number's items were asked, where a model has several lines; each way has its own stroke.
        chance: what a guess has, where that is drawn.
        ticks: the look of the values' names.
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
    """Let the vertical axis go from 0 to 1, without a frame above and to the right."""
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)


def chance_line(axes: Axes, chance: float) -> None:
    """Draw chance as a dashed line with its name."""
    axes.axhline(chance, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.annotate("  chance", (1, chance), xycoords=("axes fraction", "data"), ha="left", va="center", color=GREY)
    unit_axis(axes)


def write_cells(image: AxesImage, shown: Callable[[float], str], size: float | str = "small") -> None:
    """Write its value into each cell of a map, in black or white: what contrasts more with the cell's colour."""
    grid: npt.NDArray[np.float64] = np.ma.filled(np.ma.asarray(image.get_array()), np.nan)
    red, green, blue, _ = np.moveaxis(image.to_rgba(grid) ** 2.2, -1, 0)  # about linear
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            ink = "black" if light[row, column] else "white"
            cell = image.axes.text(column, row, shown(value), ha="center", va="center", color=ink, fontsize=size)
            cell.set_in_layout(False)  # it lies within the axes, and measuring all of them is slow


def hundredths(value: float) -> str:
    """Return a number between -1 and 1 as a map's cells show it: .62, -.05; what rounds to zero has no sign."""
    return f"{value:z.2f}".replace("0.", ".")


def columns(width: float, names: Collection[str], most: int) -> int:
    """Return in how many columns, at most, names stand in a width in inches and none is cut."""
    return max(1, min(most, int(width / (0.5 + LETTER * max(map(len, names))))))


def legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Name every line once, outside of the panels, of which not every one has all lines."""
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
