"""Shares, means and ratios of many groups: the formulas in plain Python, and what must hold of any interval."""

import math
import statistics
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from benchmarks.coverage import DESIGNS
from benchmarks.coverage import coverage as designed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from almanac.statistics import grouped
from almanac.statistics.intervals import LEVEL, NOTHING, Estimate, normal_quantile, wilson

HITS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30)
STRATA = st.lists(HITS, min_size=1, max_size=6)


def estimate(found):
    """The estimate of the one group there is, or nothing."""
    return Estimate(*found.row(0)) if found.height else NOTHING


def macro(strata, clusters=None):
    """The mean over strata; each value its own cluster unless they are named."""
    named = clusters or [[f"{stratum}.{at}" for at in range(len(values))] for stratum, values in enumerate(strata)]
    rows = [
        (stratum, cluster, value)
        for stratum, (values, own) in enumerate(zip(strata, named, strict=True))
        for value, cluster in zip(values, own, strict=True)
    ]
    frame = pl.DataFrame(rows, {"relation": pl.Int64, "subject": pl.String, "hit": pl.Float64}, orient="row")
    return estimate(grouped.macro(frame, [], "hit", "relation", "subject"))


def ratio(parts, wholes, clusters=None):
    """A ratio of sums; each observation its own cluster unless they are named."""
    frame = pl.DataFrame(
        {"part": list(parts), "whole": list(wholes), "subject": clusters or [str(at) for at in range(len(parts))]},
        {"part": pl.Float64, "whole": pl.Float64, "subject": pl.String},
    )
    return estimate(grouped.ratio(frame, [], "part", "whole", "subject"))


# The formulas, group by group, as the docstrings state them


def macro_share(strata, clusters):
    """Return the unweighted mean over strata of a share within them, as `grouped.macro` says.

    Args:
        strata: values in 0 to 1, one sequence a stratum (relation).
        clusters: names in parallel to the values.
    """
    means, counts = [sum(values) / len(values) for values in strata], [kish(own) for own in clusters]
    told_by = sum(1 / count for count in counts) ** 2 / sum(
        weight**4 for own in clusters for weight in weights(own).values()
    )
    share, worth = sum(means) / len(means), len(means) ** 2 / sum(1 / count for count in counts)
    draws_of, strata_of = defaultdict(float), defaultdict(int)
    for own in clusters:
        for cluster, weight in weights(own).items():
            draws_of[cluster] += weight
            strata_of[cluster] += 1
    most = sum(own**2 for own in draws_of.values()) / sum(1 / count for count in counts)
    added = normal_quantile(LEVEL) ** 2
    squares, shared = vary(strata, clusters, means)
    # Of a sample the product of both shares is too small by the variance of the mean.
    draws = sum((p * (1 - p) + own) / c for p, own, c in zip(means, squares, counts, strict=True) if c > 1)
    effect = (sum(squares) + max(0.0, shared)) / draws if draws > 0 else 1.0
    if effect < 1:
        effect = (told_by * effect + added) / (told_by + added)
    alike = sum(own * (own - 1) / 2 for own in strata_of.values()) * min(share, 1 - share)
    effect += max(0.0, most - max(effect, 1)) * added / (alike + added)
    drawn = [((c * p + added * share) / (c + added), c) for p, c in zip(means, counts, strict=True)]
    variances = [effect * p * (1 - p) / c for p, c in drawn]
    all_alike = not 0 < share < 1
    found = wilson(share, worth / most if all_alike else share * (1 - share) * len(means) ** 2 / sum(variances))
    below, above = found.value - found.low, found.high - found.value
    usual = statistics.median(1 / count for count in counts)
    for p, c, variance in zip(means, counts, variances, strict=True):
        few, alone = max(0.0, 1 - 2 * c * usual), wilson(p, c / effect)
        below, above = (
            math.sqrt(squared**2 + few * max(0.0, (end - p) ** 2 - added * variance) / len(means) ** 2)
            for squared, end in ((below, alone.low), (above, alone.high))
        )
    return Estimate(share, max(0.0, share - below), min(1.0, share + above))


def weights(clusters):
    """Return the share of each cluster among observations of these clusters."""
    return {cluster: count / len(clusters) for cluster, count in Counter(clusters).items()}


