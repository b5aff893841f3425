"""Attention of a tree under a trunk, in the place of a model's own, through transformers' attention interface.

Transformers calls `attend` in every layer with rotated queries, keys and values; with no mask function registered under
its name it builds no mask at all. Attention over the trunk's keys, which all queries share, and attention inside each
row's tree are computed apart and merged by their log-sum-exps.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

from almanac.models.scoring.forest.kernels import Attended, Kernel, choose, hidden, merge, plain

NAME = "almanac_tree"
KeysValues = tuple[Tensor, Tensor]  # Each (1, heads, tokens, width).


class UnusableError(Exception):
    """The model computes attention in a way that a tree cannot be put into."""


@dataclass
class Pass(ABC):
    """One forward pass over a flat line of tokens ``(1, rows * width)``.

    Attributes:
        above: keys and values of the trunk, by layer; empty where nothing stands above.
        length: the tokens of the trunk.
        positions: ``(rows * width,)``, each token's position in its text.
        farthest: the largest of them.
        width: of a row.
        calls: how often `attend` was called.
        windows: whether a layer said that it has a sliding window.
    """

    above: dict[int, KeysValues]
    length: int
    positions: Tensor
    farthest: int
    width: int
    calls: int = field(default=0, init=False)
    windows: bool = field(default=False, init=False)

    @abstractmethod
    def inside(self, layer: "Layer", index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Attend to disjoint parts of what is not the trunk: all tensors are ``(1, heads, rows * width, size)``."""


