"""When an answer names an object."""

import runpy
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.belief import small
from tests.suites.support import Trial, ok

from almanac import tables
from almanac.errors import AlmanacError
from almanac.suites.belief import lemmas
from almanac.suites.belief.lemmas import (
    Lemmatised,
    alike,
    by_rule,
    is_one_word,
    lemmas_of,
    naming,
    parts_of,
    texts_of,
    with_spacy,
    within,
)
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief

WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=5)


def test_plurals_and_possessives_are_one_word_with_their_singular():
    assert by_rule("The Cities' guitars") == ("the", "city", "guitar")
    assert by_rule("London's boxes") == ("london", "box")
    assert by_rule("Paris-based. Rome.The 1,500.5") == ("paris", "based", "rome", "the", "1500.5")
    assert by_rule("1,500 1500.0 1,50 007") == ("1500", "1500", "1,50", "7")
    assert by_rule("the 1990s, 1500s") == ("the", "1990s", "1500s"), "a decade is not its first year"
    assert by_rule("Oslo ❤️") == ("oslo",), "an emoji's variation selector is a mark of no letter"
    assert by_rule("_Paris_, __New York__") == ("paris", "new", "york"), "emphasis"
    assert by_rule("glass, basis, virus") == ("glass", "basis", "virus")
    assert by_rule("gas, pies, axes, flies") == ("gas", "pie", "axe", "fly"), "short words have no long endings"


def test_a_name_stands_in_an_answer_as_words_without_a_gap():
    assert within(by_rule("New York"), by_rule("the city of New York, USA"))
    assert not within(by_rule("New York"), by_rule("York is new"))
    assert not within(by_rule("Iran"), by_rule("Tirana"))
    assert not within(by_rule("New York"), by_rule("York"))
    assert alike(by_rule("New York"), by_rule("York"))


@pytest.mark.parametrize(
    ("name", "answer"), [("北京", "他出生在北京。"), ("東京", "東京です"), ("กรุงเทพ", "ที่กรุงเทพครับ"), ("2008", "2008年")]
)
def test_a_name_stands_in_an_answer_without_spaces(name, answer):
    assert within(by_rule(name), by_rule(answer))
    assert not within(by_rule(answer), by_rule(name))


def test_an_empty_answer_matches_nothing():
    assert not alike((), ())
    assert not alike((), ("a",))
    assert not alike(("a",), ())


def test_signs_alone_have_no_lemma_unless_they_are_an_accepted_name():
    assert by_rule("… ?!") == by_rule("§") == ()
    lemmas = naming(("§", "section sign"), by_rule)
    assert lemmas("§") == lemmas("“§”") == lemmas("§.") == ("§",)
    assert lemmas("… ?!") == lemmas(".") == lemmas("") == ()
    assert lemmas("section § signs") == ("section", "sign")


@pytest.mark.parametrize(
    ("one", "other"), [("AB-", "AB+"), ("A+", "A"), ("C#", "C"), ("C", "C++"), ("-5", "5"), ("−5 °C", "5 °C")]
)
def test_names_that_a_sign_tells_apart_are_two(one, other):
    assert by_rule(one) == by_rule(f"{one}.") == by_rule(f"({one})") != by_rule(other)


@pytest.mark.parametrize("text", ["Paris-based", "Paris--based", "Paris - based", "Paris- based", "-Paris, based"])
def test_a_dash_between_words_is_none_of_them(text):
    assert by_rule(text) == ("paris", "based")
    assert by_rule("1914-1918") == ("1914", "1918")


@given(WORDS, WORDS)
def test_what_stands_within_lemmas_are_their_parts(part, whole):
    assert within(part, whole) == (" ".join(part) in parts_of(whole) if part else False)
    assert alike(part, whole) == alike(whole, part)


def test_one_word_is_a_first_line_of_a_single_word_signs_aside():
    assert is_one_word(" Paris.\nQ: more")
    assert is_one_word("\n \n- Paris !")
    assert not is_one_word("New York")
    assert not is_one_word("...")


def test_the_marks_of_a_letter_are_of_its_word():
    assert not within(by_rule("काला"), by_rule("यह कील है"))
    assert within(by_rule("काला"), by_rule("यह काला है"))


def test_a_file_of_lemmas_comes_before_the_rule(tmp_path):
    path = tmp_path / "lemmas.jsonl"
    tables.write_jsonl(path, [Lemmatised("mice", ("mouse",)), Lemmatised("rats", ())])
    known = lemmas_of(str(path))
    assert [known(text) for text in ("mice", "rats")] == [("mouse",), ()]
    with pytest.raises(AlmanacError, match=r"lemmas\.jsonl: has no lemmas of the text 'cats', and lemmas by rule"):
        known("cats")


def test_without_spacy_a_user_is_told_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        AlmanacError, match=r"spaCy is not installed here; run this in the environment of envs/lemmas\.txt"
    ):
        list(with_spacy("blank", []))


def test_the_command_reads_each_distinct_text_of_an_answered_edition_once(tmp_path, monkeypatch, capsys):
    asked = tmp_path / "requests" / "belief" / "d"
    options = BeliefOptions(fill=False, prompting=("zero_shot",))
    trial = Trial(asked, Belief(), small.data(), options).ask()
    trial.answer(lambda question: ok(texts=(" Oslo\nmore",)))
    [path] = trial.rounds[0].responses
    place = tmp_path / "responses" / "m" / "belief" / "d" / "asked"
    place.mkdir(parents=True)
    path.rename(place / path.name)
    subjects = {"Ada Oslo", "Bob", "Cleo"}
    assert texts_of(tmp_path) == sorted({"Bern", "Christiania", "It", "Lima", "Oslo", "Rome"} | subjects)

    monkeypatch.setattr(lemmas, "with_spacy", lambda model, texts: ((text.upper(),) for text in texts))
    output = tmp_path / "lemmas.jsonl"
    monkeypatch.setattr(sys, "argv", ["lemmas", str(tmp_path), "--model", "blank", "--output", str(output)])
    assert lemmas.main() == 0
    assert lemmas_of(str(output))("Oslo") == ("OSLO",)
    monkeypatch.setattr(sys, "argv", ["lemmas", str(asked), "--model", "blank", "--output", str(output)])
    with pytest.raises(SystemExit, match="1"):
        runpy.run_path(lemmas.__file__, run_name="__main__")
    assert "no texts of a suite belief; answer the edition first" in capsys.readouterr().out


def test_spacys_lookup_tables_know_irregular_words():
    pytest.importorskip("spacy_lookups_data")
    assert list(with_spacy("blank", ["The mice, in cities!", "It"])) == [("the", "mouse", "in", "city"), ("it",)]
