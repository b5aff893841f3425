"""How often a model that knows nothing is called above chance, and one that knows a little is.

    python -m benchmarks.chance

An edition of 200 models is simulated: each has its own liking of objects, follows how common they are, or both, and
knows a share of the facts. Relations' objects are skewed (a Zipf distribution). Printed are the share of models that
are called above chance, that of models of which any relation is, adjusted for all of their relations, and of whole
editions of twelve rows adjusted together: with all facts of the relations asked, and with two of each, whose answers
are held against the others all the same. Then models that pick any of the choices they are offered, or the commonest;
models that name anything at all where each fact of a relation has an object of its own, some asked in several
wordings, or of subjects that relations share; models that have scores for objects, and are asked each fact with a false
one too; models that are shown a true and a false statement of each fact; and models that go by the commonest object
where subjects have several. These are held against the level of the first of 70 rows that are adjusted together as
well. Last, how often the interval of what is above chance holds the truth, by designs with few hits or few facts of a
relation, of five times as many models: above its upper end more may have been missed than is said; and the same of
draws of facts asked of one model that has scores for objects.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.rows import Choices, Entity, Fact, Measure
from almanac.suites.chance import ABOVE, GIVEN, OF_RELATION, against_false, against_others, against_statements
from almanac.suites.commonness import Common
from almanac.suites.data import Data
from almanac.suites.headline import LEVEL, holm
from almanac.suites.judged import Judged
from almanac.suites.truths import Truths, objects_of

RELATIONS, FACTS, OBJECTS, ROWS = 10, 70, 20, 12
CHOICES = ((3, 40, False), (4, 8, False), (4, 8, True), (10, 100, True), (20, 60, True), (20, 1000, False))
# How a model likes objects: by itself, as common as they are, and how much it wavers from fact to fact.
LIKINGS = {"any object": (0.0, 0.0, 9.0), "a favourite": (1.0, 0.0, 0.05), "the common": (0.3, 1.0, 0.05),
           "common, wavering": (0.3, 1.0, 1.0)}  # fmt: skip
# Relations, facts of each and objects; what is known, and what else is answered.
INTERVALS = (
    ((6, 10, 200), 0.05, "any object"), ((36, 3, 200), 0.05, "any object"), ((17, 12, 200), 0.02, "any object"),
    ((6, 10, 20), 0.2, "the common"), ((36, 4, 20), 0.1, "common, wavering"), ((10, 20, 20), 0.3, "a favourite"),
    ((10, 20, 20), 0.6, "any object"), ((6, 10, 20), 0.95, "any object"),
)  # fmt: skip
# Relations, facts asked of the 20 of each, vocabulary, wordings, and relations that have the same subjects.
NAMING = (
    (10, 20, 100, 1, 1), (10, 20, 1000, 1, 1), (10, 6, 1000, 1, 1), (10, 20, 3000, 1, 1), (36, 6, 3000, 1, 1),
    (10, 20, 100, 5, 1), (10, 20, 3000, 5, 1), (10, 20, 3000, 10, 1), (10, 20, 3000, 1, 5), (10, 20, 3000, 5, 5),
)  # fmt: skip
# Of subjects with several objects: `several`.
SEVERAL = ((0.6, 1, 20, 17), (0.6, 1, 20, 8), (0.6, 2, 20, 4), (0.9, 2, 20, 17), (0.0, 3, 20, 16), (0.5, 2, 40, 20))
SCORED = ((20, 5, 100, 40), (10, 10, 400, 40), (36, 2, 100, 20), (10, 20, 400, 20))  # relations, facts, of, objects


def items(relation: NDArray[Any], fact: NDArray[Any], hit: NDArray[Any], prediction: NDArray[Any]) -> pl.DataFrame:
    """Return what became of items, one a place; each fact has a subject of its own."""
    return pl.DataFrame(
        {
            "item": pl.Series(range(len(hit)), dtype=pl.UInt32),
            "relation": relation.astype(str),
            "fact": fact.astype(str),
            "subject": fact.astype(str),
            "hit": hit,
            "outcome": np.where(hit, "correct", "incorrect"),
            "prediction": prediction.astype(str),
        }
    )


def model(
    rng: np.random.Generator,
    liking: tuple[float, float, float],
    knows: float,
    asked: int,
    design: tuple[int, int, int] = (RELATIONS, FACTS, OBJECTS),
) -> list[Measure]:
    """Return the numbers of one simulated model that is asked so many facts of each relation.

    Args:
        rng: of the draws.
        liking: how it likes objects, one of `LIKINGS`.
        knows: the share of facts that it knows.
        asked: how many facts of each relation it is asked.
        design: how many relations there are, facts in each and objects.
    """
    relations, facts, objects = design
    own, prior, noise = liking
    weights = 1 / np.arange(1, objects + 1)
    weights /= weights.sum()
    said: list[NDArray[np.int64]] = []
    true: list[NDArray[np.int64]] = []
    for _ in range(relations):
        drawn = rng.choice(objects, facts, p=weights)
        score = own * rng.standard_normal(objects) + prior * np.log(weights)
        best = (score + noise * rng.standard_normal((facts, objects))).argmax(1)
        true.append(drawn)
        said.append(np.where(rng.random(facts) < knows, drawn, best))
    right, told = np.concatenate(true), np.concatenate(said)
    frame = items(np.repeat(np.arange(relations), facts), np.arange(len(right)), right == told, told)
    names = {at: frozenset({str(at)}) for at in range(objects)}
    accepted: dict[str, dict[str, frozenset[str]]] = {}
    for relation, fact, found in zip(frame["relation"], frame["fact"], right, strict=True):
        accepted.setdefault(relation, {})[fact] = names[found]
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(right, dtype=pl.UInt64)})
    sample = frame.filter(pl.int_range(pl.len()).over("relation") < asked)
    truths = Truths(of_item, names, None, accepted)
    return list(against_others(Judged("s", "d", "m", sample), sample, truths))


def picks(rng: np.random.Generator, kind: tuple[int, int, bool], prior: float | None, knows: float) -> list[Measure]:
    """Return the numbers of a model that picks among choices, of 60 facts of each of some relations.

    Args:
        rng: of the draws.
        kind: how many choices are offered, of how many objects, and whether their facts are skewed (Zipf).
        prior: how much it follows how common an object is (1: the commonest of the choices); none: it picks any.
        knows: the share of facts that it knows.
    """
    choices, objects, skewed = kind
    facts, relations = 60, 5
    weights = 1 / np.arange(1, objects + 1) if skewed else np.ones(objects)
    all_facts = rng.choice(objects, 10 * facts, p=weights / weights.sum())
    counts = np.bincount(all_facts, minlength=objects)
    there = np.flatnonzero(counts)
    true = np.concatenate([rng.choice(all_facts, facts, replace=False) for _ in range(relations)])
    others = [rng.permutation(there[there != one])[: choices - 1] for one in true]
    offered = [rng.permutation([one, *own]) for one, own in zip(true, others, strict=True)]
    told = np.array([rng.choice(row) if prior is None else row[counts[row].argmax()] for row in offered])
    told = np.where(rng.random(len(true)) < knows, true, told)
    names = np.arange(len(true)).astype(str)
    frame = items(np.repeat(np.arange(relations), facts), names, true == told, told)
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(true, dtype=pl.UInt64)})
    shown = pl.DataFrame({"fact": names, "offered": [[str(one) for one in row] for row in offered]})
    names_of = {at: frozenset({str(at)}) for at in range(objects)}
    common = Common(len(all_facts), len(there), {str(at): int(counts[at]) for at in there})
    truths = Truths(of_item, names_of, shown, common={str(one): common for one in range(relations)})
    return list(against_others(Judged("s", "d", "m", frame), frame, truths))


def names_anything(
    rng: np.random.Generator, relations: int, asked: int, vocabulary: int, wordings: int, shared: int
) -> list[Measure]:
    """Return the numbers of a model that names any of a vocabulary, of 20 facts a relation with an object each.

    Args:
        rng: of the draws.
        relations: how many there are.
        asked: how many facts of each are asked.
        vocabulary: of how many it names one.
        wordings: by how many each fact is asked, each answered anew.
        shared: how many relations have the same subjects.
    """
    facts = 20
    true = np.concatenate([rng.choice(vocabulary, facts, replace=False) for _ in range(relations)])
    fact = np.repeat(np.arange(len(true)), wordings)
    told = rng.choice(vocabulary, len(fact))
    subject = fact % facts + fact // facts // shared * facts
    frame = items(fact // facts, fact, true[fact] == told, told).with_columns(subject=subject.astype(str))
    texts = {int(at): frozenset({str(at)}) for at in true}
    objects: dict[str, dict[str, frozenset[str]]] = {}
    for at, found in enumerate(true):
        objects.setdefault(str(at // facts), {})[str(at)] = texts[int(found)]
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(true[fact], dtype=pl.UInt64)})
    sample = frame.filter(pl.Series(fact % facts < asked))
    return list(against_others(Judged("s", "d", "m", sample), sample, Truths(of_item, texts, None, objects)))


def judges(rng: np.random.Generator, agrees: float | None, knows: float) -> list[Measure]:
    """Return the numbers of a model that is shown a true and a false statement of each of 200 facts, ten a relation.

    Args:
        rng: of the draws.
        agrees: how often it calls a statement correct that it knows nothing of; none: where its object is common.
        knows: the share of facts whose two statements it tells apart.
    """
    facts, each, objects = 200, 10, 20
    weights = 1 / np.arange(1, objects + 1)
    common, shown, called = {}, [], []
    for relation in range(facts // each):
        every = rng.choice(objects, 10 * each, p=weights / weights.sum())
        counts = np.bincount(every, minlength=objects)
        there = np.flatnonzero(counts)
        asked = rng.choice(every, each, replace=False)
        both = np.stack([asked, [rng.choice(there[there != one]) for one in asked]])
        shown.append(both)
        called.append(
            rng.random(both.shape) < agrees if agrees is not None else counts[both] > np.median(counts[there])
        )
        common[str(relation)] = Common(len(every), len(there), {str(at): int(counts[at]) for at in there})
    fact = np.tile(np.arange(facts), 2)
    true = np.repeat([True, False], facts)
    known = np.tile(rng.random(facts) < knows, 2)
    told = np.where(known, true, np.concatenate(called, axis=1).ravel())
    frame = items(fact // each, fact, true == told, np.where(told, "correct", "incorrect"))
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(true.astype(int), dtype=pl.UInt64)})
    names = {0: frozenset({"incorrect"}), 1: frozenset({"correct"})}
    offered = pl.DataFrame(
        {
            "item": frame["item"],
            "offered": [["correct", "incorrect"]] * len(true),
            "shown": np.concatenate(shown, axis=1).ravel().astype(str),
            "holds": true,
        }
    )
    truths = Truths(of_item, names, offered, common=common)
    return list(against_statements(Judged("s", "d", "m", frame), frame, truths))


def with_several(
    rng: np.random.Generator, design: tuple[float, int, int, int], relations: int
) -> tuple[list[tuple[int, int, int]], dict[tuple[int, int], set[int]]]:
    """Return facts of 200 subjects: relation, subject and object; and the objects of each relation and subject."""
    share, more, objects, _ = design
    weights = 1 / np.arange(1, objects)
    facts: list[tuple[int, int, int]] = []
    true: dict[tuple[int, int], set[int]] = {}
    for relation, subject in itertools.product(range(relations), range(200)):
        own = {int(one) + 1 for one in rng.choice(objects - 1, more, replace=False, p=weights / weights.sum())}
        own |= {0} if rng.random() < share else set()
        true[relation, subject] = own
        facts += [(relation, subject, one) for one in sorted(own)]
    return facts, true


def several(
    rng: np.random.Generator, design: tuple[float, int, int, int], asks: str, knows: float, relations: int = 3
) -> list[Measure]:
    """Return the numbers of a model that goes by the commonest object, where subjects have several.

    It is asked 32 facts of each relation of 200 subjects.

    Args:
        rng: of the draws.
        design: the share of subjects that have one common object, how many others each has (of a Zipf distribution),
            how many objects there are, and how many are offered.
        asks: ``choices``, ``statements`` (a true and a false one) or ``scores`` (of the true and a false object).
        knows: the share of facts that it knows.
        relations: how many there are.
    """
    _, _, objects, choices = design
    facts, true = with_several(rng, design, relations)
    there = [sorted({one for at, _, one in facts if at == relation}) for relation in range(relations)]
    asked = []
    for relation in range(relations):
        own = [at for at, fact in enumerate(facts) if fact[0] == relation]
        pools = {at: [one for one in there[relation] if one not in true[facts[at][:2]]] for at in own}
        own = [at for at in own if len(pools[at]) >= choices - 1]
        chosen = rng.choice(own, 32, replace=False).tolist()
        asked += [(at, rng.permutation(pools[at])[: choices - 1].tolist()) for at in chosen]
    tested = {at for at, _ in asked}
    rows = [
        Fact(f"f{at}", str(relation), f"s{relation}.{subject}", f"{relation}.{one}", None, None, None, (),
             "test" if at in tested else None, "x")
        for at, (relation, subject, one) in enumerate(facts)
    ]  # fmt: skip
    names = {f"{relation}.{one}": f"o{relation}x{one:03}" for relation in range(relations) for one in range(objects)}
    entities = [Entity(key, name, (), None) for key, name in names.items()]
    found = objects_of(Data.of(facts=rows, entities=entities))
    counts = Counter((relation, one) for relation, _, one in facts)
    known = dict(zip(tested, rng.random(len(tested)) < knows, strict=True))
    lines = [np.median([counts[at, one] for one in own]) for at, own in enumerate(there)]
    frame, offered, texts = [], [], {}
    for at, wrong in asked:
        relation, subject, one = facts[at]
        key = (str(relation), f"f{at}", f"s{relation}.{subject}")
        liked = [counts[relation, other] + 1000 * (known[at] and other == one) for other in (one, *wrong)]
        label = [names[f"{relation}.{other}"] for other in (one, *wrong)]
        texts |= {relation * objects + other: frozenset({names[f"{relation}.{other}"]}) for other in (one, *wrong)}
        if asks == "choices":
            told = label[int(np.argmax(liked))]
            frame.append((*key, told == label[0], told, 0.0, relation * objects + one))
            offered.append((label, None, None))
            continue
        for other, name, score in zip((one, wrong[0]), label, liked, strict=False):
            called, holds = bool(score > lines[relation]), other == one
            if asks == "statements":
                called = called and not (known[at] and not holds)
                hit, truth = called == holds, int(holds)
            else:
                hit, truth = called, relation * objects + other
            told = "correct" if called else "incorrect"
            frame.append((*key, hit, told, float(score), truth))
            offered.append((["correct", "incorrect"], name, holds))
    columns = ["relation", "fact", "subject", "hit", "prediction", "score", "truth"]
    table = pl.DataFrame(frame, columns, orient="row").with_row_index("item")
    table = table.with_columns(pl.when("hit").then(pl.lit("correct")).otherwise(pl.lit("incorrect")).alias("outcome"))
    if asks == "statements":
        texts = {0: frozenset({"incorrect"}), 1: frozenset({"correct"})}
    shown = pl.DataFrame(offered, ["offered", "shown", "holds"], orient="row").with_row_index("item")
    truths = Truths(
        table.select("item", pl.col("truth").cast(pl.UInt64)),
        texts,
        None if asks == "scores" else shown,
        **found._asdict(),
    )
    both = [Judged("s", "d", "m", table.filter(pl.col("item") % 2 == turn)) for turn in (0, 1)]
    if asks == "scores":
        return list(against_false(both[0], both[0].frame, both[1], truths))
    own = Judged("s", "d", "m", table)
    return list((against_others if asks == "choices" else against_statements)(own, table, truths))


def by_names(rng: np.random.Generator, asks: str, share: float) -> list[Measure]:
    """Return the numbers of a rule that is right where names give a fact away, and else goes by the commonest object.

    It is asked 60 of 600 facts of one relation; subjects of its rarer objects are called like these.

    Args:
        rng: of the draws.
        asks: ``open`` (it answers), ``choices`` (it picks one of 20) or ``scores`` (of the true and a false object).
        share: the share of facts that names give away.
    """
    count, objects = 60, 30
    weights = 1 / np.arange(1, objects + 1)
    weights /= weights.sum()
    like = set(np.flatnonzero(np.cumsum(weights[::-1])[::-1] <= share))
    true, names = rng.choice(objects, 10 * count, p=weights), [f"o{at:03}" for at in range(objects)]
    tested = set(rng.choice(len(true), count, replace=False).tolist())
    there = np.unique(true)
    facts = [
        Fact(f"f{at}", "r", f"s{at}", str(own), None, None, None, (), "test" if at in tested else None, "x")
        for at, own in enumerate(true)
    ]
    entities = [Entity(str(at), name, (), None) for at, name in enumerate(names)]
    entities += [Entity(f"s{at}", names[own] if own in like else "zz", (), None) for at, own in enumerate(true)]
    wrong = {at: rng.permutation(there[there != true[at]])[:19] for at in sorted(tested)}
    choices = [Choices(f"f{at}", tuple(map(str, own)), tuple(names[one] for one in own)) for at, own in wrong.items()]
    data = Data.of(facts=facts, entities=entities, choices=choices)
    given, commonness = data.given_by_names, np.bincount(true, minlength=objects)
    objects = objects_of(data)
    told = {}
    for at, own in wrong.items():
        pool = there if asks == "open" else np.array([true[at], *own])
        told[at] = true[at] if f"f{at}" in given else pool[commonness[pool].argmax()]
    asked = np.array(list(wrong))
    accepted = {at: frozenset({name}) for at, name in enumerate(names)}
    if asks == "scores":
        rows = [
            (f"f{at}", int(one), float(commonness[one] + 1000 * (one == true[at] and f"f{at}" in given)))
            for at, own in wrong.items()
            for one in (true[at], own[0])
        ]
        frame = items(*np.array([("r", row[0], True, row[1]) for row in rows], dtype=object).T).with_columns(
            pl.Series("score", [row[2] for row in rows]), pl.Series("hit", [row[2] > 1 for row in rows])
        )
        of_item = frame.select("item", pl.col("prediction").cast(pl.UInt64).alias("truth"))
        sides = [Judged("s", "d", "m", frame.filter(pl.col("item") % 2 == turn)) for turn in (0, 1)]
        truths = Truths(of_item, accepted, None, common=objects.common, given=given, others=objects.others)
        return list(against_false(sides[0], sides[0].frame, sides[1], truths))
    said = np.array([names[told[at]] for at in asked])
    right = np.array([told[at] == true[at] for at in asked])
    frame = items(np.repeat("r", count), np.array([f"f{at}" for at in asked]), right, said)
    of_item = pl.DataFrame({"item": frame["item"], "truth": pl.Series(true[asked], dtype=pl.UInt64)})
    shown = [[names[true[at]], *(names[one] for one in wrong[at])] for at in asked]
    offered = pl.DataFrame({"fact": frame["fact"], "offered": shown}) if asks == "choices" else None
    truths = Truths(of_item, accepted, offered, common=objects.common, given=given, others=objects.others)
    return list(against_others(Judged("s", "d", "m", frame), frame, truths))


class Liking(NamedTuple):
    """What a model has a score for in one relation: how many facts have each object, how it likes these, and which."""

    facts: NDArray[Any]
    counts: Counter[str]
    liked: NDArray[Any]
    there: NDArray[Any]


def likings(rng: np.random.Generator, relations: int, facts: int, objects: int) -> list[Liking]:
    """Return a model's scores for the objects of relations of so many facts, whatever the subject."""
    weights = 1 / np.arange(1, objects + 1)
    out = []
    for _ in range(relations):
        every = rng.choice(objects, facts, p=weights / weights.sum())
        counts = Counter(map(str, every))
        liked = rng.standard_normal(objects) + np.log([counts[str(at)] + 1 for at in range(objects)])
        out.append(Liking(every, counts, liked, np.array([at for at in range(objects) if str(at) in counts])))
    return out


