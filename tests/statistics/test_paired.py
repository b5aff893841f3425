"""Paired tests against sums by hand and against intervals that hold where they should."""

import math

import numpy as np
import polars as pl
import pytest
from benchmarks.coverage import LOW, Design, difference_coverage
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from almanac.statistics.paired import macro_difference, mcnemar

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


def exact(first_alone, second_alone):
    """Return the two-sided p of a fair coin, summed term by term."""
    n, k = first_alone + second_alone, min(first_alone, second_alone)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


@given(PAIRS)
def test_mcnemar_is_a_fair_coin_on_the_questions_that_differ(pairs):
    p = mcnemar([one for one, _ in pairs], [other for _, other in pairs])
    alone = pairs.count((True, False)), pairs.count((False, True))
    assert p == pytest.approx(exact(*alone) if sum(alone) else 1.0)


@given(PAIRS)
def test_mcnemar_does_not_care_who_is_first(pairs):
    one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert mcnemar(one, other) == pytest.approx(mcnemar(other, one))


def test_a_published_table():
    # Agresti, Categorical Data Analysis, approval of a prime minister: 86 and 150 changed their mind.
    first = [True] * 86 + [False] * 150
    assert mcnemar(first, [not one for one in first]) == pytest.approx(3.7e-5, rel=0.02)


def difference(one, other, strata, clusters):
    frame = pl.DataFrame({"one": one, "other": other, "r": strata, "s": clusters})
    return macro_difference(frame, "one", "other", "r", "s")


def test_the_difference_is_the_mean_of_the_strata():
    found = difference([1, 1, 0, 0, 0], [0, 1, 0, 0, 1], ["a", "a", "a", "a", "b"], list("vwxyz"))
    assert found.value == pytest.approx((0.25 - 1) / 2)
    assert found.low < found.value < found.high


def test_without_questions_nothing_is_said():
    none = pl.DataFrame(schema={"one": pl.Boolean, "other": pl.Boolean, "r": pl.String, "s": pl.String})
    assert macro_difference(none, "one", "other", "r", "s") == (None, None, None)


def tango(gained, lost, n):
    """Return Tango's limits (Statistics in Medicine 17, 1998): where his score statistic is the normal quantile."""

    def beyond(difference, side):
        b = -gained - lost + (2 * n - gained + lost) * difference
        c = -lost * difference * (1 - difference)
        q = (math.sqrt(b * b - 8 * n * c) - b) / (4 * n)
        spread = max(n * (2 * q + difference * (1 - difference)), 1e-300)
        return (gained - lost - n * difference) / math.sqrt(spread) - side * 1.959963984540054

    middle = (gained - lost) / n
    ends = []
    for side, far in ((1, -1 + 1e-9), (-1, 1 - 1e-9)):
        from_, to = sorted((far, middle - side * 1e-9))
        ends.append(optimize.brentq(beyond, from_, to, args=(side,)))
    return ends


@pytest.mark.parametrize(("gained", "lost", "n"), [(0, 0, 39), (3, 0, 39), (1, 4, 60), (12, 9, 200), (40, 11, 100)])
def test_of_questions_of_one_kind_it_is_close_to_tango_s_interval(gained, lost, n):
    one = [True] * gained + [False] * (n - gained)
    other = [False] * gained + [True] * lost + [False] * (n - gained - lost)
    found = difference(one, other, ["r"] * n, range(n))
    low, high = tango(gained, lost, n)
    assert found.low == pytest.approx(low, abs=0.02) and found.high == pytest.approx(high, abs=0.02)
    if not gained + lost:  # nothing differs: the same interval, which has a width
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_facts_of_one_subject_count_as_one_draw():
    # A hundred subjects with ten equal facts each: the interval must be that of a hundred values, not of a thousand.
    random = np.random.default_rng(0)
    one, other = random.integers(0, 2, (2, 100))
    once = difference(one, other, ["r"] * 100, range(100))
    often = difference(one.repeat(10), other.repeat(10), ["r"] * 1000, np.arange(1000) // 10)
    assert often == pytest.approx(once, abs=0.01)
    assert once.high - once.low == pytest.approx(2 * 1.96 * (one - other).std(ddof=1) / 10, rel=0.05)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40))
def test_it_does_not_care_who_is_first_and_stays_in_its_range(rows):
    one, other, strata, clusters = map(list, zip(*rows, strict=True))
    found, turned = difference(one, other, strata, clusters), difference(other, one, strata, clusters)
    assert (-turned.value, -turned.high, -turned.low) == pytest.approx(found)
    assert -1 <= found.low <= found.value + 1e-12 and found.value - 1e-12 <= found.high <= 1
    assert found.low < found.high


@pytest.mark.parametrize("facts", [1, 2, 10])
def test_the_interval_holds_the_truth_of_few_facts_a_relation(facts):
    """39 relations, as the facts that ship have, of which a first look asks one or two facts each."""
    design = Design("", 39, (facts,), 0.3)
    assert LOW - 0.01 <= difference_coverage(design, 300) <= 1
