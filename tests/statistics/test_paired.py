"""Paired tests against sums by hand and against intervals that hold where they should."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from benchmarks.coverage import LOW, Design, difference_coverage, f1_coverage
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from almanac.statistics import grouped, paired
from almanac.statistics.intervals import Estimate, combined
from almanac.statistics.paired import macro_difference, p_of_difference, ps_of_differences, ratio_differences

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


def exact(first_alone, second_alone):
    """Return the two-sided p of a fair coin, summed term by term."""
    n, k = first_alone + second_alone, min(first_alone, second_alone)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


def p_of(pairs, strata=None, clusters=None):
    """Return the p of pairs, each of a cluster of its own and all of one stratum where nothing else is said."""
    rows = zip(pairs, strata or ["r"] * len(pairs), clusters or range(len(pairs)), strict=True)
    schema = {"one": pl.Boolean, "other": pl.Boolean, "r": pl.String, "s": pl.Int64}
    frame = pl.DataFrame([(*pair, stratum, cluster) for pair, stratum, cluster in rows], schema, orient="row")
    return p_of_difference(frame, "one", "other", "r", "s")


@given(PAIRS)
def test_of_one_question_a_subject_p_is_mcnemars_a_fair_coin_on_the_questions_that_differ(pairs):
    alone = pairs.count((True, False)), pairs.count((False, True))
    assert p_of(pairs) == pytest.approx(exact(*alone) if sum(alone) else 1.0)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("ab"), st.integers(0, 9)), max_size=14))
def test_p_counts_the_signs_of_what_subjects_add_and_does_not_care_who_is_first(rows):
    """Against all signs, one by one."""
    pairs, strata, clusters = [row[:2] for row in rows], [row[2] for row in rows], [row[3] for row in rows]
    found = p_of(pairs, strata, clusters)
    assert p_of([(other, one) for one, other in pairs], strata, clusters) == found
    parts = {
        cluster: sum((row[0] - row[1]) / strata.count(row[2]) for row in rows if row[3] == cluster)
        for cluster in clusters
    }
    sizes = [abs(part) for part in parts.values() if abs(part) > 1e-12]
    sums = [
        abs(sum(sign * size for sign, size in zip(signs, sizes, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sizes))
    ]
    far = abs(sum(parts.values()))
    assert found == pytest.approx(sum(one >= far - 1e-9 for one in sums) / len(sums))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("ab"), st.integers(0, 9)), max_size=20))
def test_each_group_has_the_p_that_it_has_by_itself(rows):
    schema = {"one": pl.Boolean, "other": pl.Boolean, "r": pl.String, "s": pl.Int64}
    frame = pl.DataFrame(rows, schema, orient="row")
    alone = {(name,): p_of_difference(own, "one", "other", "r", "s") for (name,), own in frame.group_by("r")}
    assert ps_of_differences(frame, ["r"], "one", "other", None, "s") == pytest.approx(alone)


def test_sums_that_tie_do_so_in_relations_of_unequal_size():
    """In 10 facts one is won and one lost, in 20 seven are won: 7/20 is met by 31 of 256 sums of signs."""
    pairs = [(True, False), (False, True), *[(False, False)] * 8, *[(True, False)] * 7, *[(False, False)] * 13]
    signs = itertools.product((1, -1), repeat=9)
    met = sum(abs(2 * sum(own[:2]) + sum(own[2:])) >= 7 for own in signs)
    assert p_of(pairs, ["ten"] * 10 + ["twenty"] * 20) == pytest.approx(met / 2**9)
    assert met / 2**9 == pytest.approx(0.1211, abs=1e-4)


def test_of_parts_that_fit_on_no_grid_p_is_never_too_small():
    sizes = (97, 89, 83, 79, 73, 71)
    pairs = [pair for size in sizes for pair in [(True, False)] * 2 + [(False, False)] * (size - 2)]
    strata = [str(size) for size in sizes for _ in range(size)]
    assert 2 / 2**12 <= p_of(pairs, strata) <= 3 * 2 / 2**12


def test_of_many_parts_that_fit_on_no_grid_p_is_little_too_large(monkeypatch):
    drawn = np.random.default_rng(0)
    parts = drawn.random(400) * np.where(drawn.random(400) < 0.55, 1, -1)
    p = paired._p(parts, 1)
    monkeypatch.setattr(paired, "STEPS", 2**20)
    assert 0 < 0.97 * p < paired._p(parts, 1) < p


def test_there_is_a_p_where_no_float_holds_the_common_multiple_of_all_sizes():
    sizes = range(20, 820)
    pairs = [pair for size in sizes for pair in [(True, False)] * (size < 420) + [(False, False)] * size]
    strata = [str(size) for size in sizes for _ in range(size + (size < 420))]
    assert 0 <= p_of(pairs, strata) < 1e-9


def test_p_is_of_the_difference_that_is_printed():
    """In a large relation one is better, in ten small ones the other is; the mean of relations is for the other."""
    pairs, strata = [(True, False)] * 60 + [(False, False)] * 40, ["large"] * 100
    for small in range(10):
        pairs += [(False, True)] * 3 + [(False, False)] * 7
        strata += [f"small {small}"] * 10
    one, other = ([pair[side] for pair in pairs] for side in (0, 1))
    assert sum(one) > sum(other), "McNemar's test would be of this"
    assert difference(one, other, strata, list(range(len(pairs)))).high < 0
    assert p_of(pairs, strata) < 0.01


def test_facts_of_one_subject_are_one_draw():
    pairs = [(True, False)] * 10 + [(False, True)] * 10 + [(True, False)] * 10
    assert p_of(pairs) == pytest.approx(exact(20, 10))
    assert p_of(pairs, clusters=[at // 10 for at in range(30)]) == 1.0, "two subjects against one"


def test_a_published_table():
    # Agresti, Categorical Data Analysis, approval of a prime minister: 86 and 150 changed their mind.
    assert p_of([(True, False)] * 86 + [(False, True)] * 150) == pytest.approx(3.7e-5, rel=0.02)


def test_of_many_subjects_p_is_nearly_what_counting_gives():
    assert p_of([(True, False)] * 270 + [(False, True)] * 330) == pytest.approx(exact(270, 330), rel=0.02)


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


def test_where_nothing_differs_a_relation_of_few_facts_takes_from_it_what_it_takes_from_the_mean():
    """Of 60, 60 and 2 facts the mean varies as of 9 / (1/60 + 1/60 + 1/2) draws, and Tango's limit is z² / (n + z²)."""
    strata = ["a"] * 60 + ["b"] * 60 + ["c"] * 2
    found = difference([True] * 122, [True] * 122, strata, range(122))
    z2 = stats.norm.ppf(0.975) ** 2
    limit = z2 / (9 / (1 / 60 + 1 / 60 + 1 / 2) + z2)
    assert found == pytest.approx((0, -limit, limit))


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