def scores(rng: np.random.Generator, model: Sequence[Liking], asked: int, knows: float) -> list[Measure]:
    """Return the numbers of a model that has scores for objects; it adds some where it knows.

    Each of the facts asked of a relation is asked with its own object and with any other of its relation, as KaRR's
    are; known are scores above 1.
    """
    rows = []
    for relation, own in enumerate(model):
        for fact, true in enumerate(rng.choice(own.facts, asked, replace=False)):
            false = rng.choice(own.there[own.there != true])
            known = 2.0 * (rng.random() < knows)
            both = ((one, own.liked[one] + known * (one == true)) for one in (true, false))
            rows += [(str(relation), f"{relation} {fact}", *one) for one in both]
    frame = pl.DataFrame(rows, ["relation", "fact", "object", "score"], orient="row").with_columns(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("item"),
        pl.col("fact").alias("subject"),
        (pl.col("score") > 1).alias("hit"),
        pl.lit("correct").alias("outcome"),
    )
    truths = Truths(
        frame.select("item", pl.col("object").cast(pl.UInt64).alias("truth")),
        {at: frozenset({str(at)}) for at in range(len(model[0].liked))},
        None,
        common={
            str(relation): Common(len(own.facts), len(own.counts), own.counts) for relation, own in enumerate(model)
        },
    )
    true, false = (Judged("s", "d", "m", frame.filter(pl.col("item") % 2 == turn)) for turn in (0, 1))
    return list(against_false(true, true.frame, false, truths))


