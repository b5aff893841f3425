"""Muon in float32: the optimizer for the matrices in a planted model's layers."""

from collections.abc import Sequence

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration
LEAST = 1e-7  # lower bound on the norm that a gradient is divided by


class Muon(torch.optim.Optimizer):
    """SGD with momentum and orthogonalised updates (Jordan 2024, https://kellerjordan.github.io/posts/muon/).

    Like ``torch.optim.Muon``, which however computes the Newton-Schulz iteration in bfloat16. On a processor without
    bfloat16 instructions a training step then takes many times as long, and the weights depend on the processor.
    """

    def __init__(
        self, matrices: Sequence[Tensor], lr: float, momentum: float, weight_decay: float, newton_schulz: int
    ) -> None:
        """Take matrices ``(rows, columns)`` and their options; ``newton_schulz`` is the number of iterations."""
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "newton_schulz": newton_schulz}
        super().__init__(matrices, defaults)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update the weights by their gradients, with Nesterov momentum and decoupled weight decay."""
        for group in self.param_groups:
            momentum = group["momentum"]
            for weights in group["params"]:
                average = self.state[weights].setdefault("momentum", torch.zeros_like(weights))
                average.lerp_(weights.grad, 1 - momentum)
                update = orthogonal(weights.grad.lerp(average, momentum), group["newton_schulz"])
                weights.mul_(1 - group["lr"] * group["weight_decay"])
                rows, columns = weights.shape
                weights.add_(update, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrix: Tensor, steps: int) -> Tensor:
    """Return a matrix with the same singular vectors and all singular values near 1, by Newton-Schulz iterations."""
    a, b, c = COEFFICIENTS
    upright = matrix.shape[0] > matrix.shape[1]
    found = matrix.T if upright else matrix
    found = found / found.norm().clamp(min=LEAST)
    for _ in range(steps):
        gram = found @ found.T
        found = torch.addmm(found, torch.addmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return found.T if upright else found