@dataclass
class PathPass(Pass):
    """A pass over one path, whose keys and values are kept with the trunk's above."""

    kept: dict[int, KeysValues] = field(default_factory=dict)

    def inside(self, layer: "Layer", index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Attend to the path before each token."""
        above = self.above.get(index)
        joined = (k, v) if above is None else (torch.cat([above[0], k], 2), torch.cat([above[1], v], 2))
        self.kept[index] = (joined[0].contiguous(), joined[1].contiguous())
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        if layer.window is None or self.width <= layer.window:
            return [layer.kernel(q, k, v, None, causal=True)]
        back = torch.arange(self.width, device=q.device)[:, None] - torch.arange(self.width, device=q.device)[None, :]
        mask = additive((back >= 0) & (back < layer.window), q.dtype)[None, None]
        return [layer.kernel(q, k, v, mask, causal=False)]


@dataclass
class TreePass(Pass):
    """A pass over rows of trees.

    Attributes:
        visible: ``(rows, width, width)``, which places of its row each place sees.
    """

    visible: Tensor
    _masks: dict[int | None, Tensor] = field(default_factory=dict)

    def inside(self, layer: "Layer", index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Attend inside each row: every token to its ancestors and to itself."""
        heads, rows = q.shape[1], len(self.visible)
        q, k, v = (one.view(one.shape[1], rows, self.width, -1).transpose(0, 1) for one in (q, k, v))
        groups = heads // k.shape[1]
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out, log = layer.kernel(q, k, v, self._mask(layer.window, q.dtype), causal=False)  # (rows, heads, width, size)
        tokens = rows * self.width
        return [(out.transpose(0, 1).reshape(1, heads, tokens, -1), log.transpose(0, 1).reshape(1, heads, tokens))]

    def _mask(self, window: int | None, dtype: torch.dtype) -> Tensor:
        """Return the mask of a layer ``(rows, 1, width, width)``, made once for all layers with its window."""
        if window is not None and self.farthest - self.length < window:
            window = None
        if window not in self._masks:
            visible = self.visible
            if window is not None:
                places = self.positions.view(visible.shape[:2])
                visible = visible & (places[:, :, None] - places[:, None, :] < window)
            self._masks[window] = additive(visible, dtype)[:, None]
        return self._masks[window]


class _Now:
    """What the interface's function, which is told nothing but the layer's tensors, works on at the moment."""

    current: Pass | None = None
    kernels: dict[tuple[torch.device, torch.dtype, int], Kernel] = {}  # noqa: RUF012 (a cache of the process)


@contextmanager
def trees(network: Any) -> Iterator[None]:
    """Let a model attend by trees for a while.

    Raises:
        UnusableError: the model does not take its attention from the interface.
    """
    config = network.config
    own = config._attn_implementation
    try:
        network.set_attn_implementation(NAME)
    except (ValueError, AttributeError) as error:
        raise UnusableError(f"{type(network).__name__} has an attention of its own") from error
    try:
        yield
    finally:
        network.set_attn_implementation(own)


@contextmanager
def during(one: Pass) -> Iterator[Pass]:
    """Make a pass the one that `attend` works on."""
    _Now.current = one
    try:
        yield one
    finally:
        _Now.current = None


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attend by the current pass: the function that transformers calls in every layer.

    Args:
        module: the layer's attention, which knows its index.
        query: ``(1, heads, tokens, width)``.
        key: ``(1, key heads, tokens, width)``.
        value: as the keys.
        attention_mask: none, since no mask is built under this name.
        scaling: of the scores; by default the inverse root of the width.
        dropout: 0, since a model that is asked does not train.
        **kwargs: what a family adds: ``sliding_window``, ``softcap``, ``s_aux`` (a sink).

    Returns:
        ``(1, tokens, heads, width)``, and no weights.
    """
    now = _Now.current
    if now is None or attention_mask is not None:
        raise UnusableError(f"{type(module).__name__} was given a mask, or no pass")
    now.calls += 1
    now.windows |= bool(kwargs.get("sliding_window"))
    layer = Layer(now, kwargs, scaling if scaling is not None else query.shape[-1] ** -0.5, query.dtype)
    parts = now.inside(layer, module.layer_idx, query, key, value)
    if module.layer_idx in now.above:
        parts.insert(0, layer.over_trunk(query, *now.above[module.layer_idx]))
    merged = merge(parts, kwargs.get("s_aux"), query.dtype)  # (1, heads, tokens, width)
    return merged.transpose(1, 2).contiguous(), None


@dataclass
class Layer:
    """The attention of one layer in one pass."""

    now: "Pass"
    options: dict[str, Any]
    scale: float
    dtype: torch.dtype

    @property
    def window(self) -> int | None:
        """How many tokens back a token sees, itself included, where that is less than all."""
        window = self.options.get("sliding_window")
        return int(window) if window else None

    def kernel(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Attended:
        """Attend by the kernel for this device and type, or step by step where fused kernels do not go."""
        softcap = self.options.get("softcap")
        if softcap or q.shape[-1] != v.shape[-1]:
            return plain(q, k, v, self.scale, mask, causal, softcap)
        key = (q.device, q.dtype, q.shape[-1])
        if key not in _Now.kernels:
            _Now.kernels[key] = choose(*key)
        return _Now.kernels[key](q, k, v, self.scale, mask, causal)

    def grouped(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Attended:
        """Attend where many queries ``(B, heads, T, d)`` see keys of fewer heads ``(B, key heads, S, d)``.

        The queries of a group stand one after another, so that keys are read once for all of them; ``mask`` is
        ``(B, 1, T, S)``.
        """
        batch, heads, tokens, width = q.shape
        groups = heads // k.shape[1]
        if mask is not None and groups > 1:
            mask = mask.repeat(1, 1, groups, 1)
        out, log = self.kernel(q.reshape(batch, k.shape[1], groups * tokens, width), k, v, mask, causal=False)
        return out.reshape(batch, heads, tokens, -1), log.reshape(batch, heads, tokens)

    def over_trunk(self, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Attend to the trunk: one set of keys for all queries."""
        mask = None
        if self.window is not None and self.now.farthest >= self.window:
            first = max(0, self.now.length - self.window + 1)  # The first that the first token after the trunk sees.
            k, v = k[:, :, first:], v[:, :, first:]
            places = torch.arange(first, self.now.length, device=q.device)
            far = self.now.positions[:, None] - places[None, :] >= self.window
            mask = additive(~far, self.dtype)[None, None]
        return self.grouped(q, k, v, mask)


def additive(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what is added to scores: 0 where a key is visible, and next to the least number where it is not."""
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, hidden(dtype))


AttentionInterface.register(NAME, attend)
