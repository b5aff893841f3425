"""Correlations against numpy, scipy's Fisher interval by hand, and identities of groups."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from almanac.statistics.correlation import LEAST, mean_correlation, pearson

RANDOM = np.random.default_rng(1)
TABLE = RANDOM.random((50, 5)) + RANDOM.random((50, 1))  # 50 relations, 5 models that have something in common
VALUES = st.lists(st.floats(-5, 5), min_size=4, max_size=20)


def test_the_interval_is_fishers():
    found = pearson(list(TABLE[:, 0]), list(TABLE[:, 1]))
    r = np.corrcoef(TABLE[:, 0], TABLE[:, 1])[0, 1]
    half = stats.norm.ppf(0.975) / math.sqrt(47)
    assert found == pytest.approx((r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)))


@settings(deadline=None)
@given(VALUES, st.floats(0.5, 3), st.floats(-2, 2))
def test_a_line_correlates_perfectly_and_its_mirror_the_other_way(values, slope, start):
    if np.ptp(values) < 1e-3:
        return
    line = [slope * value + start for value in values]
    assert pearson(values, line).value == pytest.approx(1)
    assert pearson(values, [-value for value in line]).value == pytest.approx(-1)


@pytest.mark.parametrize(
    ("first", "second"),
    # The mean of 24 times 0.1 is a little less, so that what is left of a constant correlates with anything.
    [([1, 2, 3], [3, 1, 2]), ([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3, 4], [1, 1, 1, 1]), ([0.1] * 24, range(24))],
)
def test_nothing_is_said_of_too_few_or_of_a_constant(first, second):
    assert pearson(first, second) == (None, None, None)
    columns = np.array([first, second], dtype=float).T
    assert mean_correlation(columns, [0], [1], 10, 0) == (None, None, None)


def test_a_cell_between_groups_is_the_mean_of_its_pairs():
    matrix = np.corrcoef(TABLE, rowvar=False)
    between = mean_correlation(TABLE, [0, 1], [2, 3, 4], 200, 7)
    assert between.value == pytest.approx(np.mean(matrix[np.ix_([0, 1], [2, 3, 4])]))
    assert between.low < between.value < between.high
    assert mean_correlation(TABLE, [2, 3, 4], [0, 1], 200, 7) == pytest.approx(between)
    within = mean_correlation(TABLE, [2, 3, 4], [2, 3, 4], 50, 7)
    assert within.value == pytest.approx(np.mean([matrix[2, 3], matrix[2, 4], matrix[3, 4]]))
    assert mean_correlation(TABLE, [0], [0], 50, 7) == (None, None, None)
    assert mean_correlation(np.hstack([TABLE, np.ones((50, 1))]), [0, 1], [2, 3, 4], 200, 7) == between


def test_of_few_rows_there_is_a_value_and_no_interval_which_would_be_too_narrow():
    value, *ends = mean_correlation(TABLE[: LEAST - 1], [0, 1], [2, 3, 4], 200, 7)
    assert value is not None and ends == [None, None]
    assert None not in mean_correlation(TABLE[:LEAST], [0, 1], [2, 3, 4], 200, 7)


def test_the_bootstrap_of_one_pair_is_close_to_fishers_interval():
    # Normal data, for which Fisher's interval is meant; the two differ by the bootstrap's own error.
    normal = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=400)
    one, other = mean_correlation(normal, [0], [1], 2000, 0), pearson(list(normal[:, 0]), list(normal[:, 1]))
    assert one == pytest.approx(other, abs=0.02)


def test_the_same_seed_gives_the_same_interval():
    assert mean_correlation(TABLE, [0], [1], 50, 5) == mean_correlation(TABLE, [0], [1], 50, 5)
    assert mean_correlation(TABLE, [0], [1], 50, 5) != mean_correlation(TABLE, [0], [1], 50, 6)


def test_draws_in_which_a_column_is_constant_are_left_out():
    columns = np.zeros((LEAST, 2))
    columns[:, 1], columns[0, 0] = np.arange(LEAST), 1  # four in eleven draws lack the first row
    found = mean_correlation(columns, [0], [1], 200, 1)
    assert found.value == pytest.approx(np.corrcoef(columns.T)[0, 1])
    assert -1 <= found.low < found.value < found.high <= 1
