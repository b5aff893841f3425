import math
import random
from dataclasses import replace

import pytest

from almanac.rows import Choices, Entity, Exposure, Fact, Response, Template
from almanac.suites.ic_lke.measures import judge
from almanac.suites.ic_lke.options import Bars, IcLkeOptions
from almanac.suites.ic_lke.requests import ask
from almanac.suites.judging import times_taught
from almanac.suites.validation import Run, validate

DOSES = (0, 1, 4, 16, 64)
OBJECTS = 20
RELATIONS = ("a", "b", "c")


def world(block=True):
    """Return facts with planned doses: in block design each object has one fact of each dose.

    Otherwise the first objects of a relation have the high doses: there, frequency tells the dose.
    """
    facts, exposures = [], []
    for relation in RELATIONS:
        for number in range(OBJECTS * len(DOSES)):
            found, row = number % OBJECTS, number // OBJECTS
            dose = DOSES[row] if block else DOSES[-1 - 5 * found // OBJECTS]
            fact_id = f"{relation}|{relation}{number}|{relation}{found:02}"
            facts.append(
                Fact(fact_id, relation, f"s{relation}{number}", f"{relation}{found:02}", *[None] * 3, (), "test", "x")
            )
            exposures.append(Exposure(fact_id, dose))
    return facts, exposures


def run_of(method, model="base", block=True, seed=0, cloze=False, decoder=True):
    """Ask a world in full, let a method score the choices, and judge; `method` knows (dose, true, object, taught)."""
    facts, exposures = world(block)
    names = [Entity(key, key, (), None) for fact in facts for key in (fact.subject_id, fact.object_key)]
    wrong = [
        Choices(fact.fact_id, keys, keys)
        for fact in facts
        for keys in [tuple(f"{fact.relation_id}{at:02}" for at in range(OBJECTS) if fact.object_key[1:] != f"{at:02}")]
    ]
    templates = [Template(relation, relation, "[X] is of [Y].", "statement", "x", None, ()) for relation in RELATIONS]
    asked = ask(facts, names, wrong, templates, IcLkeOptions(shots=0, cloze=cloze))
    dose_of = {row.fact_id: row.dose for row in exposures}
    taught = times_taught(exposures, {fact.fact_id: fact for fact in facts})
    item_of = {link.request_id: item for item, link in zip(asked.items, asked.links, strict=True)}
    responses = []
    for request in asked.requests.values():
        item = item_of[request.request_id]
        rng = random.Random(f"{seed} {item.item_id}")
        labels = [choice.strip() for choice in request.choices]
        values = [method(rng, dose_of[item.fact_id], label in item.accepted, taught[label]) for label in labels]
        responses.append(Response(request.request_id, "ok", None, tuple(values)))
    outcomes = judge(model, asked.items, asked.links, asked.requests.values(), responses)
    return Run(model, decoder, OBJECTS, asked.items, outcomes, facts, exposures)


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
    return {(row.model, row.experiment): row for row in rows}


def test_a_method_that_knows_what_was_taught_meets_the_bars():
    [row] = validate([run_of(knows)], Bars())
    assert row.failed == ()
    assert row.judged
    assert (row.model, row.worlds, row.n) == ("base", 1, len(RELATIONS) * OBJECTS * len(DOSES))
    assert row.auc > 0.99
    assert row.prior_auc == 0.5
    assert row.chance == 1 / OBJECTS
    assert row.never_low <= 1 / OBJECTS <= row.never_high


def test_a_method_that_knows_nothing_fails_them():
    [row] = validate([run_of(guesses)], Bars())
    assert row.auc_low < 0.5 < row.auc_high
    assert row.spearman_low < 0 < row.spearman_high
    assert row.failed == ("AUC is below 0.95", "Spearman's lower limit is not above 0.3")


def test_a_method_that_counts_objects_finds_nothing_in_a_block_design():
    [row] = validate([run_of(counts)], Bars())
    assert row.prior_auc == 0.5
    assert row.auc == pytest.approx(0.5, abs=0.1)
    assert "AUC is below 0.95" in row.failed


def test_where_the_design_is_not_block_the_prior_exposes_a_method_that_counts_objects():
    [row] = validate([run_of(counts, block=False)], Bars())
    assert row.auc == 1  # it looks as if everything were recovered
    assert row.prior_auc == 1
    assert "the prior's AUC is not .50 ± 0.02" in row.failed


def test_there_even_a_method_that_knows_is_not_valid():
    [row] = validate([run_of(knows, block=False)], Bars())
    assert row.failed == ("the prior's AUC is not .50 ± 0.02",)


def test_a_method_that_knows_what_was_never_taught_fails():
    def cheats(rng, dose, true, taught):
        return knows(rng, max(dose, 16), true, taught)

    [row] = validate([run_of(cheats)], Bars())
    assert "the interval at dose 0 does not contain chance" in row.failed


def test_worlds_of_one_model_are_pooled():
    [one], [two] = (validate([run_of(knows, seed=seed)], Bars()) for seed in (1, 2))
    [both] = validate([run_of(knows, seed=1), run_of(knows, seed=2)], Bars())
    assert (both.worlds, both.n) == (2, one.n + two.n)
    assert both.never == pytest.approx((one.never + two.never) / 2)
    assert both.never_high - both.never_low < min(row.never_high - row.never_low for row in (one, two))
    assert both.spearman_high - both.spearman_low < one.spearman_high - one.spearman_low


def test_the_bar_on_auc_is_the_references_alone():
    rows = by_key(validate([run_of(guesses), run_of(guesses, "small")], Bars()))
    assert "AUC is below 0.95" in rows["base", "in_context"].failed
    assert rows["small", "in_context"].failed == ("Spearman's lower limit is not above 0.3",)


def test_the_cloze_is_shown_and_not_judged():
    rows = by_key(validate([run_of(guesses, cloze=True)], Bars()))
    assert not rows["base", "cloze"].judged
    assert rows["base", "cloze"].failed == ()
    assert rows["base", "in_context"].judged


def test_a_model_that_is_no_decoder_is_shown_and_not_judged():
    rows = by_key(validate([run_of(guesses), run_of(guesses, "masked", decoder=False)], Bars()))
    assert not rows["masked", "in_context"].judged
    assert rows["masked", "in_context"].failed == ()
    assert rows["base", "in_context"].judged


def test_the_bars_can_be_set():
    [row] = validate([run_of(guesses)], Bars(auc=0.0, spearman_low=-1.0))
    assert row.failed == ()


def test_a_model_that_was_taught_nothing_has_no_row():
    run = run_of(knows)
    assert validate([replace(run, exposures=[])], Bars()) == []
