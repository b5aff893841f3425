import pytest
from pydantic import ValidationError
from small_world import answered, responses_of, text_of, world

from almanac.errors import AlmanacError
from almanac.rows import Exposure, Response
from almanac.suites.ic_lke.sweep.measures import enough, measure
from almanac.suites.ic_lke.sweep.method import METHOD
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.ic_lke.sweep.requests import ask

OPTIONS = SweepOptions(examples=(0, 1, 4), draws=3)


def test_each_number_is_asked_by_each_draw_and_no_examples_once():
    asked = ask(world(), OPTIONS)
    settings = [f"shots={shots},draw={draw}" for shots in (1, 4) for draw in range(3)]
    assert {item.setting for item in asked.items} == {"shots=0,draw=0", *settings}
    assert len(asked.items) == 6 * (1 + 2 * 3)


def test_fewer_examples_are_the_first_of_more():
    asked = ask(world(), OPTIONS)
    texts = {}
    for item, link in zip(asked.items, asked.links, strict=True):
        text = text_of(asked, link.request_id)
        texts[item.setting] = text[: text.rindex(" Sam")] if " Sam" in text else ""
    for draw in range(3):
        assert texts[f"shots=4,draw={draw}"].startswith(texts[f"shots=1,draw={draw}"] + " Sam")
    assert len({texts[f"shots=4,draw={draw}"] for draw in range(3)}) == 3


def test_behind_a_number_stand_all_draws_of_its_examples_and_of_no_other_number():
    data = world(12, 6)
    options = SweepOptions(examples=(1, 12), draws=2)  # one number begins as the other does
    asked = ask(data, options)
    settings = {item.setting for item in asked.items}
    found = measure(answered(asked, data, responses_of(asked)), options).measures
    rows = [row for row in found if row.metric == "accuracy_at_shots" and row.relation_id is None]
    behind = {row.level: set(METHOD.behind(row, options, settings).settings) for row in rows}
    assert behind == {1.0: {"shots=1,draw=0", "shots=1,draw=1"}, 12.0: {"shots=12,draw=0", "shots=12,draw=1"}}


@pytest.mark.parametrize(
    ("accuracies", "share", "least"),
    [
        ({0: 0.1, 5: 0.7, 20: 0.76, 50: 0.8}, 0.95, 20),  # .76 is 95 % of .8
        ({0: 0.1, 5: 0.75, 20: 0.76, 50: 0.8}, 0.9, 5),
        ({0: 0.9, 50: 0.5}, 0.95, 0),
        ({1: 0.0, 50: 0.0}, 0.95, 1),
        ({}, 0.95, None),
    ],
)
def test_enough_is_the_least_number_that_reaches_the_share_of_the_accuracy_at_the_most(accuracies, share, least):
    assert enough(accuracies, share) == least


def hand_made(asked, hit_of):
    """Return responses by whether the model is right of an item."""
    return [
        Response(link.request_id, "ok", None, (-1.0, -2.0, -3.0, -0.5 if hit_of(item) else -9.0), (1,) * 4)
        for item, link in zip(asked.items, asked.links, strict=True)
    ]


def test_a_facts_draws_are_averaged_and_the_deviation_is_that_of_the_draws():
    data = world(12, 4)
    options = SweepOptions(examples=(1, 4), draws=2)
    asked = ask(data, options)
    facts = sorted({item.fact_id for item in asked.items})
    right = {"shots=1,draw=0": 1, "shots=1,draw=1": 3, "shots=4,draw=0": 4, "shots=4,draw=1": 4}
    responses = hand_made(asked, lambda item: facts.index(item.fact_id) < right[item.setting])
    exposures = [Exposure(fact_id, 64 if at < 2 else 0) for at, fact_id in enumerate(facts)]
    found = measure(answered(asked, data, responses, exposures), options)
    rows = {(row.metric, row.level, row.exposure): row for row in found.measures if row.relation_id is None}
    assert rows["accuracy_at_shots", 1.0, None].value == 0.5
    assert rows["accuracy_at_shots", 4.0, None].value == 1
    assert rows["deviation_at_shots", 1.0, None].value == pytest.approx(0.5 / 2**0.5)  # of .25 and .75, n - 1
    assert rows["accuracy_at_shots", 1.0, 64].value == 0.75
    assert rows["accuracy_at_shots", 1.0, 0].value == 0.25
    assert rows["enough_shots", None, None].value == 4


def test_where_longer_texts_are_too_long_for_the_model_nothing_is_said_of_enough():
    data = world()
    asked = ask(data, OPTIONS)
    found = measure(answered(asked, data, responses_of(asked, 24)), OPTIONS)
    rows = {(row.metric, row.level): row for row in found.measures if row.relation_id is None}
    assert rows["accuracy_at_shots", 0.0].value is not None
    assert (rows["accuracy_at_shots", 4.0].value, rows["accuracy_at_shots", 4.0].n_error) == (None, 18)
    assert rows["enough_shots", None].value is None


def test_more_examples_than_train_facts_name_the_relation_and_the_key():
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 50 examples .* lower `examples`"):
        ask(world(), SweepOptions(examples=(0, 50)))


def test_a_number_that_stands_twice_is_refused():
    with pytest.raises(ValidationError, match="examples must be distinct"):
        SweepOptions(examples=(1, 5, 5))
