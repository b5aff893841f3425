"""The cut between two samples, against every other one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.statistics.agreement import best_cut

SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_no_other_cut_parts_two_samples_better(positive, negative):
    cut = best_cut(positive, negative)

    def parted(at):
        above, wrong = sum(one > at for one in positive), sum(one > at for one in negative)
        return above / len(positive) - wrong / len(negative)

    values = {*positive, *negative}
    between = [at + 0.5 for at in range(int(min(values)), int(max(values)))]
    if cut is None:
        assert not between
    else:
        assert parted(cut) == pytest.approx(max(map(parted, between)))


def test_without_either_sample_there_is_no_cut_and_of_equal_ones_it_is_the_lowest():
    assert best_cut([], [1.0]) is None
    assert best_cut([1.0], []) is None
    assert best_cut([3.0], [1.0]) == 2.0
    assert best_cut([2.0, 4.0], [1.0, 3.0]) == 1.5, "3.5 parts them as well"
