"""Limits the size of a network to that of its weights, since a config file may ask for a network of any size."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module

from almanac.errors import AlmanacError
from almanac.models.checkpoint import all_tensors

SPARE = 2**26  # numbers, and
TENSORS = 10_000  # tensors, allowed in addition to the weights: for buffers, positions, an unused head
TWICE = 2  # an output layer is built before it is tied to the embeddings, so it counts twice
FOLDED = 8  # numbers that a byte of quantised weights may stand for, this doubling included
SPLIT = 4  # the most tensors of the network that a tensor of the file may be cut into


@contextmanager
def bounded(folder: Path, quantised: bool) -> Iterator[None]:
    """Allow only networks that the weights can fill to be built in this block, on the meta device as transformers does.

    Args:
        folder: the checkpoint with the weights.
        quantised: whether the weights are packed.

    Raises:
        AlmanacError: the config asks for a larger network.
    """
    found = all_tensors(folder)
    numbers = sum(FOLDED * (one.data_offsets[1] - one.data_offsets[0]) for one in found)
    numbers = SPARE + (numbers if quantised else TWICE * sum(prod(one.shape) for one in found))
    tensors = TENSORS + SPLIT * len(found)
    built: dict[int, Any] = {}
    total = 0

    def count(_: torch.nn.Module, name: str, value: Any) -> None:
        nonlocal total
        if value is None or value.device.type != "meta" or id(value) in built:
            return
        built[id(value)] = value  # a reference, so that no other tensor gets its id
        total += value.numel()
        if total > numbers or len(built) > tensors:
            raise AlmanacError(
                f"model {folder}: config.json asks for more than the weights hold: {name} {list(value.shape)} makes it "
                f"{total} numbers in {len(built)} tensors, and {len(found)} tensors with "
                f"{sum(prod(one.shape) for one in found)} numbers are there; use the config that was saved with them"
            )

    hooks = [
        module.register_module_parameter_registration_hook(count),
        module.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
