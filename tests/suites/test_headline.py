"""What is owed to chance, by hand and against the exact distribution; verdicts that are adjusted together."""

import dataclasses
import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated import LIKINGS, SEVERAL, above, by_names, likings, model, over_all, scores, several
from scipy.stats import binom, norm, poisson_binom

from almanac.report import answer
from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.intervals import wilson
from almanac.suites import chance, headline
from almanac.suites.chance import ABOVE, CHANCE, GIVEN, GIVEN_OF_RELATION, OF_RELATION
from almanac.suites.chapter import NOT_TAUGHT, Entrant
from almanac.suites.commonness import Common, Several
from almanac.suites.headline import FACTS, KNOWN, findings, holm
from almanac.suites.judged import Judged, as_text
from almanac.suites.listing import method_labels
from almanac.suites.other_facts import loosely
from almanac.suites.suite import Method
from almanac.suites.truths import Truths

METHOD = Method("m", "M", {"experiment": "m"})


def test_a_method_of_several_ways_is_called_by_them_and_of_one_by_its_name():
    def named(*wheres, suite="head_to_tail", method="question"):
        keys = [(suite, method, as_text(where)) for where in wheres]
        return [method_labels(keys)[key] for key in keys]

    few, zero = ({"experiment": "question", "prompt": prompt} for prompt in ("few_shot", "zero_shot"))
    assert named(few) == ["Head-to-Tail"]
    assert named(few, zero, few) == ["Head-to-Tail, few shot", "Head-to-Tail, zero shot", "Head-to-Tail, few shot"]
    assert named(few, few | {"x": 1}) == ["Head-to-Tail", "Head-to-Tail (2)"], "what parts them is no way of asking"
    shots = named({"shots": 4}, {"shots": 16}, suite="ic_lke", method="in_context")
    assert shots == ["IC-LKE, 4 examples", "IC-LKE, 16 examples"]
    assert named({"a": 1}, suite="gone", method="theirs") == ["theirs"]


def judged(rows, **more):
    """Items by relation, subject, accepted texts and prediction; right where the prediction is accepted."""
    frame = pl.DataFrame(
        {
            "item": pl.Series(range(len(rows)), dtype=pl.UInt32),
            "experiment": ["m"] * len(rows),
            "relation": [row[0] for row in rows],
            "fact": [f"f{at}" for at in range(len(rows))],
            "subject": [row[1] for row in rows],
            "hit": [None if row[3] is None else row[3] in row[2] for row in rows],
            "outcome": ["error" if row[3] is None else "correct" if row[3] in row[2] else "incorrect" for row in rows],
            "prediction": [row[3] for row in rows],
        }
        | more
    )
    names = {at: frozenset(map(str.lower, row[2])) for at, row in enumerate(rows)}
    numbers = {texts: number for number, texts in reversed(names.items())}
    truths = [numbers[names[at]] for at in range(len(rows))]
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(truths, dtype=pl.UInt64)})
    return Judged("s", "d", "model", frame), Truths(of_item, names, None)


def numbers(own, truths):
    answered = own.frame.filter(pl.col("hit").is_not_null())
    return {row.metric: row for row in chance.against_others(own, answered, truths)}


def test_an_answer_is_held_against_the_other_facts_of_its_relation():
    """Of relation a, Rome is right for 2 of the 3 others of the second fact, and so on; of b nothing is ever right."""
    own, truths = judged(
        [
            ("a", "s1", ["Rome"], "Rome"),
            ("a", "s2", ["Paris"], "Rome"),
            ("a", "s3", ["Rome"], "Paris"),
            ("a", "s4", ["Oslo"], "Oslo"),
            ("b", "s5", ["red"], "Rome"),
            ("b", "s6", ["blue"], "Rome"),
            ("b", "s7", ["blue"], None),
            ("b", "s8", ["green"], "Rome"),
            ("c", "s9", ["Rome"], "Rome"),  # two facts of a relation say nothing of chance
            ("c", "s10", ["Oslo"], "Oslo"),
        ]
    )
    found = numbers(own, truths)
    in_a = [1 / 3, 2 / 3, 1 / 3, 0]
    assert found[CHANCE].value == pytest.approx((np.mean(in_a) + 0) / 2)
    assert found[ABOVE].value == pytest.approx((np.mean([1, 0, 0, 1]) - np.mean(in_a)) / 2)


def test_a_samples_answers_are_held_against_the_facts_that_were_not_drawn_too():
    """Rome is right for one of the five others of the first fact, for two of the five others of the second."""
    own, truths = judged([("a", "s1", ["Rome"], "Rome"), ("a", "s2", ["Paris"], "Rome")])
    objects = {"f0": "rome", "f1": "paris", "f2": "rome", "f3": "oslo", "f4": "oslo", "f5": "bern"}
    named = {"a": {fact: frozenset({name}) for fact, name in objects.items()}}
    found = numbers(own, Truths(truths.of_item, truths.names, None, named))
    assert found[CHANCE].value == pytest.approx((1 / 5 + 2 / 5) / 2)
    offered = pl.DataFrame({"fact": ["f0", "f1"], "offered": [["Rome", "Oslo", "Lima"]] * 2})
    restricted = numbers(own, Truths(truths.of_item, truths.names, offered, named))
    # Right for one of three and for two of four, and a third of a fact more.
    assert restricted[CHANCE].value == pytest.approx(((1 + 1 / 3) / 4 + (2 + 1 / 3) / 5) / 2)


@pytest.mark.parametrize(("answers", "share"), [(("Rome", "…", "", "7"), 0.5), (("Rome", "₂", "é", None), None)])
def test_answers_without_words_are_counted(answers, share):
    own, _ = judged([("a", f"s{at}", ["Rome"], answer) for at, answer in enumerate(answers)])
    answered, read = own.frame.filter(pl.col("hit").is_not_null()), own.frame.select("item", "prediction")
    found = list(headline._without_words(own, answered, read))
    assert [row.value for row in found] == ([] if share is None else [share])


