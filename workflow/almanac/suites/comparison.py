"""Compare models on the same questions: accuracy, similarity over relations, and whether one knows what another knows.

Wu et al., sections 5.1 to 5.3, for any method. A model is measured on the facts with a judged answer, ``n`` of them.
Abstentions count as wrong, and so do refusals if the suite scores these. Other items without an answer (refused, too
long, unsupported, failed) are left out. A fact that is asked several times counts by its share of right answers; it is
*known* if more than half are right. If both models answered the same facts, their difference is that of their shares
in the page's table of methods. A model that answered nothing is listed without a number. A model whose answers mostly
lack the required form has no difference from others: it would measure form, not knowledge.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl

from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.correlation import mean_correlation, pearson
from almanac.statistics.intervals import NOTHING, Estimate
from almanac.statistics.paired import macro_differences, ps_of_differences
from almanac.suites.agreement import Called, called
from almanac.suites.chapter import Entrant
from almanac.suites.judged import FACT, RELATION, Condition, Judged, Not, as_text, conditions_of
from almanac.suites.suite import Method
from almanac.tables import seed_of

USUAL_SIZE = 7_000_000_000  # families are ordered by the accuracy of their member of about this size
DRAWS = 1000  # bootstrap samples
TUNED, DIFFERENCE = "tuned_difference", "difference"  # names of metrics
DIFFERENCE_OF_RELATION = "difference_of_relation"
ALONE = "right_alone"  # facts that the model knows and the other does not
BOTH = "right_both"  # facts that both know
LISTED = 200  # up to so many facts are listed in the ``where`` of `ALONE`
PARTS = ("hit", RELATION, "bucket", FACT)  # columns by which a metric may select some of a method's facts
# Metrics of a single model, from its items as they are judged for a comparison (`Suite.comparable`).
OF_ONE = ("mean_accuracy", "relation_deviation", "popularity_accuracy", ALONE)
Shares = dict[str, dict[Any, tuple[Estimate, int]]]  # accuracy and number of facts, by model and value of a column


@dataclass(frozen=True)
class Board:
    """The facts that one method asked several models, and which of them each model has right.

    Attributes:
        suite: the method's suite.
        dataset: the dataset of the facts.
        where: the items that the method counts, in one of its settings.
        entrants: the models, by name.
        hits: by model the facts with judged answers (`recovery.facts_of`), sorted.
        followed: the models at least half of whose answers have the required form.
    """

    suite: str
    dataset: str
    where: Mapping[str, Condition]
    entrants: Mapping[str, Entrant]
    hits: Mapping[str, pl.DataFrame]
    followed: Collection[str]

    @classmethod
    def each(cls, judged: Mapping[str, Judged], entrants: Sequence[Entrant], method: Method) -> "Iterator[Board]":
        """Yield a board for each setting of a method (`Method.by`) in which any model's answers have the right form."""
        settings: dict[str, dict[str, Called]] = defaultdict(dict)
        for name, items in judged.items():
            for one in called(items, [method]):
                settings[as_text(one.conditions)][name] = one
        for by_model in settings.values():
            some, models = next(iter(by_model.values())), {one.name: one for one in entrants}
            hits = {name: (by_model[name].facts if name in by_model else some.facts.clear()) for name in judged}
            hits = {name: facts.sort("relation", "fact") for name, facts in hits.items()}
            if followed := {name for name, one in by_model.items() if one.followed}:
                yield cls(some.suite, next(iter(judged.values())).dataset, some.conditions, models, hits, followed)

    def row(
        self,
        metric: str,
        estimate: Estimate,
        n: int,
        model: str | None = None,
        other: str | None = None,
        p: float | None = None,
        **more: Condition,
    ) -> Measure:
        """Return one number of this method and dataset; ``more`` are further conditions on its items."""
        where = as_text({**self.where, **more})
        names = (self.suite, self.dataset, model, other, metric, where)
        return Measure(*names, "other", ("hit", "fact"), *estimate, p, n, 0, 0, 0, 0, 0)

    @cached_property
    def answered(self) -> pl.DataFrame:
        """The facts of all models, with the column ``model``."""
        return pl.concat(own.select(pl.lit(name).alias("model"), pl.all()) for name, own in self.hits.items())

    def shares(self, *by: str) -> Shares:
        """Return each model's accuracy (mean over relations) and number of facts, by the values of a column."""
        kept = self.answered.drop_nulls(by)
        counts = {row[:-1]: row[-1] for row in kept.group_by("model", *by).len().rows()}
        found: Shares = {name: {} for name in self.hits}
        for row in grouped.macro(kept, ["model", *by], "hit", "relation", "subject").sort("model", *by).rows():
            key = row[: 1 + len(by)]
            found[row[0]][key[-1]] = Estimate(*row[len(key) :]), counts[key]
        return found

    def both(self, one: str, other: str) -> pl.DataFrame:
        """Return the facts that two models answered: ``hit`` and ``known`` of one, ``other hit``, ``other known``."""
        second = self.hits[other].select("fact", pl.col("hit", "known").name.prefix("other "))
        return self.hits[one].join(second, on="fact", how="inner", maintain_order="left")


