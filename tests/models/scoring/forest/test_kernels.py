import math

import pytest
import torch

from almanac.models.scoring.forest import kernels

CPU = torch.device("cpu")


def some(dtype=torch.float32, batch=2, tokens=7, keys=9):
    draws = torch.Generator().manual_seed(1)
    q = torch.randn(batch, 4, tokens, 16, generator=draws).to(dtype)
    k, v = (torch.randn(batch, 4, keys, 16, generator=draws).to(dtype) for _ in range(2))
    return q, k, v


def softmax_attention(q, k, v, scale, mask=None, softcap=None, sink=None):
    """Attend as textbooks write it, in float64."""
    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(-1, -2) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.double().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], dim=-1)
    shares = torch.softmax(scores, dim=-1)[..., : k.shape[2]]
    return shares @ v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_the_fused_kernel_is_used_on_the_cpu_and_is_right(dtype):
    kernel = kernels.choose(CPU, dtype, 16)
    assert kernel is kernels.FUSED["cpu"]
    q, k, v = some(dtype)
    out, log = kernel(q, k, v, 0.3, None, False)
    assert torch.allclose(out.double(), softmax_attention(q, k, v, 0.3), atol=kernels.TOLERANCE[dtype])
    assert log.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_the_kernel_of_an_accelerator_takes_a_mask_that_all_heads_share():
    """By shapes alone, which need no accelerator."""
    q, k, v = (one.to("meta") for one in some())
    out, log = kernels.FUSED["cuda"](q, k, v, 0.3, torch.zeros(2, 1, 7, 9, device="meta"), False)
    assert (out.shape, log.shape) == (q.shape, q.shape[:3])


def test_a_kernel_that_is_wrong_or_missing_is_not_used(monkeypatch):
    right = kernels.FUSED["cpu"]

    def shifted(*arguments):
        out, log = right(*arguments)
        return out, log + 0.01

    def missing(*arguments):
        raise NotImplementedError

    for broken in (shifted, missing):
        monkeypatch.setitem(kernels.FUSED, "cpu", broken)
        assert kernels.choose(CPU, torch.float32, 16) is kernels.plain


@pytest.mark.parametrize("split", [1, 4, 8])
@pytest.mark.parametrize("with_sink", [False, True])
@pytest.mark.parametrize("softcap", [None, 0.5])
def test_attention_over_parts_is_attention_over_all(split, with_sink, softcap):
    q, k, v = some()
    sink = torch.tensor([0.5, -1.0, 2.0, 0.0]) if with_sink else None
    parts = [
        kernels.plain(q, k[:, :, place], v[:, :, place], 0.3, None, False, softcap)
        for place in (slice(None, split), slice(split, None))
    ]
    merged = kernels.merge(parts, sink, torch.float32)
    assert torch.allclose(merged.double(), softmax_attention(q, k, v, 0.3, None, softcap, sink), atol=1e-5)


def test_a_query_that_sees_nothing_of_a_part_is_no_nan():
    q, k, v = some()
    nothing = torch.full((2, 1, 7, 5), kernels.hidden(torch.float32))
    for kernel in (kernels.plain, kernels.FUSED["cpu"]):
        unseen = kernel(q, k[:, :, :5], v[:, :, :5], 0.3, nothing, False)
        seen = kernel(q, k[:, :, 5:], v[:, :, 5:], 0.3, None, False)
        merged = kernels.merge([unseen, seen], None, torch.float32)
        assert torch.allclose(merged.double(), softmax_attention(q, k[:, :, 5:], v[:, :, 5:], 0.3), atol=1e-5)


def test_three_parts_with_a_sink():
    q, k, v = some()
    sink = torch.tensor([0.5, -1.0, 2.0, 0.0])
    parts = [kernels.plain(q, k[:, :, i : i + 3], v[:, :, i : i + 3], 0.3, None, False) for i in (0, 3, 6)]
    merged = kernels.merge(parts, sink, torch.float32)
    assert torch.allclose(merged.double(), softmax_attention(q, k, v, 0.3, None, None, sink), atol=1e-5)
