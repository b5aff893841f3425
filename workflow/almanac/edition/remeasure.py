"""From an edition's responses to its numbers: the one way, for measuring the first time and for verifying."""

from collections.abc import Iterator
from typing import Any

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.rows import Comparison, Exposure, Fact, Item, Measure, Outcome
from almanac.suites.comparison import Entrant, board, compare
from almanac.suites.ic_lke.requests import IN_CONTEXT, SUITE
from almanac.suites.method import Answered, Data, Measured, Verdict
from almanac.suites.methods import METHODS
from almanac.suites.validation import Run


def measured(layout: Layout, asking: Asking) -> Measured:
    """Judge a model's responses and measure them, with all that the suite writes."""
    method = METHODS[asking.suite]
    folders = layout.request_folders(asking)
    answered = Answered.read(
        layout.read,
        folders,
        [path for folder in folders for path in layout.requests_in(folder)],
        layout.responses(asking),
        method.asked_beside,
        model=asking.model,
        dataset=asking.dataset,
        data=Data.read(lambda name, row: layout.read(layout.dataset(asking.dataset, name), row)),
        exposures=exposures_of(layout, asking),
        null=_null_of(layout, asking),
    )
    return method.measure(answered, layout.config.suites.by_name()[asking.suite][asking.dataset])


def _null_of(layout: Layout, asking: Asking) -> dict[str, list[Any]] | None:
    """Return a suite's own tables of the null of a planted model, if the edition has one."""
    null = layout.config.null_of(asking)
    if null is None:
        return None
    own = METHODS[asking.suite].measured_beside
    return {name: layout.read(layout.beside_outcomes(null, name), row) for name, row in own.items()}


def exposures_of(layout: Layout, asking: Asking) -> list[Exposure] | None:
    """Return what a planted model was taught of a dataset, or none."""
    path = layout.exposures(asking)
    return None if path is None else layout.read(path, Exposure)


def planted_runs(layout: Layout) -> list[Run]:
    """Return every planted model but the nulls asked of its own invented world, under its recipe's name."""
    runs = []
    for asking in layout.config.asked():
        participant = layout.config.participants()[asking.model]
        dataset = layout.config.datasets[asking.dataset]
        planted = participant.model.planted
        if planted is None or planted.permuted or dataset.world != participant.world:
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


def held(layout: Layout) -> Iterator[tuple[Asking, Verdict]]:
    """Yield how the numbers of planted decoders but the nulls stand to the bars that suites set themselves."""
    options = layout.config.suites.by_name()
    participants = layout.config.participants()
    for asking in layout.config.asked():
        planted = participants[asking.model].model.planted
        judged = planted is not None and planted.architecture == "llama" and not planted.permuted
        if judged and layout.exposures(asking) is not None:
            own = layout.read(layout.measures(asking), Measure)
            found = METHODS[asking.suite].bars(own, options[asking.suite][asking.dataset])
            yield from ((asking, one) for one in found)


def compared(layout: Layout) -> list[Comparison]:
    """Put the models that IC-LKE asked of a dataset side by side, by the first draw of the examples."""
    out: list[Comparison] = []
    for dataset in layout.config.used_datasets(SUITE):
        askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (SUITE, dataset)]
        items = items_compared(layout, dataset)
        found = board(
            SUITE,
            dataset,
            [entrant(layout, asking.model) for asking in askings],
            items,
            layout.read(layout.dataset(dataset, "facts"), Fact),
            {asking.model: layout.read(layout.outcomes(asking), Outcome) for asking in askings},
        )
        out += compare(found)
    return out


def items_compared(layout: Layout, dataset: str) -> list[Item]:
    """Return the questions that models are compared by: IC-LKE's, behind the first draw of the examples."""
    items = layout.read(layout.request_folder(SUITE, dataset) / "items.parquet", Item)
    in_context = [item for item in items if item.experiment == IN_CONTEXT]
    first = min((item.setting for item in in_context), default="")
    return [item for item in in_context if item.setting == first]


def entrant(layout: Layout, name: str) -> Entrant:
    """Return a model as it is compared; of a planted one the base is that of its own world."""
    participants = layout.config.participants()
    own = participants[name]
    bases = [one.name for one in participants.values() if (one.model.name, one.world) == (own.model.base, own.world)]
    sized = own.model.planted is not None or own.model.path is not None
    parameters = own.model.parameters or (own.model.size if sized else None)
    return Entrant(name, own.model.series or name, bases[0] if bases else None, parameters)
