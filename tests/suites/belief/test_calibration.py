"""How far confidence goes beyond accuracy."""

import numpy as np
import polars as pl
import pytest

from almanac.suites.belief.calibration import binned, calibration_error, overconfidence


def frame(count: int) -> pl.DataFrame:
    generator = np.random.default_rng(0)
    confidence = generator.random(count)
    return pl.DataFrame(
        {
            "group": ["g"] * count,
            "subject": [str(at) for at in range(count)],
            "confidence": confidence,
            "hit": generator.random(count) < confidence**2,
        }
    ).with_columns(binned("confidence", ["group"], 10).alias("bin"))


def test_the_mean_over_equal_bins_is_mean_confidence_less_accuracy():
    found = frame(200)
    bins = found.group_by("bin").agg(pl.len(), (pl.col("confidence").mean() - pl.col("hit").mean()).alias("gap"))
    assert bins["len"].to_list() == [20] * 10
    value, low, high = overconfidence(found, "confidence")
    assert value == pytest.approx(bins["gap"].mean())
    assert value == pytest.approx(found["confidence"].mean() - found["hit"].mean())
    assert low < value < high
    assert calibration_error(found, "confidence", "bin") == pytest.approx(bins["gap"].abs().mean())
    assert calibration_error(found, "confidence", "bin") >= abs(value) - 1e-12


def test_bins_are_in_the_order_of_confidence_and_equal_where_all_confidences_are():
    found = frame(95)
    assert found.sort("confidence")["bin"].is_sorted()
    assert set(found["bin"].value_counts()["count"]) == {9, 10}
    same = found.with_columns(pl.lit(0.5).alias("confidence")).with_columns(
        binned("confidence", ["group"], 10).alias("bin")
    )
    assert set(same["bin"].value_counts()["count"]) == {9, 10}


def test_a_model_that_is_always_sure_and_never_right_is_overconfident_by_one():
    found = frame(50).with_columns(pl.lit(1.0).alias("confidence"), pl.lit(False).alias("hit"))
    assert overconfidence(found, "confidence").value == 1
    assert calibration_error(found, "confidence", "bin") == 1


def test_without_answers_there_is_no_number():
    nothing = frame(5).clear()
    assert overconfidence(nothing, "confidence").value is None
    assert calibration_error(nothing, "confidence", "bin") is None
