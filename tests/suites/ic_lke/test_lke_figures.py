"""What figures show is what they were given: read back from what is drawn."""

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from almanac.rows import Comparison, Measure
from almanac.suites import comparison_figures
from almanac.suites.ic_lke.figures import accuracy_at_k
from almanac.suites.ic_lke.prompts.figures import Point, by_model


def at_k(model, level, value, n):
    low, high = (None, None) if value is None else (value - 0.05, value + 0.05)
    return Measure(
        "ic_lke", "d", "in_context", "accuracy_at_k", model, "s", None, None, level, value, low, high, n, 0, 0, 0, 0, 0
    )


def test_every_point_of_accuracy_at_k_stands_above_its_number_of_facts():
    counts = {0.1: 900, 0.5: 40, 0.9: 0}
    rows = [at_k("m", level, None if n == 0 else 0.5, n) for level, n in counts.items()]
    upper, lower = accuracy_at_k(rows, 0.01).axes
    [line] = lower.get_lines()
    assert line.get_xdata().tolist() == list(counts)
    assert line.get_ydata()[:2] == pytest.approx([900, 40])
    assert np.isnan(line.get_ydata()[2]), "a logarithm knows no 0, and no accuracy stands above it"
    drawn = next(line for line in upper.get_lines() if line.get_label() == "m")
    assert np.isnan(drawn.get_ydata()[2])


def test_a_methods_mark_and_bar_are_its_accuracy_and_deviation():
    found = {"small": {"plain": Point(0.3, None), "mined": Point(0.5, 0.1)}, "large": {"mined": Point(0.7, 0.2)}}
    figure = by_model(found, {"plain": "IC-LKE", "mined": "mined", "absent": "never asked"}, 0.01)
    [axes] = figure.axes
    bars = {one.get_label(): one for one in axes.containers if isinstance(one, ErrorbarContainer)}
    assert list(bars) == ["IC-LKE", "mined"]
    marks, _, [reach] = bars["mined"]
    assert marks.get_xdata().tolist() == [0.5, 0.7]
    widths = [segment[1][0] - segment[0][0] for segment in reach.get_segments()]
    assert widths == pytest.approx([0.2, 0.4])
    assert [round(at) for at in marks.get_ydata()] == [0, 1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["small", "large"]


def compared(metric, value, model=None, other=None, relation=None):
    return Comparison("ic_lke", "d", metric, model, other, relation, value, None, None, None, 1)


ROWS = [
    compared("mean_accuracy", 0.8, "b"),
    compared("mean_accuracy", 0.4, "a"),
    compared("mean_accuracy", None, "silent"),
    compared("relation_mean", 0.7, relation="P2"),
    compared("relation_mean", 0.5, relation="P1"),
    compared("accuracy", 0.9, "b", relation="P2"),
    compared("accuracy", 0.7, "b", relation="P1"),
    compared("accuracy", 0.5, "a", relation="P2"),
    compared("pearson", 0.62, "b", "a"),
    compared("series_pearson", None, "B", "B"),
    compared("series_pearson", 0.62, "B", "A"),
    compared("series_pearson", None, "A", "A"),
]


def test_the_heat_map_keeps_the_tables_order_and_leaves_what_was_not_asked_blank():
    figure = comparison_figures.heat_map(ROWS, {"a": "A", "b": "B"}, {"P1": "capital", "P2": "$ author"})
    axes = figure.axes[0]
    [image] = axes.get_images()
    assert np.ma.filled(image.get_array(), -1.0).tolist() == [[0.9, 0.5], [0.7, -1.0]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["b", "a"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$ author", "capital"]
    assert [text.get_text() for text in axes.texts] == ["90", "50", "70"]


def test_a_correlation_stands_on_both_sides_of_the_diagonal():
    figure = comparison_figures.likeness(ROWS)
    [image] = figure.axes[0].get_images()
    grid = np.ma.filled(image.get_array(), -1.0)
    assert grid.tolist() == [[-1.0, 0.62], [0.62, -1.0]]
    assert len(figure.axes) == 2, "families of one model each would only repeat the models; the second is the scale"
