"""What is asked of a dataset: every type and style, wrong objects beside the true one, refusals that are listed."""

from collections import Counter

import pytest

from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import FactEvalSetting
from almanac.suites.facteval.rows import WrittenQuestion
from almanac.suites.prompts import prompts
from almanac.tables import write_jsonl

from .running import content, questions
from .tables import CAPITALS, FACTS, TEMPLATES, data, entity, fact, literal, template

PLAIN = data(FACTS, templates=TEMPLATES)


def of(found, fact_id, kind, style):
    return [row for row in found.values() if row.fact_id == fact_id and (row.type, row.style) == (kind, style)]


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


def test_true_and_false_statements_come_in_pairs():
    for one in FACTS:
        true, false = of(questions(PLAIN)[0], one.fact_id, "tfq", "statement")
        assert (true.truth, false.truth) == (True, False)
        assert true.text == f"The capital of {one.subject_id} is {one.object_id}."
        assert false.text == f"The capital of {one.subject_id} is {false.shown}."
        assert false.shown in CAPITALS.values() and false.shown != one.object_id
        assert (true.accepted, false.accepted) == (("correct",), ("incorrect",))


def test_the_true_object_stands_once_among_four_choices_wherever_it_was_drawn():
    places = Counter()
    facts = [fact("r", f"s{n}", f"o{n}") for n in range(80)]
    for row in questions(data(facts), types=["mcq"], styles=["wh"])[0].values():
        assert len(set(row.choices)) == 4 and row.choices.count(row.gold[0]) == 1
        places[row.choices.index(row.gold[0])] += 1
    assert all(8 <= places[at] <= 34 for at in range(4))  # about 20 of 80 each; a thousand to one


def test_all_objects_of_a_subject_answer_its_one_short_question():
    facts = [fact("speaks", "Swiss", "German"), fact("speaks", "Swiss", "French"), fact("speaks", "Poles", "Polish")]
    known = [entity("German", "Deutsch"), entity("French", "français", "French")]
    found = questions(data(facts, known), types=["saq"], styles=["wh"])[0]
    assert len(found) == 2
    row = of(found, "speaks|Swiss|French", "saq", "wh")[0]
    assert list(zip(row.gold, row.objects, strict=True)) == [
        ("French", "French"),
        ("français", "French"),
        ("German", "German"),
        ("Deutsch", "German"),
    ]
    assert {one.answers for one in found.values()} == {"single", "multiple"} and row.answers == "multiple"


def test_a_question_written_for_a_later_fact_of_a_subject_alone_is_asked_for_a_short_answer(tmp_path):
    """The question of its first fact was dropped."""
    facts = [fact("speaks", "Swiss", name) for name in ("French", "German", "Italian")]
    verdicts = zip(sorted(one.fact_id for one in facts), ("drop", "keep", "keep"), strict=True)
    rows = [
        WrittenQuestion(fact_id, "speaks", "wh", f"What do the Swiss of {at} speak?", verdict, None)
        for at, (fact_id, verdict) in enumerate(verdicts)
    ]
    write_jsonl(tmp_path / "written.jsonl", rows)
    found = questions(data(facts), types=["saq"], styles=["wh"], written=str(tmp_path / "written.jsonl"))[0].values()
    asked = {row.origin: (row.fact_id, row.text) for row in found}
    assert len(found) == 2
    assert asked["template"][0] == "speaks|Swiss|French"
    assert asked["written"] == ("speaks|Swiss|German", "What do the Swiss of 1 speak?")


def test_choices_stay_whole_texts():
    objects = ["Washington, D.C.", "Saint-Denis", "Paris; France", "Lima\tPeru"]
    facts = [fact("r", f"s{n}", found) for n, found in enumerate(objects)]
    found = questions(data(facts), types=["mcq"], styles=["wh"])[0]
    assert all(set(row.choices) == set(objects) for row in found.values())


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
    told = prompts("facteval")["ask"]
    for row in questions(PLAIN, contexts=["none", "relevant"], answer_tokens=7)[0].values():
        assert row.instruction == told[row.experiment]["text"]
        assert (row.kind, row.max_new_tokens, row.samples, row.temperature) == ("generate", 7, 1, 0.0)
        assert row.stop == (None if row.experiment == "saq-wh" else ("\n",))
        assert (row.passage is None) == (row.context == "none")
        assert row.passage is None or row.passage not in row.text


def test_every_experiment_has_an_instruction_with_its_source():
    told = prompts("facteval")["ask"]
    assert set(told) == {row.experiment for row in questions(PLAIN)[0].values()}
    for experiment, entry in told.items():
        assert entry["source"]
        assert ("[MASK]" in entry["text"]) is experiment.endswith("fib")
        assert ("choices" in entry["text"]) is experiment.startswith("mcq")
    assert "UNKNOWN" in told["tfq-statement"]["text"] and "as a list" in told["saq-wh"]["text"]


def test_items_say_what_was_asked():
    found = list(questions(PLAIN)[0].values())
    assert [row.item for row in found] == list(range(len(found)))
    first = next(row for row in found if row.experiment == "mcq-fib")
    assert (first.origin, first.negatives, first.context) == ("template", "relation", "none")
    assert (first.template_id, first.accepted) == ("capital/0", (first.fact_id.split("|")[2],))
    assert {row.negatives for row in found if row.type == "saq"} == {None}
    assert FactEvalSetting("template", "type", "none").label() == (
        "by a template, wrong objects of its object's type, no passage"
    )


