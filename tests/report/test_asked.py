"""What became of each dataset's facts: how many are asked, and which relations and facts are left out and why."""

from dataclasses import replace

import pytest
from tests.report import editions

from almanac import tables
from almanac.cli import main
from almanac.report.asked import ENDS, FOLDED, NAMED, FactsAsked, facts_asked, questions, sentences, table
from almanac.rows import Entity, Item, Measure, Refused, Relation, RelationCount, Template
from almanac.suites.recovery import BY_DOSE


def counted(relation, qualifies, facts, refused=0, train=0, test=0):
    surplus = facts - refused - train - test if qualifies else 0
    return RelationCount(relation, relation, qualifies, facts, 8, refused, train, test, surplus, 0, 0)


BORN = counted("born", True, 156, refused=2, train=8, test=32)
SHORT = "9 facts and 8 objects; needed are 16 and 4"
MINE = FactsAsked(
    "mine",
    [counted("industry", False, 9), BORN],
    [Refused("industry", None, SHORT), *(Refused("born", one, "4 wrong choices; needed are 5") for one in "ab")],
)


def test_a_relation_with_too_few_facts_is_named_with_the_reason():
    asked, left = sentences([MINE])
    assert asked == (
        "Dataset mine: 32 of 165 facts are test facts, 8 serve as examples, 114 are not drawn, 11 are left out."
    )
    assert left == f"Relations of mine that are not asked: industry ({SHORT})."
    assert [row[1:] for row in table([MINE]).rows] == [
        ("industry", 9, f"the whole relation: {SHORT}", ""),
        ("born", 2, "4 wrong choices; needed are 5", "a"),
    ]


def test_of_many_relations_a_sentence_names_the_first_and_the_table_all():
    names = [f"r{at}" for at in range(FOLDED + 1)]
    many = FactsAsked("mine", [counted(one, False, 9) for one in names], [Refused(one, None, SHORT) for one in names])
    assert sentences([many])[1].endswith(f"; {len(names) - NAMED} more, listed on the page under “left out”.")
    assert len(table([many]).rows) == len(names)
    assert table([many]).folded


def test_of_facts_that_were_taught_among_others_it_is_said_how_many_and_how_they_are_known():
    def known(dose, value, dataset="mine", n=20):
        of = ("suite", dataset, "m", None, BY_DOSE, f'{{"dose":{dose}}}', "mean", ("hit",))
        return Measure(*of, value, *[None] * 3, n, *[0] * 5)

    some = replace(MINE, doses=[[0, 0, 2, 8], [0, 4]], asked_often={"suite": 20})
    assert some.taught([known(0, 0.1), known(8, 0.9), known(8, 1.0), known(8, 0.2, "other"), known(8, 0.0, n=19)]) == (
        "The planted models were taught 1 to 2 of the test facts of mine, 2 to 8 times each; of those taught most "
        "often .900 to 1.000 are known, by model and method (of those that were asked 20 of them at least). They can "
        "tell objects that they have read from choices that they have not read, so a result above chance here need not "
        "be knowledge."
    )
    assert "2 to 8 times each. They can tell" in some.taught([])
    few = replace(some, asked_often={"suite": 7})
    assert few.taught([known(8, 0.9, n=21)]) == some.taught([]), "seven facts in three wordings"
    assert MINE.taught([]) is None
    assert replace(MINE, doses=[[0] * 4]).taught([]) is None, "none was taught"
    assert replace(MINE, doses=[[1] * MINE.tested]).taught([]) is None, "all were"
    assert f"taught {MINE.tested - 1} of" in replace(MINE, doses=[[0] + [1] * (MINE.tested - 1)]).taught([])


