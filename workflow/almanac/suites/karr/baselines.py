"""The baselines LAMA, ParaRel and K-Prompts: how their items are scored."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import log_mean
from almanac.suites.karr.numbers import Numbers, UnansweredError

LAMA = {"lama_at_1": 1, "lama_at_10": 10}  # the ranks within which the object must be
PARAREL, K_PROMPTS = "pararel", "k_prompts"


class FilledBlank(NamedTuple):
    """A model's response to a blank at the end of a template; ``place`` is the index of the choice that is asked for.

    A choice with ``token_counts`` 0 is unknown to the tokenizer. Its log-probability is that of the unknown token and
    must not be read.
    """

    place: int
    choices: Sequence[str]
    status: str
    logprobs: Sequence[float] | None
    ranks: Sequence[int | None] | None
    tokens: Sequence[str] | None
    token_counts: Sequence[int] | None


class KarrVerdict(NamedTuple):
    """The result of an item; if it has no value, ``known`` and ``score`` are none and ``without`` is its outcome.

    ``score`` is log KaRR (whose threshold is applied later), the object's log-probability (LAMA), the log of its share
    among the candidates (ParaRel) or of its mean probability (K-Prompts). ``confidence`` is ParaRel's consistency.
    """

    known: bool | None = None
    score: float | None = None
    prediction: str | None = None
    confidence: float | None = None
    without: str = "error"


def lama(blank: FilledBlank, within: int) -> KarrVerdict:
    """LAMA: is the object among the first ``within`` of all allowed tokens? Only one-token objects can be judged."""
    if blank.status != "ok" or blank.ranks is None or blank.logprobs is None:
        return KarrVerdict()
    rank = blank.ranks[blank.place]
    if rank is None:
        return KarrVerdict(without="invalid")
    first = (blank.tokens or ("",))[0].strip()
    prediction = first if within == 1 or rank == 0 else f"{first} (the object is no. {rank + 1})"
    return KarrVerdict(rank < within, blank.logprobs[blank.place], prediction)


def pararel(blanks: Sequence[FilledBlank]) -> KarrVerdict:
    """ParaRel: is the object the best candidate after every template? The consistency is the share of pairs that agree.

    The prediction is the candidate that is best after every template; there is none if templates disagree. Candidates
    unknown to the tokenizer are left out. An object that is unknown to it or the only one left cannot be judged.
    """
    best, shares = [], []
    for blank in blanks:
        if blank.status != "ok" or blank.logprobs is None:
            return KarrVerdict()
        logs = np.asarray(blank.logprobs, dtype=float)
        if blank.token_counts is not None:
            logs[np.asarray(blank.token_counts) == 0] = -math.inf
        if logs[blank.place] == -math.inf or np.isfinite(logs).sum() < 2:
            return KarrVerdict(without="invalid")
        best.append(int(logs.argmax()))
        shares.append(float(logs[blank.place] - np.logaddexp.reduce(logs)))
    pairs = [choice == other for choice, other in itertools.combinations(best, 2)]
    return KarrVerdict(
        all(choice == blank.place for choice, blank in zip(best, blanks, strict=True)),
        sum(shares) / len(shares),
        blanks[0].choices[best[0]] if len(set(best)) == 1 else None,
        sum(pairs) / len(pairs) if pairs else None,
    )


def k_prompts(numbers: Numbers, drawn: FactDraw, threshold: float) -> KarrVerdict:
    """K-Prompts: is the mean probability of an object's token, over prompts and names, above a threshold?"""
    try:
        mean = log_mean(numbers.prompts(drawn))
    except UnansweredError:
        return KarrVerdict()
    return KarrVerdict(mean > math.log(threshold), mean)
