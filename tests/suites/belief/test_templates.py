"""The templates that ship, a user's own and the dataset's."""

import json
import re

import pytest
from tests.suites.belief.small import data, fact

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import ALIAS, Relation, Template
from almanac.sources.checking import template_file
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.belief.templates import OF_FACTS, SETS, chosen, of_dataset, of_rows, rows_of, shipped, unused
from almanac.suites.data import Data

SIZES = {"lama": (41, 20), "shipped": (39, 4), "invented": (12, 4)}
SHIPPED = {name: shipped(name) for name in SETS}


@pytest.mark.parametrize("name", SETS)
def test_the_templates_that_ship_are_five_a_relation_with_their_paraphrases(name):
    relations, per_group = SIZES[name]
    assert len(SHIPPED[name]) == relations
    for relation, own in SHIPPED[name].items():
        assert [one.template_id for one in own] == [
            f"{relation}/g{group}/{at}" for group in range(1, 6) for at in range(per_group)
        ]
        assert sum(one.written for one in own) == 5
        for one in own:
            assert one.text.count("[X]") == one.text.count("[Y]") == 1, one
            assert (one.question is not None) == (one.form == "question_answer"), one
        assert len({re.sub(r"[^a-z\[\]]", "", one.text.lower()) for one in own}) == len(own)


def test_the_written_templates_come_first_then_the_first_paraphrase_of_each():
    kept = chosen(SHIPPED["lama"]["P19"], groups=2, per_group=2)
    assert [one.template_id for one in kept] == ["P19/g1/0", "P19/g2/0", "P19/g1/1", "P19/g2/1"]
    assert chosen(SHIPPED["lama"]["P19"], groups=9, per_group=99)[99].template_id == "P19/g5/19"


def of(relations: list[str], **settings: object) -> dict[str, str]:
    facts = [fact(name, "a", "b", "test") for name in relations]
    named = [Relation(name, name, name, None, None, None) for name in relations]
    found = of_dataset(Data.of(facts=facts, relations=named), BeliefOptions(**settings))
    return {relation: own.source for relation, own in found.items()}


def test_a_relation_is_asked_by_the_file_that_has_most_of_its_dataset_and_else_by_any_that_has_it():
    # P138 is of scientific terms among the shipped facts, and of anything in LAMA.
    assert of(["P138", "P19", "P20"]) == {"P138": "lama", "P19": "lama", "P20": "lama"}
    assert of(["P138", "P1086", "P112"]) == {"P1086": "shipped", "P112": "shipped", "P138": "shipped"}
    assert of(["P138", "P19", "P20", "P1086"])["P1086"] == "shipped"
    assert of(["P138", "P1086"], templates="lama") == {"P1086": "shipped", "P138": "lama"}


def of_facts(
    *rows: tuple[str, str, str], origin: str = "written", parent: str | None = None, relation: str = "P36"
) -> dict[str, str]:
    templates = [
        Template(f"{at}", relation, *row[1:], origin, parent if at else None, ()) for at, row in enumerate(rows)
    ]
    named = [Relation(relation, relation, relation, None, None, None)]
    data = Data.of(facts=[fact(relation, "a", "b", "test")], templates=templates, relations=named)
    found = of_dataset(data, BeliefOptions())
    return {relation: own.source for relation, own in found.items()}


def test_sentences_that_somebody_wrote_come_before_ours_where_they_can_agree():
    german = [
        ("P36", "Die Hauptstadt von [X] ist [Y].", "statement"),
        ("P36", "Wie heißt die Hauptstadt von [X]?", "question"),
    ]
    assert of_facts(*german) == {"P36": "dataset"}
    assert of_facts(german[0]) == {"P36": "lama"}, "one sentence agrees with no other"
    ours = [(row.relation_id, row.text, row.style) for row in template_file(OF_FACTS) if row.relation_id == "P36"]
    assert of_facts(*ours) == {"P36": "lama"}
    assert of_facts(*ours, german[0]) == {"P36": "dataset"}, "added to ours"
    assert of_facts(*german, origin="mined") == {"P36": "lama"}
    assert of_facts(*german, parent="0") == {"P36": "lama"}, "a paraphrase is no second sentence"
    world = "invented_birthplace"
    assert of_facts(*german, relation=world) == {world: "invented"}, "those of worlds are ours too"


def test_a_relation_without_templates_of_the_suite_has_the_datasets_each_its_own_group():
    found = of_dataset(data(), BeliefOptions(groups=9, per_group=9))
    assert {own.source for own in found.values()} == {"dataset"}
    born = found["born"].wordings
    assert [(one.template_id, one.group) for one in born] == [
        ("born/0", "born/0"),
        ("born/2", "born/2"),
        ("born/q", "born/q"),
        ("born/1", "born/0"),
    ]
    assert born[2].text == "Where was [X] born? [Y]."
    assert born[2].question == "Where was [X] born?"


@pytest.mark.parametrize("mark", ["?", "？", "؟", ";"])
def test_a_question_ends_in_the_question_mark_of_any_script(mark):
    [one] = of_rows([Template("r/q", "r", f"Really{mark} Where is [X]{mark}", "question", "written", None, ())])["r"]
    assert one.question == f"Really{mark} Where is [X]{mark}"


