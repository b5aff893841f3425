import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from small_world import CITIES, answered, responses_of, world

from almanac.errors import AlmanacError
from almanac.rows import Entity, Exposure, Fact, Response
from almanac.suites.ic_lke.positions.measures import bars, measure
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.ic_lke.positions.requests import ask, class_of, joined, replaced_places

OPTIONS = PositionOptions(pairs=12, replaced=3, bins=4)


def shown(asked, experiment, arrangement):
    """Return the pairs as they are read, with class, of the one sequence of a kind and arrangement."""
    chosen = [
        (item, link)
        for item, link in zip(asked.items, asked.links, strict=True)
        if (item.experiment, item.setting) == (experiment, f"{arrangement},draw=0")
    ]
    request = asked.requests[chosen[0][1].request_id]
    ends = (0, *request.span_ends)
    return [
        (request.text[ends[link.index] : start].strip(), request.text[start:stop], link.role, item)
        for (item, link), start, stop in zip(chosen, request.span_starts, request.span_ends, strict=True)
    ]


def test_pairs_are_joined_by_spaces_and_a_span_is_an_object_with_its_space():
    text, starts, ends = joined([("Marie Curie", "1867"), ("Niels Bohr", "1885")])
    assert text == "Marie Curie 1867 Niels Bohr 1885"
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == [" 1867", " 1885"]


def test_one_request_reads_a_whole_sequence_as_it_is_and_in_each_kind_and_arrangement():
    asked = ask(world(), OPTIONS)
    assert len(asked.requests) == 1 + 2 * 2
    assert len(asked.items) == 5 * 12
    settings = {(item.experiment, item.setting.partition(",")[0]) for item in asked.items}
    kinds = {(kind, how) for kind in ("unknown", "incorrect") for how in ("distributed", "contiguous")}
    assert settings == {("as_is", "whole")} | kinds


def test_what_is_named_twice_is_asked_once():
    twice = {name: 2 * getattr(OPTIONS, name) for name in ("kinds", "arrangements")}
    assert ask(world(), OPTIONS.model_copy(update=twice)) == ask(world(), OPTIONS)


def test_all_sequences_hold_the_same_pairs_but_for_those_replaced():
    asked = ask(world(), OPTIONS)
    plain = shown(asked, "as_is", "whole")
    assert len({subject for subject, _, _, _ in plain}) == 12
    for kind in ("unknown", "incorrect"):
        for arrangement in ("distributed", "contiguous"):
            found = shown(asked, kind, arrangement)
            changed = [at for at in range(12) if found[at][:2] != plain[at][:2]]
            assert changed == [at for at in range(12) if found[at][2] == "replaced"]
            assert len(changed) == 3


def test_an_unknown_pair_is_a_name_that_the_dataset_does_not_have_and_an_object_of_the_relation():
    data = world()
    names = {entity.label for entity in data.entities}
    for subject, found, role, _ in shown(ask(data, OPTIONS), "unknown", "distributed"):
        assert (subject not in names) == (role == "replaced")
        assert len(subject.split()) == 2
        assert found.strip() in CITIES


def test_an_incorrect_pair_has_the_subject_and_an_object_that_is_not_true_of_it_under_any_name():
    data = world()
    cities = [replace(one, aliases=("Essen",)) if one.entity_id == "c:Fargo" else one for one in data.entities]
    data = replace(data, entities=tuple(cities))  # Fargo is called Essen too, so neither stands in for the other
    true = {fact.fact_id: fact.object_key.removeprefix("c:") for fact in data.facts}
    for draw in range(4):
        options = OPTIONS.model_copy(update={"seed": draw, "replaced": 6})
        for subject, found, role, item in shown(ask(data, options), "incorrect", "distributed"):
            assert subject == f"Sam{item.fact_id.split('|')[1][-3:]} Smith"
            assert (found.strip() != true[item.fact_id]) == (role == "replaced")
            if role == "replaced":
                assert {found.strip(), true[item.fact_id]} != {"Essen", "Fargo"}
            assert item.accepted == (found.strip(),)


