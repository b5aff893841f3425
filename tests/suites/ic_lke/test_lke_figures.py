"""What figures show is what they were given: read back from what is drawn."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.container import ErrorbarContainer

from almanac.rows import Measure
from almanac.suites import comparison_figures
from almanac.suites.ic_lke.figures import Point, accuracy_at_k, against, by_prompts
from almanac.suites.judged import Range, as_text


def measure(metric, value, model=None, other=None, n=1, **where):
    low, high = (None, None) if value is None else (value - 0.05, value + 0.05)
    names = ("ic_lke", "d", model, other, metric, as_text(where))
    return Measure(*names, "other", (), value, low, high, None, n, 0, 0, 0, 0, 0)


def luminance(colour):
    """The relative luminance of a colour, as WCAG 2 defines it."""
    parts = np.array(to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_the_numbers_of_the_map_of_relations_are_readable_on_their_cells():
    rows = [measure("accuracy", at / 10, "m", relation=f"P{at}") for at in range(11)]
    axes = comparison_figures.heat_map(rows, {}).axes[0]
    [image] = axes.get_images()
    names = [text.get_text() for text in axes.texts if text.get_position()[0] < 0]
    assert names == [f"P{at}" for at in range(10, -1, -1)]
    cells = [text for text in axes.texts if min(text.get_position()) >= 0]
    for text, share in zip(cells, image.get_array()[:, 0], strict=True):
        assert text.get_text() == f"{100 * share:.0f}"
        dark, light = sorted([luminance(text.get_color()), luminance(image.to_rgba([share])[0][:3])])
        assert (light + 0.05) / (dark + 0.05) > 3, "the least contrast of large text by WCAG 2, AA"


def test_every_point_of_accuracy_at_k_stands_above_its_number_of_facts():
    counts = {0.1: 900, 0.5: 40, 0.9: 0}
    rows = [
        measure("accuracy_at_k", 0.5 if n else None, "m", n=n, confidence=Range(level)) for level, n in counts.items()
    ]
    upper, lower = accuracy_at_k(rows, 0.01).axes
    [line] = lower.get_lines()
    assert line.get_xdata().tolist() == list(counts)
    assert line.get_ydata()[:2] == pytest.approx([900, 40])
    assert np.isnan(line.get_ydata()[2]), "a logarithm knows no 0, and no accuracy stands above it"
    drawn = next(line for line in upper.get_lines() if line.get_label() == "m")
    assert np.isnan(drawn.get_ydata()[2])


def test_a_relations_point_is_its_accuracy_by_ic_lke_and_in_a_text_of_many_facts():
    """A relation that one of the two has no number of has no point."""
    found = {"in_context": {"a": 0.9, "b": 0.4}, "sequence": {"a": 0.7, "b": 0.5, "c": 0.1}, "isolated": {"b": 0.3}}
    rows = [
        measure("accuracy", value, "m", experiment=experiment, relation=relation)
        for experiment, own in found.items()
        for relation, value in own.items()
    ]
    drawn = {
        axes.get_title(): [line.get_xydata().tolist() for line in axes.get_lines() if line.get_label() == "m"]
        for axes in against(rows).axes
    }
    assert drawn == {"sequence": [[[0.9, 0.7], [0.4, 0.5]]], "isolated": [[[0.4, 0.3]]]}


def test_a_methods_mark_and_bar_are_its_accuracy_and_deviation():
    found = {"small": {"plain": Point(0.3, None), "mined": Point(0.5, 0.1)}, "large": {"mined": Point(0.7, 0.2)}}
    figure = by_prompts(found, {"plain": "IC-LKE", "mined": "mined", "absent": "never asked"}, 0.01)
    [axes] = figure.axes
    bars = {one.get_label(): one for one in axes.containers if isinstance(one, ErrorbarContainer)}
    assert list(bars) == ["IC-LKE", "mined"]
    marks, _, [reach] = bars["mined"]
    assert marks.get_xdata().tolist() == [0.5, 0.7]
    widths = [segment[1][0] - segment[0][0] for segment in reach.get_segments()]
    assert widths == pytest.approx([0.2, 0.4])
    assert [round(at) for at in marks.get_ydata()] == [0, 1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["small", "large"]


ROWS = [
    measure("mean_accuracy", 0.8, "b"),
    measure("mean_accuracy", 0.4, "a"),
    measure("mean_accuracy", None, "silent"),
    measure("pearson", 0.62, "b", "a"),
    measure("series_pearson", None, "B", "B"),
    measure("series_pearson", 0.62, "B", "A"),
    measure("series_pearson", None, "A", "A"),
]


def test_the_heat_map_has_the_best_relation_first_and_leaves_what_was_not_asked_blank():
    rows = [
        measure("relation_accuracy", 0.6, "b", relation="P1"),
        measure("relation_accuracy", 0.9, "b", relation="P2"),
        measure("relation_accuracy", None, "silent", relation="P3"),
        measure("relation_accuracy", 0.5, "a", relation="P2"),
    ]
    figure = comparison_figures.heat_map(rows, {"P1": "capital", "P2": "$ author"}, {"a": "A", "b": "B"})
    axes = figure.axes[0]
    [image] = axes.get_images()
    assert np.ma.filled(image.get_array(), -1.0).tolist() == [[0.9, 0.5], [0.6, -1.0]]
    assert [line.get_xdata() for line in axes.get_lines()] == [[0.5, 0.5]], "a line between the two families"
    written = {text.get_text(): text.get_position() for text in axes.texts}
    at = {name: (x if y < 0 else y) for name, (x, y) in written.items() if min(x, y) < 0}
    assert at == {"b": 0, "a": 1, "$ author": 0, "capital": 1}, "columns by their names above, rows by those left"
    assert {name: place for name, place in written.items() if min(place) >= 0} == {
        "90": (0, 0),
        "50": (1, 0),
        "60": (0, 1),
    }


def test_relations_that_are_equal_but_for_rounding_go_by_name():
    found = {"P19": (0.6, 0.6, 0.0, 0.2, 0.3), "P452": (0.5, 0.4, 0.4, 0.2, 0.2)}
    for names in (found, reversed(found)):
        rows = [
            measure("accuracy", value, f"m{at}", relation=name)
            for name in names
            for at, value in enumerate(found[name])
        ]
        texts = comparison_figures.heat_map(rows, {}).axes[0].texts
        assert [text.get_text() for text in texts if text.get_position()[0] < 0] == ["P19", "P452"]


def test_names_of_models_stand_upright_where_there_is_room():
    def turned(names):
        rows = [measure("accuracy", 0.5, name, relation="P1") for name in names]
        texts = comparison_figures.heat_map(rows, {}).axes[0].texts
        return {text.get_rotation() for text in texts if text.get_text() in names}

    assert turned(["medium-sized", "small"]) == {0}
    assert turned([f"medium-sized-{at}" for at in range(12)]) == {90}


def test_where_cells_hold_no_numbers_more_models_take_less_room():
    def width(count):
        names = [f"m{at:02}" for at in range(count)]
        rows = [measure("relation_accuracy", 0.5, name, relation="P1") for name in names]
        return comparison_figures.heat_map(rows, {"P1": "capital"}).get_size_inches()[0]

    most = comparison_figures.WRITTEN
    assert width(most + 1) < width(most)


def test_a_correlation_stands_on_both_sides_of_the_diagonal():
    figure = comparison_figures.likeness(ROWS)
    [image] = figure.axes[0].get_images()
    grid = np.ma.filled(image.get_array(), -1.0)
    assert grid.tolist() == [[-1.0, 0.62], [0.62, -1.0]]
    assert len(figure.axes) == 1, "families of one model each would only repeat the models, and cells need no scale"
