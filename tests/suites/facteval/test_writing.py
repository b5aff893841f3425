"""Questions that a model writes: what it is shown, what is refused and why, and the file that a person hands back."""

import json

import pytest

from almanac import tables as table_files
from almanac.dataset.names import ObjectNames, true_objects
from almanac.edition.writing import ask_questions, judge_questions
from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Item, Link, Relation, Response, WrittenQuestion
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.requests import prompts
from almanac.suites.facteval.writing import ask_writing, judge, read_written
from facteval.tables import FACTS, TEMPLATES, data, entities_of, entity, fact, questions

KNOWN = [entity("Paris", "City of Light"), entity("France", "French Republic")]
TABLES = data(FACTS, KNOWN, templates=TEMPLATES)
NAMES = ObjectNames.of(TABLES.entities)
TRUE = true_objects(FACTS)
ASKED = ask_writing(FACTS, TABLES.relations, NAMES, prompts()["write"], WritingOptions())


def judged(texts, facts=FACTS, names=NAMES, asked=ASKED):
    """Judge answers: by fact and style a text, a status where there is none; what is not given is well written."""
    good = {
        "statement": "The capital of {} is {}.",
        "fib": "The capital of {} is [MASK].",
        "wh": "What is {}'s capital?",
    }
    responses = []
    by_item = {item.item_id: item for item in asked.items}
    for link in asked.links:
        item = by_item[link.item_id]
        subject, found = item.fact_id.split("|")[1:]
        text = texts.get((item.fact_id, item.experiment), good[item.experiment].format(subject, found))
        status, said = ("ok", (text,)) if text != "too_long" else ("too_long", None)
        responses.append(Response(link.request_id, status, None if said else "9 tokens", texts=said))
    return judge(asked.items, asked.links, responses, facts, names, true_objects(facts))


def verdict(text, style):
    first = FACTS[0].fact_id
    row = next(row for row in judged({(first, style): text}) if (row.fact_id, row.style) == (first, style))
    return row.text, row.verdict, row.reason


def test_the_answers_of_another_dataset_are_refused():
    with pytest.raises(AlmanacError, match="is no fact of the dataset; give the dataset that was asked"):
        judged({}, facts=FACTS[1:])


def test_a_model_is_shown_the_triple_and_examples():
    item = next(item for item in ASKED.items if item.fact_id == FACTS[0].fact_id and item.experiment == "wh")
    request = ASKED.requests[next(link.request_id for link in ASKED.links if link.item_id == item.item_id)]
    assert request.text == "Triple: (France, capital, Paris)"
    assert "Triple: (Emma, author, Jane Austen)\nWho wrote Emma?" in request.instruction
    assert (request.kind, request.stop) == ("generate", ("\n",))


def test_the_examples_shown_pass_the_filter_themselves():
    """What a model is shown as good must be good: each example as if it had been written for its own triple."""
    for style, told in prompts()["write"].items():
        for shot in told["shots"]:
            subject, _, found = shot["triple"]
            one = fact("r", subject, found)
            names = ObjectNames.of(entities_of([one]))
            asked = ask_writing([one], data([one]).relations, names, prompts()["write"], WritingOptions(styles=[style]))
            assert [row.verdict for row in judged({(one.fact_id, style): shot["text"]}, [one], names, asked)] == [
                "keep"
            ]


@pytest.mark.parametrize(
    ("style", "text", "kept"),
    [
        ("statement", "Paris is the capital of the French Republic.", None),
        ("statement", "The City of Light is the capital of France.", None),
        ("statement", '- "Sentence: Paris is the capital of France."', "Paris is the capital of France."),
        ("statement", "Paris is the capital of France.\nIt is old.", "Paris is the capital of France."),
        ("fib", "[MASK] is the capital of France.", None),
        ("wh", "Which city is France's capital?", None),
    ],
)
def test_what_is_sound_is_kept(style, text, kept):
    assert verdict(text, style) == (kept or text, "keep", None)


