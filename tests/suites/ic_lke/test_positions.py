"""Objects by their place in a long text: which pairs are replaced, what stays as it was, and the means by part."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.suites.ic_lke.small_world import CITIES, answered, tables, world
from tests.suites.support import Trial, number, ok

from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Measure
from almanac.suites.data import Data
from almanac.suites.ic_lke.options import PositionOptions
from almanac.suites.ic_lke.positions import Positions, PositionSetting, class_of, joined_text, replaced_places
from almanac.suites.judged import Not, as_text

OPTIONS = PositionOptions(pairs=12, replaced=3, bins=4)


@pytest.fixture
def ask(tmp_path):
    """Ask a dataset."""
    count = 0

    def asked(data=None, options=OPTIONS, doses=None):
        nonlocal count
        count += 1
        return Trial(tmp_path / str(count), Positions(), data or world(), options, doses=doses).ask()

    return asked


def sequence(asked, experiment, arrangement):
    """The one question of a kind and arrangement, and its items in the order of their places."""
    [question] = [
        one for one in asked.questions() if (one.item.experiment, one.setting.arrangement) == (experiment, arrangement)
    ]
    items = sorted(question.serves, key=lambda served: served.link.index)
    return question, [served.item for served in items]


def shown(asked, experiment, arrangement):
    """The pairs as they are read, with their class, of the one sequence of a kind and arrangement."""
    question, items = sequence(asked, experiment, arrangement)
    request, classes = question.request, {row.item: row.pair for row in asked.own("places")}
    ends = (0, *request.span_ends)
    return [
        (request.text[ends[at] : start].strip(), request.text[start:stop], classes[item.item], item)
        for at, (item, start, stop) in enumerate(zip(items, request.span_starts, request.span_ends, strict=True))
    ]


CORRECT = Not("replaced")


def test_pairs_are_joined_by_spaces_and_a_span_is_an_object_with_its_space():
    text, starts, ends = joined_text([("Marie Curie", "1867"), ("Niels Bohr", "1885")])
    assert text == "Marie Curie 1867 Niels Bohr 1885"
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == [" 1867", " 1885"]


def test_one_request_reads_a_whole_sequence_as_it_is_and_in_each_kind_and_arrangement(ask):
    asked = ask()
    assert len(asked.requests()) == 1 + 2 * 2
    assert len(asked.items()) == 5 * 12
    kinds = {(kind, how) for kind in ("unknown", "incorrect") for how in ("distributed", "contiguous")}
    assert {(one.item.experiment, one.setting.arrangement) for one in asked.questions()} == {("as_is", "whole")} | kinds
    assert set(asked.settings().values()) == {
        PositionSetting(arrangement, 0) for arrangement in ("whole", "distributed", "contiguous")
    }


def test_all_sequences_hold_the_same_pairs_but_for_those_replaced(ask):
    asked = ask()
    plain = shown(asked, "as_is", "whole")
    assert len({subject for subject, _, _, _ in plain}) == 12
    for kind in ("unknown", "incorrect"):
        for arrangement in ("distributed", "contiguous"):
            found = shown(asked, kind, arrangement)
            changed = [at for at in range(12) if found[at][:2] != plain[at][:2]]
            assert changed == [at for at in range(12) if found[at][2] == "replaced"]
            assert len(changed) == 3


def test_an_unknown_pair_is_a_name_that_the_dataset_does_not_have_and_an_object_of_the_relation(ask):
    names = {entity.label for entity in world().entities}
    for subject, found, role, _ in shown(ask(), "unknown", "distributed"):
        assert (subject not in names) == (role == "replaced")
        assert len(subject.split()) == 2
        assert found.strip() in CITIES


def test_an_incorrect_pair_has_the_subject_and_an_object_that_is_not_true_of_it_under_any_name(ask):
    rows = tables()
    cities = [replace(one, aliases=("Essen",)) if one.entity_id == "c:Fargo" else one for one in rows["entities"]]
    data = Data.of(**rows | {"entities": cities})  # Fargo is called Essen too, so neither stands in for the other
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


def test_the_pair_after_forty_contiguous_ones_stands_at_114_of_200():
    # The star of the paper's figure, as we read it.
    options = PositionOptions()
    places = replaced_places(options, "contiguous", "r", 0)
    assert places == frozenset(range(74, 114))
    assert [class_of(place, places) for place in (73, 74, 113, 114, 115)] == [
        *("rest", "replaced", "replaced", "following", "rest")
    ]


def test_what_stands_before_the_first_replaced_pair_is_as_probable_as_in_the_sequence_as_it_is(ask):
    asked = answered(ask())
    frame = asked.judged().frame
    score = {row[:3]: row[3] for row in frame.select("experiment", "arrangement", "fact", "score").rows()}
    plain = shown(asked, "as_is", "whole")
    for kind in ("unknown", "incorrect"):
        for arrangement in ("distributed", "contiguous"):
            pairs = shown(asked, kind, arrangement)
            first = next(at for at, pair in enumerate(pairs) if pair[2] == "replaced")
            same = [
                score[kind, arrangement, pair[3].fact_id]
                == pytest.approx(score["as_is", "whole", pair[3].fact_id], abs=1e-4)
                for pair in plain
            ]
            assert all(same[:first])
            assert not any(same[first + 1 :])


def test_an_object_is_right_that_is_likelier_than_all_else_together(ask):
    values = (0.49, 0.5, 0.51, *[0.0] * 9)
    asked = ask(options=OPTIONS.model_copy(update={"kinds": ()}))
    answers = asked.answer(lambda _: ok(logprobs=tuple(math.log(one or 1e-9) for one in values)))
    assert [row.outcome == "correct" for row in answers.outcomes()] == [one > 0.5 for one in values]


def test_each_draw_has_an_order_and_places_of_its_own(ask):
    asked = ask(options=OPTIONS.model_copy(update={"draws": 2, "kinds": ("unknown",)}))
    places = {row.item: (row.place, row.pair) for row in asked.own("places")}
    orders, replaced = {}, {}
    for question in asked.questions():
        of = question.setting.arrangement, question.setting.draw
        own = sorted((*places[served.item.item], served.item.fact_id) for served in question.serves)
        orders[of] = [fact_id for _, _, fact_id in own]
        replaced[of] = [place for place, pair, _ in own if pair == "replaced"]
    assert orders["whole", 0] != orders["whole", 1]
    assert replaced["distributed", 0] != replaced["distributed", 1]


def test_means_are_taken_by_class_by_place_and_by_part_and_dose(ask):
    options = PositionOptions(pairs=12, replaced=3, kinds=("unknown",), arrangements=("contiguous",), bins=3, start=4)
    order = [pair[3].fact_id for pair in shown(ask(options=options), "as_is", "whole")]

    def reply(question):
        # Object number p has probability (p + 1) / 100 as it is, and twice that where others are replaced.
        factor = 1 if question.item.experiment == "as_is" else 2
        return ok(logprobs=tuple(math.log((at + 1) / 100 * factor) for at in range(12)))

    doses = {fact_id: 64 if at in (0, 1, 8) else 0 for at, fact_id in enumerate(order)}
    rows = ask(options=options, doses=doses).answer(reply).measures()

    def found(metric, experiment, arrangement, pair, **where):
        row = number(rows, metric, experiment=experiment, arrangement=arrangement, pair=pair, **where)
        return pytest.approx(row.value)

    as_is, unknown = ("as_is", "whole"), ("unknown", "contiguous")
    assert found("probability_correct", *as_is, ("following", "rest")) == sum(range(1, 13)) / 1200
    assert found("probability_replaced", *unknown, ("replaced",)) == 2 * (5 + 6 + 7) / 300
    assert found("probability_following", *unknown, ("following",)) == 2 * 8 / 100
    assert found("probability_rest", *unknown, ("rest",)) == 2 * (10 + 9 + 10 + 11 + 12) / 800
    assert found("replaced_at", *unknown, "replaced", place=4) == 0.10
    assert found("rest_at", *as_is, "rest", place=11) == 0.12
    assert found("probability_in_bin", *as_is, CORRECT, part=8) == (9 + 10 + 11 + 12) / 400
    assert found("probability_in_bin", *as_is, CORRECT, part=0, dose=64) == 0.015
    assert found("probability_in_bin", *unknown, CORRECT, part=4) == 0.16
    assert not [row for row in rows if '"dose"' in row.where and '"unknown"' in row.where]
    assert not [row for row in rows if row.metric == "probability_replaced" and '"as_is"' in row.where]


@pytest.mark.parametrize(
    ("probability", "met"),
    [
        ({0: (0.01, 0.01), 8: (0.4, 0.4), 64: (0.9, 0.9)}, (True, True)),
        ({0: (0.9, 0.9), 8: (0.4, 0.4), 64: (0.01, 0.01)}, (False, False)),
        ({0: (0.1, 0.9), 8: (0.4, 0.4), 64: (0.2, 1.0)}, (False, False)),  # above, but not clearly
    ],
)
def test_the_bar_is_met_where_what_was_taught_most_is_likelier_in_every_part(ask, probability, met):
    data = world(300, 6)
    options = PositionOptions(pairs=240, replaced=1, kinds=(), bins=2, start=1, judged=True)
    order = [pair[3].fact_id for pair in shown(ask(data, options), "as_is", "whole")]
    doses = [(0, 8, 64)[at % 3] for at in range(240)]

    def found(values, taught=None):
        rows = ask(data, options, taught).answer(lambda _: ok(logprobs=tuple(map(math.log, values)))).measures()
        assert Positions().bars(rows, options.model_copy(update={"judged": False})) == []
        return tuple(one.met for one in Positions().bars(rows, options))

    taught = dict(zip(order, doses, strict=True))
    values = [probability[dose][at // 3 % 2] for at, dose in enumerate(doses)]
    assert found(values, taught) == met
    # Half of it forgotten is found out, and so is what was taught to nobody or to all alike.
    assert found([*values[:120], *[0.01] * 120], taught) == (met[0], False)
    assert found(values, dict.fromkeys(order, 0)) == (False, False)
    assert found(values, dict.fromkeys(order, 64)) == (False, False)
    assert found(values) == (False, False)


def test_the_bar_says_the_means_of_what_was_taught_most_and_of_what_never_was():
    def mean(dose, value):
        of = "lke_positions", "d", "m", None, "probability_in_bin", as_text({"dose": dose, "part": 0}), "macro", ()
        return Measure(*of, value, value - 0.1, value + 0.1, None, 9, 9, 0, 0, 0, 0)

    options = PositionOptions(pairs=12, replaced=1, bins=1, judged=True)
    [near] = Positions().bars([mean(0, 0.2), mean(64, 0.35)], options)
    assert not near.met, "the intervals overlap"
    [one] = Positions().bars([mean(0, 0.2), mean(8, 0.5), mean(64, 0.7)], options)
    assert one.found == "from position 0: taught 64 times 0.700 [0.600, 0.800], never 0.200 [0.100, 0.300]"


def test_a_sequence_that_is_too_long_has_no_number_at_all(ask):
    asked = answered(ask(), 24)
    assert {row.outcome for row in asked.outcomes()} == {"error"}
    assert {row.value for row in asked.measures()} == {None}


def test_a_relation_with_too_few_subjects_is_listed_as_not_asked(ask):
    asked = ask(options=PositionOptions())
    assert asked.items() == []
    reason = "it has 18 subjects with a fact and a wrong object, and 200 pairs are asked for; lower `pairs`"
    assert asked.refused() == [("relation born", reason)]


def test_subjects_that_read_alike_stand_once_and_facts_without_a_split_not_at_all(ask):
    rows = tables()
    twin = Fact("born|twin|c:Delft", "born", "twin", "c:Delft", None, None, None, (), "train", "test")
    spare = Fact("born|spare|c:Delft", "born", "spare", "c:Delft", None, None, None, (), None, "test")
    names = [*rows["entities"], Entity("twin", "Sam003  smith", (), None), Entity("spare", "Zoe Zed", (), None)]
    options = PositionOptions(pairs=18, replaced=3, bins=1, kinds=())
    asked = ask(Data.of(**rows | {"facts": [*rows["facts"], twin, spare], "entities": names}), options)
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


def test_a_relation_that_is_not_there_is_named(ask):
    with pytest.raises(AlmanacError, match="lke_positions: relations: 'P9' is not in the dataset, which has born"):
        ask(options=OPTIONS.model_copy(update={"relations": ("P9",)}))