def test_relations_without_a_label_are_named_with_how_they_are_asked():
    told = FactsAsked("mine", [], unlabelled=["industry", "born"]).asked_by_id()
    assert told.startswith(
        "Relations of mine without a label: industry, born. Methods without templates of their own ask them by"
    )
    assert "“The industry of …”" in told
    own = FactsAsked("mine", [], labelled=["Hauptstadt", "Autor"]).asked_by_label()
    assert own.startswith(
        "Relations of mine without a question or a statement of their own that every method can use: "
        "Hauptstadt, Autor. What"
    )
    assert "“What is the Hauptstadt of …?”" in own
    for identity, label, found in (
        ("P47", "P47", True),
        ("capital_city", "capital_city", True),
        ("continent", "continent", False),  # as of one file of facts: the id is the word
        ("P47", "shares border with", False),
    ):
        assert Relation(identity, label, None, None, None, None).without_words() == found


@pytest.mark.parametrize(
    ("styles", "by_id"),
    [
        ((), {"ic_lke": False, "karr": True, "facteval": True}),
        (("statement",), {"ic_lke": False, "karr": False, "facteval": True}),
        (("statement", "question"), {"ic_lke": False, "karr": False, "facteval": False}),
    ],
)
def test_a_relation_is_said_to_be_asked_by_its_id_only_where_it_is(tmp_path, styles, by_id):
    texts = {"statement": "[X] was made by [Y].", "question": "Who made [X]?"}
    templates = [Template(f"P1/{one}", "P1", texts[one], one, "written", None, ()) for one in styles]
    entities = [Entity(f"{kind}{at}", f"{kind}name {at}", (), None) for kind in "QO" for at in range(60)]
    known = editions.Known([Relation("P1", "P1", *[None] * 4)], editions.facts_of(["P1"]), entities, templates)
    for suite, told in by_id.items():
        (tmp_path / suite).mkdir()
        config = {
            "sources": {"facts": {"path": "facts"}},
            "datasets": {"mine": {"source": "facts", **editions.SIZES}},
            "suites": {suite: {"mine": {"shots": 2} if suite == "ic_lke" else {}}},
            "models": [{"name": "m", "path": "m"}],
        }
        [found] = facts_asked(editions.asked(tmp_path / suite, config, known))
        assert found.unlabelled == (["P1"] if told else []), suite
        assert not found.labelled


def test_how_many_test_facts_a_suite_asks_is_counted_where_one_fact_stands_for_all_of_its_subject_too(tmp_path):
    facts = editions.facts_of(["P1"])
    facts += [replace(one, fact_id=f"{one.fact_id}b", object_id=f"O{(at + 1) % 12}") for at, one in enumerate(facts)]
    entities = [Entity(f"{kind}{at}", f"{kind}name {at}", (), None) for kind in "QO" for at in range(60)]
    config = {
        "sources": {"facts": {"path": "facts"}},
        "datasets": {"mine": {"source": "facts", **editions.SIZES}},
        "suites": {"ic_lke": {"mine": {"sample": 5, "shots": 2}}, "belief": {"mine": {}}},
        "models": [{"name": "m", "path": "m"}],
    }
    known = editions.Known([Relation("P1", "made by", *[None] * 4)], facts, entities, [])
    layout = editions.asked(tmp_path, config, known)
    [found] = facts_asked(layout)
    items = layout.rounds([*layout.config.asked()][1])[0].folder / "items.parquet"
    assert len({row.fact_id for row in tables.read(items, Item)}) < found.tested, "pairs"
    assert found.asked["belief"] == found.tested
    assert 5 <= found.asked["ic_lke"] <= 10
    assert found.raised == {"ic_lke": "suites.ic_lke.mine.sample", "belief": "datasets.mine.test"}


