"""Agreement with a reference, and the cut between two samples, against other computations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.statistics.agreement import agreement, best_cut

SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


def test_a_worked_example():
    found = agreement([0.1, 0.9, 0.8, 0.3], [False, True, False, False], [0, 2, 2, 1], known=2)
    assert found.recall.value == 0.5
    assert found.tau == pytest.approx(5 / (6 * 5) ** 0.5)  # five of six pairs agree, one is tied in the reference


def test_nothing_is_said_of_a_constant():
    assert agreement([1.0, 1.0], [True, True], [0, 1], known=1)[1:] == (None, None)
    assert agreement([1.0, 2.0], [True, True], [0, 0], known=1).recall.value is None


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


def test_without_either_sample_there_is_no_cut():
    assert best_cut([], [1.0]) is None
    assert best_cut([1.0], []) is None
    assert best_cut([3.0], [1.0]) == 2.0
