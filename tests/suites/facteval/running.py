"""FactEval as an edition runs it, in a folder of its own: asked, answered by a function, judged, joined, measured."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import polars as pl

from almanac import tables
from almanac.edition.asking import write_asked
from almanac.frames import frame_of, read_frame
from almanac.rows import Context, Exposure, Item, Link, Measure, NotAsked, Request, Response, Setting
from almanac.suites import headline
from almanac.suites.answers import Answers, RoundFiles, expanded
from almanac.suites.facteval.reading.scoring import JudgedQuestion
from almanac.suites.facteval.rows import QuestionNames, QuestionTraits
from almanac.suites.facteval.suite import FactEval
from almanac.suites.joining import join
from almanac.suites.judged import Judged, conditions_of

SUITE = FactEval()
REFUSED = ("refused", "not said")
TOO_LONG = ("too_long", "9 tokens")


def question(kind, gold=(), choices=None, truth=None, objects=None, text="?", **other):
    """Return a question as it is read; every name is an object of its own where ``objects`` does not say otherwise."""
    gold = (gold,) if isinstance(gold, str) else tuple(gold)
    return JudgedQuestion(kind, text, gold, tuple(objects or gold), choices, truth, **other)


def write(folder, data, at=0, before=None, **options):
    """Ask a round in a folder."""
    settings = SUITE.options(**options)
    write_asked(folder, SUITE.ask(SUITE.rounds[at], data, settings, before), SUITE.tables("asked"), 1)
    return folder


def asked(folder):
    """Return all that is known of each question that was asked in a folder, in the order of the items."""
    rows = read_frame(folder / "items.parquet", Item)
    settings = expanded(tables.read(folder / "settings.parquet", Setting), SUITE.setting)
    links = read_frame(folder / "links.parquet", Link).select("item", "request_id")
    requests = read_frame(folder / "requests-0.parquet", Request).drop("choices").rename({"options": "choices"})
    contexts = read_frame(folder / "contexts.parquet", Context).rename({"text": "passage"})
    own = [read_frame(folder / f"{name}.parquet", row) for name, row in
           (("traits", QuestionTraits), ("names", QuestionNames))]  # fmt: skip
    rows = rows.join(settings.cast({pl.Categorical: pl.String}), on="setting").join(links, on="item")
    for table in own:
        rows = rows.join(table, on="item")
    rows = rows.join(requests, on="request_id").join(contexts, on="context_id", how="left").sort("item")
    found = []
    for row in rows.iter_rows(named=True):
        one = SimpleNamespace(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
        )
        one.gold = () if one.type == "tfq" else one.accepted
        one.key = (one.experiment, one.origin, one.negatives, one.context, one.fact_id, one.template_id, one.truth)
        found.append(one)
    return found


def content(row):
    """Return what a question is, whatever its number."""
    return {name: value for name, value in vars(row).items() if name not in ("item", "question")}


def questions(data, **options):
    """Return the questions of a dataset by what tells them apart, and what was refused."""
    with TemporaryDirectory() as name:
        folder = write(Path(name), data, **options)
        refused = {row.thing: row.reason for row in tables.read(folder / "refused.parquet", NotAsked)}
        return {row.key: row for row in asked(folder)}, refused


def as_read(row):
    """Return a question that was asked as its answer is read."""
    given = (row.choices, row.truth, row.datatype, row.object_type, row.stated)
    return JudgedQuestion(row.type, row.text, row.gold, row.objects, *given)


def respond(folder, answer: Callable[[Request], object], name="responses"):
    """Write a response to each request of a folder: a text, or the status and the reason why there is none."""
    rows = []
    for request in tables.read(folder / "requests-0.parquet", Request):
        said = answer(request)
        found = ("ok", None, None, None, None, (said,)) if isinstance(said, str) else said
        rows.append(Response(request.request_id, *found))
    path = folder / f"{name}-0.parquet"
    tables.write(path, Response, rows)
    return path


@dataclass
class Found:
    """What became of one model's answers.

    Attributes:
        judged: its items.
        own: the suite's own tables of what was judged.
        outcomes: of its items and readings.
        measures: its numbers.
        headlines: those that every suite has.
        given: the names in a file of questions from elsewhere, by item.
    """

    judged: Judged
    own: Mapping[str, pl.DataFrame]
    outcomes: pl.DataFrame
    measures: list[Measure]
    headlines: list[Measure]
    given: Mapping[int, str]

    @cached_property
    def conditions(self):
        """The numbers with the conditions on their items."""
        return [(row, conditions_of(row)) for row in self.measures]

    def all(self, metric, **where):
        """Return the numbers of a metric whose items meet at least these conditions, and lack those that are none."""
        return [
            row
            for row, own in self.conditions
            if row.metric == metric and all(own.get(name) == value for name, value in where.items())
        ]

    def one(self, metric, experiment, reading="strict", context="none", **where):
        """Return the number of a metric of all relations, of no part if none is named."""
        plain = dict.fromkeys(("relation", "domain", "cardinality", "object_type", "truth", "answers")) | where
        [row] = self.all(metric, experiment=experiment, reading=reading, context=context, **plain)
        return row

    def verdicts(self):
        """Return the outcome of each item in each reading."""
        return {(item, reading): outcome for item, reading, outcome in
                self.outcomes.select("item", "reading", "outcome").iter_rows()}  # fmt: skip


def measured(folders, data, responses, doses=None, model="m", dataset="d", **options):
    """Judge and measure answers.

    Args:
        folders: of what was asked, one a round.
        data: the dataset.
        responses: a file for each round.
        doses: how often each fact was taught; none where the model was taught nothing.
        model: its name.
        dataset: the dataset's.
        options: the settings.
    """
    settings = SUITE.options(**options)
    exposures = None if doses is None else frame_of(Exposure, [Exposure(*one) for one in doses.items()])
    rounds = [
        RoundFiles.of(one.name, folder, [path], one.answered_by or model)
        for one, folder, path in zip(SUITE.rounds, folders, responses, strict=False)
    ]
    answers = Answers(model, dataset, rounds, SUITE.setting, SUITE.tables("asked"), exposures)
    judgements = list(SUITE.judge(answers, data, settings))
    outcomes = pl.concat([one.outcomes for one in judgements])
    own = {name: pl.concat([one.own[name] for one in judgements]) for name in SUITE.tables("judged")}
    judged = join(SUITE, settings, answers, data, outcomes, own)
    names = dict(answers.own("names").select("item", "given").iter_rows())
    given = {item: names[item] for item in judged.frame["item"] if names[item] is not None}
    said = outcomes.select(pl.col("item").cast(pl.UInt32), "reading", "prediction")
    headlines = list(headline.measures(SUITE, settings, judged, said, answers, data))
    return Found(judged, own, outcomes, SUITE.measure(judged, own, settings), headlines, given)


def given(folder, rows, doses=None, data=None, **options):
    """Judge and measure questions and answers of a file; return what was found by model."""
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return from_file(path, folder, doses, data, **options)


def from_file(path, folder, doses=None, data=None, **options):
    """Judge and measure a file of questions and answers; return what was found by model."""
    found = SUITE.elsewhere(path, SUITE.options(**options))
    write_asked(folder / "asked", found.batches, SUITE.tables("asked"), 1)
    out = {}
    for model, responses in found.responses.items():
        tables.write(folder / f"{model}.parquet", Response, responses)
        out[model] = measured(
            [folder / "asked"], data or found.data, [folder / f"{model}.parquet"], doses, model, **options
        )
    return out