@given(st.integers(4, 300), st.integers(1, 150), st.integers(0, 9))
def test_distributed_pairs_are_as_many_as_asked_and_each_is_followed_by_one_that_is_not(pairs, replaced, draw):
    if 2 * replaced > pairs:
        return
    options = PositionOptions(pairs=pairs, replaced=replaced, bins=1)
    places = replaced_places(options, "distributed", "r", draw)
    assert len(places) == replaced
    assert not any(place + 1 in places for place in places)
    assert max(places) + 1 < pairs


def test_the_pair_behind_forty_contiguous_ones_stands_at_114_of_200():
    # The star of the paper's figure, as we read it.
    options = PositionOptions()
    places = replaced_places(options, "contiguous", "r", 0)
    assert places == frozenset(range(74, 114))
    assert [class_of(place, places) for place in (73, 74, 113, 114, 115)] == [
        *("rest", "replaced", "replaced", "following", "rest")
    ]


def test_what_stands_before_the_first_replaced_pair_is_as_probable_as_in_the_sequence_as_it_is():
    data = world()
    asked = ask(data, OPTIONS)
    outcomes = measure(answered(asked, data, responses_of(asked)), OPTIONS).outcomes
    score = {(item.experiment, item.setting, item.fact_id): row.score
             for item, row in zip(asked.items, outcomes, strict=True)}  # fmt: skip
    plain = shown(asked, "as_is", "whole")
    for kind in ("unknown", "incorrect"):
        for arrangement in ("distributed", "contiguous"):
            pairs = shown(asked, kind, arrangement)
            first = next(at for at, pair in enumerate(pairs) if pair[2] == "replaced")
            same = [
                score[kind, f"{arrangement},draw=0", pair[3].fact_id]
                == pytest.approx(score["as_is", "whole,draw=0", pair[3].fact_id], abs=1e-4)
                for pair in plain
            ]
            assert all(same[:first])
            assert not any(same[first + 1 :])


def test_means_are_taken_by_class_by_place_and_by_part_and_dose():
    data = world()
    options = PositionOptions(pairs=12, replaced=3, kinds=("unknown",), arrangements=("contiguous",), bins=3, start=4)
    asked = ask(data, options)
    # Object number p has probability (p + 1) / 100 as it is, and twice that where others are replaced.
    responses = [
        Response(key, "ok", None, tuple(math.log((at + 1) / 100 * factor) for at in range(12)), (1,) * 12)
        for key, factor in zip(asked.requests, (1, 2), strict=True)
    ]
    order = [pair[3].fact_id for pair in shown(asked, "as_is", "whole")]
    exposures = [Exposure(fact_id, 64 if at in (0, 1, 8) else 0) for at, fact_id in enumerate(order)]
    rows = {
        (row.experiment, row.setting, row.metric, row.level, row.exposure): row.value
        for row in measure(answered(asked, data, responses, exposures), options).measures
        if row.relation_id is None
    }
    near = {key: pytest.approx(value) for key, value in rows.items()}
    assert near["as_is", "whole", "probability_correct", None, None] == sum(range(1, 13)) / 1200
    assert near["unknown", "contiguous", "probability_replaced", None, None] == 2 * (5 + 6 + 7) / 300
    assert near["unknown", "contiguous", "probability_following", None, None] == 2 * 8 / 100
    assert near["unknown", "contiguous", "probability_rest", None, None] == 2 * (10 + 9 + 10 + 11 + 12) / 800
    assert near["unknown", "contiguous", "replaced_at", 4.0, None] == 0.10
    assert near["as_is", "whole", "probability_at", 11.0, None] == 0.12
    assert near["as_is", "whole", "probability_in_bin", 8.0, None] == (9 + 10 + 11 + 12) / 400
    assert near["as_is", "whole", "probability_in_bin", 0.0, 64] == 0.015
    assert near["unknown", "contiguous", "probability_in_bin", 4.0, None] == 0.16
    assert ("unknown", "contiguous", "probability_in_bin", 4.0, 64) not in rows


