"""The course of training: what each method calls known of the checkpoints of one run, by training step."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.edition.pairs import FEWEST, Step, labelled, runs
from almanac.rows import Measure
from almanac.suites.chapter import NOT_TAUGHT, Cell, Chapter, Drawing, Table
from almanac.suites.comparison_chapter import POPULARITY
from almanac.suites.headline import ABOVE_CHANCE, NO_FORMAT, TOO_FEW, Finding
from almanac.suites.judged import conditions_of
from almanac.suites.looks import COLOURS, GREY, MARKERS, values

ACROSS, WIDTH, HEIGHT = 4, 2.6, 1.9  # panels side by side, and their size in inches
WIDE = 100  # ratio of the last to the first step from which the axis is logarithmic
ASKS = (
    "Models whose names differ only in their step, such as step-1000 and step-2000, are considered checkpoints of one "
    "run. All of them are asked the same questions."
)
KNOWN = (
    "What each method calls known after each step of training ({run}, dataset {dataset}), with 95 % intervals (of "
    "these relations); each panel has its own scale. Filled: above chance; empty: not, or not tested. Dashed: the "
    "method's chance for that checkpoint, which may change as much as what is known: look at the distance between the "
    "two. Methods whose format a checkpoint did not follow, or of which it answered too few facts, are left out there."
)
ABOVE = (
    "Known minus chance after each step ({run}, dataset {dataset}), with 95 % intervals. Intervals of two steps "
    "are of the same facts and may overlap where the steps differ: Models compared, all methods, tests each step "
    "against the one before."
)
BY_POPULARITY = (
    "Accuracy after each step ({run}, dataset {dataset}) by the popularity of the subject, a mean over relations, with "
    "95 % intervals. Head, torso and tail each hold a third of all popularity, so the tail has most subjects. Chance "
    "is not taken off: what counts is how the lines part."
)
NUMBERS = "The numbers of this figure."


def chapter(findings: Sequence[Finding], between: Sequence[Measure]) -> Chapter | None:
    """Return the chapter of an edition's runs; none if there is no run of at least three checkpoints.

    Args:
        findings: what each method says of each model.
        between: the numbers that compare models, with the accuracies by popularity.
    """
    parts: list[Drawing | Table] = []
    taken = Counter[str]()
    for run, steps in runs(str(finding.known.model) for finding in findings).items():
        for dataset in dict.fromkeys(finding.known.dataset for finding in findings):
            suffix = f"{dataset}-{run.strip('-_.')}"
            taken[suffix.lower()] += 1  # some file systems ignore the case of names
            if (count := taken[suffix.lower()]) > 1:
                suffix += f"-{count}"  # a run's name ends in a letter, so no other suffix is the same
            parts += _of_run(run, steps, dataset, suffix, findings, between)
    return Chapter("The course of training", ASKS, parts) if parts else None


def _of_run(
    run: str,
    steps: Sequence[Step],
    dataset: str,
    suffix: str,
    findings: Sequence[Finding],
    between: Sequence[Measure],
) -> Iterator[Drawing | Table]:
    """Yield the figures and tables of one run on one dataset; ``suffix`` ends their names."""
    found: dict[str, dict[str, Finding]] = defaultdict(dict)
    for finding in findings:
        if finding.known.dataset == dataset and finding.verdict not in (NOT_TAUGHT, NO_FORMAT, TOO_FEW):
            found[finding.label][str(finding.known.model)] = finding
    known = {label: kept for label, by_model in found.items() if len(kept := _of(by_model, steps)) >= FEWEST}
    if not known:
        return
    names = {"dataset": dataset, "run": f"{run}…"}
    yield Drawing(f"known-{suffix}", KNOWN.format(**names), partial(_figure, known, _draw_known))
    head = ("method", *(f"step {step:,}" for step, _ in steps))
    cells: list[Sequence[Cell]] = [
        (label, *(by_model[name].above if name in by_model else None for _, name in steps))
        for label, by_model in found.items()
        if _of(by_model, steps)  # others are asked of models outside the run alone
    ]
    yield Table(f"above-{suffix}", ABOVE.format(**names), head, cells)
    popular: dict[str, dict[str, dict[str, Measure]]] = defaultdict(lambda: defaultdict(dict))
    numbers = [row for row in between if row.metric == "popularity_accuracy" and row.dataset == dataset]
    for row, (_, label) in zip(numbers, labelled(numbers), strict=True):
        if row.value is not None:
            popular[label][str(row.model)][str(conditions_of(row)["bucket"])] = row
    drawn = {label: kept for label, by_model in popular.items() if len(kept := _of(by_model, steps)) >= FEWEST}
    if drawn:
        caption = BY_POPULARITY.format(**names)
        yield Drawing(f"popularity-{suffix}", caption, partial(_figure, drawn, _draw_popularity))
        rows: list[Sequence[Cell]] = [
            (label, bucket, *(by_model.get(name, {}).get(bucket) for _, name in steps))
            for label, by_model in popular.items()
            if _of(by_model, steps)
            for bucket in POPULARITY
        ]
        yield Table(f"buckets-{suffix}", NUMBERS, ("method", "popularity", *head[1:]), rows, folded=True)


def _of(by_model: Mapping[str, Any], steps: Sequence[Step]) -> list[tuple[int, Any]]:
    """Return the values of a run's checkpoints, each with its step."""
    return [(step, by_model[name]) for step, name in steps if name in by_model]


