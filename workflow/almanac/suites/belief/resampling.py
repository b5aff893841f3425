"""How much accuracy fluctuates between prompt sets (Zhao et al., section 4.2): closed forms, and 50,000 drawn sets.

A prompt set has one prompt for every pair of subject and relation. By ``relation``, one template is drawn for all pairs
of a relation; only this gives deviations as large as the paper reports. By ``pair``, one prompt is drawn for each pair,
as the paper's text says.
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
    """Accuracy of the answered prompts of one way of asking, by template and by pair.

    Attributes:
        relations: the relations' names, sorted.
        templates: for each relation its templates that have an answer, sorted.
        accuracy: for each relation the accuracy of its templates, ``(templates,)``; a subject's names are averaged.
        best: the same with the best of a subject's names in place of their average.
        pairs: the number of pairs of each relation, ``(relations,)``.
        shares: for each pair the share of its answered prompts that are right, ``(pairs,)``.
    """

    relations: tuple[str, ...]
    templates: tuple[tuple[str, ...], ...]
    accuracy: tuple[Array, ...]
    best: tuple[Array, ...]
    pairs: Array
    shares: Array

    @classmethod
    def of(cls, frame: pl.DataFrame) -> "Hits":
        """Summarise prompts; those without an answer (``hit`` is null) are left out.

        Args:
            frame: prompts with ``relation``, ``fact``, ``template`` and ``hit``; a fact stands for its pair.
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
        """Each relation's share of all pairs, ``(relations,)``."""
        shares: Array = self.pairs / self.pairs.sum()
        return shares

    def extremes(self) -> tuple[float, float, float, float]:
        """Return the accuracies with the worst and the best prompts.

        Returns:
            The accuracy with each relation's worst template; with its best; with its best and each pair's best name;
            and the share of pairs that at least one prompt gets right.
        """
        worst, best = (self.weighted(map(pick, self.accuracy)) for pick in (np.min, np.max))
        return worst, best, self.weighted(map(np.max, self.best)), float((self.shares > 0).mean())

    def weighted(self, values: Iterable[float]) -> float:
        """Return the mean of a value over relations, weighted by their numbers of pairs."""
        return float(self.weights @ np.array(list(values)))

    def deviation(self, resample: str) -> float:
        """Return the standard deviation of accuracy over prompt sets, in closed form.

        By ``relation`` √(Σ_r w_r² var_k(a_rk)), for the weight w_r of relation r and the accuracy a_rk of its template
        k. By ``pair`` √(Σ p(1 − p)) / (number of pairs), for the share p of a pair's prompts that are right.
        """
        if resample == "pair":
            return float(np.sqrt((self.shares * (1 - self.shares)).sum()) / len(self.shares))
        variances = np.array([float(accuracies.var()) for accuracies in self.accuracy])
        return float(np.sqrt((self.weights**2 * variances).sum()))

    def simulated(self, resample: str, draws: int, *seed: object) -> Array:
        """Return the accuracies of randomly drawn prompt sets, ``(draws,)``.

        Args:
            resample: ``relation`` or ``pair``, see the module. By relation each one has a generator of its own.
            draws: the number of sets.
            seed: parts of the seed.
        """
        if resample == "pair":
            return self._simulated_pairs(draws, np.random.default_rng(seed_of(*seed, "pairs")))
        found = np.zeros(draws)
        for weight, name, accuracies in zip(self.weights, self.relations, self.accuracy, strict=True):
            generator = np.random.default_rng(seed_of(*seed, "relation", name))
            found += weight * accuracies[generator.integers(len(accuracies), size=draws)]
        return found

    def _simulated_pairs(self, draws: int, generator: np.random.Generator) -> Array:
        """Draw all pairs of equal share at once: how many of them are right is binomial."""
        shares, counts = np.unique(self.shares, return_counts=True)
        found = np.zeros(draws)
        step = max(1, AT_ONCE // len(shares))
        for start in range(0, draws, step):
            size = min(step, draws - start)
            found[start : start + size] = generator.binomial(counts, shares, size=(size, len(shares))).sum(axis=1)
        share: Array = found / counts.sum()
        return share

    def expected_range(self, draws: int) -> float:
        """Return the exact expected range (maximum − minimum) of accuracy over ``draws`` prompt sets drawn by pair.

        The number of right pairs has a Poisson binomial distribution F, obtained by inverting its characteristic
        function. The expected range of N draws is Σ_k (1 − F(k)^N − (1 − F(k))^N) / (number of pairs).
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
