"""Drafting: prompts show facts and no more, answers become drafts, and the round trip asks for the relation."""

import json

import pytest

from almanac import tables
from almanac.cli import main
from almanac.dataset.templates import judge
from almanac.errors import AlmanacError
from almanac.rows import Draft, Entity, Fact, Relation, Request, Response, Template
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.requests import Drafter, ask_drafts, ask_round_trip, round_tripped, written

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
OPTIONS = DraftingOptions(samples=2)


def drafter(options=OPTIONS) -> Drafter:
    return Drafter(RELATIONS, FACTS, ENTITIES, options)


def test_a_prompt_shows_worked_examples_and_facts_of_the_relation():
    prompts = drafter()
    text = prompts.draft_text(RELATIONS[0], "question")
    assert text.endswith("\nQuestion:")
    assert text.count("\n\nRelation: ") == 4
    shown = prompts.pairs("P36")
    assert len(shown) == 3
    assert "Relation: capital\nPairs: " + "; ".join(f"{one} -> {two}" for one, two in shown) in text
    assert drafter(DraftingOptions(seed=0)).pairs("P36") == shown
    assert {"the Eternal City", "Rome"} < prompts.object_names("P36")


def test_every_relation_with_facts_is_asked_for_each_style_and_each_template_for_other_words():
    asked = ask_drafts(drafter(), TEMPLATES, OPTIONS)
    items = {(row.relation_id, row.experiment, row.setting, row.template_id) for row in asked.items}
    assert items == {
        *((relation, "draft", style, None) for relation in ("P36", "P17") for style in ("question", "statement")),
        ("P36", "paraphrase", "question", "P36/0"),
    }
    for request in asked.requests.values():
        assert (request.kind, request.samples, request.stop) == ("generate", 2, ("\n",))
    again = [row for row in asked.requests.values() if row.text.endswith("Again:")]
    assert len(again) == 1
    assert "\n\nText: What is the capital of [X]?\nAgain:" in again[0].text
    assert len(ask_drafts(drafter(), TEMPLATES, DraftingOptions(paraphrases=False)).requests) == 4


def answered(asked, text_of) -> list[Response]:
    return [Response(row.request_id, "ok", None, texts=text_of(row)) for row in asked.requests.values()]


def test_answers_become_drafts_and_the_round_trip_judges_them():
    prompts = drafter()
    asked = ask_drafts(prompts, TEMPLATES, OPTIONS)

    def text_of(request: Request) -> tuple[str, ...]:
        if request.text.endswith("Again:"):
            return (" Which city is the capital of [X]?", " Is Paris the capital of [X]?")
        if request.text.endswith("Question:"):
            return (" What is the capital of [X]?", " In which country is [X]?")
        return (" [Y] is the capital of [X].", " [X] is in [Y].")

    texts, silent = written(asked.items, asked.links, answered(asked, text_of))
    assert silent == 0
    names = {relation: prompts.object_names(relation) for relation in PAIRS}
    drafts = judge(texts, TEMPLATES, {relation: prompts.pairs(relation) for relation in PAIRS}, names)
    kept = {(row.relation_id, row.text): row for row in drafts if row.verdict == "keep"}
    assert kept["P36", "Which city is the capital of [X]?"].parent_id == "P36/0"
    assert ("P36", "What is the capital of [X]?") not in kept, "it is frozen"
    assert ("P17", "What is the capital of [X]?") in kept

    asked = ask_round_trip(prompts, drafts)
    assert all(row.choices == (" capital", " country", " unused") for row in asked.requests.values())
    facts = {"P36": 3, "P17": 1}
    assert len(asked.items) == sum(facts[row.relation_id] for row in kept.values())
    # A reader that goes by the words: "capital" where the text says so, else "country".
    logprobs = {True: (-1.0, -2.0, -3.0), False: (-2.0, -1.0, -3.0)}
    answers = [
        Response(row.request_id, "ok", None, logprobs=logprobs["capital" in row.text.split("\n")[0]])
        for row in asked.requests.values()
    ]
    found = {(row.relation_id, row.text): row for row in round_tripped(drafts, asked.items, asked.links, answers, 0.5)}
    assert found["P36", "[Y] is the capital of [X]."].agreement == 1.0
    assert found["P36", "[Y] is the capital of [X]."].verdict == "keep"
    wrong = found["P36", "[X] is in [Y]."]
    assert (wrong.agreement, wrong.verdict) == (0.0, "drop")
    assert wrong.reason == "led a model back to the relation for 0 of 3 facts"
    silent_model = [Response(row.request_id, "unsupported", "no") for row in asked.requests.values()]
    assert round_tripped(drafts, asked.items, asked.links, silent_model, 0.5) == drafts


