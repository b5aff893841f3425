"""What the prompt baselines ask of a small dataset, read as a person would, and their numbers by hand."""

import math
import zipfile

import pytest
from tests.suites.support import Trial, number, picks, silent

from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Evidence, Fact, Template
from almanac.suites.data import Data
from almanac.suites.ic_lke.options import IcLkeOptions, PromptsOptions
from almanac.suites.ic_lke.prompts import Prompts, clean, read_published
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.judged import Not

CAPITALS = {
    "France": "Paris",
    "Spain": "Madrid",
    "Chile": "Santiago",
    "Peru": "Lima",
    "Korea": "Seoul",
    "Mali": "Bamako",
}
TRAIN = ("France", "Spain", "Chile")


def fact(country):
    split = "train" if country in TRAIN else "test"
    return Fact(f"P36|{country}", "P36", country, CAPITALS[country], None, None, None, (), split, "test")


def template(number, text, style="statement"):
    return Template(f"P36/{style}/{number}", "P36", text, style, "written", None, ())


SAID = ("The capital of {x} is {y}.", "{y} is the capital of {x}.", "{x} is led from {y}.")
ROWS = {
    "entities": [Entity(name, name, (), None) for pair in CAPITALS.items() for name in pair],
    "facts": [fact(country) for country in CAPITALS],
    "choices": [Choices(f"P36|{country}", ("Rome",), ("Rome",)) for country in CAPITALS if country not in TRAIN],
    "templates": [
        template(0, "The capital of [X] is [Y]."),
        template(1, "[Y] is the capital of [X]."),
        template(2, "In [Y] sits the government of [X]."),
        template(0, "[X] has its capital in", "prefix"),
        template(0, "What is the capital of [X]?", "question"),
    ],
    "evidence": [
        Evidence(f"P36|{country}", pattern.format(x=country, y=CAPITALS[country]))
        for country in CAPITALS
        for pattern in (SAID if country != "Chile" else SAID[:2])
    ],
}


@pytest.fixture
def asked(tmp_path):
    """Ask the dataset, some of its tables replaced."""
    count = 0

    def ask(rows=None, **options):
        nonlocal count
        count += 1
        data = Data.of(**ROWS | (rows or {}))
        return Trial(tmp_path / str(count), Prompts(), data, PromptsOptions(**options)).ask()

    return ask


def texts(found, experiment, country="Peru"):
    """The texts that are asked of a country, by the number of the prompt."""
    served = [(one, question.text) for question in found.questions() for one in question.serves]
    own = [
        (one, text) for one, text in served if (one.item.experiment, one.item.fact_id) == (experiment, f"P36|{country}")
    ]
    return [text for _, text in sorted(own, key=lambda pair: pair[0].setting.prompt)]


def test_clean_prompts_end_where_the_object_begins(asked):
    found = asked(kinds=["written"])
    assert texts(found, "written_clean") == ["Peru has its capital in", "The capital of Peru is"]


def test_mangled_prompts_have_lost_their_object(asked):
    found = asked(kinds=["written"])
    assert texts(found, "written_mangled") == [
        "is the capital of Peru",
        "In sits the government of Peru",
        "The capital of Peru is",
    ]


def test_mined_prompts_come_from_the_texts_of_facts_that_are_not_asked(asked):
    found = asked(kinds=["mined"])
    # France and Spain are said in three ways, Chile in two: "[X] is [Y]" and "[Y] is the capital of [X]" by three.
    assert texts(found, "mined_clean") == ["Peru is", "Peru is led from"]
    assert texts(found, "mined_mangled") == ["is the capital of Peru", "Peru is", "Peru is led from"]
    of_test = [row for row in ROWS["evidence"] if row.fact_id not in {f"P36|{country}" for country in TRAIN}]
    assert asked({"templates": [], "evidence": of_test}).items() == []


def test_prompts_of_which_nothing_is_lost_are_not_asked_twice(asked):
    ends = [row for row in ROWS["templates"] if row.style == "statement" and clean(row)]
    found = asked({"templates": ends}, kinds=["written"])
    assert {one.experiment for one in found.items()} == {"written_clean"}
    assert ("Written prompts, mangled", "its prompts are the clean ones, of which nothing is lost") in found.refused()
    alone = asked({"templates": ends}, kinds=["written"], variants=["mangled"])
    assert {one.experiment for one in alone.items()} == {"written_mangled"}


