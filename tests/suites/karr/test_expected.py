"""The second round: each fact with the false object that a model expects, and what SP says of it."""

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, knows, logprobs, rows_of, value, world

from almanac.errors import AlmanacError
from almanac.rows import Fact
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import pools_of

SPURIOUS = KarrOptions(subjects=6, spurious=True, null=False, modes=("paper",))


def expecting(*wanted):
    """Expect some objects of each relation whatever the subject, the first most."""
    return lambda shown: 6.0 - 2.0 * wanted.index(shown[1:]) if shown[1:] in wanted else 0.0


def second(data, logprob, options=SPURIOUS, status="ok"):
    """Return what is asked of a model in the second round."""
    return METHOD.ask_again(worlds.first_round(data, None, logprob, options, status), options, lambda: None)


def its_tests(data):
    return [fact for fact in data.facts if fact.split == "test"]


def most_expected(data, fact, logprob):
    """Return by plain enumeration the object that a model expects most behind [X] and that is not true of a subject."""
    own = [one for one in data.facts if one.relation_id == fact.relation_id]
    true = {one.object_id for one in own if one.subject_id == fact.subject_id}
    pools, _ = pools_of(data.facts, data.entities, data.relations, data.templates, SPURIOUS)
    text = pools.drawn_templates(fact.relation_id)[0].replace("[Y].", "[MASK]")
    return max({one.object_id for one in own} - true, key=lambda key: logprob(text, key))


def test_each_fact_is_asked_once_by_every_method_with_the_false_object_that_the_model_expects_most():
    data, exposures = world()
    two = replace(data.facts[5], object_id="ao3")  # a subject of two true objects, ao5 and ao3
    data = replace(data, facts=[*data.facts, replace(two, fact_id="a|as5|ao3")])
    for prior in (expecting("o5", "o3", "o7"), lambda shown: 0.0):  # some are expected by far; all are alike
        logprob = logprobs(data, exposures, knows, prior=prior)
        options = SPURIOUS.model_copy(update={"modes": ("paper", "official")})
        found = second(data, logprob, options)
        wanted = {fact.fact_id: most_expected(data, fact, logprob) for fact in its_tests(data)}
        assert len(wanted) == 73 and not found.refused
        for method in METHODS:
            asked = {item.fact_id: item.accepted for item in found.items if item.experiment == method}
            assert asked == {fact_id: (key,) for fact_id, key in wanted.items()}
        assert len(found.items) == len(METHODS) * len(wanted)
        assert {item.setting for item in found.items} == {"spurious"}
        drawn = {(row.item_id, row.text) for row in found.beside["draws"] if row.role == "object"}
        items = [item for item in found.items if item.experiment in VARIANTS]
        assert drawn == {(item.item_id, *item.accepted) for item in items}
    assert wanted["a|as5|ao3"] == wanted["a|as5|ao5"] and len(set(wanted.values())) > 2


def test_a_fact_whose_own_object_is_the_expected_one_takes_the_next():
    data, exposures = world()
    found = second(data, logprobs(data, exposures, knows, prior=expecting("o5", "o3", "o7")))
    asked = {item.fact_id: item.accepted[0][1:] for item in found.items if item.experiment == "paper"}
    for fact in its_tests(data):
        assert asked[fact.fact_id] == ("o3" if fact.object_id.endswith("o5") else "o5")


def test_an_object_with_a_name_of_a_true_one_is_not_asked():
    data, exposures = world()
    named = [replace(row, aliases=("the fifth",)) if row.entity_id in ("ao5", "ao3") else row for row in data.entities]
    found = second(replace(data, entities=named), logprobs(data, exposures, knows, prior=expecting("o5", "o3", "o7")))
    asked = {item.fact_id: item.accepted[0] for item in found.items if item.experiment == "paper"}
    for fact in its_tests(data):
        wanted = {"ao5": "ao7", "ao3": "ao7", "bo5": "bo3"}.get(fact.object_id, f"{fact.relation_id}o5")
        assert asked[fact.fact_id] == wanted


