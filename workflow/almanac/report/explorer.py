"""The items behind the page's numbers, which the page carries for its own look-up (`explorer.js`)."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from almanac.config import Asking
from almanac.dataset.names import ObjectNames
from almanac.edition.layout import Layout
from almanac.edition.remeasure import exposures_of
from almanac.rows import Context, Entity, Fact, Item, Link, Measure, Outcome, Request
from almanac.suites.method import Behind, Reading
from almanac.suites.methods import METHODS

MOST_EMBEDDED = 60_000  # outcomes; beyond, the page would no longer open quickly, and names the files instead


def explorer(layout: Layout) -> dict[str, Any]:
    """Return the items behind the numbers, as columns.

    Items stand once a suite and dataset, those of a second round apart, under their model's name too; outcomes are
    parallel lists a model, of both. Suites come in the order of the configuration; one with too many outcomes for what
    is left of the page is not embedded.
    """
    askings: dict[tuple[str, str], list[Asking]] = {}
    for asking in layout.config.asked():
        askings.setdefault((asking.suite, asking.dataset), []).append(asking)
    left = MOST_EMBEDDED
    contexts, asked, outcomes = {"": ""}, {}, []
    texts: dict[str, int] = {}  # several items may be served by one text, two hundred by a long one
    for (suite, dataset), own in askings.items():
        folders = {f"{suite}/{dataset}": layout.request_folder(suite, dataset)}
        folders |= {"/".join((suite, dataset, one.model)): again for one in own if (again := layout.second_folder(one))}
        items = {key: layout.read(folder / "items.parquet", Item) for key, folder in folders.items()}
        of_model = {
            asking: [*items[f"{suite}/{dataset}"], *items.get("/".join((suite, dataset, asking.model)), ())]
            for asking in own
        }
        counted = sum(map(len, of_model.values()))
        if counted > left:
            continue
        left -= counted
        for key, folder in folders.items():
            contexts |= {row.context_id: row.text for row in layout.read(folder / "contexts.parquet", Context)}
            asked[key] = _item_columns(layout, suite, dataset, folder, items[key], texts)
        outcomes += [_outcome_columns(layout, asking, all_items) for asking, all_items in of_model.items()]
    root = f"results/{layout.config.edition}"
    return {"contexts": contexts, "texts": list(texts), "root": root, "asked": asked, "outcomes": outcomes}


def follower(layout: Layout, suites: Sequence[str], dataset: str) -> Callable[[Measure], Behind]:
    """Return what finds the items behind a number of these suites on a dataset."""
    settings: dict[str, list[str]] = {}
    for suite in suites:
        askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (suite, dataset)]
        folders = dict.fromkeys(folder for asking in askings for folder in layout.request_folders(asking))
        items = (item for folder in folders for item in layout.read(folder / "items.parquet", Item))
        settings[suite] = sorted({item.setting for item in items})
    options = layout.config.suites.by_name()

    def behind(row: Measure) -> Behind:
        return METHODS[row.suite].behind(row, options[row.suite][dataset], settings[row.suite])

    return behind


def _item_columns(
    layout: Layout, suite: str, dataset: str, folder: Path, items: Sequence[Item], texts: dict[str, int]
) -> dict[str, list[Any]]:
    """Return the items of a suite's round on a dataset; of several requests that serve an item the first is shown.

    What is asked stands in ``texts``, to which new ones are added, and the items have its number.
    """
    names = ObjectNames.of(layout.read(layout.dataset(dataset, "entities"), Entity))
    facts = {row.fact_id: row for row in layout.read(layout.dataset(dataset, "facts"), Fact)}
    links = layout.read(folder / "links.parquet", Link)
    first = {row.item_id: row for row in reversed(links)}
    requests = {row.request_id: row for path in layout.requests_in(folder) for row in layout.read(path, Request)}
    served = [first[item.item_id] for item in items]
    asked = [requests[link.request_id] for link in served]
    return {
        "experiment": [item.experiment for item in items],
        "setting": [item.setting for item in items],
        "relation": [item.relation_id for item in items],
        "subject": [names.label(facts[item.fact_id].subject_id) for item in items],
        "object": [names.label(facts[item.fact_id].object_key) for item in items],
        "role": [link.role for link in served],
        "index": [link.index for link in served],
        "item": [item.item_id for item in items],
        "request": [request.request_id[:12] for request in asked],
        "context": [request.context_id or "" for request in asked],
        "text": [texts.setdefault(_shown(request), len(texts)) for request in asked],
        **_marks(layout, suite, folder, items, texts),
    }


def _marks(
    layout: Layout, suite: str, folder: Path, items: Sequence[Item], texts: dict[str, int]
) -> dict[str, list[int]]:
    """Return the column of what numbers count items by, as the numbers of ``texts``, of a suite that has some."""
    method = METHODS[suite]
    if method.marks is None:
        return {}
    beside: dict[str, Sequence[Any]] = {
        name: layout.read(folder / f"{name}.parquet", row) for name, row in method.asked_beside.items()
    }
    found = method.marks(items, beside)
    return {"marks": [texts.setdefault(" | ".join(found[item.item_id]), len(texts)) for item in items]}


def _shown(request: Request) -> str:
    """Return what is asked, as a reader sees it; a model's wrapper arranges instructed requests."""
    parts = (request.instruction, request.text, *(request.options or ()))
    return "\n".join(part for part in parts if part) or "".join(request.pieces or ())


def _outcome_columns(layout: Layout, asking: Asking, items: Sequence[Item]) -> dict[str, Any]:
    by_item = {row.item_id: row for row in layout.read(layout.outcomes(asking), Outcome)}
    doses = {row.fact_id: row.dose for row in exposures_of(layout, asking) or ()}
    found = [by_item[item.item_id] for item in items]
    readings = {
        name: {
            "outcome": [own[item.item_id][0] for item in items],
            "score": [_rounded(own[item.item_id][1]) for item in items],
        }
        for name, own in _readings(layout, asking).items()
    }
    return {
        "suite": asking.suite,
        "model": asking.model,
        "dataset": asking.dataset,
        "prediction": [row.prediction for row in found],
        "outcome": [row.outcome for row in found],
        # Rounded down, so that what the page counts at .5 and above is what accuracy@K counted.
        "confidence": [None if row.confidence is None else math.floor(row.confidence * 1000) / 1000 for row in found],
        "score": [_rounded(row.score) for row in found],
        "dose": [doses.get(item.fact_id) for item in items],
        "readings": readings,
    }


def _readings(layout: Layout, asking: Asking) -> Mapping[str, Reading]:
    """Return other judgements of a model's answers than the outcomes, of a suite that has some."""
    method = METHODS[asking.suite]
    if method.readings is None:
        return {}
    beside: dict[str, Sequence[Any]] = {
        name: layout.read(layout.beside_outcomes(asking, name), row) for name, row in method.measured_beside.items()
    }
    return method.readings(beside, layout.config.suites.by_name()[asking.suite][asking.dataset])


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 2)