def test_a_question_is_known_again_whatever_is_read_before_it():
    found = questions(PLAIN, contexts=["relevant", "none", "antifactual"])[0].values()
    same = {}
    for row in found:
        same.setdefault((row.experiment, row.fact_id, row.template_id, row.truth), set()).add(row.question)
    assert all(len(numbers) == 1 for numbers in same.values())
    assert len({number for numbers in same.values() for number in numbers}) == len(same)


def test_equal_requests_are_asked_once():
    """The true statement is the same whatever the wrong object is drawn from."""
    found = questions(PLAIN, types=["tfq"], negatives=["relation", "uniform"])[0].values()
    trues = [row.request_id for row in found if row.truth]
    assert len(trues) == 2 * len(FACTS) and len(set(trues)) == len(FACTS)


def test_a_fact_is_asked_the_same_whatever_stands_beside_it():
    alone, all_of_it = questions(PLAIN, sample=2)[0], questions(PLAIN)[0]
    assert 0 < len(alone) < len(all_of_it)
    assert all(content(all_of_it[key]) == content(row) for key, row in alone.items())
    reordered = questions(data(FACTS[::-1], templates=TEMPLATES[::-1]))[0]
    assert list(map(vars, reordered.values())) == list(map(vars, all_of_it.values()))


BIRTHS = [
    fact("place", "Obama", "Honolulu"),
    literal("year", "Obama", "1961", precision="year"),
    fact("place", "Bach", "Eisenach"),
]


def test_words_that_two_relations_share_are_not_asked_where_they_have_two_answers():
    both = [template(0, "[X] was born in [Y].", own=own) for own in ("place", "year")]
    found, refused = questions(data(BIRTHS, templates=both), types=["saq"])
    assert sorted((row.fact_id, row.style) for row in found.values()) == [
        ("place|Bach|Eisenach", "fib"),  # of whom nothing else is known
        ("place|Bach|Eisenach", "wh"),
        ("place|Obama|Honolulu", "wh"),
        ("year|Obama|1961", "wh"),
    ]
    assert refused["fact place|Obama|Honolulu: fib, template place/0"] == (
        "relation year is asked in the same words and has another answer"
    )
    assert "fact year|Obama|1961: statement, template year/0" in refused


def test_words_that_two_relations_share_are_asked_where_the_answer_is_one():
    facts = [fact("country", "Paris", "France"), fact("state", "Paris", "fr")]
    both = [template(0, "[X] lies in [Y].", own=own) for own in ("country", "state")]
    found, refused = questions(data(facts, [entity("fr", "France")], templates=both), types=["saq"], styles=["fib"])
    assert (len(found), refused) == (2, {})


def test_a_blank_with_several_true_objects_is_asked_for_in_the_released_codes_words():
    facts = [fact("speaks", "Swiss", "German"), fact("speaks", "Swiss", "French"), fact("speaks", "Poles", "Polish")]
    rows = questions(data(facts), types=["saq"], blanks="released")[0].values()
    said = {(row.style, row.answers): (row.instruction, row.stop) for row in rows}
    told = prompts("facteval")
    assert said == {
        ("fib", "multiple"): (told["released"]["saq-fib"]["text"], None),  # a list may take several lines
        ("fib", "single"): (told["ask"]["saq-fib"]["text"], ("\n",)),
        ("wh", "multiple"): (told["ask"]["saq-wh"]["text"], None),
        ("wh", "single"): (told["ask"]["saq-wh"]["text"], None),
    }
    assert "all the possible missing words" in said["fib", "multiple"][0]
    assert {row.instruction for row in questions(data(facts), types=["saq"])[0].values()} == {
        told["ask"][name]["text"] for name in ("saq-fib", "saq-wh")
    }


def test_train_facts_say_what_is_true_and_are_not_asked():
    facts = [fact("r", "s", "a"), fact("r", "s", "b", "train"), fact("r", "t", "c", "train"), fact("r", "u", "d", None)]
    found, _ = questions(data(facts), types=["tfq", "saq"], styles=["wh"])
    assert {row.fact_id.split("|")[1] for row in found.values()} == {"s"}
    assert next(row for row in found.values() if row.type == "saq").gold == ("a", "b")
    assert next(row for row in found.values() if row.truth is False).shown in "cd"


def test_the_files_of_a_setting_are_named_for_the_verb_that_reads_them():
    options = FactEvalOptions(written="w.jsonl", abstentions="a.yaml", official_abstentions="o.yaml")
    assert (options.files("ask"), options.files("measure")) == (("w.jsonl",), ("a.yaml", "o.yaml"))
    assert FactEvalOptions().files("ask") == FactEvalOptions().files("measure") == ()


def test_the_number_of_tokens_grows_with_what_is_asked():
    one = FactEvalOptions(types=["saq"], styles=["wh"])
    assert FactEvalOptions(contexts=["none", "relevant"]).tokens(100, 20, 5) > FactEvalOptions().tokens(100, 20, 5)
    assert FactEvalOptions().tokens(100, 20, 5) > one.tokens(100, 20, 5) > 100 * 20
    assert FactEvalOptions(sample=2).tokens(100, 20, 5) == FactEvalOptions().tokens(2, 20, 5)