SCORED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.sampled_from(["g", None])), max_size=30)


def scored(rows):
    """Return questions, each right (2), wrong (1) or not answered (0), with what they add to F1."""
    found, subjects, groups = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"part": [2 * (one == 2) for one in found], "whole": [1 + (one > 0) for one in found]}
    schema = {"part": pl.Int64, "whole": pl.Int64, "s": pl.Int64, "g": pl.String}
    return pl.DataFrame({**columns, "s": subjects, "g": groups}, schema)


def f1_difference(one, other, by=()):
    return ratio_differences(scored(one), scored(other), by, "part", "whole", "s")


@given(SCORED, SCORED)
def test_a_difference_of_f1_does_not_care_which_is_first_and_is_there_where_both_are(one, other):
    found, turned = f1_difference(one, other, ["g"]), f1_difference(other, one, ["g"])
    assert {*found} == {*turned} == {(group,) for *_, group in one} & {(group,) for *_, group in other}
    for (group,), own in found.items():
        parts = [[row for row in rows if row[-1] == group] for rows in (one, other)]
        assert f1_difference(*parts) == {(): pytest.approx(own)}
        f1 = [2 * sum(row[0] == 2 for row in rows) / sum(1 + (row[0] > 0) for row in rows) for rows in parts]
        assert own.value == pytest.approx(f1[0] - f1[1])
        back = turned[group,]
        assert (-back.value, -back.high, -back.low) == pytest.approx(own)
        assert -1 <= own.low <= own.value + 1e-12 and own.value - 1e-12 <= own.high <= 1 and own.low < own.high


def test_a_difference_of_f1_is_surer_where_the_same_subjects_go_alike():
    answers = [(at % 3, at, "g") for at in range(60)]
    others = [(at % 2, at + 100, "g") for at in range(60)]
    f1 = [Estimate(*grouped.ratio(scored(rows), [], "part", "whole", "s").row(0)) for rows in (answers, others)]
    assert f1_difference(answers, others)[()] == pytest.approx(combined([(1, f1[0]), (-1, f1[1])]))
    same = f1_difference(answers, answers)[()]
    alone = combined([(1, f1[0]), (-1, f1[0])])
    # Of 60 that do not differ one cannot know that none ever does.
    assert same.value == 0 and same.low == pytest.approx(-same.high)
    assert 0.03 < same.high < 0.4 * alone.high


@pytest.mark.parametrize("of", [(60, 1, 0.5, 0.5, 0.0), (60, 1, 0.9, 0.6, 0.6), (50, 4, 0.5, 0.2, 0.5)])
def test_the_interval_of_a_difference_of_f1_holds_the_truth(of):
    assert LOW <= f1_coverage(*of, 600) <= 0.99
