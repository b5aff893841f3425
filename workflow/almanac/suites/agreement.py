"""Do methods agree? Each method's verdicts, known or not, on the same facts of one model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from almanac.rows import Agreement, Knowledge, Measure
from almanac.statistics import grouped
from almanac.statistics.agreement import kappa
from almanac.statistics.intervals import Estimate, wilson_n
from almanac.statistics.ranks import spearman
from almanac.suites.headline import FEW, followed
from almanac.suites.judged import FACT, OUTCOMES, RELATION, SUBJECT, Condition, Judged, as_text
from almanac.suites.recovery import facts_of
from almanac.suites.suite import Method

SAME = "headline_same_facts"
GRADES = 10  # the interval of a correlation needs at least so many distinct scores of one of the two methods


class Called(NamedTuple):
    """The scores and verdicts of one method for the facts of one model.

    Attributes:
        conditions: the items that the method counts.
        facts: `recovery.facts_of` these items.
        followed: whether at least half of the answers have the required form; if not, they say nothing about
            knowledge of the facts.
    """

    suite: str
    method: Method
    conditions: Mapping[str, Condition]
    facts: pl.DataFrame
    followed: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the suite, the method's name and the items that it counts, as text."""
        return self.suite, self.method.name, as_text(self.conditions)


def called(judged: Judged, methods: Iterable[Method]) -> Iterator[Called]:
    """Yield the verdicts of each method: a fact is known if more than half of its items are right."""
    for method in methods:
        for own in judged.where(method.where).groups(*method.by):
            facts = facts_of(own)
            if facts.height:
                count = {name: int((own.frame["outcome"] == name).sum()) for name in OUTCOMES}
                answered = followed(own.frame.height, count["error"], count["missing"], count["invalid"])
                yield Called(judged.suite, method, own.conditions, facts, answered)


def agreements(dataset: str, model: str, found: Sequence[Called]) -> list[Agreement]:
    """Return how each pair of methods agrees on the facts that both asked, if these are at least `FEW`.

    Intervals: for the share of facts on which they agree that of `grouped.macro`, a subject's facts being one draw; for
    Cohen's kappa (Educational and Psychological Measurement 20, 1960) the same on kappa's scale (`kappa`); for the
    rank correlation of scores Bonett and Wright's. If both methods have few distinct scores, such as right and wrong,
    the last would hold the truth too rarely, and is left out.
    """
    rows = []
    for at, one in enumerate(found):
        on_both = [
            (other, one.facts.join(other.facts, on="fact", how="inner", suffix=" other", maintain_order="left"))
            for other in found[at + 1 :]
        ]
        pairs = [(other, both) for other, both in on_both if both.height >= FEW]
        for (other, both), agreed in zip(pairs, _agreed([both for _, both in pairs]), strict=True):
            mine, theirs = both["known"].to_numpy(), both["known other"].to_numpy()
            cells = (mine & theirs, mine & ~theirs, theirs & ~mine, ~mine & ~theirs)
            known, first, second, neither = (int(cell.sum()) for cell in cells)
            beyond = kappa(known, first, second, neither, wilson_n(agreed))
            rank = spearman(both["score"].to_list(), both["score other"].to_list())
            if max(both["score"].n_unique(), both["score other"].n_unique()) < GRADES:
                rank = Estimate(rank.value, None, None)
            numbers = {**agreed.named("agreement"), **beyond.named("kappa"), **rank.named("rho")}
            counts = (both.height, known, first, second, neither)
            rows.append(Agreement(dataset, model, *one.key, *other.key, *counts, **numbers))
    return rows


def _agreed(pairs: Sequence[pl.DataFrame]) -> list[Estimate]:
    """Return the share of facts on which the methods of each pair agree."""
    if not pairs:
        return []
    alike = (pl.col("known") == pl.col("known other")).alias("alike")
    every = pl.concat(both.select(pl.lit(at).alias("pair"), SUBJECT, alike) for at, both in enumerate(pairs))
    return [Estimate(*rest) for _, *rest in grouped.macro(every, ["pair"], "alike", None, SUBJECT).sort("pair").rows()]


def on_same_facts(dataset: str, model: str, found: Sequence[Called]) -> Iterator[Measure]:
    """Yield the share that each method calls known of the facts that all asked, with the interval for these relations.

    A method that shares fewer than `FEW` facts with all methods before it is left out; a single method has no share.
    """
    kept, shared = list[Called](), set[str]()
    for one in found:
        own_facts = set(one.facts["fact"].cast(pl.String))
        both = shared & own_facts if kept else own_facts
        if len(both) >= FEW:
            kept, shared = [*kept, one], both
    if len(kept) < 2:
        return
    facts = sorted(shared)
    for one in kept:
        own = one.facts.filter(pl.col("fact").cast(pl.String).is_in(facts))
        estimate = Estimate(*grouped.macro(own, [], "hit", RELATION, SUBJECT).row(0))
        counts = {f"n_{name}": int(own[name].sum()) for name in OUTCOMES}
        yield Measure(
            suite=one.suite,
            dataset=dataset,
            model=model,
            other=None,
            metric=SAME,
            where=as_text({**one.conditions, FACT: facts}),
            formula="macro_of_facts",
            of=("hit",),
            **estimate._asdict(),
            p=None,
            n=sum(counts.values()),
            **counts,
        )


def of_facts(dataset: str, model: str, found: Sequence[Called]) -> list[Knowledge]:
    """Return for each fact how many methods asked it, and how many call it known."""
    if not found:
        return []
    every = pl.concat(one.facts.select(pl.col("fact").cast(pl.String), "known") for one in found)
    counted = every.group_by("fact").agg(pl.len(), pl.col("known").sum()).sort("fact")
    return [Knowledge(dataset, model, *row) for row in counted.iter_rows()]
