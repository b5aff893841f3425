import math
import statistics

import numpy as np
import pytest
from benchmarks.coverage import AREAS, area_coverage
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from almanac.statistics.intervals import NOTHING, wilson
from almanac.statistics.ranks import (
    Sides,
    auc,
    average_precision,
    kendall,
    mean_auc,
    mean_of_placed,
    placements,
    spearman,
    variance,
)

SCORES = st.lists(st.integers(-5, 5), min_size=1, max_size=25)


def by_pairs(positive, negative):
    return np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])


@settings(deadline=None)
@given(SCORES, SCORES)
def test_auc_is_the_share_of_pairs_in_order_ties_half(positive, negative):
    found = auc(positive, negative).value
    assert found == pytest.approx(by_pairs(positive, negative), abs=1e-12)
    peer = stats.mannwhitneyu(positive, negative, method="asymptotic").statistic
    assert found == pytest.approx(peer / (len(positive) * len(negative)), abs=1e-12)


@settings(deadline=None)
@given(SCORES, SCORES)
def test_auc_of_swapped_groups_is_the_mirror_image(positive, negative):
    found, swapped = auc(positive, negative), auc(negative, positive)
    assert (1 - swapped.value, 1 - swapped.high, 1 - swapped.low) == pytest.approx(tuple(found), abs=1e-6)


@settings(deadline=None)
@given(SCORES, SCORES)
def test_auc_sees_ranks_alone(positive, negative):
    assert auc([math.exp(x) for x in positive], [math.exp(x) for x in negative]) == auc(positive, negative)


@settings(deadline=None)
@given(SCORES, SCORES, st.sampled_from([0.8, 0.95]))
def test_the_interval_is_wilsons_at_the_draws_that_the_variance_stands_for(positive, negative, level):
    """The variance by pairs: of two pairs with a positive, or a negative, in common (Hoeffding 1948)."""
    found, m, n = auc(positive, negative, level), len(positive), len(negative)
    kernel = np.array([[(p > q) + (p == q) / 2 for q in negative] for p in positive])
    value, effect = kernel.mean(), 1.0
    if min(m, n) > 1 and 0 < value < 1:
        spread = kernel.mean(axis=1).var(ddof=1) / m + kernel.mean(axis=0).var(ddof=1) / n
        effect, wrong = spread * min(m, n) / (value * (1 - value)), min(m, n) * min(value, 1 - value)
        effect = max(effect, (wrong * effect + 1) / (wrong + 1))
    assert (found.low, found.high) == pytest.approx(tuple(wilson(value, min(m, n) / effect, level))[1:], abs=1e-9)


def test_a_subject_with_all_facts_of_one_side_is_one_draw_and_a_mean_over_strata_is_surer():
    scores = Sides([3.0, 1.0, 4.0, 2.5] * 5, [2.0, 0.0, 1.5] * 5)
    alone = mean_auc([scores])
    own = Sides([f"s{at // 2}" for at in range(20)], [f"t{at}" for at in range(15)])
    joined = mean_auc([scores], subjects=[own])
    assert joined.value == alone.value and joined.high - joined.low > alone.high - alone.low
    twice = mean_auc([scores, scores])
    assert twice.value == alone.value and alone.low < twice.low < twice.high < alone.high
    assert (alone.high - alone.low) / (twice.high - twice.low) == pytest.approx(math.sqrt(2), rel=0.05)
    # A stratum with a single negative says nothing of how much less its pairs vary: each side is taken for draws.
    few = mean_auc([scores, Sides([3.0, 1.0, 2.0], [0.5])])
    assert few == pytest.approx(wilson(few.value, 4 / (1 / 15 + 1)))
    # Of ten scores the placements tell more of the variance than those of one.
    placed, whose = [placements(*scores)], [Sides(range(20), range(20, 35))]
    one, ten = (mean_of_placed(placed, whose, scores=count) for count in (1, 10))
    assert one == alone and one.low < ten.low < ten.high < one.high
    assert mean_auc([]) == mean_auc([scores, Sides([1.0], [])]) == NOTHING
    # Two shares of 10 and 40 draws have a mean that varies as one of 4 / (1/10 + 1/40).
    assert mean_auc([Sides([1.0] * size, [0.0] * 50) for size in (10, 40)]) == pytest.approx(wilson(1.0, 32))


