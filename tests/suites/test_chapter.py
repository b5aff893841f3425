"""What a chapter finds: numbers by exactly the columns that their items were chosen by."""

from almanac.rows import Measure, NotAsked
from almanac.suites.chapter import Shown, silent
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
SHOWN = Shown("d", True, 4, (), {"P1": "capital"}, ROWS)


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


def test_a_number_says_what_it_is_of():
    assert SHOWN.at(ROWS[5]) == {"shots": None, "sure": Range(0.5), "hit": Not()}
    assert SHOWN.relation(ROWS[4]) == "capital"
    assert SHOWN.relation(number("accuracy", 0.1, relation="P2")) == "P2", "one without a name goes by its id"


def test_what_has_no_answer_is_counted():
    assert silent(ROWS[0]) == "3 of 9"
    assert silent(None) == "–"


def test_what_could_not_be_asked_is_one_sentence_or_none():
    refused = [NotAsked(f"relation P{at}", "it has no test fact") for at in range(4)]
    [said] = Shown("d", True, 4, (), refused=refused).not_asked()
    assert said.startswith("4 not asked; the first: relation P0 (it has no test fact); relation P1 (")
    assert "P3" not in said
    assert list(SHOWN.not_asked()) == []
