"""The second round: each fact with the false object that a model expects, and what SP says of it."""

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.karr.worlds import (
    METHODS,
    OPTIONS,
    SUITE,
    Asking,
    answered,
    asked,
    changed,
    knows,
    logprobs,
    world,
)

from almanac.errors import AlmanacError
from almanac.rows import Fact
from almanac.suites.karr.asking import FACTS, SPURIOUS
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions

EXPECTING = KarrOptions(subjects=6, spurious=True, null=False, modes=("paper",))


def expecting(*wanted):
    """Expect some objects of each relation whatever the subject, the first most."""
    return lambda shown: 6.0 - 2.0 * wanted.index(shown[1:]) if shown[1:] in wanted else 0.0


def first_round(data, logprob, options=EXPECTING, **more):
    """Ask a world and let the model answer the first round."""
    asking = Asking(data, options)
    asking.ask()
    return asking.answer(logprob, **more)


def second(data, logprob, options=EXPECTING):
    """Return what is asked of a model in the second round."""
    return first_round(data, logprob, options).ask()


def its_tests(data):
    return [fact for fact in data.facts if fact.split == "test"]


def accepted(found, method="paper"):
    """Return the object that each fact is asked with."""
    return {fact_id: names[0] for (name, _, fact_id), names in found.accepted.items() if name == method}


def most_expected(data, fact, logprob):
    """Return by plain enumeration the object that a model expects most behind [X] and that is not true of a subject."""
    own = [one for one in data.facts if one.relation_id == fact.relation_id]
    true = {one.object_id for one in own if one.subject_id == fact.subject_id}
    text = data.pools(EXPECTING).drawn_templates(fact.relation_id)[0].replace("[Y].", "[MASK]")
    return max({one.object_id for one in own} - true, key=lambda key: logprob(text, key))


def test_each_fact_is_asked_once_by_every_method_with_the_false_object_that_the_model_expects_most():
    data, exposures = world()
    two = replace(data.facts[5], object_id="ao3")  # a subject of two true objects, ao5 and ao3
    data = replace(data, facts=[*data.facts, replace(two, fact_id="a|as5|ao3")])
    for prior in (expecting("o5", "o3", "o7"), lambda shown: 0.0):  # some are expected by far; all are alike
        logprob = logprobs(data, exposures, knows, prior=prior)
        options = EXPECTING.model_copy(update={"modes": ("paper", "official")})
        found = second(data, logprob, options)
        wanted = {fact.fact_id: most_expected(data, fact, logprob) for fact in its_tests(data)}
        assert len(wanted) == 73 and not found.refused
        assert found.accepted == {
            (method, SPURIOUS, fact_id): (key,) for method in METHODS for fact_id, key in wanted.items()
        }
        drawn = {name: draw.objects for name, draw in found.draws.items()}
        assert drawn == {name: own for name, own in found.accepted.items() if name[0] in VARIANTS}
    assert wanted["a|as5|ao3"] == wanted["a|as5|ao5"] and len(set(wanted.values())) > 2


def test_the_items_of_the_second_round_are_numbered_on_after_those_of_the_first():
    data, exposures = world()
    logprob = logprobs(data, exposures, knows)
    first, found = asked(data, EXPECTING), second(data, logprob)
    count = len(first.items)
    assert list(first.items) == list(range(count)) and list(found.items) == list(range(count, count + len(found.items)))


def test_a_fact_whose_own_object_is_the_expected_one_takes_the_next():
    data, exposures = world()
    found = accepted(second(data, logprobs(data, exposures, knows, prior=expecting("o5", "o3", "o7"))))
    for fact in its_tests(data):
        assert found[fact.fact_id][1:] == ("o3" if fact.object_id.endswith("o5") else "o5")


def test_an_object_with_a_name_of_a_true_one_is_not_asked():
    data, exposures = world()
    named = [replace(row, aliases=("the fifth",)) if row.entity_id in ("ao5", "ao3") else row for row in data.entities]
    prior = expecting("o5", "o3", "o7")
    found = accepted(second(replace(data, entities=named), logprobs(data, exposures, knows, prior=prior)))
    for fact in its_tests(data):
        wanted = {"ao5": "ao7", "ao3": "ao7", "bo5": "bo3"}.get(fact.object_id, f"{fact.relation_id}o5")
        assert found[fact.fact_id] == wanted