def test_where_no_fact_that_is_asked_is_a_test_fact_answers_are_held_against_these_all_the_same():
    own, truths = judged([("a", "s1", ["Rome"], "Rome"), ("a", "s2", ["Paris"], "Rome")])
    named = {"a": {f"t{at}": frozenset({name}) for at, name in enumerate(["rome", "oslo", "oslo", "bern"])}}
    common = {"a": Common(6, 4, {"rome": 2, "paris": 1, "oslo": 2, "bern": 1})}
    found = numbers(own, replace(truths, objects=named, common=common))
    assert found[CHANCE].value == pytest.approx((1 / 5 + 2 / 5) / 2)


def test_a_fact_asked_that_is_no_test_fact_hides_none_of_those_that_were_not_drawn():
    """Head-to-Tail asks facts that other methods take for examples, as f1 here, whose Paris nobody else has."""
    own, truths = judged([("a", "s1", ["Rome"], "Rome"), ("a", "s2", ["Paris"], "Rome")])
    objects = {"f0": "rome", "f2": "rome", "f3": "oslo", "f4": "oslo", "f5": "bern"}
    named = {"a": {fact: frozenset({name}) for fact, name in objects.items()}}
    found = numbers(own, Truths(truths.of_item, truths.names, None, named))
    assert found[CHANCE].value == pytest.approx((1 / 5 + 2 / 5) / 2)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("São Paulo", "Sao Paulo"),
        ("1000", "1,000"),
        ("lion", "lions"),
        ("The Beatles", "Beatles"),
        ("1990-05-01", "the first of May of 1990"),
        ("88 km", "88"),
    ],
)
def test_an_answer_that_a_judge_takes_for_a_name_has_the_chance_of_the_name(name, said):
    """A third of the facts have it; whatever a suite's own judge takes for the same is so for other facts too."""
    objects = [name if at % 3 == 0 else f"o{at}" for at in range(60)]
    own, truths = judged([("a", f"s{at}", [one], said) for at, one in enumerate(objects)])
    hits = pl.Series([one == name for one in objects])
    found = numbers(replace(own, frame=own.frame.with_columns(hit=hits)), truths)
    assert found[CHANCE].value == pytest.approx(1 / 3)
    assert found[ABOVE].p > 0.4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("United States", "`United States`"),
        ("Netherlands", "<b>Netherlands</b>"),
        ("Beatles", "Beatles™"),
        ("McDonald's", "McDonalds"),
        ("U.S.", "the US"),
        ("Guinea-Bissau", "GuineaBissau"),
        ("C++", "C++"),
        ("8½", "8½"),
        ("5551234", "555-1234"),
        ("34", "3/4"),
        ("5", "12.5.1990"),
        ("HTML 4", "HTML 4.01"),
        (".22 Long Rifle", "0.22 Long Rifle"),
        ("東京", "東京です"),
        ("A", "A."),
        ("€", "€"),
    ],
)
def test_a_name_in_a_sentence_of_its_own_for_each_subject_has_the_chance_of_the_name(name, said):
    """Answers differ, so that none was judged right for other facts: each is read for itself."""
    objects = [name if at % 3 == 0 else f"o{at}" for at in range(60)]
    own, truths = judged([("a", f"s{at}", [one], f"Of s{at} it is {said}") for at, one in enumerate(objects)])
    hits = pl.Series([one == name for one in objects])
    found = numbers(replace(own, frame=own.frame.with_columns(hit=hits)), truths)
    assert found[CHANCE].value == pytest.approx(1 / 3)
    assert found[ABOVE].p > 0.4


@pytest.mark.parametrize(
    ("name", "said"),
    [("1.5", "15"), ("2.5", "25"), ("5", "2.5"), ("-2", "2"), ("2", "\u22122"), ("1.000", "1,000")],
)
def test_another_number_has_no_chance_of_the_name(name, said):
    """The point of a fraction and a minus are left out by no judge, in an answer alone or in a sentence."""
    objects = [name if at % 3 == 0 else f"o{at}" for at in range(60)]
    for told in (said, f"It is {said}."):
        own, truths = judged([("a", f"s{at}", [one], told) for at, one in enumerate(objects)])
        assert numbers(own, truths)[CHANCE].value == 0, told


def test_facts_of_which_no_true_name_can_be_answered_are_no_other_facts():
    """Of nine facts with an object of one token a third have it; those with another object are left out of known, too.

    No fact that was not asked counts: those whose objects are among the answered would be the common ones.
    """
    names = ["Peru"] * 3 + ["Chad", "Cuba", "Mali", "Iran", "Oman", "Togo"] + ["Costa Rica"] * 9
    own, truths = judged([("a", f"s{at}", [name], "Peru") for at, name in enumerate(names)])
    invalid = pl.Series([" " in name for name in names])
    frame = own.frame.with_columns(
        hit=pl.when(invalid).then(None).otherwise("hit"),
        outcome=pl.when(invalid).then(pl.lit("invalid")).otherwise("outcome"),
    )
    objects = {f"f{at}": frozenset({name.lower()}) for at, name in enumerate([*names, "Peru", "Burkina Faso"])}
    found = numbers(replace(own, frame=frame), replace(truths, objects={"a": objects}))
    assert found[CHANCE].value == pytest.approx((3 * 2 / 8 + 6 * 3 / 8) / 9)


def test_the_judge_of_a_suite_says_which_names_an_answer_is_right_for():
    """What follows the first name is no answer to a judge that reads the beginning alone."""
    cities = ["Oslo", "Bern", "Kyiv", "Rome"]
    own, truths = judged([("a", f"s{at}", [cities[at % 4]], f"Oslo. s{at}: {cities[at % 3]}") for at in range(40)])
    begins = replace(truths, accepts=lambda answer, names: [name for name in names if answer.lower().startswith(name)])
    assert numbers(own, begins)[CHANCE].value == pytest.approx(1 / 4)
    assert numbers(own, truths)[CHANCE].value > 1 / 3


