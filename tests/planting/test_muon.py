"""The optimizer of the layers' matrices: PyTorch's own, computed in float32."""

import pytest
import torch

from almanac.planting.muon import Muon, orthogonal

SHAPES = [(6, 6), (12, 5), (5, 12), (8, 1)]
RATE, MOMENTUM, DECAY, STEPS = 0.02, 0.95, 0.01, 5


def weights():
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]


def after_steps(optimizer, matrices):
    """Change the matrices ten times, by gradients that depend on them."""
    for step in range(10):
        optimizer.zero_grad()
        sum(((matrix - step) ** 2).mean() + matrix.sin().sum() for matrix in matrices).backward()
        optimizer.step()
    return matrices


def test_it_is_pytorchs_but_for_bfloat16(monkeypatch):
    mine, theirs = weights(), weights()
    after_steps(Muon(mine, RATE, MOMENTUM, DECAY, STEPS), mine)
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    peer = torch.optim.Muon(theirs, lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, ns_steps=STEPS)
    after_steps(peer, theirs)
    for own, other in zip(mine, theirs, strict=True):
        assert torch.equal(own, other)


def test_pytorchs_in_bfloat16_goes_the_same_way():
    mine, theirs, start = weights(), weights(), weights()
    after_steps(Muon(mine, RATE, MOMENTUM, DECAY, STEPS), mine)
    peer = torch.optim.Muon(theirs, lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, ns_steps=STEPS)
    after_steps(peer, theirs)
    for own, other, first in zip(mine, theirs, start, strict=True):
        assert (own - other).norm() < 0.05 * (own - first).norm()


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_the_singular_values_of_an_update_are_near_one(shape):
    torch.manual_seed(2)
    matrix = torch.randn(shape)
    found = orthogonal(matrix, STEPS)
    assert found.shape == matrix.shape and found.dtype == torch.float32
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.5 and values.max() < 1.5
    # The singular vectors stay: what is left of the matrix in its own directions is diagonal and positive.
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    inner = left.T @ found @ right.T
    assert torch.allclose(inner, torch.diag(inner.diag()), atol=1e-3) and (inner.diag() > 0).all()
