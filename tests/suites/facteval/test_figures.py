"""What FactEval's figures show: every value at its place, the modes apart, panels by type and style."""

import dataclasses

import pytest

from almanac.rows import Measure
from almanac.suites.facteval.figures import abstention_by_dose, by_context, by_origin, by_type
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
    [official_points] = [values for label, values in found["F1"].items() if label != "m"]
    assert official_points == [0.7, 0.7]


def test_models_are_named_where_the_official_mode_stands_alone():
    [legend] = by_type([row("f1", 0.5, reading="official")], "official").legends
    assert [text.get_text() for text in legend.get_texts()] == ["m"]


def test_abstention_is_drawn_by_dose():
    rows = [row("abstained_by_exposure", value, dose=dose) for dose, value in ((64, 0.1), (0, 0.9), (4, 0.5))]
    [axes] = abstention_by_dose(rows).axes
    assert drawn(axes) == {"m": [0.9, 0.5, 0.1]}
    [intervals] = axes.containers[0].lines[2]
    ends = [segment[:, 1].tolist() for segment in intervals.get_segments()]
    assert ends == [pytest.approx(own) for own in ([0.8, 1.0], [0.4, 0.6], [0.0, 0.2])]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "4", "64"]


def test_contexts_stand_in_their_order_and_models_in_the_legend():
    rows = [
        row("f1", value, model=model, context=context)
        for model in ("one", "two")
        for context, value in (("antifactual", 0.1), ("none", 0.5), ("relevant", 0.9))
    ]
    figure = by_context(rows)
    [axes] = figure.axes
    assert drawn(axes) == {"one": [0.5, 0.9, 0.1], "two": [0.5, 0.9, 0.1]}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["none", "relevant", "antifactual"]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]


def test_who_worded_the_questions_is_compared_model_by_model():
    rows = [
        row("f1", value, model=model, origin=origin, experiment="saq-fib")
        for model, shift in (("one", 0.0), ("two", 0.3))
        for origin, value in (("written", 0.6 - shift), ("template", 0.4 + shift))
    ]
    [axes] = by_origin(rows).axes
    assert drawn(axes) == {"one": [0.4, 0.6], "two": [0.7, 0.3]}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["template", "written"]


@pytest.mark.parametrize("draw", [by_type, by_context])
def test_a_value_without_an_interval_is_a_point(draw):
    rows = [dataclasses.replace(row("f1", 0.0), low=None, high=None)]
    assert any("m" in drawn(axes) for axes in draw(rows).axes)
