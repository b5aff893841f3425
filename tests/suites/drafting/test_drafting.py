"""Drafting: prompts show facts and no more, answers become drafts, and the round trip asks for the relation."""

import pytest
from tests.suites.support import Trial, ok, silent

from almanac.dataset.templates import merged
from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Relation, Template
from almanac.suites.data import Data
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.suite import Drafter, Drafting
from almanac.verbs.build import unanswered

PAIRS = {"P36": {"France": "Paris", "Italy": "Rome", "Peru": "Lima", "Chad": "N'Djamena"}, "P17": {"Etna": "Italy"}}
LABELS = sorted({name for pairs in PAIRS.values() for pair in pairs.items() for name in pair})
ENTITIES = [Entity(name, name, ("the Eternal City",) if name == "Rome" else (), None) for name in LABELS]
FACTS = [
    Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), None, "test")
    for relation, pairs in PAIRS.items()
    for subject, found in pairs.items()
]
RELATIONS = [Relation(name, label, name, None, None, None) for name, label in (("P36", "capital"), ("P17", "country"))]
RELATIONS.append(Relation("P1", "unused", None, None, None, None))
TEMPLATES = [
    Template("P36/0", "P36", "What is the capital of [X]?", "question", "written", None, ()),
    Template("P36/1", "P36", "The capital of [X] is", "prefix", "written", None, ()),
]
DATA = Data.of(entities=ENTITIES, facts=FACTS, relations=RELATIONS, templates=TEMPLATES)
OPTIONS = DraftingOptions(samples=2)


@pytest.fixture
def ask(tmp_path):
    """Ask for drafts."""
    return lambda options=OPTIONS: Trial(tmp_path, Drafting(), DATA, options).ask()


def drafts_of(trial):
    return {(row.relation_id, row.text): row for row in Drafting().write(trial.answers, DATA, trial.options)}


def write(question):
    """Write two texts of each kind, one of them of use for most relations."""
    if question.text.endswith("Again:"):
        return ok(texts=(" Which city is the capital of [X]?", " Is Paris the capital of [X]?"))
    if question.text.endswith("Question:"):
        return ok(texts=(" What is the capital of [X]?", " In which country is [X]?"))
    return ok(texts=(" [Y] is the capital of [X].", " [X] is in [Y]."))


def read(question):
    """Go by the words: "capital" where the text says so, else "country"."""
    says = "capital" in question.text.split("\n")[0]
    return ok(logprobs=(-1.0, -2.0, -3.0) if says else (-2.0, -1.0, -3.0))


def test_a_prompt_shows_worked_examples_and_facts_of_the_relation():
    prompts = Drafter(DATA, OPTIONS)
    text = prompts.draft_text(RELATIONS[0], "question")
    assert text.endswith("\nQuestion:")
    assert text.count("\n\nRelation: ") == 4
    shown = prompts.pairs("P36")
    assert len(shown) == 3
    assert "Relation: capital\nPairs: " + "; ".join(f"{one} -> {two}" for one, two in shown) in text
    assert Drafter(DATA, DraftingOptions(seed=0)).pairs("P36") == shown


def test_every_relation_with_facts_is_asked_for_each_style_and_each_template_for_other_words(ask):
    asked = ask()
    items = {
        (one.item.relation_id, one.item.experiment, one.setting.style, one.item.template_id)
        for one in asked.questions()
    }
    assert items == {
        *((relation, "draft", style, None) for relation in ("P36", "P17") for style in ("question", "statement")),
        ("P36", "paraphrase", "question", "P36/0"),
    }
    for request in asked.requests().values():
        assert (request.kind, request.samples, request.stop) == ("generate", 2, ("\n",))
    [again] = [one.text for one in asked.questions() if one.text.endswith("Again:")]
    assert "\n\nText: What is the capital of [X]?\nAgain:" in again


def test_templates_are_said_again_only_where_that_is_wanted(ask):
    assert len(ask(DraftingOptions(paraphrases=False)).requests()) == 4


