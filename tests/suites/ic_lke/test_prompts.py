"""What the prompt baselines ask of a small dataset, read as a person would, and their numbers by hand."""

import math

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Evidence, Exposure, Fact, Item, Outcome, Request, Template
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.prompts import published
from almanac.suites.ic_lke.prompts.measures import measure
from almanac.suites.ic_lke.prompts.method import METHOD
from almanac.suites.ic_lke.prompts.options import PromptsOptions
from almanac.suites.ic_lke.requests import ask as ask_ic_lke
from almanac.suites.method import Answered, Data

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
DATA = Data(
    entities=[Entity(name, name, (), None) for pair in CAPITALS.items() for name in pair],
    facts=[fact(country) for country in CAPITALS],
    choices=[Choices(f"P36|{country}", ("Rome",), ("Rome",)) for country in CAPITALS if country not in TRAIN],
    templates=[
        template(0, "The capital of [X] is [Y]."),
        template(1, "[Y] is the capital of [X]."),
        template(2, "In [Y] sits the government of [X]."),
        template(0, "[X] has its capital in", "prefix"),
        template(0, "What is the capital of [X]?", "question"),
    ],
    evidence=[
        Evidence(f"P36|{country}", pattern.format(x=country, y=CAPITALS[country]))
        for country in CAPITALS
        for pattern in (SAID if country != "Chile" else SAID[:2])
    ],
)


def asked(**options):
    return METHOD.ask(DATA, PromptsOptions(**options), lambda: None)


def texts(found, experiment, country="Peru"):
    """Return the texts that are asked of a country, by setting."""
    link = {link.item_id: link.request_id for link in found.links}
    items = [item for item in found.items if (item.experiment, item.fact_id) == (experiment, f"P36|{country}")]
    return [found.requests[link[item.item_id]].text for item in sorted(items, key=lambda item: item.setting)]


def test_clean_prompts_end_where_the_object_begins():
    found = asked(kinds=["written"])
    assert texts(found, "written_clean") == ["Peru has its capital in", "The capital of Peru is"]


def test_mangled_prompts_have_lost_their_object():
    found = asked(kinds=["written"])
    assert texts(found, "written_mangled") == [
        "is the capital of Peru",
        "In sits the government of Peru",
        "The capital of Peru is",
    ]


def test_mined_prompts_come_from_the_texts_of_facts_that_are_not_asked():
    found = asked(kinds=["mined"])
    # France and Spain are said in three ways, Chile in two: "[X] is [Y]" and "[Y] is the capital of [X]" by three.
    assert texts(found, "mined_clean") == ["Peru is", "Peru is led from"]
    assert texts(found, "mined_mangled") == ["is the capital of Peru", "Peru is", "Peru is led from"]
    said_of_test = [row for row in DATA.evidence if row.fact_id not in {f"P36|{country}" for country in TRAIN}]
    without = METHOD.ask(Data(DATA.entities, (), DATA.facts, DATA.choices, (), said_of_test), PromptsOptions(), print)
    assert without.items == []


def test_the_choices_are_those_of_ic_lke_and_the_same_facts_are_asked():
    found = asked(sample=2, seed=3)
    other = ask_ic_lke(DATA.facts, DATA.entities, DATA.choices, DATA.templates, IcLkeOptions(shots=2, sample=2, seed=3))
    assert {item.fact_id for item in found.items} == {item.fact_id for item in other.items}
    assert {request.choices for request in found.requests.values()} == {
        request.choices for request in other.requests.values()
    }
    assert all(request.context_id is None for request in found.requests.values())
    assert all(found.requests[link.request_id].choices[link.index] != " Rome" for link in found.links)
    assert not any(request.text.endswith(" ") for request in found.requests.values())


def test_too_few_prompts_are_listed_and_those_there_are_are_asked():
    found = asked(kinds=["written"], prompts=3)
    [row] = [row for row in found.refused if "clean" in row.thing]
    assert row.thing == "written_clean of relation P36"
    assert row.reason == "2 prompts; asked for are 3, and what there is is asked"
    assert len(asked(kinds=["written"], variants=["clean"], prompts=2).refused) == 0


