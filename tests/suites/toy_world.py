"""A small dataset for the toy suite, and what a model and its checker say."""

from pathlib import Path

from tests.suites.support import Question, Reply, Trial, ok, silent
from tests.toy.toy_suite import Toy, ToyOptions

from almanac.rows import Choices, Entity, Fact, Popularity, Relation, Response
from almanac.suites.data import Data

OBJECTS = ("Oslo", "Lima", "Rome", "Bern")
DOSES = (0, 4, 16, 64)


def dataset(facts: int = 8) -> Data:
    """Two relations of test facts, whose subjects are popular in turn; every second object is that of two facts."""
    rows, wrong, popular = [], [], []
    for relation in ("r1", "r2"):
        for at in range(facts):
            found = OBJECTS[at // 2 % 4]
            fact_id = f"{relation}|{at}"
            rows.append(Fact(fact_id, relation, f"{relation}s{at}", found, *[None] * 3, (), "test", "t"))
            others = tuple(one for one in OBJECTS if one != found)
            wrong.append(Choices(fact_id, others, others))
            bucket = ("head", "tail")[at % 2]
            popular += [Popularity(f"{relation}s{at}", source, "links", 1.0, bucket) for source in ("b", "a")]
    names = [Entity(key, key, (), None) for row in rows for key in (row.subject_id, row.object_id)]
    return Data.of(
        relations=[Relation(name, name.upper(), None, None, None, None) for name in ("r1", "r2")],
        entities=list({row.entity_id: row for row in names}.values()),
        facts=rows,
        choices=wrong,
        popularity=popular,
    )


DATA = dataset()
DOSE_OF = {row.fact_id: DOSES[at % 4] for at, row in enumerate(DATA.facts)}


def pick(question: Question) -> Response:
    """Know what was taught often, else name the first choice; say nothing of the last fact of a relation."""
    fact_id, place = question.item.fact_id, question.link.index
    if fact_id.endswith("7"):
        return silent("refused")
    picked = place if DOSE_OF[fact_id] >= 16 else 0
    return ok(logprobs=tuple(-0.5 if at == picked else -2.0 - at for at in range(3)))


def check(question: Question) -> Response:
    """Agree where the choice that stands first, which was picked, is Oslo or Lima."""
    agrees = question.request.choices[0] in (" Oslo", " Lima")
    return ok(logprobs=(-0.1, -1.0, -2.0) if agrees else (-2.0, -0.1, -1.0))


def played(folder: Path, reply: Reply = pick) -> Trial:
    """Ask and answer both rounds, in two shards."""
    options = ToyOptions(orders=2, checker="judge")
    trial = Trial(folder, Toy(), DATA, options, doses=DOSE_OF, shards=2)
    return trial.ask().answer(reply).ask().answer(check)
