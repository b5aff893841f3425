"""From an edition's responses to its numbers: the one way, for measuring the first time and for verifying."""

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.rows import Exposure, Fact, Item, Link, Measure, Outcome, Request, Response
from almanac.suites.ic_lke.measures import judge, measure
from almanac.suites.ic_lke.validation import Run


def outcomes_and_measures(layout: Layout, asking: Asking) -> tuple[list[Outcome], list[Measure]]:
    """Judge a model's responses and measure them."""
    folder = layout.request_folder(asking.suite, asking.dataset)
    items = layout.read(folder / "items.parquet", Item)
    links = layout.read(folder / "links.parquet", Link)
    requests = [row for path in layout.requests(asking.suite, asking.dataset) for row in layout.read(path, Request)]
    responses = [row for path in layout.responses(asking) for row in layout.read(path, Response)]
    outcomes = judge(asking.model, items, links, requests, responses)
    facts = layout.read(layout.dataset(asking.dataset, "facts"), Fact)
    choices = layout.config.datasets[asking.dataset].choices
    return outcomes, measure(asking.dataset, items, outcomes, facts, choices, exposures_of(layout, asking))


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
        run = Run(
            model=participant.model.name,
            decoder=planted.architecture == "llama",
            choices=dataset.choices,
            items=layout.read(folder / "items.parquet", Item),
            outcomes=layout.read(layout.outcomes(asking), Outcome),
            facts=layout.read(layout.dataset(asking.dataset, "facts"), Fact),
            exposures=exposures_of(layout, asking) or [],
        )
        runs.append(run)
    return runs