@pytest.mark.parametrize(("unwritten", "wanted"), [({"o5"}, "o3"), ({f"o{at}" for at in range(12)}, None)])
def test_an_object_that_the_tokenizer_cannot_write_is_not_the_expected_one(unwritten, wanted):
    """Its log-probability is that of the unknown token, here the greatest."""
    data, exposures = world(relations=("a",))
    logprob = logprobs(data, exposures, knows, prior=expecting("o5", "o3"))
    asking = Asking(data, EXPECTING)
    requests = asking.ask().requests

    def unknown(row):
        request = requests[row.request_id]
        if request.kind != "fill":
            return row
        return changed(row, token_counts=tuple(int(choice[1:] not in unwritten) for choice in request.choices))

    found = asking.answer(logprob, change=unknown).ask()
    asked_with = {key[1:] for fact_id, key in accepted(found).items() if not fact_id.endswith("ao3")}
    assert asked_with == ({wanted} if wanted else set())
    said = "each of the relation's 12 most common objects is true of its subject or cannot be written by the tokenizer"
    assert {row.reason for row in found.refused} == (set() if wanted else {said})


def test_no_object_beyond_the_hundred_most_common_is_asked():
    """Each of 101 objects has two facts but the last, which the model expects most."""
    facts = [
        Fact(f"a|s{at}|o{at % 101}", "a", f"s{at}", f"o{at % 101}", *[None] * 3, (), "test", "x") for at in range(201)
    ]
    data = replace(world(relations=("a",))[0], facts=facts, entities=[], choices=[])
    options = EXPECTING.model_copy(update={"sample": 4, "baselines": False})
    common = data.pools(options).common_objects["a"]
    assert len(common) == 100 and "o100" not in common
    wanted = {"o100": 9.0, "o7": 5.0}
    found = second(data, logprobs(data, [], knows, prior=lambda shown: wanted.get(shown, 0.0)), options)
    assert set(accepted(found).values()) == {"o7"}


def test_two_models_with_other_expectations_are_asked_other_things():
    data, exposures = world()
    one, same, other = (
        second(data, logprobs(data, exposures, knows, seed, prior=expecting(wanted)))
        for seed, wanted in ((0, "o5"), (1, "o5"), (0, "o3"))
    )
    objects = [found.accepted for found in (one, same, other)]
    assert objects[0].keys() == objects[1].keys() == objects[2].keys()
    # The first two differ where o5 is true, a twelfth; the third from both but where o5 or o3 is true.
    assert sum(objects[0][name] == objects[1][name] for name in objects[0]) >= 11 / 12 * len(objects[0])
    assert sum(objects[0][name] == objects[2][name] for name in objects[0]) <= 2 / 12 * len(objects[0])
    # What two models have in common is asked under one name.
    shared = [len(one.requests.keys() & found.requests.keys()) for found in (same, other)]
    assert shared[0] > 0.8 * len(one.requests) and shared[0] > shared[1]


def test_the_second_round_asks_a_third_of_the_first_and_most_of_that_was_answered_before():
    """A relation's facts share their false object, so they ask fewer strings than their true ones do."""
    data, exposures = world()
    logprob = logprobs(data, exposures, knows, prior=expecting("o5"))
    found, first = second(data, logprob), asked(data, EXPECTING).requests
    assert 0.3 < len(found.requests) / len(first) < 0.4
    assert 0.6 < len(found.requests.keys() & first.keys()) / len(found.requests) < 0.7
    blanks = [request_id for request_id, request in found.requests.items() if request.kind == "fill"]
    assert blanks and set(blanks) <= first.keys()  # the expected object is one of the fact's wrong choices here
    alone = replace(data, choices=[])
    found = second(alone, logprob)
    own = {
        link.request_id: fact_id
        for (_, _, fact_id), links in found.links.items()
        for link in links
        if link.role.startswith("blank")
    }
    blanks = [request for request in found.requests.values() if request.kind == "fill"]
    wanted = {fact.fact_id: most_expected(data, fact, logprob) for fact in its_tests(data)}
    assert {own[request.request_id] for request in blanks} == wanted.keys()
    assert all(request.choices[-1] == wanted[own[request.request_id]] for request in blanks)
    assert not found.requests.keys() & {one.request_id for one in first.values() if one.kind == "fill"}