def setting_of(row: Measure) -> dict[str, Condition]:
    """Return the conditions on items that a number takes from its method, without those that select facts (`PARTS`)."""
    return {name: condition for name, condition in conditions_of(row).items() if name not in PARTS}


def compare(found: Board, wanted: Callable[[str, str], bool] = lambda one, other: False) -> list[Measure]:
    """Return all metrics that compare models by one method.

    ``wanted(one, other)`` says whether the difference of two models, by name, is wanted by relation too.

    Returns:
        Of each model, in the order of the paper's figures (`ordered`): ``mean_accuracy`` over relations, their standard
        deviation ``relation_deviation``, ``relation_accuracy`` of each relation and, if the dataset has popularity,
        ``popularity_accuracy`` in head, torso and tail, a mean over relations (Sun et al., section 3.2).
        Of each relation, best first: ``relation_mean``, over all models but nulls.
        Of two models: ``pearson`` over relations; how many facts one of them alone knows, ``right_alone``, and both,
        ``right_both``; ``tuned_difference`` (tuned minus base) or ``difference`` (of any other two: the later one of
        the edition minus the earlier), with the p of `paired.ps_of_differences`, and ``difference_of_relation``.
        Of families: ``series_pearson`` between two, ``subsumption_size`` of the smallest model in the largest, and
        ``subsumption_tuned`` of a tuned model in its base.
    """
    of_relations = found.shares("relation")
    table = {model: {name: one.value or 0.0 for name, (one, _) in own.items()} for model, own in of_relations.items()}
    means = {model: float(np.mean(list(own.values()))) for model, own in table.items() if own}
    order = ordered([found.entrants[name] for name in found.hits], means)
    answered = {name: found.entrants[name] for name in order if name in means}
    return [
        *_leaders(found, order, of_relations),
        *_relations(found, table),
        *_likeness(found, list(answered), table),
        *(_subsumed(found, "size", small, large) for small, large in size_pairs(answered.values())),
        *(_subsumed(found, "tuned", tuned, base) for tuned, base in tuned_pairs(answered)),
        *_differences(found, answered, wanted),
        *_popular(found, answered),
    ]


def ordered(entrants: Sequence[Entrant], means: Mapping[str, float]) -> list[str]:
    """Return the models' names in the order of the paper's figures.

    Families are sorted by the accuracy of their member closest to 7 B parameters that answered, and members of a family
    by their own. If two are equally close, the untuned one counts, then the better one; a member of unknown size counts
    only if no size is known. Models that answered nothing come last.
    """
    series: dict[str, list[Entrant]] = defaultdict(list)
    for one in entrants:
        series[one.series].append(one)

    def accuracy(one: Entrant) -> float:
        return means.get(one.name, -1.0)

    def representative(members: Sequence[Entrant]) -> Entrant:
        answered = [one for one in members if one.name in means] or members
        return min(answered, key=lambda one: (_distance(one), one.base is not None, -accuracy(one), one.name))

    families = sorted(series.items(), key=lambda pair: (-accuracy(representative(pair[1])), pair[0]))
    return [one.name for _, own in families for one in sorted(own, key=lambda one: (-accuracy(one), one.name))]


