import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.statistics.intervals import wilson
from almanac.statistics.ranks import auc
from almanac.suites.recovery import estimates

DOSES = (0, 1, 4, 16, 64)


def block(objects=20, scores=None, hits=None):
    """Return a block design: each object is the answer of one fact of each dose, so it is taught sum(DOSES) times."""
    doses = DOSES * objects
    return facts_of(
        doses,
        hits=[float(dose > 4) for dose in doses] if hits is None else hits,
        scores=list(map(float, doses)) if scores is None else scores,
    )


def facts_of(doses, hits, scores):
    """Return facts with their doses; each object was taught as often."""
    columns = {"dose": doses, "hit": hits, "score": scores, "object_dose": [sum(DOSES)] * len(doses)}
    types = {"dose": pl.Int32, "hit": pl.Float64, "score": pl.Float64, "object_dose": pl.Int64}
    return pl.DataFrame(columns, types).with_row_index("subject")


@settings(deadline=None)
@given(st.sets(st.integers(0, 99), min_size=5), st.integers(0, 10**6))
def test_in_a_block_design_the_prior_is_a_coin_whatever_is_drawn(kept, seed):
    # Whichever facts are asked, each object was taught equally often.
    facts = block(scores=[random.Random(seed).random() for _ in range(100)])[sorted(kept)]
    found = estimates(facts)
    if "prior_auc" in found:
        assert found["prior_auc"].value == 0.5


def test_scores_that_are_the_dose_recover_everything():
    found = estimates(block())
    assert found["recovery_auc"].value == 1
    assert found["never_accuracy"] == wilson(0.0, 20)


def test_scores_against_the_dose_recover_it_upside_down():
    assert estimates(block(scores=tuple(-float(dose) for dose in DOSES * 20)))["recovery_auc"].value == 0


def test_correctness_in_the_order_of_the_doses_is_a_perfect_correlation():
    facts = facts_of([0, 1, 4, 64], [0.0, 0.2, 0.5, 1.0], [0.0] * 4)
    assert estimates(facts)["recovery_spearman"].value == 1


def test_constant_scores_recover_nothing():
    assert estimates(block(scores=(0.0,) * 100))["recovery_auc"].value == 0.5


def test_permuted_scores_recover_nothing_on_average():
    areas, correlations = [], []
    for seed in range(60):
        order = list(range(100))
        random.Random(seed).shuffle(order)
        doses = DOSES * 20
        found = estimates(
            block(
                scores=tuple(float(doses[at]) for at in order),
                hits=tuple(float(doses[at] > 4) for at in order),
            )
        )
        areas.append(found["recovery_auc"].value)
        correlations.append(found["recovery_spearman"].value)
    # 60 permutations: standard errors of about .012 and .013.
    assert sum(areas) / 60 == pytest.approx(0.5, abs=0.04)
    assert sum(correlations) / 60 == pytest.approx(0.0, abs=0.045)


def test_only_the_highest_dose_and_the_never_taught_enter_the_auc():
    scores = tuple({0: 1.0, 64: 2.0}.get(dose, 99.0) for dose in DOSES * 20)
    assert estimates(block(scores=scores))["recovery_auc"] == auc([2.0] * 20, [1.0] * 20)


def test_the_auc_of_worlds_is_the_mean_of_theirs():
    own = block(), block(scores=[0.0] * 100)
    assert estimates(*own)["recovery_auc"].value == (1 + 0.5) / 2
    again = block(scores=tuple(map(float, range(100))))
    one, two = estimates(again)["recovery_auc"], estimates(again, again)["recovery_auc"]
    assert two.value == one.value and one.low < two.low < two.value < two.high < one.high


@pytest.mark.parametrize("doses", [(), (0, 0, 0, 0), (8, 8, 8, 8)])
def test_nothing_is_said_where_nothing_was_taught_or_everything_alike(doses):
    assert estimates(facts_of(doses, [1.0] * len(doses), [1.0] * len(doses))) == {}


def test_where_everything_was_taught_the_correlation_is_left():
    facts = facts_of([1, 4, 16, 64], [0.0, 0.2, 0.5, 1.0], [0.0] * 4)
    assert {name: found.value for name, found in estimates(facts).items()} == {"recovery_spearman": 1}