def above(model: Sequence[Liking], knows: float) -> float:
    """Return what such a model knows above chance, of all facts and all false objects."""
    out = []
    for own in model:
        count = np.array([own.counts[str(at)] for at in range(len(own.liked))], float)
        facts, hit, false = count.sum(), own.liked + 2 > 1, own.liked > 1
        known = knows * hit + (1 - knows) * false
        apart = (facts - count) / (facts - 1)
        others = (count @ false - count * false) / np.maximum(facts - count, 1)
        out.append(count @ (known - (1 - apart) * known - apart * others) / facts)
    return float(np.mean(out))


def over_all(rows: Sequence[Measure]) -> Measure:
    """Return what a model knows above chance over all relations."""
    return next(row for row in rows if row.metric == ABOVE)


def called(models: Sequence[Sequence[Measure]]) -> str:
    """Return the shares of models above chance over all relations, of the first of 70 rows too, and in any relation."""
    ps = np.array([over_all(rows).p for rows in models])
    of_relations = [[row.p for row in rows if row.metric == OF_RELATION and row.p is not None] for rows in models]
    any_relation = [min(holm(own), default=1.0) <= LEVEL for own in of_relations]
    return f"{np.mean(ps <= LEVEL):>12.3f}{np.mean(ps <= LEVEL / 70):>14.3f}{np.mean(any_relation):>14.3f}"


