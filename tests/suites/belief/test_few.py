"""The fewest templates whose mean accuracy is that of all."""

import polars as pl
import pytest
from tests.suites.belief.test_resampling import frame_of, hits

from almanac.suites.belief.few import fewest, held_out


def matrix(*shares: float) -> list[list[int]]:
    """Ten pairs, of which templates have these shares right."""
    return [[int(pair < 10 * share) for share in shares] for pair in range(10)]


def test_the_one_template_that_has_the_mean_of_all_is_enough():
    models = [hits({"a": matrix(0.1, 0.5, 0.9)}), hits({"a": matrix(0.9, 0.6, 0.3)})]
    assert fewest(models) == [[1]]


def test_two_are_needed_where_none_alone_is_the_mean_of_every_model():
    models = [hits({"a": matrix(0.2, 0.4, 0.2, 0.4)}), hits({"a": matrix(0.6, 0.2, 0.6, 0.2)})]
    assert [len(places) for places in fewest(models)] == [2]
    assert [len(places) for places in fewest(models, within=0.5)] == [1]
    same = hits({"a": matrix(0.3, 0.3, 0.3, 0.3)})  # of which any template has the mean
    assert [len(places) for places in fewest([same, models[1]])] == [2]


def test_relations_count_by_their_pairs():
    """One template is .1 off in a quarter of the pairs, and right in the others."""
    found = hits({"a": matrix(0.2, 0.4), "b": matrix(0.5, 0.5) * 3})
    assert [len(places) for places in fewest([found], within=0.03)] == [1, 1]
    assert [len(places) for places in fewest([found], within=0.02)] == [2, 2]


def test_all_templates_are_always_within_any_bound():
    found = hits({"a": matrix(0.1, 0.2, 0.9), "b": matrix(0.3, 0.9)})
    assert fewest([found], within=0.0) is not None


def test_a_model_has_no_say_in_the_templates_that_it_is_held_against():
    frames = {
        name: frame_of({"a": matrix(*shares)})
        for name, shares in {"one": (0.1, 0.5, 0.9), "two": (0.9, 0.5, 0.1), "third": (0.0, 1.0, 0.8)}.items()
    }
    found = held_out(frames)
    assert found["third"] == (("a/1",), pytest.approx(1.0), pytest.approx(0.6))
    assert held_out({name: frames[name] for name in ("one", "two")}) == {}


def test_what_has_no_answer_changes_the_accuracy_with_few_as_it_does_that_with_all():
    frames = {name: frame_of({"a": matrix(0.1, 0.9)}) for name in ("one", "two", "third")}
    unanswered = (pl.col("fact") == "a1") & (pl.col("template") == "a/1")
    frames["third"] = frames["third"].with_columns(pl.when(~unanswered).then("hit").alias("hit"))
    chosen, few, every = held_out(frames)["third"]
    assert chosen == ("a/0", "a/1")
    assert few == every == pytest.approx((1 + 7 * 0.5) / 10)