# The standard error of a coverage near .95 over 500 draws is .01.
@pytest.mark.parametrize("name", ["a fifth not learnt", "a twentieth not learnt, few taught", "normal scores, near 1"])
def test_the_interval_covers_the_truth_as_often_as_it_says(name):
    [design] = [one for one in AREAS if one.name == name]
    assert 0.92 <= area_coverage(design, 500) <= 0.999


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 5), (120, 120), (2000, 3)])
def test_a_perfect_ranking_still_has_a_width(m, n):
    found = auc([1.0] * m, [0.0] * n)
    assert found.value == found.high == 1
    assert 0 < found.low < 1


def test_auc_of_nothing_is_nothing():
    assert auc([], [1.0]) == auc([1.0], []) == NOTHING


def test_the_auc_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(3)
    truth = stats.norm.cdf(1.5 / math.sqrt(2))
    found = [auc(rng.normal(1.5, 1, 25), rng.normal(0, 1, 40)) for _ in range(500)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=40))
def test_spearman_is_scipys_with_the_interval_of_bonett_and_wright(pairs):
    first, second = zip(*pairs, strict=True)
    found = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found == NOTHING
        return
    rho = stats.spearmanr(first, second).statistic
    assert found.value == pytest.approx(rho, abs=1e-12)
    if abs(rho) < 1 - 1e-9:
        # Psychometrika 65 (2000): atanh(rho) ± z sqrt((1 + rho²/2) / (n - 3)).
        reach = stats.norm.isf(0.025) * np.sqrt((1 + rho**2 / 2) / (len(pairs) - 3))
        limits = np.tanh([np.arctanh(rho) - reach, np.arctanh(rho) + reach])
        assert (found.low, found.high) == pytest.approx(tuple(limits), abs=1e-9)


def test_spearman_of_ranks_in_order_is_1_and_of_too_few_is_nothing():
    assert spearman([1, 2, 3, 9], [1, 10, 100, 1000]).value == 1
    assert spearman([1, 2, 3, 9], [4, 3, 2, 1]).value == -1
    assert spearman([1, 2, 3], [1, 2, 3]) == NOTHING


def test_the_spearman_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(5)
    pearson = 0.6
    truth = 6 / math.pi * math.asin(pearson / 2)  # Spearman's of a bivariate normal
    held = 0
    for _ in range(500):
        first, second = rng.multivariate_normal([0, 0], [[1, pearson], [pearson, 1]], 50).T
        found = spearman(first, second)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 500 <= 0.985


def test_kendall_is_scipys_with_ties_and_without():
    rng = np.random.default_rng(7)
    methods = set()
    for _ in range(600):
        n, levels, other_levels = (int(rng.integers(2, high)) for high in (60, 80, 5))
        first = rng.integers(0, levels, n) if rng.random() < 0.7 else rng.permutation(n)
        second = rng.integers(0, other_levels, n) if rng.random() < 0.5 else rng.permutation(n) + (first * levels) // 3
        found = kendall(first.tolist(), second.tolist())
        if len(set(first)) == 1 or len(set(second)) == 1:
            assert found is None
            continue
        peer = stats.kendalltau(first, second)
        assert found.tau == pytest.approx(peer.statistic, abs=1e-12)
        assert found.p == pytest.approx(peer.pvalue, rel=1e-12, abs=1e-300)
        methods.add((len(set(first)) < n, len(set(second)) < n, n > 33))
    assert len(methods) == 8, "ties on either side, on both, and on none, few and many"


@pytest.mark.parametrize("n", [2, 5, 40])
def test_kendall_of_things_in_order_has_the_p_of_two_orders_among_all(n):
    assert kendall(range(n), range(n)) == pytest.approx((1, 2 / math.factorial(n)), rel=1e-12)
    assert kendall(range(n), range(n, 0, -1)) == pytest.approx((-1, 2 / math.factorial(n)), rel=1e-12)


@pytest.mark.parametrize("n", [176, 181, 1000])
def test_the_p_of_an_order_among_very_many_fades_to_zero(n):
    swapped = [1, 0, *range(2, n)]
    assert kendall(range(n), range(n)).p <= kendall(range(n), swapped).p < 1e-300


def test_kendall_of_very_many_pairs_has_the_tau_of_its_distances():
    """Rotating n things by k puts each of the last k before the n - k others: k(n - k) pairs in the wrong order."""
    n, k = 300_000, 70_000
    found = kendall(range(n), [*range(k, n), *range(k)])
    assert found.tau == pytest.approx(1 - 2 * k * (n - k) / math.comb(n, 2), abs=1e-12)


def test_kendall_of_less_than_two_different_values_is_nothing():
    assert kendall([], []) is kendall([1.0], [2.0]) is kendall([1.0, 1.0], [1.0, 2.0]) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-9, 9), st.integers(0, 3)), min_size=4, max_size=30))
