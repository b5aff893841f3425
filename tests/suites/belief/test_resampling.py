"""How far accuracy varies between sets of prompts."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.suites.belief.resampling import Hits

DRAWS = 50_000


def frame_of(matrices: dict[str, list[list[int]]]) -> pl.DataFrame:
    """Return prompts of relations, by pair and template."""
    rows = [
        (relation, f"{relation}{pair}", f"{relation}/{place}", bool(hit))
        for relation, own in matrices.items()
        for pair, cells in enumerate(own)
        for place, hit in enumerate(cells)
    ]
    return pl.DataFrame(rows, ["relation", "fact", "template", "hit"], orient="row")


def hits(matrices: dict[str, list[list[int]]]) -> Hits:
    """Return the hits of relations, by pair and template."""
    return Hits.of(frame_of(matrices))


def mean(found: Hits, resample: str) -> float:
    """The mean accuracy over all prompt sets."""
    if resample == "pair":
        return float(found.shares.mean())
    return found.weighted(own.mean() for own in found.accuracy)


def test_two_relations_worked_by_hand():
    """Weights .75 and .25; template accuracies .2 and .6, and .5 and .5: mean .425, deviation .15."""
    found = hits({"a": [[1, 1]] * 6 + [[0, 1]] * 12 + [[0, 0]] * 12, "b": [[1, 0]] * 5 + [[0, 1]] * 5})
    assert found.weights.tolist() == [0.75, 0.25]
    assert [own.tolist() for own in found.accuracy] == [[0.2, 0.6], [0.5, 0.5]]
    assert mean(found, "relation") == pytest.approx(0.425)
    assert found.deviation("relation") == pytest.approx(0.15)
    assert found.extremes()[:2] == (pytest.approx(0.275), pytest.approx(0.575))
    assert np.ptp(found.simulated("relation", DRAWS, 0)) == pytest.approx(0.3)


@pytest.mark.parametrize("resample", ["relation", "pair"])
def test_drawn_sets_have_the_mean_and_deviation_of_the_closed_form(resample):
    generator = np.random.default_rng(1)
    found = hits(
        {name: (generator.random((30, 7)) < share).astype(int).tolist() for name, share in {"a": 0.3, "b": 0.6}.items()}
    )
    sets = found.simulated(resample, DRAWS, 1, "x")
    deviation = found.deviation(resample)
    assert sets.mean() == pytest.approx(mean(found, resample), abs=5 * deviation / DRAWS**0.5)
    assert sets.std() == pytest.approx(deviation, rel=0.02)
    assert (sets == found.simulated(resample, DRAWS, 1, "x")).all()
    assert (sets != found.simulated(resample, DRAWS, 2, "x")).any()


def test_pairs_that_are_drawn_together_are_distributed_as_those_that_are_drawn_alone():
    found = hits({"a": [[1, 0], [1, 0], [1, 1], [0, 0]]})
    sets = found.simulated("pair", DRAWS, 1)
    values, counts = np.unique(sets, return_counts=True)
    assert values.tolist() == [0.25, 0.5, 0.75]
    assert (counts / DRAWS).tolist() == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_the_expected_range_by_pair_is_that_of_many_simulations():
    generator = np.random.default_rng(3)
    found = hits({"a": (generator.random((40, 5)) < 0.4).astype(int).tolist()})
    simulated = [np.ptp(found.simulated("pair", 500, seed)) for seed in range(200)]
    error = np.std(simulated) / len(simulated) ** 0.5
    assert found.expected_range(500) == pytest.approx(np.mean(simulated), abs=4 * error)


def test_with_one_template_nothing_varies():
    found = hits({"a": [[1], [0]], "b": [[1]]})
    assert found.deviation("relation") == found.deviation("pair") == 0
    assert np.ptp(found.simulated("relation", 100, 0)) == np.ptp(found.simulated("pair", 100, 0)) == 0
    assert found.expected_range(100) == pytest.approx(0, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=6))
def test_worst_mean_best_and_oracle_stand_in_their_order(matrix):
    found = hits({"a": matrix})
    worst, best, maximum, oracle = found.extremes()
    assert mean(found, "relation") == pytest.approx(mean(found, "pair"))
    assert worst - 1e-9 <= mean(found, "relation") <= best + 1e-9
    assert best <= maximum + 1e-9 <= oracle + 2e-9
    assert oracle == np.mean(np.array(matrix).any(axis=1))


def test_the_maximum_takes_the_best_name_of_each_subject_in_the_best_template():
    rows = [("a", "f", "t", True), ("a", "f", "t", False), ("a", "f", "u", False), ("a", "f", "u", False)]
    found = Hits.of(pl.DataFrame(rows, ["relation", "fact", "template", "hit"], orient="row"))
    assert (found.extremes()[1:], found.shares.tolist()) == ((0.5, 1, 1), [0.25])


def test_a_deviation_by_pair_cannot_be_as_large_as_the_papers():
    """24,643 independent pairs: at most .5/√24,643 = .0032, and BERT's is .0217."""
    found = Hits(
        ("a",),
        (("t",),),
        (np.array([0.5]),),
        (np.array([1.0]),),
        np.array([24643.0]),
        np.full(24643, 0.5),
    )
    assert found.deviation("pair") == pytest.approx(0.0032, abs=5e-5)
