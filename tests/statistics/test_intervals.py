import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from almanac.statistics.intervals import LEVEL, NOTHING, macro_share, normal_quantile, ratio, wilson

HITS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30)
STRATA = st.lists(HITS, min_size=1, max_size=6)


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
    assert 0 <= found.low <= share + 1e-12
    assert share - 1e-12 <= found.high <= 1
    assert found.high > found.low


def test_nothing_is_said_of_nothing():
    assert wilson(0.5, 0) == NOTHING
    assert macro_share([]) == NOTHING
    assert macro_share([[], []]) == NOTHING
    assert tuple(NOTHING) == (None, None, None)


@settings(deadline=None)
@given(STRATA)
def test_the_value_is_the_unweighted_mean_of_the_strata(strata):
    assert macro_share(strata).value == pytest.approx(np.mean([np.mean(values) for values in strata]))


@pytest.mark.parametrize(("hits", "n"), [(3, 40), (20, 40), (200, 400), (399, 400)])
def test_one_stratum_is_wilson_but_for_the_small_sample_correction(hits, n):
    # The variance of a mean is estimated with n - 1, so the effective number is n - 1.
    found = macro_share([[1.0] * hits + [0.0] * (n - hits)])
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx(tuple(wilson(hits / n, n - 1))[1:], abs=1e-12)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.5 / n)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_are_right_or_all_wrong_the_interval_is_wilsons_at_their_number(share):
    assert macro_share([[share] * 25, [share] * 25]) == pytest.approx(wilson(share, 50))


@settings(deadline=None)
@given(STRATA)
def test_right_and_wrong_are_mirror_images(strata):
    found = macro_share(strata)
    mirrored = macro_share([[1 - value for value in values] for values in strata])
    assert (1 - mirrored.value, 1 - mirrored.high, 1 - mirrored.low) == pytest.approx(tuple(found), abs=1e-9)


@settings(deadline=None)
@given(STRATA, st.randoms(use_true_random=False))
def test_neither_order_nor_the_clusters_names_matter(strata, rng):
    clusters = [[f"s{index // 3}" for index in range(len(values))] for values in strata]
    shuffled = []
    for values, own in zip(strata, clusters, strict=True):
        pairs = list(zip(values, [f"other {name}" for name in own], strict=True))
        rng.shuffle(pairs)
        shuffled.append(pairs)
    rng.shuffle(shuffled)
    found = macro_share(
        [[value for value, _ in pairs] for pairs in shuffled], [[name for _, name in pairs] for pairs in shuffled]
    )
    assert found == pytest.approx(macro_share(strata, clusters), abs=1e-9)


@settings(deadline=None)
@given(STRATA, st.integers(2, 4))
def test_the_same_answer_given_twice_is_one_draw(strata, times):
    copied = [[value for value in values for _ in range(times)] for values in strata]
    clusters = [[str(index) for index in range(len(values)) for _ in range(times)] for values in strata]
    assert macro_share(copied, clusters) == pytest.approx(macro_share(strata), abs=1e-9)


def test_a_cluster_of_identical_values_widens_the_interval():
    values = [1.0] * 12 + [0.0] * 12
    alone, joined = macro_share([values]), macro_share([values], [["one"] * 6 + [str(i) for i in range(18)]])
    assert joined.value == alone.value
    assert joined.low < alone.low
    assert joined.high > alone.high


def test_one_cluster_alone_is_one_draw_however_large():
    assert macro_share([[1.0] * 100], [["one"] * 100]) == pytest.approx(wilson(1.0, 1))


def test_empty_strata_are_left_out():
    assert macro_share([[1.0, 0.0, 1.0], []]) == macro_share([[1.0, 0.0, 1.0]])