def test_kendall_sees_ranks_alone_and_turns_with_either_side(pairs):
    first, second = zip(*pairs, strict=True)
    found = kendall(first, second)
    if found is not None:
        assert kendall([3 * x for x in first], [y**3 for y in second]) == found
        turned = kendall([-x for x in first], second)
        assert (turned.tau, turned.p) == pytest.approx((-found.tau, found.p), abs=1e-12)
        assert kendall(second, first) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("statistic", [auc, spearman, kendall])
def test_nan_has_no_rank_and_is_refused_on_either_side(statistic):
    whole, holed = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, math.nan, 4.0]
    for sides in ((holed, whole), (whole, holed)):
        with pytest.raises(ValueError, match="value 3 of 4 is NaN"):
            statistic(*sides)


@pytest.mark.parametrize("statistic", [auc, spearman, kendall])
def test_infinities_rank_beyond_all_numbers(statistic):
    endless, finite = [-math.inf, -3.0, 0.0, 2.0, math.inf], [-9.0, -3.0, 0.0, 2.0, 9.0]
    other = [math.inf, 1.0, 4.0, math.inf, 0.0]
    assert statistic(endless, other) == statistic(finite, [9.0, 1.0, 4.0, 9.0, 0.0])


@pytest.mark.parametrize("end", [math.inf, -math.inf])
def test_a_side_that_is_infinite_throughout_is_constant(end):
    assert spearman([end] * 5, range(5)) == spearman(range(5), [end] * 5) == NOTHING
    assert kendall([end] * 5, range(5)) is None
    assert auc([end] * 5, [end] * 5).value == 0.5


@settings(deadline=None)
@given(SCORES, SCORES)
def test_placements_have_the_auc_as_their_mean_on_either_side(positive, negative):
    found = placements(positive, negative)
    assert found.positive.mean() == pytest.approx(auc(positive, negative).value)
    assert found.negative.mean() == pytest.approx(auc(positive, negative).value)


def test_the_variance_of_an_auc_is_delongs_where_each_fact_has_a_subject_of_its_own():
    """DeLong et al. 1988, equation 5: the variances of the structural components, each over its number."""
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(1, 1, 30), rng.normal(0, 1, 50)
    above = [(positive[at] > negative).mean() for at in range(30)]
    below = [(positive > negative[at]).mean() for at in range(50)]
    expected = np.var(above, ddof=1) / 30 + np.var(below, ddof=1) / 50
    found = placements(positive.tolist(), negative.tolist())
    assert variance(found, [f"p{at}" for at in range(30)], [f"n{at}" for at in range(50)]) == pytest.approx(expected)
    assert variance(found, ["p"] * 30, [f"n{at}" for at in range(50)]) is None, "one subject says nothing of spread"
    # Where each of six subjects has one of either, it is that of a mean of six sums.
    found = placements(positive[:6].tolist(), negative[:6].tolist())
    expected = np.var(found.positive + found.negative, ddof=1) / 6
    assert variance(found, range(6), range(6)) == pytest.approx(expected)


def test_the_interval_of_an_auc_covers_where_a_subjects_facts_are_alike():
    """Of 1,000 samples of 60 subjects with two taught and two other facts each, 93 to 97 % hold the true AUC."""
    rng = np.random.default_rng(1)
    normal, covered = statistics.NormalDist(), 0
    truth = 59 / 60 * normal.cdf(1 / math.sqrt(3)) + 1 / 60 * normal.cdf(1 / math.sqrt(2))  # another subject, its own
    names = [f"s{at}" for at in range(60) for _ in range(2)]
    for _ in range(1000):
        shared = np.repeat(rng.normal(0, math.sqrt(0.5), 60), 2)
        scores = [(shared + rng.normal(mean, 1, 120)).tolist() for mean in (1, 0)]
        found = placements(*scores)
        half = 1.96 * math.sqrt(variance(found, names, names))
        covered += abs(found.positive.mean() - truth) <= half
    assert 930 <= covered <= 970


@settings(deadline=None)
@given(SCORES, SCORES)
def test_average_precision_is_the_sum_over_thresholds_of_precision_times_the_recall_gained(positive, negative):
    expected, recall = 0.0, 0.0
    for threshold in sorted({*positive, *negative}, reverse=True):
        right = sum(one >= threshold for one in positive)
        wrong = sum(one >= threshold for one in negative)
        expected += right / (right + wrong) * (right / len(positive) - recall)
        recall = right / len(positive)
    assert average_precision(positive, negative) == pytest.approx(expected)
