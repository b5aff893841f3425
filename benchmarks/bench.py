"""What all workloads of the benchmark share: facts, checkpoints, models, and how a workload is run."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from benchmarks import checkpoints, ours, peers, workloads
from benchmarks.checkpoints import FULL, Shape
from benchmarks.comparing import Agreement, Contender, Line, agreement, average, measure
from benchmarks.measuring import Spent, operations
from benchmarks.reporting import row
from benchmarks.workloads import Item, Workload


class Bench:
    """What all workloads share: facts, checkpoints, models, and how many facts are asked.

    Args:
        folder: where the checkpoints go.
        shape: of the models.
        facts: of each workload, for us; none for each workload's own number.
        compared: whether other programs run too.
        causal: the checkpoint of a decoder that is there; none: a random one is made.

    Attributes:
        lines: what was measured.
        on_line: called after each line.
    """

    def __init__(
        self,
        folder: Path,
        shape: Shape = FULL,
        facts: int | None = None,
        compared: bool = True,
        causal: Path | None = None,
    ) -> None:
        self.given = {} if causal is None else {"causal": causal}
        self.folder, self.shape, self.facts, self.compared = folder, shape, facts, compared
        self.tables = workloads.shipped()
        self.lines: list[Line] = []
        self.on_line: Callable[[], object] = lambda: None

    def count(self, usual: int) -> int:
        """Return how many facts are asked where a workload has its usual number."""
        return usual if self.facts is None else min(self.facts, usual)

    def _checkpoint(self, name: str) -> Path:
        folder = self.given.get(name, self.folder / name)
        if not folder.is_dir():
            make = {"causal": checkpoints.causal, "masked": checkpoints.masked}[name]
            make(folder, workloads.statements_of(self.tables), self.shape)
        return folder

    @functools.cached_property
    def causal(self) -> Any:
        """Our decoder."""
        return ours.load_model(self._checkpoint("causal"))

    @functools.cached_property
    def masked(self) -> Any:
        """Our encoder."""
        return ours.load_model(self._checkpoint("masked"))

    @functools.cached_property
    def decoder(self) -> Any:
        """The decoder that the others run: the same checkpoint, loaded again."""
        return AutoModelForCausalLM.from_pretrained(self._checkpoint("causal")).eval()

    @functools.cached_property
    def encoder(self) -> Any:
        """The encoder that the others run."""
        return AutoModelForMaskedLM.from_pretrained(self._checkpoint("masked")).eval()

    def compare(
        self,
        name: str,
        work: Workload,
        ways: Sequence[tuple[str, ours.Ours, int]],
        read: ours.Read,
        others: Sequence[Contender] = (),
        best: bool = True,
    ) -> None:
        """Run one workload: first our ways, the first of which all others are held against.

        Args:
            name: of the workload.
            work: its items.
            ways: our contenders: name, answerer, number of items.
            read: what is read off our responses.
            others: the other programs.
            best: whether the largest of an item's values is its answer.
        """
        runs: list[tuple[Contender, Any]] = [
            (Contender(label, lambda _, way=way: way.reading(work.contexts, read), count, way.best_only), way.network)
            for label, way, count in ways
        ]
        if self.compared and others:
            network = self.encoder if ways[0][1].masked else self.decoder
            runs += [(contender, network) for contender in others]
        first: Line | None = None
        known: dict[str, Any] = {}
        for contender, network in runs:
            line, values, spent = peers.quietly(measure, name, contender, network, work.items, self.shape)
            chosen = work.items if line.items == len(work.items) else average(work.items, line.items)
            if first is None:
                first = line = replace(line, extra=_own(ways[0][1], work, spent))
                known = {_key(item): value for item, value in zip(chosen, values, strict=True)}
            else:
                found = agreement([known[_key(item)] for item in chosen], values, best, contender.best_only)
                line = _against(line, first, found)
            self.lines.append(line)
            print(row(line), flush=True)
            self.on_line()


def _key(item: Item) -> str:
    return item.requests[0].request_id


def _own(way: ours.Ours, work: Workload, spent: Spent) -> dict[str, float]:
    """Return what is measured of our first way alone, where it scores choices of a decoder."""
    if way.masked or work.requests[0].kind != "choices":
        return {}
    least, seen = ours.least_tokens(way.answerer.model, work.requests, work.contexts)
    rate = operations(way.network, spent.counts, seen * spent.counts.tokens / least) / spent.cpu
    counted = way.work()
    return {
        "least_tokens": least / len(work.items),
        "tokens_over_least": spent.counts.tokens / least,
        "engine_over_least": counted["fed"] / counted["distinct"] if counted else 1.0,
        "gflop_per_s": rate,
        "share_of_rate": rate / spent.rate.best,
    }


def _against(line: Line, first: Line, found: Agreement) -> Line:
    """Return a line with its ratios to ours and its agreement."""
    speed = max(line.rate_model, line.rate_square) / max(first.rate_model, first.rate_square)
    ratio = line.cpu / first.cpu
    return replace(line, ratio=ratio, ratio_at_rate=ratio * speed, agreement=found)
