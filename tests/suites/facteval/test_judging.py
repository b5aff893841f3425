"""The match of Luo et al., word by word; what the released scorer was seen to do, line by line; where both differ."""

import pytest

from almanac.suites.facteval.judging import OFFICIAL, PAPER, STRICT, Scorer, as_paper, as_released, normalise, reparsed
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.reading.names import NO_LONGER, LongerNames
from almanac.suites.facteval.reading.scoring import Abstentions, judge, load_phrases

from .running import question

PHRASES = Abstentions(("sorry", "unknown", "unfortunately", "cannot predict"))
OWN = load_phrases()


def outcome(kind, answer, *arguments, separator="dash", **named):
    return as_released(question(kind, *arguments, **named), answer, PHRASES, separator).outcome


def strictly(kind, answer, *arguments, **named):
    return judge(question(kind, *arguments, **named), answer, OWN).outcome


def matched(kind, answer, *arguments, **named):
    return as_paper(question(kind, *arguments, **named), answer, OWN).outcome


def test_the_first_line_is_normalised():
    assert normalise("The  U.S.A., an Example\nmore") == "usa example"
    assert normalise("\nParis") == ""


@pytest.mark.parametrize("kind", ["tfq", "mcq", "saq"])
@pytest.mark.parametrize("answer", ["Sorry, correct", "UNKNOWN", "Paris\nunfortunately", "xsorryx"])
def test_abstention_is_a_string_anywhere_and_comes_first(kind, answer):
    assert outcome(kind, answer, "Paris", choices=("Paris", "Rome"), truth=True) == "missing"


@pytest.mark.parametrize("answer", ["", "[MASK]", "not sure", "unsure"])
def test_what_is_no_abstention_is_an_answer(answer):
    assert as_released(question("saq", "Paris"), answer, OWN.released()).outcome == "incorrect"
    assert outcome("saq", answer, "Paris") == "incorrect"
    assert outcome("mcq", answer, "Paris", choices=("Paris", "Rome")) == "incorrect"
    assert outcome("tfq", answer, truth=True) == "invalid"  # which counts as incorrect


def test_correct_is_looked_for_before_incorrect():
    assert outcome("tfq", "not correct", truth=True) == "correct"
    assert strictly("tfq", "not correct", truth=True) == "incorrect"
    assert outcome("tfq", "incorrect, it is not correct", truth=True) == "correct"
    assert outcome("tfq", "Incorrect.", truth=False) == "correct"
    assert outcome("tfq", "maybe\ncorrect", truth=True) == "invalid"
    assert outcome("tfq", "true", truth=True) == "invalid"


def test_a_choice_inside_another_spoils_both():
    choices = ("New York", "York", "Rome", "Oslo")
    assert outcome("mcq", "New York", "New York", choices=choices) == "incorrect"
    assert strictly("mcq", "New York", "New York", choices=choices) == "correct"
    assert outcome("mcq", "Rome", "Rome", choices=choices) == "correct"


def test_repeated_choices_spoil_the_answer():
    assert outcome("mcq", "Paris", "Paris", choices=("Paris", "Paris", "Rome", "Oslo")) == "incorrect"
    assert strictly("mcq", "Paris", "Paris", choices=("Paris", "Paris", "Rome", "Oslo")) == "correct"


def test_choices_are_read_back_at_commas_or_dashes():
    assert reparsed(("Jean-Paul", "Washington, D.C."), "dash") == ["Jean", "Paul", "Washington", "D.C."]
    assert reparsed(("Jean-Paul", "Washington, D.C."), "comma") == ["Jean-Paul", "Washington", "D.C."]
    choices = ("Jean-Paul", "Anna", "Maria", "Otto")
    assert outcome("mcq", "Jean-Paul", "Jean-Paul", choices=choices) == "incorrect"
    assert outcome("mcq", "Jean-Paul", "Jean-Paul", choices=choices, separator="comma") == "correct"
    assert strictly("mcq", "Jean-Paul", "Jean-Paul", choices=choices) == "correct"


