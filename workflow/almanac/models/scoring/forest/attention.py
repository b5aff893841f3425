"""Tree attention under a trunk, which replaces a model's own through transformers' attention interface.

Transformers calls `attend` in every layer with rotated queries, keys and values. It builds no mask, since no mask
function is registered under the same name. Attention to the trunk's keys, which all queries share, and attention inside
each row's tree are computed apart and merged by their log-sum-exps.
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
    """The model cannot be run in this way, mostly because of how it computes attention."""


@dataclass
class Pass(ABC):
    """One forward pass over flattened tokens ``(1, rows * width)``.

    Attributes:
        above: keys and values of the trunk, by layer; empty if there is no trunk.
        length: the number of tokens of the trunk.
        positions: ``(rows * width,)``, each token's position in its text.
        farthest: the largest position.
        width: the width of a row.
        calls: how often `attend` was called.
        windows: whether a layer passed a sliding window to `attend`.
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
        """Attend to disjoint sets of keys outside the trunk; all tensors are ``(1, heads, rows * width, size)``."""


@dataclass
class PathPass(Pass):
    """A pass over one path, whose keys and values are appended to those of the trunk above."""

    kept: dict[int, KeysValues] = field(default_factory=dict)

    def inside(self, layer: "Layer", index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Attend from each token to the path up to it."""
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
        """Attend inside each row: from every token to its ancestors and itself."""
        heads, rows = q.shape[1], len(self.visible)
        q, k, v = (one.view(one.shape[1], rows, self.width, -1).transpose(0, 1) for one in (q, k, v))
        groups = heads // k.shape[1]
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out, log = layer.kernel(q, k, v, self._mask(layer.window, q.dtype), causal=False)  # (rows, heads, width, size)
        tokens = rows * self.width
        return [(out.transpose(0, 1).reshape(1, heads, tokens, -1), log.transpose(0, 1).reshape(1, heads, tokens))]

    def _mask(self, window: int | None, dtype: torch.dtype) -> Tensor:
        """Return the mask of a layer ``(rows, 1, width, width)``, made once per window length."""
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
    """The current pass: a global, since transformers passes `attend` nothing but the layer's tensors."""

    current: Pass | None = None
    kernels: dict[tuple[torch.device, torch.dtype, int], Kernel] = {}  # noqa: RUF012 (a cache of the process)


@contextmanager
def trees(network: Any) -> Iterator[None]:
    """Give a model tree attention within this context.

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
    """Make this pass the one that `attend` uses."""
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
    """Attend according to the current pass: the function that transformers calls in every layer.

    Args:
        module: the attention module of the layer, with its index ``layer_idx``.
        query: ``(1, heads, tokens, width)``.
        key: ``(1, key heads, tokens, width)``.
        value: ``(1, key heads, tokens, width)``.
        attention_mask: None, since transformers builds no mask under this name.
        scaling: the scale of the scores; by default the inverse square root of the width.
        dropout: 0, since the model is not training.
        **kwargs: options of some architectures: ``sliding_window``, ``softcap``, ``s_aux`` (a sink).

    Returns:
        The output ``(1, tokens, heads, width)``, and None for the weights.
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
        """How many tokens a token sees, itself included; None if it sees all before it."""
        window = self.options.get("sliding_window")
        return int(window) if window else None

    def kernel(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Attended:
        """Attend with the kernel for this device and dtype, or the plain one for what fused kernels cannot do."""
        softcap = self.options.get("softcap")
        if softcap or q.shape[-1] != v.shape[-1]:
            return plain(q, k, v, self.scale, mask, causal, softcap)
        key = (q.device, q.dtype, q.shape[-1])
        if key not in _Now.kernels:
            _Now.kernels[key] = choose(*key)
        return _Now.kernels[key](q, k, v, self.scale, mask, causal)

    def grouped(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Attended:
        """Attend from queries ``(B, heads, T, d)`` to keys with fewer heads ``(B, key heads, S, d)``.

        The queries of heads that share a key head are joined, so that its keys are read once. ``mask`` is
        ``(B, 1, T, S)``.
        """
        batch, heads, tokens, width = q.shape
        groups = heads // k.shape[1]
        if mask is not None and groups > 1:
            mask = mask.repeat(1, 1, groups, 1)
        out, log = self.kernel(q.reshape(batch, k.shape[1], groups * tokens, width), k, v, mask, causal=False)
        return out.reshape(batch, heads, tokens, -1), log.reshape(batch, heads, tokens)

    def over_trunk(self, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Attend to the trunk, whose keys all queries share."""
        mask = None
        if self.window is not None and self.now.farthest >= self.window:
            first = max(0, self.now.length - self.window + 1)  # No token after the trunk sees anything before this.
            k, v = k[:, :, first:], v[:, :, first:]
            places = torch.arange(first, self.now.length, device=q.device)
            far = self.now.positions[:, None] - places[None, :] >= self.window
            mask = additive(~far, self.dtype)[None, None]
        return self.grouped(q, k, v, mask)


def additive(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a mask to add to scores: 0 for visible keys and `hidden` for others."""
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, hidden(dtype))


AttentionInterface.register(NAME, attend)
