"""Attention of a tree under a trunk, in the place of a model's own, through transformers' attention interface.

Transformers calls `attend` in every layer with rotated queries, keys and values; with no mask function registered under
its name it builds no mask at all. Attention over the trunk's keys, which all queries share, and attention inside each
row's tree are computed apart and merged by their log-sum-exps.
"""

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
class Pass:
    """One forward pass over a flat line of tokens ``(1, rows * width)``.

    Attributes:
        above: keys and values of the trunk, by layer; empty where nothing stands above.
        length: the tokens of the trunk.
        positions: ``(rows * width,)``, each token's position in its text.
        farthest: the largest of them.
        width: of a row.
        mask: ``(rows, 1, width, width)``, added to the scores inside a row; none where a row is one path.
        keep: whether keys and values are kept, for a trunk.
        kept: those, by layer, the trunk's above included.
        calls: how often `attend` was called.
    """

    above: dict[int, KeysValues]
    length: int
    positions: Tensor
    farthest: int
    width: int
    mask: Tensor | None
    keep: bool = False
    kept: dict[int, KeysValues] = field(default_factory=dict)
    calls: int = 0


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
    layer = _Layer(now, kwargs, scaling if scaling is not None else query.shape[-1] ** -0.5, query)
    above = now.above.get(module.layer_idx)
    if now.keep:
        joined = (key, value) if above is None else (torch.cat([above[0], key], 2), torch.cat([above[1], value], 2))
        now.kept[module.layer_idx] = (joined[0].contiguous(), joined[1].contiguous())
    parts = [layer.over_tree(query, key, value)]
    if above is not None:
        parts.insert(0, layer.over_trunk(query, *above))
    merged = merge(parts, kwargs.get("s_aux"), query.dtype)  # (1, heads, tokens, width)
    return merged.transpose(1, 2).contiguous(), None


@dataclass
class _Layer:
    """The attention of one layer in one pass."""

    now: Pass
    options: dict[str, Any]
    scale: float
    query: Tensor

    @property
    def window(self) -> int | None:
        """How many tokens back a token sees, itself included, where that is less than all."""
        window = self.options.get("sliding_window")
        return int(window) if window else None

    def _kernel(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Attended:
        softcap = self.options.get("softcap")
        if softcap:
            return plain(q, k, v, self.scale, mask, causal, softcap)
        key = (q.device, q.dtype, q.shape[-1])
        if key not in _Now.kernels:
            _Now.kernels[key] = choose(*key)
        return _Now.kernels[key](q, k, v, self.scale, mask, causal)

    def over_trunk(self, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Attend to the trunk: one set of keys for all queries; the queries of a group stand one after another."""
        _, heads, tokens, width = q.shape
        groups = heads // k.shape[1]
        mask = None
        if self.window is not None and self.now.farthest >= self.window:
            first = max(0, self.now.length - self.window + 1)  # The first that the first token after the trunk sees.
            k, v = k[:, :, first:], v[:, :, first:]
            mask = self._window_mask(torch.arange(first, self.now.length, device=q.device)).repeat(groups, 1)[
                None, None
            ]
        folded = q.reshape(1, k.shape[1], groups * tokens, width)
        out, log = self._kernel(folded, k, v, mask, causal=False)
        return out.reshape(1, heads, tokens, -1), log.reshape(1, heads, tokens)

    def _window_mask(self, places: Tensor) -> Tensor:
        """Return what hides keys at given positions from each token, ``(tokens, keys)``."""
        assert self.window is not None
        far = self.now.positions[:, None] - places[None, :] >= self.window
        return torch.zeros(far.shape, dtype=self.query.dtype, device=far.device).masked_fill_(
            far, hidden(self.query.dtype)
        )

    def over_tree(self, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Attend inside each row: every token to its ancestors and to itself."""
        _, heads, tokens, width = q.shape
        rows, row = tokens // self.now.width, self.now.width
        groups = heads // k.shape[1]
        mask = self._tree_mask(rows)
        q = q.view(heads, rows, row, width).transpose(0, 1)  # (rows, heads, width of a row, size of a head)
        k, v = (one.view(one.shape[1], rows, row, -1).transpose(0, 1) for one in (k, v))
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out, log = self._kernel(q, k, v, mask, causal=mask is None)
        return out.transpose(0, 1).reshape(1, heads, tokens, -1), log.transpose(0, 1).reshape(1, heads, tokens)

    def _tree_mask(self, rows: int) -> Tensor | None:
        """Return the mask inside rows, with what a window hides; none where rows are paths and see all before."""
        mask, places = self.now.mask, self.now.positions.view(rows, self.now.width)
        if self.window is None or self.now.farthest - self.now.length < self.window:
            return mask
        far = places[:, :, None] - places[:, None, :] >= self.window
        if mask is None:
            far = far | torch.ones(far.shape[1:], dtype=torch.bool, device=far.device).triu(1)
            mask = torch.zeros((), dtype=self.query.dtype, device=far.device)
        return torch.where(far[:, None], hidden(self.query.dtype), mask)


AttentionInterface.register(NAME, attend)
