"""`snakemake writing`: from facts to a file of questions for a person, and from the proofread file into FactEval."""

import json

import pytest
import yaml
from tests.workflow.test_drafts import chain_model, two_relations

from almanac.rows import Item, Link, NotAsked, Request, Setting
from almanac.tables import read

SLOTS = {
    "statement": "does not name the subject",
    "fib": "holds [MASK] 0 times; needed is 1",
    "wh": "does not name the subject",
}


def configure(project, **changes):
    config = {
        "edition": "tiny",
        "sources": {"two": {"path": "two"}},
        "datasets": {"two": {"source": "two", "min_facts": 20, "min_objects": 10, "train": 4, "test": 3, "choices": 5}},
        "models": [{"name": "writer", "path": "writer", "wrapper": "question_answer", "datasets": []}],
        "writing": {"dataset": "two", "model": "writer", "sample": 2, "text_tokens": 16},
    }
    (project.root / "here.yaml").write_text(yaml.safe_dump(config | changes))


def run(project, *words):
    command = [word if word != "tests/data/tiny.yaml" else "here.yaml" for word in project.command(*words)]
    return project.run(*command)


def asked(project):
    """What FactEval asks: the origin, the relation and the text of each question; and what it does not."""
    folder = project.results / "requests" / "facteval" / "two" / "asked" / "all"
    origins = {row.setting: json.loads(row.fields)["origin"] for row in read(folder / "settings.parquet", Setting)}
    items = {row.item: row for row in read(folder / "items.parquet", Item)}
    texts = {row.request_id: row.text for path in folder.glob("requests-*") for row in read(path, Request)}
    questions = {
        (origins[items[row.item].setting], items[row.item].relation_id, texts[row.request_id])
        for row in read(folder / "links.parquet", Link)
    }
    return questions, read(folder / "refused.parquet", NotAsked)


@pytest.mark.whole
def test_questions_are_written_proofread_and_asked(fresh):
    project = fresh()
    two_relations(project)
    chain_model(project.root / "writer")
    configure(project, writing=None)
    nobody = run(project, "-n", "--", "writing")
    assert nobody.returncode != 0
    assert "writing: the configuration does not say who writes" in nobody.stdout + nobody.stderr
    configure(project)
    made = run(project, "--", "writing")
    assert made.returncode == 0, made.stdout + made.stderr
    path = project.results / "writing" / "two.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    # Two facts of two relations in three styles; a model that always writes `Whom[X]?` names no subject.
    assert len(rows) == 12
    assert {(row["style"], row["text"], row["verdict"], row["reason"]) for row in rows} == {
        (style, "Whom[X]?", "drop", reason) for style, reason in SLOTS.items()
    }
    log = (project.results / "logs" / "write_writing" / "two.log").read_text()
    dropped = "8 dropped (“does not name the subject”), 4 dropped (“holds [MASK] 0 times; needed is 1”)"
    assert f"12 questions: 0 kept, {dropped}" in log

    # A person writes one question anew and keeps it; a file in the way of the next run is not taken for theirs.
    configure(project, suites={"facteval": {"two": {"sample": 2, "written": str(path.relative_to(project.root))}}})
    refused = run(project, "--", "data")
    assert refused.returncode != 0
    assert "suites.facteval.two.written: results/tiny/writing/two.jsonl lies in results/tiny" in refused.stderr

    entities = {row["entity_id"]: row for row in map(json.loads, (project.root / "two" / "entities.jsonl").open())}
    one = next(row for row in rows if row["style"] == "wh")
    subject = entities[one["fact_id"].split("|")[1]]["label"]
    mended = f"What belongs to {subject}?"
    proofread = [row | {"text": mended, "verdict": "keep"} if row == one else row for row in rows]
    (project.root / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in proofread))
    configure(project, suites={"facteval": {"two": {"sample": 2, "written": "mine.jsonl"}}})
    built = run(project, "--", "data")
    assert built.returncode == 0, built.stdout + built.stderr
    questions, left_out = asked(project)
    written = {text for origin, _, text in questions if origin == "written"}
    assert written and all(mended in text for text in written)
    assert len({relation for _, relation, _ in questions}) == 2
    assert len(left_out) == 11 and {row.reason for row in left_out} == set(SLOTS.values())

    # A file that changes is read again; one that is not there is named.
    (project.root / "mine.jsonl").write_text("")
    again = run(project, "--", "data")
    assert again.returncode == 0, again.stdout + again.stderr
    assert {origin for origin, _, _ in asked(project)[0]} == {"template"}
    (project.root / "mine.jsonl").unlink()
    gone = run(project, "--", "data")
    assert gone.returncode != 0 and "suites.facteval.two.written: there is no file mine.jsonl" in gone.stderr
