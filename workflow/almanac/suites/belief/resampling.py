"""How much accuracy varies between prompt sets (Zhao et al., section 4.2): closed forms, and 50,000 drawn sets.

A set has one prompt of every pair of subject and relation. ``relation`` draws one template for all pairs of a relation,
and only this gives deviations as large as the paper's; ``pair``, as its text says, draws one for each pair.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.tables import seed_of

Array = NDArray[np.float64]
AT_ONCE = 2_000_000  # draws that are held at once


@dataclass(frozen=True)
class Hits:
    """What is right of a group of prompts, by pair and template.

    Attributes:
        relations: the relations' names, sorted.
        templates: of each relation, the templates that have an answer, sorted.
        accuracy: of each relation, the accuracy of its templates, ``(templates,)``; several names of a subject are
            averaged.
        best: the same with the best of a subject's names in place of their average.
        pairs: how many pairs each relation has, ``(relations,)``.
        shares: of each pair, the share of its prompts that are right, of those with an answer, ``(pairs,)``.
    """

    relations: tuple[str, ...]
    templates: tuple[tuple[str, ...], ...]
    accuracy: tuple[Array, ...]
    best: tuple[Array, ...]
    pairs: Array
    shares: Array

    @classmethod
    def of(cls, frame: pl.DataFrame) -> "Hits":
        """Return the hits of prompts that have an answer: ``relation``, ``fact``, ``template``, ``hit``.

        Args:
            frame: prompts; each pair is asked by one fact.
        """
        known = frame.filter(pl.col("hit").is_not_null()).select(
            pl.col("relation").cast(pl.String), "fact", pl.col("template").cast(pl.String), pl.col("hit").cast(pl.Int64)
        )
        cells = known.group_by("relation", "fact", "template", maintain_order=True).agg(
            pl.col("hit").mean().alias("mean"), pl.col("hit").max().alias("best")
        )
        templates = (
            cells.group_by("relation", "template", maintain_order=True)
            .agg(pl.col("mean").mean(), pl.col("best").mean())
            .sort("relation", "template")
        )
        pairs = (
            known.group_by("relation", "fact", maintain_order=True)
            .agg((pl.col("hit").sum() / pl.len()).alias("share"))
            .sort("relation", pl.col("fact").cast(pl.String))
        )
        counts = pairs.group_by("relation", maintain_order=True).len().sort("relation")
        parts = templates.partition_by("relation", maintain_order=True)
        return cls(
            tuple(counts["relation"]),
            tuple(tuple(part["template"]) for part in parts),
            tuple(part["mean"].to_numpy() for part in parts),
            tuple(part["best"].cast(pl.Float64).to_numpy() for part in parts),
            counts["len"].cast(pl.Float64).to_numpy(),
            pairs["share"].to_numpy(),
        )

    @property
    def weights(self) -> Array:
        """The relations' shares of the pairs, ``(relations,)``."""
        shares: Array = self.pairs / self.pairs.sum()
        return shares

    def extremes(self) -> tuple[float, float, float, float]:
        """Return the accuracies with the worst and the best prompts.

        These are: with the worst template of each relation, with the best, with the best and each pair's best name, and
        the share of pairs that any prompt gets right.
        """
        worst, best = (self.weighted(map(pick, self.accuracy)) for pick in (np.min, np.max))
        return worst, best, self.weighted(map(np.max, self.best)), float((self.shares > 0).mean())

    def weighted(self, values: Iterable[float]) -> float:
        """Return a mean over relations, by their pairs."""
        return float(self.weights @ np.array(list(values)))

    def deviation(self, resample: str) -> float:
        """Return the standard deviation of accuracy over prompt sets.

        By relation √Σ w_r² var_k(a_rk); by pair √Σ p(1−p) / pairs, p being the share of a pair's prompts that are
        right.
        """
        if resample == "pair":
            return float(np.sqrt((self.shares * (1 - self.shares)).sum()) / len(self.shares))
        variances = np.array([float(own.var()) for own in self.accuracy])
        return float(np.sqrt((self.weights**2 * variances).sum()))

    def simulated(self, resample: str, draws: int, *seed: object) -> Array:
        """Return the accuracy of drawn prompt sets, ``(draws,)``; relations have generators of their own.

        Args:
            resample: what a prompt is drawn for, ``relation`` or ``pair``.
            draws: how many sets.
            seed: what the draws are for.
        """
        if resample == "pair":
            return self._simulated_pairs(draws, np.random.default_rng(seed_of(*seed, "pairs")))
        found = np.zeros(draws)
        for weight, name, own in zip(self.weights, self.relations, self.accuracy, strict=True):
            generator = np.random.default_rng(seed_of(*seed, "relation", name))
            found += weight * own[generator.integers(len(own), size=draws)]
        return found

    def _simulated_pairs(self, draws: int, generator: np.random.Generator) -> Array:
        """Draw pairs with one share of right prompts together: how many of them are right is binomial."""
        shares, counts = np.unique(self.shares, return_counts=True)
        found = np.zeros(draws)
        step = max(1, AT_ONCE // len(shares))
        for start in range(0, draws, step):
            size = min(step, draws - start)
            found[start : start + size] = generator.binomial(counts, shares, size=(size, len(shares))).sum(axis=1)
        share: Array = found / counts.sum()
        return share

    def expected_range(self, draws: int) -> float:
        """Return the expected range of so many prompt sets by pair, exactly.

        The number of right answers is Poisson binomial; its distribution is read off its characteristic function, and
        the range of N draws is Σ (1 − F^N − (1 − F)^N) over the steps of the distribution F.
        """
        shares, counts = np.unique(self.shares, return_counts=True)
        total = int(counts.sum())
        turns = np.exp(2j * np.pi * np.arange(total + 1) / (total + 1))
        logs = np.zeros(total + 1, complex)
        with np.errstate(divide="ignore"):
            for share, count in zip(shares, counts, strict=True):
                logs += count * np.log(1 - share + share * turns)
        mass = np.fft.fft(np.exp(logs)).real / (total + 1)
        below = np.clip(np.cumsum(mass), 0.0, 1.0)[:-1]
        return float((1 - below**draws - (1 - below) ** draws).sum() / total)
