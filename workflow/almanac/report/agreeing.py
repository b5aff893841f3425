"""The chapter on the agreement of methods on the same facts: side by side, pair by pair, and fact by fact."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.report.lines import asked_by
from almanac.rows import Agreement, Knowledge, Measure
from almanac.suites.agreement import SAME
from almanac.suites.chapter import Cell, Chapter, Drawing, Table, spread
from almanac.suites.comparison_figures import Map, laid_out
from almanac.suites.headline import ABOVE_CHANCE, FEW, NOT_ABOVE, Finding
from almanac.suites.judged import FACT, as_text, conditions_of
from almanac.suites.listing import method_labels
from almanac.suites.looks import GREY, LINE, columns, hundredths, look, write_cells

WIDTH = 4.2  # width in inches of the figure of all methods: nearly that of a phone's screen
TALL = 6  # height in inches from which the figure has an axis at the bottom, too
PALE = 0.4  # share of colour, the rest being white, in points without a verdict
FOREST = (
    "The share that each method calls known of the {facts} facts that all of these methods asked of a model (dataset "
    f"{{dataset}}), with 95 % intervals (of these relations). A method that shares fewer than {FEW} facts with those "
    "above it is left out. A filled point is above chance, an empty one is not distinguishable from it, a pale one was "
    "not tested; the test is on all facts that the method asked. A grey tick is the method's chance, shown if the "
    "method asked the model only these facts."
)
OF_RECIPES = " Models of one recipe have one colour, and those of one world one marker; controls are grey."
PAIRS = (
    f"Each pair of methods on the facts that both asked, {FEW} or more. Some methods give a fact the same score but "
    "call it known by different criteria: K-Prompts by a threshold of probability, LAMA@1 and LAMA@10 by the object's "
    "rank among all words. With one template per relation their ρ is 1, and κ may be anything."
)
EXAMPLES = 3  # facts of each kind that are named
ASKS = (
    "A fact counts as known to a method if more than half of its items are right. Two methods agree on a fact if both "
    "call it known or neither does. Cohen's κ is the agreement beyond what their rates alone would give: 1 is full "
    "agreement, 0 none beyond chance. ρ is the rank correlation of the scores that they give the facts. A method whose "
    "format a model did not follow is left out for this model. All other methods count, including those that are not "
    "above chance: if one of them calls no fact known, none is known by all."
)


def chapter(layout: Layout) -> Chapter | None:
    """Return the chapter; none if no two methods asked the same facts of a model."""
    rows = layout.read(layout.between("agreements"), Agreement)
    if not rows:
        return None
    knowledge: dict[tuple[str, str], list[Knowledge]] = defaultdict(list)
    for one in layout.read(layout.between("knowledge"), Knowledge):
        if one.methods > 1:
            knowledge[one.dataset, one.model].append(one)
    named = method_labels([key for row in rows for key in _methods(row)])
    models, datasets = (list(dict.fromkeys(getattr(row, of) for row in rows)) for of in ("model", "dataset"))
    participants = layout.config.participants()
    drawn = [row for row in rows if not participants[row.model].model.control] or rows
    left_out = ", controls left out" * (0 < len(drawn) < len(rows))
    many = f", a mean over those of up to {len({row.model for row in drawn})} models that both asked{left_out}"
    over = many if len(models) > 1 else f" of {models[0]}"
    over += f" and over {len(datasets)} datasets" if len(datasets) > 1 else f" ({datasets[0]})"
    caption = f"Cohen's κ of each two methods on the facts that both asked{over}; the table has each model's."
    parts: list[Table | Drawing | str] = [
        Drawing("kappa", caption, lambda: _heat_map(drawn, named)),
        *_facts(layout, knowledge),
        _pairs(rows, named),
    ]
    return Chapter("Can it be trusted, and do the methods agree?", ASKS, parts)


def forests(config: EditionConfig, between: Sequence[Measure], findings: Sequence[Finding]) -> Iterator[Drawing]:
    """Yield, for each dataset, a figure of what every method calls known of the facts that all asked; worlds last."""
    verdicts = {(one.known.suite, one.known.dataset, one.known.model, one.known.where): one for one in findings}
    by_dataset: dict[str, list[tuple[Measure, Finding]]] = defaultdict(list)
    for row in between:
        if row.metric == SAME:
            where = as_text({name: one for name, one in conditions_of(row).items() if name != FACT})
            found = verdicts.get((row.suite, row.dataset, row.model, where))
            if found is not None:
                by_dataset[row.dataset].append((row, found))
    several = len({one.world for one in config.participants().values()} - {None}) > 1
    for dataset in sorted(by_dataset, key=lambda name: config.datasets[name].world is not None):
        points = by_dataset[dataset]
        counts = [_shared(row) for row, _ in points]
        ends = " to ".join(f"{one:,}" for one in sorted({min(counts), max(counts)}))
        caption = FOREST.format(facts=ends, dataset=dataset) + OF_RECIPES * several
        yield Drawing(f"same-facts-{dataset}", caption, partial(_forest, points), dataset)


def _shared(row: Measure) -> int:
    """Return how many facts, all asked by all methods, a number is computed from."""
    return len(conditions_of(row)[FACT])  # type: ignore[arg-type]


def _forest(rows: Sequence[tuple[Measure, Finding]]) -> Figure:
    """Draw a line for each method with a point for each model, narrow enough for a phone."""
    models = list(dict.fromkeys(str(row.model) for row, _ in rows))
    by_method: dict[str, list[tuple[Measure, Finding]]] = defaultdict(list)
    for row, found in rows:
        by_method[found.label].append((row, found))
    names = ["\n".join(wrap(label, 20)) for label in by_method]  # wrapped, to leave room for the points
    # A method is as high as its models or the lines of its name, plus a gap.
    tall = [1.2 * (name.count("\n") + 1) for name in names]
    heights = [max(len(points), height) + 1 for points, height in zip(by_method.values(), tall, strict=True)]
    figure = Figure(figsize=(WIDTH, 0.9 + 0.105 * sum(heights)), layout="constrained")
    axes = figure.subplots()
    middles, top = [], 0.0
    for points, height in zip(by_method.values(), heights, strict=True):
        middles.append(top + height / 2)
        for place, (row, found) in enumerate(points):
            at = middles[-1] + place - (len(points) - 1) / 2
            _point(axes, at, row, found, look(models.index(str(row.model)), row.model))
        top += height
        axes.axhline(top, color="#e8eaed", linewidth=0.8, zorder=0)
    axes.set_yticks(middles, names, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top, 0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("known")
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    if figure.get_figheight() > TALL:
        axes.tick_params(axis="x", bottom=True, labelbottom=True)
    axes.spines[["right", "bottom", "left"]].set_visible(False)
    shown = ["\n".join(wrap(name, 58)) for name in models]  # 58 characters are as wide as the figure
    handles = [Line2D([], [], linestyle="none", label=shown[at], **look(at, name)) for at, name in enumerate(models)]
    across = columns(WIDTH, models, most=3)
    lines = -(-len(models) // across) * (1 + max(one.count("\n") for one in shown))
    room = -(-len(models) // 3)  # legend lines for which the height has room
    figure.set_figheight(figure.get_figheight() + LINE * (lines - room))
    figure.legend(handles=handles, loc="outside upper center", ncols=across, frameon=False, fontsize=8)
    return figure


def _point(axes: Axes, at: float, row: Measure, found: Finding, style: Mapping[str, Any]) -> None:
    """Draw a number with its interval, filled by its verdict, and the chance of its method.

    Verdict and chance are of all facts that the method asked. If these are more facts than the number's, chance is left
    out, since it belongs to another number.
    """
    if row.value is None or row.low is None or row.high is None:
        return
    pale = 1 - PALE * (1 - np.array(to_rgb(style["color"])))
    filled = {ABOVE_CHANCE: style["color"], NOT_ABOVE: "white"}.get(found.verdict, pale)
    axes.plot([row.low, row.high], [at, at], color=style["color"], linewidth=1)
    axes.plot([row.value], [at], **style, markersize=4.5, markerfacecolor=filled)
    if _shared(row) == found.facts and found.chance is not None and found.chance.value is not None:
        axes.plot([found.chance.value] * 2, [at - 0.5, at + 0.5], color=GREY, linewidth=1.2)


def _methods(row: Agreement) -> tuple[tuple[str, str, str], ...]:
    return (row.suite, row.method, row.where), (row.other_suite, row.other_method, row.other_where)


def _facts(layout: Layout, knowledge: Mapping[tuple[str, str], Sequence[Knowledge]]) -> Iterator[str]:
    """Yield, for each model and dataset, how many facts all, some and no methods call known, with examples."""
    texts = {
        dataset: {
            fact: f"{subject}, {relation}: {true}"
            for fact, subject, relation, true in layout.data(dataset).named.iter_rows()
        }
        for dataset in {dataset for dataset, _ in knowledge}
    }
    for (dataset, model), found in knowledge.items():
        rows = [row for row in found if 2 * row.methods >= max(one.methods for one in found)]
        every = [row for row in rows if row.known == row.methods]
        none = [row for row in rows if not row.known]
        text = (
            f"{model} on {dataset}: of {len(rows):,} facts that at least half as many methods asked as any, "
            f"{len(every):,} {'is' if len(every) == 1 else 'are'} known by all that did, "
            f"{len(rows) - len(every) - len(none):,} by some, {len(none):,} by none "
            f"({asked_by([row.methods for row in rows])} methods)."
        )
        best = sorted(rows, key=lambda row: (-row.known / row.methods, -row.methods, row.fact_id))
        least = sorted(rows, key=lambda row: (row.known / row.methods, -row.methods, row.fact_id))
        # Facts that no method calls known are not listed as most widely known, nor the reverse.
        widely, little = [row for row in best if row.known], [row for row in least if row.known < row.methods]
        for what, some in (("Known most widely", widely), ("Known least", little)):
            if some:
                text += f" {what}: {'; '.join(texts[dataset][row.fact_id] for row in some[:EXAMPLES])}."
        yield text


def _pairs(rows: Sequence[Agreement], named: Mapping[tuple[str, str, str], str]) -> Table:
    head = ("model", "of", "one", "other", "facts", "both", "one alone", "other alone", "neither", "agree", "κ", "ρ")
    cells: list[Sequence[Cell]] = [
        (
            *(row.model, row.dataset),
            *(named[key] for key in _methods(row)),
            *(row.n, row.both, row.first, row.second, row.neither),
            *(spread(row, name, row.n) for name in ("agreement", "kappa", "rho")),
        )
        for row in rows
    ]
    return Table("pairs", PAIRS, head, cells, folded=True)


def _heat_map(rows: Sequence[Agreement], named: Mapping[tuple[str, str, str], str]) -> Figure:
    """Draw kappa of each pair of methods, averaged over models and datasets; empty if it is nowhere defined."""
    own = {_methods(row)[0]: None for row in rows} | {_methods(row)[1]: None for row in rows}
    place = {key: at for at, key in enumerate(own)}
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for row in rows:
        if row.kappa is not None:
            one, other = (place[key] for key in _methods(row))
            found[min(one, other), max(one, other)].append(row.kappa)
    values = np.full((len(place), len(place)), np.nan)
    for (one, other), kappas in found.items():
        values[one, other] = values[other, one] = np.mean(kappas)
    names = [named[key] for key in place]
    figure, [axes], scale = laid_out([Map(names, names, 0.34, 0.27)], True)
    image = axes.imshow(values, vmin=-1, vmax=1, cmap="RdBu", aspect="auto")
    write_cells(image, hundredths, 7)
    figure.colorbar(image, cax=scale, label="Cohen's κ")
    return figure
