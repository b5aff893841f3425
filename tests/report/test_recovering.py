"""The chapter on which method recovers what was taught: its tables, its figure, and what it says of its own recipes."""

import pytest
from matplotlib.figure import Figure

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.report.recovering import chapter
from almanac.rows import Standing
from almanac.suites.chapter import Drawing, Table

PLANTING = {"worlds": {"one": {"seed": 1}, "three": {"seed": 3}}}


def row(method, place, area, axis="all", level="", suite="karr", tau=None, graded=True):
    low, high = (area - 0.05, min(1.0, area + 0.02)) if area != 0.5 else (None, None)
    gap = (0.95 - area, 0.9 - area, 1.0 - area) if place > 1 else (0.0, None, None)
    rest = (graded, area, 0.6, 0.93, 0.9, 0.95, 0.9, 0.04, 0.5, tau)
    return Standing(axis, level, suite, method, "{}", place, 2, ("base", "small"), 200, area, low, high, *gap, *rest)


def chapter_of(folder, rows, **more):
    layout = Layout(folder, EditionConfig(edition="own", planting=PLANTING, **more))
    tables.write(layout.between("standings"), Standing, rows)
    return chapter(layout)


ORDER = [row("paper", 1, 0.95, tau=1.0), row("pararel", 2, 0.9, tau=1.0), row("lama_at_1", 3, 0.5, tau=1.0)]


def test_methods_stand_in_their_order_with_the_interval_of_the_difference(tmp_path):
    table = chapter_of(tmp_path, ORDER).parts[0]
    assert [cells[:2] for cells in table.rows] == [(1, "KaRR"), (2, "ParaRel"), (3, "LAMA@1")]
    area, gap = table.rows[1][2:4]
    assert (area.value, area.low, area.high) == (0.9, pytest.approx(0.85), pytest.approx(0.92))
    assert (gap.value, gap.low, gap.high) == (pytest.approx(0.05), pytest.approx(0.0), pytest.approx(0.1))
    assert table.head[5:] == ("called known: taught most", "never taught", "average precision", table.head[8])
    assert table.rows[1][5:] == (0.9, 0.04, 0.9, 0.6)
    assert table.rows[0][3] is None and table.rows[2][2].low is None
    assert area.model is None, "a number of several models opens no items of one"


def test_a_method_that_says_right_or_wrong_alone_is_marked_and_all_have_a_balanced_accuracy(tmp_path):
    rows = [ORDER[0], row("pararel", 2, 0.9, tau=1.0, graded=False)]
    table = chapter_of(tmp_path, rows).parts[0]
    assert [cells[1] for cells in table.rows] == ["KaRR", "ParaRel*"]
    assert table.head[4] == "balanced accuracy" and {cells[4].value for cells in table.rows} == {0.93}


def test_each_change_has_a_row_with_tau_and_the_ends_of_its_order(tmp_path):
    changed = [row("pararel", 1, 0.95, "world", "one", tau=-1.0), row("paper", 2, 0.9, "world", "one", tau=-1.0)]
    found = chapter_of(tmp_path, [*ORDER, *changed])
    stands, every = [part for part in found.parts if isinstance(part, Table)][1:]
    [cells] = stands.rows
    assert cells[1:] == ["one", "base, small", 2, 200, 2, -1.0, "ParaRel", "KaRR"]
    assert [one[1:4] for one in every.rows] == [("one", 1, "ParaRel"), ("one", 2, "KaRR")] and every.folded


def test_the_page_says_on_which_seeds_nothing_was_chosen(tmp_path):
    assert chapter_of(tmp_path, ORDER).parts[-1].endswith("those of the worlds here are one: 1, three: 3 (fresh).")


def test_models_of_other_doses_are_named_as_left_out(tmp_path):
    models = [
        {"name": name, "planted": {"passes": passes}} for name, passes in {"base": 1, "small": 1, "twice": 2}.items()
    ]
    assert "Not of twice, trained for more" in chapter_of(tmp_path, ORDER, models=models).parts[0].caption
    assert "Not of" not in chapter_of(tmp_path, ORDER).parts[0].caption


def test_the_figure_has_a_line_a_method_and_a_point_for_each_change(tmp_path):
    changed = [row("paper", 1, 0.97, "model", "base"), row("pararel", 2, 0.8, "model", "base")]
    [drawn] = [part for part in chapter_of(tmp_path, [*ORDER, *changed]).parts if isinstance(part, Drawing)]
    figure = drawn.draw()
    assert isinstance(figure, Figure)
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["KaRR", "ParaRel", "LAMA@1"]
    points = {(float(x), float(y)) for line in axes.lines for x, y in zip(*line.get_data(), strict=True)}
    assert {
        (0.97, 0.0),
        (0.8, 1.0),
        (0.95, 0.0),
        (0.5, 2.0),
        (ORDER[1].auc_low, 1.0),
        (ORDER[1].auc_high, 1.0),
    } <= points
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one model (another size)"]


def test_without_planted_models_there_is_no_chapter(tmp_path):
    assert chapter_of(tmp_path, []) is None


def test_every_table_and_figure_has_an_address_of_its_own(tmp_path):
    names = [part.name for part in chapter_of(tmp_path, ORDER).parts if isinstance(part, Table | Drawing)]
    assert len(names) == len(set(names)) > 1
