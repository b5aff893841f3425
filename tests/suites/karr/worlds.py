"""A small world and a made-up model that knows of it what it was taught, for the tests of KaRR's numbers."""

import json
import math
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from almanac import tables
from almanac.edition.asking import write_asked
from almanac.frames import frame_of
from almanac.rows import (
    Choices,
    Entity,
    Exposure,
    Fact,
    Item,
    Link,
    NotAsked,
    Relation,
    Request,
    Response,
    Setting,
    Template,
)
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.data import Data
from almanac.suites.joining import join
from almanac.suites.judged import Judged, conditions_of
from almanac.suites.karr.asking import FACTS
from almanac.suites.karr.draws import FactDraw, pools_of
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import Draw
from almanac.suites.karr.suite import Karr

SUITE = Karr()
DOSES, OBJECTS = (0, 2, 16), 12
TEMPLATES = ("[X] comes from [Y].", "The home of [X] is [Y].")
OPTIONS = KarrOptions(subjects=6)
METHODS = (*OPTIONS.modes, "lama_at_1", "lama_at_10", "pararel", "k_prompts")


@dataclass(frozen=True)
class World:
    """A dataset's tables."""

    facts: list[Fact] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    choices: list[Choices] = field(default_factory=list)

    @property
    def data(self):
        return Data.of(**{name: list(getattr(self, name)) for name in self.__dataclass_fields__})

    def pools(self, options=OPTIONS):
        return pools_of(self.data, options)[0]