def write(folder, *lines):
    path = folder / "prompts.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_published_prompts_are_asked_as_their_file_has_them(tmp_path):
    path = write(
        tmp_path,
        '{"relation_id":"P36","kind":"hgp","text":"[X] is ruled from [Y] ."}',
        '{"relation_id":"P36","kind":"mmp","text":"[X] 113"}',
        '{"relation_id":"P1","kind":"mmp","text":"[X] sohmed"}',
    )
    found = asked(kinds=[], published=str(path), prompts=1)
    assert (texts(found, "hgp"), texts(found, "mmp")) == (["Peru is ruled from"], ["Peru 113"])
    assert [row.thing for row in found.refused] == ["published prompts of relation P1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"relation_id":"P36","kind":"lpaqa","text":"[X] is"}', "prompt 2: kind 'lpaqa'; allowed are hgp and mmp"),
        ('{"relation_id":"P36","kind":"hgp","text":"it is"}', "prompt 2: 'it is' must hold [X] once"),
        ('{"relation_id":"P36","kind":"hgp","text":"[X] [Y] [Y]"}', "and [Y] at most once"),
        ('{"relation_id":"P36","kind":"hgp","text":"[X] has"}', "prompt 2: stands already as prompt 1"),
        ('{"relation_id":"P36","text":"[X] has"}', "line 2 is no row of Prompt"),
        ('{"relation":"P36","kind":"hgp","text":"[X] has"}', "line 2 is no row of Prompt"),
        ("[X] has", "line 2 is no row of Prompt"),
    ],
)
def test_a_published_file_is_checked_row_by_row(tmp_path, line, message):
    path = write(tmp_path, '{"relation_id":"P36","kind":"hgp","text":"[X] has"}', line)
    with pytest.raises(AlmanacError) as error:
        published.read(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_a_published_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AlmanacError, match=r"none\.jsonl: cannot be read"):
        published.read(tmp_path / "none.jsonl")


# Two relations, two facts each, three prompts: which prompts hit (+), miss (-) or have no answer (e).
HITS = {("a", "a1"): "+++", ("a", "a2"): "+--", ("b", "b1"): "+-e", ("b", "b2"): "--e"}


def measured(exposures=None):
    items, outcomes, facts = [], [], []
    for (relation, name), marks in HITS.items():
        facts.append(Fact(name, relation, f"s{name}", "o", None, None, None, (), "test", "t"))
        for number, mark in enumerate(marks):
            item_id = f"{name}/{number}"
            setting = f"prompts=3,draw={number}"
            items.append(Item(item_id, "lke_prompts", "written_clean", name, relation, None, setting, ()))
            kind = {"+": "correct", "-": "incorrect", "e": "error"}[mark]
            outcomes.append(Outcome("m", item_id, None, kind, None if mark == "e" else math.log(0.5), None))
    requests = [Request("q", "choices", None, "s", choices=(" x", " y", " z", " true"))]
    answered = Answered("m", "d", Data(facts=facts), items, [], requests, [], exposures=exposures)
    return {(row.metric, row.setting, row.relation_id, row.exposure): row for row in measure(answered, outcomes)}


def test_mean_and_deviation_over_the_prompts_by_hand():
    found = measured()
    # a: prompts 1, .5, .5; b: .5, 0 and one without an answer.
    assert found["accuracy", "prompts=3,draw=0", None, None].value == pytest.approx(0.75)
    assert found["accuracy", "mean", "a", None].value == pytest.approx(2 / 3)
    assert found["accuracy", "mean", "b", None].value == pytest.approx(1 / 4)
    assert found["accuracy", "mean", None, None].value == pytest.approx((2 / 3 + 1 / 4) / 2)
    deviations = {"a": math.sqrt(1 / 12), "b": math.sqrt(1 / 8)}
    for relation, value in deviations.items():
        assert found["accuracy_deviation", "mean", relation, None].value == pytest.approx(value)
    assert found["accuracy_deviation", "mean", None, None].value == pytest.approx(sum(deviations.values()) / 2)
    overall = found["accuracy", "mean", None, None]
    assert (overall.n, overall.n_correct, overall.n_incorrect, overall.n_error) == (12, 5, 5, 2)
    assert found["chance", "mean", None, None].value == 0.25


def test_a_prompt_without_any_answer_has_no_number():
    row = measured()["accuracy", "prompts=3,draw=2", "b", None]
    assert (row.value, row.low, row.n, row.n_error) == (None, None, 2, 2)


def test_the_recovery_counts_a_fact_once():
    found = measured([Exposure(name, dose) for name, dose in (("a1", 4), ("a2", 0), ("b1", 4), ("b2", 0))])
    assert found["accuracy_by_exposure", "mean", None, 4].n == 5
    assert found["recovery_auc", "mean", None, None].value == pytest.approx(0.5)  # all scores are equal


def test_the_cost_grows_with_what_is_asked():
    few, many = PromptsOptions(kinds=("written",)), PromptsOptions()
    assert many.tokens(400, 100, 50) == 2 * few.tokens(400, 100, 50)
    assert PromptsOptions(sample=20).tokens(400, 100, 50) == PromptsOptions().tokens(20, 100, 50)