def test_a_judge_that_minds_case_is_given_names_and_answers_alike():
    """An answer's lines remain, since a judge may read the first alone."""
    cities = ["Oslo", "Bern", "Kyiv", "Rome"]
    own, truths = judged([("a", f"s{at}", [cities[at % 4]], f"Oslo\nRome, s{at}") for at in range(40)])
    exact = replace(truths, accepts=lambda answer, names: [name for name in names if answer.split("\n")[0] == name])
    assert numbers(own, exact)[CHANCE].value == pytest.approx(1 / 4)


def test_a_suite_that_asks_subjects_holds_answers_against_each_subject_once():
    """Of the subjects t and u, not asked, t has Rome and Paris, as s3 has; of the one that is asked another fact."""
    own, truths = judged([("a", "s1", ["Rome"], "Rome"), ("a", "s2", ["Oslo"], "Rome"), ("a", "s3", ["Rome"], "Rome")])
    both = frozenset({"rome", "paris"})
    facts = {"t1": both, "t2": both, "u": frozenset({"bern"}), "s3b": both}
    subject = {"t1": "t", "t2": "t", "s3b": "s3"}
    truths = replace(truths, objects={"a": facts}, of_subject={"a": facts}, subject=subject, by_subject=True)
    assert numbers(own, truths)[CHANCE].value == pytest.approx((2 / 4 + 3 / 4 + 2 / 4) / 3)


@pytest.mark.parametrize(
    ("answer", "name"), [("A-", "a-"), ("Sao Paulo", "sao paulo"), ("the lions", "lion"), (".", "."), ("A", "a")]
)
def test_an_answer_is_read_laxly_and_something_of_it_stays(answer, name):
    assert loosely(answer) == loosely(name) != ""


