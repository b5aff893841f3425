"""Scores with a prefix forest: the log-probabilities of plain forward passes, each distinct token computed once.

The output head is applied only where a value is read. Log-probabilities are a float32 log-softmax, some rows at a time;
the caller sums them in float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import rows_at_once, run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import plan
from almanac.models.scoring.forest.machines import Machine
from almanac.models.scoring.forest.trie import Forest, Growing, Ints
from almanac.models.scoring.reference import by_part, log_softmax

Place = tuple[int, ...]
OnRow = Callable[[int, Tensor], None]


@dataclass
class ScoringWork:
    """The cost of scoring, for benchmarks.

    Attributes:
        distinct: number of nodes of the forest, the fewest tokens that can be fed.
        fed: number of tokens fed, copies and padding included.
        head: number of positions at which logits were computed.
        passes: number of forward passes.
    """

    distinct: int = 0
    fed: int = 0
    head: int = 0
    passes: int = 0

    def count(self, fed: int, head: int) -> None:
        """Count a forward pass."""
        self.fed += fed
        self.head += head
        self.passes += 1


@dataclass
class _Reads:
    """The values read after each node: edges sorted by node, and places whose whole distribution is wanted.

    Attributes:
        nodes: ``(edges,)``, the node of each edge, sorted.
        tokens: ``(edges,)``, the token that is scored there.
        values: ``(edges,)``, the log-probabilities (nats); NaN until they are read.
        places: by node, the indices of the places there.
        on_row: called with a place's index and its distribution.
        wanted: ``(nodes of the forest,)``, whether anything is read after a node.
    """

    nodes: Ints
    tokens: Ints
    values: NDArray[np.float64]
    places: dict[int, list[int]]
    on_row: OnRow | None
    wanted: NDArray[np.bool_]

    @classmethod
    def of(cls, growing: Growing, place: Ints, places: Sequence[int], on_row: OnRow | None) -> tuple["_Reads", Ints]:
        """Return the reads of a forest, and the order into which its edges were sorted."""
        nodes = place[np.array(growing.edge_nodes, dtype=np.int64)]
        tokens = np.array(growing.edge_tokens, dtype=np.int64)
        order = np.lexsort((tokens, nodes))
        at: dict[int, list[int]] = {}
        for index, node in enumerate(places):
            at.setdefault(int(place[node]), []).append(index)
        wanted = np.zeros(len(place), dtype=bool)
        wanted[nodes] = True
        wanted[list(at)] = True
        return cls(nodes[order], tokens[order], np.full(len(order), np.nan), at, on_row, wanted), order

    def take(self, nodes: Ints, logits: Tensor) -> None:
        """Read the wanted values off the logits ``(nodes, vocabulary)`` after some nodes."""
        step = rows_at_once(logits.device)
        for start in range(0, len(nodes), step):
            some = nodes[start : start + step]
            rows = log_softmax(logits[start : start + step])
            first, last = np.searchsorted(self.nodes, some, "left"), np.searchsorted(self.nodes, some, "right")
            counts = last - first
            row = np.repeat(np.arange(len(some)), counts)
            edge = np.arange(counts.sum()) + np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            at, token = (torch.from_numpy(one).to(logits.device) for one in (row, self.tokens[edge]))
            self.values[edge] = rows[at, token].double().cpu().numpy()
            for index, node in enumerate(some.tolist()):
                for place in self.places.get(node, ()):
                    assert self.on_row is not None
                    self.on_row(place, rows[index].cpu())


@torch.inference_mode()
def score(
    machine: Machine,
    model: CausalModel,
    sequences: Sequence[TokenSequence],
    places: Sequence[Place] = (),
    on_row: OnRow | None = None,
    shape: plan.Shape | None = None,
    budget: int | None = None,
    work: ScoringWork | None = None,
) -> list[list[list[float]]]:
    """Score the parts of sequences, and compute whole distributions after places, in one forest.

    Args:
        machine: runs the model.
        model: the model.
        sequences: the sequences to score.
        places: token ids after which the distribution over the vocabulary is wanted.
        on_row: called with a place's index and its log-probabilities ``(vocabulary,)`` (nats, float32, on the CPU).
        shape: the sizes of trunks and rows; by default the machine's.
        budget: the most tokens in a forward pass; by default what the device and the vocabulary allow.
        work: the counter that the cost is added to.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.

    Raises:
        UnusableError: this machine cannot run the model.
    """
    growing = Growing()
    edges = [growing.add(sequence) for sequence in sequences]
    nodes = [growing.add_place(ids) for ids in places]
    forest, place = growing.in_order()
    reads, order = _Reads.of(growing, place, nodes, on_row)
    reader = _Reader(
        machine,
        forest,
        reads,
        shape or machine.SHAPE,
        budget or token_budget(model.device, model.vocabulary),
        model.device,
        work if work is not None else ScoringWork(),
    )
    reader.work.distinct += len(forest)
    with machine.session():
        reader.read(plan.plan(forest, reader.shape), None)
    values = np.empty(len(order))
    values[order] = reads.values
    known = values.tolist()
    return by_part((known[edge] for own in edges for edge in own), sequences)


@dataclass
class _Reader:
    """Runs the model over a planned forest."""

    machine: Machine
    forest: Forest
    reads: _Reads
    shape: plan.Shape
    budget: int
    device: torch.device
    work: ScoringWork

    def read(self, trunk: plan.Trunk, above: object) -> None:
        """Read the rows under a trunk, then the trunks that continue it."""
        for rows in plan.rows(self.forest, trunk, self.shape):
            width = rows.nodes.shape[1]

            def some(batch: list[int], rows: plan.TrunkRows = rows) -> list[None]:
                self._read_rows(rows, batch, above, trunk.length)
                return [None] * len(batch)

            run_batches(range(len(rows.nodes)), lambda row, width=width: width, some, self.budget)  # type: ignore[misc]
        for grown in trunk.trunks:
            self.read(grown, self._read_trunk(grown, above))

    def _read_trunk(self, trunk: plan.Trunk, above: object) -> object:
        nodes = np.array(trunk.nodes, dtype=np.int64)
        own = self.reads.wanted[nodes]
        own[: trunk.copied] = False
        wanted = np.flatnonzero(own)
        # If nothing is wanted, logits are computed at one position: a forward pass must return some.
        asked = wanted if len(wanted) else np.array([len(nodes) - 1])
        state, logits = self.machine.read_trunk(
            above, trunk.above, self._tensor(self.forest.tokens[nodes]), self._tensor(asked)
        )
        self.work.count(len(nodes), len(asked))
        if len(wanted):
            self.reads.take(nodes[wanted], logits)
        return state

    def _read_rows(self, rows: plan.TrunkRows, batch: list[int], above: object, length: int) -> None:
        nodes, ends, own = rows.nodes[batch], rows.ends[batch], rows.own[batch]
        filled = nodes >= 0
        ids = np.where(filled, self.forest.tokens[nodes], 0)
        depths = np.where(filled, self.forest.depths[nodes], length)
        wanted = np.flatnonzero(own & self.reads.wanted[nodes])
        self.work.count(ids.size, len(wanted))
        if len(wanted):
            fed, places, mask, asked = (self._tensor(one) for one in (ids, depths, ends, wanted))
            logits = self.machine.read_rows(above, length, fed, places, mask, asked)
            self.reads.take(nodes.reshape(-1)[wanted], logits)

    def _tensor(self, values: Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