@pytest.mark.parametrize(
    ("style", "text", "reason"),
    [
        ("statement", "", "empty"),
        ("statement", "\n\n", "empty"),
        ("statement", "France has a capital.", "does not name the object"),
        ("statement", "Parisians live in France.", "does not name the object"),
        ("statement", "Paris is a capital.", "does not name the subject"),
        ("statement", "[MASK] is the capital of France, Paris.", "holds [MASK] 1 times; needed is 0"),
        ("statement", "Is Paris the capital of France?", "is a question"),
        ("fib", "Paris is the capital of France.", "holds [MASK] 0 times; needed is 1"),
        ("fib", "[MASK] and [MASK] are in France.", "holds [MASK] 2 times; needed is 1"),
        ("fib", "[MASK], the City of Light, is the capital of France.", "names the object"),
        ("fib", "[MASK] is a capital.", "does not name the subject"),
        ("wh", "What is the capital of France", "is no question"),
        ("wh", "Is Paris the capital of France?", "names the object"),
        ("wh", "What is its capital?", "does not name the subject"),
        ("wh", "I am sorry, I cannot help.", "does not name the subject"),
        ("wh", "too_long", "too_long: 9 tokens"),
    ],
)
def test_what_is_not_is_dropped_with_the_reason(style, text, reason):
    assert verdict(text, style)[1:] == ("drop", reason)


def test_no_other_true_object_may_be_named():
    facts = [fact("speaks", "Swiss", "French"), fact("speaks", "Swiss", "German")]
    names = ObjectNames.of(entities_of(facts))
    asked = ask_writing(facts, data(facts).relations, names, prompts()["write"], WritingOptions(styles=["fib"]))
    rows = judged({(facts[0].fact_id, "fib"): "Swiss speak [MASK] and German."}, facts, names, asked)
    assert [row.reason for row in rows] == ["names the object", None]


def test_a_question_that_is_another_subjects_too_has_two_answers():
    facts = [fact("capital", "Q1", "Tbilisi"), fact("capital", "Q2", "Atlanta"), fact("capital", "Q2", "Savannah")]
    known = [entity("Q1", label="Georgia"), entity("Q2", label="Georgia")]
    names = ObjectNames.of(entities_of(facts, *known))
    asked = ask_writing(facts, data(facts).relations, names, prompts()["write"], WritingOptions(styles=["wh"]))
    rows = judged({(one.fact_id, "wh"): "What is Georgia's capital?" for one in facts}, facts, names, asked)
    assert [(row.verdict, row.reason) for row in rows] == [
        ("keep", None),
        ("drop", "says the same as that of 'capital|Q1|Tbilisi'"),
        ("drop", "says the same as that of 'capital|Q1|Tbilisi'"),
    ]


def test_every_text_asked_for_has_one_row():
    rows = judged({(FACTS[0].fact_id, "wh"): ""})
    assert len(rows) == 3 * len(FACTS) == len({(row.fact_id, row.style) for row in rows})
    assert sum(row.verdict == "drop" for row in rows) == 1


def test_a_request_without_a_response_is_an_error():
    with pytest.raises(AlmanacError, match="has none; give all shards"):
        judge(ASKED.items, ASKED.links, [], FACTS, NAMES, TRUE)


def test_written_questions_are_asked_beside_those_of_templates(tmp_path):
    first = FACTS[0].fact_id
    path = tmp_path / "written.jsonl"
    table_files.write_jsonl(path, judged({(first, "statement"): "The City of Light rules France.", (first, "wh"): ""}))
    found, refused = questions(TABLES, written=str(path))
    own = {row.item_id: row for row in found.values() if row.origin == "written" and first in row.item_id}
    true, false = (row for row in own.values() if row.type == "tfq")
    assert true.text == "The Paris rules France." and true.item_id.endswith("/written/true")
    assert false.text == f"The {false.shown} rules France."
    assert {(row.type, row.style) for row in own.values()} == {("tfq", "statement"), ("mcq", "fib"), ("saq", "fib")}
    assert refused == {f"fact {first}: written wh": "empty"}
    others = {item_id: row for item_id, row in found.items() if row.origin == "template"}
    assert others == questions(TABLES)[0]
    twins = [row for row in found.values() if row.type == "mcq" and row.style == "fib" and first in row.item_id]
    assert twins[0].choices == twins[1].choices  # only the wording differs


