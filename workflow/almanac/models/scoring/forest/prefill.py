"""Reads prompts before decoding: a prefix that some prompts share is read once, then each prompt gets its own keys.

Sorted prompts are packed into rows, each a small prefix tree in preorder, and read with tree attention. The keys and
values of the prefix that all prompts of a tree share, its stem, are kept once. Those of the rest of each prompt are
gathered into a row per prompt, so that prompts of many trees are continued together.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.scoring.batching import run_batches
from almanac.models.scoring.forest.attention import KeysValues, Layer, TreePass
from almanac.models.scoring.forest.kernels import Attended
from almanac.models.scoring.forest.machines import TreeMachine, tree_mask
from almanac.models.scoring.forest.trie import overlap

ROW, MEAN = 448, 8  # A row is as wide as 8 mean prompts, but at most 448 tokens: wider rows share more and mask more.
COPIES = 16  # Copying this many tokens costs about as much as reading one,
APART = 64  # and this many as much as one more row.
Trunk = dict[int, KeysValues] | None
Rest = tuple[int, ...]  # A prompt's tokens after the trunk.


@dataclass
class PromptTree:
    """A prefix tree of prompts, in preorder.

    Attributes:
        ids: ``(width,)``, the token of each place.
        depths: ``(width,)``, its position in its prompts.
        ends: ``(width,)``, the place after its last descendant.
        paths: for each prompt, the places of its tokens.
    """

    ids: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    paths: dict[Rest, list[int]] = field(default_factory=dict)

    @property
    def stem(self) -> int:
        """The length of the prefix that all prompts share."""
        through = next((place for place, end in enumerate(self.ends) if end < len(self.ids)), len(self.ids))
        return min(through, *map(len, self.paths), len(self.ids))

    def add(self, rest: Rest, shared: int) -> None:
        """Add a prompt that has ``shared`` tokens in common with the one before it."""
        before = self.paths[next(reversed(self.paths))][:shared] if self.paths else []
        path = [*before, *range(len(self.ids), len(self.ids) + len(rest) - shared)]
        self.ids += rest[shared:]
        self.depths += range(shared, len(rest))
        self.ends += [0] * (len(rest) - shared)
        for place in path:
            self.ends[place] = len(self.ids)
        self.paths[rest] = path


def packed(rests: Sequence[Rest], width: int | None = None) -> Iterator[PromptTree]:
    """Yield the rows of distinct prompts; a prompt that is longer than a row gets one of its own.

    Args:
        rests: the prompts.
        width: the most tokens in a row; by default 8 times the mean length of a prompt, but at most 448.
    """
    width = width or min(ROW, MEAN * sum(map(len, rests)) // max(1, len(rests)))
    order = sorted(rests)
    overlaps = [0, *(overlap(one, other) for one, other in itertools.pairwise(order)), 0]
    row, stem = PromptTree(), 0
    for rest, shared, following in zip(order, overlaps, overlaps[1:], strict=False):
        # Tokens no longer in the stem, which the row's prompts, or this one and the next, would have to copy.
        lost = max((stem - shared) * len(row.paths), 2 * (following - shared))
        if row.ids and (len(row.ids) + len(rest) - shared > width or lost > APART + COPIES * shared):
            yield row
            row = PromptTree()
        stem = min(stem, shared) if row.ids else len(rest)
        row.add(rest, shared if row.ids else 0)
    if row.ids:
        yield row


@dataclass
class KeptTreePass(TreePass):
    """A pass over rows of trees whose keys and values are kept by layer, ``(1, heads, rows * width, size)``."""

    kept: dict[int, KeysValues] = field(default_factory=dict)

    def inside(self, layer: Layer, index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Store the keys and values, and attend inside each row."""
        self.kept[index] = (k, v)
        return super().inside(layer, index, q, k, v)


@dataclass
class ReadTrees:
    """Trees of prompts that were read.

    Attributes:
        stems: by layer, keys and values of the stems, ``(trees, key heads, longest, size)``.
        rows: by layer, keys and values of each prompt after its stem, ``(prompts, key heads, room, size)``.
        logits: the logits after each prompt, ``(prompts, vocabulary)``, float32, on the CPU.
    """

    stems: dict[int, KeysValues]
    rows: dict[int, KeysValues]
    logits: Tensor


def read(
    machine: TreeMachine, trees: Sequence[PromptTree], above: Trunk, length: int, room: int, budget: int
) -> ReadTrees:
    """Read trees of prompts under a trunk.

    Args:
        machine: the model with tree attention.
        trees: the prompts, without the trunk.
        above: the trunk.
        length: the number of tokens of the trunk.
        room: the size of each prompt's row of keys, in tokens, without the stem.
        budget: the most tokens in a pass.
    """
    passes: list[dict[int, KeysValues]] = []
    fed = 0

    def some(batch: list[PromptTree]) -> list[tuple[int, Tensor]]:
        nonlocal fed
        kept, logits = _read_rows(machine, batch, above, length)
        passes.append(kept)
        width = max(len(row.ids) for row in batch)
        first, fed = fed, fed + len(batch) * width
        parts = torch.split(logits, [len(row.paths) for row in batch])
        return [(first + number * width, part) for number, part in enumerate(parts)]

    found = run_batches(trees, lambda row: len(row.ids), some, budget)
    starts = [start for start, _ in found]
    stems = [range(start, start + tree.stem) for start, tree in zip(starts, trees, strict=True)]
    rests = [
        [start + place for place in path[tree.stem :]]
        for start, tree in zip(starts, trees, strict=True)
        for path in tree.paths.values()
    ]
    chosen = _padded(stems, max(map(len, stems))), _padded(rests, room)
    by_layer: tuple[dict[int, KeysValues], ...] = ({}, {})
    for layer in list(passes[0]):
        keys, values = (torch.cat(parts, 2)[0] for parts in zip(*(one.pop(layer) for one in passes), strict=True))
        for places, into in zip(chosen, by_layer, strict=True):
            at = places.to(keys.device)
            into[layer] = (keys[:, at].transpose(0, 1), values[:, at].transpose(0, 1))
    return ReadTrees(by_layer[0], by_layer[1], torch.cat([part for _, part in found]))


def _padded(paths: Sequence[Sequence[int]], room: int) -> Tensor:
    """Return places ``(paths, room)``, padded with any place: keys after a path's end are overwritten or hidden."""
    return torch.tensor([[*path, *[path[-1] if path else 0] * (room - len(path))] for path in paths], dtype=torch.long)


def _read_rows(
    machine: TreeMachine, batch: Sequence[PromptTree], above: Trunk, length: int
) -> tuple[dict[int, KeysValues], Tensor]:
    """Read rows; return the keys and values of all places, by layer, and the logits after each prompt."""
    device, width = machine.model.device, max(len(row.ids) for row in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    depths = torch.zeros_like(ids)
    ends = torch.arange(1, width + 1).repeat(len(batch), 1)
    for number, row in enumerate(batch):
        ids[number, : len(row.ids)] = torch.tensor(row.ids)
        depths[number, : len(row.ids)] = torch.tensor(row.depths)
        ends[number, : len(row.ids)] = torch.tensor(row.ends)
    lasts = [number * width + path[-1] for number, row in enumerate(batch) for path in row.paths.values()]
    positions = (length + depths).reshape(-1).to(device)
    one = KeptTreePass(above or {}, length, positions, int(positions.max()), width, tree_mask(ends.to(device)))
    logits = machine.run(one, ids.reshape(-1).to(device), torch.tensor(lasts, device=device), last_only=True)
    return one.kept, logits.float().cpu()
