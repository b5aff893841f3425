"""How far confidence goes beyond accuracy."""

import numpy as np
import polars as pl
import pytest

from almanac.statistics.intervals import wilson
from almanac.suites.belief.calibration import binned, calibration_error, overconfidence


def frame(count: int) -> pl.DataFrame:
    generator = np.random.default_rng(0)
    confidence = generator.random(count)
    return pl.DataFrame(
        {
            "group": ["g"] * count,
            "subject": [str(at) for at in range(count)],
            "fact": [str(at) for at in range(count)],
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
    assert calibration_error(found, "confidence", "bin")[0] == pytest.approx(bins["gap"].abs().mean())
    assert calibration_error(found, "confidence", "bin")[0] >= abs(value) - 1e-12


def test_bins_are_in_the_order_of_confidence_and_equal_where_all_confidences_are():
    found = frame(95)
    assert found.sort("confidence")["bin"].is_sorted()
    assert set(found["bin"].value_counts()["count"]) == {9, 10}
    same = found.with_columns(pl.lit(0.5).alias("confidence")).with_columns(
        binned("confidence", ["group"], 10).alias("bin")
    )
    assert set(same["bin"].value_counts()["count"]) == {9, 10}


def test_a_model_that_is_always_sure_and_never_right_is_overconfident_by_one():
    found = frame(100).with_columns(pl.lit(1.0).alias("confidence"), pl.lit(False).alias("hit"))
    assert overconfidence(found, "confidence").value == 1
    assert calibration_error(found, "confidence", "bin")[0] == 1


def test_the_interval_of_few_subjects_is_students():
    """Confidences 1, .6, 1 and .7 of one right and three wrong answers: a mean of .575, t of 3 degrees is 3.182."""
    few = pl.DataFrame(
        {
            "subject": list("abcd"),
            "fact": list("abcd"),
            "confidence": [1.0, 0.6, 1.0, 0.7],
            "hit": [True, False, False, False],
        }
    )
    gaps = np.array([0.0, 0.6, 1.0, 0.7])
    half = 3.18244630528371 * gaps.std(ddof=1) / 2
    assert overconfidence(few, "confidence") == pytest.approx((gaps.mean(), gaps.mean() - half, 1.0))
    # Every answer twice, from the same four subjects, says no more.
    assert overconfidence(pl.concat([few, few]), "confidence") == pytest.approx(overconfidence(few, "confidence"))


def test_a_pair_counts_once_by_however_many_names_it_is_asked():
    """Of one pair with four names, all right, and two with one, both wrong, a third is right; confidence is a half."""
    found = pl.DataFrame({"subject": list("aaaabc"), "fact": list("aaaabc"), "confidence": [0.5] * 6})
    found = found.with_columns(pl.Series("hit", [True] * 4 + [False] * 2))
    value, low, high = overconfidence(found, "confidence")
    assert value == pytest.approx(1 / 2 - 1 / 3)
    assert low < value < high


def test_where_all_answers_are_right_the_interval_is_that_of_the_accuracy():
    """Four answers that are sure and right: as many others may be wrong as Wilson's interval of 4 of 4 says."""
    sure = pl.DataFrame({"subject": list("abcd"), "fact": list("abcd"), "confidence": [1.0] * 4, "hit": [True] * 4})
    assert overconfidence(sure, "confidence") == pytest.approx((0, 0, 1 - wilson(1.0, 4).low))
    never = sure.with_columns(confidence=pl.lit(0.0), hit=pl.lit(False))
    assert overconfidence(never, "confidence") == pytest.approx((0, -wilson(0.0, 4).high, 0))


@pytest.mark.parametrize(("n", "accuracy"), [(10, 0.95), (20, 0.95), (120, 0.99), (60, 0.5)])
def test_the_interval_of_overconfidence_holds_the_truth_near_1_too(n, accuracy):
    """Confidence is drawn 20 times for each answer, as sure as the answer is likely to be right."""
    random, held = np.random.default_rng(5), 0
    for _ in range(400):
        confidence = random.binomial(20, accuracy, n) / 20
        hit = random.random(n) < accuracy
        answers = pl.DataFrame({"subject": np.arange(n), "fact": np.arange(n), "confidence": confidence, "hit": hit})
        found = overconfidence(answers, "confidence")
        held += found.low <= 0 <= found.high
    assert held / 400 >= 0.92  # by Student's interval alone .40, .65, .81 and .95


def test_of_a_single_subject_there_is_no_interval():
    one = pl.DataFrame({"subject": ["a", "a"], "fact": ["a", "a"], "confidence": [1.0, 0.5], "hit": [True, False]})
    assert overconfidence(one, "confidence") == (0.25, None, None)


def test_bins_of_few_subjects_have_no_calibration_error():
    """Of a single answer the distance is that of its confidence from 0 or 1, however well the model is calibrated."""
    assert calibration_error(frame(4), "confidence", "bin") == (None, None)
    assert calibration_error(frame(99), "confidence", "bin") == (None, None)
    assert None not in calibration_error(frame(100), "confidence", "bin")
    alike = frame(100).with_columns(pl.lit("a").alias("subject"))
    assert calibration_error(alike, "confidence", "bin") == (None, None)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_answers_of_one_confidence_changes_nothing(seed):
    """Of 200 answers with five confidences each may stand anywhere among its equals, and so in another bin."""
    found = frame(200).with_columns((pl.col("confidence") * 5).floor() / 5)
    errors = [
        calibration_error(one.with_columns(binned("confidence", ["group"], 10).alias("bin")), "confidence", "bin")
        for one in (found, found.sample(fraction=1, shuffle=True, seed=seed))
    ]
    assert errors[0] == pytest.approx(errors[1])


def test_what_the_error_would_be_if_confidences_were_right_is_its_mean_over_draws():
    generator = np.random.default_rng(1)
    found = frame(200)
    errors = [
        calibration_error(
            found.with_columns(hit=pl.Series(generator.random(200) < found["confidence"].to_numpy())),
            "confidence",
            "bin",
        )
        for _ in range(300)
    ]
    mean, expected = np.mean([error for error, _ in errors]), errors[0][1]
    assert expected == pytest.approx(mean, rel=0.05)
    pairs = found.with_columns(pl.Series("subject", [str(at // 2) for at in range(200)])).with_columns(bin=pl.lit(0))
    assert (
        calibration_error(pairs, "confidence", "bin")[1]
        > calibration_error(found.with_columns(bin=pl.lit(0)), "confidence", "bin")[1]
    )


def test_without_answers_there_is_no_number():
    nothing = frame(5).clear()
    assert overconfidence(nothing, "confidence").value is None
    assert calibration_error(nothing, "confidence", "bin") == (None, None)