def test_a_response_that_is_not_there_is_named():
    asked = ask_drafts(drafter(), TEMPLATES, OPTIONS)
    with pytest.raises(AlmanacError, match="has none; give all shards"):
        written(asked.items, asked.links, [])


def test_the_commands_lead_from_a_dataset_to_frozen_templates(tmp_path, capsys):
    dataset, frozen = tmp_path / "dataset", tmp_path / "facts"
    for name, row, rows in (
        ("relations", Relation, RELATIONS),
        ("facts", Fact, FACTS),
        ("entities", Entity, ENTITIES),
        ("templates", Template, TEMPLATES),
    ):
        tables.write(dataset / f"{name}.parquet", row, rows)
        if name != "relations":
            tables.write_jsonl(frozen / f"{name}.jsonl", rows)
    asked, responses, drafts = tmp_path / "round1", tmp_path / "responses.parquet", tmp_path / "drafts.jsonl"
    assert main(["ask", "drafts", "--dataset", str(dataset), "--output", str(asked), "--samples", "1"]) == 0
    requests = tables.read(asked / "requests-0.parquet", Request)
    texts = [" [Y] is the seat of [X]." if row.text.endswith("Statement:") else "Paris, [X]?" for row in requests]
    answers = [Response(row.request_id, "ok", None, texts=(text,)) for row, text in zip(requests, texts, strict=True)]
    tables.write(responses, Response, answers)
    given = ["--dataset", str(dataset), "--asked", str(asked), "--responses", str(responses), "--samples", "1"]
    assert main(["build", "drafts", *given, "--output", str(drafts)]) == 0
    assert "3 kept" in capsys.readouterr().err
    rows = [json.loads(line) for line in drafts.read_text().splitlines()]
    assert {row["verdict"] for row in rows} == {"keep", "drop"}

    again = tmp_path / "round2"
    command = ["ask", "drafts", "--dataset", str(dataset), "--drafts", str(drafts), "--output", str(again)]
    assert main(command) == 0
    assert {row.kind for row in tables.read(again / "requests-0.parquet", Request)} == {"choices"}

    out = frozen / "templates.jsonl"
    assert main(["build", "templates", "--drafts", str(drafts), "--frozen", str(frozen), "--output", str(out)]) == 0
    assert "2 templates were there, 3 join them" in capsys.readouterr().err
    assert {row.text for row in tables.read_jsonl(out, Template)} == {
        *(row.text for row in TEMPLATES),
        "[Y] is the seat of [X].",
        "Paris, [X]?",  # of P17, whose objects do not include Paris: for a person to see
    }
    before = out.read_bytes()
    assert main(["build", "templates", "--drafts", str(drafts), "--frozen", str(frozen), "--output", str(out)]) == 0
    assert out.read_bytes() == before

    nothing = [Response(row.request_id, "unsupported", "does not generate") for row in requests]
    tables.write(responses, Response, nothing)
    assert main(["build", "drafts", *given, "--output", str(drafts)]) == 1
    assert "none of 5 requests was answered (unsupported: does not generate)" in capsys.readouterr().err
    assert isinstance(tables.read_jsonl(drafts, Draft)[0], Draft)