def test_no_object_beyond_the_hundred_most_common_is_asked():
    """Each of 101 objects has two facts but the last, which the model expects most."""
    facts = [
        Fact(f"a|s{at}|o{at % 101}", "a", f"s{at}", f"o{at % 101}", *[None] * 3, (), "test", "x") for at in range(201)
    ]
    data = replace(world(relations=("a",))[0], facts=facts, entities=[], choices=[])
    options = SPURIOUS.model_copy(update={"sample": 4, "baselines": False})
    pools, _ = pools_of(facts, [], data.relations, data.templates, options)
    assert pools.common_objects["a"][-1] == "o100"
    wanted = {"o100": 9.0, "o7": 5.0}
    found = second(data, logprobs(data, [], knows, prior=lambda shown: wanted.get(shown, 0.0)), options)
    assert {item.accepted for item in found.items} == {("o7",)}


def test_two_models_with_other_expectations_are_asked_other_things():
    data, exposures = world()
    one, same, other = (
        second(data, logprobs(data, exposures, knows, seed, prior=expecting(wanted)))
        for seed, wanted in ((0, "o5"), (1, "o5"), (0, "o3"))
    )
    asked = [{item.item_id: item.accepted for item in found.items} for found in (one, same, other)]
    assert asked[0].keys() == asked[1].keys() == asked[2].keys()
    # The first two differ where o5 is true, a twelfth; the third from both but where o5 or o3 is true.
    assert sum(asked[0][name] == asked[1][name] for name in asked[0]) >= 11 / 12 * len(asked[0])
    assert sum(asked[0][name] == asked[2][name] for name in asked[0]) <= 2 / 12 * len(asked[0])
    # What two models have in common is asked under one name.
    shared = [len(one.requests.keys() & found.requests.keys()) for found in (same, other)]
    assert shared[0] > 0.8 * len(one.requests) and shared[0] > shared[1]


def test_the_second_round_asks_a_third_of_the_first_and_most_of_that_was_answered_before():
    """A relation's facts share their false object, so they ask fewer strings than their true ones do."""
    data, exposures = world()
    logprob = logprobs(data, exposures, knows, prior=expecting("o5"))
    asked = second(data, logprob)
    first = METHOD.ask(data, SPURIOUS, lambda: None).requests
    assert 0.3 < len(asked.requests) / len(first) < 0.4
    assert 0.6 < len(asked.requests.keys() & first.keys()) / len(asked.requests) < 0.7
    blanks = [request_id for request_id, request in asked.requests.items() if request.kind == "fill"]
    assert blanks and set(blanks) <= first.keys()  # the expected object is one of the fact's wrong choices here
    alone = replace(data, choices=[])
    asked = second(alone, logprob)
    own = {link.request_id: link.item_id.split("/")[-1] for link in asked.links if link.role.startswith("blank")}
    blanks = [request for request in asked.requests.values() if request.kind == "fill"]
    wanted = {fact.fact_id: most_expected(data, fact, logprob) for fact in its_tests(data)}
    assert {own[request.request_id] for request in blanks} == wanted.keys()
    assert all(request.choices[-1] == wanted[own[request.request_id]] for request in blanks)
    assert not asked.requests.keys() & {one.request_id for one in first.values() if one.kind == "fill"}


@pytest.mark.parametrize("status", ["unsupported", "failed"])
def test_a_model_that_does_not_say_what_it_expects_is_asked_nothing_and_each_fact_says_why(status):
    data, exposures = world()
    logprob = logprobs(data, exposures, knows)
    first = worlds.first_round(data, exposures, logprob, SPURIOUS)
    fills = {request.request_id for request in first.requests if request.kind == "fill"}
    silent = [
        replace(row, status=status, reason="because", logprobs=None) if row.request_id in fills else row
        for row in first.responses
    ]
    first = replace(first, responses=silent)
    asked = METHOD.ask_again(first, SPURIOUS, lambda: None)
    assert not asked.items and not asked.requests and not asked.beside["draws"]
    assert {row.thing for row in asked.refused} == {f"fact {fact.fact_id}" for fact in its_tests(data)}
    assert {row.reason for row in asked.refused} == {
        f"the object that the model expects is not known: {status}: because"
    }
    rows = rows_of(METHOD.measure(worlds.joined(first, asked, logprob), SPURIOUS))
    assert not [key for key in rows if key[1] == "spurious"]
    assert value(rows, "paper", "known") is not None and value(rows, "lama_at_1", "known") is None


