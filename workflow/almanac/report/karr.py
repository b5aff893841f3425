"""What the page shows of KaRR on a dataset: boards with modes, null, baselines and analyses, and the figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from almanac.edition.layout import Layout
from almanac.report.chapter import Chapter
from almanac.report.explorer import follower
from almanac.resources import stored_parameters
from almanac.rows import Measure, NotAsked, Relation
from almanac.suites.karr import figures
from almanac.suites.karr.requests import FACTS, SUITE

NAMES = {
    "paper": "KaRR",
    "official": "KaRR, released code",
    "lama_at_1": "LAMA@1",
    "lama_at_10": "LAMA@10",
    "pararel": "ParaRel",
    "k_prompts": "K-Prompts",
}
CAPTIONS = {
    "threshold": "Share of facts above each KaRR; dashed the same facts with a false object; dotted each model's "
    "threshold.",
    "exposure": "Share called known by how often a fact was taught, with 95 % intervals.",
    "relations": f"Share of facts above each KaRR by relation; of more than {figures.MOST_RELATIONS} relations "
    "those with most facts.",
    "size": "Share called known by the number of parameters, with 95 % intervals.",
}


@dataclass(frozen=True)
class KarrBoard:
    """One model in one experiment: its overall numbers by name, and how many facts have no value.

    A number of the facts themselves stands under its metric, another under ``setting:metric``.
    """

    model: str
    experiment: str
    name: str
    facts: int
    without: int
    numbers: Mapping[str, Measure]

    def value(self, metric: str) -> float | None:
        """Return a number; none where it was not measured."""
        return self.numbers[metric].value if metric in self.numbers else None


@dataclass(frozen=True)
class KarrSection:
    """KaRR on one dataset.

    ``labels`` are the relations' names, ``sizes`` the parameters of models that tell them, ``unexpecting`` by model
    what could not be asked with the object that it expects.
    """

    dataset: str
    modes: Sequence[str]
    boards: Sequence[KarrBoard]
    refused: Sequence[NotAsked]
    measures: Sequence[Measure]
    labels: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    unexpecting: Mapping[str, Sequence[NotAsked]] = field(default_factory=dict)

    def has(self, metric: str) -> bool:
        """Whether any board has a number."""
        return any(board.value(metric) is not None for board in self.boards)

    @property
    def top(self) -> int | None:
        """How often the facts were taught that were taught most."""
        return max((row.exposure for row in self.measures if row.exposure is not None), default=None)

    @property
    def ends(self) -> str:
        """The doses that the AUC tells apart: never taught and taught most."""
        return "" if self.top is None else f"0, {self.top}"

    def by_relation(self) -> list[Measure]:
        """Return the shares known by relation, of the methods that have them."""
        return [
            row
            for row in self.measures
            if row.metric == "known" and row.setting == FACTS and row.relation_id and row.value is not None
        ]


def sections(layout: Layout) -> list[KarrSection]:
    """Read KaRR's measures into sections, one a dataset."""
    out = []
    for dataset in layout.config.used_datasets(SUITE):
        askings = [one for one in layout.config.asked() if (one.suite, one.dataset) == (SUITE, dataset)]
        measures = [row for asking in askings for row in layout.read(layout.measures(asking), Measure)]
        refused = layout.read(layout.request_folder(SUITE, dataset) / "refused.parquet", NotAsked)
        modes = layout.config.suites.karr[dataset].modes
        labels = {row.relation_id: row.label for row in layout.read(layout.dataset(dataset, "relations"), Relation)}
        sizes = _sizes(layout, [asking.model for asking in askings])
        again = {one.model: folder for one in askings if (folder := layout.second_folder(one))}
        lacking = {model: layout.read(folder / "refused.parquet", NotAsked) for model, folder in again.items()}
        out.append(KarrSection(dataset, modes, _boards(measures), refused, measures, labels, sizes, lacking))
    return out


def _sizes(layout: Layout, models: Sequence[str]) -> dict[str, int]:
    """Return the parameters of models: as the configuration says, else as stored.

    Unknown ones are left out, and models that were taught nothing true.
    """
    out = {}
    for name in models:
        model = layout.config.participants()[name].model
        if model.planted is not None and model.planted.permuted:
            continue
        if found := model.parameters or stored_parameters(Path(model.path or layout.root / "models" / name)):
            out[name] = found
    return out


def chapters(layout: Layout) -> list[Chapter]:
    """Return KaRR's chapters, one a dataset."""
    return [
        Chapter(
            anchor=f"karr-{section.dataset}",
            title=f"KaRR: {section.dataset}",
            template="karr.html.j2",
            values={
                "section": section,
                "captions": CAPTIONS,
                "names": NAMES,
                "behind": follower(layout, [SUITE], section.dataset),
            },
            figures=draw(section),
            measures=section.measures,
        )
        for section in sections(layout)
    ]


def _boards(measures: Sequence[Measure]) -> list[KarrBoard]:
    """Return a board a model and experiment, in the order of `NAMES`."""
    found: dict[tuple[str, str], dict[str, Measure]] = {}
    for row in measures:
        if row.relation_id is None and row.exposure is None and row.metric != "known_at":
            name = row.metric if row.setting == FACTS else f"{row.setting}:{row.metric}"
            found.setdefault((row.experiment, row.model), {})[name] = row
    boards = []
    for (experiment, model), numbers in found.items():
        known = numbers["known"]
        without = known.n_missing + known.n_invalid + known.n_error
        boards.append(KarrBoard(model, experiment, NAMES[experiment], known.n, without, numbers))
    order = list(NAMES)
    return sorted(boards, key=lambda board: order.index(board.experiment))


def draw(section: KarrSection) -> dict[str, Figure]:
    """Draw a dataset's figures, by name; the last word of a name is its key in `CAPTIONS`."""
    found: dict[str, Figure] = {}
    if any(row.metric == "known_at" and row.value is not None for row in section.measures):
        found["threshold"] = figures.by_threshold(section.measures, section.modes)
        if any(row.metric == "accuracy_by_exposure" for row in section.measures):
            found["exposure"] = figures.by_exposure(section.measures, section.modes)
        found["relations"] = figures.by_relation(section.measures, section.modes[0], section.labels)
    if len({row.model for row in figures.scores(section.measures)} & set(section.sizes)) > 1:
        found["size"] = figures.by_size(section.measures, section.sizes, NAMES)
    return {f"{section.dataset}-karr-{kind}": figure for kind, figure in found.items()}
