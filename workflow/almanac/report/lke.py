"""What the page shows of IC-LKE's experiments: a chapter a dataset, a part an experiment that was asked."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from almanac.edition.layout import Layout
from almanac.report.chapter import Chapter
from almanac.report.explorer import follower
from almanac.rows import Measure, NotAsked, Relation
from almanac.suites.ic_lke import experiment_figures
from almanac.suites.ic_lke.eic.requests import SUITE as EIC
from almanac.suites.ic_lke.generated.requests import SUITE as GENERATED
from almanac.suites.ic_lke.positions.measures import IN_BIN
from almanac.suites.ic_lke.positions.requests import SUITE as POSITIONS
from almanac.suites.ic_lke.separators.requests import SUITE as SEPARATORS
from almanac.suites.ic_lke.separators.requests import Infix
from almanac.suites.ic_lke.sweep.requests import SUITE as SWEEP

SUITES = (EIC, SWEEP, SEPARATORS, POSITIONS, GENERATED)


def chapters(layout: Layout) -> list[Chapter]:
    """Return the chapters of the experiments, one a dataset that any of them was asked of."""
    used = {dataset for suite in SUITES for dataset in layout.config.used_datasets(suite)}
    return [_chapter(layout, dataset) for dataset in layout.config.datasets if dataset in used]


def _chapter(layout: Layout, dataset: str) -> Chapter:
    measures = {suite: _measures(layout, suite, dataset) for suite in SUITES}
    relations = layout.read(layout.dataset(dataset, "relations"), Relation)
    asked = [suite for suite in SUITES if dataset in layout.config.used_datasets(suite)]
    refused = {
        suite: layout.read(layout.request_folder(suite, dataset) / "refused.parquet", NotAsked) for suite in asked
    }
    infixes = layout.request_folder(SEPARATORS, dataset) / "infixes.parquet"
    return Chapter(
        anchor=f"experiments-{dataset}",
        title=f"IC-LKE's experiments: {dataset}",
        template="lke.html.j2",
        values={
            "dataset": dataset,
            "suites": asked,
            "tables": {suite: overall(rows) for suite, rows in measures.items()},
            "relations": {row.relation_id: row.label for row in relations},
            "by_relation": [row for row in measures[SEPARATORS] if row.metric == "accuracy" and row.relation_id],
            "by_shots": by_shots(measures[SWEEP]),
            "by_dose": by_dose(measures[POSITIONS]),
            "starts": layout.config.suites.lke_positions[dataset].starts if POSITIONS in asked else (),
            "behind": follower(layout, asked, dataset),
            "infixes": layout.read(infixes, Infix) if SEPARATORS in asked else [],
            "refused": refused,
        },
        figures=draw(dataset, measures),
        measures=[row for rows in measures.values() for row in rows],
    )


def _measures(layout: Layout, suite: str, dataset: str) -> list[Measure]:
    askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (suite, dataset)]
    return [row for asking in askings for row in layout.read(layout.measures(asking), Measure)]


def overall(measures: Sequence[Measure]) -> dict[tuple[str, str, str], dict[str, Measure]]:
    """Return the numbers of all relations together by model, experiment and setting, and then by metric."""
    found: dict[tuple[str, str, str], dict[str, Measure]] = {}
    for row in measures:
        if row.relation_id is None and row.exposure is None and row.level is None:
            found.setdefault((row.model, row.experiment, row.setting), {})[row.metric] = row
    return found


def by_shots(measures: Sequence[Measure]) -> list[tuple[Measure, Measure]]:
    """Return of each model and number of examples the accuracy over all relations and its deviation over draws."""
    own = [row for row in measures if row.relation_id is None and row.exposure is None and row.level is not None]
    spread = {(row.model, row.level): row for row in own if row.metric == "deviation_at_shots"}
    return [(row, spread[row.model, row.level]) for row in own if row.metric == "accuracy_at_shots"]


def by_dose(measures: Sequence[Measure]) -> dict[tuple[str, int], dict[int, Measure]]:
    """Return the mean probabilities by part of the text (its first place), by model and dose, doses rising."""
    found: dict[tuple[str, int], dict[int, Measure]] = {}
    for row in sorted((row for row in measures if row.metric == IN_BIN), key=lambda row: row.exposure or 0):
        if row.exposure is not None and row.level is not None and row.value is not None:
            found.setdefault((row.model, row.exposure), {})[int(row.level)] = row
    return found


def draw(dataset: str, measures: Mapping[str, Sequence[Measure]]) -> dict[str, Figure]:
    """Draw the figures of the sweep and of the positions, by name, where something was answered."""
    out = {}
    if any(row.metric == "accuracy_at_shots" and row.value is not None for row in measures[SWEEP]):
        out[f"{dataset}-lke-sweep"] = experiment_figures.by_shots(measures[SWEEP])
    if any(row.metric == "probability_at" and row.value is not None for row in measures[POSITIONS]):
        out[f"{dataset}-lke-positions"] = experiment_figures.by_place(measures[POSITIONS])
    return out
