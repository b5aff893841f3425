"""Do methods agree? The same facts of one model, called known or not by each method that asked them."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from almanac.rows import Agreement, Knowledge
from almanac.statistics.intervals import NOTHING, Estimate, normal_quantile, wilson
from almanac.statistics.ranks import spearman
from almanac.suites.judged import Judged, as_text
from almanac.suites.suite import Method

HALF = 0.5  # of its items that are right, above which a method calls a fact known


class Called(NamedTuple):
    """What one method calls the facts of a model.

    Attributes:
        suite: the method's.
        method: its name.
        where: the items that it counts, as text.
        facts: ``fact``, ``known`` and ``score``, a row a fact that was answered.
    """

    suite: str
    method: str
    where: str
    facts: pl.DataFrame


def called(judged: Judged, methods: Sequence[Method]) -> Iterator[Called]:
    """Yield what each method calls the facts: known where more than half of a fact's items are right."""
    for method in methods:
        for own in judged.where(method.where).groups(*method.by):
            answered = own.frame.filter(pl.col("hit").is_not_null() & pl.col("fact").is_not_null())
            facts = answered.group_by("fact", maintain_order=True).agg(
                (pl.col("hit").mean() > HALF).alias("known"), pl.col("score").mean()
            )
            if facts.height:
                yield Called(judged.suite, method.name, as_text(own.conditions), facts)


def agreements(dataset: str, model: str, found: Sequence[Called]) -> list[Agreement]:
    """Return how each two methods agree on the facts that both asked.

    The share of facts on which they agree has Wilson's interval, Cohen's kappa (Educational and Psychological
    Measurement 20, 1960) that of its large-sample variance, and the rank correlation of the scores Bonett and Wright's.
    """
    rows = []
    for one, other in combinations(found, 2):
        both = one.facts.join(other.facts, on="fact", how="inner", suffix=" other", maintain_order="left")
        if both.is_empty():
            continue
        pairs = both.group_by("known", "known other").len().rows()
        count = {(first, second): number for first, second, number in pairs}
        known, first, second, neither = (
            count.get(key, 0) for key in ((True, True), (True, False), (False, True), (False, False))
        )
        agreed = wilson((known + neither) / both.height, both.height)
        beyond = kappa(known, first, second, neither)
        rank = spearman(both["score"].to_list(), both["score other"].to_list())
        rows.append(
            Agreement(
                dataset=dataset,
                model=model,
                suite=one.suite,
                method=one.method,
                where=one.where,
                other_suite=other.suite,
                other_method=other.method,
                other_where=other.where,
                n=both.height,
                both=known,
                first=first,
                second=second,
                neither=neither,
                agreement=agreed.value,
                agreement_low=agreed.low,
                agreement_high=agreed.high,
                kappa=beyond.value,
                kappa_low=beyond.low,
                kappa_high=beyond.high,
                rho=rank.value,
                rho_low=rank.low,
                rho_high=rank.high,
            )
        )
    return rows


def kappa(both: int, first: int, second: int, neither: int) -> Estimate:
    """Return Cohen's kappa of two methods with its interval; nothing where chance alone would always agree.

    Args:
        both: facts that both call known.
        first: that the first alone does.
        second: that the second alone does.
        neither: that neither does.
    """
    n = both + first + second + neither
    share, other = (both + first) / n, (both + second) / n
    agreed, chance = (both + neither) / n, share * other + (1 - share) * (1 - other)
    if chance >= 1:
        return NOTHING
    value = (agreed - chance) / (1 - chance)
    half = normal_quantile(0.95) * math.sqrt(agreed * (1 - agreed) / n) / (1 - chance)
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half))


def of_facts(dataset: str, model: str, found: Sequence[Called]) -> list[Knowledge]:
    """Return of each fact how many methods asked it, and how many call it known."""
    if not found:
        return []
    every = pl.concat(one.facts.select(pl.col("fact").cast(pl.String), "known") for one in found)
    counted = every.group_by("fact").agg(pl.len(), pl.col("known").sum()).sort("fact")
    return [Knowledge(dataset, model, *row) for row in counted.iter_rows()]
