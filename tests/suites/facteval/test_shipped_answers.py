"""The facts that ship, answered rightly and wrongly: the sound reading never errs on names it was given."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from almanac.sources.files import read_folder
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.data import Data
from almanac.suites.facteval.judging import as_released, longer_names
from almanac.suites.facteval.reading.names import read_name
from almanac.suites.facteval.reading.scoring import judge, load_phrases

from . import running

OWN = load_phrases()


@pytest.fixture(scope="module")
def shipped():
    read = read_folder(Path(__file__).parents[3] / "resources" / "facts", "shipped")
    facts = [replace(row, split="test") for row in read.facts]
    return Data.of(entities=read.entities, relations=read.relations, facts=facts, templates=read.templates)


@pytest.fixture(scope="module")
def folder(shipped, tmp_path_factory):
    return running.write(tmp_path_factory.mktemp("shipped"), shipped, sample=25)


@pytest.fixture(scope="module")
def asked(folder):
    return [running.as_read(row) for row in running.asked(folder)]


@pytest.fixture(scope="module")
def choosing(asked, longer):
    """The questions with choices, with all names of what is offered."""
    return [replace(one, called=longer.called) for one in asked if one.type == "mcq"]


@pytest.fixture(scope="module")
def longer(shipped, folder):
    files = [RoundFiles.of("asked", folder)]
    return longer_names(Answers("m", "d", files, running.SUITE.setting, running.SUITE.tables("asked")), shipped)


def right(question):
    """Return the answers that are right: every name of more than a code's length, alone and in a sentence."""
    if question.type == "tfq":
        return ["CORRECT" if question.truth else "INCORRECT"]
    return [text for name in question.gold if len(name) > 3 for text in (name, f"The answer is {name}.")]


def test_every_name_of_a_true_object_is_right(asked, longer):
    assert len(asked) > 2000
    for question in asked:
        for answer in right(question):
            found = judge(question, answer, OWN, longer)
            assert found.outcome == "correct", (question.text, answer, found)


def test_every_wrong_choice_is_wrong_and_recognised_by_each_of_its_names(choosing):
    aliases = 0
    for question in choosing:
        for choice in question.choices:
            for name in question.called.get(choice, (choice,)) if choice not in question.gold else ():
                found = judge(question, name, OWN)
                assert found.outcome == "incorrect", (question.text, choice, name)
                assert choice in (found.said or "").split("; "), (question.text, choice, name, found)
                aliases += name != choice
    assert aliases > 1000


def test_a_true_choice_is_right_by_each_of_its_names_whatever_the_others_are_called(choosing):
    for question in choosing:
        for answer in right(question):
            found = judge(question, answer, OWN)
            assert found.outcome == "correct", (question.text, question.choices, answer, found)


def test_the_name_of_another_object_that_holds_the_true_one_is_wrong_and_right_to_the_released_scorer(
    shipped, asked, longer
):
    names = [name for one in shipped.entities for name in (one.label, *one.aliases) if ", " in name]
    ends = {words(name).removeprefix(" the"): words(name.rpartition(", ")[2]) for name in names}
    holding, ending = [], []
    short = (one for one in asked if one.type == "saq" and one.gold[0] != "NO")  # a code, and a word of other names
    for question in short:
        name, *others = map(words, question.gold)
        for text in (f" {' '.join(run)} " for run in longer.runs):
            if name in text and not any(text in f" the {own}" for own in (name, *others)):
                (ending if ends.get(text.removeprefix(" the")) == name else holding).append((question, text))
    assert len(holding) > 200  # London and Jack London, Guinea and Papua New Guinea
    assert ending  # London and the National Gallery, London
    assert {judge(question, answer, OWN).outcome for question, answer in holding + ending} == {"correct"}
    assert {judge(question, answer, OWN, longer).outcome for question, answer in holding} == {"incorrect"}
    assert {judge(question, answer, OWN, longer).outcome for question, answer in ending} == {"correct"}
    assert {as_released(question, answer, OWN.released()).outcome for question, answer in holding} == {"correct"}


def words(name):
    return f" {' '.join(read_name(name).words)} "


def test_a_list_of_all_true_objects_is_whole(asked, longer):
    several = [one for one in asked if one.type == "saq" and len(set(one.gold_object)) > 1]
    assert several
    for question in several:
        labels = {key: name for name, key in reversed(list(zip(question.gold, question.gold_object, strict=True)))}
        found = judge(question, ", ".join(labels.values()), OWN, longer)
        assert (found.precision, found.recall) == (1, 1), labels


def test_the_released_scorer_errs_on_right_choices_with_dashes_commas_and_parts(asked):
    count = Counter(
        as_released(question, question.gold[0], OWN.released()).outcome for question in asked if question.type == "mcq"
    )
    assert 0 < count["incorrect"] < count["correct"]
