"""One workload through several contenders: what each costs, and how far they agree."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.checkpoints import FULL, Shape
from benchmarks.measuring import Spent, spend
from benchmarks.workloads import Item

Values = Sequence[Sequence[float]] | Sequence[Sequence[str]]
NEAR = 1e-4  # Nats between the two best answers: below that rounding may turn them.


@dataclass(frozen=True)
class Contender:
    """Something that does the work.

    Attributes:
        name: as it is printed.
        make: sets it up on a network, outside the clock, and returns what takes items and gives values for each.
        items: how many it is given; fewer than ours where it is slow.
        best_only: whether only the best of an item's values counts, and its share among them.
    """

    name: str
    make: Callable[[Any], Callable[[Sequence[Item]], Values]]
    items: int
    best_only: bool = False


@dataclass(frozen=True)
class Agreement:
    """How far a contender's values are from ours, on the items that both did.

    Attributes:
        compared: values.
        largest: difference, in nats or, for the likeliest tokens, probability.
        same: items with the same best answer, or the same texts.
        near: items with another best answer, whose two best are less than 1e-4 nats apart.
        items: items compared.
    """

    compared: int = 0
    largest: float | None = None
    same: int = 0
    near: int = 0
    items: int = 0


@dataclass(frozen=True)
class Line:
    """One contender in one workload.

    Attributes:
        workload: its name.
        contender: its name.
        items: how many it did.
        cpu: seconds an item.
        wall: seconds an item.
        tokens: that the model read, an item.
        logits: positions at which the head was applied, an item.
        rate_model: GFLOP a CPU second of products of the model's shapes, around this run.
        rate_square: of large squares.
        ratio: its CPU seconds an item by ours.
        ratio_at_rate: the same, each first brought to the same rate of products: what a busy machine takes from one
            run and not from the other is taken out.
        agreement: with ours.
        extra: what else was measured.
    """

    workload: str
    contender: str
    items: int
    cpu: float
    wall: float
    tokens: float
    logits: float
    rate_model: float
    rate_square: float
    ratio: float = 1.0
    ratio_at_rate: float = 1.0
    agreement: Agreement = field(default_factory=Agreement)
    extra: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the line as plain values."""
        return asdict(self)


def average(items: Sequence[Item], count: int) -> list[Item]:
    """Return the items whose length is nearest the mean: what a slow contender is given, so that it may stand for all.

    Args:
        items: all.
        count: how many.
    """
    mean = sum(map(_characters, items)) / len(items)
    order = sorted(range(len(items)), key=lambda index: (abs(_characters(items[index]) - mean), index))
    return [items[index] for index in sorted(order[:count])]


def _characters(item: Item) -> int:
    """Return the characters of all of an item's texts: what stands around the answers is read with each of them."""
    around = len(item.text) + len(item.template) + len(item.subject)
    return max(1, len(item.answers)) * around + sum(map(len, item.answers))


def measure(
    workload: str, contender: Contender, network: Any, items: Sequence[Item], shape: Shape
) -> tuple[Line, Values, Spent]:
    """Let one contender do items.

    Args:
        workload: its name.
        contender: who.
        network: the model that it runs.
        items: what; those of average length where it is given fewer.
        shape: of the model.

    Returns:
        What it cost, the values by item, and what was spent in all.
    """
    chosen = items if contender.items >= len(items) else average(items, contender.items)
    work = contender.make(network)
    values, spent = spend(lambda: work(chosen), network, shape, 0.25 if shape is FULL else 0.01)
    count = len(chosen)
    line = Line(
        workload,
        contender.name,
        count,
        spent.cpu / count,
        spent.wall / count,
        spent.counts.tokens / count,
        spent.counts.logits / count,
        spent.rate.model,
        spent.rate.square,
    )
    return line, values, spent


def agreement(ours: Values, theirs: Values, best: bool, best_only: bool = False) -> Agreement:
    """Compare values of the same items.

    Args:
        ours: by item.
        theirs: by item.
        best: whether the largest of an item's values is its answer.
        best_only: whether that one alone counts: then the log of its share among the values is compared.
    """
    pairs = list(zip(ours, theirs, strict=True))
    if not pairs or isinstance(pairs[0][0][0], str):
        same = sum(list(one) == list(other) for one, other in pairs)
        return Agreement(sum(len(one) for one, _ in pairs), None, same, 0, len(pairs))
    differences = [abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True)]
    if best_only:
        differences = [abs(_log_share(one) - _log_share(other)) for one, other in pairs]
    same = near = 0
    for one, other in pairs if best else []:
        first, second = sorted(other, reverse=True)[:2] if len(other) > 1 else (other[0], -math.inf)
        if _best(one) == _best(other):
            same += 1
        elif first - second < NEAR:
            near += 1
    return Agreement(len(differences), max(differences), same, near, len(pairs) if best else 0)


def _log_share(values: Sequence[Any]) -> float:
    return -math.log(math.fsum(math.exp(value - max(values)) for value in values))


def _best(values: Sequence[Any]) -> int:
    return max(range(len(values)), key=values.__getitem__)
