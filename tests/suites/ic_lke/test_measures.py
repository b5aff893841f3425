import dataclasses
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Exposure, Fact, Item, Link, Measure, Request, Response
from almanac.statistics.intervals import wilson
from almanac.statistics.ranks import auc, spearman
from almanac.suites.ic_lke.measures import judge, measure
from almanac.suites.judging import times_taught
from almanac.suites.method import Answered, Data

# Each fact: relation, subject, the shares of its four choices (the true one last), and the status of the response.
ASKED = {
    "a1": ("a", "s1", (0.1, 0.1, 0.1, 0.7), "ok"),
    "a2": ("a", "s1", (0.1, 0.15, 0.1, 0.65), "ok"),
    "a3": ("a", "s2", (0.55, 0.15, 0.1, 0.2), "ok"),
    "a4": ("a", "s3", (0.25, 0.25, 0.25, 0.25), "ok"),
    "b1": ("b", "s4", (0.02, 0.02, 0.01, 0.95), "ok"),
    "b2": ("b", "s5", (0.2, 0.2, 0.05, 0.55), "ok"),
    "c1": ("c", "s6", (0.85, 0.025, 0.025, 0.1), "ok"),
    "c2": ("c", "s7", None, "too_long"),
}


def edition(asked=ASKED, experiment="in_context", setting="shots=2,draw=0"):
    """Return (items, links, requests, responses, facts); log-probabilities lack a common constant, as a model's do."""
    items, links, requests, responses, facts = [], [], [], [], []
    for name, (relation, subject, shares, status) in asked.items():
        item_id = f"{experiment}/{setting}/{name}"
        facts.append(Fact(name, relation, subject, f"o{name[-1]}", *[None] * 3, (), "test", "test"))
        items.append(Item(item_id, "ic_lke", experiment, name, relation, None, setting, ("true",)))
        links.append(Link(item_id, "true_choice", f"q-{item_id}", 3, None))
        requests.append(Request(f"q-{item_id}", "choices", None, subject, choices=(" x", " y", " z", " true")))
        logprobs = None if shares is None else tuple(math.log(share) - 40.0 for share in shares)
        responses.append(Response(f"q-{item_id}", status, None if status == "ok" else "because", logprobs))
    return items, links, requests, responses, facts


def measures_of(exposures=None, parts=None):
    items, links, requests, responses, facts = parts or edition()
    answered = Answered("m", "d", Data(facts=facts), items, links, requests, responses, exposures=exposures)
    return measure(answered, judge("m", items, links, requests, responses))


def by_slice(rows):
    return {(row.metric, row.relation_id, row.exposure, row.level): row for row in rows}


def one(logprobs, index, status="ok"):
    """Return the outcome of a single item."""
    item = Item("i", "ic_lke", "in_context", "f", "r", None, "s", ())
    choices = tuple(f" {number}" for number in range(len(logprobs or (1,))))
    request = Request("q", "choices", None, "x", choices=choices)
    response = Response("q", status, None, logprobs)
    [outcome] = judge("m", [item], [Link("i", "true_choice", "q", index, None)], [request], [response])
    return outcome


def test_accuracy_is_the_mean_of_the_relations_shares():
    found = by_slice(measures_of())
    # By hand: a 2 of 4 (a tie loses), b 2 of 2, c 0 of 1 (one has no answer).
    shares = {relation: found["accuracy", relation, None, None].value for relation in "abc"}
    assert shares == {"a": 0.5, "b": 1.0, "c": 0.0}
    overall = found["accuracy", None, None, None]
    assert overall.value == 0.5
    assert overall.low < 0.5 < overall.high
    assert (overall.n, overall.n_correct, overall.n_incorrect, overall.n_error) == (8, 4, 3, 1)
    assert (overall.n_missing, overall.n_invalid) == (0, 0)


def test_probability_mass_is_the_mean_share_of_the_true_choice():
    found = by_slice(measures_of())
    # By hand: a (.7 + .65 + .2 + .25) / 4 = .45, b (.95 + .55) / 2 = .75, c .1; together 1.3 / 3.
    expected = {"a": 0.45, "b": 0.75, "c": 0.1, None: 1.3 / 3}
    for relation, value in expected.items():
        assert found["probability_mass", relation, None, None].value == pytest.approx(value)


# By hand: the largest shares are .7 .65 .55 .25 (a), .95 .55 (b), .85 (c); a's .55 and the .85 are of wrong choices.
@pytest.mark.parametrize(("level", "n", "correct"), [(0.2, 7, 4), (0.5, 6, 4), (0.6, 4, 3), (0.8, 2, 1), (0.9, 1, 1)])
def test_accuracy_at_k_is_over_the_facts_answered_with_that_confidence(level, n, correct):
    row = by_slice(measures_of())["accuracy_at_k", None, None, level]
    assert (row.n, row.n_correct) == (n, correct)
    assert (row.value, row.low, row.high) == wilson(correct / n, n)


