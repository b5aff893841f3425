"""A small world and a made-up model that knows of it what it was taught, for the tests of KaRR's numbers."""

import math
import random
from dataclasses import replace

from almanac.rows import Choices, Entity, Exposure, Fact, Relation, Response, Template
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.options import KarrOptions
from almanac.suites.method import Answered, Data

DOSES, OBJECTS = (0, 2, 16), 12
TEMPLATES = ("[X] comes from [Y].", "The home of [X] is [Y].")
OPTIONS = KarrOptions(subjects=6)


def knows(dose):
    """Return how many nats likelier a fact's object is by its dose."""
    return math.log2(1 + dose)


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
    return Data(entities=named, relations=related, facts=facts, choices=choices, templates=rows), exposures


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


def answered(data, exposures, logprob, options=OPTIONS, status="ok", model="m"):
    """Ask the dataset and let the model answer everything, in as many rounds as the options want."""
    first = first_round(data, exposures, logprob, options, status, model)
    return joined(first, METHOD.ask_again(first, options, lambda: None), logprob) if options.asks_again else first


def first_round(data, exposures, logprob, options=OPTIONS, status="ok", model="m"):
    """Ask the dataset and let the model answer the first round."""
    asked = METHOD.ask(data, options, lambda: None)
    return joined(Answered(model, "d", data, [], [], [], [], {}, exposures), asked, logprob, status)


def joined(before, asked, logprob, status="ok"):
    """Let the model answer what is asked, and join it to what it has answered before."""
    requests = list(asked.requests.values())
    return replace(
        before,
        items=[*before.items, *asked.items],
        links=[*before.links, *asked.links],
        requests=[*before.requests, *requests],
        responses=[*before.responses, *(respond(request, logprob, status) for request in requests)],
        beside={name: [*before.beside.get(name, ()), *rows] for name, rows in asked.beside.items()},
    )


def rows_of(measured):
    """Return measures by what tells them apart."""
    return {
        (row.experiment, row.setting, row.metric, row.relation_id, row.exposure, row.level): row
        for row in measured.measures
    }


def measured(known=knows, taught=True, options=OPTIONS, status="ok", size=None, **more):
    """Return the measures of a model that knows its facts so."""
    data, exposures = world(**(size or {}))
    logprob = logprobs(data, exposures, known, **more)
    return rows_of(METHOD.measure(answered(data, exposures if taught else None, logprob, options, status), options))


def value(rows, experiment, metric, setting="facts", exposure=None, level=None, relation=None):
    """Return one number."""
    return rows[experiment, setting, metric, relation, exposure, level].value


METHODS = (*VARIANTS, "lama_at_1", "lama_at_10", "pararel", "k_prompts")