def _distance(one: Entrant) -> float:
    return math.inf if one.parameters is None else abs(one.parameters - USUAL_SIZE)


def size_pairs(entrants: Iterable[Entrant]) -> list[tuple[str, str]]:
    """Return the smallest and the largest untuned model of each family, if their sizes differ.

    Models planted with different worlds were taught different facts, and so belong to different families.
    """
    series: dict[tuple[str, str | None], list[Entrant]] = defaultdict(list)
    for one in entrants:
        if one.base is None and one.parameters is not None and not one.permuted:
            series[one.series, one.world].append(one)
    out = []
    for own in series.values():
        own.sort(key=lambda one: (one.parameters or 0, one.name))
        if own[0].parameters != own[-1].parameters:
            out.append((own[0].name, own[-1].name))
    return out


def tuned_pairs(entrants: Mapping[str, Entrant]) -> list[tuple[str, str]]:
    """Return each tuned model with its base model, if that is compared too."""
    return [(one.name, one.base) for one in entrants.values() if one.base is not None and one.base in entrants]


def _leaders(found: Board, order: Sequence[str], of_relations: Shares) -> list[Measure]:
    rows, shares = [], found.shares()
    for model in order:
        share, facts = shares[model].get(model, (NOTHING, 0))
        own = of_relations[model]
        values = [one.value or 0.0 for one, _ in own.values()]
        spread = Estimate(float(np.std(values, ddof=1)), None, None) if len(values) > 1 else NOTHING
        rows.append(found.row("mean_accuracy", share, facts, model, hit=Not(None)))
        rows.append(found.row("relation_deviation", spread, len(values), model))
        rows += [
            found.row("relation_accuracy", estimate, n, model, relation=relation, hit=Not(None))
            for relation, (estimate, n) in own.items()
        ]
    return rows


def _popular(found: Board, models: Iterable[str]) -> list[Measure]:
    shares = found.shares("bucket")
    return [
        found.row("popularity_accuracy", estimate, n, model, bucket=bucket, hit=Not(None))
        for model in models
        for bucket, (estimate, n) in shares[model].items()
    ]


def _relations(found: Board, table: Mapping[str, Mapping[str, float]]) -> list[Measure]:
    relations = sorted({relation for own in table.values() for relation in own})
    taught = [own for model, own in table.items() if not found.entrants[model].permuted]
    values = {relation: [own[relation] for own in taught if relation in own] for relation in relations}
    means = {relation: float(np.mean(own)) for relation, own in values.items() if own}
    return [
        found.row("relation_mean", Estimate(means[name], None, None), len(values[name]), relation=name)
        for name in sorted(means, key=lambda name: (-means[name], name))
    ]


def _likeness(found: Board, order: Sequence[str], table: Mapping[str, Mapping[str, float]]) -> list[Measure]:
    """Return Pearson's r between models, over relations that both answered, and families, over those of all models."""
    rows = []
    for one, other in combinations(order, 2):
        shared = sorted(table[one].keys() & table[other].keys())
        alike = pearson([table[one][name] for name in shared], [table[other][name] for name in shared])
        rows.append(found.row("pearson", alike, len(shared), one, other))
    relations = sorted(set.intersection(*(set(table[model]) for model in order))) if order else []
    columns: Any = np.array([[table[model][relation] for model in order] for relation in relations], dtype=float)
    columns = columns.reshape(len(relations), len(order))
    members: dict[str, list[int]] = defaultdict(list)
    for place, model in enumerate(order):
        members[found.entrants[model].series].append(place)
    for one, other in combinations_with_replacement(members, 2):
        seed = seed_of("series_pearson", found.dataset, one, other)
        cell = mean_correlation(columns, members[one], members[other], DRAWS, seed)
        rows.append(found.row("series_pearson", cell, len(relations), one, other))
    return rows


