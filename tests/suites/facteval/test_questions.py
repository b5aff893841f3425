"""How facts are worded: whole sentences from templates, from a prefix or a label where there is nothing better."""

from almanac.suites.facteval.questions import FIB, MASK, STATEMENT, WH, wordings

from .tables import relation, template


def worded(*templates, count=1, label="capital", subject="France"):
    found = wordings([relation("capital", label)], templates, count)["capital"]
    return {
        (row.style, row.template_id): row.says("Y" if row.style == STATEMENT else MASK)
        for row in found.sentences(subject)
    }


def test_a_statement_serves_as_a_sentence_with_a_blank():
    found = worded(template(0, "The capital of [X] is [Y]."), template(1, "What is the capital of [X]?", "question"))
    assert found == {
        (STATEMENT, "capital/0"): "The capital of France is Y.",
        (FIB, "capital/0"): "The capital of France is [MASK].",
        (WH, "capital/1"): "What is the capital of France?",
    }


def test_a_name_that_ends_in_a_full_stop_ends_the_sentence():
    found = wordings([relation("capital")], [template(0, "The maker of [X] is [Y].")], 1)["capital"].sentences("Aibo")
    said = next(row for row in found if row.style == STATEMENT)
    assert said.says("Tesla, Inc.") == "The maker of Aibo is Tesla, Inc."
    assert said.says("Sony") == "The maker of Aibo is Sony."


def test_the_object_may_stand_anywhere():
    assert worded(template(0, "[Y] is the capital of [X]."))[FIB, "capital/0"] == "[MASK] is the capital of France."


def test_the_first_templates_by_id_are_used():
    texts = [template(n, f"{n}: [Y] is the capital of [X].") for n in (2, 0, 1)]
    assert [key[1] for key in worded(*texts, count=2) if key[0] == FIB] == ["capital/0", "capital/1"]


def test_templates_that_say_the_same_count_once():
    texts = [template(n, "[Y] is the capital of [X].") for n in range(2)]
    assert [key[1] for key in worded(*texts, count=2) if key[0] == FIB] == ["capital/0"]


def test_a_prefix_serves_where_there_is_no_statement():
    prefix = template("p", "The capital of [X] is", "prefix")
    assert worded(prefix)[FIB, "capital/p"] == "The capital of France is [MASK]."
    assert (FIB, "capital/p") not in worded(prefix, template(0, "[Y] is the capital of [X]."))


def test_the_label_serves_where_there_is_nothing():
    assert list(worded().values()) == [
        "The capital of France is Y.",
        "The capital of France is [MASK].",
        "What is the capital of France?",
    ]


def test_a_template_without_its_slots_is_passed_over():
    assert list(worded(template(0, "[X] has a capital."), template(1, "[X] is [X]'s [Y]."))) == [
        (STATEMENT, "capital/label/statement"),
        (FIB, "capital/label/statement"),
        (WH, "capital/label/question"),
    ]


def test_a_name_may_hold_a_slot():
    found = worded(template(0, "[Y] is the capital of [X]."), subject="the land of [Y] and [X]")
    assert found[FIB, "capital/0"] == "[MASK] is the capital of the land of [Y] and [X]."


def test_words_that_ask_for_another_relation_too_come_last():
    """Google-RE's year and place of birth in LAMA's words."""
    both = [template(0, "[X] was born in [Y].", own=own) for own in ("place", "year")]
    more = template(1, "[X] was born in the year [Y].", own="year")
    found = wordings([relation("place", "place of birth"), relation("year", "year of birth")], [*both, more], 1)
    assert found["year"].statements == (("year/1", "[X] was born in the year [Y]."),)
    assert found["place"].shared == {"place/0": ("year",)}  # it has no other words
    assert wordings([relation("year")], [both[1], more], 1)["year"].statements[0][0] == "year/0"


def test_passages_get_a_statement_that_asks_nothing():
    texts = [template(n, f"{n}: [Y] is the capital of [X].") for n in range(2)]
    assert wordings([relation("capital")], texts, 1)["capital"].spare.startswith("1")
    assert wordings([relation("capital")], texts, 2)["capital"].spare.startswith("0")
