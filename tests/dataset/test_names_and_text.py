"""Names: when two are the same, which one is shown, and what is true of a subject."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.dataset.names import ObjectNames, true_objects
from almanac.dataset.text import normalise
from almanac.rows import Entity, Fact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("São  Paulo", "SÃO PAULO"),
        ("Zoë", "Zoe\u0308"),  # one code point, or a letter and its mark
        ("Straße", "STRASSE"),
        ("ﬁlm", "film"),
        ("Ｔｏｋｙｏ", "tokyo"),
        (" New\tYork\n", "new\u00a0york"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("Musée de l’Orangerie", "Musée de l'Orangerie"),
        ("Alsace–Lorraine", "Alsace‐Lorraine"),
        ("“Heroes”", '"Heroes"'),
        ("−40", "-40"),
        ("Wind & Fire", "wind and fire"),
        ("Müller & Söhne", "Müller and Söhne"),
        ("ℂ-algebra", "c-algebra"),  # a letter whose plain form is a capital
    ],
)
def test_names_that_are_the_same(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zoë", "Zoe"),
        ("Newyork", "New York"),
        ("C++", "C"),
        ("U.S.", "US"),
        ("1990", "1991"),
        ("1990–95", "1990-95"),
        ("The Hague", "Hague"),
        ("AT&T", "AT and T"),
    ],
)
def test_names_that_are_not_the_same(one, other):
    assert normalise(one) != normalise(other)


@given(st.text())
def test_a_normalised_name_stays_as_it_is(name):
    folded = normalise(name)
    assert normalise(folded) == folded
    assert unicodedata.is_normalized("NFKC", folded)
    assert folded == folded.strip()
    assert "  " not in folded


def test_every_character_is_folded_in_one_go():
    folded = {chr(code): normalise(chr(code)) for code in range(0x30000) if not 0xD800 <= code < 0xE000}
    assert [one for one, name in folded.items() if normalise(name) != name] == []


@given(st.text(), st.sampled_from([" ", "\n", "\t ", "\u2003"]))
def test_white_space_around_and_width_of_it_do_not_matter(name, space):
    assert normalise(space + name.replace(" ", space) + space) == normalise(name)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_case_of_latin_letters_does_not_matter(name):
    assert normalise(name.upper()) == normalise(name.lower()) == normalise(name.swapcase())


def literal(value: str) -> Fact:
    return Fact(f"P|s|{value}", "P", "s", None, value, "string", None, (), None, "test")


def linked(subject: str, obj: str, relation: str = "P") -> Fact:
    return Fact(f"{relation}|{subject}|{obj}", relation, subject, obj, None, None, None, (), None, "test")


NAMES = ObjectNames.of([Entity("Q1", "Burma", ("Myanmar", "MYANMAR"), None), Entity("Q2", "1990", (), None)])


def test_an_entity_is_shown_by_its_label_and_known_by_all_its_names():
    assert NAMES.label("Q1") == "Burma"
    assert NAMES.names("Q1") == ("Burma", "Myanmar", "MYANMAR")
    assert NAMES.normalised_names("Q1") == {"burma", "myanmar"}


def test_a_literal_is_its_own_only_name():
    assert literal("1990").object_key == "1990"
    assert NAMES.label("1990") == "1990"
    assert NAMES.names("1990") == ("1990",)
    assert NAMES.normalised_names("1990") == NAMES.normalised_names("Q2"), "of equal labels"


def test_what_is_true_of_a_subject_is_kept_apart_by_relation():
    facts = [linked("s", "Q2"), linked("s", "Q1"), linked("t", "Q1"), linked("s", "Q1", "R"), literal("1990")]
    found = true_objects(facts)
    assert found == {("P", "s"): ("1990", "Q1", "Q2"), ("P", "t"): ("Q1",), ("R", "s"): ("Q1",)}
    assert true_objects(facts[::-1]) == found


def test_what_is_true_of_a_subject_is_true_of_all_that_read_like_it():
    things = [("s1", "Springfield"), ("s2", " SPRINGFIELD"), ("s3", "Shelbyville"), ("o1", "Ohio"), ("o2", "Oregon")]
    names = ObjectNames.of([Entity(key, label, (), None) for key, label in things])
    pairs = [("P1", "s1", "o1"), ("P1", "s2", "o2"), ("P1", "s3", "o1"), ("P2", "s2", "o1")]
    facts = [Fact("|".join(one), *one, None, None, None, (), None, "x") for one in pairs]
    both, ohio = ("o1", "o2"), ("o1",)
    assert true_objects(facts, names) == {
        ("P1", "s1"): both,
        ("P1", "s2"): both,
        ("P1", "s3"): ohio,
        ("P2", "s2"): ohio,
    }
    assert true_objects(facts)["P1", "s1"] == ohio


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1000", "1000.0", True),
        ("1,000.50", "1000.5", True),
        ("1,00", "100", False),
        ("+7", "07", True),
        ("0.50", ".5", False),
        ("1" * 40, "1" * 39 + "2", False),
    ],
)
def test_numbers_are_compared_by_their_value(one, other, same):
    things = [Entity(name, name, (), None) for name in (one, other)]
    for names in (ObjectNames.of([]), ObjectNames.of(things)):  # literals, and things that are known by their names
        assert (names.normalised_names(one) == names.normalised_names(other)) == same


@pytest.mark.parametrize("unseen", ["\u200b", "\u200e", "\u202e\u202c", "\ufeff", "\u00ad", "\u200d"])
def test_names_that_look_alike_are_the_same(unseen):
    assert normalise(f"Ro{unseen}me") == normalise("Rome")
