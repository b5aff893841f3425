"""The course of training: which models are checkpoints of one run, and what is shown of them step by step."""

from dataclasses import replace

import pytest

from almanac.edition.pairs import neighbours, runs
from almanac.report.course import chapter
from almanac.rows import Measure
from almanac.suites.chapter import Drawing, Table
from almanac.suites.headline import ABOVE_CHANCE, NO_FORMAT, NOT_ABOVE, Finding
from almanac.suites.judged import as_text
from almanac.suites.listing import SUITES

METHOD = SUITES["ic_lke"].methods[0]


def number(model, metric, value, **more):
    where = as_text({**METHOD.where, **more})
    of = ("ic_lke", "facts", model, None, metric, where, "other", ("hit",))
    return Measure(*of, value, value - 0.1, value + 0.1, None, 50, 0, 0, 0, 0, 0)


def finding(step, known, chance=0.05, verdict=NOT_ABOVE):
    model = f"step-{step}"
    of = number(model, "headline", known), number(model, "chance", chance), number(model, "above", known - chance)
    return Finding(METHOD, *of, 50, None, verdict)


def test_names_that_differ_in_their_step_alone_are_checkpoints_of_one_run_in_the_order_of_their_steps():
    names = [
        "step-1000",
        "step-9",
        "step-200",
        "base",
        "seed-1",
        "seed-2",
        "seed-3",
        "ckpt_2",
        "ckpt_1",
        "gpt2",
        "opt-1",
    ]
    assert runs(names) == {"step-": [(9, "step-9"), (200, "step-200"), (1000, "step-1000")]}
    pythia = [f"pythia-70m-{size}step{step}" for size in ("", "deduped-") for step in (0, 512, 143000)]
    assert [len(own) for own in runs(pythia).values()] == [3, 3]


def test_of_checkpoints_neighbours_are_compared_and_equal_steps_of_two_runs():
    names = [f"{run}-step-{step}" for run in "ab" for step in (1, 2, 4)]
    wanted = neighbours([*names, "other"])
    assert wanted("a-step-1", "a-step-2") and wanted("a-step-4", "a-step-2") and not wanted("a-step-1", "a-step-4")
    assert wanted("a-step-4", "b-step-4") and not wanted("a-step-2", "b-step-4")
    assert wanted("a-step-1", "other") and wanted("other", "another")
    assert neighbours(names[:2])(*names[:2]), "two are no run, and are compared"


def test_the_chapter_shows_known_chance_and_verdict_by_step_and_their_difference_as_a_table():
    rows = [finding(1000, 0.5, 0.2, ABOVE_CHANCE), finding(100, 0.1), finding(300, 0.2)]
    assert chapter(rows[:2], []) is None
    other = finding(1, 0.5)
    other = other._replace(method=SUITES["karr"].methods[0], known=replace(other.known, model="base"))
    drawing, table = chapter([*rows, finding(400, 0.0, verdict=NO_FORMAT), other], []).parts
    assert [row[0] for row in table.rows] == [METHOD.label], "no row of a method that only another model was asked"
    assert table.head == ("method", "step 100", "step 300", "step 400", "step 1,000")
    assert [cell and round(cell.value, 2) for cell in table.rows[0][1:]] == [0.05, 0.15, None, 0.3]
    [axes] = drawing.draw().axes
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}
    assert lines["known"] == ([100, 300, 1000], [0.1, 0.2, 0.5])
    assert lines["chance"] == ([100, 300, 1000], [0.05, 0.05, 0.2])
    [empty] = [own for label, own in lines.items() if label not in ("known", "chance")]
    assert empty == ([100, 300], [0.1, 0.2]), "those that are not above chance"


def test_where_subjects_have_a_popularity_head_torso_and_tail_are_lines_of_their_own():
    rows = [finding(step, 0.5) for step in (1, 2, 3)]
    shares = {"head": 0.6, "torso": 0.4, "tail": 0.2}
    by = [
        number(f"step-{at}", "popularity_accuracy", at / 10 + one, bucket=b)
        for at in (3, 1, 2)
        for b, one in shares.items()
    ]
    aside = number("base", "popularity_accuracy", 0.5, bucket="head", experiment="cloze")
    parts = chapter(rows, [*by, replace(by[0], dataset="others"), aside]).parts
    assert [type(one) for one in parts] == [Drawing, Table, Drawing, Table]
    assert len({one.name for one in parts}) == 4, "each has an address of its own"
    assert [row[1] for row in parts[3].rows] == ["head", "torso", "tail"]
    assert [cell.value for cell in parts[3].rows[2][2:]] == pytest.approx([0.3, 0.4, 0.5])
    [axes] = parts[2].draw().axes
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines}["head"] == pytest.approx([0.7, 0.8, 0.9])


def test_runs_and_datasets_whose_names_read_alike_have_tables_and_figures_of_their_own():
    rows = []
    for dataset, run in (("a", "b-step-"), ("a-b", "step-"), ("a-b", "step"), ("a-b", "Step_")):
        own = [number(f"{run}{at}", "headline", 0.5) for at in (1, 2, 3)]
        rows += [Finding(METHOD, replace(one, dataset=dataset), None, None, 50, None, NOT_ABOVE) for one in own]
    names = [one.name for one in chapter(rows, []).parts if isinstance(one, Drawing)]
    assert names == ["known-a-b-step", "known-a-b-step-2", "known-a-b-step-3", "known-a-b-Step-4"]


@pytest.mark.parametrize(("steps", "scale"), [((100, 200, 800), "linear"), ((0, 1, 2000), "symlog")])
def test_steps_far_apart_stand_on_a_logarithmic_scale(steps, scale):
    [drawing, _] = chapter([finding(step, 0.5) for step in steps], []).parts
    assert drawing.draw().axes[0].get_xscale() == scale
