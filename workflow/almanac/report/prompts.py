"""What the page shows of the prompt baselines: each beside IC-LKE and EIC-LKE, overall and by relation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from almanac.edition.layout import Layout
from almanac.report.chapter import Chapter
from almanac.report.explorer import follower
from almanac.rows import Item, Measure, NotAsked, Relation
from almanac.suites.ic_lke import requests as ic_lke
from almanac.suites.ic_lke.eic import requests as eic
from almanac.suites.ic_lke.prompts.figures import Point, by_model
from almanac.suites.ic_lke.prompts.measures import MEAN
from almanac.suites.ic_lke.prompts.requests import SUITE
from almanac.suites.method import Behind

NAMES = {
    ic_lke.IN_CONTEXT: "IC-LKE",
    eic.SEQUENCE: "EIC-LKE",
    "written_clean": "written",
    "written_mangled": "written, mangled",
    "mined_clean": "mined",
    "mined_mangled": "mined, mangled",
    "hgp": "published, human",
    "mmp": "published, mined",
}


@dataclass(frozen=True)
class Cell:
    """A method's accuracy on all relations or on one, and the deviation over its prompts."""

    accuracy: Measure
    deviation: float | None


@dataclass(frozen=True)
class PromptsSection:
    """The prompt baselines on one dataset.

    ``cells`` stand by model, method and relation (none: all of them), ``facts`` are those asked by each method.
    """

    dataset: str
    methods: Mapping[str, str]
    models: Sequence[str]
    relations: Mapping[str, str]
    cells: Mapping[tuple[str, str, str | None], Cell]
    facts: Mapping[str, int]
    silent: Sequence[str]
    refused: Sequence[NotAsked]
    behind: Callable[[Measure], Behind]


def chapters(layout: Layout) -> list[Chapter]:
    """Return the chapters of the prompt baselines, one a dataset."""
    return [_chapter(layout, dataset) for dataset in layout.config.used_datasets(SUITE)]


def _chapter(layout: Layout, dataset: str) -> Chapter:
    own = list(_measures(layout, dataset, SUITE))
    cells = {**_others(layout, dataset), **_cells(own)}
    answered = {(model, method) for (model, method, relation) in cells if relation is None}
    models = list(dict.fromkeys(row.model for row in own if (row.model, row.experiment) in answered))
    methods = {key: name for key, name in NAMES.items() if any((model, key) in answered for model in models)}
    relations = layout.read(layout.dataset(dataset, "relations"), Relation)
    section = PromptsSection(
        dataset=dataset,
        methods=methods,
        models=models,
        relations={row.relation_id: row.label for row in relations},
        cells=cells,
        facts=_facts(layout, dataset),
        silent=sorted({row.model for row in own} - set(models)),
        refused=layout.read(layout.request_folder(SUITE, dataset) / "refused.parquet", NotAsked),
        behind=follower(layout, _asked(layout, dataset), dataset),
    )
    points = {
        model: {
            method: Point(cell.accuracy.value or 0.0, cell.deviation)
            for method in methods
            if (cell := cells.get((model, method, None))) is not None
        }
        for model in models
    }
    chance = 1 / layout.config.datasets[dataset].choices
    figures = {f"{dataset}-lke-prompts": by_model(points, methods, chance)} if models else {}
    return Chapter(
        anchor=f"prompts-{dataset}",
        title=f"Prompts against examples: {dataset}",
        template="prompts.html.j2",
        values={"section": section},
        figures=figures,
        measures=own,
    )


def _asked(layout: Layout, dataset: str) -> list[str]:
    """Return the suites that are compared, of those that were asked of a dataset."""
    return [suite for suite in (ic_lke.SUITE, eic.SUITE, SUITE) if dataset in layout.config.used_datasets(suite)]


def _facts(layout: Layout, dataset: str) -> dict[str, int]:
    """Return how many facts each method asked, since samples may differ."""
    asked: dict[str, set[str]] = {}
    for suite in _asked(layout, dataset):
        for item in layout.read(layout.request_folder(suite, dataset) / "items.parquet", Item):
            # EIC-LKE asks IC-LKE's questions beside its own; those of IC-LKE itself are meant.
            if suite != eic.SUITE or item.experiment == eic.SEQUENCE:
                asked.setdefault(item.experiment, set()).add(item.fact_id)
    return {experiment: len(found) for experiment, found in asked.items()}


def _measures(layout: Layout, dataset: str, suite: str) -> Iterator[Measure]:
    for asking in layout.config.asked():
        if (asking.suite, asking.dataset) == (suite, dataset):
            yield from layout.read(layout.measures(asking), Measure)


def _cells(measures: Sequence[Measure]) -> dict[tuple[str, str, str | None], Cell]:
    spread = {
        (row.model, row.experiment, row.relation_id): row.value
        for row in measures
        if row.metric == "accuracy_deviation"
    }
    return {
        key: Cell(row, spread.get(key))
        for row in measures
        if (row.metric, row.setting) == ("accuracy", MEAN) and row.value is not None
        for key in [(row.model, row.experiment, row.relation_id)]
    }


def _others(layout: Layout, dataset: str) -> dict[tuple[str, str, str | None], Cell]:
    """Return the accuracies of IC-LKE (its first draw) and EIC-LKE, where these were asked of the dataset too."""
    found: dict[tuple[str, str, str | None], Cell] = {}
    for suite, experiment in ((ic_lke.SUITE, ic_lke.IN_CONTEXT), (eic.SUITE, eic.SEQUENCE)):
        for row in sorted(_measures(layout, dataset, suite), key=lambda row: row.setting):
            if (row.metric, row.experiment) == ("accuracy", experiment) and row.value is not None:
                found.setdefault((row.model, experiment, row.relation_id), Cell(row, None))
    return found
