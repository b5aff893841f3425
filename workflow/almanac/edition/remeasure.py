"""From an edition's responses to its numbers: the one way, for measuring the first time and for verifying."""

from dataclasses import dataclass, field

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.rows import Draw, Exposure, Fact, Item, KarrLeaf, KarrValue, Link, Measure, Outcome, Request, Response
from almanac.suites.ic_lke.measures import judge, measure
from almanac.suites.karr import judging as karr_judging
from almanac.suites.karr import measures as karr_measures
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import FACTS
from almanac.suites.validation import Run


@dataclass(frozen=True)
class Measured:
    """What is measured of one model on one dataset; KaRR has the values of its facts and their leaves beside."""

    outcomes: list[Outcome]
    measures: list[Measure]
    values: list[KarrValue] = field(default_factory=list)
    leaves: list[KarrLeaf] = field(default_factory=list)


def outcomes_and_measures(layout: Layout, asking: Asking) -> tuple[list[Outcome], list[Measure]]:
    """Judge a model's responses and measure them."""
    found = measured(layout, asking)
    return found.outcomes, found.measures


def measured(layout: Layout, asking: Asking) -> Measured:
    """Judge a model's responses and measure them, with all that the suite writes."""
    folder = layout.request_folder(asking.suite, asking.dataset)
    items = layout.read(folder / "items.parquet", Item)
    links = layout.read(folder / "links.parquet", Link)
    requests = [row for path in layout.requests(asking.suite, asking.dataset) for row in layout.read(path, Request)]
    responses = [row for path in layout.responses(asking) for row in layout.read(path, Response)]
    facts = layout.read(layout.dataset(asking.dataset, "facts"), Fact)
    exposures = exposures_of(layout, asking)
    if asking.suite == "karr":
        draws = layout.read(folder / "draws.parquet", Draw)
        answers = karr_judging.Answers.of(asking.model, links, draws, requests, responses)
        return karr_measured(
            answers, items, asking.dataset, layout.config.suites.karr[asking.dataset], facts, exposures
        )
    outcomes = judge(asking.model, items, links, requests, responses)
    choices = layout.config.datasets[asking.dataset].choices
    return Measured(outcomes, measure(asking.dataset, items, outcomes, facts, choices, exposures))


def karr_measured(
    answers: karr_judging.Answers,
    items: list[Item],
    dataset: str,
    options: KarrOptions,
    facts: list[Fact],
    exposures: list[Exposure] | None,
) -> Measured:
    """Measure KaRR: the values first, then the thresholds that they are judged by."""
    values, leaves = karr_judging.values_of(answers, items)
    limits = karr_measures.thresholds(items, values, options, exposures)
    outcomes = karr_judging.outcomes_of(answers, items, values, limits, options)
    rows = karr_measures.measure(dataset, items, outcomes, values, facts, limits, exposures)
    return Measured(outcomes, rows, values, leaves)


def exposures_of(layout: Layout, asking: Asking) -> list[Exposure] | None:
    """Return what a planted model was taught of a dataset, or none."""
    path = layout.exposures(asking)
    return None if path is None else layout.read(path, Exposure)


def planted_runs(layout: Layout) -> list[Run]:
    """Return every planted model asked of its own invented world, under its recipe's name."""
    runs = []
    for asking in layout.config.asked():
        participant = layout.config.participants()[asking.model]
        dataset = layout.config.datasets[asking.dataset]
        planted = participant.model.planted
        if planted is None or dataset.world != participant.world:
            continue
        folder = layout.request_folder(asking.suite, asking.dataset)
        items = layout.read(folder / "items.parquet", Item)
        outcomes = layout.read(layout.outcomes(asking), Outcome)
        chances = karr_measures.chances(items, outcomes) if asking.suite == "karr" else {}
        run = Run(
            model=participant.model.name,
            decoder=planted.architecture == "llama",
            choices=dataset.choices,
            items=[item for item in items if item.setting == FACTS] if asking.suite == "karr" else items,
            outcomes=outcomes,
            facts=layout.read(layout.dataset(asking.dataset, "facts"), Fact),
            exposures=exposures_of(layout, asking) or [],
            suite=asking.suite,
            chances=chances,
        )
        runs.append(run)
    return runs
