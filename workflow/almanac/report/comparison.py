"""What the page shows of models side by side: board, relations, correlations, subsumption, tuned against base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from almanac.edition.layout import Layout
from almanac.edition.remeasure import entrant, items_compared
from almanac.report.chapter import Chapter
from almanac.rows import Comparison, Relation
from almanac.suites import comparison_figures as figures

ENDS = 5  # relations shown at the top and at the bottom


@dataclass(frozen=True)
class Leader:
    """A place on the board; its values are none where the model answered nothing."""

    model: str
    series: str
    accuracy: Comparison
    deviation: float | None


@dataclass(frozen=True)
class ComparisonSection:
    """The models that IC-LKE asked of one dataset; ``asked`` are the experiment and the setting of its questions."""

    dataset: str
    asked: tuple[str, str]
    leaders: Sequence[Leader]
    labels: Mapping[str, str]
    top: Sequence[Comparison]
    bottom: Sequence[Comparison]
    sizes: Sequence[tuple[Comparison, float | None, float | None]]
    tuned: Sequence[tuple[Comparison, Comparison]]
    families: Sequence[Comparison]
    pairs: Sequence[Comparison]


def chapters(layout: Layout) -> list[Chapter]:
    """Return a chapter for every dataset of which at least two models know something to compare."""
    rows = layout.read(layout.comparison(), Comparison)
    datasets = dict.fromkeys(row.dataset for row in rows)
    return [chapter for dataset in datasets for chapter in _chapter(layout, dataset, rows)]


def _chapter(layout: Layout, dataset: str, every: Sequence[Comparison]) -> list[Chapter]:
    rows = [row for row in every if row.dataset == dataset]
    if sum(row.metric == "mean_accuracy" and row.value is not None for row in rows) < 2:
        return []
    labels = {row.relation_id: row.label for row in layout.read(layout.dataset(dataset, "relations"), Relation)}
    series = {name: entrant(layout, name).series for name in layout.config.participants()}
    return [
        Chapter(
            anchor=f"comparison-{dataset}",
            title=f"Between models: {dataset}",
            template="comparison.html.j2",
            values={"section": _section(layout, dataset, rows, labels, series), "shown": ENDS},
            figures=_figures(dataset, rows, labels, series),
        )
    ]


def _section(
    layout: Layout,
    dataset: str,
    rows: Sequence[Comparison],
    labels: Mapping[str, str],
    series: Mapping[str, str],
) -> ComparisonSection:
    by_metric: dict[str, list[Comparison]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, []).append(row)
    spread = {row.model: row.value for row in by_metric["deviation"]}
    accuracy = {row.model: row.value for row in by_metric["mean_accuracy"]}
    leaders = [
        Leader(str(row.model), series[str(row.model)], row, spread.get(row.model)) for row in by_metric["mean_accuracy"]
    ]
    leaders.sort(key=lambda one: -(one.accuracy.value if one.accuracy.value is not None else -1.0))
    relations = by_metric.get("relation_mean", [])
    shared = {(row.model, row.other): row for row in by_metric.get("subsumption_tuned", [])}
    question = items_compared(layout, dataset)[0]  # some model knows something, so there is one
    return ComparisonSection(
        dataset=dataset,
        asked=(question.experiment, question.setting),
        leaders=leaders,
        labels=labels,
        top=relations[:ENDS],
        bottom=relations[max(ENDS, len(relations) - ENDS) :],
        sizes=[
            (row, accuracy.get(row.model), accuracy.get(row.other)) for row in by_metric.get("subsumption_size", [])
        ],
        tuned=[(row, shared[row.model, row.other]) for row in by_metric.get("tuned_difference", [])],
        families=[row for row in by_metric.get("series_pearson", []) if row.value is not None],
        pairs=[row for row in by_metric.get("pearson", []) if row.value is not None],
    )


def _figures(
    dataset: str, rows: Sequence[Comparison], labels: Mapping[str, str], series: Mapping[str, str]
) -> dict[str, Figure]:
    found = {f"{dataset}-comparison-relations": figures.heat_map(rows, series, labels)}
    if any(row.metric == "pearson" and row.value is not None for row in rows):
        found[f"{dataset}-comparison-likeness"] = figures.likeness(rows)
    return found
