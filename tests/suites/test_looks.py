"""Figures of many models: each line has a look of its own, and its name stands where it can be read."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from almanac.report.drawing import svg
from almanac.suites.looks import legend, look, write_cells


def test_as_many_models_as_the_largest_paper_has_look_different():
    assert len({tuple(look(place).values()) for place in range(49)}) == 49


@pytest.mark.parametrize("count", [1, 10, 11, 49])
def test_every_name_stands_outside_of_the_panels_which_keep_their_room(count):
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    first, second = figure.subplots(1, 2)
    for place in range(count):
        (first, second)[place % 2].plot([0, 1], [place, 1], label=f"model-{place}", **look(place))
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
