import random
from dataclasses import replace

import pytest
from pydantic import ValidationError
from small_world import answered, responses_of, text_of, world

from almanac.errors import AlmanacError
from almanac.rows import Response
from almanac.suites.ic_lke.eic.measures import AGREEMENT, judge, measure
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.eic.requests import ISOLATED, SEQUENCE, ask
from almanac.suites.ic_lke.requests import IN_CONTEXT

SMALL = EicOptions(examples=12, first=6, step=2)  # slots after 6, 8 and 10 train facts


def links_of(asked, experiment):
    experiment_of = {item.item_id: item.experiment for item in asked.items}
    return [link for link in asked.links if experiment_of[link.item_id] == experiment]


def test_by_default_ten_test_facts_stand_after_fifty_train_facts_and_every_five():
    assert list(EicOptions().slots) == [50, 55, 60, 65, 70, 75, 80, 85, 90, 95]


def test_a_tenth_of_the_texts_are_asked_as_one_sequence_carries_ten_facts():
    # Wu et al.: 4,000 instead of 40,000 texts for 400 facts of 100 choices; here 4 choices and 20 facts.
    asked = ask(world(100, 20), EicOptions())
    costs = {row.experiment: row.texts for row in asked.beside["costs"]}
    assert costs == {SEQUENCE: 2 * 4, ISOLATED: 20 * 4, IN_CONTEXT: 20 * 4}


def test_the_sequences_carry_every_choice_of_each_fact_and_the_true_one_is_the_last_role():
    asked = ask(world(), SMALL)
    links = links_of(asked, SEQUENCE)
    labels = {link.item_id: {} for link in links}
    for link in links:
        labels[link.item_id][link.role] = asked.requests[link.request_id].pieces[link.index].strip()
    isolated = {link.item_id.split("/", 3)[3]: asked.requests[link.request_id] for link in links_of(asked, ISOLATED)}
    for item in (one for one in asked.items if one.experiment == SEQUENCE):
        choices = [choice.strip() for choice in isolated[item.fact_id].choices]
        assert labels[item.item_id] == {f"choice {at}": choice for at, choice in enumerate(choices)}
        assert choices[-1] in item.accepted


def test_the_true_choices_do_not_share_a_sequence():
    # If they did, they alone would be read behind true choices, and wrong ones behind wrong ones.
    asked = ask(world(100, 20), EicOptions())
    true = {item.item_id: 0 for item in asked.items if item.experiment == SEQUENCE}
    holds = {link.request_id: 0 for link in links_of(asked, SEQUENCE)}
    for link in links_of(asked, SEQUENCE):
        if link.role == "choice 3":
            true[link.item_id] += 1
            holds[link.request_id] += 1
    assert set(true.values()) == {1}
    assert max(holds.values()) < 10


def test_a_sequence_reads_as_pairs_with_commas_and_test_facts_between():
    asked = ask(world(), SMALL)
    for request_id in {link.request_id for link in links_of(asked, SEQUENCE)}:
        pairs = text_of(asked, request_id).split(", ")
        assert len(pairs) == 10 + 3  # two train facts to each slot after the first six, and none after the last
        assert all(len(pair.split(" ")) == 3 for pair in pairs)
        subjects = [pair.split(" ")[0] for pair in pairs]
        assert [at for at, name in enumerate(subjects) if int(name[3:]) >= 12] == [6, 9, 12]
        assert len(set(subjects)) == len(subjects)


def test_isolated_facts_see_the_same_train_facts_and_nothing_else():
    asked = ask(world(), SMALL)
    [order] = {
        tuple(pair for pair in text_of(asked, link.request_id).split(", ") if int(pair[3:6]) < 12)
        for link in links_of(asked, SEQUENCE)
    }
    seen = {}
    for link in links_of(asked, ISOLATED):
        *pairs, subject = text_of(asked, link.request_id).split(", ")
        seen[link.item_id.rpartition("|c:")[0][-3:]] = (tuple(pairs), subject)
    assert sorted(len(pairs) for pairs, _ in seen.values()) == [6, 6, 8, 8, 10, 10]
    for subject_id, (pairs, subject) in seen.items():
        assert pairs == order[: len(pairs)]
        assert subject == f"Sam{subject_id} Smith"


def test_a_space_may_stand_between_pairs():
    asked = ask(world(), SMALL.model_copy(update={"between": "space"}))
    assert not any("," in text_of(asked, link.request_id) for link in asked.links)


def test_a_last_group_with_fewer_facts_ends_at_its_last_fact():
    asked = ask(world(12, 4), SMALL)
    lengths = {len(text_of(asked, link.request_id).split(", ")) for link in links_of(asked, SEQUENCE)}
    assert lengths == {10 + 3, 6 + 1}


def test_the_first_fact_of_a_sequence_scores_as_it_does_alone_and_later_ones_do_not():
    # Nothing but train facts stands before it; before the others stand choices of other test facts.
    data = world()
    asked = ask(data, SMALL)
    outcomes = judge(answered(asked, data, responses_of(asked)))
    score = {(item.experiment, item.fact_id): row.score for item, row in zip(asked.items, outcomes, strict=True)}
    pairs = {
        link.item_id.split("/", 3)[3]: len(text_of(asked, link.request_id).split(", "))
        for link in links_of(asked, ISOLATED)
    }
    first = {fact_id for fact_id, number in pairs.items() if number == 7}
    assert len(first) == 2
    for fact_id in pairs:
        same = score[SEQUENCE, fact_id] == pytest.approx(score[ISOLATED, fact_id], abs=1e-4)
        assert same == (fact_id in first)