def test_a_relation_that_is_not_there_is_named(ask):
    with pytest.raises(AlmanacError, match="drafting: relations: P2: not in the dataset, which has P1, P17, P36"):
        ask(DraftingOptions(relations=("P36", "P2")))


def test_answers_become_drafts_and_the_round_trip_judges_them(ask):
    trial = ask().answer(write)
    first = drafts_of(trial)
    kept = {key: row for key, row in first.items() if row.verdict == "keep"}
    assert kept["P36", "Which city is the capital of [X]?"].parent_id == "P36/0"
    assert ("P36", "What is the capital of [X]?") not in kept, "it is frozen"
    assert ("P17", "What is the capital of [X]?") in kept

    trial.ask()
    facts = {"P36": 3, "P17": 1}
    assert len(trial.items(1)) == sum(facts[row.relation_id] for row in kept.values())
    assert [row.item for row in trial.items()] == list(range(len(trial.items())))
    assert {request.choices for request in trial.requests(1).values()} == {(" capital", " country", " unused")}
    found = drafts_of(trial.answer(read))
    right = found["P36", "[Y] is the capital of [X]."]
    assert (right.agreement, right.verdict) == (1.0, "keep")
    wrong = found["P36", "[X] is in [Y]."]
    assert (wrong.agreement, wrong.verdict) == (0.0, "drop")
    assert wrong.reason == "led a model back to the relation for 0 of 3 facts"
    assert drafts_of(trial.answer(lambda _: silent("unsupported"))) == first, "it is left to the person who reads them"


def test_what_is_kept_joins_the_frozen_templates_which_win(ask):
    drafts = Drafting().write(ask().answer(write).answers, DATA, OPTIONS)
    kept = [row for row in drafts if row.verdict == "keep"]
    found = merged(TEMPLATES, drafts, "drafts.jsonl")
    assert {row.text for row in found} == {row.text for row in (*TEMPLATES, *kept)}
    assert [row for row in found if row.origin == "written"] == TEMPLATES


def test_a_draft_that_names_an_object_by_any_of_its_names_is_dropped(ask):
    text = "Is the Eternal City the capital of [X]?"
    trial = ask().answer(lambda one: ok(texts=(text,)) if one.text.endswith("Question:") else write(one))
    assert drafts_of(trial)["P36", text].reason == "names the object 'the Eternal City'"


@pytest.mark.parametrize("word", ["Question", "Statement", "Again"])
def test_the_last_word_of_the_prompt_is_no_part_of_a_draft(ask, word):
    trial = ask().answer(lambda one: ok(texts=(f'\n{word}: "Which town rules [X]?"',)))
    assert ("P36", "Which town rules [X]?") in drafts_of(trial)


def test_without_the_round_trip_there_is_one_round(ask):
    assert [at.name for at in Drafting().rounds_of(OPTIONS)] == ["drafts", "round_trip"]
    assert [at.name for at in Drafting().rounds_of(DraftingOptions(round_trip=False))] == ["drafts"]


def test_a_response_that_is_not_there_is_named(ask):
    with pytest.raises(AlmanacError, match="model 'm': 5 of 5 requests have no response"):
        drafts_of(ask().answer(lambda _: None))


def test_a_model_that_writes_nothing_is_refused_with_its_reason(ask):
    trial = ask().answer(lambda _: silent("unsupported"))
    message = (
        r"none of 5 requests was answered \(unsupported: because\); templates are drafted by a model that generates"
    )
    with pytest.raises(AlmanacError, match=message):
        drafts_of(trial)


def test_how_many_requests_gave_nothing_is_said_by_status_with_the_commonest_reason(ask):
    trial = ask().answer(lambda one: silent("too_long") if one.text.endswith("Question:") else write(one))
    said = "2 of 5 requests of the round drafts gave nothing: 2 too_long (most often: because)"
    assert unanswered(trial.rounds[0]) == said
    assert unanswered(ask().answer(write).rounds[0]) is None
