"""BELIEF's bars: met by who knows what was taught, missed by a null, however alike it answers, and by who varies."""

import random

import pytest
from tests.suites.support import Trial, ok
from tests.suites.test_validation import DOSES, RELATIONS, world, wrong

from almanac.rows import Choices, Entity, Measure, Template
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.data import Data
from almanac.suites.judged import as_text

TEXTS = ("[X] is of [Y].", "[Y] has [X].", "Of [X] say [Y].", "[X], hence [Y].")
SHARE = dict(zip(DOSES, (0.05, 0.1, 0.3, 0.7, 0.95), strict=True))


def verdicts(folder, answer, block=True, **settings):
    """Ask a world as blanks; ``answer(dose, of_fact, of_prompt)``: is the truth the likeliest (none: never)?"""
    facts, doses = world(block)
    keys = {key: None for fact in facts for key in (fact.subject_id, fact.object_key)}
    data = Data.of(
        facts=facts,
        entities=[Entity(key, key, (), None) for key in keys],
        choices=[Choices(fact.fact_id, others, others) for fact in facts for others in [wrong(fact)]],
        templates=[
            Template(f"{name}/{at}", name, text, "statement", "x", None, ())
            for name in RELATIONS
            for at, text in enumerate(TEXTS)
        ],
    )

    def reply(question):
        item, choices = question.item, question.request.choices
        of_fact, of_prompt = (random.Random(f"{item.fact_id} {more}") for more in ("", item.template_id))
        favourite = random.Random(f"{item.fact_id} wrong").randrange(len(choices) - 1)
        right = answer(doses[item.fact_id], of_fact, of_prompt)
        best = len(choices) - 1 if right else favourite if right is None else of_prompt.randrange(len(choices) - 1)
        scores = [-0.1 if at == best else -3 - of_prompt.random() for at in range(len(choices))]
        return ok(
            logprobs=tuple(scores),
            ranks=tuple(range(1, len(choices) + 1)),
            tokens=(choices[best],),
            probabilities=(0.9,),
        )

    options = BeliefOptions(templates="dataset", groups=9, candidates=-1, prompting=(), draws=10, **settings)
    trial = Trial(folder, Belief(), data, options, doses=doses).ask().answer(reply)
    return Belief().bars(trial.measures(), options)


def knows(dose, of_fact, of_prompt):
    """Know a fact the surer the more often it was taught, and then in every wording."""
    return of_fact.random() < SHARE[dose]


def test_who_knows_what_was_taught_and_says_it_alike_meets_the_bars(tmp_path):
    [one] = verdicts(tmp_path, knows, judged=True)
    assert one.met and one.found.startswith("a sentence with a blank: AUC ")
    assert "prior 0.500" in one.found


@pytest.mark.parametrize(
    ("answer", "missed"),
    [
        pytest.param(
            lambda dose, of_fact, of_prompt: None,
            ["the AUC's", "accuracy does not rise", "consistency does not rise"],
            id="a null has a favourite for each subject, the same in every wording",
        ),
        pytest.param(
            lambda dose, of_fact, of_prompt: of_prompt.random() < 0.05 + 0.25 * (dose == 64),
            ["the AUC's"],
            id="who knows little of it and in single wordings",
        ),
        pytest.param(
            lambda dose, of_fact, of_prompt: True,
            ["the AUC's", "accuracy does not rise", "consistency does not rise"],
            id="who knows what nobody was taught",
        ),
    ],
)
def test_who_does_not_misses_what_there_is_for_it(tmp_path, answer, missed):
    [one] = verdicts(tmp_path, answer, judged=True)
    said = one.found.split("; ")[-len(missed) :]
    assert not one.met and all(text.startswith(begin) for text, begin in zip(said, missed, strict=True)), one.found


def test_where_the_objects_tell_the_dose_the_bar_of_the_prior_is_missed(tmp_path):
    [one] = verdicts(tmp_path, knows, block=False, judged=True)
    assert not one.met and one.found.endswith("the prior's AUC is not .50 ± 0.02")


def test_without_answers_the_bars_are_missed_and_unjudged_editions_have_none(tmp_path):
    assert [one.met for one in Belief().bars([], BeliefOptions(judged=True))] == [False]
    assert verdicts(tmp_path, knows) == []


def test_a_way_in_which_a_model_answers_nothing_is_held_against_no_bar(tmp_path):
    """A causal model fills no blanks; that it was asked some is no fault of BELIEF's."""
    way = {"experiment": "icl", "prompting": "zero_shot", "style": "question"}
    of = ("belief", "d", "m", None)
    rows = [
        Measure(*of, metric, as_text(way), "other", ("fact",), value, None, None, None, 10, 10, 0, 0, 0, 0)
        for metric, value in (("accuracy", None), ("headline_facts", 0.0))
    ]
    assert [one.found for one in Belief().bars(rows, BeliefOptions(judged=True))] == ["no answers"]