def rows_of(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


ROW = {
    "fact_id": FACTS[0].fact_id,
    "relation_id": "capital",
    "style": "wh",
    "text": "What is France's capital?",
    "verdict": "keep",
}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW | {"style": "poem"}], "poem is no style; allowed are statement, fib, wh"),
        ([ROW | {"verdict": "maybe"}], "verdict 'maybe'; allowed are keep and drop"),
        ([ROW, ROW], "stands twice"),
        ([ROW | {"text": "Is it Paris, France?"}], "names the object; mend it or say drop"),
        ([ROW | {"texts": "x"}], "line 1 is no row of WrittenQuestion"),
    ],
)
def test_a_file_with_a_fault_is_refused_by_fact_and_style(tmp_path, rows, message):
    path = tmp_path / "written.jsonl"
    path.write_text(rows_of(*rows))
    with pytest.raises(AlmanacError, match=r"written\.jsonl") as error:
        read_written(path, FACTS, NAMES, TRUE)
    assert message in str(error.value)


def test_questions_of_other_facts_are_listed(tmp_path):
    path = tmp_path / "written.jsonl"
    path.write_text(rows_of(ROW | {"fact_id": "capital|Mars|X"}, ROW))
    found, refused = read_written(path, FACTS, NAMES, TRUE)
    assert list(found) == [FACTS[0].fact_id]
    assert [(row.thing, row.reason) for row in refused] == [
        ("fact capital|Mars|X: written wh", "the fact is not asked here")
    ]


@pytest.fixture
def dataset(tmp_path):
    """Write the dataset, and what is asked of a writer."""
    folder = tmp_path / "dataset"
    for name, row, rows in (("facts", Fact, FACTS), ("entities", Entity, TABLES.entities)):
        table_files.write(folder / f"{name}.parquet", row, rows)
    table_files.write(folder / "relations.parquet", Relation, TABLES.relations)
    asked = ask_questions(folder, WritingOptions(styles=["wh"]))
    table_files.write(tmp_path / "items.parquet", Item, asked.items)
    table_files.write(tmp_path / "links.parquet", Link, asked.links)
    return folder, tmp_path, list(asked.requests)


def test_files_of_answers_become_questions(dataset):
    folder, asked, requests = dataset
    files = []
    for number, request in enumerate(requests):  # as shards: a file each
        files.append(asked / f"{number}.parquet")
        said = Response(request, "ok", None, texts=("What is the capital of Peru?",))
        table_files.write(files[-1], Response, [said])
    found = judge_questions(folder, asked, files)
    assert {row.fact_id for row in found if row.verdict == "keep"} == {"capital|Peru|Lima"}
    assert len(found) == len(FACTS)


def test_a_writer_that_answered_nothing_is_an_error(dataset):
    folder, asked, requests = dataset
    rows = [Response(request, "unsupported", "a masked model writes no text") for request in requests]
    table_files.write(asked / "answers.parquet", Response, rows)
    with pytest.raises(AlmanacError, match=r"none of 6 requests was answered \(unsupported: a masked model"):
        judge_questions(folder, asked, [asked / "answers.parquet"])


def test_rows_are_a_table(tmp_path):
    rows = judged({})
    table_files.write(tmp_path / "written.parquet", WrittenQuestion, rows)
    assert table_files.read(tmp_path / "written.parquet", WrittenQuestion) == rows
