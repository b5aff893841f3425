"""From an edition's responses to its numbers: the one way, for measuring the first time and for verifying."""

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.rows import Exposure, Fact, Item, Link, Outcome, Request, Response
from almanac.suites.method import Answered, Data, Measured
from almanac.suites.methods import METHODS
from almanac.suites.validation import Run


def measured(layout: Layout, asking: Asking) -> Measured:
    """Judge a model's responses and measure them, with all that the suite writes."""
    method = METHODS[asking.suite]
    folder = layout.request_folder(asking.suite, asking.dataset)
    answered = Answered(
        model=asking.model,
        dataset=asking.dataset,
        data=Data.read(lambda name, row: layout.read(layout.dataset(asking.dataset, name), row)),
        items=layout.read(folder / "items.parquet", Item),
        links=layout.read(folder / "links.parquet", Link),
        requests=[row for path in layout.requests(asking.suite, asking.dataset) for row in layout.read(path, Request)],
        responses=[row for path in layout.responses(asking) for row in layout.read(path, Response)],
        beside={name: layout.read(folder / f"{name}.parquet", row) for name, row in method.asked_beside.items()},
        exposures=exposures_of(layout, asking),
    )
    return method.measure(answered, layout.config.suites.by_name()[asking.suite][asking.dataset])


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
        method = METHODS[asking.suite]
        items = layout.read(layout.request_folder(asking.suite, asking.dataset) / "items.parquet", Item)
        outcomes = layout.read(layout.outcomes(asking), Outcome)
        run = Run(
            model=participant.model.name,
            decoder=planted.architecture == "llama",
            choices=dataset.choices,
            items=[item for item in items if method.recovers(item)],
            outcomes=outcomes,
            facts=layout.read(layout.dataset(asking.dataset, "facts"), Fact),
            exposures=exposures_of(layout, asking) or [],
            suite=asking.suite,
            chances=method.chances(items, outcomes),
        )
        runs.append(run)
    return runs
