"""From a model's responses to every fact's KaRR and to the verdicts of the baselines."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from almanac.rows import Draw, Item, KarrLeaf, KarrValue, Link, Outcome, Request, Response
from almanac.suites.judging import responses_of
from almanac.suites.karr.draws import Drawn
from almanac.suites.karr.estimator import VARIANTS, Karr, estimate, log_mean
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import BLANK, K_PROMPTS, LAMA, PARAREL
from almanac.suites.karr.strings import Numbers, Strings, UnansweredError, plan


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

    @cached_property
    def numbers(self) -> Mapping[str, Numbers]:
        """The responses as each mode reads them."""
        strings = Strings.of(self.asked, self.answered)
        return {mode: Numbers(self.model, strings, variant) for mode, variant in VARIANTS.items()}

    def blanks(self, item: Item) -> dict[int, Link]:
        """Return the links of an item's blanks, by the position of their template in the pool, in its order."""
        found = {
            int(link.role.removeprefix(f"{BLANK}-")): link
            for link in self.links[item.item_id]
            if link.role.startswith(BLANK)
        }
        return dict(sorted(found.items()))


def values_of(answers: Answers, items: Sequence[Item]) -> tuple[list[KarrValue], list[KarrLeaf]]:
    """Compute the KaRR of every item of a mode, with the leaves it is made of; without one, the reason."""
    values, leaves = [], []
    for item in items:
        if item.experiment not in VARIANTS:
            continue
        variant = VARIANTS[item.experiment]
        numbers, planned = answers.numbers[item.experiment], plan(answers.draws[item.item_id], variant)
        try:
            found = numbers.leaves(planned)
        except UnansweredError as reason:
            values.append(_value(answers.model, item, Karr(reason=str(reason))))
            continue
        leaves += numbers.rows(item.item_id, planned)
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
        else:
            shared = answers.draws.get(f"karr/paper/{item.setting}/{item.fact_id}")
            out.append(judge(answers, item, options, answers.blanks(item).values(), shared))
    return out


def judge(answers: Answers, item: Item, options: KarrOptions, blanks: Iterable[Link], drawn: Drawn | None) -> Outcome:
    """Judge an item of a baseline.

    Args:
        answers: the model's.
        item: of LAMA, ParaRel or K-Prompts.
        options: of the suite.
        blanks: the blanks that it is judged by: all that ParaRel compares, of which LAMA reads the first.
        drawn: what K-Prompts reads.
    """
    if item.experiment == PARAREL:
        own = [link for at, link in enumerate(blanks) if at < options.templates]
        return _pararel(answers, item, own)
    if item.experiment == K_PROMPTS:
        return _k_prompts(answers, item, drawn, options.k_prompts)
    return _lama(answers, item, next(iter(blanks)), LAMA[item.experiment])


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


def _lama(answers: Answers, item: Item, link: Link, within: int) -> Outcome:
    """LAMA: the object is among the first of all allowed tokens; one of several tokens cannot be judged."""
    response = answers.answered[link.request_id]
    if response.status != "ok" or response.ranks is None or response.logprobs is None or link.index is None:
        return _outcome(answers, item, None, None)
    rank = response.ranks[link.index]
    if rank is None:
        return _outcome(answers, item, None, None, without="invalid")
    first = (response.tokens or ("",))[0].strip()
    return _outcome(answers, item, rank < within, response.logprobs[link.index], first)


def _pararel(answers: Answers, item: Item, links: Iterable[Link]) -> Outcome:
    """ParaRel: the best candidate behind every template is the object; how many pairs of templates agree."""
    best, shares, wanted = [], [], None
    for link in links:
        response = answers.answered[link.request_id]
        if response.status != "ok" or response.logprobs is None or link.index is None:
            return _outcome(answers, item, None, None)
        logs = np.asarray(response.logprobs, dtype=float)
        choices = answers.asked[link.request_id].choices or ()
        wanted = choices[link.index]
        best.append(choices[int(logs.argmax())])
        shares.append(float(logs[link.index] - np.logaddexp.reduce(logs)))
    pairs = [one == other for one, other in itertools.combinations(best, 2)]
    return _outcome(
        answers,
        item,
        all(one == wanted for one in best),
        sum(shares) / len(shares),
        best[0],
        sum(pairs) / len(pairs) if pairs else None,
    )


def _k_prompts(answers: Answers, item: Item, drawn: Drawn | None, threshold: float) -> Outcome:
    """K-Prompts: the mean over prompts, and within them over the object's names, of the probability of a token."""
    try:
        prompts = answers.numbers["paper"].prompts(drawn) if drawn is not None else []
    except UnansweredError:
        prompts = []
    if not prompts:
        return _outcome(answers, item, None, None)
    mean = log_mean(prompts)
    return _outcome(answers, item, mean > math.log(threshold), mean)