def test_fewer_facts_are_surer():
    rows = [row for row in measures_of() if row.metric == "accuracy_at_k"]
    assert [row.level for row in rows] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert [row.n for row in rows] == sorted((row.n for row in rows), reverse=True)


def test_chance_is_one_in_as_many_as_there_are_choices():
    assert by_slice(measures_of())["chance", None, None, None].value == 0.25


def test_a_table_of_measures_names_each_slice_once(tmp_path):
    rows = measures_of([Exposure(name, dose) for name, dose in zip(ASKED, [0, 4] * 4, strict=True)])
    assert tables.write(tmp_path / "measures.parquet", Measure, rows) == len(rows)


LOGPROBS = st.lists(st.integers(-80_000, 0).map(lambda eighths: eighths / 8), min_size=2, max_size=12)


@settings(deadline=None)
@given(LOGPROBS)
def test_the_shares_of_all_possible_true_choices_sum_to_1(logprobs):
    scores = [one(tuple(logprobs), index).score for index in range(len(logprobs))]
    assert sum(map(math.exp, scores)) == pytest.approx(1, abs=1e-9)


@settings(deadline=None)
@given(LOGPROBS, st.integers(0, 11), st.integers(-(10**6), 10**6))
def test_a_constant_added_to_all_choices_changes_nothing(logprobs, index, constant):
    index %= len(logprobs)
    first, second = one(tuple(logprobs), index), one(tuple(value + constant for value in logprobs), index)
    assert (first.prediction, first.outcome) == (second.prediction, second.outcome)
    assert (first.score, first.confidence) == pytest.approx((second.score, second.confidence), abs=1e-6)


@settings(deadline=None)
@given(LOGPROBS, st.integers(0, 11))
def test_the_prediction_is_the_most_likely_and_a_tie_loses(logprobs, index):
    index %= len(logprobs)
    found = one(tuple(logprobs), index)
    alone = logprobs[index] == max(logprobs) and logprobs.count(max(logprobs)) == 1
    assert (found.outcome == "correct") == alone
    assert logprobs[int(found.prediction)] == max(logprobs)
    assert 1 / len(logprobs) - 1e-9 <= found.confidence <= 1 + 1e-9
    assert found.score <= 1e-9


def test_a_tie_names_the_rival():
    found = one((-1.0, -2.0, -1.0), 2)
    assert (found.outcome, found.prediction) == ("incorrect", "0")


@pytest.mark.parametrize("start", [-1e4, -1e5])
def test_log_probabilities_whose_exponential_is_0_are_no_trouble(start):
    assert math.exp(start) == 0
    found = one((start - 1, start, start - 2, start + 1), 3)
    assert found.outcome == "correct"
    assert found.score == pytest.approx(1 - math.log(sum(map(math.exp, (-1, 0, -2, 1)))))
    assert found.confidence == pytest.approx(math.exp(found.score))


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("too_long", "error"), ("unsupported", "error"), ("failed", "error"), ("refused", "missing")],
)
def test_what_was_not_answered_is_counted_and_left_out(status, outcome):
    answered = {name: row for name, row in ASKED.items() if name != "c2"}
    silent = {f"x{at}": (relation, f"t{at}", None, status) for at, relation in enumerate("aabbbd")}
    plain, mixed = (by_slice(measures_of(parts=edition(asked))) for asked in (answered, answered | silent))
    for metric in ("accuracy", "probability_mass"):
        for relation in (None, "a", "b", "c"):
            first, second = plain[metric, relation, None, None], mixed[metric, relation, None, None]
            assert (first.value, first.low, first.high) == (second.value, second.low, second.high)
        assert mixed[metric, "d", None, None].value is None
        overall = mixed[metric, None, None, None]
        assert (overall.n, getattr(overall, f"n_{outcome}")) == (13, 6)
        assert overall.n == sum(getattr(overall, f"n_{kind}") for kind in KINDS)
    for key, row in plain.items():
        if row.metric == "accuracy_at_k":
            assert mixed[key] == row


KINDS = ("correct", "incorrect", "missing", "invalid", "error")


def test_a_model_that_answers_nothing_has_no_number_at_all():
    silent = {name: (*row[:2], None, "unsupported") for name, row in ASKED.items()}
    rows = measures_of([Exposure("a1", 0), Exposure("a2", 4)], edition(silent))
    assert {row.value for row in rows} == {None}
    assert by_slice(rows)["accuracy", None, None, None].n_error == 8


