import math

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from almanac.models.scoring.best import SHARE, Followed
from almanac.models.scoring.boundaries import TokenSequence

CHOICES = st.lists(st.lists(st.floats(-25, -1e-3), min_size=1, max_size=5), min_size=1, max_size=40)


def follow(values, step):
    """Follow choices whose tokens' values are known here, ``step`` open choices at a time, one token each."""
    found = Followed([TokenSequence((0,) * (1 + len(one)), ((1, 1 + len(one)),)) for one in values])
    for index, one in enumerate(values):
        found.values[index].append(one[0])
    while choices := found.open():
        for index in choices[:step]:
            found.values[index].append(values[index][len(found.values[index])])
    return found


@given(CHOICES, st.integers(1, 50))
def test_the_best_choice_and_its_share_are_certain(values, step):
    found = follow(values, step)
    totals = np.array([math.fsum(tokens) for tokens in values])
    known = np.array([math.fsum(tokens) for tokens in found.values])
    exact = np.array(found.exact)
    assert exact[known.argmax()]
    assert totals[known.argmax()] == totals.max()
    assert (known[exact] == totals[exact]).all()
    assert (known >= totals).all()
    share, right = (math.exp(totals.max() - np.logaddexp.reduce(one)) for one in (known, totals))
    assert right * (1 - SHARE) <= share <= right * (1 + 1e-12)


def test_what_cannot_win_is_left_after_its_first_token():
    values = [[-0.1, -0.1], *([[-20.0, -1.0]] * 99)]
    found = follow(values, 1)
    assert found.exact == [True] + [False] * 99
    assert [len(one) for one in found.values] == [2] + [1] * 99


def test_many_that_are_unlikely_each_are_not_left_together():
    # Each is e^-10 of the best, below a ten-thousandth alone; three are not.
    found = follow([[-0.1, -0.1], *([[-10.2, -0.001]] * 100)], 1)
    assert sum(found.exact) == 99


def test_a_tie_is_no_certainty():
    found = Followed([TokenSequence((0, 1), ((1, 2),)), TokenSequence((0, 1, 2), ((1, 3),))])
    found.values[0].append(-1.0)
    found.values[1].append(-1.0)
    assert found.open() == [1]
