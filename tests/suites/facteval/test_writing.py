"""Questions that a model writes: what it is shown, what is refused and why, and the file that a person hands back."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from almanac import tables as table_files
from almanac.edition.asking import write_asked
from almanac.errors import AlmanacError
from almanac.rows import Item, Link, Request, Response
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.rows import WrittenQuestion
from almanac.suites.facteval.texts import Writing, WritingSetting, read_written
from almanac.suites.prompts import prompts

from .running import content, questions, respond
from .tables import FACTS, TEMPLATES, data, entity, fact

KNOWN = [entity("Paris", "City of Light"), entity("France", "French Republic")]
TABLES = data(FACTS, KNOWN, templates=TEMPLATES)
WRITING = Writing()
GOOD = {
    "statement": "The capital of {} is {}.",
    "fib": "The capital of {} is [MASK].",
    "wh": "What is {}'s capital?",
}


def asked(folder, own, options):
    """Ask for texts; return what each request is for: the fact and the style."""
    write_asked(folder, WRITING.ask(WRITING.rounds[0], own, options, None), {}, 1)
    facts = {row.item: row.fact_id for row in table_files.read(folder / "items.parquet", Item)}
    return {row.request_id: (facts[row.item], row.role) for row in table_files.read(folder / "links.parquet", Link)}


def answers_of(folder, responses):
    return Answers("writer", "d", [RoundFiles.of("asked", folder, responses)], WritingSetting)


def judged(texts, own=TABLES, known=None, **options):
    """Judge answers: by fact and style a text, a status where there is none; what is not given is well written."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        wanted = asked(folder, own, WritingOptions(**options))

        def answer(request):
            fact_id, style = wanted[request.request_id]
            text = texts.get((fact_id, style), GOOD[style].format(*fact_id.split("|")[1:]))
            return text if text != "too_long" else ("too_long", "9 tokens")

        return WRITING.write(answers_of(folder, [respond(folder, answer)]), known or own, WritingOptions(**options))


def verdict(text, style):
    first = FACTS[0].fact_id
    row = next(row for row in judged({(first, style): text}) if (row.fact_id, row.style) == (first, style))
    return row.text, row.verdict, row.reason


def test_the_answers_of_another_dataset_are_refused():
    with pytest.raises(AlmanacError, match="is no fact of the dataset; give the dataset that was asked"):
        judged({}, known=data(FACTS[1:], KNOWN))


def test_a_model_is_shown_the_triple_and_examples(tmp_path):
    wanted = asked(tmp_path, TABLES, WritingOptions())
    requests = {row.request_id: row for row in table_files.read(tmp_path / "requests-0.parquet", Request)}
    [request] = [requests[name] for name, one in wanted.items() if one == (FACTS[0].fact_id, "wh")]
    assert request.text == "Triple: (France, capital, Paris)"
    assert "Triple: (Emma, author, Jane Austen)\nWho wrote Emma?" in request.instruction
    assert (request.kind, request.stop) == ("generate", ("\n",))


def test_a_model_can_be_told_in_the_papers_words(tmp_path):
    wanted = asked(tmp_path, TABLES, WritingOptions(prompts="paper"))
    requests = {row.request_id: row for row in table_files.read(tmp_path / "requests-0.parquet", Request)}
    own = {one[1]: requests[name] for name, one in wanted.items() if one[0] == FACTS[0].fact_id}
    assert {one.text for one in own.values()} == {"(France, capital, Paris)"}
    endings = {
        "statement": "to describe this triplet as accurate as possible?",
        "fib": "as accurate as possible and replace Object with [MASK]?",
        "wh": "Please return the question only.",
    }
    for style, ending in endings.items():
        assert own[style].instruction.startswith("I have a triplet extracted from a knowledge graph. The triplet is")
        assert own[style].instruction.endswith(ending)


def test_the_examples_shown_pass_the_filter_themselves():
    """What a model is shown as good must be good: each example as if it had been written for its own triple."""
    for style, told in prompts("facteval")["write"].items():
        for shot in told["shots"]:
            subject, _, found = shot["triple"]
            one = fact("r", subject, found)
            [row] = judged({(one.fact_id, style): shot["text"]}, data([one]), styles=[style])
            assert row.verdict == "keep"


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
    rows = judged({(facts[0].fact_id, "fib"): "Swiss speak [MASK] and German."}, data(facts), styles=["fib"])
    assert [row.reason for row in rows] == ["names the object", None]