def test_a_fact_of_which_every_common_object_is_true_is_refused():
    data, exposures = world(relations=("a",))
    facts = [replace(fact, subject_id="as0", fact_id=f"a|as0|{fact.object_id}") for fact in data.facts[:12]]
    data = replace(data, facts=facts)
    asked = second(data, logprobs(data, exposures, knows))
    reason = "each of the relation's 12 most common objects is true of its subject"
    assert [row.reason for row in asked.refused] == [reason] * 12 and not asked.items


def test_the_second_round_needs_the_first_to_have_asked_what_is_expected():
    data, exposures = world()
    first = worlds.first_round(data, exposures, logprobs(data, exposures, knows), worlds.OPTIONS)
    missing = r"fact a\|as0\|ao0: the first round has not asked which object a model expects there"
    with pytest.raises(AlmanacError, match=missing):
        METHOD.ask_again(first, SPURIOUS, lambda: None)
    first = worlds.first_round(data, exposures, logprobs(data, exposures, knows), SPURIOUS)
    fewer = replace(data, facts=[fact for fact in data.facts if fact.object_id != "ao7"])
    with pytest.raises(AlmanacError, match=missing):
        METHOD.ask_again(replace(first, data=fewer), SPURIOUS, lambda: None)
    with pytest.raises(AlmanacError, match=r"1 of \d+ requests have no response"):
        METHOD.ask_again(replace(first, responses=first.responses[1:]), SPURIOUS, lambda: None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": 2}, r"a\|as0\|ao0: the first round has not asked it in the mode paper, or with other draws"),
        ({"templates": 1}, r"a\|as0\|ao0: the first round has not asked it in the mode paper, or with other draws"),
        ({"modes": ("paper", "official")}, r"a\|as0\|ao0: the first round has not asked it in the mode official"),
        ({"sample": 20}, r"the first round and the second do not both ask it by k_prompts, lama_at_1.* paper, pararel"),
        ({"baselines": False}, r"do not both ask it by k_prompts, lama_at_1, lama_at_10, pararel; ask it with"),
    ],
)
def test_a_second_round_with_other_draws_facts_or_methods_than_the_first_is_refused(change, message):
    data, exposures = world()
    first = worlds.first_round(data, exposures, logprobs(data, exposures, knows), SPURIOUS)
    assert METHOD.ask_again(first, SPURIOUS, lambda: None).items
    with pytest.raises(AlmanacError, match=message):
        METHOD.ask_again(first, SPURIOUS.model_copy(update=change), lambda: None)


def test_a_fact_that_the_second_round_alone_would_ask_is_refused():
    data, exposures = world()
    few = SPURIOUS.model_copy(update={"sample": 20})
    first = worlds.first_round(data, exposures, logprobs(data, exposures, knows), few)
    with pytest.raises(AlmanacError, match="the first round has not asked which object a model expects there"):
        METHOD.ask_again(first, SPURIOUS, lambda: None)