@pytest.mark.parametrize(
    "objects", [". , ; : ! ?", "A A+ A- B B+ B-", "C C# C++ F F# G", "3 3.5 4 4.5 5 5.5", "a b c d e f"]
)
def test_who_guesses_among_choices_is_right_once_in_as_many_whatever_signs_tell_them_apart(objects):
    names = objects.split()
    rows = [("a", f"s{at}", [names[at % 6]], names[at // 6 % 6]) for at in range(72)]
    own, truths = judged(rows)
    offered = pl.DataFrame({"fact": [f"f{at}" for at in range(72)], "offered": [names] * 72})
    found = numbers(own, replace(truths, offered=offered))
    assert found[CHANCE].value == pytest.approx(1 / 6)
    assert found[ABOVE].value == pytest.approx(0)


@pytest.mark.parametrize("hits", [0, 5, 12])
def test_an_answer_that_no_other_fact_can_be_held_against_is_right_once_in_as_many_as_were_offered(hits):
    """Each of 48 facts has an object and nine wrong choices of its own."""
    rows = [("a", f"s{at}", [f"o{at}"], f"o{at}" if at < hits else f"w{at} 0") for at in range(48)]
    own, truths = judged(rows)
    choices = [[f"o{at}", *(f"w{at} {n}" for n in range(9))] for at in range(48)]
    offered = pl.DataFrame({"fact": [f"f{at}" for at in range(48)], "offered": choices})
    found = numbers(own, Truths(truths.of_item, truths.names, offered))
    assert found[CHANCE].value == pytest.approx(0.1)
    assert found[ABOVE].value == pytest.approx(hits / 48 - 0.1)
    assert found[ABOVE].p == pytest.approx(binom.sf(hits - 1, 48, 0.1))


def test_who_is_no_more_right_than_by_chance_is_not_above_it_however_rare_its_favourite_is_elsewhere():
    """Half of the facts have Bern, which is always said and always offered, and which one in a thousand facts has."""
    rows = [("a", f"s{at}", ["Bern"] if at % 2 else [f"o{at}"], "Bern") for at in range(40)]
    own, truths = judged(rows)
    offered = pl.DataFrame(
        {"fact": [f"f{at}" for at in range(40)], "offered": [["Bern", f"o{at}"] for at in range(40)]}
    )
    common = {"a": Common(1000, 41, Counter({"bern": 1} | {f"o{at}": 100 for at in range(40)}))}
    found = numbers(own, replace(truths, offered=offered, common=common))[ABOVE]
    assert found.value < 0 and found.p == 0.5


def test_choices_are_true_in_proportion_to_how_many_facts_have_them():
    """Of a hundred facts ninety have Rome, nine Oslo and one Bern; Lima is of none and counts as of one."""
    common = {"a": Common(100, 3, Counter({"rome": 90, "oslo": 9, "bern": 1}))}
    rows = [("a", f"s{at}", ["Rome"], said) for at, said in enumerate(["Rome", "Rome", "Oslo", "Bern", "none"])]
    own, truths = judged(rows)
    offered = pl.DataFrame({"fact": [f"f{at}" for at in range(5)], "offered": [["Rome", "Oslo", "Bern", "Lima"]] * 5})
    found = numbers(own, replace(truths, offered=offered, common=common))[ABOVE].p
    assert found == pytest.approx(poisson_binom.sf(1, [90 / 101, 90 / 101, 9 / 101, 1 / 101, 0]))
    guessed = numbers(own, replace(truths, offered=offered))[ABOVE].p
    assert guessed == pytest.approx(binom.sf(1, 4, 1 / 4)), "where nothing is known of objects a choice is a guess"


def test_statements_that_are_true_or_false_are_held_against_those_that_were_asked():
    rows = [("a", f"s{at}", ["correct" if at < 2 else "incorrect"], "correct") for at in range(3)]
    own, truths = judged(rows)
    named = {"a": {f"f{at}": frozenset({"oslo"}) for at in range(9)}}
    found = numbers(own, Truths(truths.of_item, truths.names, None, named))
    assert found[CHANCE].value == pytest.approx((1 / 2 + 1 / 2 + 2 / 2) / 3)


@pytest.mark.parametrize("told", [0, 1, 6, 20])
def test_of_a_true_and_a_false_statement_only_those_are_tested_that_are_answered_differently(told):
    """Of twenty facts all statements are called correct, but of the last so many the false one is not."""
    rows = [("a", f"s{at}", ["correct"], "correct") for at in range(20)]
    rows += [("a", f"s{at}", ["incorrect"], "correct" if at < 20 - told else "incorrect") for at in range(20)]
    own, truths = judged(rows, fact=[f"f{at}" for at in range(20)] * 2)
    offered = pl.DataFrame({"item": own.frame["item"], "offered": [["correct", "incorrect"]] * 40})
    found = numbers(own, replace(truths, offered=offered))
    assert found[CHANCE].value == pytest.approx(1 / 2)
    assert found[ABOVE].value == pytest.approx(told / 40)
    assert found[ABOVE].p == pytest.approx(binom.sf(told - 1, told, 1 / 2) if told else 1)


@pytest.mark.parametrize(("relations", "facts", "most"), [(38, 1, 0.6), (6, 10, 0.1)])
def test_few_facts_of_a_relation_or_few_hits_give_an_interval_that_covers(relations, facts, most):
    """Of 300 draws of facts 95 % of the intervals, less what may be luck, hold what they are of."""
    rng = np.random.default_rng(0)
    known = rng.uniform(0, most, (relations, 1))
    names = np.repeat([str(at) for at in range(relations)], facts)
    subjects = [str(at) for at in range(relations * facts)]
    covered = 0
    for _ in range(300):
        hits = (rng.random((relations, facts)) < known).astype(float).ravel()
        drawn = pl.DataFrame(
            {"relation": names, "subject": subjects, "hit": hits, "above": hits - 0.25, "contribution": hits}
        )
        found = chance._difference(drawn)
        covered += found.low <= known.mean() - 0.25 <= found.high
        [own] = grouped.macro(drawn, [], "hit", "relation", "subject").rows()
        assert tuple(found) == pytest.approx([one - 0.25 for one in own]), "chance that does not vary adds nothing"
    assert covered >= 279, "a normal interval of few hits holds it in 86 %"


def test_chance_that_varies_makes_the_interval_wider_by_its_variance():
    """Twenty facts of a relation: what chance adds is the variance of the differences less that of the hits."""
    hits = np.repeat([1.0, 0.0], 10)
    chances = np.tile([0.0, 0.4], 10)
    facts = pl.DataFrame(
        {
            "relation": "a",
            "subject": map(str, range(20)),
            "hit": hits,
            "above": hits - chances,
            "contribution": hits - chances,
        }
    )
    found = chance._difference(facts)
    added = (np.var(hits - chances, ddof=1) - np.var(hits, ddof=1)) / 20
    _, low, high = wilson(0.5, 20)
    z = norm.ppf(0.975)
    assert found.value - found.low == pytest.approx(math.hypot(0.5 - low, z * math.sqrt(added)))
    assert found.high - found.value == pytest.approx(math.hypot(high - 0.5, z * math.sqrt(added)))


def test_a_fact_is_a_draw_of_its_answer_and_of_its_objects():
    """What each fact brings to the mean, by hand: leaving one out changes the mean of pairs by what it brings."""
    answers, objects = "aabacb", "abacba"
    rows = [
        ("r", f"s{at}", [object_], answer) for at, (answer, object_) in enumerate(zip(answers, objects, strict=True))
    ]
    seen = []
    original = chance._difference

    def noted(facts):
        seen.append(facts)
        return original(facts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chance, "_difference", noted)
        found = numbers(*judged(rows))
    right = np.array([[answer == object_ for object_ in objects] for answer in answers], dtype=float)
    pairs = right - np.diag(np.diag(right))
    n = len(answers)
    by_chance = pairs.sum(1) / (n - 1)
    added_to_others = (pairs.sum(0) - (by_chance.sum() - by_chance)) / (n - 1)
    assert found[ABOVE].value == pytest.approx(np.diag(right).mean() - pairs.sum() / n / (n - 1))
    assert seen[0]["contribution"].to_list() == pytest.approx(list(np.diag(right) - by_chance - added_to_others))


@pytest.mark.parametrize("known", range(4))
def test_no_interval_reaches_beyond_its_scale_and_each_holds_its_value(known):
    """Three relations of three facts each, of which as many are known in each."""
    own, truths = judged(
        [(name, f"{name}{at}", [f"o{at}"], f"o{at}" if at < known else "w") for name in "abc" for at in range(3)]
    )
    found = numbers(own, truths)[ABOVE]
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_a_lucky_answer_that_is_right_for_one_fact_alone_is_no_proof():
    """Of forty facts, each with an object of its own, one is hit: of answers dealt out at random as likely as not."""
    rows = [("a", f"s{at}", [f"o{at}"], "o0" if at == 0 else f"w{at}") for at in range(40)]
    found = numbers(*judged(rows))
    assert found[CHANCE].value == 0.0
    assert found[ABOVE].p == pytest.approx(1 / 39)
    dealt = [("a", f"s{at}", [f"o{at}"], f"o{at ^ 1 if at > 1 else at}") for at in range(40)]  # two stay in place
    assert numbers(*judged(dealt))[ABOVE].p == pytest.approx(binom.sf(1, 40, 1 / 39))


@pytest.mark.parametrize("relations", [1, 2, 5])
def test_a_lucky_answer_of_one_of_a_subjects_facts_proves_no_more_than_alone(relations):
    """Forty subjects in as many relations, one hit in all: it may come about in so many ways."""
    rows = [(name, f"s{at}", [f"o{at}"], f"w{at}") for name in "abcde"[:relations] for at in range(40)]
    rows[0] = (*rows[0][:3], "o0")
    tail = 1 / 39 / relations  # of a subject that is right in all of its facts
    assert numbers(*judged(rows))[ABOVE].p == pytest.approx(tail ** (1 / relations))


@pytest.mark.parametrize("hits", [0.0, 0.2, 1.0, 1.5, 3.0, 7.9])
def test_between_whole_numbers_the_tail_is_interpolated_in_its_logarithm(hits):
    [found] = chance._tail(np.array([hits]), lambda less: binom.sf(less, 8, 0.1))
    below, above = (binom.sf(least - 1, 8, 0.1) for least in (math.floor(hits), math.floor(hits) + 1))
    part = hits - math.floor(hits)
    assert found == pytest.approx(below ** (1 - part) * above**part)


def test_a_subjects_facts_are_one_draw_of_the_test():
    """Ten subjects, asked in four relations: each is right in all of them or in none, and so are those of one alone."""
    one = [("a", f"s{at}", [f"o{at % 2}"], f"o{at % 2 if at < 8 else 1 - at % 2}") for at in range(10)]
    four = [(relation, *rest) for relation in "abcd" for _, *rest in one]
    assert numbers(*judged(four))[ABOVE].p == pytest.approx(numbers(*judged(one))[ABOVE].p)


def test_few_hits_by_chance_have_the_exact_p():
    own, truths = judged(
        [("a", "s1", ["Rome"], "Rome"), ("a", "s2", ["Paris"], "Rome"), ("a", "s3", ["Rome"], "Paris")]
        + [("a", f"t{at}", ["Oslo"], "Oslo") for at in range(2)]
    )
    # Its own fact counts too: each answer is right for two of five facts, Paris for one, and is held against four.
    shares, hits = [2 / 4, 2 / 4, 1 / 4, 2 / 4, 2 / 4], 3
    expected = sum(
        math.prod(p if right else 1 - p for p, right in zip(shares, case, strict=True))
        for case in itertools.product((0, 1), repeat=5)
        if sum(case) >= hits
    )
    assert numbers(own, truths)[ABOVE].p == pytest.approx(expected, abs=1e-12)


def test_each_relation_has_its_chance_and_the_tail_of_a_binomial_at_the_mean_chance_of_its_test():
    """In a, two of four answers are right, in b none is; c has too few facts to say anything of open answers."""
    objects = {"a": ["Rome", "Paris", "Rome", "Oslo"], "b": ["red", "blue", "blue", "green"], "c": ["Rome"]}
    answers = {"a": ["Rome", "Rome", "Paris", "Oslo"], "b": ["Rome"] * 4, "c": ["Rome"]}
    rows = [(name, f"{name}{at}", [one], answers[name][at]) for name in "abc" for at, one in enumerate(objects[name])]
    own, truths = judged(rows)
    found = {
        row.where: row
        for row in chance.against_others(own, own.frame, truths)
        if row.metric == OF_RELATION and row.value is not None
    }
    a, b = (found[as_text({"relation": name})] for name in "ab")
    assert len(found) == 2
    assert (a.value, a.n, b.value) == (pytest.approx((1 / 3 + 2 / 3 + 1 / 3 + 0) / 4), 4, 0.0)
    # Its own fact counts too: Rome is right for two of four facts, held against three, Paris and Oslo for one.
    assert a.p == pytest.approx(binom.sf(1, 4, (2 / 3 + 2 / 3 + 1 / 3 + 1 / 3) / 4))
    assert b.p == 1.0


def test_of_one_relation_whose_facts_have_the_same_chance_p_is_that_of_all_relations():
    rows = [("a", f"s{at}", [f"o{at}"], f"o{at}" if at < 7 else f"w{at}") for at in range(24)]
    offered = pl.DataFrame(
        {"fact": [f"f{at}" for at in range(24)], "offered": [[f"o{at}", f"w{at}", "x", "y"] for at in range(24)]}
    )
    own, truths = judged(rows)
    found = numbers(own, Truths(truths.of_item, truths.names, offered))
    assert found[OF_RELATION].p == pytest.approx(found[ABOVE].p) == pytest.approx(binom.sf(6, 24, 1 / 4))
    pairs = [(f"o{at % 2}", f"o{1 - at % 2}") for at in range(12)]
    won = false_objects([2.0] * 9 + [1.0] * 3, [1.0] * 9 + [2.0] * 3, pairs, [f"o{at % 2}" for at in range(12)])
    assert won[OF_RELATION].p == pytest.approx(won[ABOVE].p) == pytest.approx(binom.sf(8, 12, 1 / 2))


@pytest.mark.parametrize(("right", "p"), [(12, 1.0), (20, binom.sf(7, 12, 1 / 4))])
def test_who_goes_by_names_knows_nothing_of_facts_that_they_do_not_give_away(right, p):
    """Names give away the first 12 of 24 facts."""
    rows = [("a", f"s{at}", [f"o{at}"], f"o{at}" if at < right else f"w{at}") for at in range(24)]
    offered = pl.DataFrame(
        {"fact": [f"f{at}" for at in range(24)], "offered": [[f"o{at}", f"w{at}", "x", "y"] for at in range(24)]}
    )
    own, truths = judged(rows)
    given = frozenset(f"f{at}" for at in range(12))
    found = numbers(own, replace(truths, offered=offered, given=given))
    assert (found[GIVEN_OF_RELATION].value, found[GIVEN_OF_RELATION].p) == (0.5, pytest.approx(p))
    assert (found[GIVEN].value, found[GIVEN].p) == (0.5, pytest.approx(p))
    assert found[OF_RELATION].p == pytest.approx(binom.sf(right - 1, 24, 1 / 4))
    whole = numbers(own, replace(truths, offered=offered, given=frozenset(own.frame["fact"])))
    assert [(whole[one].value, whole[one].p) for one in (GIVEN_OF_RELATION, GIVEN)] == [(1.0, None), (1.0, 1.0)]


def test_facts_of_the_same_subject_that_names_give_away_leave_as_many_others():
    """Beyond names there are six facts, three of them x: the answer x is right for 3 of the 5 other ones, of each."""
    objects = {"s0": "pqx", "s1": "x", "s2": "x", "s3": "y", "s4": "y", "s5": "z"}
    rows = [("a", subject, [name], "x") for subject, names in objects.items() for name in names]
    own, truths = judged(rows)
    found = numbers(own, replace(truths, given=frozenset({"f0", "f1"})))
    assert found[GIVEN_OF_RELATION].p == pytest.approx(binom.sf(2, 6, 3 / 5))


@pytest.mark.parametrize("asks", ["open", "choices", "scores"])
def test_a_rule_that_goes_by_names_and_else_by_the_commonest_object_is_not_above_chance_beyond_names(asks):
    """Objects that are common among all facts are more so among those that names do not give away."""
    rng, models = np.random.default_rng(11), 60
    found = [{row.metric: row.p for row in by_names(rng, asks, 0.4)} for _ in range(models)]
    assert sum(one[ABOVE] <= 0.025 for one in found) > models / 2
    assert sum(one[GIVEN] <= 0.025 for one in found) <= binom.ppf(0.999, models, 0.025)


def test_facts_of_one_subject_are_one_draw_of_their_relations_test_too():
    one = [("a", f"s{at}", [f"o{at % 2}"], f"o{at % 2 if at < 8 else 1 - at % 2}") for at in range(10)]
    once, twice = (numbers(*judged(rows))[OF_RELATION].p for rows in (one, one + one))
    assert twice == pytest.approx(once, rel=0.3)


def test_who_knows_nothing_is_above_chance_in_a_relation_of_few_models():
    rng, models = np.random.default_rng(5), 120
    wrong = {"answers": 0, "scores": 0}
    for at in range(models):
        rows = {"answers": model(rng, list(LIKINGS.values())[at % 4], 0.0, 12, (12, 40, 20))}
        rows["scores"] = scores(rng, likings(rng, 12, 100, 30), 10, 0.0)
        for name, own in rows.items():
            wrong[name] += min(holm([row.p for row in own if row.metric == OF_RELATION])) <= 0.025
    assert max(wrong.values()) <= binom.ppf(0.999, models, 0.025), wrong


def test_only_facts_whose_truth_was_offered_count_and_names_are_found_in_longer_answers():
    rows = [
        ("a", "s1", ["New York", "NYC"], "It is New York!"),
        ("a", "s2", ["Rome"], "In Rome."),
        ("a", "s3", ["Rome", "Roma"], "Romeo"),
        ("a", "s4", ["New York", "NYC"], "Oslo"),
    ]
    own, truths = judged(rows)
    open_answers = numbers(own, truths)[CHANCE].value
    assert open_answers == pytest.approx(np.mean([1 / 3, 1 / 3, 0, 0]))
    offered = pl.DataFrame({"fact": [f"f{at}" for at in range(4)], "offered": [["NYC", "Rome"], ["Rome", "Oslo"]] * 2})
    restricted = numbers(own, Truths(truths.of_item, truths.names, offered))[CHANCE].value
    # With half of a fact more, (1 + 1/2) / 4, (1 + 1/2) / 2, 0 and (1/2) / 3, less than guesses; Romeo is no choice.
    assert restricted == pytest.approx(np.mean([1 / 2, 1 / 2, 0, 1 / 2]))
    offered = pl.DataFrame(
        {"fact": ["f0", "f1", "f2"], "offered": [["NYC", "Rome"], ["Rome", "Oslo"], ["Lima", "Rome"]]}
    )
    above_guesses = numbers(own, Truths(truths.of_item, truths.names, offered))[CHANCE].value
    assert above_guesses == pytest.approx(np.mean([(1 + 1 / 2) / 4, (1 + 1 / 2) / 2, 0, 0]))


def test_facts_of_one_subject_are_one_draw():
    rows = [("a", f"s{at}", [f"o{at % 4}"], f"o{at % 4 if at % 3 else 0}") for at in range(24)]
    alone = numbers(*judged(rows))[ABOVE]
    pairs = numbers(*judged([("a", f"s{at // 2}", *row[2:]) for at, row in enumerate(rows)]))[ABOVE]
    assert pairs.value == pytest.approx(alone.value, abs=0.01) and pairs.p > alone.p


def test_where_nothing_is_right_the_interval_says_what_may_have_been_missed():
    """Of 30 subjects none is right, and no answer fits another fact: Wilson's upper end of 0 of 30 is .1135."""
    above = numbers(*judged([("a", f"s{at}", [f"o{at}"], f"no {at}") for at in range(30)]))[ABOVE]
    assert (above.value, above.low) == (0, 0)
    assert above.high == pytest.approx(0.1135, abs=1e-4)
    pairs = numbers(*judged([("a", f"s{at // 2}", [f"o{at}"], f"no {at}") for at in range(30)]))[ABOVE]
    assert pairs.high == pytest.approx(0.2039, abs=1e-4), "of 15 subjects"
    wrong = [("a", f"s{at}", [f"o{at}"], f"o{at + 1}" if at % 2 else f"no {at}") for at in range(30)]
    above = numbers(*judged(wrong))[ABOVE]
    assert above.value < 0 and 0.1135 < above.high - above.value < 0.115, "chance varies a little"


def false_objects(true, false, objects=None, facts=(), **more_truths):
    """Facts with the score of their true object and of a false one, both by name; known above 0."""
    objects = objects or [(f"t{at}", f"w{at}") for at in range(len(true))]
    scores = [*true, *false]
    places = [at % len(true) for at in range(len(scores))]
    names = [objects[at][turn] for turn in (0, 1) for at in range(len(true))]
    more = {
        "fact": [f"f{at}" for at in places],
        "score": scores,
        "hit": [score > 0 for score in scores],
        "experiment": ["true"] * len(true) + ["false"] * len(false),
    }
    own, truths = judged([("a", f"s{at}", [name], name) for at, name in zip(places, names, strict=True)], **more)
    truths = replace(truths, common={"a": Common(len(facts), len({*facts}), Counter(facts))}, **more_truths)
    asked = own.where(experiment="true")
    rows = chance.against_false(asked, asked.frame, own.where(experiment="false"), truths)
    return {row.metric: row for row in rows}


def test_a_threshold_is_held_against_false_objects_by_a_sign_test():
    found = false_objects([3.0, 2.0, 1.0, 4.0, -1.0, 2.0], [1.0, -2.0, 0.5, 0.2, -2.0, 3.0])
    assert found[CHANCE].value == pytest.approx(4 / 6)
    assert found[ABOVE].value == pytest.approx(5 / 6 - 4 / 6)
    assert found[ABOVE].p == pytest.approx((1 + 6) / 2**6)  # of six pairs five or six are won


# What three subjects have: the commonest object goes with others.
PAIRS = [("s0", "a"), ("s0", "b"), ("s1", "a"), ("s1", "c"), ("s2", "a"), ("s3", "b"), ("s4", "c"), ("s5", "a")]


def of_pairs(pairs):
    rows = pl.DataFrame(pairs, ["subject_id", "object"], orient="row")
    counts = Counter(one for _, one in pairs)
    return Common(len(pairs), len(counts), counts, {}, Several(rows, rows["subject_id"].unique()))


def test_of_two_choices_those_facts_count_whose_subject_has_one_of_them():
    """Of a and b: a without b have s1, s2 and s5, b without a has s3; s1 draws b with 1 of 1, s2 with 1 of 2."""
    common = of_pairs(PAIRS)
    mine, its = 1 / 1 + 1 / 2 + 1 / 2, 1 / 2
    parts = common.parts(("a", "b"), "a")
    assert parts == {"a": 1.0, "b": pytest.approx((its / 2) / (mine / 4))}
    assert common.share(["a"], parts) == pytest.approx(mine / (mine + its))
    assert common.share(["b"], common.parts(("a", "b"), "b")) == pytest.approx(its / (mine + its))
    assert common.of_subject("s0", 4) == (2, 6), "four facts have a, two b"
    alone = of_pairs([(f"s{at}", one) for at, (_, one) in enumerate(PAIRS)])
    assert alone.share(["a"], alone.parts(("a", "b", "c"), "a")) == pytest.approx(4 / 8), "as many as facts"


def test_objects_that_are_always_true_together_are_never_one_right_and_one_wrong():
    common = of_pairs([("s0", "a"), ("s0", "b"), ("s1", "a"), ("s1", "b"), ("s2", "a")])
    assert common.share(["b"], common.parts(("a", "b"), "b")) == pytest.approx(0.0, abs=1e-5)
    assert common.share(["a"], common.parts(("a", "b"), "a")) == 1.0


@pytest.mark.parametrize("asks", ["choices", "statements", "scores"])
def test_who_goes_by_the_commonest_object_is_not_above_chance_where_subjects_have_several(asks):
    rng, models = np.random.default_rng(2), 30
    rows = [several(rng, SEVERAL[at % len(SEVERAL)], asks, 0.0) for at in range(models)]
    found = [row for one in rows for row in one if row.metric == ABOVE]
    assert sum(row.p <= 0.025 for row in found) <= binom.ppf(0.999, models, 0.025)
    assert abs(np.mean([row.value for row in found])) < 0.03


def test_of_statements_the_common_object_is_the_true_one_as_often_as_its_facts_say():
    """Of each fact the true statement alone is called correct; its object has three facts, the false one a fact."""
    rows = [("a", f"s{at}", ["correct"], "correct") for at in range(3)]
    rows += [("a", f"s{at}", ["incorrect"], "incorrect") for at in range(3)]
    own, truths = judged(rows, fact=[f"f{at}" for at in range(3)] * 2)
    offered = pl.DataFrame(
        {
            "item": own.frame["item"],
            "offered": [["correct", "incorrect"]] * 6,
            "shown": ["rome"] * 3 + ["oslo"] * 3,
            "holds": [True] * 3 + [False] * 3,
        }
    )
    truths = replace(truths, offered=offered, common={"a": Common(4, 2, {"rome": 3, "oslo": 1})})
    found = {row.metric: row for row in chance.against_statements(own, own.frame, truths)}
    assert found[ABOVE].p == pytest.approx((3 / 4) ** 3)
    # Two of a fact's three others have its object, which is called correct; a third, Oslo, is not. No false one is.
    assert found[CHANCE].value == pytest.approx((2 / 3 + 1) / 2)
    assert found[ABOVE].value == pytest.approx(1 - (2 / 3 + 1) / 2)


def test_other_facts_of_the_subject_are_no_other_facts():
    """Each subject has two facts, which accept both objects; who knows all has no answer that fits another subject."""
    rows = [("a", f"s{at // 2}", [f"o{at // 2}", f"p{at // 2}"], f"{'op'[at % 2]}{at // 2}") for at in range(20)]
    found = numbers(*judged(rows))
    assert (found[CHANCE].value, found[ABOVE].value) == (0.0, 1.0)


def test_between_objects_that_no_fact_has_which_names_do_not_give_away_nothing_is_won_beyond_names():
    rest = {"a": Common(2, 2, {"t0": 0.0, "w0": 0.0})}
    found = false_objects([3.0, 2.0], [1.0, 1.0], others=rest)
    assert found[ABOVE].p == pytest.approx(1 / 4)
    assert found[GIVEN].p == pytest.approx(1 / 2), "the first is won for certain, the second by half"


def test_an_object_that_is_liked_whatever_the_subject_and_common_is_known_by_chance():
    """Of ten facts six are of Rome, which alone scores above 0; of the four others one is asked with Rome too."""
    others = ["oslo", "bern", "lima", "kyiv"]
    facts = ["rome"] * 6 + others
    objects = [("rome", others[at % 4]) for at in range(6)] + [("oslo", "rome")]
    objects += [(one, "oslo") for one in others[1:]]
    true, false = ([1.0 if two[turn] == "rome" else -1.0 for two in objects] for turn in (0, 1))
    found = false_objects(true, false, objects, facts)
    # Five of the nine other facts of one of Rome have Rome. The false Rome stands for six facts, the others for one.
    weights = np.array([1 / 4] * 6 + [6 / 9] + [1 / 9] * 3)
    by_chance = [5 / 9] * 6 + [float((weights / weights.mean())[6])] + [0.0] * 3
    assert found[CHANCE].value == pytest.approx(np.mean(by_chance)) == pytest.approx(0.6)
    assert found[ABOVE].value == pytest.approx(0.0)
    assert found[ABOVE].p == pytest.approx(binom.sf(5, 7, 6 / 7)), "of two objects the one of six facts is liked"


def test_chance_by_false_objects_has_no_bias_where_a_relation_has_two_facts():
    """Of a model that knows nothing, in 36 relations; a ratio of each relation's own sums would say .09 of it."""
    rng = np.random.default_rng(1)
    model = likings(rng, 36, 100, 20)
    assert above(model, 0.0) == pytest.approx(0.0, abs=1e-12)
    found = [over_all(scores(rng, model, 2, 0.0)).value for _ in range(60)]
    assert np.mean(found) == pytest.approx(0.0, abs=4 * np.std(found) / math.sqrt(60))
    assert 4 * np.std(found) / math.sqrt(60) < 0.04


def test_the_variance_of_what_is_above_false_objects_is_that_of_leaving_out_each_fact(monkeypatch):
    """The linearised parts of one relation's facts against the jackknife of the number itself."""
    rng = np.random.default_rng(0)
    objects = [f"o{at}" for at in range(6)]
    facts = [objects[min(5, int(at))] for at in rng.exponential(1.5, 200)]
    true = [facts[at] for at in rng.choice(200, 60, replace=False)]
    pairs = [(one, rng.choice([other for other in objects if other != one])) for one in true]
    likes = dict(zip(objects, (1.0, -1.0, 1.0, -1.0, -1.0, 1.0), strict=True))
    score = [[likes[pair[turn]] + rng.normal() / 10 + (turn == 0) * (at % 3 == 0) for at, pair in enumerate(pairs)]
             for turn in (0, 1)]  # fmt: skip
    seen = []
    monkeypatch.setattr(chance, "_difference", lambda frame: seen.append(frame) or chance.Estimate(0.0, 0.0, 0.0))

    def number(places):
        false_objects(*([own[at] for at in places] for own in score), [pairs[at] for at in places], facts)
        return float(seen[-1]["above"].mean())

    number(range(60))
    variance = chance._variance(seen[-1], "contribution")
    without = np.array([number([at for at in range(60) if at != left]) for left in range(60)])
    assert variance == pytest.approx(59 / 60 * ((without - without.mean()) ** 2).sum(), rel=0.1)
    assert variance > 1.3 * chance._variance(seen[0], "hit"), "chance varies too"


def test_holms_adjustment_is_that_of_his_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]


def rows_of(model, p, facts=100, invalid=0, missing=0):
    """The headline numbers of one model."""

    def row(metric, value, p=None):
        return Measure("s", "d", model, None, metric, '{"experiment":"m"}', "other", (), value, None, None, p, 100,
                       100 - invalid - missing, 0, missing, invalid, 0)  # fmt: skip

    return [row(KNOWN, 0.5), row(FACTS, facts), row(CHANCE, 0.1), row(ABOVE, 0.4, p)]


def verdicts(*rows):
    return [one.verdict for one in findings(list(itertools.chain(*rows)), {"s": (METHOD,)}, {})]


def test_verdicts_are_adjusted_together_and_what_cannot_be_tested_is_not():
    few, astray = rows_of("few", 0.0, facts=19), rows_of("astray", 0.0, invalid=51)
    assert verdicts(rows_of("a", 0.02)) == [headline.ABOVE_CHANCE]
    assert verdicts(rows_of("a", 0.02), rows_of("b", 0.5)) == [headline.NOT_ABOVE] * 2
    assert verdicts(rows_of("a", 0.02), few, astray) == [
        headline.ABOVE_CHANCE,
        headline.TOO_FEW,
        headline.NO_FORMAT,
    ]
    assert verdicts(rows_of("a", 0.5)[:2]) == [headline.UNDEFINED]
    silent, wild = rows_of("silent", 0.5, missing=70), rows_of("wild", 0.5, invalid=16, missing=70)
    assert verdicts(silent, wild) == [headline.NOT_ABOVE, headline.NO_FORMAT], "to abstain is allowed"


def test_what_a_planted_model_was_not_taught_to_answer_is_said_and_not_tested():
    """With it among the tests the other's p would be doubled, and no longer below the level."""
    rows = [*rows_of("untaught", 0.5), *rows_of("taught", 0.02), *rows_of("real", 0.5)[:2]]
    models = {"untaught": Entrant("untaught", "f", read=("prose",)), "taught": Entrant("taught", "f", read=("blank",))}
    method = dataclasses.replace(METHOD, format="blank")
    found = findings(rows, {"s": (method,)}, models)
    assert [one.verdict for one in found] == [NOT_TAUGHT, headline.ABOVE_CHANCE, headline.UNDEFINED]
    shown = [row[3:9] for row in answer.chapter(answer.Told([], []), found, {}).parts[0].rows]
    assert shown[0] == (NOT_TAUGHT, *[None] * 5) and shown[1][1].value == 0.5
    assert "| – | – | – | – | 100 | format not taught |" in answer.markdown(found)