@pytest.mark.parametrize(("number", "told"), [("P1", 0), ("P36", 1)])
def test_relations_that_are_asked_in_sentences_that_ship_are_counted(tmp_path, number, told):
    config = {
        "sources": {"facts": {"path": "facts"}},
        "datasets": {"mine": {"source": "facts", **editions.SIZES}},
        "suites": {"ic_lke": {"mine": {"shots": 2}}, "facteval": {"mine": {"sample": 5}}},
        "models": [{"name": "m", "path": "m"}],
    }
    entities = [Entity(f"{kind}{at}", f"{kind}name {at}", (), None) for kind in "QO" for at in range(60)]
    relation = Relation("P1", "capital", number, None, None, None)
    [found] = facts_asked(
        editions.asked(tmp_path, config, editions.Known([relation], editions.facts_of(["P1"]), entities, []))
    )
    assert (found.of_properties, list(found.labelled)) == ((1, []) if told else (0, ["capital"]))
    assert any(line.endswith("that ship for Wikidata's properties: 1.") for line in sentences([found])) == bool(told)


def test_questions_are_shown_of_every_relation_and_in_every_way_before_a_model_has_answered(tmp_path, capsys):
    config = {
        "sources": {"facts": {"path": "facts"}},
        "datasets": {"mine": {"source": "facts", **editions.SIZES}},
        "suites": {"ic_lke": {"mine": {"shots": 4}}, "facteval": {"mine": {"sample": 5, "types": ["mcq", "saq"]}}},
        "models": [{"name": "m", "path": "m"}],
    }
    entities = [Entity(f"{kind}{at}", f"{kind} {at} {kind * 40}", (), None) for kind in "QO" for at in range(60)]
    relations = [Relation(one, label, *[None] * 4) for one, label in (("P1", "made by"), ("P2", "capital"))]
    layout = editions.asked(tmp_path, config, editions.Known(relations, editions.facts_of(["P1", "P2"]), entities, []))
    shown = list(questions(layout))
    at = next(at for at, one in enumerate(shown) if one.startswith("FactEval, dataset mine: "))
    assert shown[0].startswith("IC-LKE, dataset mine: ") and at == 3
    assert [one.split(",")[0] for one in shown[1:at]] == ["made by", "capital"]
    for one in shown[1:at]:  # the end alone, where what is asked stands
        assert one.split("\n")[1].startswith("  | … ") and "[choices, each scored alone: " in one
        assert ENDS < len(one) < ENDS + 200
    assert any("What is the capital of Q" in one and "\n  right: O " in one for one in shown[at:])
    ways = {"by a template, no passage", "by a template, wrong objects of its relation, no passage"}
    assert {one.split("\n")[0].removeprefix("capital, ").removeprefix("made by, ") for one in shown[at + 1 :]} == ways
    assert main(["report", "questions", "--edition", str(layout.root)]) == 0
    printed = capsys.readouterr().out
    assert "What is the capital of Q" in printed and "Relations of mine without a question" in printed
    next(layout.root.glob("requests/facteval/**/items.parquet")).unlink()
    assert main(["report", "questions", "--edition", str(layout.root)]) == 1
    assert "items.parquet is not there yet: run the target data first" in capsys.readouterr().err


def test_where_nothing_is_left_out_nothing_is_said_of_it_and_many_datasets_take_one_sentence():
    whole = FactsAsked("mine", [counted("born", True, 50, train=8, test=32)])
    assert sentences([whole]) == ["Dataset mine: 32 of 50 facts are test facts, 8 serve as examples, 10 are not drawn."]
    sample = "; methods ask samples, of which a model answered up to 9."
    assert sentences([replace(whole, asked={"a": 16, "b": 12})], {"mine": 9})[0].endswith(sample)
    assert sentences([replace(whole, asked={"a": 16, "b": 32})], {"mine": 9}) == sentences([whole]), "others failed"
    assert table([whole]) is None
    assert sentences([replace(whole, source=one) for one in "abcd"]) == [
        "Of 4 datasets, 128 of 200 facts are test facts."
    ]
    assert sentences([replace(whole, source=one) for one in "abab"]) == [
        "Of 4 datasets of 2 sources and worlds, each counted once, 64 of 100 facts are test facts."
    ]
