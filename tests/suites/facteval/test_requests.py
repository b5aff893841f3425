"""What is asked of a dataset: every type and style, wrong objects beside the true one, refusals that are listed."""

from collections import Counter

import pytest

from almanac import tables as table_files
from almanac.rows import Question
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.requests import ask, prompts
from facteval.tables import CAPITALS, FACTS, TEMPLATES, data, entity, fact, questions

PLAIN = data(FACTS, templates=TEMPLATES)
CONTEXT = "context=none"


def of(found, fact_id, kind, style):
    return [row for row in found.values() if f"/{fact_id}/" in row.item_id and (row.type, row.style) == (kind, style)]


def test_a_fact_is_asked_in_every_type_and_style():
    found, refused = questions(PLAIN)
    assert refused == {}
    counts = Counter((row.type, row.style) for row in found.values())
    n = len(FACTS)
    assert counts == {
        ("tfq", "statement"): 2 * n,
        ("mcq", "fib"): n,
        ("mcq", "wh"): n,
        ("saq", "fib"): n,
        ("saq", "wh"): n,
    }


def test_a_passage_that_is_named_twice_is_read_once():
    once, twice = (questions(PLAIN, contexts=own)[0] for own in (["relevant"], ["relevant", "relevant"]))
    assert list(twice) == list(once)
    asked = ask(PLAIN, FactEvalOptions(contexts=["relevant", "relevant"]))
    assert len(asked.items) == len(twice)


def test_true_and_false_statements_come_in_pairs():
    for one in FACTS:
        true, false = of(questions(PLAIN)[0], one.fact_id, "tfq", "statement")
        assert (true.truth, false.truth) == (True, False)
        assert true.text == f"The capital of {one.subject_id} is {one.object_id}."
        assert false.text == f"The capital of {one.subject_id} is {false.shown}."
        assert false.shown in CAPITALS.values() and false.shown != one.object_id
        assert true.item_id.endswith("/true") and false.item_id.endswith("/false")


def test_the_true_object_stands_once_among_four_choices_wherever_it_was_drawn():
    places = Counter()
    facts = [fact("r", f"s{n}", f"o{n}") for n in range(80)]
    for row in questions(data(facts), types=["mcq"], styles=["wh"])[0].values():
        assert len(set(row.choices)) == 4 and row.choices.count(row.gold[0]) == 1
        assert set(row.gold_object) == {row.gold[0]}
        places[row.choices.index(row.gold[0])] += 1
    assert all(8 <= places[at] <= 34 for at in range(4))  # about 20 of 80 each; a thousand to one


def test_all_objects_of_a_subject_answer_its_one_short_question():
    facts = [fact("speaks", "Swiss", "German"), fact("speaks", "Swiss", "French"), fact("speaks", "Poles", "Polish")]
    known = [entity("German", "Deutsch"), entity("French", "français", "French")]
    found = questions(data(facts, known), types=["saq"], styles=["wh"])[0]
    assert len(found) == 2
    row = of(found, "speaks|Swiss|French", "saq", "wh")[0]
    assert list(zip(row.gold, row.gold_object, strict=True)) == [
        ("French", "French"),
        ("français", "French"),
        ("German", "German"),
        ("Deutsch", "German"),
    ]


def test_choices_stay_whole_texts():
    objects = ["Washington, D.C.", "Saint-Denis", "Paris; France", "Lima\tPeru"]
    facts = [fact("r", f"s{n}", found) for n, found in enumerate(objects)]
    asked = ask(data(facts), FactEvalOptions(types=["mcq"], styles=["wh"]))
    assert {request.options for request in asked.requests.values()} == {
        row.choices for row in asked.beside["questions"]
    }
    assert all(set(request.options) == set(objects) for request in asked.requests.values())


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_a_relation_with_few_other_objects(others):
    facts = [fact("r", "s", "gold")] + [fact("r", f"t{n}", f"o{n}", None) for n in range(others)]
    found, refused = questions(data(facts))
    counts = Counter(row.type for row in found.values())
    assert counts["saq"] == 2
    assert counts["tfq"] == (2 if others else 1)
    assert counts["mcq"] == (2 if others == 3 else 0)
    said = "fact r|s|gold: mcq, negatives=relation"
    assert (said in refused) == (others < 3)
    if others < 3:
        assert refused[said] == f"{others} objects of its relation are false of its subject; needed are 3"
    assert ("fact r|s|gold: tfq, negatives=relation, the false statement" in refused) == (others == 0)


def test_objects_that_share_a_label_are_never_two_choices():
    facts = [fact("r", f"s{n}", f"Q{n}") for n in range(8)]
    labels = ["York", "york", "The York", "Leeds", "Leeds!", "Bath", "Hull", "Hull"]
    known = [entity(f"Q{n}", label=label) for n, label in enumerate(labels)]
    for row in questions(data(facts, known), types=["mcq", "tfq"], styles=["fib"])[0].values():
        folded = [name.lower().strip("!").removeprefix("the ") for name in row.choices or ()]
        assert len(set(folded)) == len(folded)
        if row.truth is False:
            true = row.text.split(" of ")[1].split(" is ")[0]
            assert row.shown.lower().strip("!").removeprefix("the ") != labels[int(true[1:])].lower().strip("!")