def holding(found: Sequence[Measure], truth: float | None = None) -> tuple[float, float, float]:
    """Return how often intervals hold the truth, how often that lies above their upper end, and their values' bias.

    Without a truth it is the values' mean: that of the design, not of one draw of its objects.
    """
    value, low, high = (np.array([getattr(row, of) for row in found]) for of in ("value", "low", "high"))
    mean = value.mean()
    truth = mean if truth is None else truth
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high < truth)), float(mean - truth)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance", description=__doc__)
    parser.add_argument("--models", type=int, default=200, metavar="N", help="models of a kind [200]")
    count = parser.parse_args(arguments).models
    rng = np.random.default_rng(0)
    shares = f"{'p <= .025':>12}{'p <= .025/70':>14}{'any relation':>14}"
    print(f"{'likes':<18}{'asked':>7}{'knows':>7}{shares}{f'of {ROWS} rows':>12}")
    for asked, knows in itertools.product((FACTS, 2), (0.0, 0.02, 0.05)):
        for name, liking in LIKINGS.items():
            models = [model(rng, liking, knows, asked) for _ in range(count)]
            ps = [over_all(rows).p or 0.0 for rows in models]
            whole = [min(holm(ps[at : at + ROWS])) <= LEVEL for at in range(0, count - ROWS + 1, ROWS)]
            print(f"{name:<18}{asked:>7}{knows:>7.2f}{called(models)}{np.mean(whole):>12.3f}")
    print(f"\n{'choices':<9}{'of objects':>11}{'skewed':>8}{'picks':>14}{'knows':>7}{shares}")
    for kind in CHOICES:
        for (picking, prior), knows in itertools.product({"any": None, "the commonest": 1.0}.items(), (0.0, 0.05)):
            models = [picks(rng, kind, prior, knows) for _ in range(count)]
            print(f"{kind[0]:<9}{kind[1]:>11}{kind[2]!s:>8}{picking:>14}{knows:>7.2f}{called(models)}")
    print(f"\n{'relations':<12}{'asked of 20':>12}{'vocabulary':>12}{'wordings':>10}{'share subjects':>16}{shares}")
    for design in NAMING:
        models = [names_anything(rng, *design) for _ in range(10 * count)]
        print("{:<12}{:>12}{:>12}{:>10}{:>16}".format(*design) + called(models))
    print(f"\n{'scores of':<12}{'knows':>7}{shares}")
    for per_relation, knows in itertools.product((5, 20), (0.0, 0.1)):
        liked = (likings(rng, 20, 20 * per_relation, 40) for _ in range(count))
        models = [scores(rng, one, per_relation, knows) for one in liked]
        print(f"{20 * per_relation:<12}{knows:>7.2f}{called(models)}")
    print(f"\n{'says correct':<14}{'knows':>7}{shares}")
    for agrees, knows in itertools.product((0.5, 0.8, 1.0, None), (0.0, 0.05, 0.1)):
        name = "of the common" if agrees is None else f"{agrees:.1f}"
        print(f"{name:<14}{knows:>7.2f}{called([judges(rng, agrees, knows) for _ in range(count)])}")
    head = f"{'have one':<10}{'others':>7}{'objects':>9}{'choices':>9}{'asks':>12}{'knows':>7}"
    print(f"\n{head}{shares}{'above':>8}{'over 0':>8}")
    for design, asks, knows in itertools.product(SEVERAL, ("choices", "statements", "scores"), (0.0, 0.1)):
        models = [several(rng, design, asks, knows) for _ in range(count)]
        found = [over_all(rows) for rows in models]
        above_it, sure = np.mean([row.value for row in found]), np.mean([(row.low or 0.0) > 0 for row in found])
        print(
            "{:<10}{:>7}{:>9}{:>9}".format(*design)
            + f"{asks:>12}{knows:>7.2f}{called(models)}{above_it:>8.3f}{sure:>8.3f}"
        )
    print(f"\n{'goes by names':<15}{'give away':>10}{'p <= .025':>12}{'beyond names':>14}")
    for asks, share in itertools.product(("open", "choices", "scores"), (0.2, 0.4, 0.6)):
        models = [by_names(rng, asks, share) for _ in range(count)]
        sure, beyond = (
            np.mean([(row.p or 0.0) <= LEVEL for rows in models for row in rows if row.metric == metric])
            for metric in (ABOVE, GIVEN)
        )
        print(f"{asks:<15}{share:>10.1f}{sure:>12.3f}{beyond:>14.3f}")
    print(f"\n{'relations':<12}{'facts':>7}{'objects':>9}{'likes':>18}{'knows':>7}{'holds':>8}{'truth above':>13}")
    rng = np.random.default_rng(0)
    for design, knows, name in INTERVALS:
        found = [over_all(model(rng, LIKINGS[name], knows, design[1], design)) for _ in range(5 * count)]
        holds, above_it, _ = holding(found)
        print(f"{design[0]:<12}{design[1]:>7}{design[2]:>9}{name:>18}{knows:>7.2f}{holds:>8.3f}{above_it:>13.3f}")
    print(
        f"\n{'relations':<12}{'facts':>7}{'of':>7}{'objects':>9}{'knows':>7}{'holds':>8}{'truth above':>13}{'bias':>8}"
    )
    for (relations, asked, facts, objects), knows in itertools.product(SCORED, (0.0, 0.5)):
        one = likings(rng, relations, facts, objects)
        found = [over_all(scores(rng, one, asked, knows)) for _ in range(5 * count)]
        holds, above_it, bias = holding(found, above(one, knows))
        print(f"{relations:<12}{asked:>7}{facts:>7}{objects:>9}{knows:>7.2f}{holds:>8.3f}{above_it:>13.3f}{bias:>8.3f}")


if __name__ == "__main__":
    main()
