"""IC-LKE's numbers (Wu et al., section 3) and what they recover of planted knowledge.

Every metric leaves out items without an answer (too long, unsupported, failed); ``n_error`` says how many they were.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from almanac.rows import Item, Link, Measure, Outcome, Request, Response
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
from almanac.suites.ic_lke.requests import SUITE
from almanac.suites.judging import Judged, Sheet, gather, recovery_rows, responses_of, share, times_taught
from almanac.suites.method import Answered, Measured

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def judge(
    model: str,
    items: Sequence[Item],
    links: Sequence[Link],
    requests: Iterable[Request],
    responses: Iterable[Response],
) -> list[Outcome]:
    """Judge every item: correct where the true choice alone has the highest log-probability (ties lose).

    Returns:
        One outcome an item, in its order. ``score`` is the log of the true choice's share among the choices (nats; an
        upper bound where only the best choice was asked and it is not the true one), ``confidence`` the share of the
        predicted choice, ``prediction`` its text.

    Raises:
        AlmanacError: a request has no response.
    """

    def by_choices(item: Item, link: Link, request: Request, response: Response) -> Outcome | None:
        if response.logprobs is None or link.index is None:
            return None
        return verdict(model, item, response.logprobs, link.index, request.choices or ())

    return judge_each(model, items, links, requests, responses, by_choices)


def judge_each(
    model: str,
    items: Sequence[Item],
    links: Iterable[Link],
    requests: Iterable[Request],
    responses: Iterable[Response],
    judge_one: Callable[[Item, Link, Request, Response], Outcome | None],
) -> list[Outcome]:
    """Judge every item by the one request that serves it.

    Args:
        model: its name.
        items: what was asked.
        links: of the items to the requests.
        requests: what was asked.
        responses: the model's.
        judge_one: from an item and its answer to an outcome; none where the answer holds nothing to judge by.

    Returns:
        One outcome an item, in its order; where there is no answer, that (`unanswered`).

    Raises:
        AlmanacError: a request has no response.
    """
    asked = {request.request_id: request for request in requests}
    answered = responses_of(model, asked, responses)
    link_of = {link.item_id: link for link in links}
    found = []
    for item in items:
        link = link_of[item.item_id]
        response = answered[link.request_id]
        outcome = judge_one(item, link, asked[link.request_id], response) if response.status == "ok" else None
        found.append(outcome or unanswered(model, item, [response]))
    return found


def unanswered(model: str, item: Item, responses: Iterable[Response]) -> Outcome:
    """Return the outcome of an item without an answer: missing where the model refused, else an error."""
    refused = any(response.status == "refused" for response in responses)
    return Outcome(model, item.item_id, None, "missing" if refused else "error", None, None)


def verdict(model: str, item: Item, logprobs: Sequence[float], true: int, choices: Sequence[str]) -> Outcome:
    """Return the outcome of an item by the log-probabilities of its choices, ``(choices,)`` in nats.

    Args:
        model: its name.
        item: what was asked.
        logprobs: of the choices.
        true: the place of the true one; it must be the last, so that the largest is a rival where they tie.
        choices: their texts.
    """
    values = np.asarray(logprobs, dtype=float)
    total = float(np.logaddexp.reduce(values))
    correct = bool(values[true] > np.delete(values, true).max(initial=-np.inf))
    best = int(values.argmax())
    return Outcome(
        model=model,
        item_id=item.item_id,
        prediction=choices[best].strip(),
        outcome="correct" if correct else "incorrect",
        score=float(values[true]) - total,
        confidence=math.exp(float(values[best]) - total),
    )


def most_choices(requests: Iterable[Request]) -> int:
    """Return the most choices of a request: chance is one in as many."""
    return max((len(request.choices or ()) for request in requests), default=1)


def measure_choices(answered: Answered, rows_of: Callable[[Answered, Sequence[Outcome]], list[Measure]]) -> Measured:
    """Judge a model's choices and measure them by ``rows_of``, which is `measure` or takes the same."""
    outcomes = judge(answered.model, answered.items, answered.links, answered.requests, answered.responses)
    return Measured(outcomes, rows_of(answered, outcomes))


def measure(answered: Answered, outcomes: Sequence[Outcome], suite: str = SUITE) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        answered: what was asked and answered.
        outcomes: one an item.
        suite: the suite's name, written on every row.

    Returns:
        Rows by experiment and setting: accuracy and probability mass a relation and overall (mean over relations),
        accuracy@K, and with exposures the recovery. The recovery speaks of facts that have a dose (0 included: names
        that the model met, and a fact it did not).
    """
    rows: list[Measure] = []
    facts, exposures, choices = answered.data.facts, answered.exposures, most_choices(answered.requests)
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    for (experiment, setting), group in gather(answered.items, outcomes, facts, exposures).items():
        sheet = Sheet(suite, answered.dataset, experiment, answered.model, setting)
        rows += _plain_rows(sheet, group, choices)
        if exposures is not None:
            rows += recovery_rows(sheet, group, taught)
    return rows


def _plain_rows(sheet: Sheet, group: Sequence[Judged], choices: int) -> list[Measure]:
    by_relation: dict[str, list[Judged]] = defaultdict(list)
    for judged in group:
        by_relation[judged.item.relation_id].append(judged)
    strata = {relation: [one for one in own if one.answered] for relation, own in by_relation.items()}
    subjects = [[one.subject for one in own] for own in strata.values()]
    rows = []
    for metric, value_of in (("accuracy", _hit), ("probability_mass", _mass)):
        values = [[value_of(one) for one in own] for own in strata.values()]
        rows.append(sheet.row(metric, macro_share(values, subjects), group))
        for relation, own, clusters in zip(strata, values, subjects, strict=True):
            rows.append(sheet.row(metric, macro_share([own], [clusters]), by_relation[relation], relation))
    chance = Estimate(1 / choices, None, None) if any(strata.values()) else NOTHING
    rows.append(sheet.row("chance", chance, group))
    for level in LEVELS:
        sure = [one for one in group if one.answered and (one.outcome.confidence or 0.0) >= level]
        rows.append(sheet.row("accuracy_at_k", share(sure), sure, level=level))
    return rows


def _hit(judged: Judged) -> float:
    return judged.hit


def _mass(judged: Judged) -> float:
    return math.exp(judged.score)