def _subsumed(found: Board, kind: str, one: str, other: str) -> Measure:
    """Return η: the share of the facts known to the first model that the second knows too, a mean over relations."""
    known = found.both(one, other).filter("known")
    shares = grouped.macro(known, [], "other known", "relation", "subject").rows()
    return found.row(f"subsumption_{kind}", Estimate(*shares[0]) if shares else NOTHING, known.height, one, other)


def _differences(
    found: Board, answered: Mapping[str, Entrant], wanted: Callable[[str, str], bool]
) -> Iterator[Measure]:
    """Yield the metrics of each two models: the tuned one minus its base, else the later one minus the earlier."""
    names = [name for name in found.entrants if name in answered and name in found.followed]
    for at, later in enumerate(names[1:], 1):
        both: dict[tuple[str, str], pl.DataFrame] = {}
        for earlier in names[:at]:
            pair = (earlier, later) if answered[earlier].base == later else (later, earlier)
            both[pair] = found.both(*pair)
        pairs = {pair: own.with_columns(model=pl.lit(pair[0]), other=pl.lit(pair[1])) for pair, own in both.items()}
        less = _tested(pl.concat(pairs.values()), ["model", "other"], "relation")
        for (one, other), own in both.items():
            estimate, p = less.get((one, other), (NOTHING, None))
            metric = TUNED if answered[one].base == other else DIFFERENCE
            yield found.row(metric, estimate, own.height, one, other, p)
            together = own.select((pl.col("known") & pl.col("other known")).sum()).item()
            counted = found.row(BOTH, Estimate(together, None, None), own.height, one, other)
            yield replace(counted, formula="count", of=("hit",))
            only = (
                own.filter(pl.col("known") & ~pl.col("other known")),
                own.filter(pl.col("other known") & ~pl.col("known")),
            )
            for pair, of in zip(((one, other), (other, one)), only, strict=True):
                yield _alone(found, of["fact"], *pair)
                if wanted(one, other):
                    yield from (
                        _alone(found, facts, *pair, relation)
                        for relation, facts in of.group_by("relation", maintain_order=True).agg("fact").rows()
                    )
        if by_relation := [own for pair, own in pairs.items() if wanted(*pair)]:
            every = pl.concat(by_relation)
            counts = {row[:-1]: row[-1] for row in every.group_by("model", "other", "relation").len().rows()}
            for key, (estimate, p) in _tested(every, ["model", "other", "relation"], None).items():
                one, other, relation = key
                yield found.row(DIFFERENCE_OF_RELATION, estimate, counts[key], one, other, p, relation=relation)


def _alone(found: Board, facts: Iterable[str], one: str, other: str, relation: str | None = None) -> Measure:
    """Return how many facts one model knows and another does not; up to `LISTED` are listed in its ``where``."""
    listed = sorted(facts)
    more: dict[str, Condition] = {} if relation is None else {RELATION: relation}
    alone = found.row(ALONE, Estimate(len(listed), None, None), len(listed), one, other, None, **more)
    where = as_text({**conditions_of(alone), FACT: listed}) if 0 < len(listed) <= LISTED else alone.where
    return replace(alone, where=where, formula="count", of=("hit",))


def _tested(both: pl.DataFrame, by: Sequence[str], strata: str | None) -> dict[tuple[Any, ...], tuple[Estimate, float]]:
    """Return for each group the difference of two models, and the p of there being none."""
    of = (both, by, "hit", "other hit", strata, "subject")
    ps = ps_of_differences(*of)
    return {key: (estimate, ps[key]) for key, estimate in macro_differences(*of).items()}
