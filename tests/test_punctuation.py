"""Ends of sentences and of words, in several scripts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.punctuation import ends_in_object, is_question, space_after, stands_in, unstopped, words_of


@pytest.mark.parametrize(
    "text",
    ["The capital of [X] is [Y].", "[X]的首都是[Y]。", "[X] की राजधानी [Y]।", "عاصمة [X] هي [Y]", "[X]: [Y] . "],
)
def test_what_ends_in_its_object_whatever_its_full_stop(text):
    assert ends_in_object(text)
    assert unstopped(text).endswith("[Y]")


@pytest.mark.parametrize("text", ["[X]の首都は[Y]です。", "[Y]是[X]的首都。", "[X] starb in [Y]!", "[Y] [X]"])
def test_what_goes_on_after_its_object(text):
    assert not ends_in_object(text)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Where is [X]?", True), ("[X]在哪里？", True), ("أين [X]؟", True), ("Πού είναι το [X];", True),
        ("[X]在哪里", False), ("Where is [X]", False),
    ],
)  # fmt: skip
def test_question_marks(text, asks):
    assert is_question(text) is asks


def test_an_object_follows_a_template_as_its_script_parts_words():
    assert space_after("The capital of [X] is") == " "
    assert space_after("عاصمة [X] هي") == " "
    assert space_after("[X]の首都は ") == ""
    assert space_after("[X] 的首都是") == " "
    assert space_after("[X]:") == " "


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Iran", "Tirana lies near Iran.", ["Iran"]),
        ("Iran", "Tirana", []),
        ("北京", "中国的首都是北京市。", ["北京"]),
        ("Paris", "首都はParisです", ["Paris"]),  # a word ends where another script goes on
        ("กรุงเทพ", "ไทยมีกรุงเทพเป็นเมืองหลวง", ["กรุงเทพ"]),
        ("서울", "서울특별시", []),  # Korean parts its words
        ("जापान", "वह जापानी है", []),  # Japanese, of Japan: a vowel sign goes on with the word
        ("जापान", "राजधानी जापान की", ["जापान"]),
        ("त", "वित", []),  # a vowel sign before it is of the same word
        ("Zu", "Zu\u0308rich", []),  # decomposed, as composed
        ("Paris", "❤\ufe0fParis \u0301Paris", ["Paris", "Paris"]),  # marks that no letter bears
        ("❤", "❤\ufe0f", ["❤"]),
        ("กรุงเทพ", "ที่กรุงเทพ", ["กรุงเทพ"]),  # a mark ends no word where words are not parted
    ],
)
def test_names_stand_as_words_of_their_own_where_words_are_parted(name, text, found):
    assert re.findall(words_of(re.escape(name)), text) == found


PIECES = st.text(st.sampled_from("abA1 -.:\u0301東京ไทकि_😀"), max_size=12)


@given(PIECES, PIECES, PIECES, st.text(st.sampled_from("ab \u0301東कि"), max_size=3))
def test_a_name_stands_in_a_text_where_a_pattern_of_whole_words_finds_it(before, between, after, name):
    text = f"{before}{name}{between}{name}{after}"
    assert stands_in(name, text) is (re.search(words_of(re.escape(name)), text) is not None)
