"""Reading prompts that are continued: what some begin with together is read once, and each gets keys of its own.

Sorted prompts are packed into rows, each a small prefix tree in preorder, which are read as trees are. The keys and
values of each prompt's path are then gathered, so that prompts of many trees are continued together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.scoring.batching import run_batches
from almanac.models.scoring.forest.attention import KeysValues, Layer, TreePass
from almanac.models.scoring.forest.kernels import Attended
from almanac.models.scoring.forest.machines import TreeMachine, tree_mask

ROW = 320  # Tokens of a row: wider ones share more and attend to more that is hidden.
Trunk = dict[int, KeysValues] | None
Rest = tuple[int, ...]  # A prompt's tokens after the trunk.


@dataclass
class Row:
    """A prefix tree of prompts, in preorder.

    Attributes:
        ids: ``(width,)``, the token of each place.
        depths: ``(width,)``, how many tokens stand before it in its prompts.
        ends: ``(width,)``, the place after its last descendant.
        paths: for each prompt the places of its tokens.
    """

    ids: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    paths: dict[Rest, list[int]] = field(default_factory=dict)

    def add(self, rest: Rest, shared: int) -> None:
        """Add a prompt that begins with as many tokens of the one before it."""
        before = self.paths[next(reversed(self.paths))][:shared] if self.paths else []
        path = [*before, *range(len(self.ids), len(self.ids) + len(rest) - shared)]
        self.ids += rest[shared:]
        self.depths += range(shared, len(rest))
        self.ends += [0] * (len(rest) - shared)
        for place in path:
            self.ends[place] = len(self.ids)
        self.paths[rest] = path


def packed(rests: Sequence[Rest], width: int = ROW) -> Iterator[Row]:
    """Yield the rows of distinct prompts; one that is longer than a row has one to itself."""
    row, last = Row(), Rest()
    for rest in sorted(rests):
        shared = _shared(last, rest) if row.ids else 0
        if row.ids and len(row.ids) + len(rest) - shared > width:
            yield row
            row, shared = Row(), 0
        row.add(rest, shared)
        last = rest
    if row.ids:
        yield row


def _shared(one: Rest, other: Rest) -> int:
    """Return how many tokens two prompts begin with together."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@dataclass
class KeptTreePass(TreePass):
    """A pass over rows of trees whose keys and values are kept by layer, ``(1, heads, rows * width, size)``."""

    kept: dict[int, KeysValues] = field(default_factory=dict)

    def inside(self, layer: Layer, index: int, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Keep the keys and values, and attend inside each row."""
        self.kept[index] = (k, v)
        return super().inside(layer, index, q, k, v)


@dataclass
class Read:
    """Prompts that were read.

    Attributes:
        rows: by layer, keys and values ``(prompts, key heads, room, size)``.
        places: the row of each prompt.
        logits: after each prompt, ``(vocabulary,)``, float32, on the CPU.
    """

    rows: dict[int, KeysValues]
    places: dict[Rest, int]
    logits: dict[Rest, Tensor]


def read(machine: TreeMachine, rests: Sequence[Rest], above: Trunk, length: int, room: int, budget: int) -> Read:
    """Read the distinct rests of prompts under a trunk.

    Args:
        machine: the model with tree attention.
        rests: the prompts after the trunk, each once and none empty.
        above: the trunk.
        length: its tokens.
        room: how many tokens the keys of each shall have room for.
        budget: the most tokens of a pass.
    """
    kept: list[dict[int, KeysValues]] = []
    places: dict[Rest, int] = {}
    logits: dict[Rest, Tensor] = {}

    def some(batch: list[Row]) -> list[None]:
        keys, found = _read_rows(machine, batch, above, length, room)
        kept.append(keys)
        for rest, last in zip((rest for row in batch for rest in row.paths), found, strict=True):
            places[rest], logits[rest] = len(places), last
        return [None] * len(batch)

    run_batches(list(packed(rests)), lambda row: len(row.ids), some, budget)
    together: dict[int, KeysValues] = {}
    for layer in list(kept[0]):
        keys, values = zip(*(one.pop(layer) for one in kept), strict=True)
        together[layer] = (torch.cat(keys), torch.cat(values))
    return Read(together, places, logits)


def _read_rows(
    machine: TreeMachine, batch: Sequence[Row], above: Trunk, length: int, room: int
) -> tuple[dict[int, KeysValues], Tensor]:
    """Read rows; return the keys and values of each prompt's path, and the logits after each."""
    device, width = machine.model.device, max(len(row.ids) for row in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    depths = torch.zeros_like(ids)
    ends = torch.arange(1, width + 1).repeat(len(batch), 1)
    paths, lasts = [], []
    for number, row in enumerate(batch):
        ids[number, : len(row.ids)] = torch.tensor(row.ids)
        depths[number, : len(row.ids)] = torch.tensor(row.depths)
        ends[number, : len(row.ids)] = torch.tensor(row.ends)
        for path in row.paths.values():
            places = [number * width + place for place in path]
            # What is read beyond a prompt's end is written over by the tokens to come, and never seen before.
            paths.append(places + [places[-1]] * (room - len(places)))
            lasts.append(places[-1])
    chosen = torch.tensor(paths, device=device)  # (prompts, room)
    positions = (length + depths).reshape(-1).to(device)
    one = KeptTreePass(above or {}, length, positions, int(positions.max()), width, tree_mask(ends.to(device)))
    logits = machine.run(one, ids.reshape(-1).to(device), torch.tensor(lasts, device=device), last_only=True)
    rows = {
        layer: (keys[0][:, chosen].transpose(0, 1), values[0][:, chosen].transpose(0, 1))
        for layer, (keys, values) in one.kept.items()
    }
    return rows, logits.float().cpu()
