"""The prompts of BELIEF-ICL."""

from dataclasses import replace

import pytest
from tests.suites.belief import small
from tests.suites.belief.small import FACTS, data

from almanac.suites.belief.names import EntityNames
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.prompts import Prompter
from almanac.suites.belief.templates import of_dataset

BORN = FACTS[0]


def prompter(**settings: object) -> Prompter:
    options = BeliefOptions(groups=9, per_group=9, **settings)
    return Prompter.of(data(), EntityNames(data()), of_dataset(data(), options), options)


WORDINGS = {one.template_id: one for one in prompter().templates["born"].wordings}


def test_a_prompt_without_examples_is_the_papers():
    made = prompter()
    context = made.context(BORN, WORDINGS["born/2"], "zero_shot", "mask")
    assert context + made.question(WORDINGS["born/2"], "Ada", "mask") == (
        "Predict the [MASK] in each sentence in one word.\nQ: [MASK] is where Ada was born.\nA:"
    )
    context = made.context(BORN, WORDINGS["born/q"], "zero_shot", "question")
    assert context + made.question(WORDINGS["born/q"], "Ada", "question") == (
        "Answer each question in one word.\nQ: Where was Ada born?\nA:"
    )


def test_four_examples_of_the_template_stand_before_the_question_each_with_its_answer():
    made = prompter()
    lines = made.context(BORN, WORDINGS["born/0"], "4_template", "mask").splitlines()
    assert len(lines) == 9
    answers = {f"Tom {at}": ("Oslo", "Lima", "Rome", "Bern")[at % 4] for at in range(6)}
    for question, answer in zip(lines[1::2], lines[2::2], strict=True):
        subject = question.removeprefix("Q: ").removesuffix(" was born in [MASK].")
        assert answer == f"A: {answers[subject]}."


@pytest.mark.parametrize("examples", ["shared", "fresh"])
@pytest.mark.parametrize("prompting", ["4_random", "4_relation", "4_template"])
def test_the_examples_are_four_facts_and_never_of_the_subject_that_is_asked(prompting, examples):
    made = prompter(examples=examples)
    for fact in FACTS[4:10]:  # which may be shown
        found = made.examples(fact, WORDINGS["born/0"], prompting, "mask")
        assert len({one.fact.fact_id for one in found}) == 4
        assert fact.subject_id not in {one.fact.subject_id for one in found if one.fact.relation_id == "born"}
        if prompting != "4_random":
            assert {one.fact.relation_id for one in found} == {"born"}
        if prompting == "4_template":
            assert {one.wording.template_id for one in found} == {"born/0"}


def test_shared_examples_are_at_most_five_facts_of_a_relation_and_the_same_by_relation_and_by_template():
    made = prompter()
    asked = FACTS[4:10]
    by_template = [made.examples(fact, WORDINGS["born/0"], "4_template", "mask") for fact in asked]
    by_relation = [made.examples(fact, WORDINGS["born/0"], "4_relation", "mask") for fact in asked]
    assert len({one.fact.fact_id for found in by_template for one in found}) == 5
    assert [[one.fact for one in found] for found in by_template] == [
        [one.fact for one in found] for found in by_relation
    ]


@pytest.mark.parametrize("seed", range(20))
def test_five_facts_from_anywhere_are_of_five_pairs(seed):
    """Subjects with two objects each: whichever is asked, four others are left."""
    made = prompter()
    twice = [replace(one, fact_id=f"{one.fact_id}'") for one in FACTS]
    made = replace(made, facts={"born": [*FACTS, *twice]}, options=made.options.model_copy(update={"seed": seed}))
    assert all(made.examples(one, WORDINGS["born/0"], "4_random", "mask") for one in FACTS)


@pytest.mark.parametrize("examples", ["shared", "fresh"])
@pytest.mark.parametrize("prompting", ["4_random", "4_relation", "4_template"])
def test_a_subject_with_most_facts_of_a_relation_hides_no_other(prompting, examples):
    """Draws meet the first subject 20 times of 25; the others have one fact each."""
    own = [small.fact("born", f"t:{max(0, at - 19)}", f"o{at}", "train") for at in range(25)]
    for seed in range(40):
        made = replace(prompter(examples=examples, seed=seed), facts={"born": own})
        for asked in own[-3:]:
            found = made.examples(asked, WORDINGS["born/0"], prompting, "mask")
            assert found is not None and len({one.fact.subject_id for one in found}) == 4


def test_in_the_style_of_questions_examples_are_questions():
    made = prompter()
    for prompting in ("4_random", "4_relation"):
        lines = made.context(BORN, WORDINGS["born/q"], prompting, "question").splitlines()
        assert all(line.endswith("?") for line in lines[1::2])


def test_a_relation_of_too_few_facts_has_no_examples():
    made = prompter()
    few = replace(made, facts={"born": made.facts["born"][:3], "lived": []})
    assert few.context(BORN, WORDINGS["born/0"], "4_template", "mask") is None
