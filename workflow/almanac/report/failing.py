"""Which models have requests that failed, how many, and the commonest reason with what may be done."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from almanac.edition.layout import Layout
from almanac.frames import frames
from almanac.rows import Response

NOT_FINITE = "are the weights whole, or is float16 too small a dtype for them?"


@dataclass(frozen=True)
class Failures:
    """Why so many of a model's requests failed: ``reasons``, each with its number, ``of`` so many requests."""

    reasons: Mapping[str, int]
    of: int

    @property
    def count(self) -> int:
        """Return how many failed."""
        return sum(self.reasons.values())

    def told(self, model: str) -> str:
        """Return how many failed, and the commonest reason."""
        reason = max(self.reasons, key=lambda one: self.reasons[one])
        most = ", most often" if len(self.reasons) > 1 else ""
        remedy = f"; {NOT_FINITE}" if "finite" in reason else "."
        count = f"All {self.of:,}" if self.count == self.of else f"{self.count:,} of {self.of:,}"
        return f"{count} requests of {model} failed{most}: {reason.rstrip('.')}{remedy}"


def failures(layout: Layout) -> dict[str, Failures]:
    """Return by model what failed, of those with any request that did."""
    of: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    steps = (step for asking in layout.config.asked() for step in layout.steps(asking))
    for path, model in dict.fromkeys((path, step.answerer) for step in steps for path in layout.files(step).responses):
        for frame in frames(path, Response, ["status", "reason"]) if path.is_file() else ():
            of[model] += frame.height
            failed = frame.filter(pl.col("status") == "failed")["reason"].fill_null("no reason is given")
            reasons[model].update(dict(failed.value_counts(sort=True).rows()))
    return {model: Failures(own, of[model]) for model, own in reasons.items() if own}
