"""Where an answer mentions a name: words, numbers and dates; and where it is a part of another object's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.dataset.values import UNIT_NAMES, Date, dates, numbers
from almanac.suites.facteval.reading.names import LongerNames, fold, mentions, read
from almanac.suites.facteval.reading.scoring import judge, load_phrases, things

from .running import question

OWN = load_phrases()

MENTIONED = [
    ("Paris", "The capital of France is Paris."),
    ("Paris", "PARIS'S river"),
    ("Paris", "<b>Paris</b>"),
    ("Paris", "\x07Paris\x00"),
    ("São Paulo", "sao paulo"),
    ("Gödel", "Go\u0308del"),  # composed and decomposed
    ("The Beatles", "beatles"),
    ("The Beatles", "by the Beatles"),
    ("Washington, D.C.", "in washington d.c"),
    ("AC/DC", "It was AC/DC, I think"),
    ("The Good, the Bad and the Ugly", "Alien, Good, the Bad and the Ugly"),
    ("Martin Luther King Jr.", "Martin Luther King, Jr."),
    ("O'Brien", "O’Brien"),
    ("C++", "C++, and Java"),
    ("!!!", "The band is called !!! of course"),
    ("🇪🇸", "The answer is 🇪🇸."),
    ("東京", "日本の首都は東京です。"),
    ("Straße", "STRASSE"),
    ("1982", "It was in 1982."),
    ("44 BC", "on the Ides of March, 44 BC"),
    ("440", "15 March 440, because"),
    ("1982", "on 22 May 1982"),
    ("1982", "1982-05-22"),
    ("1982-05-22", "May 22nd, 1982"),
    ("1982-05-22", "the 22nd of May, 1982"),
    ("1982-05-22", "22.05.1982"),
    ("1982-05-22", "22 Sep 1982, no: 1982/05/22"),
    ("22 May 1982", "1982-05-22"),
    ("1982-05-22", "5/22/1982"),  # only one order of its parts is a date
    ("1982-05-06", "5/6/1982"),  # either order
    ("1982-05", "22 May 1982"),
    ("1982-05-22", "22 May 1982-3 June 1990"),
    ("1990-06-03", "22 May 1982-3 June 1990"),
    ("1982-05-22", "22-May-1982"),
    ("1982-05-22", "1982 May 22"),
    ("1983-05-23", "1982, May 23, 1983"),
    ("0476-09-04", "4 September 476"),
    ("8848", "8,848 metres"),
    ("8848", "8848.0"),
    ("8848", "8848m"),
    ("8848", "It is 8,848m high."),
    ("8848m", "8,848 metres"),
    ("8848 m", "8848m"),
    ("8,848 metres", "8848"),  # a whole answer needs no unit
    ("1.5 km", "1.5km"),
    ("2166086 km²", "2,166,086 square kilometres"),
    ("384000 km", "384 thousand km"),
    ("1,000 km²", "1000 km^2"),
    ("1,000 km²", "1,000 sq. km"),
    ("1,000 square miles", "1000 sq mi"),
    ("10 kg", "10kgs"),
    ("60 km/h", "60 kilometres per hour"),
    ("60 mph", "60 miles per hour"),
    ("-1.5 °C", "\u22121.5 degrees Celsius"),
    ("-40 °C", "minus 40 °C"),
    ("20 °C", "It is 20 C."),
    ("5 %", "5 percent"),
    ("5 %", "5 pct"),
    ("10 %", "10 % per year"),
    ("10 %", "10 percent per annum"),
    ("3C", "3C"),
    ("12", "twelve miles"),
    ("3M", "3M"),
    ("12", "Twelve."),
    ("8000000", "about 8 million"),
    ("1250000", "1.25 million"),
    ("105", "one hundred and five"),
    ("21", "twenty-one"),
    ("-5", "\u22125 degrees"),
    ("1", "One"),
    ("Lyon", "It is not clear whether Paris or Lyon"),
    ("Lyon", "not only Paris or Lyon"),
]

NOT_MENTIONED = [
    ("Paris", "Parisian cafés"),
    ("Paris", "not Paris"),
    ("Paris", "It isn't in Paris"),
    ("Paris", "neither Paris nor Lyon"),
    ("Lyon", "neither Paris nor Lyon"),
    ("Lyon", "Nice, not in Paris or in Lyon"),
    ("1982", "19"),
    ("19", "1982"),
    ("Paris", "p"),
    ("Paris", ""),
    ("bass guitar", "double bass, guitar"),  # two others in a list
    ("bass guitar", "double bass/guitar"),
    ("The Bass Guitar", "double bass; guitar"),
    ("Washington, D.C.", "Washington, D, C"),
    ("The Who", "who knows"),
    ("C", "C++"),
    ("1982-05-22", "1982"),  # less than what is asked
    ("1982-05-22", "23 May 1982"),
    ("22", "22 May 1982"),  # a day is no quantity
    ("1982", "1980s"),
    ("8848", "8849"),
    ("19", "19.5"),
    ("5", "105"),
    ("8848 m", "8848 km"),
    ("8848 m", "8848 people"),
    ("100 metres", "He won 100 medals."),  # a race
    ("60 mi", "60 miles per hour"),
    ("5 km", "5 km per hour"),
    ("5 m", "5 metres per second"),
    ("5 m", "5 m/s"),
    ("1.5 °C", "-1.5 °C"),
    ("-1.5 °C", "1.5 °C"),
    ("40 °C", "minus 40 °C"),
    ("20 °C", "20 °F"),
    ("1,000 km", "1000 km^2"),
    ("1,000 km", "1000 km^3"),
    ("1,000 km", "1000 km²"),
    ("2", "1000 km^2"),  # an exponent is no quantity
    ("3M", "3 metres"),
    ("3", "3D"),
    ("747", "747s"),
    ("123", "one two three"),
    ("1", "No one knows"),
    ("44", "in 44 BC"),
    ("44", "44 B.C.E."),
    ("440", "15 March 440 B.C."),
    ("!!!", "What!!!"),
]


@pytest.mark.parametrize(("name", "answer"), MENTIONED)
def test_a_name_is_found_however_it_is_written(name, answer):
    assert mentions(name, read(answer))


@pytest.mark.parametrize(("name", "answer"), NOT_MENTIONED)
def test_what_is_another_name_or_denied_is_not_found(name, answer):
    assert not mentions(name, read(answer))


def test_a_bare_number_is_no_quantity_where_a_unit_is_needed():
    assert mentions("8 Mile", read("8"))
    assert not mentions("8 Mile", read("8"), unitless=False)
    assert mentions("8 Mile", read("It is 8 Mile."), unitless=False)


def test_a_short_alias_is_not_a_word_of_the_sentence():
    def found(name, answer, alias=True):
        return bool(mentions(name, read(answer), alias))

    assert not found("IS", "The answer is Rome")
    assert not found("it", "It is Rome")
    assert not found("no", "NO IDEA, IT IS NO PLACE OF MINE")
    assert found("is", "The answer: IS")
    assert not found("USA", "not so usa") and found("USA", "the USA")
    assert not found("him", "I know him")
    assert found("won", "It is South Korea won (kr).") and found("Rio", "rio, I think") and found("yen", "the Yen")
    assert found("it", "it")
    assert found("cat", "It is a cat.", alias=False)
    assert found("USSR", "in the ussr")


def test_a_label_in_capitals_is_not_the_word_that_stands_in_any_text():
    for answer in ("The answer is BT.", "It is BT"):
        assert not mentions("IS", read(answer)) and not mentions("IT", read(answer))
    assert mentions("IS", read("The answer is IS")) and mentions("IS", read("is")) and mentions("IS", read("IS; 1944"))
    assert not mentions("IS", read("THE ANSWER IS BT"))
    assert mentions("BT", read("It is bt")) and mentions("He", read("It is he"))


@pytest.mark.parametrize(
    ("name", "answer", "named"),
    [
        ("I", "I think it is Br", False),
        ("I", "The symbol is I.", True),
        ("In", "In the periodic table it is Sn, as in stannum", False),
        ("In", "The symbol is In", True),
        ("In", "In is the symbol", True),
        ("In", "in", True),
        ("Be", "That would be B", False),
        ("IT", "the code IT of Italy", True),
    ],
)
def test_symbols_that_are_common_words_are_named_where_nothing_else_is_meant(name, answer, named):
    assert bool(mentions(name, read(answer))) == named


def test_a_date_in_figures_has_both_readings_where_both_are_dates():
    [one] = dates("5/6/1982")
    assert set(one.readings) == {Date(1982, 5, 6), Date(1982, 6, 5)}
    [two] = dates("31.12.1982")
    assert two.readings == (Date(1982, 12, 31),)
    assert dates("32.13.1982") == ()


def test_years_in_a_row_are_each_a_number():
    assert [int(one.value) for one in numbers("1982,1983 and 1,984")] == [1982, 1983, 1984]


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
PLAIN = st.text("abcdefghij kü", min_size=1, max_size=20).filter(str.strip)


@given(PLAIN, st.sampled_from(["{}", "It is {}.", "({})", "“{}”", "1) {}\n2) others", "x, {}, y"]))
def test_a_name_is_found_in_any_sentence_that_says_it(name, sentence):
    assert mentions(name, read(sentence.format(name)))


@given(PLAIN)
def test_case_and_space_do_not_matter(name):
    answer = "  ".join(name.upper().split(" "))
    assert mentions(name, read(answer))


@given(NAMES, NAMES)
def test_any_text_can_be_read(name, answer):
    said = read(answer)
    for first, last in mentions(name, said):
        assert 0 <= first <= last <= len(said.words)
    assert list(said.starts) == sorted(said.starts)
    assert all(
        said.flat[start:end] == word for word, start, end in zip(said.words, said.starts, said.ends, strict=True)
    )


@given(NAMES)
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)


@given(
    st.dates(), st.sampled_from(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d %b %Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"])
)
def test_a_date_is_equal_however_it_is_written(day, form):
    if day.year >= 1000:
        answer = read(f"It happened on {day.strftime(form)}.")
        assert mentions(day.isoformat(), answer)
        assert mentions(str(day.year), answer)


@given(st.integers(0, 10**9))
def test_a_whole_number_is_equal_with_and_without_commas(number):
    assert mentions(str(number), read(f"about {number:,} of them"))
    assert not mentions(str(number), read(f"about {number + 1:,} of them"))


@given(st.integers(2, 10**6), st.sampled_from(sorted(UNIT_NAMES)), st.sampled_from(sorted(UNIT_NAMES)), st.data())
def test_a_quantity_is_equal_in_every_name_of_its_unit_and_in_no_other_unit(number, unit, other, data):
    written = data.draw(st.sampled_from([f"{number}{unit}", *(f"{number:,} {name}" for name in UNIT_NAMES[unit])]))
    assert mentions(f"{number * 10} {unit}", read(f"about {written}")) == []
    assert mentions(f"{number} {unit}", read(f"It is {written}."))
    assert bool(mentions(f"{number} {other}", read(f"It is {written}."))) == (unit == other)


def texts_of(answer, names=()):
    said = read(answer)
    spans = [span for name in names for span in mentions(name, said)]
    return [" ".join(said.words[first:last]) for first, last in things(said, spans)]


def test_the_things_of_a_list():
    assert texts_of("Paris, Lyon and Nice") == ["paris", "lyon", "nice"]
    assert texts_of("- Paris ; - Lyon") == ["paris", "lyon"]
    assert texts_of("The answers are: 1. Paris 2. Lyon") == ["paris", "lyon"]
    assert texts_of("Washington, D.C., and Boston", ["Washington, D.C."]) == ["washington d c", "boston"]
    assert texts_of("on 5/6/1982; 1,234 people") == ["on 5 6 1982", "1 234 people"]
    assert texts_of(" ,, ") == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("New York Times", "incorrect"),
        ("the New York Times", "incorrect"),
        ("It is the New York Times.", "incorrect"),
        ("The New York Times was founded in New York.", "correct"),
        ("New York City", "correct"),  # another of its names
        ("The New York", "correct"),
        ("New York Timeshare", "correct"),
    ],
)
def test_a_name_inside_that_of_another_object_is_not_stated(answer, expected):
    longer = LongerNames.of(["New York"], ["New York", "New York City", "The New York Times", "Boston Times"])
    asked = question("saq", ("New York", "New York City"), objects=("Q1", "Q1"))
    found = judge(asked, answer, OWN, longer)
    assert found.outcome == expected
    assert (found.credit > 0) == (expected == "correct")
    assert judge(asked, answer, OWN).outcome == "correct"  # without a dataset nobody can know


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Luxembourg is a country in Western Europe.", "incorrect"),
        ("Luxembourg has a capital.", "incorrect"),
        ("Luxembourg", "correct"),
        ("Luxembourg.", "correct"),
        ("The capital is Luxembourg.", "correct"),
        ("The capital of Luxembourg is Luxembourg.", "correct"),
        ("Luxembourg is the capital of Luxembourg.", "correct"),
        ("Luxembourg City is a town.", "correct"),  # no name of the country
        ("The capital of Luxembourg is Vienna.", "incorrect"),
        ("Luxembourg's capital is Vienna.", "incorrect"),
        ("Vienna is the capital of Luxembourg.", "incorrect"),
        ("The capital of Luxembourg is Luxembourg City.", "correct"),
        ("The city of Luxembourg.", "correct"),
        ("I think Luxembourg is the capital.", "correct"),
    ],
)
def test_an_answer_that_tells_of_what_was_asked_about_does_not_name_it(answer, outcome):
    for text in ("What is the capital of Luxembourg?", "The capital of Luxembourg is [MASK]."):
        asked = question("saq", ("Luxembourg", "Luxembourg City"), objects=("Q1", "Q1"), text=text)
        assert judge(asked, answer, OWN).outcome == outcome


@pytest.mark.parametrize(
    ("text", "answer", "outcome"),
    [
        ("Ford Mustang was made by [MASK].", "Ford Mustang was made by Fiat.", "incorrect"),
        ("Ford Mustang was made by [MASK].", "Ford Mustang was made by Ford.", "correct"),
        ("Who made the Ford Mustang?", "Fiat made the Ford Mustang.", "incorrect"),
        ("Which company is Ford Credit from?", "The company is Ford.", "correct"),
    ],
)
def test_a_statement_that_repeats_its_question_names_the_object_that_it_adds(text, answer, outcome):
    assert judge(question("saq", "Ford", text=text), answer, OWN).outcome == outcome


@pytest.mark.parametrize(
    ("gold", "other", "answer", "expected"),
    [
        ("France", "Paris, France", "Paris, France", "correct"),  # the city's name says the country
        ("France", "Paris, France", "It lies in Paris, France.", "correct"),
        ("Paris", "Paris, Texas", "Paris, Texas", "incorrect"),
        ("Washington", "Washington, D.C.", "Washington, D.C.", "incorrect"),
        ("Rhône", "Lyon, Rhône, France", "Lyon, Rhône, France", "correct"),
        ("Netherlands", "Amsterdam, the Netherlands", "Amsterdam, the Netherlands", "correct"),
        ("York", "Frederick, Duke of York", "Frederick, Duke of York", "incorrect"),
        ("New York", "New York Times", "New York. Times change.", "correct"),
        ("New York", "New York Times", "New York Times. Change.", "incorrect"),
        ("St. Louis", "St. Louis Blues", "St. Louis Blues", "incorrect"),
        ("Louis", "St Louis", "St. Louis", "incorrect"),  # no sentence ends there
        ("rock", "pop rock", "pop\nrock\njazz", "correct"),
        ("rock", "pop rock", "pop/rock", "correct"),
        ("rock", "pop rock", "pop rock", "incorrect"),
        ("Earth", "Earth, Wind & Fire", "Earth, Wind & Fire", "incorrect"),
        ("Earth", "Earth, Wind & Fire", "Earth Wind & Fire", "incorrect"),
        ("band", "The Band", "The band", "correct"),
        ("band", "The Band Perry", "The Band Perry", "incorrect"),
    ],
)
def test_what_stands_beside_a_name_makes_a_longer_one_only_as_that_is_written(gold, other, answer, expected):
    assert judge(question("saq", gold), answer, OWN, LongerNames.of([gold], [gold, other])).outcome == expected


@pytest.mark.parametrize("answer", ["pop, rock", "rock; pop", "- Pop\n- Rock", "pop\nrock", "pop | rock", "pop/rock"])
def test_a_list_of_true_objects_is_no_longer_name(answer):
    longer = LongerNames.of(["rock", "pop"], ["rock", "pop", "pop rock", "rock pop"])
    found = judge(question("saq", ("rock", "pop")), answer, OWN, longer)
    assert (found.outcome, found.precision, found.recall) == ("correct", 1, 1)


@pytest.mark.parametrize(
    ("answer", "said", "recall"),
    [
        ("Guinea-Bissau", "Guinea-Bissau", 1 / 3),
        ("Guinea-Bissau and Mali", "Guinea-Bissau; Mali", 2 / 3),
        ("Guinea, Guinea-Bissau", "Guinea; Guinea-Bissau", 2 / 3),
        ("Republic of Mali", "Mali", 1 / 3),  # another name of the same
    ],
)
def test_a_true_object_is_not_named_within_another_true_one(answer, said, recall):
    names = ("Guinea", "Guinea-Bissau", "Mali", "Republic of Mali")
    asked = question("saq", names, objects=("Q1", "Q2", "Q3", "Q3"))
    found = judge(asked, answer, OWN, LongerNames.of(names, names))
    assert (found.outcome, found.said, found.precision, found.recall) == ("correct", said, 1, recall)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), st.lists(st.sampled_from("abcd"), max_size=4))
def test_only_names_of_more_words_that_hold_an_accepted_one_are_kept(name, accepted):
    kept = LongerNames.of([" ".join(accepted)], [" ".join(name)]).runs
    texts = [f" {' '.join(words)} " for words in (name, accepted)]
    inside = bool(accepted) and texts[1] in texts[0] and texts[0] != texts[1]
    assert (tuple(name) in kept) == inside


@pytest.mark.parametrize(
    ("text", "folded"),
    [("in _1989_.", "in 1989."), ("__New York__", "new york"), ("snake_case, ___ and _", "snake_case, ___ and _")],
)
def test_underscores_around_words_are_emphasis(text, folded):
    assert fold(text) == folded