def world(relations=("a", "b"), templates=TEMPLATES, aliases=0):
    """Return a dataset in block design, each object at every dose, and the doses."""
    facts, exposures = [], []
    for relation in relations:
        for number in range(OBJECTS * len(DOSES)):
            found = f"{relation}o{number % OBJECTS}"
            fact_id = f"{relation}|{relation}s{number}|{found}"
            facts.append(Fact(fact_id, relation, f"{relation}s{number}", found, *[None] * 3, (), "test", "x"))
            exposures.append(Exposure(fact_id, DOSES[number // OBJECTS]))
    keys = dict.fromkeys(key for fact in facts for key in (fact.subject_id, fact.object_id))
    named = [Entity(key, key, tuple(f"{key}'{at}" for at in range(aliases)), key[0]) for key in keys]
    rows = [
        Template(f"{relation}{at}", relation, text, "statement", "x", None, ())
        for relation in relations
        for at, text in enumerate(templates)
    ]
    objects = [f"{relation}o{at}" for relation in relations for at in range(OBJECTS)]
    choices = [
        Choices(fact.fact_id, tuple(wrong), tuple(wrong))
        for fact in facts
        for wrong in [[one for one in objects if one[0] == fact.relation_id and one != fact.object_id]]
    ]
    related = [Relation(name, name, *[None] * 4) for name in relations]
    return World(facts, named, related, rows, choices), exposures


def knows(dose):
    """Return how many nats likelier a fact's object is by its dose."""
    return math.log2(1 + dose)


def logprobs(data, exposures, known, seed=0, prior=lambda shown: 0.0, level=-6.0):
    """Return the model: the log-probability of an object in a text, about `level` where it knows nothing."""
    dose_of = {row.fact_id: row.dose for row in exposures}
    dose = {(fact.subject_id, fact.object_id): dose_of.get(fact.fact_id, 0) for fact in data.facts}
    subjects = {fact.subject_id for fact in data.facts}

    def logprob(text, shown):
        words = [word.partition("'")[0] for word in text.replace(".", "").split()]
        subject = next((word for word in words if word in subjects), "")
        noise = random.Random(f"{seed}{text}{shown}").gauss(0, 0.3)
        shown = shown.partition("'")[0]
        return level + noise + known(dose.get((subject, shown), 0)) + prior(shown)

    return logprob


def respond(request, logprob, status="ok"):
    """Answer one request."""
    if request.pieces is not None:
        own = {"logprobs": (-1.0,), "token_counts": (len(request.pieces[0].split()),)}
    elif request.kind == "fill":
        logs = [logprob(request.text, choice) for choice in request.choices]
        order = sorted(logs, reverse=True)
        ranks = tuple(order.index(log) for log in logs)
        own = {"logprobs": tuple(logs), "token_counts": (1,) * len(logs), "ranks": ranks, "tokens": ("x",)}
    else:
        last = logprob(request.text, request.text.replace(".", "").split()[-1])
        tokens = [*[-3.0] * (len(request.text.split()) - 1), last]
        spans = [[last] if start else tokens for start in request.span_starts]
        own = {
            "logprobs": tuple(map(sum, spans)),
            "token_counts": tuple(map(len, spans)),
            "token_logprobs": tuple(value for span in spans for value in span),
        }
    return Response(request.request_id, status, None if status == "ok" else "because", **own)


class Written:
    """What was asked in one round; by what an item asks, ``(experiment, asked, fact)``: names, links, draws."""

    def __init__(self, folder):
        self.items = {row.item: row for row in tables.read(folder / "items.parquet", Item)}
        settings = tables.read(folder / "settings.parquet", Setting)
        asked = {row.setting: json.loads(row.fields)["asked"] for row in settings}
        self.names = {at: (row.experiment, asked[row.setting], row.fact_id) for at, row in self.items.items()}
        self.accepted = {self.names[at]: row.accepted for at, row in self.items.items()}
        self.requests = {row.request_id: row for row in tables.read(folder / "requests-0.parquet", Request)}
        self.refused = tables.read(folder / "refused.parquet", NotAsked)
        self.links = defaultdict(list)
        for row in tables.read(folder / "links.parquet", Link):
            self.links[self.names[row.item]].append(row)
        rows = defaultdict(list)
        for row in tables.read(folder / "draws.parquet", Draw):
            rows[self.names[row.item]].append(row)
        self.draws = {name: FactDraw.of(own) for name, own in rows.items()}


class Asking:
    """A world asked of a made-up model, round by round, in files as an edition has them."""

    def __init__(self, world, options=OPTIONS, exposures=None, model="m"):
        self.world, self.options, self.model = world, options, model
        self.exposures = None if exposures is None else frame_of(Exposure, exposures)
        self.rounds = []
        self._held = TemporaryDirectory()
        self.folder = Path(self._held.name)

    def answers(self):
        return Answers(self.model, "d", self.rounds, SUITE.setting, SUITE.tables("asked"), self.exposures)

    def ask(self, options=None, world=None):
        """Ask the next round."""
        at = SUITE.rounds[len(self.rounds)]
        before = self.answers() if self.rounds else None
        batches = SUITE.ask(at, (world or self.world).data, options or self.options, before)
        folder = self.folder / at.name
        write_asked(folder, batches, SUITE.tables("asked"), 1)
        return Written(folder)

    def answer(self, logprob, status="ok", change=lambda row: row):
        """Answer what was asked last; ``change`` may alter, or with none leave out, single responses."""
        name = SUITE.rounds[len(self.rounds)].name
        requests = tables.read(self.folder / name / "requests-0.parquet", Request)
        rows = [change(respond(request, logprob, status)) for request in requests]
        path = self.folder / f"{name}.parquet"
        tables.write(path, Response, [row for row in rows if row is not None])
        self.rounds.append(RoundFiles.of(name, self.folder / name, [path], self.model))
        return self

    def measured(self, options=None, world=None):
        """Judge and measure what was answered."""
        return Measured(self.answers(), (world or self.world).data, options or self.options)


class Measured:
    """What became of one model's answers: own tables, items with their outcomes, and numbers."""

    def __init__(self, answers, data, options):
        parts = list(SUITE.judge(answers, data, options))
        outcomes = pl.concat(part.outcomes for part in parts if part.outcomes.width)
        assert outcomes["item"].to_list() == list(range(answers.count))  # in their order, every one
        self.own = {name: answers.own(name) for name in SUITE.tables("asked")}
        for name, row in SUITE.tables("judged").items():
            self.own[name] = pl.concat([frame_of(row, ()), *(part.own[name] for part in parts if name in part.own)])
        outcomes = outcomes.with_columns(pl.lit("").alias("reading"))
        self.judged: Judged = join(SUITE, options, answers, data, outcomes, self.own)
        self.rows = SUITE.measure(self.judged, self.own, options)

    def find(self, metric, experiment, asked=FACTS, **more):
        """Return the number that was made by these conditions and the fewest others, or none."""
        wanted = {"experiment": experiment, "asked": asked, **more}
        found = [
            (len(where), row)
            for row in self.rows
            if row.metric == metric
            and (where := conditions_of(row))
            and all(where.get(name) == value for name, value in wanted.items())
        ]
        fewest = [row for count, row in found if count == min(found)[0]] if found else []
        assert len(fewest) < 2
        return fewest[0] if fewest else None

    def value(self, *words, **more):
        """Return a number's value."""
        return self.find(*words, **more).value

    def metrics(self):
        return {row.metric for row in self.rows if row.value is not None}


def asked(world, options=OPTIONS):
    """Return what is asked of a world in the first round."""
    return Asking(world, options).ask()


def answered(world, exposures, logprob, options=OPTIONS, status="ok", model="m"):
    """Ask a world and let the model answer everything, in as many rounds as the options want."""
    asking = Asking(world, options, exposures, model)
    for _ in SUITE.rounds_of(options):
        asking.ask()
        asking.answer(logprob, status)
    return asking


def measured(known=knows, taught=True, options=OPTIONS, status="ok", size=None, **more):
    """Return the measures of a model that knows its facts so."""
    data, exposures = world(**(size or {}))
    logprob = logprobs(data, exposures, known, **more)
    return answered(data, exposures if taught else None, logprob, options, status).measured()


def changed(row, **values):
    """Return a copy of a row."""
    return replace(row, **values)