@pytest.mark.parametrize(
    ("probability", "met"),
    [
        ({0: 0.01, 8: 0.4, 64: 0.9}, (True, True)),
        ({0: 0.9, 8: 0.4, 64: 0.01}, (False, False)),
        ({0: 0.5, 8: 0.4, 64: 0.6}, (False, False)),  # above, but not clearly
    ],
)
def test_the_bar_is_met_where_what_was_taught_most_is_likelier_in_every_part(probability, met):
    data = world(300, 6)
    options = PositionOptions(pairs=240, replaced=1, kinds=(), bins=2, start=1, judged=True)
    asked = ask(data, options)
    order = [pair[3].fact_id for pair in shown(asked, "as_is", "whole")]
    doses = [(0, 8, 64)[at % 3] for at in range(240)]

    def found(values, taught=None):
        [key] = asked.requests
        responses = [Response(key, "ok", None, tuple(map(math.log, values)), (1,) * 240)]
        rows = measure(answered(asked, data, responses, taught), options).measures
        assert bars(rows, options.model_copy(update={"judged": False})) == []
        return tuple(one.met for one in bars(rows, options))

    exposures = [Exposure(*pair) for pair in zip(order, doses, strict=True)]
    values = [probability[dose] for dose in doses]
    assert found(values, exposures) == met
    # Half of it forgotten is found out, and so is what was taught to nobody or to all alike.
    assert found([*values[:120], *[0.01] * 120], exposures) == (met[0], False)
    assert found(values, [Exposure(fact_id, 0) for fact_id in order]) == (False, False)
    assert found(values, [Exposure(fact_id, 64) for fact_id in order]) == (False, False)
    assert found(values) == (False, False)


def test_a_sequence_that_is_too_long_has_no_number_at_all():
    data = world()
    asked = ask(data, OPTIONS)
    found = measure(answered(asked, data, responses_of(asked, 24)), OPTIONS)
    assert {row.outcome for row in found.outcomes} == {"error"}
    assert {row.value for row in found.measures} == {None}


def test_a_relation_with_too_few_subjects_is_listed_as_not_asked():
    asked = ask(world(), PositionOptions())
    assert asked.items == []
    assert [(row.thing, row.reason) for row in asked.refused] == [
        (
            "relation born",
            "it has 18 subjects with a fact and a wrong object, and 200 pairs are asked for; lower `pairs`",
        )
    ]


def test_subjects_that_read_alike_stand_once_and_facts_without_a_split_not_at_all():
    data = world()
    twin = Fact("born|twin|c:Delft", "born", "twin", "c:Delft", None, None, None, (), "train", "test")
    spare = Fact("born|spare|c:Delft", "born", "spare", "c:Delft", None, None, None, (), None, "test")
    names = (*data.entities, Entity("twin", "Sam003  smith", (), None), Entity("spare", "Zoe Zed", (), None))
    options = PositionOptions(pairs=18, replaced=3, bins=1, kinds=())
    asked = ask(replace(data, facts=(*data.facts, twin, spare), entities=names), options)
    subjects = [pair[0].casefold().split()[0] for pair in shown(asked, "as_is", "whole")]
    assert sorted(subjects) == [f"sam{at:03}" for at in range(18)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": 20, "replaced": 11}, "replaced is 11; at most half of the 20 pairs can be replaced"),
        ({"pairs": 20, "replaced": 5, "start": 15}, "leave none to follow; give at most 14"),
        ({"pairs": 8, "replaced": 2, "bins": 9}, "bins is 9; there are 8 pairs"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        PositionOptions(**settings)


def test_a_relation_that_is_not_there_is_named():
    with pytest.raises(AlmanacError, match="lke_positions: relations: 'P9' is not in the dataset, which has born"):
        ask(world(), OPTIONS.model_copy(update={"relations": ("P9",)}))
