"""The chapter on which method recovers what planted models were taught: the methods' order, and how stable it is."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from almanac.edition.layout import Layout
from almanac.edition.measuring import of_other_passes
from almanac.report.lines import share
from almanac.rows import Standing
from almanac.suites.chapter import Cell, Chapter, Drawing, Table, spread
from almanac.suites.listing import method_labels
from almanac.suites.looks import COLOURS, GREY
from almanac.suites.standings import ALL, CHOICES, CRITERION, DOSE, FORMAT, MODEL, TEMPLATES, WORLD, Key

CHOSEN_ON = (0, 1, 2)  # seeds of the worlds on which recipes were chosen; 2: only that of the tuned models
# For each axis, its label and the marker of its points in the figure; no marker: not drawn.
AXES: Mapping[str, tuple[str, str]] = {
    CRITERION: ("what is compared: what a method calls known, not its scores", ""),
    DOSE: ("facts taught fewer times, against those never taught", ""),
    WORLD: ("one world (another seed of facts, corpus and training)", "|"),
    MODEL: ("one model (another size)", "x"),
    TEMPLATES: ("half of the templates of each method that has several", "."),
    CHOICES: ("fewer or more choices", "d"),
    FORMAT: ("a model that never read the form in which most methods ask", "s"),
}
ASKS = (
    "Planted models were taught each fact a known number of times. Here every method scores the same facts of the "
    "same models, and each is judged by how well its scores tell facts taught most often from facts never taught. "
    "AUC: the chance that one of the former scores above one of the latter (1 is perfect, .5 a coin). It compares "
    "scores and ignores a method's threshold, whose effect the two “called known” columns show. Balanced accuracy "
    "is the mean of the share called known of the former and of the share not called known of the latter. A method "
    "marked * says only right or wrong and has no other score: its AUC is its balanced accuracy. Graded scores can "
    "have a higher AUC without classifying more facts correctly, so compare such a method with others by balanced "
    "accuracy. ρ: Spearman's, of facts taught any number of times, a mean over worlds and models. Intervals: 95 %, a "
    "subject's facts as one draw, worlds as strata, and for these models: others trained in the same way would give "
    "other numbers. In 95 % of such comparisons all intervals of “less than the first” hold at once."
)
LIMITS = (
    "The models are small and read texts that we made: the order says which methods tell best how often something was "
    "written there, and need not hold for large models. The usual recipes of texts and training were chosen with some "
    f"of these methods on worlds of the seeds {', '.join(map(str, CHOSEN_ON))} (docs/validation.md); "
)
HEAD = (
    *("place", "method", "AUC, most v. never taught", "less than the first"),
    *("balanced accuracy", "called known: taught most", "never taught", "average precision"),
    "ρ of times taught and called known",
)
STANDS = ("changed", "to", "models", "worlds", "facts", "methods", "τ with the order of all", "first", "last")
EVERY = ("changed", "to", "place", "method", "AUC, most v. never taught", "less than the first")


def chapter(layout: Layout) -> Chapter | None:
    """Return the chapter; none if no two methods were asked the same facts of planted models."""
    rows = layout.read(layout.between("standings"), Standing)
    if not rows:
        return None
    levels: dict[tuple[str, str], list[Standing]] = defaultdict(list)
    for row in rows:
        levels[row.axis, row.level].append(row)
    first = levels[ALL, ""]
    labels = method_labels([_key(row) for row in first])
    labels_of = {_key(row): labels[_key(row)] + "*" * (not row.graded) for row in first}
    whom = f"{first[0].facts:,} facts of {first[0].worlds} world{'s' * (first[0].worlds > 1)}"
    caption = (
        f"{len(first)} methods on the same {whom} that were taught most often or never, asked of "
        f"{', '.join(first[0].models)}. The frequency of objects alone has an AUC of {share(first[0].prior_auc)}."
    )
    if apart := of_other_passes(layout.config):
        caption += (
            f" Not of {', '.join(apart)}, trained for more or fewer passes and so taught each fact at another dose."
        )
    table = Table("order", caption, HEAD, [_cells(row, labels_of) for row in first])
    others = {key: own for key, own in levels.items() if key[0] != ALL}
    drawn = "AUC of each method with its interval (a line), and where something was changed (colours)."
    parts: list[Table | Drawing | str] = [table, Drawing("aucs", drawn, lambda: _figure(first, others, labels_of))]
    if others:
        caption = (
            "Does the order stand? Kendall's τ between the order under a change and the order above: 1 is the same, 0 "
            "an unrelated order. If few methods are compared, or several are nearly perfect, τ is unstable: see how "
            "much less than the first each has."
        )
        parts.append(Table("stability", caption, STANDS, list(_stability(others, labels_of))))
        if doses := [(level, own) for (axis, level), own in others.items() if axis == DOSE]:
            caption = (
                "How often must a fact be taught for a method to tell? AUC of facts taught so often against those "
                "never taught, in the order above."
            )
            times = [f"taught {level} time{'s' * (level != '1')} ({own[0].facts} facts)" for level, own in doses]
            areas = [{_key(row): _number(row, "auc") for row in own} for _, own in doses]
            cells = [(labels_of[_key(row)], *(found.get(_key(row)) for found in areas)) for row in first]
            parts.append(Table("fewer", caption, ("method", *times), cells))
        every = [
            (AXES[axis][0], level, row.place, labels_of[_key(row)], _number(row, "auc"), _number(row, "gap"))
            for (axis, level), own in others.items()
            for row in own
        ]
        parts.append(Table("changes", "The order under each change.", EVERY, every, folded=True))
    return Chapter("Which method recovers what was taught?", ASKS, [*parts, LIMITS + _seeds(layout)])


def _seeds(layout: Layout) -> str:
    """Return a sentence with the worlds' seeds; fresh ones were not used in choosing recipes."""
    seeds = {name: one.seed for name, one in layout.config.planting.worlds.items()}
    listed = ", ".join(f"{name}: {seed}" + " (fresh)" * (seed not in CHOSEN_ON) for name, seed in seeds.items())
    return f"those of the worlds here are {listed}."