@pytest.mark.parametrize("status", ["unsupported", "failed"])
def test_a_model_that_does_not_say_what_it_expects_is_asked_nothing_and_each_fact_says_why(status):
    data, exposures = world()
    logprob = logprobs(data, exposures, knows)

    def silent(row):
        return changed(row, status=status, reason="because", logprobs=None, ranks=None) if row.ranks else row

    asking = first_round(data, logprob, change=silent)
    found = asking.ask()
    assert not found.items and not found.requests and not found.draws
    assert {row.thing for row in found.refused} == {f"fact {fact.fact_id}" for fact in its_tests(data)}
    assert {row.reason for row in found.refused} == {
        f"the object that the model expects is not known: {status}: because"
    }
    numbers = asking.answer(logprob).measured()
    assert not any(SPURIOUS in row.where for row in numbers.rows)
    assert numbers.value("known", "paper") is not None and numbers.value("known", "lama_at_1") is None


def test_a_fact_of_which_every_common_object_is_true_is_refused():
    data, exposures = world(relations=("a",))
    facts = [replace(fact, subject_id="as0", fact_id=f"a|as0|{fact.object_id}") for fact in data.facts[:12]]
    data = replace(data, facts=facts)
    found = second(data, logprobs(data, exposures, knows))
    reason = "each of the relation's 12 most common objects is true of its subject"
    assert [row.reason for row in found.refused] == [reason] * 12 and not found.items


def test_the_second_round_needs_the_first_to_have_asked_what_is_expected():
    data, exposures = world()
    logprob = logprobs(data, exposures, knows)
    missing = r"fact a\|as0\|ao0: the first round has not asked which object a model expects there"
    with pytest.raises(AlmanacError, match=missing):
        first_round(data, logprob, OPTIONS).ask(EXPECTING)
    fewer = replace(data, facts=[fact for fact in data.facts if fact.object_id != "ao7"])
    with pytest.raises(AlmanacError, match=missing):
        first_round(data, logprob).ask(world=fewer)
    lost = iter([None])
    with pytest.raises(AlmanacError, match=r"1 of \d+ requests have no response"):
        first_round(data, logprob, change=lambda row: next(lost, row)).ask()


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        ({"subjects": 2}, "paper;"),
        ({"templates": 1}, "paper;"),
        ({"modes": ("paper", "official")}, "official;"),
        ({"sample": 20}, "k_prompts, lama_at_1, lama_at_10, paper, pararel;"),
        ({"baselines": False}, "k_prompts, lama_at_1, lama_at_10, pararel;"),
    ],
)
def test_a_second_round_with_other_draws_facts_or_methods_than_the_first_is_refused(change, lacking):
    data, exposures = world()
    asking = first_round(data, logprobs(data, exposures, knows))
    assert asking.ask().items
    said = rf"fact a\|as.*: the first round and the second do not both ask it, with the same draws, by {lacking}"
    with pytest.raises(AlmanacError, match=said):
        asking.ask(EXPECTING.model_copy(update=change))


def test_a_fact_that_the_second_round_alone_would_ask_is_refused():
    data, exposures = world()
    few = EXPECTING.model_copy(update={"sample": 20})
    with pytest.raises(AlmanacError, match="the first round has not asked which object a model expects there"):
        first_round(data, logprobs(data, exposures, knows), few).ask(EXPECTING)


