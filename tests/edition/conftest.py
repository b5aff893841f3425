"""A small edition of three suites, answered by a function: two rounds, several readings, tables that are not frozen."""

import random

import pytest
from tests.report import editions

from almanac.rows import Entity, Exposure, Relation, Response, Template

RELATIONS = ("P1", "P2")
CONFIGURATION = {
    "planting": {"worlds": {"invented": {"seed": 1}}},
    "datasets": {"invented": {"world": "invented", **editions.SIZES}},
    "suites": {
        "ic_lke": {"invented": {"shots": 2, "draws": 2, "sample": 6}},
        "karr": {"invented": {"sample": 2, "templates": 2, "aliases": 1, "subjects": 1, "spurious": True}},
        "facteval": {
            "invented": {"sample": 2, "types": ["tfq", "saq"], "negatives": ["relation", "uniform"], "answer_tokens": 4}
        },
    },
    "models": [{"name": "base", "planted": {}}, {"name": "large", "planted": {"layers": 3}}],
    "shards": 2,
}


def answer(model, request):
    """Say something of every kind of request, and nothing to every eleventh."""
    chance = random.Random(model + request.request_id)
    made = {"model_digest": model, "engine": "none"}
    if chance.random() < 1 / 11:
        return Response(request.request_id, "refused", "because", **made)
    if request.kind == "generate":
        return Response(request.request_id, "ok", None, texts=(chance.choice(["true", "false", "O1", "O2"]),), **made)
    values = tuple(chance.gauss(-5, 2) for _ in request.choices or request.pieces or request.span_starts)
    return Response(request.request_id, "ok", None, values, (1,) * len(values), **made)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The edition, from its datasets to its page."""
    facts = editions.facts_of(RELATIONS)
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    wordings = {"statement": ("[X] was made by [Y].", "[Y] made [X]."), "question": ("Who made [X]?",)}
    templates = [
        Template(f"{relation}/{text}", relation, text, style, "written", None, ())
        for relation in RELATIONS
        for style, texts in wordings.items()
        for text in texts
    ]
    relations = [Relation(name, f"maker {name}", *[None] * 4) for name in RELATIONS]
    layout = editions.asked(
        tmp_path_factory.mktemp("small"), CONFIGURATION, editions.Known(relations, facts, entities, templates)
    )
    exposures = [Exposure(fact.fact_id, editions.DOSES[at % 3]) for at, fact in enumerate(facts)]
    finished = editions.finish(layout, answer, exposures)
    for what in ("tables", "figures"):  # Snakemake leaves a file of its own in every folder that a rule makes
        (finished.shown(what) / ".snakemake_timestamp").touch()
    return finished
