"""EIC-LKE's numbers, how far it agrees with IC-LKE, and what both cost.

Accuracy, probability mass and recovery are IC-LKE's. The agreement is over facts that both answered (``n_error`` says
how many of EIC-LKE's have no answer; one sequence that is too long leaves its facts without).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from almanac.rows import Item, Link, Measure, Outcome, Request, Response
from almanac.statistics.agreement import cohens_kappa
from almanac.statistics.correlation import pearson
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
from almanac.statistics.paired import macro_difference
from almanac.suites.ic_lke import measures
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.eic.requests import CHOICE, SEQUENCE, SUITE, Cost
from almanac.suites.ic_lke.requests import IN_CONTEXT
from almanac.suites.judging import Judged, Sheet, gather, responses_of
from almanac.suites.method import Answered, Measured
from almanac.tables import seed_of

DRAWS = 1000  # of the bootstrap of the paired difference
AGREEMENT = ("same_prediction", "accuracy_difference", "kappa", "pearson")


def measure(answered: Answered, options: EicOptions) -> Measured:
    """Judge and measure one model on one dataset.

    Returns:
        IC-LKE's rows by experiment; for ``sequence`` and ``isolated`` also ``same_prediction``, ``accuracy_difference``
        (theirs less IC-LKE's), ``kappa`` and ``pearson`` (accuracy over relations), all against IC-LKE on the same
        facts; and for each experiment ``texts``, ``tokens`` and ``distinct_tokens``: what a model reads for it, about.
    """
    outcomes = judge(answered)
    rows = measures.measure(answered, outcomes, SUITE)
    gathered = gather(answered.items, outcomes, answered.data.facts, answered.exposures)
    groups = {experiment: group for (experiment, _), group in gathered.items()}
    for experiment, group in groups.items():
        sheet = Sheet(SUITE, answered.dataset, experiment, answered.model, group[0].item.setting)
        if experiment != IN_CONTEXT:
            rows += agreement_rows(sheet, group, groups[IN_CONTEXT])
        rows += _cost_rows(sheet, group, answered)
    return Measured(outcomes, rows)


def judge(answered: Answered) -> list[Outcome]:
    """Return one outcome an item, in order; a fact in sequences is judged by its choices in all of them."""
    asked = {request.request_id: request for request in answered.requests}
    responses = responses_of(answered.model, asked, answered.responses)
    links: dict[str, list[Link]] = defaultdict(list)
    for link in answered.links:
        links[link.item_id].append(link)
    plain = [item for item in answered.items if item.experiment != SEQUENCE]
    single = [link for item in plain for link in links[item.item_id]]
    found = {
        row.item_id: row for row in measures.judge(answered.model, plain, single, answered.requests, answered.responses)
    }
    for item in answered.items:
        if item.experiment == SEQUENCE:
            found[item.item_id] = _judge_sequences(answered.model, item, links[item.item_id], asked, responses)
    return [found[item.item_id] for item in answered.items]


def _judge_sequences(
    model: str, item: Item, links: Sequence[Link], asked: Mapping[str, Request], responses: Mapping[str, Response]
) -> Outcome:
    own = sorted(links, key=lambda link: int(link.role.removeprefix(CHOICE)))
    values, labels = [], []
    for link in own:
        response, pieces = responses[link.request_id], asked[link.request_id].pieces
        if response.status != "ok" or response.logprobs is None or link.index is None or pieces is None:
            return measures.unanswered(model, item, [responses[one.request_id] for one in own])
        values.append(response.logprobs[link.index])
        labels.append(pieces[link.index])
    return measures.verdict(model, item, values, len(values) - 1, labels)


def agreement_rows(sheet: Sheet, group: Sequence[Judged], reference: Sequence[Judged]) -> list[Measure]:
    """Return how far an experiment agrees with a reference on the facts that both answered; ``n`` counts these."""
    other = {one.item.fact_id: one for one in reference if one.answered}
    pairs = [(one, other[one.item.fact_id]) for one in group if one.answered and one.item.fact_id in other]
    by_relation: dict[str, list[tuple[Judged, Judged]]] = defaultdict(list)
    for pair in pairs:
        by_relation[pair[0].item.relation_id].append(pair)
    strata = list(by_relation.values())
    same = [[float(one.outcome.prediction == ours.outcome.prediction) for one, ours in own] for own in strata]
    subjects = [[one.subject for one, _ in own] for own in strata]
    difference = macro_difference(
        [one.hit - ours.hit for one, ours in pairs],
        [one.item.relation_id for one, _ in pairs],
        [one.subject for one, _ in pairs],
        DRAWS,
        seed_of(sheet.suite, sheet.dataset, sheet.experiment, sheet.model),
    )
    ours, theirs = ([sum(side[at].hit for side in own) / len(own) for own in strata] for at in (0, 1))
    estimates = (
        macro_share(same, subjects),
        difference,
        cohens_kappa([bool(one.hit) for one, _ in pairs], [bool(other.hit) for _, other in pairs]),
        pearson(ours, theirs),
    )
    compared = [one for one, _ in pairs]
    return [sheet.row(metric, estimate, compared) for metric, estimate in zip(AGREEMENT, estimates, strict=True)]


def _cost_rows(sheet: Sheet, group: Sequence[Judged], answered: Answered) -> list[Measure]:
    """Return what the experiment makes the model read; characters become tokens at the rate of what was answered."""
    cost: Cost = next(row for row in answered.beside["costs"] if row.experiment == sheet.experiment)
    rate = _tokens_a_character(answered.requests, answered.responses)
    rows = [sheet.row("texts", Estimate(float(cost.texts), None, None), group)]
    for metric, characters in (("tokens", cost.characters), ("distinct_tokens", cost.distinct)):
        found = NOTHING if rate is None else Estimate(float(round(rate * characters)), None, None)
        rows.append(sheet.row(metric, found, group))
    return rows


def _tokens_a_character(requests: Iterable[Request], responses: Iterable[Response]) -> float | None:
    counted = {row.request_id: row.token_counts for row in responses if row.status == "ok"}
    tokens = characters = 0
    for request in requests:
        counts = counted.get(request.request_id)
        if counts is not None:
            tokens += sum(counts)
            characters += sum(map(len, request.pieces or request.choices or ()))
    return tokens / characters if characters else None