def test_a_sequence_that_is_too_long_leaves_its_facts_without_an_answer_and_nothing_is_cut():
    data = world()
    asked = ask(data, SMALL)
    responses = responses_of(asked, 100)
    reasons = {row.reason for row in responses if row.status == "too_long"}
    assert reasons
    assert all("the model reads at most 100" in reason for reason in reasons)
    found = measure(answered(asked, data, responses), SMALL)
    rows = {row.metric: row for row in found.measures if row.experiment == SEQUENCE and row.relation_id is None}
    assert (rows["accuracy"].value, rows["accuracy"].n, rows["accuracy"].n_error) == (None, 6, 6)
    assert rows["same_prediction"].value is None


def test_one_sequence_without_an_answer_leaves_all_its_facts_without_one():
    data = world()
    asked = ask(data, SMALL)
    responses = responses_of(asked)
    broken = links_of(asked, SEQUENCE)[0].request_id
    served = {link.item_id for link in links_of(asked, SEQUENCE) if link.request_id == broken}
    responses = [Response(row.request_id, "refused", "no") if row.request_id == broken else row for row in responses]
    outcomes = {row.item_id: row.outcome for row in judge(answered(asked, data, responses))}
    assert len(served) == 3
    assert {item_id for item_id, outcome in outcomes.items() if outcome == "missing"} == served
    found = measure(answered(asked, data, responses), SMALL).measures
    counts = {(row.experiment, row.metric): row.n for row in found if row.relation_id is None}
    for metric in AGREEMENT:  # of six facts
        assert (counts[SEQUENCE, metric], counts[ISOLATED, metric]) == (3, 6)


def test_what_predicts_the_same_agrees_wholly():
    data = world(12, 18)
    asked = ask(data, SMALL)
    log = (-1.0, -2.0, -3.0, -0.5), (-0.5, -1.0, -2.0, -3.0)
    facts = sorted({item.fact_id for item in asked.items})
    right = {fact_id: at % 2 == 0 for at, fact_id in enumerate(facts)}
    values = {}
    for link in asked.links:
        fact_id = link.item_id.split("/", 3)[3]
        own = log[0] if right[fact_id] else log[1]
        request = asked.requests[link.request_id]
        if request.pieces is None:
            values[link.request_id] = own
        else:
            held = values.setdefault(link.request_id, [0.0] * len(request.pieces))
            held[link.index] = own[int(link.role.removeprefix("choice "))]
    responses = [Response(key, "ok", None, tuple(values[key]), (1,) * len(values[key])) for key in asked.requests]
    found = measure(answered(asked, data, responses), SMALL)
    rows = {
        (row.experiment, row.metric): row for row in found.measures if row.relation_id is None and row.level is None
    }
    for experiment in (SEQUENCE, ISOLATED):
        assert rows[experiment, "accuracy"].value == rows[IN_CONTEXT, "accuracy"].value == 0.5
        assert rows[experiment, "same_prediction"].value == 1
        assert rows[experiment, "kappa"].value == 1
        assert rows[experiment, "accuracy_difference"].value == 0
        assert rows[experiment, "pearson"].value is None  # one relation has no correlation


def test_the_cost_counts_every_character_of_every_text():
    data = world()
    asked = ask(data, SMALL)
    cost = {row.experiment: row for row in asked.beside["costs"]}
    sequences = {link.request_id for link in links_of(asked, SEQUENCE)}
    assert cost[SEQUENCE].characters == sum(len(text_of(asked, one)) for one in sequences)
    alone = [asked.requests[link.request_id] for link in links_of(asked, IN_CONTEXT)]
    whole = sum(len(text_of(asked, one.request_id)) + len(choice) for one in alone for choice in one.choices)
    assert cost[IN_CONTEXT].characters == whole
    [context] = {asked.contexts[one.context_id].text for one in alone}
    assert whole - cost[IN_CONTEXT].distinct == len(context) * (len(alone) * 4 - 1)


def test_requests_do_not_hang_on_the_order_of_facts():
    data = world()
    mixed = replace(data, facts=tuple(random.Random(3).sample(data.facts, len(data.facts))))
    assert ask(data, SMALL).requests == ask(mixed, SMALL).requests


def test_too_few_train_facts_name_the_relation_and_the_key():
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 100 examples .* lower `examples`"):
        ask(world(), EicOptions())


def test_a_sequence_without_a_place_for_a_test_fact_is_refused():
    with pytest.raises(ValidationError, match="no test fact would stand in a sequence; lower first or raise examples"):
        EicOptions(examples=50)


def test_a_relation_without_test_facts_is_listed_as_not_asked():
    asked = ask(world(12, 0), SMALL)
    assert [(row.thing, row.reason) for row in asked.refused] == [("relation born", "it has no test fact")]
