"""Reads the log-probabilities of strings from a model's responses, for KaRR and K-Prompts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import Beta, Leaves, Variant
from almanac.suites.karr.strings import Gamma, Planned, own_gammas


class UnansweredError(Exception):
    """A string has no log-probability; the message is the reason."""


class StringLogprobs(NamedTuple):
    """A model's log-probabilities (nats) of one string.

    Attributes:
        lacking: why there are none; else none.
        total: the log-probability of the scored part.
        length: the number of tokens of that part.
        tokens: the log-probabilities of all tokens of the string that can be scored, if they were requested.
    """

    lacking: str | None
    total: float
    length: int
    tokens: Sequence[float]


@dataclass(frozen=True)
class Strings:
    """A model's responses to strings; if there are several to one string, the first counts.

    Attributes:
        sentences: by text and index of the first scored character.
        whole: those of them whose every token was requested.
        counts: by the text whose tokens are counted.
    """

    sentences: Mapping[tuple[str, int], StringLogprobs]
    whole: Mapping[tuple[str, int], StringLogprobs]
    counts: Mapping[str, StringLogprobs]

    @classmethod
    def of(cls, links: pl.DataFrame) -> "Strings":
        """Collect the responses to strings from joined links; other requests are left out."""
        sentences: dict[tuple[str, int], StringLogprobs] = {}
        whole: dict[tuple[str, int], StringLogprobs] = {}
        counts: dict[str, StringLogprobs] = {}
        answered = (pl.col("status") == "ok") & pl.col("logprobs").is_not_null() & pl.col("token_counts").is_not_null()
        reason = pl.format("{}: {}", "status", pl.col("reason").fill_null("no log-probability"))
        columns = links.select(
            "text",
            pl.col("span_starts").list.last().alias("start"),
            pl.col("pieces").list.first().str.strip_prefix(" ").alias("counted"),
            pl.col("per_token").fill_null(False),
            pl.when(~answered).then(reason).alias("lacking"),
            pl.col("logprobs").list.last(),
            pl.col("token_counts").list.last(),
            # The first span of a string that is read whole covers all of it.
            pl.col("token_logprobs").list.head(pl.col("token_counts").list.first()),
        ).filter(pl.col("start").is_not_null() | pl.col("counted").is_not_null())
        rows = columns.unique(("text", "start", "counted", "per_token"), keep="first", maintain_order=True)
        for text, start, counted, per_token, lacking, total, length, tokens in rows.iter_rows():
            reading = StringLogprobs(lacking, total, length, tokens or ())
            if counted is not None:
                counts.setdefault(counted, reading)
                continue
            sentences.setdefault((text, start), reading)
            if per_token:
                whole.setdefault((text, start), reading)
        return cls(sentences, whole, counts)


@dataclass(frozen=True)
class Numbers:
    """One model's log-probabilities, as a variant reads them; each string is read once.

    Raises:
        UnansweredError: a string has no log-probability (all methods).
        KeyError: a string was not asked (all methods).
    """

    strings: Strings
    variant: Variant
    _weights: dict[str, float | None] = field(default_factory=dict, repr=False, compare=False)
    _gammas: dict[Gamma, tuple[int, float]] = field(default_factory=dict, repr=False, compare=False)

    def weight(self, text: str) -> float | None:
        """Return the mean log-probability of a text's tokens; none with uniform weights or without a scored token."""
        if self.variant.weights == "uniform":
            return None
        if text not in self._weights:
            values = _answered(self.strings.whole[text, 0]).tokens
            self._weights[text] = math.fsum(values) / len(values) if values else None
        return self._weights[text]

    def gamma(self, gamma: Gamma) -> tuple[int, float]:
        """Return the number of scored tokens of a gamma, and log P(gamma|beta)."""
        found = self._gammas.get(gamma)
        if found is None:
            read = self._object if self.variant.tokens == "product" else self._last
            found = self._gammas[gamma] = read(gamma)
        return found

    def _object(self, gamma: Gamma) -> tuple[int, float]:
        """Return the number of tokens of a gamma's object, and the sum of their log-probabilities."""
        reading = _answered(self.strings.sentences[gamma.text, gamma.start])
        return reading.length, reading.total

    def _last(self, gamma: Gamma) -> tuple[int, float]:
        """Return n and the mean log-probability of a gamma's last n tokens, n being the tokens of `Gamma.rest`."""
        wanted = _answered(self.strings.counts[gamma.rest]).length
        tokens = _answered(self.strings.whole[gamma.text, gamma.start]).tokens
        values = tokens[-wanted:] if wanted else ()
        if not values:
            raise UnansweredError(f"nothing of {gamma.text!r} can be scored")
        return len(values), math.fsum(values) / len(values)

    def prompts(self, drawn: FactDraw) -> list[float]:
        """Return the mean log-probability of the object's tokens, for each beta and name of the object."""
        return [total / max(1, count) for count, total in map(self._object, own_gammas(drawn))]

    def leaves(self, planned: Leaves[Planned], rows: list[tuple[Any, ...]] | None = None) -> Leaves[Beta]:
        """Return the values of planned sentences; ``rows`` collects them as `KarrLeaf` rows without the item."""

        def beta(plan: Planned) -> Beta:
            weight, found = self.weight(plan.text), list(map(self.gamma, plan.gammas))
            if rows is not None:
                for gamma, (count, value) in zip(plan.gammas, found, strict=True):
                    rows.append((plan.part, len(rows), plan.of, plan.text, gamma.text, count, value, weight))
            return Beta(weight, tuple([value for _, value in found]))

        return planned.map(beta)


def _answered(reading: StringLogprobs) -> StringLogprobs:
    if reading.lacking is not None:
        raise UnansweredError(reading.lacking)
    return reading