def coverage(sizes, shares, copies=1, draws=800, seed=7):
    """Return how often the interval holds the true mean of strata of these sizes (in clusters) and true shares."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(draws):
        hits = [(rng.random(n) < share).astype(float) for n, share in zip(sizes, shares, strict=True)]
        clusters = [[str(index) for index in np.repeat(np.arange(n), copies)] for n in sizes]
        found = macro_share([np.repeat(own, copies).tolist() for own in hits], clusters)
        held += found.low <= np.mean(shares) <= found.high
    return held / draws


# The standard error of a coverage near .95 over 800 draws is .008.
@pytest.mark.parametrize(
    ("sizes", "shares", "copies"),
    [
        ([40] * 5, [0.1, 0.3, 0.5, 0.7, 0.9], 1),  # strata of different shares: wider than need be
        ([40] * 5, [0.97] * 5, 1),  # near 1, where a symmetric interval fails
        ([10] * 5, [0.97] * 5, 4),  # and in clusters
        ([100] + [1] * 9, [0.5] * 10, 1),  # strata of one value tell nothing of their own spread
        ([200] + [3] * 4, [0.5] * 5, 1),
        ([3], [0.7], 30),  # few clusters
    ],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(sizes, shares, copies):
    assert 0.92 <= coverage(sizes, shares, copies) <= 0.995


def test_a_ratio_over_wholes_of_1_is_a_share():
    values = [1.0] * 13 + [0.0] * 27
    assert ratio(values, [1.0] * 40) == pytest.approx(wilson(13 / 40, 40), abs=2e-2)
    assert ratio([1.0] * 9, [1.0] * 9) == wilson(1.0, 9)
    assert ratio([0.0] * 9, [1.0] * 9) == wilson(0.0, 9)


def test_observations_without_a_whole_are_left_out():
    assert ratio([1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]) == ratio([1.0, 0.0, 1.0], [1.0] * 3)
    assert ratio([0.0], [0.0]) == ratio([], []) == NOTHING


def f1_parts(counts):
    """Return the parts and wholes of F1 for numbers of correct, incorrect and abstained answers."""
    correct, incorrect, missing = counts
    return [2.0] * correct + [0.0] * (incorrect + missing), [2.0] * (correct + incorrect) + [1.0] * missing


def test_f1_as_a_ratio_is_the_harmonic_mean_of_precision_and_recall():
    precision, recall = 30 / 50, 30 / 90
    assert ratio(*f1_parts((30, 20, 40))).value == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_interval_of_f1_is_the_bootstraps_where_there_are_many():
    parts, wholes = (np.array(one) for one in f1_parts((300, 250, 200)))
    drawn = stats.bootstrap(
        (parts, wholes),
        lambda x, y, axis=-1: x.sum(axis) / y.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    found = ratio(parts.tolist(), wholes.tolist())
    assert (found.low, found.high) == pytest.approx((drawn.low, drawn.high), abs=0.004)


def test_a_ratio_over_copies_is_no_surer():
    parts, wholes = f1_parts((6, 4, 5))
    names = [str(at) for at in range(len(parts))]
    once, thrice = ratio(parts, wholes, names), ratio(parts * 3, wholes * 3, names * 3)
    assert thrice == pytest.approx(once)
    assert ratio(parts * 3, wholes * 3).low > once.low


@pytest.mark.parametrize(
    "shares", [(0.4, 0.3, 0.3), (0.05, 0.9, 0.05), (0.05, 0.05, 0.9), (0.9, 0.05, 0.05), (0.1, 0.0, 0.9)]
)
@pytest.mark.parametrize("n", [40, 300])
def test_the_interval_of_f1_covers_the_truth_as_often_as_it_says(shares, n):
    rng = np.random.default_rng(11)
    correct, incorrect, missing = shares
    truth = 2 * correct / (2 * correct + 2 * incorrect + missing)
    draws = [ratio(*f1_parts(counts)) for counts in rng.multinomial(n, shares, size=500)]
    held = np.mean([one.low <= truth <= one.high for one in draws])
    assert 0.92 <= held <= 0.995
