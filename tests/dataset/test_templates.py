"""Drafted templates: what is wrong with them is said, and frozen ones win."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from almanac.dataset.templates import (
    SHIPPED,
    DraftedText,
    cleaned,
    fault,
    filled,
    folded,
    judge,
    leak,
    merged,
    of_properties,
    readings,
    with_shipped,
    worded,
)
from almanac.errors import AlmanacError
from almanac.punctuation import ends_in_object
from almanac.rows import Draft, Relation, Template
from almanac.sources.properties import properties

NAMES = st.text("abc [XY]", min_size=1, max_size=8)
FROZEN = [Template("P36/0", "P36", "What is the capital of [X]?", "question", "written", None, ())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" [X] is in [Y].\nRelation: next", "[X] is in [Y]."),
        ('1. "What is [X]?"', "What is [X]?"),
        ("- [X]  lies in [Y].", "[X] lies in [Y]."),
        ('"[X]" is a "[Y]".', '"[X]" is a "[Y]".'),
        ("Here is a question:\n\nWhat is [X]?", "What is [X]?"),
        ("\n\n", ""),
        ("", ""),
        ("1912 was when [X] met [Y].", "1912 was when [X] met [Y]."),
        ('"[X]" was sung by "[Y]"', '"[X]" was sung by "[Y]"'),
        ("“[X]” was sung by “[Y]”", "“[X]” was sung by “[Y]”"),
        ('""[X]" was sung by [Y]."', '"[X]" was sung by [Y].'),
        ("'[X]'s song \"[Y]\" is sung'", '[X]\'s song "[Y]" is sung'),
    ],
)
def test_what_a_model_adds_around_a_text_is_taken_off(text, found):
    assert cleaned(text) == found


@pytest.mark.parametrize(
    ("text", "style", "reason"),
    [
        ("[X] lies in [Y].", "statement", None),
        ("[X] lies in the south.", "statement", "holds [X] 1 times and [Y] 0; needed are 1 and 1"),
        ("[Y] is [X] or [Y].", "statement", "holds [X] 1 times and [Y] 2; needed are 1 and 1"),
        ("Where does [X] lie?", "question", None),
        ("[X]在哪里？", "question", None),
        ("Does [X] lie in [Y]?", "question", "holds [X] 1 times and [Y] 1; needed are 1 and 0"),
        ("Where does it lie?", "question", "holds [X] 0 times and [Y] 0; needed are 1 and 0"),
        ("Where [X] lies", "question", "is no question"),
        ("[X], [Y].", "statement", "has no words"),
        ("", "question", "empty"),
    ],
)
def test_the_form_of_a_template(text, style, reason):
    assert fault(text, style) == reason


def test_a_leak_is_a_name_as_a_word_of_its_own():
    names = {"Paris", "May", "New York", "York", "C++"}
    assert leak("Is [X] near Paris?", names) == "Paris"
    assert leak("Is [X] in New York?", names) == "New York"
    assert leak("May [X] be asked?", names) == "May"
    assert leak("What may [X] be? Parisians know.", names) is None
    assert leak("Was [X] written in C++?", names) == "C++"
    assert leak("[X] [Y]", {"X", "[X]"}) is None
    assert leak("[X]在中国吗？", {"中国"}) == "中国"
    india = {"India", "in", "In", "IN"}
    assert leak("In which country is [X] located in?", india) is None, "a word that templates cannot do without"
    assert leak("Is IN the code of [X]?", india) == "IN"


@given(NAMES, NAMES)
def test_a_filled_template_holds_the_names_as_they_are(subject, found):
    sentence = filled("[Y], said [X] of", subject, found)
    assert sentence == f"{found}, said {subject} of"
    assert (found, subject) in readings("[Y], said [X] of", sentence)


def test_a_sentence_may_be_read_in_several_ways():
    assert readings("[X] of [Y]", "House of Lords of York") == {("House", "Lords of York"), ("House of Lords", "York")}
    assert readings("[X] [Y]", "a b") == {("a", "b")}
    assert readings("What is [X]?", "What is it?") == {("it",)}
    assert readings("What is [X]?", "What is ?") == set()
    assert readings("aa[X]aa", "aaa") == set()


def drafts(*texts: str, style="statement", **more) -> dict[str, Draft]:
    written = [DraftedText("P36", style, text, None) for text in texts]
    pairs = {"P36": [("House of Lords", "York"), ("Japan", "Tokyo")]}
    return {row.text: row for row in judge(written, FROZEN, pairs, {"P36": {"Tokyo", "York"}})}


def test_each_draft_is_judged_and_none_is_lost():
    found = drafts(
        "[Y] is the capital of [X].",
        "[Y] is the capital of [X].",
        "[Y] IS the capital of [X]",
        "[X] of [Y]",
        "Tokyo, [X] and [Y].",
        "[X] [X] [Y]",
        "",
    )
    assert {text: row.verdict for text, row in found.items()} == {
        "[Y] is the capital of [X].": "keep",
        "[Y] IS the capital of [X]": "drop",
        "[X] of [Y]": "drop",
        "Tokyo, [X] and [Y].": "drop",
        "[X] [X] [Y]": "drop",
        "": "drop",
    }
    kept = found["[Y] is the capital of [X]."]
    assert (kept.count, kept.reason) == (2, None)
    assert found["[Y] IS the capital of [X]"].reason == f"says the same as {kept.template_id}"
    assert found["[X] of [Y]"].reason == "subject and object cannot be read back from 'House of Lords of York'"
    assert found["Tokyo, [X] and [Y]."].reason == "names the object 'Tokyo'"


@pytest.mark.parametrize(("parents", "parent"), [("aab", "a"), ("abb", "b"), ("ba", "a")])
def test_a_text_counts_as_often_as_it_was_written_for_whatever_template(parents, parent):
    often = [DraftedText("P36", "statement", "[X] has the capital [Y].", name) for name in parents]
    once = [DraftedText("P36", "statement", "[X] has the capital [Y]", None)]
    kept, dropped = sorted(judge(once + often, [], {}, {}), key=lambda row: row.verdict, reverse=True)
    assert (kept.count, kept.parent_id, kept.text) == (len(parents), parent, "[X] has the capital [Y].")
    assert (dropped.count, dropped.reason) == (1, f"says the same as {kept.template_id}")


def test_a_draft_that_says_what_a_frozen_template_says_is_dropped():
    found = drafts("what is the capital of [X] ?", "Which city is the capital of [X]?", style="question")
    assert found["what is the capital of [X] ?"].reason == "says the same as P36/0"
    assert found["Which city is the capital of [X]?"].verdict == "keep"


@given(st.permutations(["[X] a [Y]", "[X] A [Y].", "[X] b [Y]", "[X] b [Y]", "[Y]"]))
def test_the_order_of_the_answers_does_not_matter(texts):
    assert drafts(*texts) == drafts("[X] a [Y]", "[X] A [Y].", "[X] b [Y]", "[X] b [Y]", "[Y]")


@given(st.text(max_size=12), st.text(max_size=12))
@example("⑴", "1")
def test_templates_that_fold_alike_differ_in_case_space_and_punctuation_only(one, other):
    if folded(one) == folded(other):
        letters = [[char for char in folded(text) if char.isalnum() or char in "[]"] for text in (one, other)]
        assert letters[0] == letters[1]
    assert folded(folded(one)) == folded(one)


def draft(name: str, text: str, verdict="keep", style="statement") -> Draft:
    return Draft(name, "P36", text, style, None, 1, None, verdict, None)


def test_frozen_templates_win_and_stay_as_they_are():
    proofread = [
        draft("P36/0", "Another text with the frozen one's id: [X]?", style="question"),
        draft("P36/drafted/1", "What is the Capital of [X]??", style="question"),
        draft("P36/drafted/2", "[Y] is the capital of [X]."),
        draft("P36/drafted/3", "[X] has [Y].", verdict="drop"),
        draft("P36/drafted/4", "[Y] is the capital of [X]"),
    ]
    found = merged(FROZEN, proofread, "drafts.jsonl")
    assert found[0] == FROZEN[0]
    assert [(row.template_id, row.text, row.origin) for row in found[1:]] == [
        ("P36/drafted/2", "[Y] is the capital of [X].", "drafted")
    ]
    assert merged(found, proofread, "drafts.jsonl") == found


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (draft("a", "[X] [Y] x", verdict="yes"), "drafts.jsonl: a: verdict 'yes'; allowed are keep and drop"),
        (draft("a", "[X] lies."), "drafts.jsonl: a: '[X] lies.' holds [X] 1 times and [Y] 0"),
        (draft("a", "[X] lies in [Y].", style="poem"), "style 'poem'; allowed are statement, question"),
    ],
)
def test_what_a_person_got_wrong_is_named(bad, message):
    with pytest.raises(AlmanacError) as error:
        merged(FROZEN, [bad], "drafts.jsonl")
    assert message in str(error.value)


def test_of_two_names_of_one_length_the_draft_is_refused_for_the_same_in_any_order():
    assert [leak("Rome and Oslo are at [X].", names) for names in (("Rome", "Oslo"), ("Oslo", "Rome"))] == ["Oslo"] * 2


@pytest.mark.parametrize(
    ("label", "statement", "question"),
    [
        ("capital", "The capital of [X] is [Y].", "What is the capital of [X]?"),
        ("located in", "[X] is located in [Y].", "[X] is located in what?"),
        ("shares border with", "[X] shares border with [Y].", "[X] shares border with what?"),
        ("died in", "[X] died in [Y].", "[X] died in what?"),
        ("fought in", "[X] fought in [Y].", "[X] fought in what?"),
        ("flows into", "[X] flows into [Y].", "[X] flows into what?"),
        ("written by", "[X] is written by [Y].", "[X] is written by whom or what?"),
        ("located in time zone", "[X] is located in time zone [Y].", "[X] is located in time zone what?"),
        ("was born in", "[X] was born in [Y].", "[X] was born in what?"),
        ("capital of", "[X] is capital of [Y].", "[X] is capital of what?"),
        ("has part(s)", "[X] has part(s) [Y].", "[X] has part(s) what?"),
        ("in", "The in of [X] is [Y].", "What is the in of [X]?"),
    ],
)
def test_a_label_is_a_noun_or_stands_between_subject_and_object(label, statement, question):
    assert worded(label) == (statement, question)


def test_every_property_that_is_named_has_statements_that_end_in_the_object_and_questions():
    assert of_properties().keys() == properties().keys()
    for name, own in of_properties().items():
        assert [fault(row.text, row.style) for row in own] == [None] * len(own), name
        assert len({folded(row.text) for row in own}) == len(own) == len({row.template_id for row in own}), name
        by_style = {style: [row.text for row in own if row.style == style] for style in ("statement", "question")}
        assert len(by_style["statement"]) >= 4 and len(by_style["question"]) == 2, name
        assert all(map(ends_in_object, by_style["statement"])), name
        ids = {row.template_id for row in own}
        assert {row.parent_id for row in own} <= {*ids, None} and {row.origin for row in own} == {SHIPPED}, name


@pytest.mark.parametrize(
    ("style", "joined"),
    [
        (None, {"statement", "question"}),
        ("statement", {"question"}),
        ("prefix", {"question"}),
        ("question", {"statement"}),
        ("alias", {"statement", "question"}),
    ],
)
def test_a_relation_gets_what_ships_for_its_property_where_it_has_none_of_a_style(style, joined):
    numbers = {"capital": "P36", "seat": "P36", "P36": None}
    relations = [Relation(name, "x", number, None, None, None) for name, number in numbers.items()]
    own = [Template("own", "capital", "[X]", style, "written", None, ())] if style else []
    own.append(Template("own-draft", "capital", "[X] [Y]", "statement", "drafted", None, ()))  # perhaps of these
    found = with_shipped(own, relations)
    assert {row.relation_id for row in found} == {"capital", "seat"}, "of the other relation no property is known"
    ships = [row for row in found if row.origin == SHIPPED]
    assert {row.style for row in ships if row.relation_id == "capital"} == joined
    ids = {row.template_id for row in found}
    assert len(ids) == len(found) and {row.parent_id for row in ships} <= {*ids, None}
    assert all(row.template_id.startswith(f"{row.relation_id}/g") for row in ships)
    assert [row for row in found if row.origin != SHIPPED] == own
    assert [row.template_id for row in found] == sorted(row.template_id for row in found)
