"""What the page shows of KaRR: one board a dataset with the modes, the null and the baselines, and two figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from almanac.edition.layout import Layout
from almanac.report.chapter import Chapter
from almanac.rows import Measure, NotAsked
from almanac.suites.karr import figures
from almanac.suites.karr.requests import FACTS, NULL, SUITE

NAMES = {
    "paper": "KaRR",
    "official": "KaRR, released code",
    "lama_at_1": "LAMA@1",
    "lama_at_10": "LAMA@10",
    "pararel": "ParaRel",
    "k_prompts": "K-Prompts",
}


@dataclass(frozen=True)
class KarrBoard:
    """One model in one experiment: its overall numbers by name, and how many facts have no value."""

    model: str
    experiment: str
    name: str
    facts: int
    without: int
    numbers: Mapping[str, Measure]

    def value(self, metric: str) -> float | None:
        """Return a number of the facts themselves; none where it was not measured."""
        return self.numbers[metric].value if metric in self.numbers else None


@dataclass(frozen=True)
class KarrSection:
    """KaRR on one dataset."""

    dataset: str
    modes: Sequence[str]
    boards: Sequence[KarrBoard]
    refused: Sequence[NotAsked]
    measures: Sequence[Measure]


def sections(layout: Layout) -> list[KarrSection]:
    """Read KaRR's measures into sections, one a dataset."""
    out = []
    for dataset in layout.config.used_datasets(SUITE):
        askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (SUITE, dataset)]
        measures = [row for asking in askings for row in layout.read(layout.measures(asking), Measure)]
        refused = layout.read(layout.request_folder(SUITE, dataset) / "refused.parquet", NotAsked)
        modes = layout.config.suites.karr[dataset].modes
        out.append(KarrSection(dataset, modes, _boards(measures), refused, measures))
    return out


def chapters(layout: Layout) -> list[Chapter]:
    """Return KaRR's chapters, one a dataset."""
    return [
        Chapter(
            anchor=f"karr-{section.dataset}",
            title=f"KaRR: {section.dataset}",
            template="karr.html.j2",
            values={"section": section},
            figures=draw(section),
            measures=section.measures,
        )
        for section in sections(layout)
    ]


def _boards(measures: Sequence[Measure]) -> list[KarrBoard]:
    """Return a board a model and experiment; the null's share stands beside as ``null``."""
    found: dict[tuple[str, str], dict[str, Measure]] = {}
    for row in measures:
        if row.relation_id is None and row.exposure is None and row.metric != "known_at":
            own = found.setdefault((row.experiment, row.model), {})
            if row.setting == FACTS:
                own[row.metric] = row
            elif row.setting == NULL and row.metric == "known":
                own["null"] = row
    boards = []
    for (experiment, model), numbers in found.items():
        known = numbers["known"]
        without = known.n_missing + known.n_invalid + known.n_error
        boards.append(KarrBoard(model, experiment, NAMES[experiment], known.n, without, numbers))
    order = list(NAMES)
    return sorted(boards, key=lambda board: order.index(board.experiment))


def draw(section: KarrSection) -> dict[str, Figure]:
    """Draw a dataset's figures, by name."""
    answered = any(row.metric == "known_at" and row.value is not None for row in section.measures)
    if not answered:
        return {}
    out = {f"{section.dataset}-karr-threshold": figures.by_threshold(section.measures, section.modes)}
    if any(row.metric == "accuracy_by_exposure" for row in section.measures):
        out[f"{section.dataset}-karr-exposure"] = figures.by_exposure(section.measures, section.modes)
    return out
