"""Paired tests against sums by hand and against intervals that hold where they should."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.statistics.paired import macro_difference, mcnemar

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


def exact(first_alone, second_alone):
    """Return the two-sided p of a fair coin, summed term by term."""
    n, k = first_alone + second_alone, min(first_alone, second_alone)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


@given(PAIRS)
def test_mcnemar_is_a_fair_coin_on_the_questions_that_differ(pairs):
    found = mcnemar([one for one, _ in pairs], [other for _, other in pairs])
    alone = pairs.count((True, False)), pairs.count((False, True))
    assert (found.first_alone, found.second_alone) == alone
    assert found.p == pytest.approx(exact(*alone) if sum(alone) else 1.0)


@given(PAIRS)
def test_mcnemar_does_not_care_who_is_first(pairs):
    one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert mcnemar(one, other).p == pytest.approx(mcnemar(other, one).p)


def test_a_published_table():
    # Agresti, Categorical Data Analysis, approval of a prime minister: 86 and 150 changed their mind.
    first = [True] * 86 + [False] * 150
    assert mcnemar(first, [not one for one in first]).p == pytest.approx(3.7e-5, rel=0.02)


def test_the_difference_is_the_mean_of_the_strata():
    found = macro_difference([1, 0, 0, 0, -1], ["a", "a", "a", "a", "b"], list("vwxyz"), 200, 0)
    assert found.value == pytest.approx((0.25 - 1) / 2)
    assert found.low <= found.value <= found.high


def test_without_questions_nothing_is_said_and_one_subject_has_no_interval():
    assert macro_difference([], [], [], 10, 0) == (None, None, None)
    assert macro_difference([1, 0], ["a", "a"], ["s", "s"], 10, 0) == (0.5, None, None)


def test_facts_of_one_subject_count_as_one_draw():
    # A hundred subjects with ten equal facts each: the interval must be that of a hundred values, not of a thousand.
    random = np.random.default_rng(0)
    values = random.integers(-1, 2, 100)
    once = macro_difference(values.tolist(), ["r"] * 100, [str(i) for i in range(100)], 2000, 1)
    often = macro_difference(np.repeat(values, 10).tolist(), ["r"] * 1000, [str(i // 10) for i in range(1000)], 2000, 1)
    assert often.value == pytest.approx(once.value)
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.05)
    standard = values.std(ddof=1) / 10
    assert once.high - once.low == pytest.approx(2 * 1.96 * standard, rel=0.1)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(2)
    hits = 0
    for trial in range(200):
        values = (random.random(80) < 0.3).astype(float) - (random.random(80) < 0.2)
        found = macro_difference(values.tolist(), ["a", "b"] * 40, [str(i // 2) for i in range(80)], 300, trial)
        hits += found.low <= 0.1 <= found.high
    assert 0.89 <= hits / 200 <= 0.99
