"""Simulated models that know nothing or a little, and the numbers that chance is made of for them.

What they are asked is invented: relations whose objects are mostly skewed (a Zipf distribution), facts, choices.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.rows import Choices, Entity, Fact, Measure
from almanac.suites.chance import ABOVE, against_false, against_others, against_statements
from almanac.suites.commonness import Common
from almanac.suites.data import Data
from almanac.suites.judged import Judged
from almanac.suites.truths import Truths, objects_of

RELATIONS, FACTS, OBJECTS = 10, 70, 20
# How a model likes objects: by itself, as common as they are, and how much it wavers from fact to fact.
LIKINGS = {"any object": (0.0, 0.0, 9.0), "a favourite": (1.0, 0.0, 0.05), "the common": (0.3, 1.0, 0.05),
           "common, wavering": (0.3, 1.0, 1.0)}  # fmt: skip
# Of subjects with several objects: `several`.
SEVERAL = ((0.6, 1, 20, 17), (0.6, 1, 20, 8), (0.6, 2, 20, 4), (0.9, 2, 20, 17), (0.0, 3, 20, 16), (0.5, 2, 40, 20))


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


def offered_with(
    rng: np.random.Generator,
    facts: Sequence[tuple[int, int, int]],
    true: Mapping[tuple[int, int], Set[int]],
    choices: int,
) -> Iterator[tuple[int, list[int]]]:
    """Yield 32 facts of each relation, by their places, with the wrong objects that are offered beside theirs."""
    for relation in sorted({one for one, _, _ in facts}):
        own = [at for at, fact in enumerate(facts) if fact[0] == relation]
        there = sorted({facts[at][2] for at in own})
        pools = {at: [one for one in there if one not in true[facts[at][:2]]] for at in own}
        enough = [at for at in own if len(pools[at]) >= choices - 1]
        for at in rng.choice(enough, 32, replace=False).tolist():
            yield at, rng.permutation(pools[at])[: choices - 1].tolist()


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
    asked = list(offered_with(rng, facts, true, choices))
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
    lines = [np.median([count for (at, _), count in counts.items() if at == relation]) for relation in range(relations)]
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
