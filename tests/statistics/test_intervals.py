import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from almanac.statistics.intervals import (
    LEVEL,
    NOTHING,
    Estimate,
    combined,
    normal_quantile,
    wilson,
    wilson_n,
)


# Newcombe, Statistics in Medicine 17 (1998), table I, method 3: the score interval without continuity correction.
@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(hits, n, low, high):
    found = wilson(hits / n, n)
    assert found.value == hits / n
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)
@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_scipys(counts, level):
    hits, n = counts
    peer = stats.binomtest(hits, n).proportion_ci(confidence_level=level, method="wilson")
    found = wilson(hits / n, n, level)
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=1e-9)


@given(st.floats(0.01, 0.9999))
def test_the_normal_quantile_is_scipys(level):
    assert normal_quantile(level) == pytest.approx(stats.norm.ppf(0.5 + level / 2), rel=1e-12)
    assert normal_quantile(LEVEL) == stats.norm.ppf(0.975), "to the last digit"


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_an_interval_holds_its_value_and_stays_between_0_and_1(share, n):
    found = wilson(share, n)
    assert 0 <= found.low <= share <= found.high <= 1
    assert found.high > found.low
    assert wilson(0.0, 7).low == 0, "rounding would put it above the share"


@given(st.floats(0, 1), st.floats(0.5, 1e5))
def test_an_interval_tells_how_many_observations_it_rests_on(share, n):
    assert wilson_n(wilson(share, n)) == pytest.approx(n, rel=1e-6)
    assert wilson_n(NOTHING) is None


# Newcombe, Statistics in Medicine 17 (1998), pages 873 to 890, table II, method 10.
@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_a_difference_has_the_published_interval(one, other, low, high):
    first, second = (wilson(hits / n, n) for hits, n in (one, other))
    found = combined([(1, first), (-1, second)])
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert combined([(-1, first), (1, second)]) == Estimate(-found.value, -found.high, -found.low)


def test_a_mean_of_estimates_is_surer_than_each_and_of_one_is_itself():
    one = wilson(0.3, 40)
    assert combined([(1, one)]) == pytest.approx(one)
    many = combined([(0.25, one)] * 4)
    assert many.value == pytest.approx(0.3)
    assert many.high - many.low == pytest.approx((one.high - one.low) / 2)
    assert combined([(1, one), (1, NOTHING)]) == combined([]) == NOTHING


def test_nothing_is_said_of_nothing():
    assert wilson(0.5, 0) == NOTHING
    assert tuple(NOTHING) == (None, None, None)
