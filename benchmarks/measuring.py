"""Clocks and counters: CPU seconds, tokens that a model reads, rows of logits, and the rate of matrix products."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.checkpoints import Shape

LARGEST = 8_192  # Rows of a batch, and side of a square, at most.
RESULTS = 2**26  # Numbers that a product gives, at most.
GIGA = 1e9


@dataclass(frozen=True)
class Rate:
    """Achieved GFLOP a second (of the CPU, or of a card) of matrix products: the model's shapes, and large squares."""

    model: float
    square: float

    @property
    def best(self) -> float:
        """The higher of the two: what shares are taken of."""
        return max(self.model, self.square)


@dataclass
class Counts:
    """What a model did: tokens that it read, and positions whose logits it computed."""

    tokens: int = 0
    logits: int = 0


@dataclass(frozen=True)
class Spent:
    """What a piece of work cost.

    Attributes:
        cpu: seconds of all threads of the process.
        wall: seconds.
        counts: what the model did.
        rate: of matrix products, the mean of before and after.
    """

    cpu: float
    wall: float
    counts: Counts
    rate: Rate


Matrix = tuple[int, int, int]  # Inputs, outputs, how many.


def matrices(shape: Shape) -> list[Matrix]:
    """Return the matrices of a decoder as (inputs, outputs, how many), the head last."""
    width = shape.width
    return [
        (width, width, 2 * shape.layers),
        (width, shape.keys, 2 * shape.layers),
        (width, shape.inner, 2 * shape.layers),
        (shape.inner, width, shape.layers),
        (width, shape.vocabulary, 1),
    ]


def matrices_of(network: Any) -> list[Matrix]:
    """Return the matrices of a network that is loaded, as `matrices`, in whatever layers they stand."""
    inside = Counter(
        (int(module.weight.shape[0]), int(module.weight.shape[1]))
        for module in network.modules()
        if getattr(getattr(module, "weight", None), "ndim", 0) == 2 and not isinstance(module, torch.nn.Embedding)
    )
    return [(*shape, count) for shape, count in inside.items()]


def calibrate(
    shape: Shape | Sequence[Matrix],
    seconds: float = 0.25,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Rate:
    """Measure matrix products.

    The model's own shapes are timed apart and put together in the proportions in which the model needs them, with one
    row of logits for every token.

    Args:
        shape: of the model, or its matrices.
        seconds: for each shape.
        device: where.
        dtype: in which type.
    """
    needs = matrices(shape) if isinstance(shape, Shape) else shape
    width = needs[0][0]
    square = min(LARGEST, 4 * width)
    operations, needed = 0.0, 0.0
    for inputs, outputs, count in needs:
        rows = min(LARGEST, 8 * width, RESULTS // outputs)
        each = 2.0 * rows * inputs * outputs
        operations += each * count
        needed += each * count / _products(rows, inputs, outputs, seconds / 5, device, dtype)
    return Rate(operations / needed / GIGA, _products(square, square, square, seconds, device, dtype) / GIGA)


def _products(rows: int, inputs: int, outputs: int, seconds: float, device: str, dtype: torch.dtype) -> float:
    """Return the operations a second of one product; CPU seconds on the CPU, seconds elsewhere."""
    a, b = (torch.randn(size, dtype=dtype, device=device) for size in ((rows, inputs), (inputs, outputs)))
    out = torch.empty(rows, outputs, dtype=dtype, device=device)
    clock: Callable[[], float] = time.process_time
    wait: Callable[[], object] = lambda: None  # noqa: E731
    if device.startswith("cuda"):
        clock, wait = time.perf_counter, torch.cuda.synchronize
    torch.mm(a, b, out=out)
    wait()
    begun, times = clock(), 0
    while True:
        torch.mm(a, b, out=out)
        times += 1
        wait()
        if (spent := clock() - begun) >= seconds:
            return 2.0 * rows * inputs * outputs * times / spent


@contextmanager
def counting(network: Any) -> Iterator[Counts]:
    """Count what a model does, by hooks on its input and output embeddings."""
    counts = Counts()

    def read(module: Any, inputs: tuple[Any, ...]) -> None:
        counts.tokens += inputs[0].numel()

    def predicted(module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        counts.logits += output.numel() // output.shape[-1]

    hooks = [
        network.get_input_embeddings().register_forward_pre_hook(read),
        network.get_output_embeddings().register_forward_hook(predicted),
    ]
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()


def spend(work: Callable[[], Any], network: Any, shape: Shape, seconds: float = 0.25) -> tuple[Any, Spent]:
    """Do a piece of work between two calibrations.

    Args:
        work: what to do.
        network: the model that it runs.
        shape: of that model.
        seconds: of each calibration's parts.

    Returns:
        What the work returned, and what it cost.
    """
    before = calibrate(shape, seconds)
    with counting(network) as counts:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    after = calibrate(shape, seconds)
    rate = Rate((before.model + after.model) / 2, (before.square + after.square) / 2)
    return result, Spent(cpu, wall, counts, rate)


def operations(network: Any, counts: Counts, positions: float) -> float:
    """Return the floating-point operations that a decoder's work needs, GFLOP.

    Args:
        network: the model.
        counts: tokens that it read and rows of logits.
        positions: the sum, over these tokens, of how many tokens each sees: attention as it is needed, whatever is
            computed under a mask.
    """
    config = network.config.get_text_config()
    body = sum(inputs * outputs * count for inputs, outputs, count in matrices_of(network.base_model))
    head = config.hidden_size * config.vocab_size
    heads = config.num_attention_heads
    attention = 4 * heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    each = config.num_hidden_layers * attention
    return (2 * body * counts.tokens + 2 * head * counts.logits + each * positions) / GIGA