@pytest.mark.parametrize(
    ("answer", "gold"), [("19", "1982"), ("p", "Paris"), ("Parisian", "Paris"), ("not Paris", "Paris")]
)
def test_a_short_answer_matches_as_a_string_both_ways(answer, gold):
    assert outcome("saq", answer, gold) == "correct"
    assert strictly("saq", answer, gold) == "incorrect"


def test_an_empty_answer_matches_an_empty_name_alone():
    assert outcome("saq", "", "Paris") == "incorrect"
    assert outcome("saq", "the", "A") == "correct"  # both are empty once normalised


def test_what_stands_after_the_first_line_is_not_read():
    assert outcome("saq", "- Rome\n- Paris", "Paris") == "incorrect"
    assert strictly("saq", "- Rome\n- Paris", "Paris") == "correct"


def test_dates_are_strings():
    assert outcome("saq", "22 May 1982", "1982-05-22") == "incorrect"
    assert strictly("saq", "22 May 1982", "1982-05-22") == "correct"
    assert outcome("saq", "22 May 1982", "1982") == "correct"


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
    assert matched("saq", answer, gold) == "correct"


@pytest.mark.parametrize(
    ("answer", "gold"),
    [("p", "Paris"), ("19", "1982"), ("", "Paris"), ("the", "The Who"), ("Obama Barack", "Barack Obama")],
)
def test_words_are_whole_and_in_their_order(answer, gold):
    assert matched("saq", answer, gold) == "incorrect"


def test_a_name_of_signs_alone_is_right_where_the_answer_has_it():
    assert matched("saq", "€", "€") == matched("saq", "The sign is %.", "%") == "correct"
    assert matched("saq", "%", "€") == matched("saq", "", "€") == matched("saq", "euro", "€") == "incorrect"


def test_any_name_of_any_true_object_suffices():
    verdict = as_paper(question("saq", ("Lutetia", "Rome")), "Rome or Lutetia", OWN)
    assert (verdict.outcome, verdict.said, verdict.credit) == ("correct", "Lutetia; Rome", 1.0)


def test_who_declines_has_not_answered_unless_a_true_name_says_so():
    assert matched("saq", "I cannot confirm that it is Paris", "Paris") == "missing"
    assert matched("saq", "Unknown Pleasures", "Unknown Pleasures") == "correct"


@pytest.mark.parametrize("answer", ["not correct", "INCORRECT", "Paris", "unknown"])
def test_what_is_no_short_answer_is_read_strictly(answer):
    for asked in (question("tfq", truth=True), question("mcq", "Paris", choices=("Paris", "Rome"))):
        assert as_paper(asked, answer, OWN) == judge(asked, answer, OWN)


def test_each_mode_has_its_list_of_abstentions_and_strict_alone_the_longer_names():
    scorer = Scorer(FactEvalOptions(), LongerNames.of(["New York"], ["New York", "New York Times"]))
    asked = question("saq", "New York")

    def found(answer):
        return [scorer.judge(mode, asked, answer).outcome for mode in (STRICT, PAPER, OFFICIAL)]

    assert found("New York Times") == ["incorrect", "correct", "correct"]
    assert found("not sure") == ["missing", "missing", "incorrect"], "which the released scorer takes for an answer"


def test_whether_an_answer_follows_its_passage_is_asked_of_no_statement():
    scorer = Scorer(FactEvalOptions(), NO_LONGER)
    for kind, follows in (("tfq", None), ("saq", True)):
        assert scorer.follows(STRICT, question(kind, "Paris", truth=True, stated="Rome"), "It is Rome.") is follows
    assert scorer.follows(STRICT, question("saq", "Paris"), "It is Rome.") is None


def test_a_name_that_is_an_article_stands_in_an_answer_as_itself():
    """Blood of the type A."""
    assert matched("saq", "Type A", "A") == matched("saq", "A", "A") == "correct"
    assert matched("saq", "Type AB", "A") == matched("saq", "The", "A") == "incorrect"