def test_sp_and_delta_are_the_shares_above_the_threshold_of_the_facts_that_have_both_values():
    data, exposures = world()
    logprob = logprobs(data, exposures, lambda dose: 0.15 * knows(dose), prior=expecting("o5", "o3"))
    asking = Asking(data, EXPECTING, exposures)
    first = asking.ask()
    asking.answer(logprob)
    links = asking.ask().links["paper", SPURIOUS, "a|as0|ao0"]
    kept = {link.request_id for (_, own, _), links in first.links.items() if own == FACTS for link in links}
    gone = min({link.request_id for link in links} - kept)  # one string that the false object alone needs
    asking.answer(logprob, change=lambda row: changed(row, status="failed") if row.request_id == gone else row)
    found = asking.measured()
    values = {
        (asked, fact): karr
        for asked, fact, karr in found.judged.where(experiment="paper")
        .frame.select("asked", "fact", "karr")
        .iter_rows()
    }
    threshold = math.log(found.value("threshold", "paper"))
    pairs = [(values[SPURIOUS, fact.fact_id], values[FACTS, fact.fact_id]) for fact in its_tests(data)]
    both = [(false, true) for false, true in pairs if false is not None]
    assert 60 < len(both) < len(pairs) == 72
    share = sum(false > threshold for false, _ in both) / len(both)
    control = sum(true > threshold for _, true in both) / len(both)
    assert 0 < share < control
    assert found.value("known", "paper", FACTS, paired=True) == pytest.approx(control)
    assert found.value("spurious_delta", "paper", (FACTS, SPURIOUS)) == pytest.approx(share - control)
    row = found.find("known", "paper", SPURIOUS, paired=True)
    assert row.value == pytest.approx(share)
    assert (row.n, row.n_correct, row.n_error) == (len(both), round(share * len(both)), 0)
    row = found.find("without_value", "paper", SPURIOUS)
    assert (row.n, row.n_error) == (len(pairs), len(pairs) - len(both)) and row.value == row.n_error / row.n > 0
    assert row.n_correct == round(share * len(both))


def test_a_method_that_follows_the_prior_is_fooled_and_karr_is_not():
    """LAMA takes what is likeliest; KaRR divides by what other subjects get."""
    data, exposures = world()
    logprob = logprobs(data, exposures, lambda dose: 0.3 * knows(dose), prior=expecting("o5"))
    found = answered(data, exposures, logprob, EXPECTING).measured()
    known = {method: found.value("known", method, SPURIOUS) for method in METHODS if method != "official"}
    delta = {method: found.value("spurious_delta", method, (FACTS, SPURIOUS)) for method in known}
    for method in ("lama_at_1", "pararel"):
        assert known[method] > 0.8 and delta[method] > 0.5
    assert known["paper"] < 0.4 and delta["paper"] < delta["lama_at_1"]


@pytest.mark.parametrize("modes", [("paper",), ("official",), ("paper", "official")])
@pytest.mark.whole
def test_the_second_round_leaves_the_facts_own_numbers_alone(modes):
    """Where a second answer to the same request differs, as another pass's may, and where the first had failed."""
    options = KarrOptions(subjects=6, modes=modes, resamples=2, spurious=True)
    data, exposures = world(aliases=2)
    logprob = logprobs(data, exposures, knows)
    asking = Asking(data, options, exposures)
    links = asking.ask().links
    own = {
        link.request_id for (_, of, fact), own in links.items() if (of, fact) == (FACTS, "a|as1|ao1") for link in own
    }
    again = first_round(data, logprob, options).ask().requests
    gone = set(sorted(own & again.keys())[:3])  # some of one fact, which the second round asks once more
    asking.answer(logprob, change=lambda row: changed(row, status="failed") if row.request_id in gone else row)
    plain = asking.measured(options.model_copy(update={"spurious": False}))
    assert len(gone) == 3 and plain.find("without_value", modes[0]).n_error > 0
    assert gone <= asking.ask().requests.keys()
    asking.answer(lambda text, shown: logprob(text, shown) + 0.5)
    found = asking.measured()
    assert {row for row in found.rows if SPURIOUS not in row.where and "paired" not in row.where} == set(plain.rows)
    assert found.value("known", modes[0], SPURIOUS) is not None


def test_the_estimate_of_tokens_knows_the_second_round():
    tokens = [KarrOptions(spurious=spurious, null=False).tokens(10, 5, 2) for spurious in (False, True)]
    assert tokens[1] == 2 * tokens[0]
    rounds = [[one.name for one in SUITE.rounds_of(options)] for options in (KarrOptions(), EXPECTING)]
    assert rounds == [["asked"], ["asked", "expected"]]


@pytest.mark.parametrize("number", [1, 1.0, 3])
def test_a_number_of_objects_is_refused_where_a_second_round_is_switched_on(number):
    with pytest.raises(ValidationError, match="spurious\n  Value error, is a switch, true or false"):
        KarrOptions(spurious=number)
    assert not any(KarrOptions(spurious=said).spurious for said in (0, False, "false"))
    assert KarrOptions(spurious="true").spurious
