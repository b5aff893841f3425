"""The match of Luo et al.: an answer and a true name hold each other, either way, word by word."""

import pytest

from almanac.suites.facteval.reading.abstention import load
from almanac.suites.facteval.reading.fuzzy import judge
from almanac.suites.facteval.reading.scoring import judge as strictly

from .running import question


def outcome(kind, answer, *arguments, **named):
    return judge(question(kind, *arguments, **named), answer, load()).outcome


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("Obama", "Barack Obama"),
        ("Barack Obama, the 44th president", "Barack Obama"),
        ("The Beatles.", "Beatles"),
        ("New York Times", "New York"),
        ("not Paris", "Paris"),
        ("22 May 1982", "1982"),
        ("São", "sao paulo"),
        ("the A", "A"),
        ("- Rome\n- Paris", "Paris"),
    ],
)
def test_either_may_hold_the_other(answer, gold):
    assert outcome("saq", answer, gold) == "correct"


@pytest.mark.parametrize(
    ("answer", "gold"),
    [("p", "Paris"), ("19", "1982"), ("", "Paris"), ("the", "The Who"), ("Obama Barack", "Barack Obama")],
)
def test_words_are_whole_and_in_their_order(answer, gold):
    assert outcome("saq", answer, gold) == "incorrect"


def test_any_name_of_any_true_object_suffices():
    verdict = judge(question("saq", ("Lutetia", "Rome")), "Rome or Lutetia", load())
    assert (verdict.outcome, verdict.said, verdict.credit) == ("correct", "Lutetia; Rome", 1.0)


def test_who_declines_has_not_answered_unless_a_true_name_says_so():
    assert outcome("saq", "I cannot confirm that it is Paris", "Paris") == "missing"
    assert outcome("saq", "Unknown Pleasures", "Unknown Pleasures") == "correct"


@pytest.mark.parametrize("answer", ["not correct", "INCORRECT", "Paris", "unknown"])
def test_what_is_no_short_answer_is_read_strictly(answer):
    for asked in (question("tfq", truth=True), question("mcq", "Paris", choices=("Paris", "Rome"))):
        assert judge(asked, answer, load()) == strictly(asked, answer, load())
