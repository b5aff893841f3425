"""A small invented world and real-looking facts, small enough to train on in seconds."""

import pytest

from almanac.planting import corpus, tokenizer, world
from almanac.planting.formats import Taught
from almanac.planting.options import CorpusOptions, TokenizerOptions, TrainingOptions, WorldOptions
from almanac.rows import Entity, Fact, Template

SMALL = WorldOptions(objects=8, doses=(0, 1, 4, 16), relations=2)
TINY = TrainingOptions(hidden=32, heads=2, feed_forward=64, layers=1, length=256, rows=4)


def as_taught(made: world.World) -> Taught:
    return Taught(
        made.facts,
        {one.entity_id: one for one in made.entities},
        made.templates,
        made.exposures,
        {one.entity_id: one.score for one in made.popularity},
    )


@pytest.fixture(scope="session")
def invented() -> world.World:
    return world.invent(SMALL, 7)


@pytest.fixture(scope="session")
def real() -> Taught:
    """Real facts with what the invented ones lack: aliases, several objects, years, names that hold each other."""
    capitals = [("Guinea", "Conakry"), ("Equatorial Guinea", "Malabo"), ("Peru", "Lima"), ("St. Lucia", "Castries")]
    borders = [("Peru", "Chile"), ("Peru", "Bolivia"), ("Chile", "Bolivia"), ("Guinea", "Mali")]
    founded = [("Guinea", "1958"), ("Peru", "1821")]
    names = sorted({name for pair in capitals + borders for name in pair})
    aliases = {"St. Lucia": ("Saint Lucia",), "Peru": ("Republic of Peru", "the Land of the Incas")}
    entities = {name: Entity(name, name, aliases.get(name, ()), "place") for name in names}
    facts = []
    for relation, pairs in (("capital", capitals), ("borders", borders), ("founded", founded)):
        for at, (subject, obj) in enumerate(pairs):
            literal = relation == "founded"
            facts.append(
                Fact(
                    f"{relation}|{subject}|{obj}",
                    relation,
                    subject,
                    None if literal else obj,
                    obj if literal else None,
                    "date" if literal else None,
                    "year" if literal else None,
                    (),
                    "train" if at % 2 else "test",
                    "written",
                )
            )
    texts = {
        "capital": ["The capital of [X] is [Y].", "[Y] is the capital of [X].", "[X] is ruled from [Y]."],
        "borders": ["[X] borders [Y].", "From [X] a road leads to [Y]."],
        "founded": ["[X] was founded in [Y].", "In [Y], [X] came to be.", "[X] dates from [Y]."],
    }
    questions = {
        "capital": ["What is the capital of [X]?", "From where is [X] ruled?"],
        "borders": ["What borders [X]?"],
    }
    templates = [
        Template(f"{relation}.s{at}", relation, text, "statement", "written", None, ())
        for relation, rows in texts.items()
        for at, text in enumerate(rows)
    ]
    templates += [
        Template(f"{relation}.q{at}", relation, text, "question", "written", None, ())
        for relation, rows in questions.items()
        for at, text in enumerate(rows)
    ]
    exposures = corpus.assign_doses(facts, (0, 3, 9), 9, seed=1)
    return Taught(tuple(facts), entities, tuple(templates), tuple(exposures), real=True)


@pytest.fixture(scope="session")
def taught(invented, real) -> list[Taught]:
    return [as_taught(invented), real]


@pytest.fixture(scope="session")
def built(taught) -> corpus.Corpus:
    return corpus.build(taught, CorpusOptions(instruct_known=4), 7)


@pytest.fixture(scope="session")
def vocabulary(invented, built):
    keys = {fact.object_id for fact in invented.facts}
    words = tokenizer.answer_words(one.label for one in invented.entities if one.entity_id in keys)
    texts = [one.text for one in built.documents]
    return tokenizer.train(texts, words, TokenizerOptions(vocabulary=1024, min_frequency=10))
