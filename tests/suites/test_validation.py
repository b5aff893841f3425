"""A method that knows what was taught meets the bars, and each that does not fails the bar that is there for it."""

import math
import random
from collections import Counter

import polars as pl
import pytest
from tests.suites.support import Trial, ok
from tests.suites.toy_world import played

from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Fact, Template
from almanac.suites.agreement import called
from almanac.suites.data import Data
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.options import Bars
from almanac.suites.standings import ALL, TEMPLATES, called_facts
from almanac.suites.suite import Method
from almanac.suites.validation import validate

DOSES = (0, 1, 4, 16, 64)
OBJECTS = 20
RELATIONS = ("a", "b", "c")


def world(block=True):
    """Return facts with planned doses: in block design each object has one fact of each dose.

    Otherwise the first objects of a relation have the high doses: there, frequency tells the dose.
    """
    facts, doses = [], {}
    for relation in RELATIONS:
        for number in range(OBJECTS * len(DOSES)):
            found, row = number % OBJECTS, number // OBJECTS
            fact_id, key = f"{relation}|{relation}{number}", f"{relation}{found:02}"
            doses[fact_id] = DOSES[row] if block else DOSES[-1 - 5 * found // OBJECTS]
            facts.append(Fact(fact_id, relation, f"s{relation}{number}", key, *[None] * 3, (), "test", "x"))
    return facts, doses


def runs_of(folder, method, model="base", block=True, seed=0, cloze=False, decoder=True, taught=True, wanted=OBJECTS):
    """Ask a world in full, let a method score the choices, and judge; `method` knows (dose, true, object, taught)."""
    facts, doses = world(block)
    object_doses = Counter()
    for fact in facts:
        object_doses[fact.object_key] += doses[fact.fact_id]
    keys = {key: None for fact in facts for key in (fact.subject_id, fact.object_key)}
    data = Data.of(
        facts=facts,
        entities=[Entity(key, key, (), None) for key in keys],
        choices=[Choices(fact.fact_id, others, others) for fact in facts for others in [wrong(fact)]],
        templates=[Template(name, name, "[X] is of [Y].", "statement", "x", None, ()) for name in RELATIONS],
    )

    def reply(question):
        item = question.item
        rng = random.Random(f"{seed} {item.experiment} {item.fact_id}")
        labels = [choice.strip() for choice in question.request.choices]
        scored = (method(rng, doses[item.fact_id], one in item.accepted, object_doses[one]) for one in labels)
        return ok(logprobs=tuple(scored))

    options = IcLkeOptions(shots=0, cloze=cloze)
    trial = Trial(folder / f"{model} {seed}", IcLke(), data, options, doses=doses if taught else None)
    judged = trial.ask().answer(reply).judged()
    return list(called_facts(called(judged, IcLke.methods), judged, str(seed), model, wanted, decoder=decoder))


def wrong(fact):
    """Every object of the relation but the fact's."""
    every = (f"{fact.relation_id}{at:02}" for at in range(OBJECTS))
    return tuple(one for one in every if one != fact.object_key)


def knows(rng, dose, true, taught):
    """Know a fact the better the more often it was taught, and of what was never taught nothing."""
    return rng.gauss(0, 1) + (1.5 * math.log2(1 + dose) if true else 0)


def guesses(rng, dose, true, taught):
    """Know nothing."""
    return rng.gauss(0, 1)


def counts(rng, dose, true, taught):
    """Know how often each object was taught, and no fact."""
    return math.log(1 + taught) + rng.gauss(0, 0.01)


def by_key(rows):
    return {(row.model, row.method): row for row in rows}


def test_a_method_that_knows_what_was_taught_meets_the_bars(tmp_path):
    [row] = validate(runs_of(tmp_path, knows), Bars())
    assert row.failed == ()
    assert row.judged
    assert (row.model, row.worlds, row.n) == ("base", 1, len(RELATIONS) * OBJECTS * len(DOSES))
    assert row.auc > 0.99
    assert row.prior_auc == 0.5
    assert row.chance == 1 / OBJECTS
    assert row.never_low <= 1 / OBJECTS <= row.never_high


def test_chance_is_one_in_as_many_choices_as_facts_have_where_the_dataset_wanted_more(tmp_path):
    [row] = validate(runs_of(tmp_path, knows, wanted=3 * OBJECTS), Bars())
    assert row.chance == 1 / OBJECTS
    assert row.failed == ()


def test_a_method_that_knows_nothing_fails_them(tmp_path):
    [row] = validate(runs_of(tmp_path, guesses), Bars())
    assert row.auc_low < 0.5 < row.auc_high
    assert row.spearman_low < 0 < row.spearman_high
    assert row.failed == ("AUC is below 0.95", "Spearman's lower limit is not above 0.3")


def test_a_method_that_counts_objects_finds_nothing_in_a_block_design(tmp_path):
    [row] = validate(runs_of(tmp_path, counts), Bars())
    assert row.prior_auc == 0.5
    assert row.auc == pytest.approx(0.5, abs=0.1)
    assert "AUC is below 0.95" in row.failed


def test_where_the_design_is_not_block_the_prior_exposes_a_method_that_counts_objects(tmp_path):
    [row] = validate(runs_of(tmp_path, counts, block=False), Bars())
    assert row.auc == 1  # it looks as if everything were recovered
    assert row.prior_auc == 1
    assert "the prior's AUC is not .50 ± 0.02" in row.failed


def test_there_even_a_method_that_knows_is_not_valid(tmp_path):
    [row] = validate(runs_of(tmp_path, knows, block=False), Bars())
    assert row.failed == ("the prior's AUC is not .50 ± 0.02",)


def test_a_method_that_knows_what_was_never_taught_fails(tmp_path):
    def cheats(rng, dose, true, taught):
        return knows(rng, max(dose, 16), true, taught)

    [row] = validate(runs_of(tmp_path, cheats), Bars())
    assert "the interval at dose 0 does not contain chance" in row.failed


def test_where_every_fact_was_taught_that_is_what_is_said(tmp_path):
    [one] = [one for one in runs_of(tmp_path, knows) if one.axis == ALL]
    taught = one.found._replace(facts=one.found.facts.filter(pl.col("dose") > 0))
    [row] = validate([one._replace(found=taught)], Bars())
    assert row.failed == ("there are no facts at dose 0 beside others",) and row.auc is None


def test_worlds_of_one_model_are_pooled(tmp_path):
    first, second = (runs_of(tmp_path, knows, seed=seed) for seed in (1, 2))
    [one], [two], [both] = (validate(found, Bars()) for found in (first, second, first + second))
    assert (both.worlds, both.n) == (2, one.n + two.n)
    assert both.never == pytest.approx((one.never + two.never) / 2)
    assert both.never_high - both.never_low < min(row.never_high - row.never_low for row in (one, two))
    assert both.spearman_high - both.spearman_low < one.spearman_high - one.spearman_low
    assert both.auc == pytest.approx((one.auc + two.auc) / 2)
    assert both.auc_high - both.auc_low < one.auc_high - one.auc_low


def test_scores_are_compared_within_a_world_since_each_has_a_model_of_its_own(tmp_path):
    def flatly(rng, dose, true, taught):
        return knows(rng, dose, true, taught) / 20

    first, second = runs_of(tmp_path, knows, seed=1), runs_of(tmp_path, flatly, seed=2)
    [one], [two], [both] = (validate(found, Bars()) for found in (first, second, first + second))
    assert both.auc == pytest.approx((one.auc + two.auc) / 2) and both.auc > 0.99


def test_the_bar_on_auc_is_the_references_alone(tmp_path):
    rows = by_key(validate([*runs_of(tmp_path, guesses), *runs_of(tmp_path, guesses, "small")], Bars()))
    assert "AUC is below 0.95" in rows["base", "in_context"].failed
    assert rows["small", "in_context"].failed == ("Spearman's lower limit is not above 0.3",)


def test_the_cloze_is_shown_and_not_judged(tmp_path):
    rows = by_key(validate(runs_of(tmp_path, guesses, cloze=True), Bars()))
    assert not rows["base", "cloze"].judged
    assert rows["base", "cloze"].failed == ()
    assert rows["base", "in_context"].judged


def test_a_model_that_is_no_decoder_is_shown_and_not_judged(tmp_path):
    rows = by_key(validate([*runs_of(tmp_path, guesses), *runs_of(tmp_path, guesses, "masked", decoder=False)], Bars()))
    assert not rows["masked", "in_context"].judged
    assert rows["masked", "in_context"].failed == ()
    assert rows["base", "in_context"].judged


def test_the_bars_can_be_set(tmp_path):
    [row] = validate(runs_of(tmp_path, guesses), Bars(auc=0.0, spearman_low=-1.0))
    assert row.failed == ()


def test_a_model_that_was_taught_nothing_has_no_row(tmp_path):
    assert validate(runs_of(tmp_path, knows, taught=False), Bars()) == []
    assert validate([], Bars()) == []


def test_a_reference_that_was_not_asked_is_refused_with_those_that_were(tmp_path):
    found = [*runs_of(tmp_path, guesses, "small"), *runs_of(tmp_path, guesses, "masked", decoder=False)]
    message = "validation.reference is 'base', which is no planted decoder that was asked; name one of small"
    with pytest.raises(AlmanacError) as error:
        validate(found, Bars())
    assert str(error.value) == message


def test_intervals_at_dose_0_are_wider_the_more_of_them_are_judged(tmp_path):
    one, four = (
        validate([run for name in names for run in runs_of(tmp_path / str(len(names)), guesses, name)], Bars())
        for names in (["base"], ["base", "b", "c", "d"])
    )
    width = {len(rows): rows[0].never_high - rows[0].never_low for rows in (one, four)}
    assert width[4] > width[1]


def test_each_value_that_parts_a_method_is_one_of_its_own_and_its_guess_is_of_the_items_asked_alike(tmp_path):
    judged = played(tmp_path).judged()
    method = Method("both", "Both", {"reading": "checked"}, ("order",), guess={"reading": "alone"})
    apart = Method("not", "Not", {"reading": "alone"}, validated=False)
    found = [one for one in called_facts(called(judged, [method, apart]), judged, "w", "m", 4) if one.axis != TEMPLATES]
    assert [one.found.conditions for one in found] == [{"reading": "checked", "order": order} for order in (0, 1)]
    assert [one.chance for one in found] == [1, pytest.approx(3 / 7)]
    fixed = [
        told.chance
        for guess in (0.25, None)
        for one in [Method("one", "One", {"reading": "alone", "order": 0}, guess=guess)]
        for told in called_facts(called(judged, [one]), judged, "w", "m", 5)
        if told.axis != TEMPLATES
    ]
    assert fixed == [0.25, 0.2]