def kish(clusters):
    """Return how many clusters of equal size these are worth, if the values of each are one."""
    return 1 / sum(weight**2 for weight in weights(clusters).values())


def varies(clusters, cluster):
    """Return the standard deviation of a cluster from the mean of all, in units of that from the true mean."""
    own = weights(clusters)
    rest = sum(weight**2 for name, weight in own.items() if name != cluster)
    return math.sqrt((1 - own[cluster]) ** 2 + rest)


def vary(strata, clusters, means):
    """Return by stratum what the sums of its clusters vary, and what clusters vary alike in several strata."""
    whole = defaultdict(float)
    squares = []
    for values, own, mean in zip(strata, clusters, means, strict=True):
        sums = defaultdict(float)
        for value, cluster in zip(values, own, strict=True):
            sums[cluster] += (value - mean) / len(values)
        scaled = {cluster: total / varies(own, cluster) for cluster, total in sums.items() if len(sums) > 1}
        squares.append(sum(total**2 for total in scaled.values()))
        for cluster, total in scaled.items():
            whole[cluster] += total
    return squares, sum(total**2 for total in whole.values()) - sum(squares)


def plain_macro(rows, strata, unit):
    """Stratified mean of clusters; ``rows`` are dictionaries of a group whose value is known."""
    of_stratum = {}
    for at, row in enumerate(rows):
        facts = of_stratum.setdefault(row["relation"] if strata else 0, {})
        facts.setdefault(row["fact"] if unit else at, []).append(row)
    values = [[sum(row["hit"] for row in same) / len(same) for same in own.values()] for own in of_stratum.values()]
    return macro_share(values, [[same[0]["subject"] for same in own.values()] for own in of_stratum.values()])


def plain_ratio(rows):
    """Ratio of sums with its linearised variance (Cochran 1977, section 2.11)."""
    known = [row for row in rows if row["whole"] > 0]
    if not known:
        return None
    total = sum(row["whole"] for row in known)
    value = sum(row["part"] for row in known) / total
    residuals = {}
    for row in known:
        residuals[row["subject"]] = residuals.get(row["subject"], 0.0) + row["part"] - value * row["whole"]
    own = [row["subject"] for row in known]
    worth = total / max(row["whole"] for row in known) * kish(own) / len(known)
    if len(residuals) == 1 or value in (0, 1):
        return wilson(value, worth)
    variance = sum((one / varies(own, cluster)) ** 2 for cluster, one in residuals.items()) / total**2
    effect, added = worth * variance / (value * (1 - value)), stats.norm.ppf(0.975) ** 2
    told_by = worth / kish(own) ** 3 / sum(weight**4 for weight in weights(own).values())
    draws = worth / (effect if effect >= 1 else (told_by * effect + added) / (told_by + added))
    return wilson(value, max(draws, min(1, worth)))


ROW = st.fixed_dictionaries(
    {
        "setting": st.sampled_from(["x", "y", None]),
        "number": st.sampled_from([0, 1, None]),
        "relation": st.sampled_from("ab"),
        "subject": st.sampled_from("stuv"),
        "fact": st.integers(0, 3),
        "hit": st.sampled_from([0.0, 0.25, 1.0, None]),
        "part": st.sampled_from([0.0, 1.0, None]),
        "whole": st.sampled_from([0.0, 1.0, 2.0, None]),
    }
)


def frame_of(rows):
    for row in rows:  # a fact has one subject and relation, and a part is at most its whole
        row["fact"] = f"{row['relation']}{row['subject']}{row['fact'] % 2}"
        row["part"] = row["part"] and row["whole"] and min(row["part"], row["whole"])
    text, value = dict.fromkeys(("setting", "relation", "subject", "fact"), pl.String), pl.Float64
    schema = {**text, "number": pl.Int64, "hit": value, "part": value, "whole": value}
    return pl.DataFrame(rows, schema).with_columns(pl.col("setting", "relation", "subject").cast(pl.Categorical))


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, max_size=40), st.sampled_from([(), ("setting",), ("relation",), ("setting", "number")]))
def test_every_groups_number_is_that_of_the_formula_in_plain_python(rows, by):
    frame, of_group = frame_of(rows), {}
    for row in rows:
        of_group.setdefault(tuple(row[name] for name in by), []).append(row)

    def wanted(formula, *columns):
        known = {
            key: [row for row in own if all(row[name] is not None for name in columns)] for key, own in of_group.items()
        }
        found = {key: formula(own) for key, own in known.items() if own}
        return {key: pytest.approx(tuple(one), abs=1e-9) for key, one in found.items() if one is not None}

    def found(frame):
        assert frame.columns == [*by, "value", "low", "high"]
        return {row[: len(by)]: row[len(by) :] for row in frame.rows()}

    for strata in ("relation", None):
        for unit in ("fact", None):
            assert found(grouped.macro(frame, by, "hit", strata, "subject", unit)) == wanted(
                lambda own, strata=strata, unit=unit: plain_macro(own, strata, unit), "hit"
            )
    assert found(grouped.ratio(frame, by, "part", "whole", "subject")) == wanted(plain_ratio, "part", "whole")


