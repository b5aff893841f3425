"""Whether methods agree on the same facts, as a chapter of the page: two by two, and fact by fact."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from almanac.dataset.names import ObjectNames
from almanac.edition.layout import Layout
from almanac.rows import Agreement, Entity, Fact, Knowledge, Relation
from almanac.suites.chapter import Cell, Chapter, Drawing, Table
from almanac.suites.listing import SUITES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = 3  # facts that are named of each kind
ASKS = (
    "A fact counts as known to a method where more than half of its items are right. Two methods agree on a fact where "
    "both call it known or neither does. Cohen's κ is that share beyond what their rates alone would give: 1 is full "
    "agreement, 0 none beyond chance. ρ is the rank correlation of their scores of facts."
)


def chapter(layout: Layout) -> Chapter | None:
    """Return the chapter; none where no two methods asked the same facts of a model."""
    rows = layout.read(layout.agreements(), Agreement)
    if not rows:
        return None
    knowledge: dict[tuple[str, str], list[Knowledge]] = defaultdict(list)
    for one in layout.read(layout.knowledge(), Knowledge):
        if one.methods > 1:
            knowledge[one.dataset, one.model].append(one)
    shown = sorted({row.model for row in rows}, key=lambda name: -sum(row.model == name for row in rows))[0]
    labels = _labels(rows)
    figure = [row for row in rows if row.model == shown and row.dataset == rows[0].dataset]
    caption = f"Cohen's κ of each two methods on the facts of {shown} ({rows[0].dataset}) that both asked."
    parts: list[Table | Drawing | str] = [
        *_facts(layout, knowledge),
        Drawing("kappa", caption, lambda: _heat_map(figure, labels)),
        _pairs(rows, labels),
    ]
    return Chapter("Do the methods agree?", ASKS, parts)


def _labels(rows: Sequence[Agreement]) -> Mapping[tuple[str, str, str], str]:
    """Return what each method is called; where one name stands for several, with what sets them apart."""
    keys = dict.fromkeys(
        key
        for row in rows
        for key in ((row.suite, row.method, row.where), (row.other_suite, row.other_method, row.other_where))
    )
    named = {(suite, one.name): one.label for suite, own in SUITES.items() for one in own.methods}
    several: dict[tuple[str, str], int] = defaultdict(int)
    out = {}
    for key in keys:
        label = named.get(key[:2], key[1])
        several[key[:2]] += 1
        out[key] = label if several[key[:2]] == 1 else f"{label} ({several[key[:2]]})"
    return out


def _facts(layout: Layout, knowledge: Mapping[tuple[str, str], Sequence[Knowledge]]) -> Iterator[str]:
    """Yield, a model and dataset, how many facts all, some and no methods call known, with examples."""
    said: dict[str, Mapping[str, str]] = {}
    for (dataset, model), rows in knowledge.items():
        if dataset not in said:
            said[dataset] = _said(layout, dataset)
        every = [row for row in rows if row.known == row.methods]
        none = [row for row in rows if not row.known]
        text = (
            f"{model} on {dataset}: of {len(rows):,} facts that at least two methods asked, {len(every):,} are known "
            f"by all of them, {len(rows) - len(every) - len(none):,} by some, {len(none):,} by none."
        )
        best = sorted(rows, key=lambda row: (-row.known / row.methods, -row.methods, row.fact_id))[:EXAMPLES]
        least = sorted(rows, key=lambda row: (row.known / row.methods, -row.methods, row.fact_id))[:EXAMPLES]
        for what, some in (("Known most widely", best), ("Known least", least)):
            text += f" {what}: {'; '.join(said[dataset][row.fact_id] for row in some)}."
        yield text


def _said(layout: Layout, dataset: str) -> Mapping[str, str]:
    """Return the facts of a dataset in words: subject, relation, object."""
    names = ObjectNames.of(layout.read(layout.dataset(dataset, "entities"), Entity))
    relations = {row.relation_id: row.label for row in layout.read(layout.dataset(dataset, "relations"), Relation)}
    return {
        fact.fact_id: f"{names.label(fact.subject_id)}, {relations.get(fact.relation_id, fact.relation_id)}: "
        f"{names.label(fact.object_key)}"
        for fact in layout.read(layout.dataset(dataset, "facts"), Fact)
    }


def _pairs(rows: Sequence[Agreement], labels: Mapping[tuple[str, str, str], str]) -> Table:
    head = ("model", "of", "one", "other", "facts", "both", "one alone", "other alone", "neither", "agree", "κ", "ρ")
    cells: list[Sequence[Cell]] = [
        (
            *(row.model, row.dataset),
            labels[row.suite, row.method, row.where],
            labels[row.other_suite, row.other_method, row.other_where],
            *(row.n, row.both, row.first, row.second, row.neither, row.agreement, row.kappa, row.rho),
        )
        for row in rows
    ]
    return Table("pairs", "Each two methods on the facts that both asked.", head, cells, folded=True)


def _heat_map(rows: Sequence[Agreement], labels: Mapping[tuple[str, str, str], str]) -> "Figure":
    """Draw kappa of each two methods; empty where it is not defined."""
    import numpy as np
    from matplotlib.figure import Figure  # drawing is not loaded only to print seconds

    own = {(row.suite, row.method, row.where): None for row in rows}
    own |= {(row.other_suite, row.other_method, row.other_where): None for row in rows}
    place = {key: at for at, key in enumerate(own)}
    values = np.full((len(place), len(place)), np.nan)
    for row in rows:
        one, other = (
            place[row.suite, row.method, row.where],
            place[row.other_suite, row.other_method, row.other_where],
        )
        values[one, other] = values[other, one] = np.nan if row.kappa is None else row.kappa
    size = 2.4 + 0.34 * len(place)
    figure = Figure(figsize=(size, size * 0.8), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(values, vmin=-1, vmax=1, cmap="RdBu")
    names = [labels[key] for key in place]
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    for (one, other), value in np.ndenumerate(values):
        if not np.isnan(value):
            color = "white" if abs(value) > 0.6 else "black"
            axes.text(other, one, f"{value:.2f}".replace("0.", "."), ha="center", va="center", fontsize=6, color=color)
    figure.colorbar(image, shrink=0.6, label="Cohen's κ")
    return figure
