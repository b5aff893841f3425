"""A step of decoding: one token per text, which attends to the trunk, to the stem of its tree and to its own row."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.scoring.forest.attention import KeysValues, Layer, Pass, additive
from almanac.models.scoring.forest.kernels import Attended
from almanac.models.scoring.forest.prefill import Trunk


@dataclass
class Stems:
    """The common prefix (stem) of each tree's prompts, kept once for all its texts.

    Attributes:
        kept: by layer, keys and values ``(trees, key heads, longest, size)``.
        lengths: ``(trees,)``, the length of each stem in tokens.
        tree: ``(rows,)``, the tree of each text, ascending.
    """

    kept: dict[int, KeysValues]
    lengths: Tensor
    tree: Tensor

    def __post_init__(self) -> None:
        first = torch.searchsorted(self.tree, torch.arange(len(self.lengths), device=self.tree.device))
        self.number = torch.arange(len(self.tree), device=first.device) - first[self.tree]  # of a row in its tree
        self.most = int(self.number.max()) + 1
        self.longest = int(self.lengths.max())
        self._masks: dict[torch.dtype, Tensor] = {}

    def keep(self, chosen: Tensor) -> "Stems | None":
        """Return the stems of some rows, given in ascending order; None if all are empty."""
        trees, tree = torch.unique(self.tree[chosen], return_inverse=True)
        if not self.lengths[trees].any():
            return None
        kept = self.kept
        if len(trees) < len(self.lengths):
            kept = {layer: (keys[trees], values[trees]) for layer, (keys, values) in kept.items()}
        return Stems(kept, self.lengths[trees], tree)

    def attended(self, layer: Layer, index: int, q: Tensor) -> Attended:
        """Attend from one token of each row, ``(1, heads, rows, size)``, to the stem of its tree."""
        queries = q.new_zeros(len(self.lengths), self.most, q.shape[1], q.shape[3])
        queries[self.tree, self.number] = q[0].transpose(0, 1)
        keys, values = (one[:, :, : self.longest] for one in self.kept[index])
        out, log = layer.grouped(queries.transpose(1, 2), keys, values, self._mask(layer))  # (trees, heads, most, size)
        return out[self.tree, :, self.number].transpose(0, 1)[None], log[self.tree, :, self.number].T[None]

    def _mask(self, layer: Layer) -> Tensor:
        """Return the mask ``(trees, 1, most, longest)`` that hides places after each stem and beyond a window."""
        places = torch.arange(self.longest, device=self.tree.device)
        window = layer.window if layer.window is not None and layer.now.farthest >= layer.window else None
        if window is None and layer.dtype in self._masks:
            return self._masks[layer.dtype]
        visible = (places < self.lengths[:, None])[:, None].repeat(1, self.most, 1)
        if window is not None:
            back = layer.now.positions[:, None] - layer.now.length - places  # (rows, longest)
            visible[self.tree, self.number] &= back < window
            return additive(visible, layer.dtype)[:, None]
        return self._masks.setdefault(layer.dtype, additive(visible, layer.dtype)[:, None])


@dataclass
class StepPass(Pass):
    """A pass that feeds one token to each row; a row keeps the keys and values after the trunk and its stem.

    Attributes:
        rows: by layer, keys and values ``(rows, key heads, room, size)``.
        lengths: ``(rows,)``, how many tokens each row held before the step.
        used: how many tokens the longest row holds after the step.
        stems: the stems between the trunk and the rows; None if there are none.
    """

    rows: dict[int, KeysValues]
    lengths: Tensor
    used: int
    stems: Stems | None
    _masks: dict[int | None, Tensor] = field(default_factory=dict)

    def inside(self, layer: Layer, index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Store the step's keys and values, and attend to the row and to its stem."""
        stems = [] if self.stems is None else [self.stems.attended(layer, index, q)]
        q, k, v = (one.transpose(0, 2) for one in (q, k, v))  # (rows, heads, 1, size)
        for kept, new in zip(self.rows[index], (k, v), strict=True):
            kept[torch.arange(len(kept), device=q.device), :, self.lengths] = new[:, :, 0]
        keys, values = (kept[:, :, : self.used] for kept in self.rows[index])
        out, log = layer.grouped(q, keys, values, self._mask(layer.window, q.dtype))  # (rows, heads, 1, size)
        return [*stems, (out.transpose(0, 2), log.transpose(0, 2))]

    def _mask(self, window: int | None, dtype: torch.dtype) -> Tensor:
        if window not in self._masks:
            back = self.lengths[:, None, None] - torch.arange(self.used, device=self.lengths.device)  # (rows, 1, used)
            visible = (back >= 0) & (back < window) if window is not None else back >= 0
            self._masks[window] = additive(visible, dtype)[:, None]
        return self._masks[window]


@dataclass
class StemRows:
    """Keys and values of the texts of a batch: a row for each, and the stems that they share.

    Attributes:
        kept: by layer, keys and values ``(rows, key heads, room, size)``.
        lengths: ``(rows,)``, how many tokens each row holds.
        lasts: ``(rows,)``, the last place that each row may write; an ended text that is kept writes there again.
        used: how many tokens the longest row holds, or held before it was dropped.
        stems: the stems between the trunk and the rows; None if there are none.
    """

    kept: dict[int, KeysValues]
    lengths: Tensor
    lasts: Tensor
    used: int
    stems: Stems | None

    def keep(self, chosen: Tensor) -> None:
        """Drop all rows but some, given in ascending order."""
        self.kept = {layer: (keys[chosen], values[chosen]) for layer, (keys, values) in self.kept.items()}
        self.lengths, self.lasts = self.lengths[chosen], self.lasts[chosen]
        self.stems = self.stems and self.stems.keep(chosen)

    def step(self, above: Trunk, length: int, fed: Tensor) -> StepPass:
        """Return the pass that feeds one more token to every row."""
        room = next(iter(self.kept.values()))[0].shape[2]
        before = torch.minimum(self.lengths, self.lasts)
        self.lengths, self.used = before + 1, min(self.used + 1, room)
        start = before if self.stems is None else before + self.stems.lengths[self.stems.tree]
        farthest = length + (0 if self.stems is None else self.stems.longest) + self.used - 1
        return StepPass(above or {}, length, length + start, farthest, 1, self.kept, before, self.used, self.stems)
