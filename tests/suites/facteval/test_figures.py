"""What FactEval's figure shows: every value at its place, the modes apart."""

import dataclasses

from almanac.rows import Measure
from almanac.suites.facteval.figures import by_type
from almanac.suites.judged import as_text


def row(metric, value, model="m", **where):
    reach = (None, None) if value is None else (max(0.0, value - 0.1), min(1.0, value + 0.1))
    where = as_text({"experiment": "saq-wh", "context": "none", "reading": "strict"} | where)
    return Measure("facteval", "d", model, None, metric, where, "ratio", (), value, *reach, None, 9, 5, 4, 0, 0, 0)


def drawn(axes):
    """Return the points of a panel, by the label of their line."""
    return {box.get_label(): list(map(float, box.lines[0].get_ydata())) for box in axes.containers}


def test_precision_recall_and_f1_are_panels_with_both_modes():
    rows = [
        row(metric, value + shift, experiment=experiment, reading=reading)
        for metric, value in (("precision", 0.6), ("recall", 0.4), ("f1", 0.5))
        for experiment in ("mcq-wh", "saq-wh")
        for reading, shift in (("strict", 0.0), ("official", 0.2))
    ]
    figure = by_type(rows)
    found = {axes.get_title(): drawn(axes) for axes in figure.axes}
    assert {name: own["m"] for name, own in found.items()} == {
        "precision": [0.6] * 2,
        "recall": [0.4] * 2,
        "F1": [0.5] * 2,
    }
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["choice\nfor a\nquestion", "question"], "no line runs into its neighbour's"
    [official_points] = [values for label, values in found["F1"].items() if label != "m"]
    assert official_points == [0.7, 0.7]


def test_models_are_named_where_the_official_mode_stands_alone():
    [legend] = by_type([row("f1", 0.5, reading="official")], "official").legends
    assert [text.get_text() for text in legend.get_texts()] == ["m"]


def test_a_value_without_an_interval_is_a_point():
    rows = [dataclasses.replace(row("f1", 0.0), low=None, high=None)]
    assert any("m" in drawn(axes) for axes in by_type(rows).axes)