def _figure(panels: Mapping[str, Sequence[tuple[int, Any]]], draw: Any) -> Figure:
    """Draw a panel for each method on a common axis of steps; vertical scales differ, since shares differ much."""
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(max(WIDTH * across, 2 * WIDTH), HEIGHT * down + 0.4), layout="constrained")
    every: list[Axes] = list(figure.subplots(down, across, squeeze=False, sharex=True).ravel())
    steps = [step for own in panels.values() for step, _ in own]
    first = min((step for step in steps if step), default=1)
    for axes, (label, own) in zip(every, panels.items(), strict=False):
        draw(axes, own)
        axes.set_title(label, fontsize=8)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7, labelbottom=True)
        if max(steps) >= WIDE * first:
            axes.set_xscale("symlog", linthresh=first)
        else:
            axes.locator_params(axis="x", nbins=4, integer=True)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("step of training", fontsize=8)
    handles = {label: one for axes in every for one, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def _draw_known(axes: Axes, run: Sequence[tuple[int, Finding]]) -> None:
    """Draw the share known with intervals, filled where it is above chance, and the chance."""
    at = [step for step, _ in run]
    _line(axes, at, [one.known for _, one in run], 0, "known", [one.verdict == ABOVE_CHANCE for _, one in run])
    chances = [(step, one.chance.value) for step, one in run if one.chance is not None and one.chance.value is not None]
    if chances:
        axes.plot(*zip(*chances, strict=True), color=GREY, linestyle="--", linewidth=1, label="chance")


def _draw_popularity(axes: Axes, points: Sequence[tuple[int, Mapping[str, Measure]]]) -> None:
    """Draw accuracy in head, torso and tail, with intervals."""
    for index, bucket in enumerate(POPULARITY):
        if rows := [(step, one[bucket]) for step, one in points if bucket in one]:
            at, measures = zip(*rows, strict=True)
            _line(axes, at, measures, index, bucket, [True] * len(at))


def _line(
    axes: Axes, at: Sequence[int], rows: Sequence[Measure], index: int, label: str, filled: Sequence[bool]
) -> None:
    """Draw numbers as a line in one colour with a band of intervals; markers that are not ``filled`` are white."""
    value, low, high = values(rows)
    colour = COLOURS[index]
    axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(at, value, color=colour, linewidth=1.2, marker=MARKERS[index], markersize=4, label=label)
    empty = [place for place, full in enumerate(filled) if not full]
    inside: dict[str, Any] = {"marker": MARKERS[index], "markersize": 4, "markerfacecolor": "white"}
    axes.plot([at[place] for place in empty], value[empty], color=colour, linestyle="none", **inside)