def _key(row: Standing) -> Key:
    return row.suite, row.method, row.where


def _number(row: Standing, name: str) -> Cell:
    """Return a column of a standing with its interval; the first method has no ``gap``."""
    return None if name == "gap" and row.place == 1 else spread(row, name, row.facts)


def _cells(row: Standing, named: Mapping[Key, str]) -> Sequence[Cell]:
    numbers = (row.known_most, row.known_never, row.average_precision, row.spearman)
    areas = (_number(row, "auc"), _number(row, "gap"), _number(row, "balanced"))
    return (row.place, named[_key(row)], *areas, *numbers)


def _stability(levels: Mapping[tuple[str, str], Sequence[Standing]], named: Mapping[Key, str]) -> Iterator[list[Cell]]:
    """Yield a row for each change."""
    for (axis, level), own in levels.items():
        models, ends = ", ".join(own[0].models), (named[_key(own[0])], named[_key(own[-1])])
        yield [AXES[axis][0], level, models, own[0].worlds, own[0].facts, len(own), own[0].tau, *ends]


def _figure(
    rows: Sequence[Standing], levels: Mapping[tuple[str, str], Sequence[Standing]], named: Mapping[Key, str]
) -> Figure:
    """Draw a line for each method: its AUC with the interval, and its AUC under each change."""
    figure = Figure(figsize=(6.4, 1.2 + 0.26 * len(rows)), layout="constrained")
    axes = figure.subplots()
    place = {_key(row): at for at, row in enumerate(rows)}
    used = []
    drawn = {axis: own for axis, own in AXES.items() if own[1]}
    for at, (axis, (label, marker)) in enumerate(drawn.items()):
        points = [(row.auc, place[_key(row)]) for key, own in levels.items() if key[0] == axis for row in own]
        style: dict[str, Any] = {"color": COLOURS[at], "marker": marker, "linestyle": "none", "markersize": 5}
        if points:
            axes.plot(*zip(*points, strict=True), alpha=0.8, **style)
            used.append(Line2D([], [], label=label, **style))
    for at, row in enumerate(rows):
        if row.auc_low is not None and row.auc_high is not None:
            axes.plot([row.auc_low, row.auc_high], [at, at], color="black", linewidth=1.2)
        axes.plot([row.auc], [at], color="black", marker="o", markersize=4.5, linestyle="none")
    axes.axvline(0.5, color=GREY, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), [named[_key(row)] for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(right=1.01)
    axes.set_xlabel("AUC, facts taught most often against facts never taught")
    axes.spines[["top", "right"]].set_visible(False)
    if used:
        figure.legend(handles=used, loc="outside lower center", frameon=False, fontsize=7.5)
    return figure