@settings(deadline=None)
@given(STRATA, st.integers(1, 3))
def test_a_mean_over_strata_is_that_of_the_formula_in_plain_python(strata, size):
    clusters = [[str(at // size) for at in range(len(values))] for values in strata]
    assert macro(strata, clusters) == pytest.approx(macro_share(strata, clusters), abs=1e-9)


@pytest.mark.parametrize(
    "name", ["n", "sum", "mean", "own", "total", "worth", "cluster", "stratum", "part", "clusters", "below", "above"]
)
def test_groups_may_be_made_by_a_column_of_any_name(name):
    rows = [{"key": key, "r": "r", "s": at, "v": float(at % 3 == 0), "w": 1.0} for at in range(12) for key in (1, 2)]
    frame = pl.DataFrame(rows)
    named = frame.rename({"key": name})
    assert grouped.macro(named, [name], "v", "r", "s").rows() == grouped.macro(frame, ["key"], "v", "r", "s").rows()
    assert grouped.ratio(named, [name], "v", "w", "s").rows() == grouped.ratio(frame, ["key"], "v", "w", "s").rows()


@pytest.mark.parametrize("n", [70_000, 300_000])
def test_the_interval_of_very_many_is_wilsons_too(n):
    # The square of such a number does not fit into the 32 bits in which polars counts.
    frame = pl.DataFrame({"hit": [True, False] * (n // 2), "relation": ["r"] * n, "subject": range(n)})
    mean = grouped.macro(frame, [], "hit", "relation", "subject").row(0)
    assert mean == pytest.approx(tuple(wilson(0.5, n)), abs=1e-12)
    whole = frame.with_columns(pl.lit(1).alias("whole"))
    found = grouped.ratio(whole, [], "hit", "whole", "subject").row(0)
    assert found == pytest.approx(tuple(wilson(0.5, n - 1)), abs=1e-12), "the variance is estimated with n - 1"


# The mean over strata


def test_nothing_is_said_of_nothing():
    assert macro([]) == macro([[], []]) == ratio([], []) == NOTHING
    assert grouped.macro(frame_of([]), ["setting"], "hit", "relation", "subject").height == 0


@settings(deadline=None)
@given(STRATA)
def test_the_value_is_the_unweighted_mean_of_the_strata(strata):
    assert macro(strata).value == pytest.approx(np.mean([np.mean(values) for values in strata]))


@pytest.mark.parametrize(("hits", "n"), [(3, 40), (20, 40), (200, 400), (399, 400)])
def test_one_stratum_is_wilson(hits, n):
    found = macro([[1.0] * hits + [0.0] * (n - hits)])
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_are_right_or_all_wrong_the_interval_is_wilsons_at_their_number(share):
    assert macro([[share] * 25, [share] * 25]) == pytest.approx(wilson(share, 50))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_are_alike_a_subject_of_several_relations_is_one_draw(share):
    subjects = [f"s{at}" for at in range(25)]
    assert macro([[share] * 25] * 8, [subjects] * 8) == pytest.approx(wilson(share, 25))


@settings(deadline=None)
@given(STRATA)
def test_right_and_wrong_are_mirror_images(strata):
    found = macro(strata)
    mirrored = macro([[1 - value for value in values] for values in strata])
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
    found = macro([[value for value, _ in own] for own in shuffled], [[name for _, name in own] for own in shuffled])
    assert found == pytest.approx(macro(strata, clusters), abs=1e-9)


@settings(deadline=None)
@given(STRATA, st.integers(2, 4))
def test_the_same_answer_given_twice_is_one_draw(strata, times):
    copied = [[value for value in values for _ in range(times)] for values in strata]
    clusters = [
        [f"{stratum}.{at}" for at in range(len(values)) for _ in range(times)] for stratum, values in enumerate(strata)
    ]
    assert macro(copied, clusters) == pytest.approx(macro(strata), abs=1e-9)


def test_a_cluster_of_identical_values_widens_the_interval():
    values = [1.0] * 12 + [0.0] * 12
    alone, joined = macro([values]), macro([values], [["one"] * 6 + [str(at) for at in range(18)]])
    assert joined.value == alone.value
    assert joined.low < alone.low
    assert joined.high > alone.high


def test_one_cluster_alone_is_one_draw_however_large():
    assert macro([[1.0] * 100], [["one"] * 100]) == pytest.approx(wilson(1.0, 1))


def coverage(sizes, shares, copies=1, draws=800, seed=7):
    """How often the interval holds the true mean of strata of these sizes (in clusters) and true shares."""
    rng = np.random.default_rng(seed)
    parts = [
        pl.DataFrame(
            {
                "draw": np.repeat(np.arange(draws), n * copies),
                "relation": np.full(draws * n * copies, stratum),
                "subject": np.tile(np.repeat(np.arange(n), copies), draws) + 1000 * stratum,
                "hit": np.repeat(rng.random((draws, n)) < share, copies, axis=1).ravel(),
            }
        )
        for stratum, (n, share) in enumerate(zip(sizes, shares, strict=True))
    ]
    found = grouped.macro(pl.concat(parts), ["draw"], "hit", "relation", "subject")
    assert found.height == draws
    truth = sum(shares) / len(shares)
    return found.select((pl.col("low") <= truth) & (pl.col("high") >= truth)).to_series().mean()


# The standard error of a coverage near .95 over 800 draws is .008.
@pytest.mark.parametrize(
    ("sizes", "shares", "copies"),
    [
        ([40] * 5, [0.1, 0.3, 0.5, 0.7, 0.9], 1),  # strata of different shares
        ([40] * 5, [0.97] * 5, 1),  # near 1, where a symmetric interval fails
        ([10] * 5, [0.97] * 5, 4),  # and in clusters
        ([100] + [1] * 9, [0.5] * 10, 1),  # strata of one value tell nothing of their own spread
        ([200] + [3] * 4, [0.5] * 5, 1),
        ([3], [0.7], 30),  # few clusters
    ],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(sizes, shares, copies):
    assert 0.92 <= coverage(sizes, shares, copies) <= 0.995


def test_of_other_strata_students_t_speaks_and_never_less_widely_than_of_these():
    rng = np.random.default_rng(5)
    shares = np.linspace(0.3, 0.7, 12)
    hits = (rng.random((12, 400)) < shares[:, None]).astype(float)
    rows = [(at, f"{at} {place}", hit) for at, own in enumerate(hits) for place, hit in enumerate(own)]
    frame = pl.DataFrame(rows, ["relation", "subject", "hit"], orient="row")
    these, others = (
        estimate(grouped.macro(frame, [], "hit", "relation", "subject", drawn=drawn)) for drawn in (False, True)
    )
    half = stats.t.ppf(0.975, 11) * stats.sem(hits.mean(axis=1))
    assert others.value == these.value
    assert (others.low, others.high) == pytest.approx((these.value - half, these.value + half), abs=0.005)
    # Wilson's limits are those at which the share is a quantile of its own standard errors away.
    draws = these.value * (1 - these.value) / stats.sem(hits.mean(axis=1)) ** 2
    for end in (others.low, others.high):
        errors = abs(end - these.value) / math.sqrt(end * (1 - end) / draws)
        assert errors == pytest.approx(stats.t.ppf(0.975, 11))
    alike = frame.with_columns(pl.lit(1.0).alias("hit"))
    assert estimate(grouped.macro(alike, [], "hit", "relation", "subject", drawn=True)) == estimate(
        grouped.macro(alike, [], "hit", "relation", "subject")
    )
    alone = grouped.macro(frame.filter(pl.col("relation") == 0), [], "hit", "relation", "subject", drawn=True)
    assert estimate(alone) == Estimate(hits[0].mean(), None, None), "one relation says nothing of others"


# Designs of the command that lists them all; the standard error over 400 runs is .011.
@pytest.mark.parametrize(
    "name",
    [
        *("relations differ much", "five facts of a subject", "few subjects of unequal size"),
        "relations share their subjects",
    ],
)
def test_both_intervals_cover_the_truth_as_often_as_they_say(name):
    [design] = [one for one in DESIGNS if one.name == name]
    assert 0.91 <= designed(design, 400, True) <= 0.98
    assert 0.91 <= designed(design, 400, False) <= 0.98


# Ratios


def test_a_ratio_over_wholes_of_1_is_a_share():
    values = [1.0] * 13 + [0.0] * 27
    assert ratio(values, [1.0] * 40) == pytest.approx(wilson(13 / 40, 40), abs=2e-2)
    assert ratio([1.0] * 9, [1.0] * 9) == pytest.approx(wilson(1.0, 9))
    assert ratio([0.0] * 9, [1.0] * 9) == pytest.approx(wilson(0.0, 9))


def test_observations_without_a_whole_are_left_out():
    assert ratio([1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]) == ratio([1.0, 0.0, 1.0], [1.0] * 3)
    assert ratio([0.0], [0.0]) == NOTHING


def f1_parts(counts):
    """The parts and wholes of F1 for numbers of correct, incorrect and abstained answers."""
    correct, incorrect, missing = counts
    return [2.0] * correct + [0.0] * (incorrect + missing), [2.0] * (correct + incorrect) + [1.0] * missing


def test_the_interval_of_a_ratio_does_not_hang_on_rounding_where_clusters_agree():
    alike = ratio([1 / 3] * 2, [1.0] * 2)
    assert alike == pytest.approx(ratio([1 / 3 - 1e-9, 1 / 3 + 1e-9], [1.0] * 2), abs=1e-6)


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


def test_a_ratio_of_one_large_cluster_says_what_one_draw_says_and_no_less():
    names = ["large"] * 100 + ["small"]
    found, alone = ratio([1.0] * 95 + [0.0] * 6, [1.0] * 101, names), wilson(95 / 101, 1)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=0.05)


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
    correct, incorrect, missing = shares
    truth = 2 * correct / (2 * correct + 2 * incorrect + missing)
    counts = np.random.default_rng(11).multinomial(n, shares, size=500)
    parts, wholes = (np.concatenate([f1_parts(own)[at] for own in counts]) for at in (0, 1))
    frame = pl.DataFrame({"draw": np.repeat(np.arange(500), n), "subject": np.tile(np.arange(n), 500)})
    frame = frame.with_columns(pl.Series("part", parts), pl.Series("whole", wholes))
    found = grouped.ratio(frame, ["draw"], "part", "whole", "subject")
    assert 0.92 <= found.select((pl.col("low") <= truth) & (pl.col("high") >= truth)).to_series().mean() <= 0.995


@pytest.mark.parametrize(
    ("subjects", "templates", "modes"), [(75, 8, (1, 3)), (20, 8, (1, 3)), (200, 8, (0.2, 2)), (30, 2, (8, 2))]
)
def test_the_interval_of_consistency_covers_the_truth_as_often_as_it_says(subjects, templates, modes):
    """A subject's answer is its usual one with a chance of its own, else one of 20 at random."""
    rng, draws = np.random.default_rng(5), 500
    chance = rng.beta(*modes, size=(draws, subjects, 1))
    shape = (draws, subjects, templates)
    said = np.where(rng.random(shape) < chance, -1, rng.integers(20, size=shape))
    alike = (said[..., :, None] == said[..., None, :]).sum(-1) - 1
    of = {
        "draw": np.repeat(np.arange(draws), subjects * templates),
        "subject": np.repeat(np.arange(draws * subjects), templates),
    }
    frame = pl.DataFrame({**of, "part": alike.ravel() / (templates - 1), "whole": 1.0})
    usual = stats.beta(*modes)
    truth = usual.moment(2) + (1 - 2 * usual.mean() + usual.moment(2)) / 20
    found = grouped.ratio(frame, ["draw"], "part", "whole", "subject")
    assert 0.92 <= found.select((pl.col("low") <= truth) & (pl.col("high") >= truth)).to_series().mean() <= 0.99