def test_a_relation_without_any_template_has_two_of_its_label():
    named = Data.of(facts=[fact("r", "a", "b", "test")], relations=[Relation("r", "home town", None, None, None, None)])
    [(name, found)] = of_dataset(named, BeliefOptions()).items()
    assert (name, found.source) == ("r", "label")
    assert [one.text for one in found.wordings] == [
        "The home town of [X] is [Y].",
        "What is the home town of [X]? [Y].",
    ]
    assert found.wordings[1].question == "What is the home town of [X]?"
    assert all(one.written for one in found.wordings), "they can agree, or not"
    assert of_dataset(named, BeliefOptions(templates="dataset")) == {}


def test_files_that_ship_are_of_wikidatas_properties_whatever_the_relations_ids_and_of_no_id_alone():
    numbers = {"born": "P19", "P20": "P19", "P36": None, "P1086": None}
    relations = [Relation(name, "x", number, None, None, None) for name, number in numbers.items()]
    facts = [fact(name, "a", "b", "test") for name in numbers]
    found = of_dataset(Data.of(facts=facts, relations=relations), BeliefOptions(per_group=20))
    assert {name: own.source for name, own in found.items()} == {
        **dict.fromkeys(("born", "P20"), "lama"),
        **dict.fromkeys(("P36", "P1086"), "label"),
    }
    for name in ("born", "P20"):
        assert {one.text for one in found[name].wordings} == {one.text for one in SHIPPED["lama"]["P19"]}
        assert {one.group for one in found[name].wordings} == {f"{name}/g{group}/0" for group in range(1, 6)}


def test_a_propertys_other_names_make_no_sentences():
    rows = [Template(f"r/{style}", "r", "[X] was born in [Y].", style, "o", None, ()) for style in ("statement", ALIAS)]
    assert [one.template_id for one in of_rows(rows)["r"]] == ["r/statement"]


def test_a_users_file_is_used_before_all_others(tmp_path):
    path = tmp_path / "mine.jsonl"
    tables.write_jsonl(path, [Template("a", "P19", "[Y] bore [X].", "statement", "written", None, ())])
    assert of(["P19", "P20"], file=str(path)) == {"P19": "file", "P20": "lama"}


def test_the_columns_that_a_source_needs_are_enough_in_a_users_file_and_its_order_is_kept(tmp_path):
    lines = [f"P19,[X] was born {number} in [Y].,statement" for number in range(12)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["relation_id,text,style", *lines]))
    assert [one.text for one in of_rows(rows_of(path))["P19"]] == [line.split(",")[1] for line in lines]
    (tmp_path / "mine.jsonl").write_text('{"relation_id":"P19","text":"[X] was born in","style":"prefix"}')
    assert of_rows(rows_of(tmp_path / "mine.jsonl")) == {}
    assert set(of_rows(rows_of(OF_FACTS))) > {"P36"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"parent": "a"}, "has the unknown column 'parent'; known are relation_id"),
        ({"relation_id": ""}, "line 1: relation_id is empty"),
        ({"style": "sentence"}, "line 1: style 'sentence' is unknown; allowed are statement, question"),
        (
            {"group": "g1", "style": "sentence", "texts": ["[Y] bore [X].", "[X] is of [Y]."], "text": None},
            "group 'P19/g1': style 'sentence' is unknown; allowed are statement, entailment",
        ),
    ],
)
def test_what_is_wrong_in_a_users_file_is_refused_with_what_is_allowed(tmp_path, wrong, said):
    row = {"relation_id": "P19", "text": "[Y] bore [X].", "style": "statement"} | wrong
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({name: value for name, value in row.items() if value is not None}))
    with pytest.raises(AlmanacError) as refused:
        rows_of(path)
    assert f"mine.jsonl: {said}" in str(refused.value)


def test_what_a_users_file_says_of_another_relation_or_without_both_slots_is_listed_as_not_asked(tmp_path):
    path = tmp_path / "mine.csv"
    rows = ["P91,[X] is from [Y].,statement", "P19,[X] was born in,prefix", "P19,[X] is of [Y].,statement"]
    path.write_text("\n".join(["relation_id,text,style", *rows]))
    assert unused(path, {"P19"}) == {
        "templates of relation P91": f"{path} has 1 of them, and the dataset has no such relation",
        "template P19/0": f"'[X] was born in', prefix of {path}, makes no sentence with both slots",
    }
    asked = Belief().ask(Belief.rounds[0], data(), BeliefOptions(file=str(path)), None)
    refused = [row["thing"] for batch in asked for row in batch.refused.to_pylist()]
    assert "templates of relation P19" in refused


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Template("a", "r", "[X] is.", "statement", "written", None, ()), "line 1: '[X] is.' must hold"),
        (Template("a", "r", "[X] and [X] in [Y].", "statement", "written", None, ()), "[X] once"),
        (Template("a", "r", "Where is [X]", "question", "written", None, ()), "template 'a': 'Where is [X]' must hold"),
        (Template("a", "r", "[X] in [Y].", "statement", "written", "b", ()), "its parent_id 'b' is no template"),
        (Template("a", "r", "[X] OF [Y].", "statement", "written", None, ()), "'z': says the same as 'a'"),
    ],
)
def test_a_template_that_cannot_be_asked_is_named(tmp_path, row, said):
    path = tmp_path / "mine.jsonl"
    tables.write_jsonl(path, [Template("z", "r", "[X] of [Y].", "statement", "written", None, ()), row])
    with pytest.raises(AlmanacError, match=r"mine\.jsonl: ") as found:
        of(["r"], file=str(path))
    assert said in str(found.value)
