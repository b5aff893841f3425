"""KaRR as the house knows it."""

from collections.abc import Callable, Mapping

from almanac.rows import Draw, Item, KarrLeaf, KarrValue
from almanac.suites.asking import Asked
from almanac.suites.karr import judging, measures, requests
from almanac.suites.karr.draws import Drawn
from almanac.suites.karr.options import KarrOptions
from almanac.suites.method import Answered, Data, Measured, Method


def ask(data: Data, options: KarrOptions, on_step: Callable[[], object]) -> Asked:
    """Ask KaRR and its baselines of a dataset; see `requests.ask`."""
    return _asked(
        requests.ask(data.facts, data.entities, data.relations, data.templates, data.choices, options, on_step)
    )


def ask_drawn(draws: Mapping[str, Drawn]) -> Asked:
    """Ask exactly what was drawn elsewhere; see `requests.ask_drawn`."""
    return _asked(requests.ask_drawn(draws))


def _asked(found: requests.KarrAsked) -> Asked:
    found.asked.refused = found.refused
    found.asked.beside = {"draws": found.draws}
    return found.asked


def measure(answered: Answered, options: KarrOptions) -> Measured:
    """Measure KaRR: the values first, then the thresholds that they are judged by."""
    answers = judging.Answers.of(
        answered.model, answered.links, answered.beside["draws"], answered.requests, answered.responses
    )
    values, leaves = judging.values_of(answers, answered.items)
    limits = measures.thresholds(answered.items, values, options, answered.exposures)
    outcomes = judging.outcomes_of(answers, answered.items, values, limits, options)
    rows = measures.measure(
        answered.dataset, answered.items, outcomes, values, answered.data.facts, limits, answered.exposures
    )
    return Measured(outcomes, rows, {"values": values, "leaves": leaves})


def recovers(item: Item) -> bool:
    """Count true facts alone, not those with another object."""
    return item.setting == requests.FACTS


METHOD = Method(
    name=requests.SUITE,
    summary="prefer the object under any names and templates",
    options=KarrOptions,
    ask=ask,
    measure=measure,
    asked_beside={"draws": Draw},
    measured_beside={"values": KarrValue},
    workings={"leaves": KarrLeaf},
    recovers=recovers,
    chances=measures.chances,
)
