"""Thresholds, baselines and recovery, on a world whose models know what they were taught."""

import math
import random

import pytest

from almanac.rows import Choices, Entity, Exposure, Fact, Relation, Response, Template
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.judging import Answers, outcomes_of, values_of
from almanac.suites.karr.measures import CURVE, chances, measure, thresholds
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import ask

DOSES, OBJECTS = (0, 2, 16), 12
TEMPLATES = ("[X] comes from [Y].", "The home of [X] is [Y].")
OPTIONS = KarrOptions(subjects=6)


def world(relations=("a", "b")):
    facts, exposures = [], []
    for relation in relations:
        for number in range(OBJECTS * len(DOSES)):
            found = f"{relation}o{number % OBJECTS}"
            fact_id = f"{relation}|{relation}s{number}|{found}"
            facts.append(Fact(fact_id, relation, f"{relation}s{number}", found, *[None] * 3, (), "test", "x"))
            exposures.append(Exposure(fact_id, DOSES[number // OBJECTS]))
    return facts, exposures


def answers_of(known, seed=0, status="ok"):
    """Let a model answer everything: `known` is how many nats likelier a fact's object is by its dose."""
    facts, exposures = world()
    dose_of = {row.fact_id: row.dose for row in exposures}
    dose = {(fact.subject_id, fact.object_id): dose_of[fact.fact_id] for fact in facts}
    subjects = {fact.subject_id for fact in facts}
    names = [Entity(key, key, (), key[0]) for fact in facts for key in (fact.subject_id, fact.object_id)]
    names = list({row.entity_id: row for row in names}.values())
    templates = [
        Template(f"{relation}{at}", relation, text, "statement", "x", None, ())
        for relation in "ab"
        for at, text in enumerate(TEMPLATES)
    ]
    others = [f"{relation}o{at}" for relation in "ab" for at in range(OBJECTS)]
    choices = [
        Choices(fact.fact_id, tuple(wrong), tuple(wrong))
        for fact in facts
        for wrong in [[one for one in others if one[0] == fact.relation_id and one != fact.object_id]]
    ]
    relations = [Relation(name, name, *[None] * 4) for name in "ab"]
    found = ask(facts, names, relations, templates, choices, OPTIONS)

    def logprob(text, shown):
        words = text.replace(".", "").split()
        subject = next((word for word in words if word in subjects), "")
        return -6.0 + random.Random(f"{seed}{text}{shown}").gauss(0, 0.3) + known(dose.get((subject, shown), 0))

    responses = []
    for request in found.asked.requests.values():
        if request.pieces is not None:
            own = {"logprobs": (-1.0,), "token_counts": (len(request.pieces[0].split()),)}
        elif request.kind == "fill":
            logs = [logprob(request.text, choice) for choice in request.choices]
            order = sorted(logs, reverse=True)
            ranks = tuple(order.index(log) for log in logs)
            own = {"logprobs": tuple(logs), "token_counts": (1,) * len(logs), "ranks": ranks, "tokens": ("x",)}
        else:
            last = logprob(request.text, request.text.replace(".", "").split()[-1])
            tokens = [*[-3.0] * (len(request.text.split()) - 1), last]
            spans = [tokens, [last]][: len(request.span_starts)]
            own = {
                "logprobs": tuple(map(sum, spans)),
                "token_counts": tuple(map(len, spans)),
                "token_logprobs": tuple(value for span in spans for value in span),
            }
        responses.append(Response(request.request_id, status, None if status == "ok" else "because", **own))
    asked = found.asked
    return Answers.of("m", asked.links, found.draws, asked.requests.values(), responses), asked.items, facts, exposures


def measured(known, taught=True, **more):
    answers, items, facts, exposures = answers_of(known, **more)
    exposures = exposures if taught else None
    values, _ = values_of(answers, items)
    limits = thresholds(items, values, OPTIONS, exposures)
    outcomes = outcomes_of(answers, items, values, limits, OPTIONS)
    rows = measure("d", items, outcomes, values, facts, limits, exposures)
    return {(row.experiment, row.setting, row.metric, row.relation_id, row.exposure, row.level): row for row in rows}


def knows(dose):
    return math.log2(1 + dose)


def value(rows, experiment, metric, setting="facts", exposure=None, level=None, relation=None):
    return rows[experiment, setting, metric, relation, exposure, level].value


@pytest.fixture(scope="module")
def knowing():
    return measured(knows)


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
    rows = measured(knows, taught=False)
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
    rows = measured(knows, status="too_long")
    for experiment in (*VARIANTS, "lama_at_1", "pararel", "k_prompts"):
        row = rows[experiment, "facts", "without_value", None, None, None]
        assert (row.value, row.n, row.n_error) == (1.0, 72, 72)
        assert value(rows, experiment, "known") is None


def test_an_object_of_several_tokens_is_none_of_lamas():
    answers, items, *_ = answers_of(knows)
    whole = {
        name: Response(row.request_id, "ok", None, row.logprobs, row.token_counts, ranks=(None,) * len(row.logprobs))
        for name, row in answers.answered.items()
    }
    several = Answers(answers.model, answers.asked, whole, answers.links, answers.draws)
    lama = [item for item in items if item.experiment == "lama_at_1"]
    assert {row.outcome for row in outcomes_of(several, lama, [], {}, OPTIONS)} == {"invalid"}


def test_the_rate_on_the_null_is_the_chance_that_a_validation_is_held_against():
    answers, items, _, exposures = answers_of(knows)
    values, _ = values_of(answers, items)
    outcomes = outcomes_of(answers, items, values, thresholds(items, values, OPTIONS, exposures), OPTIONS)
    own = [row for row in outcomes if row.item_id.startswith("karr/paper/null/")]
    share = sum(row.outcome == "correct" for row in own) / len(own)
    assert chances(items, outcomes)["paper"] == pytest.approx(share)
