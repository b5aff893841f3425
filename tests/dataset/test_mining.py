"""What a miner finds in sentences that a reader can check, and that its order is no accident."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.dataset.mining import connecting, mine
from almanac.dataset.names import ObjectNames
from almanac.rows import Entity, Evidence, Fact

CAPITALS = {"France": "Paris", "Spain": "Madrid", "Chile": "Santiago", "Peru": "Lima", "Korea": "Seoul"}


def fact(subject, found, relation="P36"):
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), None, "test")


FACTS = [fact(*pair) for pair in CAPITALS.items()]
NAMES = ObjectNames.of(
    [Entity(name, name, (), None) for pair in CAPITALS.items() for name in pair if name != "Korea"]
    + [Entity("Korea", "Korea", ("South Korea",), None)]
)


def said(pattern, *countries):
    return [Evidence(f"P36|{one}|{CAPITALS[one]}", pattern.format(x=one, y=CAPITALS[one])) for one in countries]


def test_strings_are_ranked_by_the_pairs_that_they_connect_and_of_equal_ones_those_that_end_in_the_object():
    evidence = [
        *said("The capital of {x} is {y}.", "France", "Spain", "Chile"),
        *said("{y} is the capital of {x}.", "France", "Spain", "Chile", "Peru", "Korea"),
        *said("In {x}, whose seat is {y}, it rains.", "Peru", "Korea"),
        *said("{y}, main town of {x}, is large.", "Peru", "Spain"),
        *said("{x} lost {y} once.", "Peru"),
    ]
    ranked = [  # by 5, 3, 2 and 2 pairs
        "[Y] is the capital of [X]",
        "[X] is [Y]",
        "[X], whose seat is [Y]",
        "[Y], main town of [X]",
    ]
    found = mine(evidence, FACTS, NAMES)
    assert [one.text for one in found] == ranked
    assert {(one.origin, one.relation_id) for one in found} == {("mined", "P36")}
    for least, kept in ((1, 5), (3, 2), (4, 1), (5, 1), (6, 0)):
        found = mine(evidence, FACTS, NAMES, least)
        assert [one.text for one in found] == [*ranked, "[X] lost [Y]"][:kept]


def test_a_pair_counts_once_however_often_it_is_said():
    evidence = said("{x} loves {y}.", "France", "France", "Spain") + said("Yes, {x} loves {y}.", "France")
    assert [one.text for one in mine(evidence, FACTS, NAMES, least=2)] == ["[X] loves [Y]"]
    assert mine(evidence, FACTS, NAMES, least=3) == []


@given(st.randoms())
def test_the_order_of_the_texts_changes_nothing(chance: random.Random):
    evidence = said("{x} has {y}.", *CAPITALS) + said("{y} rules {x}.", *CAPITALS) + said("{x} in {y}.", *CAPITALS)
    shuffled = list(evidence)
    chance.shuffle(shuffled)
    assert mine(shuffled, FACTS, NAMES) == mine(evidence, FACTS, NAMES)


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("France has Paris.", "[X] has [Y]"),
        ("France,  near\tParis", "[X], near [Y]"),
        ("France's Paris", "[X]'s [Y]"),
        ("Paris and again Paris of France", "[Y] of [X]"),  # the closest two
        ("France has no sea. Paris has.", None),  # two sentences
        ("France\nParis in", None),
        ("France - Paris", None),  # no letter
        ("Parisians love Frances", None),  # parts of words
        ("EuroFrance has Paris", None),
        ("France " + "one " * 11 + "Paris", None),  # too far apart
        ("France " + "one " * 10 + "Paris", "[X] " + "one " * 10 + "[Y]"),
        ("France " + "हिन्दी " * 10 + "Paris", "[X] " + "हिन्दी " * 10 + "[Y]"),  # vowel signs part no word
        ("France बड़ा है। Paris", None),  # a danda ends a sentence, with a space after it or without
        ("Franceは広い。Paris", None),
        ("nothing of the kind", None),
        ("", None),
    ],
)
def test_what_connects_a_pair_stands_in_one_sentence(text, template):
    assert connecting(text, FACTS[0], NAMES) == template


def test_aliases_are_names_and_a_text_of_a_strange_fact_is_passed_over():
    assert connecting("South Korea is led from Seoul", FACTS[-1], NAMES) == "[X] is led from [Y]"
    assert mine([Evidence("P9|a|b", "France likes Paris")] * 3, FACTS, NAMES, least=1) == []


def test_names_that_overlap_connect_nothing():
    one = fact("Paris", "Paris, Texas")
    names = ObjectNames.of([Entity(name, name, (), None) for name in ("Paris", "Paris, Texas")])
    assert connecting("Paris, Texas", one, names) is None
