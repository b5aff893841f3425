"""How far the prompts of a pair agree."""

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.suites.belief.agreement import agreement, between
from almanac.suites.belief.lemmas import alike

ANSWERS = st.lists(st.sampled_from(["a", "b", "a b", "b c", "a b c", "", None]), min_size=1, max_size=8)


def shares(answers, texts=False):
    frame = pl.DataFrame({"fact": ["f"] * len(answers), "answer": answers}, {"fact": pl.String, "answer": pl.String})
    return agreement(frame, ["fact"], texts).to_list()


def across(frame):
    whole, inner = (agreement(frame, within, False) for within in (["fact"], ["fact", "group"]))
    return between(frame, ["fact"], "group", whole, inner)


def test_the_papers_example_of_four_predictions_is_one_sixth():
    found = shares(["a", "a", "b", "c"])
    assert found == [pytest.approx(1 / 3)] * 2 + [0, 0]
    assert sum(found) / 4 == pytest.approx(1 / 6)


def test_a_relation_with_one_prompt_has_no_consistency():
    assert shares(["a"]) == [None]
    assert shares(["a", None]) == [None, None]


def test_empty_texts_agree_with_nothing_not_even_with_each_other_and_equal_tokens_do():
    third = pytest.approx(1 / 3)
    assert shares(["", "", "a", "a"], texts=True) == [0, 0, third, third]
    assert shares(["", "", "a", "a"]) == [third] * 4


def test_texts_match_where_one_stands_within_the_other_which_is_not_transitive():
    found = shares(["new york", "york", "york city"], texts=True)
    assert found == [0.5, 1, 0.5]


@given(ANSWERS, st.booleans())
def test_the_mean_is_the_share_of_matching_among_all_unordered_pairs(answers, texts):
    def match(one, other):
        return alike(one.split(), other.split()) if texts else one == other

    known = [one for one in answers if one is not None]
    pairs = list(combinations(known, 2))
    found = [one for one in shares(answers, texts) if one is not None]
    if not pairs:
        assert found == []
        return
    expected = sum(match(*pair) for pair in pairs) / len(pairs)
    assert sum(found) / len(found) == pytest.approx(expected)


def test_inner_and_inter_group_consistency_count_pairs_within_and_across_groups():
    frame = pl.DataFrame({"fact": ["f"] * 4, "group": ["g", "g", "h", "h"], "answer": ["a", "a", "a", "b"]})
    inner = agreement(frame, ["fact", "group"], False).to_list()
    inter = across(frame).to_list()
    assert sum(inner) / 4 == pytest.approx(1 / 2)  # a-a, a-b
    assert sum(inter) / 4 == pytest.approx(2 / 4)  # a-a, a-b, a-a, a-b


@given(st.lists(st.tuples(st.sampled_from("gh"), st.sampled_from(["a", "b", None])), min_size=2, max_size=8))
def test_agreement_between_groups_equals_brute_force(rows):
    frame = pl.DataFrame(
        {"fact": ["f"] * len(rows), "group": [row[0] for row in rows], "answer": [row[1] for row in rows]},
        {"fact": pl.String, "group": pl.String, "answer": pl.String},
    )
    for (group, answer), found in zip(rows, across(frame), strict=True):
        others = [one for own, one in rows if own != group and one is not None]
        if answer is None or not others:
            assert found is None
        else:
            assert found == pytest.approx(sum(one == answer for one in others) / len(others))