def test_a_question_that_is_another_subjects_too_has_two_answers():
    facts = [fact("capital", "Q1", "Tbilisi"), fact("capital", "Q2", "Atlanta"), fact("capital", "Q2", "Savannah")]
    known = [entity("Q1", label="Georgia"), entity("Q2", label="Georgia")]
    said = {(one.fact_id, "wh"): "What is Georgia's capital?" for one in facts}
    rows = judged(said, data(facts, known), styles=["wh"])
    assert [(row.verdict, row.reason) for row in rows] == [
        ("keep", None),
        ("drop", "says the same as that of 'capital|Q1|Tbilisi'"),
        ("drop", "says the same as that of 'capital|Q1|Tbilisi'"),
    ]


def test_every_text_asked_for_has_one_row():
    rows = judged({(FACTS[0].fact_id, "wh"): ""})
    assert len(rows) == 3 * len(FACTS) == len({(row.fact_id, row.style) for row in rows})
    assert sum(row.verdict == "drop" for row in rows) == 1


def test_a_request_without_a_response_is_an_error(tmp_path):
    asked(tmp_path, TABLES, WritingOptions())
    table_files.write(tmp_path / "none.parquet", Response, [])
    with pytest.raises(AlmanacError, match="18 of 18 requests have no response"):
        WRITING.write(answers_of(tmp_path, [tmp_path / "none.parquet"]), TABLES, WritingOptions())


def test_written_questions_are_asked_beside_those_of_templates(tmp_path):
    first = FACTS[0].fact_id
    path = tmp_path / "written.jsonl"
    table_files.write_jsonl(path, judged({(first, "statement"): "The City of Light rules France.", (first, "wh"): ""}))
    found, refused = questions(TABLES, written=str(path))
    own = {key: row for key, row in found.items() if row.origin == "written" and row.fact_id == first}
    true, false = (row for row in own.values() if row.type == "tfq")
    assert (true.text, true.truth, true.template_id) == ("The Paris rules France.", True, None)
    assert false.text == f"The {false.shown} rules France."
    assert {(row.type, row.style) for row in own.values()} == {("tfq", "statement"), ("mcq", "fib"), ("saq", "fib")}
    assert refused == {f"fact {first}: written wh": "empty"}
    others = {key: content(row) for key, row in found.items() if row.origin == "template"}
    assert others == {key: content(row) for key, row in questions(TABLES)[0].items()}
    twins = [row for row in found.values() if row.experiment == "mcq-fib" and row.fact_id == first]
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
        ([ROW, ROW], "is there twice; keep one row"),
        ([ROW | {"text": "Is it Paris, France?"}], "names the object; mend it or say drop"),
        ([ROW | {"texts": "x"}], "line 1 is no row of WrittenQuestion"),
    ],
)
def test_a_file_with_a_fault_is_refused_by_fact_and_style(tmp_path, rows, message):
    path = tmp_path / "written.jsonl"
    path.write_text(rows_of(*rows))
    with pytest.raises(AlmanacError, match=r"written\.jsonl") as error:
        read_written(path, FACTS, TABLES)
    assert message in str(error.value)


def test_questions_of_other_facts_are_listed(tmp_path):
    path = tmp_path / "written.jsonl"
    path.write_text(rows_of(ROW | {"fact_id": "capital|Mars|X"}, ROW))
    found, refused = read_written(path, FACTS, TABLES)
    assert list(found) == [FACTS[0].fact_id]
    assert [(row.thing, row.reason) for row in refused] == [
        ("fact capital|Mars|X: written wh", "the fact is not asked here")
    ]


def test_a_writer_that_answered_nothing_is_an_error(tmp_path):
    asked(tmp_path, TABLES, WritingOptions(styles=["wh"]))
    said = respond(tmp_path, lambda request: ("unsupported", "a masked model writes no text"))
    with pytest.raises(AlmanacError, match=r"none of 6 requests was answered \(unsupported: a masked model"):
        WRITING.write(answers_of(tmp_path, [said]), TABLES, WritingOptions())


def test_rows_are_a_table(tmp_path):
    rows = judged({})
    table_files.write(tmp_path / "written.parquet", WrittenQuestion, rows)
    assert table_files.read(tmp_path / "written.parquet", WrittenQuestion) == rows
