"""What a chapter finds: numbers by exactly the columns that their items were chosen by."""

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Measure, NotAsked
from almanac.suites.chapter import Chapter, Drawing, Shown, Table, board, filled, silent
from almanac.suites.judged import Not, Range, as_text


def number(metric, value, model="m", **where):
    return Measure("s", "d", model, None, metric, as_text(where), "other", (), value, *[None] * 3, 9, 4, 2, 1, 1, 1)


ROWS = [
    number("accuracy", 0.1),
    number("accuracy", 0.2, shots=5),
    number("accuracy", 0.3, shots=9),
    number("accuracy", 0.4, "other", shots=5),
    number("accuracy", 0.5, shots=5, relation="P1"),
    number("accuracy", 0.6, shots=None, sure=Range(0.5), hit=Not()),
    number("share", 0.7, shots=5),
]
SHOWN = Shown("d", 4, (), {"P1": "capital"}, ROWS)


def values(found):
    return [row.value for row in found]


def test_numbers_are_found_by_the_columns_that_they_are_chosen_by_and_no_others():
    assert values(SHOWN.find("accuracy")) == [0.1]
    assert values(SHOWN.find("accuracy", "shots")) == [0.2, 0.3, 0.4]
    assert values(SHOWN.find("accuracy", "shots", model="m")) == [0.2, 0.3]
    assert values(SHOWN.find("accuracy", shots=5)) == [0.2, 0.4]
    assert values(SHOWN.find("accuracy", "relation", shots=5)) == [0.5]
    assert values(SHOWN.find("accuracy", "sure", shots=None, hit=Not())) == [0.6]
    assert values(SHOWN.find("accuracy", shots=None, sure=Range(0.5), hit=Not())) == [0.6]
    assert SHOWN.find("unheard of", "shots") == SHOWN.find("accuracy", "draw") == []


def test_one_number_of_a_model_or_none():
    assert SHOWN.one("accuracy", "other", shots=5) == ROWS[3]
    assert SHOWN.one("accuracy", "other", shots=9) is None
    assert SHOWN.one("accuracy", "other", "shots") == ROWS[3]
    assert SHOWN.one("accuracy", None, "shots") == ROWS[1], "of any model the first"


def test_numbers_without_a_value_can_be_left_out():
    shown = Shown("d", 4, (), measures=[*ROWS, number("accuracy", None, shots=2)])
    assert values(shown.find("accuracy", "shots")) == [0.2, 0.3, 0.4, None]
    assert values(shown.valued("accuracy", "shots")) == [0.2, 0.3, 0.4]
    assert values(shown.valued("accuracy", "shots", model="m")) == [0.2, 0.3]
    assert shown.valued("accuracy", shots=2) == []


def test_numbers_by_relation_are_a_folded_table_that_says_how_each_was_asked():
    rows = [(ROWS[4], "with 5 examples")]
    found = SHOWN.by_relation("relations", "By relation.", rows)
    assert (found.name, found.folded) == ("relations", True)
    assert list(found.head) == ["relation", "model", "asked", "accuracy"]
    assert [list(row) for row in found.rows] == [["capital", "m", "with 5 examples", ROWS[4]]]
    found = SHOWN.by_relation("relations", "By relation.", rows, ("method", "known", "facts"))
    assert list(found.head) == ["relation", "model", "method", "known", "facts"] and found.rows[0][-1] == 6, "answered"


def test_a_board_has_the_rows_with_a_number_and_the_columns_in_which_anything_stands():
    none = number("accuracy", None)
    rows = [
        {"model": "a", "known": ROWS[0], "null": none, "silent": "3 of 9", "p": None},
        {"model": "b", "known": none, "null": none, "silent": "9 of 9", "p": None},
        {"model": "c", "known": None, "null": None, "silent": "–", "p": 0.5},
    ]
    found = board("methods", "A caption.", rows)
    assert (list(found.head), [list(row) for row in found.rows]) == (
        ["model", "known", "silent"],
        [["a", ROWS[0], "3 of 9"]],
    )
    assert board("methods", "A caption.", rows[1:]).rows == []


def test_a_chapter_can_leave_out_its_tables_without_rows():
    full, empty = (Table(name, "", ("model",), rows) for name, rows in (("full", [["m"]]), ("empty", [])))
    assert list(filled("T", "What?", [empty, "a note", full]).parts) == ["a note", full]


def test_a_number_says_what_it_is_of():
    assert SHOWN.at(ROWS[5]) == {"shots": None, "sure": Range(0.5), "hit": Not()}
    assert SHOWN.relation(ROWS[4]) == "capital"
    assert SHOWN.relation(number("accuracy", 0.1, relation="P2")) == "P2", "one without a name goes by its id"


def test_what_has_no_answer_is_counted():
    assert silent(ROWS[0]) == "3 of 9"
    assert silent(None) == "–"


def test_what_could_not_be_asked_is_one_sentence_or_none():
    refused = [NotAsked(f"relation P{at}", "it has no test fact") for at in range(4)]
    [said] = Shown("d", 4, (), refused=refused).not_asked()
    assert said.startswith("4 not asked; the first: relation P0 (it has no test fact); relation P1 (")
    assert "P3" not in said
    assert list(SHOWN.not_asked()) == []


@pytest.mark.parametrize("part", [Table("n", "", ("a",), []), Drawing("n", "", lambda: None)])
def test_two_parts_of_a_kind_with_one_name_are_refused_since_the_second_would_replace_the_files_of_the_first(part):
    with pytest.raises(AlmanacError, match=r"chapter 'Toy': two (tables|figures) are named 'n'; rename one"):
        Chapter("Toy", "", [part, part])
