"""What is called known of a model's null stands beside its own share, judged by the model's own threshold."""

import math
from dataclasses import replace

import pytest
from tests.suites.karr.worlds import OPTIONS, answered, knows, logprobs, rows_of, value, world

from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.method import METHOD


def asked_of(known, seed=0):
    data, exposures = world()
    return answered(data, exposures, logprobs(data, exposures, known, seed=seed), model=f"m{seed}")


@pytest.fixture(scope="module")
def null_values():
    """The values of a model that knows nothing."""
    return METHOD.measure(asked_of(lambda dose: 0.0, seed=1), OPTIONS).beside["values"]


def with_null(values):
    return rows_of(METHOD.measure(replace(asked_of(knows), null={"values": values}), OPTIONS))


@pytest.mark.parametrize("mode", VARIANTS)
def test_the_share_known_of_the_null_is_at_the_models_threshold(null_values, mode):
    rows = with_null(null_values)
    threshold = value(rows, mode, "threshold")
    own = [row.karr for row in null_values if f"/{mode}/facts/" in row.item_id]
    found = rows[mode, "facts", "null_model_known", None, None, threshold]
    assert found.model == "m0" and found.n == len(own) > 50
    assert found.value == sum(karr > math.log(threshold) for karr in own) / len(own)
    assert found.low - 1e-9 <= found.value <= found.high


def test_what_is_known_is_not_known_of_the_null(null_values):
    rows = with_null(null_values)
    threshold = value(rows, "paper", "threshold")
    assert value(rows, "paper", "null_model_known", level=threshold) < 0.2 < value(rows, "paper", "known")


def test_a_model_that_is_its_own_null_has_one_share():
    own = asked_of(knows)
    rows = rows_of(METHOD.measure(replace(own, null=METHOD.measure(own, OPTIONS).beside), OPTIONS))
    threshold = value(rows, "paper", "threshold")
    assert value(rows, "paper", "null_model_known", level=threshold) == value(rows, "paper", "known")


def test_without_a_null_there_is_no_such_row_and_facts_without_a_value_are_counted(null_values):
    assert not any(
        metric == "null_model_known" for _, _, metric, *_ in rows_of(METHOD.measure(asked_of(knows), OPTIONS))
    )
    rows = with_null([replace(row, karr=None, reason="because") for row in null_values])
    [found] = [row for key, row in rows.items() if key[:3] == ("paper", "facts", "null_model_known")]
    assert found.value is None and found.n_error == found.n


def test_a_null_has_no_half_on_which_it_was_taught():
    data, exposures = world()
    never = [replace(row, dose=0) for row in exposures]
    found = METHOD.measure(answered(data, never, logprobs(data, exposures, lambda dose: 0.0)), OPTIONS)
    assert not any(row.metric.startswith(("held_out", "recovery", "kendall")) for row in found.measures if row.value)
    assert value(rows_of(found), "paper", "threshold") == OPTIONS.threshold
