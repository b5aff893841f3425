"""Lists of phrases by which a model declines to answer."""

import pytest

from almanac.errors import AlmanacError
from almanac.suites.facteval.reading.abstention import OWN, load
from almanac.suites.facteval.reading.text import mentions, read


@pytest.mark.parametrize(
    "answer",
    ["UNKNOWN.", "I'm sorry, I can’t help", "I don't know", "it is NOT   sure", "As an AI, I have no opinion", "n/a"],
)
def test_the_own_list_knows_the_usual_ways(answer):
    assert load().within(read(answer))


@pytest.mark.parametrize("answer", ["", "Paris", "The unknowns", "sorrynotsorry", "surely", "CORRECT", "INCORRECT"])
def test_and_takes_no_answer_for_one(answer):
    assert not load().within(read(answer))


def test_every_phrase_of_the_own_list_stands_once_and_is_recognised():
    own = load()
    assert len({" ".join(one.words) for one in own.readings}) == len(own.phrases)
    for phrase in own.phrases:
        assert own.within(read(f"Well, {phrase}!")), phrase
        assert own.within_text(f"WELL, {phrase.upper()}!"), phrase


def test_what_the_released_scorer_takes_for_an_answer_is_left_out_of_its_mode():
    for answer in ("unsure", "I am not sure", "I cannot confirm that.", "None of the above", "n/a"):
        assert load().within_text(answer)
        assert not load().released().within_text(answer)
    for answer in ("Sorry", "I cannot answer that", "I don't know", "As an AI language model, I", "Unfortunately"):
        assert load().released().within_text(answer)


def test_a_phrase_inside_a_mention_does_not_count():
    said = read("the album Unknown Pleasures")
    assert load().within(said)
    assert not load().within(said, mentions("Unknown Pleasures", said))


def test_a_list_of_lines_can_be_given(tmp_path):
    path = tmp_path / "published.txt"
    path.write_text("sorry\n\n  pass on this \n", "utf-8")
    assert load(path).phrases == ("sorry", "pass on this")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.txt", None, "cannot be read"),
        ("bad.txt", " \n\n", "holds no phrase"),
        ("bad.yaml", "phrases: [", "is no YAML"),
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
        load(tmp_path / name)


def test_the_own_list_ships():
    assert OWN.is_file()