def test_sp_and_delta_are_the_shares_above_the_threshold_of_the_facts_that_have_both_values():
    data, exposures = world()
    logprob = logprobs(data, exposures, lambda dose: 0.15 * knows(dose), prior=expecting("o5", "o3"))
    given = answered(data, exposures, logprob, SPURIOUS)
    lost = next(item for item in given.items if item.item_id.startswith("karr/paper/spurious/a|as0|"))
    own = {link.request_id for link in given.links if link.item_id == lost.item_id}
    kept = {link.request_id for link in given.links if link.item_id.startswith("karr/paper/facts/")}
    gone = min(own - kept)  # one string that the false object alone needs
    given = replace(
        given,
        responses=[replace(row, status="failed") if row.request_id == gone else row for row in given.responses],
    )
    found = METHOD.measure(given, SPURIOUS)
    rows = rows_of(found)
    values = {row.item_id: row.karr for row in found.beside["values"]}
    threshold = math.log(value(rows, "paper", "threshold"))
    pairs = [
        (values[f"karr/paper/spurious/{fact.fact_id}"], values[f"karr/paper/facts/{fact.fact_id}"])
        for fact in its_tests(data)
    ]
    both = [(false, true) for false, true in pairs if false is not None]
    assert 60 < len(both) < len(pairs) == 72
    share = sum(false > threshold for false, _ in both) / len(both)
    control = sum(true > threshold for _, true in both) / len(both)
    assert 0 < share < control
    assert value(rows, "paper", "known", "spurious") == pytest.approx(share)
    assert value(rows, "paper", "spurious_control", "spurious") == pytest.approx(control)
    assert value(rows, "paper", "spurious_delta", "spurious") == pytest.approx(share - control)
    row = rows["paper", "spurious", "known", None, None, None]
    assert (row.n, row.n_correct, row.n_error) == (len(both), round(share * len(both)), 0)
    row = rows["paper", "spurious", "without_value", None, None, None]
    assert (row.n, row.n_error) == (len(pairs), len(pairs) - len(both)) and row.value == row.n_error / row.n > 0
    assert row.n_correct == round(share * len(both))


def test_a_method_that_follows_the_prior_is_fooled_and_karr_is_not():
    """LAMA takes what is likeliest; KaRR divides by what other subjects get."""
    data, exposures = world()
    logprob = logprobs(data, exposures, lambda dose: 0.3 * knows(dose), prior=expecting("o5"))
    rows = rows_of(METHOD.measure(answered(data, exposures, logprob, SPURIOUS), SPURIOUS))
    for method in ("lama_at_1", "pararel"):
        assert value(rows, method, "known", "spurious") > 0.8
        assert value(rows, method, "spurious_delta", "spurious") > 0.5
    assert value(rows, "paper", "known", "spurious") < 0.4
    assert value(rows, "paper", "spurious_delta", "spurious") < value(rows, "lama_at_1", "spurious_delta", "spurious")


@pytest.mark.parametrize("modes", [("paper",), ("official",), ("paper", "official")])
def test_the_second_round_leaves_the_facts_own_numbers_alone(modes):
    """Where a second answer to the same request differs, as another pass's may, and where the first had failed."""
    options = KarrOptions(subjects=6, modes=modes, resamples=2)
    with_both = options.model_copy(update={"spurious": True})
    data, exposures = world(aliases=2)
    logprob = logprobs(data, exposures, knows)
    first = worlds.first_round(data, exposures, logprob, with_both)
    again = METHOD.ask_again(first, with_both, lambda: None).requests
    gone = {link.request_id for link in first.links if link.item_id.split("/")[2:] == ["facts", "a|as1|ao1"]}
    gone = set(sorted(gone & again.keys())[:3])  # some of one fact, which the second round asks once more
    failed = [replace(row, status="failed") if row.request_id in gone else row for row in first.responses]
    first = replace(first, responses=failed)
    plain = rows_of(METHOD.measure(first, options))
    assert len(gone) == 3 and plain[modes[0], "facts", "without_value", None, None, None].n_error > 0
    asked = METHOD.ask_again(first, with_both, lambda: None)
    more = worlds.joined(first, asked, lambda text, shown: logprob(text, shown) + 0.5)
    found = rows_of(METHOD.measure(more, with_both))
    assert gone <= asked.requests.keys() and {key: row for key, row in found.items() if key[1] != "spurious"} == plain
    assert value(found, modes[0], "known", "spurious") is not None


def test_the_estimate_of_tokens_knows_the_second_round():
    tokens = [KarrOptions(spurious=spurious, null=False).tokens(10, 5, 2) for spurious in (False, True)]
    assert tokens[1] == 2 * tokens[0]
    assert (KarrOptions().asks_again, SPURIOUS.asks_again) == (False, True)


@pytest.mark.parametrize("number", [1, 1.0, 3])
def test_a_number_of_objects_is_refused_where_a_second_round_is_switched_on(number):
    with pytest.raises(ValidationError, match="spurious\n  Value error, is a switch, true or false"):
        KarrOptions(spurious=number)
    assert not any(KarrOptions(spurious=said).spurious for said in (0, False, "false"))
    assert KarrOptions(spurious="true").spurious
