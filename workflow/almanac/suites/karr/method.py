"""KaRR as the house knows it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from almanac.errors import AlmanacError
from almanac.rows import Draw, Item, KarrLeaf, KarrValue, Measure, Rating
from almanac.suites.asking import Asked
from almanac.suites.judging import responses_of
from almanac.suites.karr import analyses, expected, judging, labels, measures, requests
from almanac.suites.karr.draws import Drawn
from almanac.suites.karr.null import null_rows
from almanac.suites.karr.options import KarrOptions
from almanac.suites.method import Answered, Behind, Data, Measured, Method


def ask(data: Data, options: KarrOptions, on_step: Callable[[], object]) -> Asked:
    """Ask KaRR and its baselines of a dataset; see `requests.ask`. Labels are read here, so that the edition has them.

    Raises:
        AlmanacError: the file of labels is wrong.
    """
    found = requests.ask(data.facts, data.entities, data.relations, data.templates, data.choices, options, on_step)
    return _asked(found, _labels(options, data, found.asked.items))


def ask_again(answered: Answered, options: KarrOptions, on_step: Callable[[], object]) -> Asked:
    """Ask of a model the objects that it expects of any subject; see `expected.ask`.

    Raises:
        AlmanacError: the first round has not asked which these are, or with other settings; or a request of it has no
            response.
    """
    data = answered.data
    asked = {request.request_id: request for request in answered.requests}
    responses = responses_of(answered.model, asked, answered.responses)
    pools, _ = requests.pools_of(data.facts, data.entities, data.relations, data.templates, options)
    draws = answered.beside["draws"]
    found = expected.ask(pools, data.choices, answered.items, answered.links, draws, asked, responses, on_step)
    return _asked(found, [])


def ask_drawn(draws: Mapping[str, Drawn]) -> Asked:
    """Ask exactly what was drawn elsewhere; see `requests.ask_drawn`."""
    return _asked(requests.ask_drawn(draws), [])


def _asked(found: requests.KarrAsked, ratings: Sequence[Rating]) -> Asked:
    found.asked.refused = found.refused
    found.asked.beside = {"draws": found.draws, "labels": ratings}
    return found.asked


def _labels(options: KarrOptions, data: Data, items: Sequence[Item]) -> list[Rating]:
    """Read the file of labels, if one is given."""
    if options.labels is None:
        return []
    return labels.read(Path(options.labels), (fact.fact_id for fact in data.facts), (item.fact_id for item in items))


def measure(answered: Answered, options: KarrOptions) -> Measured:
    """Measure KaRR: the values first, then the thresholds that they are judged by.

    Raises:
        AlmanacError: the runs need the dataset, or the file of labels is wrong.
    """
    answers = judging.Answers.of(
        answered.model, answered.links, answered.beside["draws"], answered.requests, answered.responses
    )
    values, leaves = judging.values_of(answers, answered.items)
    limits = measures.thresholds(answered.items, values, options, answered.exposures)
    outcomes = judging.outcomes_of(answers, answered.items, values, limits, options)
    beside = measures.Beside(
        runs=_runs(answered, answers, limits, options),
        labels=labels.reference(
            answered.beside.get("labels") or _labels(options, answered.data, answered.items),
            answered.model,
            (fact.fact_id for fact in answered.data.facts),
        ),
        labels_known=options.labels_known,
    )
    rows = measures.measure(
        answered.dataset, answered.items, outcomes, values, answered.data.facts, limits, answered.exposures, beside
    )
    if answered.null is not None:
        rows += null_rows(
            answered.model, answered.dataset, answered.items, answered.data.facts, limits, answered.null["values"]
        )
    return Measured(outcomes, rows, {"values": values, "leaves": leaves})


def _runs(
    answered: Answered, answers: judging.Answers, limits: Mapping[str, float], options: KarrOptions
) -> list[analyses.Runs]:
    """Judge the true facts again in every run; the pools are those that asked."""
    if not options.resamples:
        return []
    data = answered.data
    if not (data.templates or data.relations):
        raise AlmanacError("measure karr: resamples draws from the dataset again; give its folder (--facts), or 0")
    pools, _ = requests.pools_of(data.facts, data.entities, data.relations, data.templates, options)
    return list(analyses.runs(answers, answered.items, data.facts, pools, limits, options))


def behind(row: Measure, options: KarrOptions, settings: Collection[str]) -> Behind:
    """Return the items that a number counts: of an expected object's, those with a value as the true one's has."""
    both = (requests.SPURIOUS, requests.FACTS) if row.setting == requests.SPURIOUS else ()
    return Behind((row.experiment,), (row.setting,), both=both)


def recovers(item: Item) -> bool:
    """Count true facts alone, not those with another object."""
    return item.setting == requests.FACTS


METHOD = Method(
    name=requests.SUITE,
    summary="prefer the object under any names and templates",
    options=KarrOptions,
    ask=ask,
    measure=measure,
    ask_again=ask_again,
    asked_beside={"draws": Draw, "labels": Rating},
    measured_beside={"values": KarrValue},
    workings={"leaves": KarrLeaf},
    recovers=recovers,
    chances=measures.chances,
    behind=behind,
)
