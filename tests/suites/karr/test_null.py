"""What is called known of a model's null stands with the model's own share, judged by the model's own threshold."""

import math
from dataclasses import replace

import polars as pl
import pytest
from tests.suites.karr.worlds import OPTIONS, SUITE, answered, knows, logprobs, world

from almanac.suites.chapter import Entrant, Shown
from almanac.suites.headline import NULL_KNOWN, NULL_NEVER
from almanac.suites.judged import conditions_of
from almanac.suites.karr.asking import FACTS
from almanac.suites.karr.judging import LEAST, calibrates


def measured_of(known, seed=0, status="ok"):
    data, exposures = world()
    return answered(data, exposures, logprobs(data, exposures, known, seed=seed), status=status).measured()


MODES = OPTIONS.modes


@pytest.fixture(scope="module")
def model():
    return measured_of(knows)


@pytest.fixture(scope="module")
def null():
    """A model that knows nothing."""
    return measured_of(lambda dose: 0.0, seed=1)


def across(model, null, named="null", metric=NULL_KNOWN):
    """Return the numbers between a model and its null, by mode."""
    judged = {"model": replace(model.judged, model="model"), "null": replace(null.judged, model="null")}
    rows = [replace(row, model="model") for row in model.rows]
    shown = Shown("d", 0, [Entrant("model", "model", null=named), Entrant("null", "null")], measures=rows)
    found = SUITE.across(judged, shown, OPTIONS)
    return {mode: row for row in found for mode in MODES if f'"{mode}"' in row.where and row.metric == metric}


@pytest.mark.parametrize("mode", MODES)
def test_the_share_known_of_the_null_is_at_the_models_threshold(model, null, mode):
    threshold = math.log(model.value("threshold", mode))
    own = null.judged.frame.filter((pl.col("experiment") == mode) & (pl.col("asked") == FACTS))["karr"].to_list()
    found = across(model, null)[mode]
    assert (found.model, found.other, found.n) == ("model", "null", len(own)) and len(own) > 50
    assert found.value == sum(karr > threshold for karr in own) / len(own) == found.n_correct / found.n
    assert found.low - 1e-9 <= found.value <= found.high


def test_facts_that_the_model_was_never_taught_have_a_share_of_their_own(model, null):
    """Of the others the null was taught another object. The page opens these facts of the model itself."""
    threshold = math.log(model.value("threshold", "paper"))
    facts = model.judged.where(experiment="paper", asked=FACTS, dose=0).frame["fact"].to_list()
    own = null.judged.where(experiment="paper", asked=FACTS).frame.filter(pl.col("fact").is_in(facts))["karr"].to_list()
    found = across(model, null, metric=NULL_NEVER)["paper"]
    assert found.value == sum(karr > threshold for karr in own) / len(own)
    assert (found.n, conditions_of(found)["dose"]) == (len(facts), 0) and 5 < len(facts) < 50


def test_what_is_known_is_not_known_of_the_null(model, null):
    assert across(model, null)["paper"].value < 0.2 < model.value("known", "paper")


def test_a_model_that_is_its_own_null_has_one_share(model):
    assert across(model, model)["paper"].value == model.value("known", "paper")


def test_without_a_null_there_is_no_such_row_and_facts_without_a_value_are_counted(model, null):
    assert not across(model, null, named=None)
    found = across(model, measured_of(knows, status="failed"))["paper"]
    assert found.value is None and found.n_error == found.n


def test_a_null_has_no_half_on_which_it_was_taught():
    data, exposures = world()
    never = [replace(row, dose=0) for row in exposures]
    found = answered(data, never, logprobs(data, exposures, lambda dose: 0.0)).measured()
    assert not any(metric.startswith(("held_out", "recovery", "kendall")) for metric in found.metrics())
    assert found.value("threshold", "paper") == OPTIONS.threshold


def compared(models, mode="paper"):
    """Judge several models as a method compares them; of each its numbers."""
    method = next(one for one in SUITE.methods if one.name == mode)
    judged = {name: replace(own.judged, model=name) for name, own in models.items()}
    rows = [replace(row, model=name) for name, own in models.items() for row in own.rows]
    entrants = [Entrant(name, name, permuted=name == "null") for name in models]
    return judged, SUITE.comparable(method, judged, Shown("d", 0, entrants, measures=rows))


def test_models_are_compared_at_the_geometric_mean_of_the_thresholds_of_those_that_were_taught(model, null):
    weaker, silent = measured_of(lambda dose: 0.4 * knows(dose)), measured_of(knows, status="unsupported")
    _, found = compared({"model": model, "weaker": weaker, "null": null, "silent": silent})
    assert silent.value("threshold", "paper") == OPTIONS.threshold, "it has no value to choose one by"
    limits = [one.value("threshold", "paper") for one in (model, weaker)]
    assert limits[0] != limits[1], "else nothing is compared"
    middle = math.sqrt(math.prod(limits))
    for own in found.values():
        valued = own.where(experiment="paper").frame.drop_nulls("score")
        assert valued["hit"].to_list() == [ratio > middle for ratio in valued["ratio"]]
        assert (valued["outcome"] == "correct").to_list() == valued["hit"].to_list()


def test_models_of_one_threshold_are_compared_as_they_were_judged(model, null):
    judged, found = compared({"model": model, "again": model})
    assert found == judged
    judged, found = compared({"null": null, "silent": measured_of(knows, status="unsupported")})
    assert found == judged, "no threshold was chosen by facts that models were taught"


def test_of_few_facts_that_were_taught_most_often_no_threshold_is_chosen(model):
    """A threshold by one fact is that fact's score: it is set instead, and the table says what chose the others."""
    data, exposures = world()
    top = max(row.dose for row in exposures)
    most = [row.fact_id for row in exposures if row.dose == top]
    few = [replace(row, dose=top - 1) if row.fact_id in most[4:] else row for row in exposures]
    found = answered(data, few, logprobs(data, few, knows)).measured()
    assert found.value("threshold", "paper") == OPTIONS.threshold
    assert "threshold_taught" not in found.metrics()
    half = sum(calibrates(most))
    assert half >= LEAST
    assert model.value("threshold_taught", "paper") == half
    assert model.value("threshold", "paper") != OPTIONS.threshold
