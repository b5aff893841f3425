"""Which pairs of an edition's models are compared, and the tests of their differences, adjusted together."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from almanac.config.models import checkpoint
from almanac.rows import Measure
from almanac.suites.comparison import DIFFERENCE, TUNED, setting_of
from almanac.suites.headline import FEW, holm, method_of
from almanac.suites.judged import as_text
from almanac.suites.listing import SUITES, method_labels
from almanac.suites.suite import Method

MODELS = 8  # all pairs are compared up to this number of models; the checkpoints of one training run count as one
FEWEST = 3  # the least number of checkpoints that are treated as a training run
Step = tuple[int, str]  # a training step and the model's name
Pairs = Sequence[Sequence[str]]


class Compared(NamedTuple):
    """The difference of two models by one method, and its test.

    Attributes:
        row: the difference.
        method: the method.
        label: the page's label of the method, with its setting.
        p: p-value, adjusted (Holm) over all differences returned with it; None if too few facts were answered.
    """

    row: Measure
    method: Method
    label: str
    p: float | None


def differences(between: Iterable[Measure], chosen: Pairs) -> list[Compared]:
    """Return the differences of pairs of models with their tests; empty if there are too many models (`too_many`).

    Args:
        between: measures that compare models.
        chosen: the pairs that are compared, as first minus second; if empty, all pairs (see `compared`).
    """
    rows = [row for row in between if row.metric in (DIFFERENCE, TUNED) and row.value is not None]
    return tested(rows, chosen, FEW)


def tested(rows: Sequence[Measure], chosen: Pairs, few: int) -> list[Compared]:
    """Return the differences of the pairs that are compared, with p-values adjusted over all of them (Holm).

    Args:
        rows: the differences of all pairs.
        chosen: as in `differences`.
        few: a difference of fewer answered facts is not tested.
    """
    wanted = compared({str(name) for row in rows for name in (row.model, row.other)}, chosen)
    rows = [_turned(row, chosen) for row in rows if wanted(str(row.model), str(row.other))]
    adjusted = iter(holm([row.p for row in rows if row.n >= few and row.p is not None]))
    ps = [next(adjusted) if row.n >= few and row.p is not None else None for row in rows]
    return [Compared(row, *label, p) for row, label, p in zip(rows, labelled(rows), ps, strict=True)]


def compared(models: Collection[str], chosen: Pairs) -> Callable[[str, str], bool]:
    """Return a function that tells whether two models are compared: the chosen pairs, else all or none (`too_many`).

    Without chosen pairs, checkpoints of training runs are compared only as in `neighbours`.
    """
    if chosen:
        pairs = {frozenset(pair) for pair in chosen}
        return lambda one, other: {one, other} in pairs
    if too_many(models):
        return lambda one, other: False
    return neighbours(models)


def too_many(models: Collection[str]) -> bool:
    """Return whether there are too many models to compare all pairs; the checkpoints of a training run count as one."""
    return len(models) - sum(len(own) - 1 for own in runs(models).values()) > MODELS


def labelled(rows: Sequence[Measure]) -> list[tuple[Method, str]]:
    """Return the method of each measure that compares models, and its label, with its setting, on the page."""
    methods = [method_of(row, SUITES[row.suite].methods) for row in rows]
    keys = [(row.suite, method.name, as_text(setting_of(row))) for row, method in zip(rows, methods, strict=True)]
    by_dataset: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row, key in zip(rows, keys, strict=True):
        by_dataset[row.dataset].append(key)
    labels = {dataset: method_labels(dataset_keys) for dataset, dataset_keys in by_dataset.items()}
    return [(method, labels[row.dataset][key]) for row, method, key in zip(rows, methods, keys, strict=True)]


def _turned(row: Measure, chosen: Pairs) -> Measure:
    """Return a difference as first minus second model, in the order in which the pair was chosen."""
    if not chosen or (row.model, row.other) in {(one, other) for one, other in chosen}:
        return row
    value, low, high = (None if one is None else 0.0 - one for one in (row.value, row.high, row.low))  # avoids -0.0
    return replace(row, model=row.other, other=row.model, value=value, low=low, high=high)


def runs(models: Iterable[str]) -> dict[str, list[Step]]:
    """Return the checkpoints of each training run in the order of their steps, by the common part of their names."""
    found: dict[str, list[Step]] = defaultdict(list)
    for name in dict.fromkeys(models):
        if (parts := checkpoint(name)) is not None:
            run, step = parts
            found[run].append((step, name))
    return {run: sorted(own) for run, own in found.items() if len(own) >= FEWEST}


def neighbours(models: Iterable[str]) -> Callable[[str, str], bool]:
    """Return a function that tells whether two models are compared: all pairs but some of checkpoints.

    Checkpoints of one training run are compared if they are neighbours, and those of two runs if their steps are equal.
    """
    places = {name: (run, at, step) for run, own in runs(models).items() for at, (step, name) in enumerate(own)}

    def wanted(one: str, other: str) -> bool:
        if one not in places or other not in places:
            return True
        (run, at, step), (other_run, other_at, other_step) = places[one], places[other]
        return abs(at - other_at) == 1 if run == other_run else step == other_step

    return wanted
