"""The files of written questions: from a dataset to requests, and from a model's answers to a file for a person."""

from collections.abc import Sequence
from pathlib import Path

from almanac import tables
from almanac.dataset.names import ObjectNames, true_objects
from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Item, Link, Relation, Response, WrittenQuestion
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.requests import prompts
from almanac.suites.facteval.writing import ask_writing, judge


def ask_questions(dataset: Path, options: WritingOptions) -> Asked:
    """Ask a model to write questions of a dataset's test facts."""
    facts = tables.read(dataset / "facts.parquet", Fact)
    return ask_writing(
        asked_facts(facts, options.sample, options.seed),
        tables.read(dataset / "relations.parquet", Relation),
        ObjectNames.of(tables.read(dataset / "entities.parquet", Entity)),
        prompts()["write"],
        options,
    )


def judge_questions(dataset: Path, asked: Path, responses: Sequence[Path]) -> list[WrittenQuestion]:
    """Judge what a model wrote.

    Raises:
        AlmanacError: a request has no response, or the model answered none.
    """
    facts = tables.read(dataset / "facts.parquet", Fact)
    answers = [row for path in responses for row in tables.read(path, Response)]
    if not any(row.status == "ok" for row in answers):
        reasons = sorted({f"{row.status}: {row.reason}" for row in answers})
        raise AlmanacError(
            f"{asked}: none of {len(answers)} requests was answered ({'; '.join(reasons)[:200]}); questions are "
            "written by a model that generates"
        )
    return judge(
        tables.read(asked / "items.parquet", Item),
        tables.read(asked / "links.parquet", Link),
        answers,
        facts,
        ObjectNames.of(tables.read(dataset / "entities.parquet", Entity)),
        true_objects(facts),
    )
