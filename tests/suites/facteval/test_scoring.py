"""The sound reading of answers: verdicts, choices, short answers, lists; phrases by which a model declines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.dataset.values import Stretches
from almanac.errors import AlmanacError
from almanac.suites.facteval.judging import as_paper
from almanac.suites.facteval.reading.names import mentions, read
from almanac.suites.facteval.reading.scoring import OWN_PHRASES, judge, load_phrases

from .running import question

OWN = load_phrases()
PLACES = ("York", "New York", "Washington, D.C.", "Jean-Paul")


def outcome(kind, answer, *arguments, **named):
    return judge(question(kind, *arguments, **named), answer, OWN).outcome


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("CORRECT", True),
        ("Incorrect.", False),
        ("The statement is correct.", True),
        ("The correct statement is incorrect.", False),
        ("not correct", False),
        ("It isn't correct.", False),
        ("I do not think that it is correct", False),
        ("This is a true statement.", True),
        ("That's a true fact", True),
        ("This is clearly a **false** statement: Lyon is.", False),
        ("This is not a correct fact.", False),
        ("I don't think the statement is correct.", False),
        ("I don't believe that the given statement is correct.", False),
        ("It is not the case that this is true.", False),
        ("This is incorrect, and a correct statement would be another.", False),
        ("not incorrect", True),
        ("Correct, not incorrect.", True),
        ("Not in this list, but correct.", True),
        ("This is incorrect. The correct answer is Paris.", False),
        ("INCORRECT\nCORRECT", False),
        ("True", True),
        ("That's false.", False),
        ("Yes, Paris is the capital.", True),
        ("No.", False),
        ("Yes, it is incorrect.", False),
        ("<b>CORRECT</b>", True),
        ("\x00correct\x07", True),
        ("This statement is wrong.", False),
        ("Wrong. It is Rome.", False),
        ("That's not accurate.", False),
        ("I could be wrong, but this is true.", True),
        ("To be accurate, the statement is false.", False),
        ("This statement contains wrong dates, it is incorrect.", False),
    ],
)
def test_the_first_sentence_with_a_verdict_decides(answer, says):
    assert outcome("tfq", answer, truth=says) == "correct"
    assert outcome("tfq", answer, truth=not says) == "incorrect"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("The statement that That's What I'm Not is by Muse is correct.", True),
        ("It is not correct that That's What I'm Not is by Muse.", False),
    ],
)
def test_a_negation_that_is_a_part_of_the_statement_turns_no_verdict(answer, says):
    assert outcome("tfq", answer, text="That's What I'm Not is by Muse.", truth=says) == "correct"


@pytest.mark.parametrize(
    "answer",
    [
        "Lyon is not the capital so the statement is incorrect.",
        "Since Lyon is not the capital the statement is incorrect.",
        "Lyon is not the capital – incorrect",
        "The capital is Paris, not Lyon → INCORRECT",
        "Lyon is not the capital which makes the statement false.",
        "Not only is it incorrect, it is absurd.",
        "It is not the case that this is correct.",
        "No part of this is correct.",
        "None of this is true.",
        "This is not, in fact, correct.",
        "It isn't – by any means – true.",
        "It is not, as was shown, so it is false.",
        "No, Paris is not, it is Lyon, incorrect.",
        "Nothing in the statement is correct.",
        "Nothing supports this so the statement is incorrect.",
        "He had nothing to do with it so it's false.",
        "Not everything here is correct",
        "It never was true",
        "It is no longer true",
        "I do not see how this is correct",
        "its incorrect because it is Paris",
        "The statement is the incorrect one",
        "No, the correct capital of France is Paris.",
        "Incorrect, the correct capital of France is Paris.",
        "INCORRECT (the true capital is Paris)",
        "<answer> INCORRECT </answer>",
        "Incorrect statement.",
        "Verdict: false statement",
        "Incorrect: fact is that Paris is the capital",
        "The statement “True Grit was made in France” is incorrect.",
    ],
)
def test_reasons_and_corrections_do_not_turn_a_verdict(answer):
    assert outcome("tfq", answer, text="True Grit was made in France", truth=False) == "correct"


@pytest.mark.parametrize(
    "answer",
    [
        "I see nothing wrong so it is correct",
        "Nothing contradicts it and it is true",
        "None contradicts it so it is true",
        "There is nothing wrong with the statement as it is correct",
    ],
)
def test_a_negation_of_something_else_turns_no_verdict(answer):
    assert outcome("tfq", answer, text="True Grit was made in France", truth=True) == "correct"


@pytest.mark.parametrize(
    "answer",
    ["", " \n", "Paris", "correctly", "correct or incorrect", "neither correct nor incorrect", "The correct answer is"],
)
def test_without_a_verdict_an_answer_is_invalid(answer):
    assert outcome("tfq", answer, truth=True) == "invalid"
    assert outcome("tfq", answer, truth=False) == "invalid"


@pytest.mark.parametrize("kind", ["tfq", "mcq", "saq"])
@pytest.mark.parametrize(
    "answer",
    [
        "UNKNOWN",
        "I don’t know.",
        "I'm not sure, Paris? correct",
        "Sorry, but Paris is correct",
        "No idea!",
        "I really don't know",
        "I do not have enough information to answer, but Paris is correct",
        "dont know",
        "I don't have that information.",
        "As an AI, I cannot tell",
        "I am not able to answer that.",
    ],
)
def test_a_phrase_of_abstention_is_an_abstention_whatever_else_is_said(kind, answer):
    assert outcome(kind, answer, "Paris", choices=("Paris", "Rome"), truth=True) == "missing"


@pytest.mark.parametrize(
    "answer",
    [
        "Berlin. Many people don't know that it has more bridges than Venice.",
        "Berlin, in case you don't know",
        "Berlin, although penguins are not able to fly",
        "Berlin, although the etymology of the name is unclear.",
        "Berlin. Let me know if you need more information!",
        "Berlin developed it as an AI language model",
        "Berlin and Bonn do not have enough in common, if it is hard to say it better",
    ],
)
def test_what_others_do_not_know_or_cannot_do_is_no_abstention(answer):
    assert outcome("saq", answer, "Berlin") == outcome("mcq", answer, "Berlin", choices=("Berlin", "Rome")) == "correct"


def test_a_symbol_that_is_a_word_is_named_by_the_word_alone():
    for answer in ("I'd say Sn", "I'm for Sn"):
        assert outcome("saq", answer, "I") == "incorrect"
    assert outcome("saq", "In 1900 it was Sn", "In") == "incorrect"
    assert outcome("saq", "In", "In") == outcome("saq", "In is indium's", "In") == "correct"


def test_a_choice_that_the_answer_repeats_from_its_question_is_not_chosen():
    asked = {"text": "Which company made the Nintendo DS?", "choices": ("Nintendo", "Sony", "Sega")}
    assert outcome("mcq", "The Nintendo DS is a handheld console.", "Nintendo", **asked) == "incorrect"
    assert outcome("mcq", "The Nintendo DS was made by Sony.", "Sony", **asked) == "correct"
    assert outcome("mcq", "The Nintendo DS was made by Nintendo.", "Nintendo", **asked) == "correct"


def test_a_phrase_inside_a_name_is_none():
    assert outcome("saq", "Sorry", "Sorry") == "correct"
    assert outcome("saq", "Unknown Pleasures", "Unknown Pleasures") == "correct"
    assert outcome("mcq", "Unknown Pleasures", "Closer", choices=("Closer", "Unknown Pleasures")) == "incorrect"
    assert outcome("saq", "Sorry, I don't know", "Sorry") == "missing"


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("Who made Unknown Pleasures?", "Joy Division made Unknown Pleasures.", "correct"),
        ("Who made Unknown Pleasures?", "Unknown", "missing"),
        ("Who made Unknown Pleasures?", "It is unknown who made Unknown Pleasures by Joy Division.", "missing"),
        ("(I Can't Get No) Satisfaction is by [MASK].", "(I Can't Get No) Satisfaction is by Joy Division.", "correct"),
        ("(I Can't Get No) Satisfaction is by [MASK].", "I can't tell. Joy Division?", "missing"),
        ("Sorry is by [MASK].", "Sorry is by Joy Division.", "correct"),
    ],
)
def test_a_phrase_that_is_repeated_from_the_question_is_none(text, answer, expected):
    assert outcome("mcq", answer, "Joy Division", choices=("Joy Division", "Muse"), text=text) == expected
    assert outcome("saq", answer, "Joy Division", text=text) == expected
    assert as_paper(question("saq", "Joy Division", text=text), answer, OWN).outcome == expected
    verdict = "missing" if expected == "missing" else "correct"
    assert outcome("tfq", f"{answer} Correct.", text=text, truth=True) == verdict


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("New York", "New York", "correct"),
        ("New York", "York", "incorrect"),
        ("york", "York", "correct"),
        ("York, not New York", "York", "correct"),
        ("York or New York", "York", "incorrect"),
        ("Washington D.C.", "Washington, D.C.", "correct"),
        ("It was jean-paul.", "Jean-Paul", "correct"),
        ("Jean", "Jean-Paul", "incorrect"),
        ("", "York", "incorrect"),
        ("Somewhere else", "York", "incorrect"),
    ],
)
def test_one_choice_alone_is_picked(answer, gold, expected):
    assert outcome("mcq", answer, gold, choices=PLACES) == expected


def test_the_true_choice_is_known_by_its_other_names_too():
    gold = ("Muhammad Ali", "Cassius Clay")
    choices = ("Joe Frazier", "Muhammad Ali")
    assert outcome("mcq", "Cassius Clay", gold, choices=choices) == "correct"
    assert outcome("mcq", "Cassius Clay or Joe Frazier", gold, choices=choices) == "incorrect"


def test_codes_of_countries_are_not_words():
    names = ("Iceland", "IS", "is")
    for kind in ("mcq", "saq"):
        asked = question(kind, names, objects=("Q189",) * 3, choices=("Iceland", "Norway"))
        assert judge(asked, "The answer is Norway", OWN).outcome == "incorrect"
        assert judge(asked, "The answer is IS", OWN).outcome == "correct"


def test_a_code_that_is_a_choice_is_not_the_verb_of_the_sentence():
    choices = ("BT", "YE", "BA", "IS")
    assert outcome("mcq", "The answer is BT.", "BT", choices=choices) == "correct"
    assert outcome("mcq", "The answer is IS.", "IS", choices=choices) == "correct"
    assert outcome("saq", "The answer is BT.", "IS") == "incorrect"


def test_a_choice_that_is_a_date_or_number_is_known_by_its_value():
    assert outcome("mcq", "on 22 May 1982", "1982-05-22", choices=("1982-05-22", "1982-05-23")) == "correct"
    assert outcome("mcq", "1,500", "1500", choices=("1500", "500", "5")) == "correct"


@pytest.mark.parametrize("answer", ["1949年", "是1949。", "在1949年成立", "１９４９年"])
def test_in_a_script_without_spaces_a_number_stands_next_to_letters(answer):
    assert outcome("mcq", answer, "1949", choices=("1949", "1950")) == "correct"
    assert outcome("saq", answer, "1949") == "correct"
    assert outcome("saq", answer, "194") == outcome("saq", answer, "949") == "incorrect"
    assert outcome("saq", "3万人", "3") == outcome("saq", "1949年代", "1949") == "incorrect"
    assert outcome("saq", "x1949", "1949") == outcome("saq", "1949x", "1949") == "incorrect"


def test_a_stroke_of_a_latin_letter_is_an_accent():
    assert outcome("saq", "It is Lodz.", "Łódź") == outcome("saq", "Orsted", "Ørsted") == "correct"
    assert outcome("saq", "Đà Nẵng", "Da Nang") == "correct"


@pytest.mark.parametrize("kind", ["mcq", "saq"])
def test_a_bare_number_is_a_quantity_and_no_film(kind):
    def found(answer, **named):
        return outcome(kind, answer, "8 Mile", choices=("8 Mile", "Room"), **named)

    assert found("8") == found("8", datatype="quantity", object_type="height") == "correct"
    assert found("8", object_type="film") == found("8", datatype="string") == "incorrect"
    assert found("8 Mile", object_type="film") == found("It is 8 Mile.", datatype="string") == "correct"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12))), st.integers(0, 12), st.integers(1, 5))
def test_stretches_are_found_as_one_by_one(stretches, start, size):
    found, end = Stretches(stretches), start + size
    assert found.hold(start, end) == any(one <= start and end <= other for one, other in stretches)
    assert found.begin(start, end) == any(start <= one < end for one, _ in stretches)
    ordered = [(one, other) for one, other in stretches if one < other]
    assert Stretches(ordered).meet(start, end) == any(one < end and start < other for one, other in ordered)


def test_choices_that_are_the_same_words_cannot_be_told_apart():
    found = judge(question("mcq", "Paris", choices=("Paris", "PARIS", "Rome")), "Paris", OWN)
    assert (found.outcome, found.reason) == ("incorrect", "several choices")


@pytest.mark.parametrize(
    ("answer", "precision", "recall"),
    [
        ("French", 1, 1 / 3),
        ("French, Dutch and German", 1, 1),
        ("- french\n- Flemish", 1, 2 / 3),  # Flemish is another name of Dutch
        ("Dutch, Flemish", 1, 1 / 3),
        ("French and English", 1 / 2, 1 / 3),
        ("1. French\n2. English\n3. Dutch\n4. Spanish", 1 / 2, 2 / 3),
        ("(1) French (2) English (3) Dutch (4) Spanish", 1 / 2, 2 / 3),
        ("The languages are: German; Walloon", 1 / 2, 1 / 3),
        ("French、Spanish", 1 / 2, 1 / 3),
        ("French، Spanish؛ German", 2 / 3, 2 / 3),
        ("They speak French there", 1, 1 / 3),
    ],
)
def test_lists_have_precision_and_recall_over_objects(answer, precision, recall):
    names, objects = ("French", "Dutch", "Flemish", "German"), ("Q1", "Q2", "Q2", "Q3")
    found = judge(question("saq", names, objects=objects), answer, OWN)
    assert found.outcome == "correct"  # any object suffices, as the paper counts
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    assert found.credit == pytest.approx(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("answer", ["Prize in Physics, Prize in Peace", "Prize in Peace\nPrize in Physics"])
def test_no_name_is_found_across_the_items_of_a_list(answer):
    names = ("Prize in Physics", "Physics Prize")
    found = judge(question("saq", names, objects=("Q1", "Q1")), answer, OWN)
    assert (found.outcome, found.precision) == ("correct", 1 / 2)
    assert outcome("saq", answer, "Physics Prize") == "incorrect"


@pytest.mark.parametrize("name", ["!!!", "🇧🇪", "?"])
def test_a_name_of_signs_alone_is_the_whole_answer(name):
    found = judge(question("saq", name, text="What is its sign?"), name, OWN)
    assert (found.outcome, found.credit, found.precision, found.recall) == ("correct", 1, 1, 1)


@pytest.mark.parametrize("answer", ["", "English", "p", "\x00", "<script>alert(1)</script>"])
def test_an_answer_that_names_no_object_has_no_credit(answer):
    found = judge(question("saq", ("French", "Paris")), answer, OWN)
    assert (found.outcome, found.credit, found.precision, found.recall) == ("incorrect", 0, 0, 0)


@pytest.mark.parametrize("kind", ["tfq", "mcq", "saq"])
@pytest.mark.parametrize(
    "filler",
    ["word ", "1, 2 and ", "\n", " ", ".", "?!x", "111,", "#", "not ", "- x ; ", "twenty ", "1982-05-22 ", "<b>&"],
)
def test_an_answer_of_ten_thousand_characters_is_read_to_its_end(kind, filler):
    answer = (filler * 10_000)[:10_000] + "\n. Paris is CORRECT"
    found = judge(question(kind, "Paris", choices=("Paris", "Rome"), truth=True), answer, OWN)
    assert found.outcome == "correct"


@pytest.mark.parametrize("turn", ["\nQuestion: Where?", "\n\n### Instruction:\n", "\nQ: x", "\n  HUMAN: hi"])
def test_the_turns_that_a_model_goes_on_to_write_are_not_read(turn):
    answer = f"Paris{turn}\nAnswer: unsure, Rome, INCORRECT"
    found = judge(question("saq", ("Paris", "Rome")), answer, OWN)
    assert (found.outcome, found.precision, found.recall) == ("correct", 1, 0.5)
    assert outcome("mcq", answer, "Paris", choices=("Paris", "Rome")) == "correct"
    assert outcome("tfq", f"CORRECT{turn}\nINCORRECT", truth=True) == "correct"
    assert judge(question("saq", "Rome"), "in question: Rome", OWN).outcome == "correct"


@pytest.mark.parametrize("begin", ["", "\n\n", " \r\n", "## ", "**"])
@pytest.mark.parametrize("turn", ["Q: Does it flow through Paris?\nA: Yes", "Question: Is it Paris?", "user: Paris?"])
def test_a_turn_that_begins_an_answer_is_none(begin, turn):
    assert judge(question("saq", "Paris"), begin + turn, OWN).outcome == "incorrect"
    assert judge(question("saq", "Paris"), f"Paris\r\n{turn}\r\nRome", OWN).outcome == "correct"
    assert outcome("tfq", begin + "Question: Is this statement correct?\nAnswer: CORRECT", truth=True) == "invalid"


@pytest.mark.parametrize("answer", ["Question: {} Paris", "\n\nQ: {}\nA: Paris", "**Question:** {}\r\nParis\nQ: Rome?"])
def test_an_answer_that_first_repeats_its_question_goes_on_behind_it(answer):
    text = "What is the capital of France?"
    asked = question("saq", ("Paris", "Rome"), text=text)
    found = judge(asked, answer.format(text), OWN)
    assert (found.outcome, found.recall) == ("correct", 0.5)
    assert judge(asked, answer.format("What is the capital of Italy?"), OWN).outcome == "incorrect"


@pytest.mark.parametrize(("goes_on", "right"), [("", False), (" Bonn", False), ("\nLuxemburg.", True)])
def test_a_question_that_is_repeated_alone_answers_nothing_though_the_object_stands_in_it(goes_on, right):
    text = "Wie heißt die Hauptstadt von Luxemburg?"
    found = judge(question("saq", "Luxemburg", text=text), text + goes_on, OWN)
    assert found.outcome == ("correct" if right else "incorrect")


TEXT = st.text(max_size=40) | st.sampled_from(["CORRECT", "not correct", "A, B and C", "unknown"])


@given(TEXT, st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=4, unique=True), st.booleans())
def test_any_answer_has_a_verdict(answer, names, truth):
    for kind in ("tfq", "mcq", "saq"):
        found = judge(question(kind, names[:1], choices=tuple(names), truth=truth), answer, OWN)
        assert found.outcome in ("correct", "incorrect", "missing", "invalid")
        assert (found.outcome == "invalid") <= (kind == "tfq")
        assert 0 <= found.credit <= 1
        assert (found.credit > 0) == (found.outcome == "correct")


@given(TEXT)
def test_a_statement_and_its_negation_are_never_both_right(answer):
    both = [outcome("tfq", answer, truth=truth) for truth in (True, False)]
    assert sorted(both) in (["correct", "incorrect"], ["invalid"] * 2, ["missing"] * 2)


@given(st.lists(st.text("abcdefgh", min_size=3, max_size=8), min_size=2, max_size=5, unique=True))
def test_more_of_the_true_objects_never_lowers_recall(names):
    whole = question("saq", names)
    found = [judge(whole, ", ".join(names[:count]), OWN) for count in range(1, len(names) + 1)]
    assert [one.recall for one in found] == sorted(one.recall for one in found)
    assert found[-1].credit == 1


@pytest.mark.parametrize(
    "answer",
    [
        "UNKNOWN.",
        "I'm sorry, I can’t help",
        "I don't know",
        "it is NOT   sure",
        "As an AI, I have no opinion",
        "n/a",
        "It is N/A.",
        "N.A.",
    ],
)
def test_the_own_list_knows_the_usual_ways(answer):
    assert OWN.within(read(answer))


@pytest.mark.parametrize(
    "answer",
    ["", "Paris", "The unknowns", "sorrynotsorry", "surely", "N. A. Bach", "N.A. Bach", "CORRECT", "INCORRECT"],
)
def test_and_takes_no_answer_for_one(answer):
    assert not OWN.within(read(answer))


def test_every_phrase_of_the_own_list_stands_once_and_is_recognised():
    assert len({" ".join(one.words) for one in OWN.readings}) == len(OWN.phrases)
    for phrase in OWN.phrases:
        assert OWN.within(read(f"Well, {phrase}!")), phrase
        assert OWN.within_text(f"WELL, {phrase.upper()}!"), phrase


def test_what_the_released_scorer_takes_for_an_answer_is_left_out_of_its_mode():
    for answer in ("unsure", "I am not sure", "I cannot confirm that.", "None of the above", "n/a"):
        assert OWN.within_text(answer)
        assert not OWN.released().within_text(answer)
    for answer in ("Sorry", "I cannot answer that", "I don't know", "As an AI language model, I", "Unfortunately"):
        assert OWN.released().within_text(answer)


def test_a_phrase_inside_a_mention_does_not_count():
    said = read("the album Unknown Pleasures")
    assert OWN.within(said)
    assert not OWN.within(said, mentions("Unknown Pleasures", said))


def test_a_list_of_lines_can_be_given(tmp_path):
    path = tmp_path / "published.txt"
    path.write_text("\ufeffsorry\r\n\n  pass on this \n", "utf-8")  # as some editors begin and end lines
    assert load_phrases(path).phrases == ("sorry", "pass on this")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.txt", None, "cannot be read"),
        ("bad.txt", " \n\n", "holds no phrase"),
        ("bad.yaml", "phrases: [", "is no YAML"),
        ("bad.yaml", "phrases: ['no']\nphrases: ['never']", "the key phrases is given in line 1 and again in line 2"),
        ("bad.yaml", "version: 1", "needs `phrases`"),
        ("bad.yaml", "phrases: [no, '??']", "phrase 1 is False"),
        ("bad.yaml", "phrases: ['no']\nbeyond: [yes]", "`beyond` is"),
        ("bad.yaml", "phrases: ['no']\nbeyond: [[no]]", "`beyond` is"),
        ("bad.yaml", "phrases: ['no', '??']", r"phrase 2 is '\?\?', which has no word"),
    ],
)
def test_a_bad_list_is_refused_by_name(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(AlmanacError, match=f"{name}: .*{message}"):
        load_phrases(tmp_path / name)


def test_the_own_list_ships():
    assert OWN_PHRASES.is_file()