def test_wrong_objects_by_type_need_one():
    found, refused = questions(PLAIN, negatives=["type", "uniform"], types=["mcq"], styles=["wh"])
    assert {row.negatives for row in found.values()} == {"uniform"}
    assert refused[f"fact {FACTS[0].fact_id}: mcq, negatives=type"] == "its object has no type; needed are 3"


def test_requests_keep_instruction_question_and_passage_apart():
    asked = ask(PLAIN, FactEvalOptions(contexts=["none", "relevant"], answer_tokens=7))
    told = prompts()["ask"]
    served = {link.item_id: asked.requests[link.request_id] for link in asked.links}
    for row in asked.beside["questions"]:
        request = served[row.item_id]
        assert request.instruction == told[f"{row.type}-{row.style}"]["text"]
        assert (request.kind, request.text, request.options) == ("generate", row.text, row.choices)
        assert (request.max_new_tokens, request.samples, request.temperature) == (7, 1, 0.0)
        assert request.stop == (None if (row.type, row.style) == ("saq", "wh") else ("\n",))
        passage = None if request.context_id is None else asked.contexts[request.context_id].text
        assert passage == row.passage


def test_every_experiment_has_an_instruction_with_its_source():
    told = prompts()["ask"]
    assert set(told) == {item.experiment for item in ask(PLAIN, FactEvalOptions()).items}
    for experiment, entry in told.items():
        assert entry["source"]
        assert ("[MASK]" in entry["text"]) is experiment.endswith("fib")
        assert ("choices" in entry["text"]) is experiment.startswith("mcq")
    assert "UNKNOWN" in told["tfq-statement"]["text"] and "as a list" in told["saq-wh"]["text"]


def test_items_name_what_was_asked():
    asked = ask(PLAIN, FactEvalOptions())
    first = next(item for item in asked.items if item.experiment == "mcq-fib")
    one = first.fact_id
    assert first.setting == "origin=template,negatives=relation,context=none"
    assert first.item_id == f"facteval/mcq-fib/{first.setting}/{one}/capital/0"
    assert (first.template_id, first.accepted) == ("capital/0", (one.split("|")[2],))
    assert {item.accepted for item in asked.items if item.experiment == "tfq-statement"} == {
        ("correct",),
        ("incorrect",),
    }
    assert {item.setting for item in asked.items if item.experiment.startswith("saq")} == {
        "origin=template,context=none"
    }
    assert [row.item_id for row in asked.beside["questions"]] == [item.item_id for item in asked.items]


def test_equal_requests_are_asked_once():
    """The true statement is the same whatever the wrong object is drawn from."""
    asked = ask(data(FACTS, templates=TEMPLATES), FactEvalOptions(types=["tfq"], negatives=["relation", "uniform"]))
    trues = [link.request_id for link in asked.links if link.item_id.endswith("/true")]
    assert len(trues) == 2 * len(FACTS) and len(set(trues)) == len(FACTS)


def test_a_fact_is_asked_the_same_whatever_stands_beside_it():
    alone, all_of_it = questions(PLAIN, sample=2)[0], questions(PLAIN)[0]
    assert 0 < len(alone) < len(all_of_it)
    assert all(all_of_it[item_id] == row for item_id, row in alone.items())
    reordered = questions(data(FACTS[::-1], templates=TEMPLATES[::-1]))[0]
    assert reordered == all_of_it


def test_train_facts_say_what_is_true_and_are_not_asked():
    facts = [fact("r", "s", "a"), fact("r", "s", "b", "train"), fact("r", "t", "c", "train"), fact("r", "u", "d", None)]
    found, _ = questions(data(facts), types=["tfq", "saq"], styles=["wh"])
    assert {row.item_id.split("|")[1] for row in found.values()} == {"s"}
    assert next(row for row in found.values() if row.type == "saq").gold == ("a", "b")
    assert next(row for row in found.values() if row.truth is False).shown in "cd"


def test_questions_are_a_table(tmp_path):
    found = list(questions(PLAIN, contexts=["none", "antifactual"])[0].values())
    table_files.write(tmp_path / "questions.parquet", Question, found)
    assert table_files.read(tmp_path / "questions.parquet", Question) == found


def test_the_files_of_a_setting_are_named_for_the_verb_that_reads_them():
    options = FactEvalOptions(written="w.jsonl", abstentions="a.yaml", official_abstentions="o.yaml")
    assert (options.files("ask"), options.files("measure")) == (("w.jsonl",), ("a.yaml", "o.yaml"))
    assert FactEvalOptions().files("ask") == FactEvalOptions().files("measure") == ()


def test_the_number_of_tokens_grows_with_what_is_asked():
    one = FactEvalOptions(types=["saq"], styles=["wh"])
    assert FactEvalOptions(contexts=["none", "relevant"]).tokens(100, 20, 5) > FactEvalOptions().tokens(100, 20, 5)
    assert FactEvalOptions().tokens(100, 20, 5) > one.tokens(100, 20, 5) > 100 * 20
    assert FactEvalOptions(sample=2).tokens(100, 20, 5) == FactEvalOptions().tokens(2, 20, 5)
