"""Do methods agree? The same facts of one model, called known or not by each method that asked them."""

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
GRADES = 10  # different scores, of which either of two methods must have as many for an interval of their correlation


class Called(NamedTuple):
    """What one method calls the facts of a model.

    Attributes:
        conditions: which items the method counts.
        facts: `recovery.facts_of` these.
        followed: whether the model answered in the form that was asked for; if not, nothing is known of these facts.
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
    """Yield what each method calls the facts: known where more than half of a fact's items are right."""
    for method in methods:
        for own in judged.where(method.where).groups(*method.by):
            facts = facts_of(own)
            if facts.height:
                count = {name: int((own.frame["outcome"] == name).sum()) for name in OUTCOMES}
                answered = followed(own.frame.height, count["error"], count["missing"], count["invalid"])
                yield Called(judged.suite, method, own.conditions, facts, answered)


def agreements(dataset: str, model: str, found: Sequence[Called]) -> list[Agreement]:
    """Return how each two methods agree on the facts that both asked; nothing of two that share fewer than `FEW`.

    The share of facts on which they agree has the interval of `grouped.macro`, a subject's facts as one draw; Cohen's
    kappa (Educational and Psychological Measurement 20, 1960) Wilson's of that agreement and as many draws, measured
    from what chance gives; and the rank correlation of the scores Bonett and Wright's, which holds the truth too rarely
    where both have few values, such as right and wrong: then it has none.
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
    """Yield what each method calls known of the facts that all of them asked, with the interval of these relations.

    A method is left out that shares too few facts with all those before it. Nothing is said of one method.
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
    """Return of each fact how many methods asked it, and how many call it known."""
    if not found:
        return []
    every = pl.concat(one.facts.select(pl.col("fact").cast(pl.String), "known") for one in found)
    counted = every.group_by("fact").agg(pl.len(), pl.col("known").sum()).sort("fact")
    return [Knowledge(dataset, model, *row) for row in counted.iter_rows()]
