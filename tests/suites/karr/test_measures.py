"""Thresholds, baselines and recovery, on a world whose models know what they were taught."""

import math
from dataclasses import replace

import pytest
from tests.suites.karr.worlds import (
    METHODS,
    OPTIONS,
    TEMPLATES,
    answered,
    knows,
    logprobs,
    measured,
    rows_of,
    value,
    world,
)

from almanac.rows import Response
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.judging import Answers, outcomes_of
from almanac.suites.karr.measures import CURVE, chances
from almanac.suites.karr.method import METHOD


@pytest.fixture(scope="module")
def knowing():
    return measured()


@pytest.mark.parametrize("mode", VARIANTS)
def test_planted_knowledge_is_recovered_and_the_null_is_not(knowing, mode):
    assert value(knowing, mode, "recovery_auc") > 0.97
    assert value(knowing, mode, "recovery_auc_karr_s") > 0.9
    assert value(knowing, mode, "kendall") > 0.4
    assert value(knowing, mode, "kendall_p") < 1e-6
    assert value(knowing, mode, "spurious_delta", "null") < 0 or mode == "official"


def test_the_papers_threshold_is_chosen_on_one_half_and_holds_on_the_other(knowing):
    threshold = value(knowing, "paper", "threshold")
    assert 1 < threshold < math.exp(knows(16))
    assert value(knowing, "paper", "held_out_taught", level=threshold) > 0.6
    assert value(knowing, "paper", "held_out_never", level=threshold) < 0.2
    assert value(knowing, "paper", "held_out_null", level=threshold) < 0.2
    assert value(knowing, "official", "threshold") == 22.0


def test_without_planted_facts_the_threshold_is_as_set():
    rows = measured(taught=False)
    assert value(rows, "paper", "threshold") == OPTIONS.threshold
    assert not any(metric.startswith(("recovery", "held_out", "kendall")) for _, _, metric, *_ in rows)


def test_the_curve_falls_with_the_threshold(knowing):
    for mode in VARIANTS:
        curve = [value(knowing, mode, "known_at", level=level) for level in CURVE]
        assert curve == sorted(curve, reverse=True)
        assert value(knowing, mode, "known_at", level=22.0) <= value(knowing, mode, "known_at", level=0.25)


def test_a_model_that_knows_nothing_is_at_one():
    rows = measured(lambda dose: 0.0)
    assert value(rows, "paper", "median_log_karr") == pytest.approx(0, abs=0.15)
    assert 0.3 < value(rows, "paper", "recovery_auc") < 0.7
    assert value(rows, "lama_at_1", "known") < 0.25


def test_the_baselines_on_the_same_facts(knowing):
    at_1, at_10 = value(knowing, "lama_at_1", "known"), value(knowing, "lama_at_10", "known")
    assert 0.3 < at_1 < at_10
    assert value(knowing, "pararel", "known") <= value(knowing, "lama_at_1", "known")
    assert 0 < value(knowing, "pararel", "consistency") < 1
    for name in ("lama_at_1", "pararel", "k_prompts"):
        assert value(knowing, name, "recovery_auc") > 0.9


def test_facts_without_an_answer_have_no_value_and_are_counted():
    rows = measured(status="too_long")
    for experiment in (*VARIANTS, "lama_at_1", "pararel", "k_prompts"):
        row = rows[experiment, "facts", "without_value", None, None, None]
        assert (row.value, row.n, row.n_error) == (1.0, 72, 72)
        assert value(rows, experiment, "known") is None


def test_an_object_of_several_tokens_is_none_of_lamas():
    data, exposures = world()
    given = answered(data, exposures, logprobs(data, exposures, knows))
    whole = [
        Response(row.request_id, "ok", None, row.logprobs, row.token_counts, ranks=(None,) * len(row.logprobs))
        for row in given.responses
    ]
    several = Answers.of("m", given.links, given.beside["draws"], given.requests, whole)
    lama = [item for item in given.items if item.experiment == "lama_at_1"]
    assert {row.outcome for row in outcomes_of(several, lama, [], {}, OPTIONS)} == {"invalid"}


def test_the_rate_on_the_null_is_the_chance_that_a_validation_is_held_against():
    data, exposures = world()
    given = answered(data, exposures, logprobs(data, exposures, knows))
    outcomes = METHOD.measure(given, OPTIONS).outcomes
    own = [row for row in outcomes if row.item_id.startswith("karr/paper/null/")]
    share = sum(row.outcome == "correct" for row in own) / len(own)
    assert chances(given.items, outcomes)["paper"] == pytest.approx(share)


def test_the_curve_of_all_facts_is_the_mean_of_the_relations_curves(knowing):
    for level in CURVE:
        parts = [value(knowing, "paper", "known_at", level=level, relation=name) for name in "ab"]
        assert value(knowing, "paper", "known_at", level=level) == pytest.approx(sum(parts) / 2)


def test_objects_at_ten_thousand_nats_below_have_the_same_values(knowing):
    """Nothing underflows to zero or becomes no number between the responses and the page."""
    rows = measured(level=-10_000.0)
    for mode in ("karr", "karr_s", "karr_r"):
        wanted = value(knowing, "paper", f"median_log_{mode}")
        assert value(rows, "paper", f"median_log_{mode}") == pytest.approx(wanted, abs=1e-9)
    for method in ("paper", "lama_at_1", "lama_at_10", "pararel"):
        assert value(rows, method, "known") == value(knowing, method, "known")
    assert value(rows, "k_prompts", "known") == value(rows, "k_prompts", "without_value") == 0
    assert value(rows, "k_prompts", "recovery_auc") == value(knowing, "k_prompts", "recovery_auc")
    assert all(math.isfinite(row.value) for row in rows.values() if row.value is not None)


def test_an_empty_denominator_is_counted_with_its_reason():
    """Without relations drawn there is nothing to divide by: no value, and every fact says why."""
    data, exposures = world()
    given = answered(data, exposures, logprobs(data, exposures, knows))
    found = METHOD.measure(
        replace(given, beside={**given.beside, "draws": [d for d in given.beside["draws"] if d.role != "relation"]}),
        OPTIONS,
    )
    assert {row.reason for row in found.beside["values"]} == {"the denominator over relations is empty"}
    rows = rows_of(found)
    for mode in VARIANTS:
        assert value(rows, mode, "without_value") == 1
        assert value(rows, mode, "known") is None
    assert value(rows, "lama_at_1", "without_value") == 0


def test_with_one_template_everything_but_the_consistency_has_a_value():
    rows = measured(size={"templates": TEMPLATES[:1]})
    for method in METHODS:
        assert value(rows, method, "recovery_auc") > 0.7
    assert value(rows, "pararel", "known") == value(rows, "lama_at_1", "known")
    assert value(rows, "pararel", "consistency") is None
