"""Attention that also returns its log-sum-exp, so that attention over two sets of keys can be merged.

A kernel takes queries ``(B, H, T, d)``, keys and values ``(B, H, S, d)``, a scale, and a mask that is added to the
scores (``(B, 1, T, S)``, or none, or ``causal``). It returns the output ``(B, H, T, d)`` and the log-sum-exp of the
scores ``(B, H, T)``, in float32 or wider.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

Attended = tuple[Tensor, Tensor]
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}


class Kernel(Protocol):
    """A way to compute attention and its log-sum-exp."""

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None, causal: bool) -> Attended:
        """Attend; see the module."""


def hidden(dtype: torch.dtype) -> float:
    """Return the number added to a score to hide a key; it is finite, so that a row of hidden keys is not NaN."""
    return torch.finfo(dtype).min / 2


def _wide(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.float()


def plain(
    q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None, causal: bool, softcap: float | None = None
) -> Attended:
    """Attend without a fused kernel: correct on every device, for every dtype, and with capped scores."""
    scores = _wide(q @ k.transpose(-1, -2)) * scale  # (B, H, T, S)
    if softcap:
        scores = torch.tanh(scores / softcap) * softcap
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, hidden(scores.dtype))
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    lse = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - lse[..., None]).to(v.dtype) @ v, lse


def _cpu(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None, causal: bool) -> Attended:
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, causal, attn_mask=mask, scale=scale
    )
    return out, _wide(lse)


def _cuda(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None, causal: bool) -> Attended:
    if mask is None and q.dtype in (torch.float16, torch.bfloat16):
        out, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)
        return out, lse.float()
    if mask is not None:
        # The kernel reads the mask in vectors: each row must begin at a multiple of eight.
        width = mask.shape[-1]
        room = torch.nn.functional.pad(mask, (0, -width % 8))
        mask = room[..., :width].expand(q.shape[0], q.shape[1], q.shape[2], width)
    out, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, mask, True, 0.0, causal, scale=scale)
    return out, lse[..., : q.shape[2]].float()  # The kernel pads its log-sum-exp.


FUSED: dict[str, Kernel] = {"cpu": _cpu, "cuda": _cuda}


def choose(device: torch.device, dtype: torch.dtype, width: int) -> Kernel:
    """Return the fused kernel of the device if it computes correctly here, else the plain one.

    Args:
        device: the device that the model runs on.
        dtype: the dtype of its activations.
        width: the size of an attention head.
    """
    fused = FUSED.get(device.type)
    if fused is not None and _agrees(fused, device, dtype, width):
        return fused
    return plain


def _agrees(kernel: Kernel, device: torch.device, dtype: torch.dtype, width: int) -> bool:
    """Return whether a kernel agrees with the plain one: with a mask, without one, and causally."""
    draws = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 2, 24, width, generator=draws).to(device, dtype) for _ in range(3))
    mask = torch.zeros(2, 1, 24, 24, dtype=dtype, device=device)
    mask[:, :, :, 5:9] = hidden(dtype)
    cases: list[tuple[Tensor | None, bool]] = [(None, False), (mask, False), (None, True)]
    attempt: Callable[..., Attended] = kernel
    for bias, causal in cases:
        try:
            out, lse = attempt(q, k, v, width**-0.5, bias, causal)
        except (RuntimeError, NotImplementedError):
            return False
        right, log = plain(q.double(), k.double(), v.double(), width**-0.5, bias, causal)
        gap = max(float((out - right).abs().max()), float((lse - log).abs().max()))
        if not gap <= TOLERANCE[dtype]:
            return False
    return True


def merge(parts: list[Attended], sink: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Merge attention over disjoint sets of keys into attention over all of them.

    Args:
        parts: output ``(B, H, T, d)`` and log-sum-exp ``(B, H, T)`` of each set.
        sink: ``(H,)``, scores of a sink, which takes a share of the attention and has no value; or None.
        dtype: the dtype of the result.
    """
    logs = [log for _, log in parts]
    if sink is not None:
        logs.append(sink.float().view(1, -1, 1).expand_as(logs[0]))
    if len(logs) == 1:
        return parts[0][0].to(dtype)
    if len(logs) == 2 and sink is None:
        share = torch.sigmoid(logs[1] - logs[0])[..., None]
        return torch.lerp(_wide(parts[0][0]), _wide(parts[1][0]), share).to(dtype)
    shares = torch.softmax(torch.stack(logs), dim=0)[..., None]
    return torch.stack([share * _wide(out) for share, (out, _) in zip(shares, parts, strict=False)]).sum(0).to(dtype)
