"""The names that facts are asked and recognised by."""

from tests.suites.belief.small import FACTS, data

from almanac.suites.belief.names import EntityNames, pairs, unsafe

NAMES = EntityNames(data())


def test_a_subject_is_asked_by_its_label_and_then_by_its_other_names():
    assert NAMES.subject("p:1", None) == ("Ada Oslo", "Ada")
    assert NAMES.subject("p:1", 1) == ("Ada Oslo",)


def test_a_name_that_is_another_entitys_label_is_told_apart():
    assert NAMES.ambiguous("p:2", "Rome")
    assert NAMES.ambiguous("p:2", "rome ")
    assert not NAMES.ambiguous("c:r", "Rome")
    assert not NAMES.ambiguous("p:2", "Bob")


def test_every_name_of_every_true_object_counts_labels_first():
    assert NAMES.accepted(FACTS[2], "all") == ("Bern", "Lima", "It")


def test_safe_names_leave_out_stop_words_and_names_of_two_letters():
    assert NAMES.accepted(FACTS[1], "safe") == ("Lima", "Bern")
    names = ("it", "It", "U.S.", "KL", "5A", "USA", "89", "Rio", "50%", "€", "東京", "동", "1.5")
    assert [unsafe(name) for name in names] == [True] * 5 + [False] * 8


def test_a_subject_of_two_true_objects_is_one_pair():
    assert [fact.fact_id for fact in pairs(FACTS[:3], NAMES.names)] == ["born|p:1|c:o", "born|p:2|c:l"]


def test_uhn_leaves_out_a_pair_whose_every_object_stands_in_the_subject():
    assert NAMES.guessable(FACTS[0])
    assert not NAMES.guessable(FACTS[1])
