import math

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from almanac.models.scoring.best import SHARE, follow
from almanac.models.scoring.boundaries import TokenSequence

STEM = (1, 2, 3)
CHOICES = st.lists(st.lists(st.floats(-25, -1e-3), min_size=1, max_size=5), min_size=1, max_size=40)


def scorer(values, read):
    """Return scoring that knows the values of each choice's tokens, and notes how many tokens were read of each."""

    def score(sequences):
        found = []
        for one in sequences:
            choice = one.tail[0]
            first, stop = one.parts[0]
            assert first == len(STEM)
            assert one.head == STEM
            assert len(one.tail) == stop - first
            read[choice] = max(read.get(choice, 0), stop - first)
            found.append([values[choice][: stop - first]])
        return found

    return score


def sequences_of(values):
    return [
        TokenSequence((index, *range(len(tokens) - 1)), ((3, 3 + len(tokens)),), STEM)
        for index, tokens in enumerate(values)
    ]


@given(CHOICES)
def test_the_best_choice_and_its_share_are_certain(values):
    read = {}
    [found] = follow(scorer(values, read), [sequences_of(values)])
    totals = np.array([math.fsum(tokens) for tokens in values])
    known = np.array([math.fsum(tokens) for tokens in found.values])
    exact = np.array(found.exact)
    assert exact[known.argmax()]
    assert totals[known.argmax()] == totals.max()
    assert (known[exact] == totals[exact]).all()
    assert (known >= totals).all()
    share, right = (math.exp(totals.max() - np.logaddexp.reduce(one)) for one in (known, totals))
    assert right * (1 - SHARE) <= share <= right * (1 + 1e-12)
    assert all(read[index] == (len(tokens) if exact[index] else 1) for index, tokens in enumerate(values))


def test_what_cannot_win_is_left_after_its_first_token():
    values = [[-0.1, -0.1], *([[-20.0, -1.0]] * 99)]
    read = {}
    [found] = follow(scorer(values, read), [sequences_of(values)])
    assert found.exact == [True] * 8 + [False] * 92
    assert read[0] == 2 and read[99] == 1


def test_many_that_are_unlikely_each_are_not_left_together():
    # Each is e^-9 of the best, below a ten-thousandth alone; a hundred are not.
    values = [[-0.1, -0.1], *([[-9.2, -0.001]] * 100)]
    [found] = follow(scorer(values, {}), [sequences_of(values)])
    assert sum(found.exact) > 20
