"""Accuracy by the number of examples: which texts are asked, and when examples are enough."""

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.ic_lke.small_world import answered, world
from tests.suites.support import Trial, number, picks

from almanac.errors import AlmanacError
from almanac.suites.ic_lke.options import SweepOptions
from almanac.suites.ic_lke.suite import IcLkeSetting
from almanac.suites.ic_lke.sweep import Sweep, enough
from almanac.suites.judged import Range

OPTIONS = SweepOptions(examples=(0, 1, 4), draws=3)


@pytest.fixture
def ask(tmp_path):
    """Ask a dataset."""
    return lambda data=None, options=OPTIONS, doses=None: Trial(
        tmp_path, Sweep(), data or world(), options, doses=doses
    ).ask()


def test_each_number_is_asked_by_each_draw_and_no_examples_once(ask):
    asked = ask()
    draws = [IcLkeSetting(shots, draw) for shots in (1, 4) for draw in range(3)]
    assert list(asked.settings().values()) == [IcLkeSetting(0, 0), *draws]
    assert len(asked.items()) == 6 * (1 + 2 * 3)


def test_fewer_examples_are_the_first_of_more(ask):
    texts = {question.setting: question.before for question in ask().questions()}
    assert texts[IcLkeSetting(0, 0)] == ""
    for draw in range(3):
        assert texts[IcLkeSetting(4, draw)].startswith(texts[IcLkeSetting(1, draw)] + " Sam")
    assert len({texts[IcLkeSetting(4, draw)] for draw in range(3)}) == 3


def test_a_number_counts_all_draws_of_its_examples_and_of_no_other_number(ask):
    asked = answered(ask(options=SweepOptions(examples=(1, 12), draws=2)))  # one number begins as the other does
    rows, frame = asked.measures(), asked.judged().frame
    for shots in (1, 12):
        assert number(rows, "accuracy_at_shots", shots=shots).n == 6 * 2
        assert sorted(set(frame.filter(frame["shots"] == shots)["draw"])) == [0, 1]


@pytest.mark.parametrize(
    ("accuracies", "share", "least"),
    [
        ({0: 0.1, 5: 0.7, 20: 0.76, 50: 0.8}, 0.95, 20),  # .76 is 95 % of .8
        ({0: 0.1, 5: 0.75, 20: 0.76, 50: 0.8}, 0.9, 5),
        ({0: 0.9, 50: 0.5}, 0.95, 0),
        ({1: 0.0, 50: 0.0}, 0.95, 1),
        ({1: 19 / 53, 50: 20 / 53}, 0.95, 1),  # as floats, .95 × 20/53 is more than 19/53
    ],
)
def test_enough_is_the_least_number_that_reaches_the_share_of_the_accuracy_at_the_most(accuracies, share, least):
    assert enough(accuracies, share) == least


def test_a_facts_draws_are_averaged_and_the_deviation_is_that_of_the_draws(ask):
    data = world(12, 4)
    facts = sorted(fact.fact_id for fact in data.facts if fact.split == "test")
    right = {(1, 0): 1, (1, 1): 3, (4, 0): 4, (4, 1): 4}  # of the facts the first ones, by number and draw

    def reply(question):
        knows = facts.index(question.item.fact_id) < right[question.setting]
        return picks(-1 if knows else 0)(question)

    options = SweepOptions(examples=(1, 4), draws=2)
    rows = (
        ask(data, options, {fact_id: 64 if at < 2 else 0 for at, fact_id in enumerate(facts)}).answer(reply).measures()
    )
    metric = "accuracy_at_shots"
    assert number(rows, metric, shots=1).value == 0.5
    assert number(rows, metric, shots=4).value == 1
    assert number(rows, "deviation_at_shots", shots=1).value == pytest.approx(0.5 / 2**0.5)  # of .25 and .75, n - 1
    assert number(rows, metric, shots=1, dose=64).value == 0.75
    assert number(rows, metric, shots=1, dose=0).value == 0.25
    assert number(rows, "enough_shots", shots=4).value == 4


def test_accuracy_at_k_is_of_the_sure_facts_of_the_first_draw_after_most_examples(ask):
    """Two facts are answered with three quarters of the probability of two choices, one of them rightly; two evenly."""
    facts = sorted(fact.fact_id for fact in world(12, 4).facts if fact.split == "test")
    sure = {facts[0]: (0.25, 0.75), facts[1]: (0.75, 0.25)}  # of the first choice and of the true one, the last

    def reply(question):
        if question.setting != IcLkeSetting(4, 0):
            return picks(-1)(question)
        first, last = sure.get(question.item.fact_id, (0.5, 0.5))
        count = len(question.request.choices)
        return replace(
            picks(-1)(question),
            logprobs=(math.log(first), *[-1000.0] * (count - 2), math.log(last)),
        )

    rows = ask(world(12, 4), SweepOptions(examples=(1, 4), draws=2)).answer(reply).measures()
    found = {
        least: number(rows, "accuracy_at_k", shots=4, draw=0, confidence=Range(least)) for least in (0.5, 0.7, 0.8)
    }
    assert {least: (row.value, row.n) for least, row in found.items()} == {
        0.5: (0.25, 4),
        0.7: (0.5, 2),
        0.8: (None, 0),
    }


def test_facts_that_were_never_met_have_no_number_by_dose(ask):
    data = world(12, 4)
    some = next(fact.fact_id for fact in data.facts if fact.split == "test")
    rows = ask(data, SweepOptions(examples=(1, 4), draws=2), {some: 8}).answer(picks(-1)).measures()
    assert number(rows, "accuracy_at_shots", shots=1, dose=8).n == 2
    assert not [row for row in rows if '"dose":null' in row.where]


def test_where_longer_texts_are_too_long_for_the_model_nothing_is_said_of_enough(ask):
    rows = answered(ask(), 24).measures()
    assert number(rows, "accuracy_at_shots", shots=0).value is not None
    most = number(rows, "accuracy_at_shots", shots=4)
    assert (most.value, most.n_error) == (None, 18)
    assert number(rows, "enough_shots", shots=4).value is None


def test_more_examples_than_train_facts_name_the_relation_and_the_key(ask):
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 50 examples .* lower `examples`"):
        ask(options=SweepOptions(examples=(0, 50)))


def test_a_number_that_stands_twice_is_refused():
    with pytest.raises(ValidationError, match="examples must be distinct"):
        SweepOptions(examples=(1, 5, 5))
