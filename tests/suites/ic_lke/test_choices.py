"""The verdict on a choice by its log-probabilities: shares, ties, very small numbers, no answer."""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.suites.ic_lke.choices import deviation, deviations, judge_choices
from almanac.suites.judged import Judged, Not

SCHEMA = {
    "item": pl.UInt32,
    "status": pl.String,
    "index": pl.Int32,
    "logprobs": pl.List(pl.Float64),
    "choices": pl.List(pl.String),
}


def judged(*items):
    """The outcomes of items, each log-probabilities (or none), the place of the true choice, and perhaps a status."""
    rows = []
    for at, (logprobs, index, *status) in enumerate(items):
        choices = [f" {place}" for place in range(len(logprobs or (1,)))]
        rows.append((at, *(status or ["ok"]), index, logprobs, choices))
    found = judge_choices(pl.DataFrame(rows, SCHEMA, orient="row"))
    assert found.columns == ["item", "prediction", "outcome", "score", "confidence"]
    assert found["item"].to_list() == list(range(len(items)))
    return list(found.iter_rows(named=True))


def one(logprobs, index, status="ok"):
    [found] = judged((logprobs, index, status))
    return found


LOGPROBS = st.lists(st.integers(-80_000, 0).map(lambda eighths: eighths / 8), min_size=2, max_size=12)


@settings(deadline=None)
@given(LOGPROBS)
def test_the_shares_of_all_possible_true_choices_sum_to_1(logprobs):
    found = judged(*((logprobs, index) for index in range(len(logprobs))))
    assert sum(math.exp(row["score"]) for row in found) == pytest.approx(1, abs=1e-9)


@settings(deadline=None)
@given(LOGPROBS, st.integers(0, 11), st.integers(-(10**6), 10**6))
def test_a_constant_added_to_all_choices_changes_nothing(logprobs, index, constant):
    index %= len(logprobs)
    first, second = judged((logprobs, index), ([value + constant for value in logprobs], index))
    assert (first["prediction"], first["outcome"]) == (second["prediction"], second["outcome"])
    assert (first["score"], first["confidence"]) == pytest.approx((second["score"], second["confidence"]), abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.tuples(LOGPROBS, st.integers(0, 11)), max_size=5))
def test_the_prediction_is_the_most_likely_and_a_tie_loses(items):
    given_items = [(logprobs, index % len(logprobs)) for logprobs, index in items]
    for (logprobs, index), row in zip(given_items, judged(*given_items), strict=True):
        alone = logprobs[index] == max(logprobs) and logprobs.count(max(logprobs)) == 1
        assert (row["outcome"] == "correct") == alone
        assert logprobs[int(row["prediction"])] == max(logprobs)
        total = sum(math.exp(value - max(logprobs)) for value in logprobs)
        assert row["confidence"] == pytest.approx(1 / total)
        assert row["score"] == pytest.approx(logprobs[index] - max(logprobs) - math.log(total), abs=1e-9)


def test_a_tie_names_the_rival():
    found = one((-1.0, -2.0, -1.0), 2)
    assert (found["outcome"], found["prediction"]) == ("incorrect", "0")


def test_a_single_choice_is_right_and_an_impossible_one_has_no_share():
    assert one((-7.0,), 0) == {"item": 0, "prediction": "0", "outcome": "correct", "score": 0.0, "confidence": 1.0}
    assert one((-1.0, -math.inf), 1)["score"] == -math.inf


@pytest.mark.parametrize("start", [-1e4, -1e5])
def test_log_probabilities_whose_exponential_is_0_are_no_trouble(start):
    assert math.exp(start) == 0
    found = one((start - 1, start, start - 2, start + 1), 3)
    assert found["outcome"] == "correct"
    assert found["score"] == pytest.approx(1 - math.log(sum(map(math.exp, (-1, 0, -2, 1)))))
    assert found["confidence"] == pytest.approx(math.exp(found["score"]))


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("too_long", "error"), ("unsupported", "error"), ("failed", "error"), ("refused", "missing")],
)
def test_what_was_not_answered_has_no_number_and_its_neighbours_have_theirs(status, outcome):
    before, between, after = judged(((-1.0, -2.0), 0), (None, 1, status), ((-1.0, -2.0), 1))
    assert between == {"item": 1, "prediction": None, "outcome": outcome, "score": None, "confidence": None}
    assert (before["outcome"], after["outcome"]) == ("correct", "incorrect")
    assert judged() == []


# Two relations, two facts each, three askings: which are right (+), wrong (-) or without an answer (e).
HITS = {("a", "a1"): "+++", ("a", "a2"): "+--", ("b", "b1"): "+-e", ("b", "b2"): "--e"}


def askings():
    rows = [
        (
            relation,
            fact,
            fact,
            at,
            {"+": True, "-": False}.get(mark),
            {"+": "correct", "-": "incorrect"}.get(mark, "error"),
        )
        for (relation, fact), marks in HITS.items()
        for at, mark in enumerate(marks)
    ]
    return Judged(
        "s", "d", "m", pl.DataFrame(rows, ["relation", "fact", "subject", "draw", "hit", "outcome"], orient="row")
    )


def test_the_deviation_is_that_of_the_askings_accuracies_in_a_relation_and_its_mean():
    # a: 1, .5, .5; b: .5, 0 and one without an answer.
    overall, first, second = deviations(askings(), "deviation", "draw")
    assert (first.value, second.value) == (pytest.approx(math.sqrt(1 / 12)), pytest.approx(math.sqrt(1 / 8)))
    assert overall.value == pytest.approx((first.value + second.value) / 2)
    assert (overall.n, first.n, second.n, second.n_error) == (12, 6, 6, 2)
    assert deviation(askings().where(hit=Not(), draw=0), "draw") is None, "of one there is none"
