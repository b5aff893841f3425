"""From a model's responses to every fact's KaRR and to the verdicts of the baselines."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from almanac.rows import Draw, Item, KarrLeaf, KarrValue, Link, Outcome, Request, Response
from almanac.suites.judging import responses_of
from almanac.suites.karr.draws import Drawn
from almanac.suites.karr.estimator import VARIANTS, Karr, estimate
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import FACTS, K_PROMPTS, LAMA, PARAREL
from almanac.suites.karr.strings import Numbers, UnansweredError


@dataclass
class Judgement:
    """What became of a model's items: KaRR's values and leaves, and the outcomes of all."""

    values: list[KarrValue] = field(default_factory=list)
    leaves: list[KarrLeaf] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


@dataclass(frozen=True)
class Answers:
    """One model's responses, with what was asked and drawn."""

    model: str
    asked: Mapping[str, Request]
    answered: Mapping[str, Response]
    links: Mapping[str, Sequence[Link]]
    draws: Mapping[str, Drawn]

    @classmethod
    def of(
        cls,
        model: str,
        links: Iterable[Link],
        draws: Iterable[Draw],
        requests: Iterable[Request],
        responses: Iterable[Response],
    ) -> "Answers":
        """Index the tables.

        Raises:
            AlmanacError: a request has no response.
        """
        asked = {request.request_id: request for request in requests}
        by_item: dict[str, list[Link]] = defaultdict(list)
        for link in links:
            by_item[link.item_id].append(link)
        rows: dict[str, list[Draw]] = defaultdict(list)
        for row in draws:
            rows[row.item_id].append(row)
        drawn = {item_id: Drawn.of(own) for item_id, own in rows.items()}
        return cls(model, asked, responses_of(model, asked, responses), by_item, drawn)


def values_of(answers: Answers, items: Sequence[Item]) -> tuple[list[KarrValue], list[KarrLeaf]]:
    """Compute the KaRR of every item of a mode, with the leaves it is made of; without one, the reason."""
    values, leaves = [], []
    for item in items:
        if item.experiment not in VARIANTS:
            continue
        variant = VARIANTS[item.experiment]
        try:
            found, rows = Numbers(answers.model, answers.answered, variant).leaves(
                item.item_id, answers.draws[item.item_id]
            )
        except UnansweredError as reason:
            values.append(_value(answers.model, item, Karr(reason=str(reason))))
            continue
        leaves += rows
        values.append(_value(answers.model, item, estimate(found, variant)))
    return values, leaves


def _value(model: str, item: Item, karr: Karr) -> KarrValue:
    return KarrValue(
        model,
        item.item_id,
        _finite(karr.numerator),
        _finite(karr.by_subject),
        _finite(karr.by_relation),
        karr.karr_s,
        karr.karr_r,
        karr.karr,
        karr.reason,
    )


def _finite(value: float | None) -> float | None:
    """Return a logarithm, or none for that of 0."""
    return value if value is not None and math.isfinite(value) else None


def outcomes_of(
    answers: Answers,
    items: Sequence[Item],
    values: Iterable[KarrValue],
    thresholds: Mapping[str, float],
    options: KarrOptions,
) -> list[Outcome]:
    """Judge every item: known or not.

    Args:
        answers: the model's.
        items: all of them.
        values: `values_of`.
        thresholds: by mode, KaRR (no logarithm) above which a fact counts as known.
        options: of the suite.

    Returns:
        One outcome an item. ``score`` is log KaRR, the object's log-probability (LAMA), the log of its share among the
        candidates (ParaRel) or of its mean probability (K-Prompts); ``confidence`` ParaRel's consistency.
    """
    value_of = {row.item_id: row for row in values}
    out = []
    for item in items:
        if item.experiment in VARIANTS:
            karr = value_of[item.item_id].karr
            known = None if karr is None else karr > math.log(thresholds[item.experiment])
            out.append(_outcome(answers, item, known, karr))
        elif item.experiment == PARAREL:
            out.append(_pararel(answers, item))
        elif item.experiment == K_PROMPTS:
            out.append(_k_prompts(answers, item, options.k_prompts))
        else:
            out.append(_lama(answers, item, LAMA[item.experiment]))
    return out


def _outcome(
    answers: Answers,
    item: Item,
    known: bool | None,
    score: float | None,
    prediction: str | None = None,
    confidence: float | None = None,
    without: str = "error",
) -> Outcome:
    verdict = without if known is None else ("correct" if known else "incorrect")
    return Outcome(answers.model, item.item_id, prediction, verdict, score, confidence)


def _lama(answers: Answers, item: Item, within: int) -> Outcome:
    """LAMA: the object is among the first of all allowed tokens; one of several tokens cannot be judged."""
    [link] = answers.links[item.item_id]
    response = answers.answered[link.request_id]
    if response.status != "ok" or response.ranks is None or response.logprobs is None or link.index is None:
        return _outcome(answers, item, None, None)
    rank = response.ranks[link.index]
    if rank is None:
        return _outcome(answers, item, None, None, without="invalid")
    first = (response.tokens or ("",))[0].strip()
    return _outcome(answers, item, rank < within, response.logprobs[link.index], first)


def _pararel(answers: Answers, item: Item) -> Outcome:
    """ParaRel: the best candidate behind every template is the object; how many pairs of templates agree."""
    best, shares = [], []
    for link in answers.links[item.item_id]:
        response = answers.answered[link.request_id]
        if response.status != "ok" or response.logprobs is None or link.index is None:
            return _outcome(answers, item, None, None)
        logs = np.asarray(response.logprobs, dtype=float)
        best.append((answers.asked[link.request_id].choices or ())[int(logs.argmax())])
        shares.append(float(logs[link.index] - np.logaddexp.reduce(logs)))
    pairs = [one == other for one, other in itertools.combinations(best, 2)]
    true = (answers.asked[answers.links[item.item_id][0].request_id].choices or ("",))[-1]
    return _outcome(
        answers,
        item,
        all(one == true for one in best),
        sum(shares) / len(shares),
        best[0],
        sum(pairs) / len(pairs) if pairs else None,
    )


def _k_prompts(answers: Answers, item: Item, threshold: float) -> Outcome:
    """K-Prompts: the mean over prompts, and within them over the object's names, of the probability of a token."""
    drawn = answers.draws[f"karr/paper/{FACTS}/{item.fact_id}"]
    try:
        prompts = Numbers(answers.model, answers.answered, VARIANTS["paper"]).prompts(drawn)
    except UnansweredError:
        return _outcome(answers, item, None, None)
    mean = math.fsum(prompts) / len(prompts)
    return _outcome(answers, item, mean > threshold, math.log(mean) if mean > 0 else None)
