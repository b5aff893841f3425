"""What becomes of BELIEF's items."""

import math

from almanac.suites.belief.judging import of_candidates, of_text, of_vocabulary
from almanac.suites.belief.lemmas import by_rule


def blank(ranks, counts, logprobs, token="Oslo", index=0, choices=("Oslo", "Christiania"), labels=1):
    return {
        "status": "ok",
        "index": index,
        "choices": choices,
        "labels": labels,
        "ranks": ranks,
        "token_counts": counts,
        "logprobs": logprobs,
        "tokens": (token,),
        "probabilities": (0.4,),
    }


def text(*texts, accepted=("New York", "NY"), name=None):
    return {"status": "ok", "texts": texts, "accepted": accepted, "name": name}


def judged(row, samples=None, sequence=None):
    return of_text(row, samples, sequence, by_rule)


def test_the_likeliest_token_is_right_where_it_is_a_true_name_of_one_token():
    found = of_vocabulary(blank((0, None), (1, 4), (-0.9, -3.0)))
    assert (found.outcome, found.prediction, found.confidence, found.score) == ("correct", "Oslo", 0.4, -0.9)
    assert (found.object_tokens, found.by_alias) == (1, False)
    other = of_vocabulary(blank((1, None), (1, 4), (-0.9, -0.3), "the"))
    assert (other.outcome, other.by_alias) == ("incorrect", True)
    second = of_vocabulary(blank((3, 0), (1, 1), (-0.9, -0.3), "Christiania"))
    assert (second.outcome, second.score) == ("correct", -0.3)


def test_an_object_of_several_tokens_alone_cannot_be_judged_by_the_likeliest_token():
    found = of_vocabulary(blank((None, None), (2, 4), (-0.9, -3.0), "the"))
    assert (found.outcome, found.score, found.confidence, found.object_tokens) == ("invalid", None, None, 2)


def test_a_name_that_the_tokenizer_cannot_write_is_neither_right_nor_wrong():
    """A count of 0: the log-probability is the unknown token's, which says nothing of the name."""
    choices = ("Lima", "Oslo", "Christiania")
    lacking = blank((3, None, None), (1, 0, 0), (-4.0, -0.1, -0.1), "the", 1, choices)
    for found in (of_vocabulary(lacking), of_candidates(lacking)):
        assert (found.outcome, found.score, found.object_tokens, found.by_alias) == ("invalid", None, None, None)
    label = blank((3, 4, None), (1, 1, 0), (-4.0, -5.0, -0.1), "the", 1, choices)
    assert (of_vocabulary(label).outcome, of_vocabulary(label).score) == ("incorrect", -5.0)
    found = of_candidates(label)
    assert (found.outcome, found.prediction, found.object_tokens, found.by_alias) == ("incorrect", "Lima", 1, False)
    assert math.isclose(found.confidence, 1 / (1 + math.exp(-1))), "that of the prediction"
    wrong = blank((None, 2, None), (0, 1, 2), (-0.1, -5.0, -6.0), "the", 1, choices)
    assert of_candidates(wrong).outcome == "correct"


def test_ranked_objects_are_held_against_the_true_names_together():
    row = blank(
        (None,) * 4, (1,) * 4, (-2.0, -3.0, -2.5, -1.0), index=2, choices=("Lima", "Rome", "Oslo", "Christiania")
    )
    found = of_candidates(row)
    total = sum(map(math.exp, row["logprobs"]))
    assert (found.outcome, found.prediction, found.answer, found.by_alias) == ("correct", "Christiania", "Oslo", True)
    assert math.isclose(found.score, -1.0 - math.log(total))
    assert math.isclose(found.confidence, math.exp(-1.0) / total)


def test_of_ranked_objects_it_is_said_of_how_many_one_is_true():
    row = blank((None,) * 5, (1,) * 5, (-1.0,) * 5, index=3, choices=("Lima", "Rome", "Bern", "Oslo", "Christiania"))
    assert of_candidates(row).offered == 4, "two names of one object"
    assert of_candidates({**row, "labels": 2}).offered == 2.5, "two objects"


def test_a_wrong_object_that_is_as_likely_makes_it_wrong():
    row = blank((None,) * 2, (1,) * 2, (-1.0, -1.0), index=1, choices=("Lima", "Oslo"))
    assert of_candidates(row).outcome == "incorrect"


def test_another_name_is_held_against_the_labels_of_all_true_objects_where_there_is_one():
    both = ("Oslo", "Bergen", "Christiania")
    likeliest = {"ranks": (None,) * 3, "counts": (2, 2, 2), "choices": both}
    assert of_vocabulary(blank(logprobs=(-3.0, -1.0, -2.0), labels=2, **likeliest)).by_alias is False
    assert of_vocabulary(blank(logprobs=(-3.0, -2.0, -1.0), labels=2, **likeliest)).by_alias is True
    assert of_vocabulary(blank(logprobs=(-3.0, -2.0, -1.0), labels=3, **likeliest)).by_alias is None


def test_a_text_is_right_where_a_true_name_stands_in_its_first_line():
    assert judged(text(" New York.\nQ: next")).outcome == "correct"
    assert judged(text(" the city of New York")).outcome == "correct"
    assert judged(text("The correct answer is:\n\n New York.\n")).outcome == "correct"
    assert judged(text(" York")).outcome == "incorrect"  # the name in the answer, not the answer in the name


def test_a_name_within_the_subjects_does_not_stand_where_that_is_repeated():
    son = {"accepted": ("Hans Holbein the Elder", "Hans Holbein"), "name": "Hans Holbein the Younger"}
    assert judged(text("The answer is: Hans Holbein the Younger", **son)).outcome == "incorrect"
    assert judged(text("Hans Holbein the Younger's father was Hans Holbein.", **son)).outcome == "correct"
    city = {"accepted": ("Luxembourg",), "name": "Luxembourg"}
    assert judged(text("It is Luxembourg", **city)).outcome == "correct"


def test_an_empty_text_is_wrong_and_agrees_with_nothing():
    found = judged(text(""), text("", "", " New York"))
    assert (found.outcome, found.answer, found.one_word, found.confidence) == ("incorrect", "", False, 0)


def test_a_name_of_signs_alone_is_right_as_the_whole_answer_and_agrees_with_itself():
    found = judged(text(" %.", accepted=("%", "percent")), text("%", "!", " percent", "“%”"))
    assert (found.outcome, found.answer, found.confidence) == ("correct", "%", 0.5)
    assert judged(text("!", accepted=("%",))).outcome == "incorrect"


def test_a_verdict_that_rests_on_an_unsafe_name_alone_is_told():
    assert judged(text(" NY")).unsafe is True
    assert judged(text(" NY, New York")).unsafe is False
    assert judged(text(" Oslo")).unsafe is False


def test_confidence_is_the_share_of_samples_that_match_the_greedy_text_in_either_direction():
    found = judged(text(" New York"), text(" York.", " new york", " the New York area", " Boston"))
    assert found.confidence == 0.75