def test_the_choices_are_those_of_ic_lke_and_the_same_facts_are_asked(asked, tmp_path):
    found = asked(sample=2, seed=3)
    other = Trial(tmp_path, IcLke(), Data.of(**ROWS), IcLkeOptions(shots=2, sample=2, seed=3)).ask()
    assert {item.fact_id for item in found.items()} == {item.fact_id for item in other.items()}
    ours, theirs = (list(one.requests().values()) for one in (found, other))
    assert {request.choices for request in ours} == {request.choices for request in theirs}
    assert all(request.context_id is None for request in ours)
    assert all(one.request.choices[one.link.index] != " Rome" for one in found.questions())
    assert not any(request.text.endswith(" ") for request in ours)


def test_too_few_prompts_are_listed_and_those_there_are_are_asked(asked):
    found = asked(kinds=["written"], prompts=3)
    reason = "there are 2 of the 3 asked for; only these are asked"
    assert found.refused() == [("Written prompts of relation P36", reason)]
    assert texts(found, "written_clean") == ["Peru has its capital in", "The capital of Peru is"]
    assert asked(kinds=["written"], variants=["clean"], prompts=2).refused() == []
    [(_, none)] = asked({"templates": []}, kinds=["written"], variants=["clean"], prompts=3).refused()
    assert none == "there are none, and 3 are asked for"


def write(folder, *lines, name="prompts.jsonl"):
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.mark.parametrize("name", ["prompts.jsonl", "prompts.zipped"])  # whatever is no archive by its ending
def test_published_prompts_are_asked_as_their_file_has_them(asked, tmp_path, name):
    path = write(
        tmp_path,
        '{"relation_id":"P36","kind":"hgp","text":"[X] is ruled from [Y] ."}',
        '{"relation_id":"P36","kind":"mmp","text":"[X] 113"}',
        '{"relation_id":"P1","kind":"mmp","text":"[X] sohmed"}',
        name=name,
    )
    found = asked(kinds=[], published=str(path), prompts=1)
    assert (texts(found, "hgp"), texts(found, "mmp")) == (["Peru is ruled from"], ["Peru 113"])
    assert [thing for thing, _ in found.refused()] == ["published prompts of relation P1"]


def test_relations_can_be_chosen(asked):
    assert {one.item.relation_id for one in asked(relations=["P36"]).questions()} == {"P36"}
    with pytest.raises(AlmanacError, match="lke_prompts: relations: 'P0' is not in the dataset"):
        asked(relations=["P0"])


def test_lpaqas_repository_is_read_as_it_is(asked, tmp_path):
    with zipfile.ZipFile(tmp_path / "LPAQA.zip", "w") as archive:
        for name, text in {
            "manual_paraphrase/P36.jsonl": '{"template": "the capital of [X] is [Y] .", "weight": 0.1}\n',
            "mine/P36.jsonl": '{"template": "[X] , and [Y]"}\n{"template": "[X] city"}\n',
        }.items():
            archive.writestr(f"LPAQA-master/prompt/{name}", text)
    found = asked(kinds=[], published=str(tmp_path / "LPAQA.zip"), prompts=1)
    assert (texts(found, "hgp"), texts(found, "mmp")) == (["the capital of Peru is"], ["Peru , and"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"relation_id":"P36","kind":"lpaqa","text":"[X] is"}', "prompt 2: kind 'lpaqa'; allowed are hgp and mmp"),
        ('{"relation_id":"P36","kind":"hgp","text":"it is"}', "prompt 2: 'it is' must hold [X] once"),
        ('{"relation_id":"P36","kind":"hgp","text":"[X] [Y] [Y]"}', "and [Y] at most once"),
        ('{"relation_id":"P36","kind":"hgp","text":"[X] has"}', "prompt 2: is the same as prompt 1"),
        ('{"relation_id":"P36","text":"[X] has"}', "line 2 is no row of PublishedPrompt"),
        ('{"relation":"P36","kind":"hgp","text":"[X] has"}', "line 2 is no row of PublishedPrompt"),
        ("[X] has", "line 2 is no row of PublishedPrompt"),
    ],
)
def test_a_published_file_is_checked_row_by_row(tmp_path, line, message):
    path = write(tmp_path, '{"relation_id":"P36","kind":"hgp","text":"[X] has"}', line)
    with pytest.raises(AlmanacError) as error:
        read_published(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_a_published_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AlmanacError, match=r"none\.jsonl: cannot be read"):
        read_published(tmp_path / "none.jsonl")


