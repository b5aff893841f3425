"""The benchmark of tables at size: what it invents is as it says, and what its steps need is measured."""

from dataclasses import replace
from itertools import chain

import polars as pl
import pytest
from benchmarks import dbpedia, grid, tables
from benchmarks.tables import Case, Limit

from almanac.sources.files import read_folder


def test_the_invented_facts_are_as_many_as_they_should_be_and_hold_no_mistake(tmp_path):
    made = tables.many_facts(5000, 900, 7)
    assert (made["facts"].height, made["entities"].height, made["facts"]["relation_id"].n_unique()) == (5000, 900, 7)
    sizes = made["facts"].group_by("relation_id").agg(pl.len(), objects=pl.col("object_id").n_unique())
    assert (sizes["objects"] * 2 <= sizes["len"]).all()
    assert tables.many_facts(5000, 900, 7)["facts"].equals(made["facts"])
    for form in tables.FORMS:
        tables.write(tmp_path / form, made, form)
    read = [read_folder(tmp_path / form, "made") for form in tables.FORMS]
    assert read[0] == read[1] == read[2]
    assert len(read[0].facts) == 5000 and len(read[0].popularity) == 900
    aliases = list(chain.from_iterable(one.aliases for one in read[0].entities))
    assert len(aliases) > 300


def test_in_a_relation_of_pairs_every_object_is_another():
    made = tables.one_to_one(300)
    assert made["facts"]["object_id"].n_unique() == made["facts"]["subject_id"].n_unique() == 300
    assert made["entities"].height == 600


def test_each_step_is_measured_and_held_against_what_it_may_need(monkeypatch, capsys):
    small = Case(
        "small",
        lambda folder, form: tables.write(folder / "facts", tables.one_to_one(600), form),
        tables._building(Limit(1000, 60)),
    )
    monkeypatch.setattr(tables, "CASES", (small,))
    assert tables.main(["--only", "build"]) == 0
    [line] = capsys.readouterr().out.splitlines()[1:]
    assert line.split()[:2] == ["small", "build"]
    assert 50 < float(line.split()[2]) < 1000


def test_from_a_made_up_dump_to_the_questions_all_steps_together_are_held_against_what_they_may_need(
    monkeypatch, capsys
):
    case = tables.published("dbpedia", lambda folder: dbpedia.generate(folder, 4000), Limit(2048, 0.01), "--pool", "5")
    monkeypatch.setattr(tables, "CASES", (case,))
    assert tables.main(["--cases", "dbpedia"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[1] for line in lines] == ["pull", "build", "questions", "all"]
    assert [line[-1] == "much" for line in lines] == [False, False, False, True]
    assert float(lines[-1][4]) == pytest.approx(sum(float(line[4]) for line in lines[:3]), abs=0.2)


@pytest.mark.whole
def test_a_grid_goes_from_asking_to_freezing_and_is_held_against_the_smaller_one(monkeypatch, capsys):
    few = tables.grid(5 * grid.EACH)
    more = tables.grid(10 * grid.EACH, few.name, times=0.01, large=True)
    monkeypatch.setattr(tables, "CASES", (few, replace(more, steps=more.steps[:1])))
    assert tables.main(["--large"]) == 1
    *lines, last = (line.split() for line in capsys.readouterr().out.splitlines()[1:])
    assert [line[:2] for line in lines] == [[few.name, step] for step in grid.STEPS]
    assert not any("much" in line for line in lines)
    assert last[:2] == [more.name, "ask"] and last[-1] == "much"