def test_a_request_without_a_response_is_an_error_that_names_the_model():
    items, links, requests, responses, _ = edition()
    message = r"model 'my-model': 2 of 8 requests have no response, the first is q-.*a1; run `answer`"
    with pytest.raises(AlmanacError, match=message):
        judge("my-model", items, links, requests, responses[2:])


def test_order_does_not_matter():
    exposures = [Exposure(name, dose) for name, dose in zip(ASKED, (0, 4, 0, 4, 64, 64, 0, 64), strict=True)]
    straight = by_slice(measures_of(exposures))
    shuffled = [random.Random(at).sample(part, len(part)) for at, part in enumerate(edition())]
    mixed = by_slice(measures_of(exposures[::-1], shuffled))
    assert set(mixed) == set(straight)
    for key, row in straight.items():
        assert dataclasses.astuple(mixed[key]) == pytest.approx(dataclasses.astuple(row))


def test_outcomes_stand_in_the_order_of_the_items():
    items, links, requests, responses, _ = edition()
    outcomes = judge("m", items[::-1], links, requests, responses)
    assert [row.item_id for row in outcomes] == [item.item_id for item in items[::-1]]


def test_experiments_and_draws_are_measured_apart():
    first, second = edition(), edition(setting="shots=2,draw=1")
    cloze = edition({name: (*row[:2], row[2], "unsupported") for name, row in ASKED.items()}, "cloze", "template")
    parts = [one + two + three for one, two, three in zip(first[:4], second[:4], cloze[:4], strict=True)]
    rows = measures_of(parts=(*parts, first[4]))
    overall = {
        (row.experiment, row.setting): row for row in rows if (row.metric, row.relation_id) == ("accuracy", None)
    }
    assert {key: (row.value, row.n) for key, row in overall.items()} == {
        ("in_context", "shots=2,draw=0"): (0.5, 8),
        ("in_context", "shots=2,draw=1"): (0.5, 8),
        ("cloze", "template"): (None, 8),
    }


def test_facts_of_one_subject_count_as_one_draw():
    shares = [(0.1, 0.1, 0.1, 0.7), (0.7, 0.1, 0.1, 0.1)]
    apart = {f"f{at:02}": ("a", f"s{at}", shares[at % 4 < 2], "ok") for at in range(40)}
    joined = {name: (row[0], f"s{int(name[1:]) // 2}", *row[2:]) for name, row in apart.items()}
    wide, narrow = (
        by_slice(measures_of(parts=edition(asked)))["accuracy", None, None, None] for asked in (joined, apart)
    )
    assert wide.value == narrow.value == 0.5
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


def test_recovery_is_over_the_facts_that_have_a_dose_and_an_answer():
    doses = {"a1": 64, "a2": 4, "a3": 0, "b1": 64, "c1": 0, "c2": 0}  # a4 and b2 have none, c2 no answer
    found = by_slice(measures_of([Exposure(name, dose) for name, dose in doses.items()]))
    by_dose = {key[2]: (row.value, row.n) for key, row in found.items() if key[0] == "accuracy_by_exposure"}
    assert by_dose == {0: (0.0, 2), 4: (1.0, 1), 64: (1.0, 2)}
    area = found["recovery_auc", None, None, None]
    assert (area.value, area.low, area.high) == auc([0.7, 0.95], [0.2, 0.1])
    rank = found["recovery_spearman", None, None, None]
    assert (rank.value, rank.low, rank.high) == spearman([64, 4, 0, 64, 0], [1, 1, 0, 1, 0])
    never = found["never_accuracy", None, None, None]
    assert (never.value, never.low, never.high) == wilson(0, 2)
    # `n` is how many facts stand behind the number: top and never, all, never.
    assert (area.n, rank.n, never.n) == (4, 5, 2)


def test_without_exposures_there_is_no_recovery():
    assert not {row.metric for row in measures_of()} & {"accuracy_by_exposure", "recovery_auc", "prior_auc"}


def test_an_objects_frequency_is_all_its_doses_together():
    facts = {row.fact_id: row for row in edition()[4]}  # the objects are o1 to o4, by the fact's last letter
    exposures = [Exposure("a1", 4), Exposure("b1", 16), Exposure("c1", 0), Exposure("b2", 64), Exposure("elsewhere", 9)]
    taught = times_taught(exposures, facts)
    assert {key: taught[key] for key in ("o1", "o2", "o3")} == {"o1": 20, "o2": 64, "o3": 0}


def test_numbers_are_finite():
    for row in measures_of([Exposure(name, at) for at, name in enumerate(ASKED)]):
        assert all(value is None or np.isfinite(value) for value in (row.value, row.low, row.high))