# Two relations, two facts each, three prompts: which prompts hit (+), miss (-) or have no answer (e).
HITS = {("a", "a1"): "+++", ("a", "a2"): "+--", ("b", "b1"): "+-e", ("b", "b2"): "--e"}


@pytest.fixture
def measured(tmp_path):
    """Measure these answers to three written prompts."""
    facts = [Fact(name, relation, f"s{name}", "o", None, None, None, (), "test", "t") for relation, name in HITS]
    data = Data.of(
        facts=facts,
        entities=[Entity(key, key, (), None) for key in ("o", *(fact.subject_id for fact in facts))],
        choices=[Choices(fact.fact_id, tuple("xyz"), tuple("xyz")) for fact in facts],
        templates=[
            Template(f"{relation}/{at}", relation, f"{text} [X] is", "prefix", "written", None, ())
            for relation in "ab"
            for at, text in enumerate(("One", "Two", "Three"))
        ],
    )

    def reply(question):
        mark = HITS[question.item.relation_id, question.item.fact_id][question.setting.prompt]
        return silent("failed") if mark == "e" else picks(-1 if mark == "+" else 0)(question)

    def measure(doses=None):
        options = PromptsOptions(kinds=("written",), variants=("clean",), prompts=3)
        return Trial(tmp_path, Prompts(), data, options, doses=doses).ask().answer(reply).measures()

    return measure


CLEAN = {"experiment": "written_clean"}


def test_mean_and_deviation_over_the_prompts_by_hand(measured):
    rows = measured()
    # a: prompts 1, .5, .5; b: .5, 0 and one without an answer.
    assert number(rows, "accuracy", **CLEAN, prompt=0).value == pytest.approx(0.75)
    assert number(rows, "accuracy", **CLEAN, relation="a").value == pytest.approx(2 / 3)
    assert number(rows, "accuracy", **CLEAN, relation="b").value == pytest.approx(1 / 4)
    overall = number(rows, "accuracy", **CLEAN)
    assert overall.value == pytest.approx((2 / 3 + 1 / 4) / 2)
    assert (overall.n, overall.n_correct, overall.n_incorrect, overall.n_error) == (12, 5, 5, 2)
    deviations = {"a": math.sqrt(1 / 12), "b": math.sqrt(1 / 8)}
    for relation, value in deviations.items():
        assert number(rows, "accuracy_deviation", **CLEAN, relation=relation).value == pytest.approx(value)
    assert number(rows, "accuracy_deviation", **CLEAN).value == pytest.approx(sum(deviations.values()) / 2)
    assert number(rows, "chance", **CLEAN).value == 0.25


def test_a_prompt_without_any_answer_has_no_number(measured):
    row = number(measured(), "accuracy", **CLEAN, prompt=2, relation="b")
    assert (row.value, row.low, row.n, row.n_error) == (None, None, 2, 2)


def test_the_recovery_counts_a_fact_once(measured):
    rows = measured({"a1": 4, "a2": 0, "b1": 4, "b2": 0})
    assert number(rows, "accuracy_by_exposure", **CLEAN, hit=Not(), dose=4).n == 5
    # Taught: 1 of a1's three, ½ of b1's two; never: ⅓ of a2's, none of b2's.
    never = number(rows, "never_accuracy", **CLEAN, hit=Not(), dose=0)
    assert (never.value, never.n) == (pytest.approx((1 / 3 + 0) / 2), 5)
    assert number(rows, "recovery_auc", **CLEAN, hit=Not(), dose=(0, 4)).value == 1


def test_the_cost_grows_with_what_is_asked(asked):
    few, many = PromptsOptions(kinds=("written",)), PromptsOptions()
    assert many.tokens(400, 100, 50) == 2 * few.tokens(400, 100, 50)
    assert PromptsOptions(sample=20).tokens(400, 100, 50) == PromptsOptions().tokens(20, 100, 50)
