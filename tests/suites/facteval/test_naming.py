"""Names in texts: whole words, the longest first, short names in their own case, none within a name that is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.suites.facteval.naming import names_in, parts_around


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("He was born in Paris.", ["Paris"], True),
        ("PARIS", ["Paris"], True),
        ("Parisian", ["Paris"], False),
        ("They gave us all.", ["US"], False),
        ("In the US.", ["US"], True),
        ("It may rain.", ["May"], False),
        ("Nothing.", [], False),
        ("Nothing.", [""], False),
        ("Washington, D.C., in 1982", ["Washington, D.C."], True),
        ("C++ is old", ["C++"], True),
        ("(a+b)", [".*"], False),
    ],
)
def test_a_name_stands_in_a_text_as_words_of_its_own(text, names, found):
    assert names_in(text, names) is found


def test_the_longest_name_counts():
    assert parts_around("New York is York.", ["York", "New York"]) == ("", " is ", ".")


def test_a_name_within_the_name_of_something_else_stays():
    text = "Hampton is the seat of Hampton County."
    assert parts_around(text, ["Hampton"], ["Hampton County"]) == ("", " is the seat of Hampton County.")


def test_a_name_that_both_bear_stays():
    assert parts_around("Luxembourg lies in Luxembourg.", ["Luxembourg"], ["Luxembourg"]) == (
        "Luxembourg lies in Luxembourg.",
    )


@given(st.text("abXY .", max_size=30), st.lists(st.text("abXY", min_size=1, max_size=3), max_size=3))
def test_the_parts_hold_no_name_and_nothing_else_is_lost(text, names):
    parts = parts_around(text, names)
    assert len(parts) == 1 or not any(name in part.split() for name in names for part in " | ".join(parts).split("|"))
    assert sum(map(len, parts)) <= len(text)
    if len(parts) == 1:
        assert parts == (text,)
        assert not names_in(text, names)
