"""Head, torso and tail: the worked example, the paper's rule, and what there is to say when thirds do not exist."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from almanac.errors import AlmanacError
from almanac.rows import BucketSize
from almanac.sources.frames import bucket_of, histogram_of
from almanac.sources.thirds import BUCKETS, cuts, sizes

WORKED = {"A": 8, "B": 4, "C": 2, "D": 2} | dict.fromkeys("EFGHIJKL", 1)


def by_bucket(scores: dict[str, int]) -> dict[str, str]:
    found = cuts(Counter(scores.values()))
    return {bucket: "".join(name for name in scores if found.bucket(scores[name]) == bucket) for bucket in BUCKETS}


def papers_rule(scores: list[int]) -> list[str]:
    """Sun et al., section 2: from the most popular down, while the sum stays within a third, and within two."""
    total, running, out = sum(scores), 0, []
    for score in sorted(scores, reverse=True):
        running += score
        out.append("head" if 3 * running <= total else "torso" if 3 * running <= 2 * total else "tail")
    return out


def test_the_worked_example_of_the_papers_appendix():
    assert by_bucket(WORKED) == {"head": "A", "torso": "BCD", "tail": "EFGHIJKL"}
    found = cuts(Counter(WORKED.values()))
    assert (found.shape, found.total, found.tail_to, found.torso_to) == ("thirds", 24, 1, 4)


@given(st.sets(st.integers(0, 10**15), min_size=1).map(sorted))
@example([0, 1, 2])
@example([1, 2, 3])  # 1 + 2 is exactly a half, 3 the other
@example([1, 2, 4, 8, 16, 32])
def test_without_ties_it_is_the_papers_rule(scores):
    if sum(scores) == 0:
        return
    found = cuts(Counter(scores))
    assert [found.bucket(score) for score in reversed(scores)] == papers_rule(scores)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_equal_scores_share_a_bucket_and_each_border_is_the_least_that_reaches_its_third(scores):
    found, total = cuts(Counter(scores)), sum(scores)
    if total == 0:
        assert found.shape == "all_zero"
        return
    for border, third in ((found.tail_to, 1), (found.torso_to, 2)):
        assert border in scores
        assert 3 * sum(score for score in scores if score <= border) >= third * total
        assert 3 * sum(score for score in scores if score < border) < third * total
    order = [BUCKETS.index(found.bucket(score)) for score in sorted(scores)]
    assert order == sorted(order, reverse=True)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 10**12))
def test_the_unit_of_popularity_does_not_matter(scores, unit):
    found, scaled = cuts(Counter(scores)), cuts(Counter(score * unit for score in scores))
    assert [found.bucket(score) for score in scores] == [scaled.bucket(score * unit) for score in scores]
    assert found.shape == scaled.shape


@pytest.mark.parametrize(
    ("scores", "shape", "buckets"),
    [
        ([], "empty", []),
        ([0, 0, 0], "all_zero", [None, None, None]),
        ([7], "all_equal", ["tail"]),
        ([3, 3, 3], "all_equal", ["tail"] * 3),
        ([0, 5], "tail_only", ["tail"] * 2),
        ([1, 1, 100], "tail_only", ["tail"] * 3),
        ([1, 1, 1, 1, 1, 2], "no_torso", ["tail"] * 5 + ["head"]),
        ([2, 3], "no_head", ["tail", "torso"]),
        ([1, 1, 1, 2, 3, 3], "no_head", ["tail"] * 4 + ["torso"] * 2),
        ([1, 1, 1, 1, 2, 2, 4], "thirds", ["tail"] * 4 + ["torso"] * 2 + ["head"]),
    ],
)
def test_what_cannot_be_divided_in_three_is_named(scores, shape, buckets):
    found = cuts(Counter(scores))
    assert [found.bucket(score) for score in scores] == buckets
    assert found.shape == shape


def test_a_negative_score_is_refused():
    with pytest.raises(AlmanacError, match="a score is -1"):
        cuts({-1: 1, 3: 1})


def test_a_count_of_none_is_as_if_it_were_not_there():
    assert cuts({9: 0, 3: 1, 2: 1}) == cuts({3: 1, 2: 1})


@given(st.lists(st.integers(0, 30), max_size=50))
def test_a_column_is_bucketed_as_its_numbers_are(scores):
    column = pl.Series("score", scores, dtype=pl.Int64)
    assert histogram_of(column) == Counter(scores)
    found = cuts(Counter(scores))
    bucket = pl.DataFrame([column]).with_columns(bucket=bucket_of(found, pl.col("score")))["bucket"]
    assert bucket.to_list() == [found.bucket(score) for score in scores]


def test_the_sizes_of_the_buckets():
    histogram = Counter(WORKED.values())
    assert sizes("s", "title", histogram, cuts(histogram)) == [
        BucketSize("s", "title", "head", 1, 8, 8, 8, "thirds"),
        BucketSize("s", "title", "torso", 3, 8, 2, 4, "thirds"),
        BucketSize("s", "title", "tail", 8, 8, 1, 1, "thirds"),
    ]
    only = {5: 1, 0: 3}
    assert sizes("s", "t", only, cuts(only))[0] == BucketSize("s", "t", "head", 0, 0, None, None, "tail_only")
