"""Figures of many models: each line has a look of its own, and its name stands where it can be read."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from almanac.report.drawing import svg
from almanac.rows import Measure
from almanac.suites.judged import as_text, conditions_of
from almanac.suites.looks import STROKES, hundredths, intervals, legend, lines_along, look, write_cells


def test_as_many_models_as_the_largest_paper_has_look_different():
    assert len({tuple(look(place).values()) for place in range(49)}) == 49


@pytest.mark.parametrize(
    ("count", "name"), [(1, "model"), (10, "model"), (11, "model"), (49, "model"), (12, "Llama-" * 11)]
)
def test_every_name_stands_outside_of_the_panels_which_keep_their_room(count, name):
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    first, second = figure.subplots(1, 2)
    for place in range(count):
        (first, second)[place % 2].plot([0, 1], [place, 1], label=f"{name}-{place}", **look(place))
    legend(figure, [first, second])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of axes that a legend leaves no room
        svg(figure)
    renderer = figure.canvas.get_renderer()
    named = figure.legends[0].get_window_extent(renderer)
    assert len(figure.legends[0].get_texts()) == count
    assert figure.bbox.x0 <= named.x0 and named.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= named.y0 and named.y1 <= figure.bbox.y1
    for axes in (first, second):
        assert not axes.get_window_extent(renderer).overlaps(named)
        assert axes.get_window_extent(renderer).height > figure.dpi * 2
        assert axes.get_window_extent(renderer).width > figure.dpi * 2


def test_a_figure_without_lines_has_no_legend():
    figure = Figure(layout="constrained")
    legend(figure, [figure.subplots()])
    assert not figure.legends


def luminance(colour) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in to_rgb(colour)]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", ["cividis", "RdBu"])
def test_a_cell_s_value_can_be_read_on_every_colour_of_its_map(colours):
    axes = Figure().subplots()
    grid = np.append(np.linspace(-1, 1, 401), np.nan).reshape(1, -1)
    image = axes.imshow(grid, cmap=colours, vmin=-1, vmax=1)
    write_cells(image, "{:.2f}".format)
    assert len(axes.texts) == 401  # an empty cell says nothing
    for cell, value in zip(axes.texts, grid[0], strict=False):
        assert cell.get_text() == f"{value:.2f}"
        dark, light = sorted([luminance(cell.get_color()), luminance(image.cmap(image.norm(value)))])
        assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, 1.4.3


@pytest.mark.parametrize(
    ("value", "shown"), [(0.62, ".62"), (-0.05, "-.05"), (-0.001, ".00"), (0.004, ".00"), (1, "1.00"), (-1, "-1.00")]
)
def test_a_cell_shows_hundredths_and_zero_has_no_sign(value, shown):
    assert hundredths(value) == shown


def number(value, model="m", low=None, high=None, **where):
    of = ("s", "d", model, None, "accuracy", as_text(where), "mean", ())
    return Measure(*of, value, low, high, None, 9, 5, 4, 0, 0, 0)


def ends(box):
    """The lower and upper ends of the bars of a line."""
    [bars] = box.lines[2]
    return [pytest.approx(segment[:, 1].tolist()) for segment in bars.get_segments()]


def test_a_bar_reaches_from_limit_to_limit_and_a_number_without_one_is_a_point():
    axes = Figure().subplots()
    rows = [number(0.5, low=0.4, high=0.7), number(0.2), number(1.0, low=0.9, high=1.0 - 1e-12)]
    intervals(axes, range(3), rows, 0, "m", label="m", linestyle="none")
    [box] = axes.containers
    assert box.lines[0].get_xydata().tolist() == [[0, 0.5], [1, 0.2], [2, 1.0]]
    assert ends(box) == [[0.4, 0.7], [0.2, 0.2], [0.9, 1.0]]
    assert box.lines[0].get_linestyle() == "None" and box.lines[0].get_color() == look(0)["color"]


def lines(axes):
    """The place and value of each point of a panel, by the label of its line."""
    found = {box.get_label(): box.lines[0].get_xydata().tolist() for box in axes.containers}
    return {label: [(round(at), value) for at, value in points] for label, points in found.items()}


def test_a_line_goes_along_the_values_of_a_condition_whatever_order_its_numbers_have():
    found = {"a": {64: 0.9, 0: 0.1, 8: 0.4}, "b": {0: 0.2, 64: 0.7}}
    figure = lines_along(
        [number(value, m, dose=dose) for m, own in found.items() for dose, value in own.items()], "dose", "accuracy"
    )
    [axes] = figure.axes
    assert lines(axes) == {"a": [(0, 0.1), (1, 0.4), (2, 0.9)], "b": [(0, 0.2), (2, 0.7)]}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "8", "64"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("times taught", "accuracy")
    [names] = figure.legends
    assert [text.get_text() for text in names.get_texts()] == ["a", "b"]


def test_panels_and_strokes_tell_apart_what_is_asked_in_several_ways():
    """Two panels in the order of their first numbers; of a model's lines each way has a stroke, and all its colour."""
    rows = [
        number(value, model, kind=kind, way=way, context=context)
        for kind in ("second", "first")
        for model, way, value in (("a", "", 0.1), ("b", "", 0.2), ("a", "cloze", 0.3))
        for context in ("new", "relevant", "none")
        if (kind, way) != ("first", "cloze")
    ]
    figure = lines_along(
        rows, "context", "F1", ("none", "relevant", "absent"), lambda row: conditions_of(row)["kind"],
        lambda row: conditions_of(row)["way"], chance=0.25,
    )  # fmt: skip
    second, first = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["second", "first"]
    assert {name: len(points) for name, points in lines(second).items()} == {"a": 3, "b": 3, "a, cloze": 3}
    assert set(lines(first)) == {"a", "b"}
    assert [label.get_text() for label in first.get_xticklabels()] == ["none", "relevant", "new"]
    drawn = {box.get_label(): box.lines[0] for box in second.containers}
    assert [line.get_linestyle() for line in drawn.values()] == [STROKES[0], STROKES[0], STROKES[1]]
    assert drawn["a"].get_color() == drawn["a, cloze"].get_color() != drawn["b"].get_color()
    assert [line.get_ydata()[0] for line in second.get_lines() if list(line.get_xdata()) == [0, 1]] == [0.25]


def test_lines_stand_apart_and_within_the_room_of_their_value():
    rows = [number(0.5, f"m{at}", dose=dose) for at in range(30) for dose in (0, 4)]
    [axes] = lines_along(rows, "dose", "accuracy").axes
    starts = [box.lines[0].get_xdata()[0] for box in axes.containers]
    assert len(set(starts)) == 30 and min(starts) >= 0 and max(starts) < 0.5
