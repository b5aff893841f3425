"""Chooses the device that a model runs on: an accelerator if there is one; each process takes a free card."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from almanac.errors import AlmanacError
from almanac.models.cards import take

LOCKS = Path(tempfile.gettempdir()) / "almanac-cards"
_held: dict[str, int] = {}  # By card that this process uses, the open file that locks it.


def check(device: str) -> None:
    """Check that a device exists.

    Raises:
        AlmanacError: it does not; the message says what is allowed.
    """
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    missing = device.startswith("cuda") and int(device.partition(":")[2] or 0) >= cards
    if missing or (device == "mps" and not torch.backends.mps.is_available()):
        raise AlmanacError(f"device is {device!r} and there is no such accelerator; use auto or cpu")


def kind(wanted: str, cuda: bool, mps: bool) -> str:
    """Return the device that a name stands for: ``auto`` is CUDA if available, else MPS, else the CPU."""
    if wanted != "auto":
        return wanted
    return "cuda" if cuda else "mps" if mps else "cpu"


def resolve(wanted: str) -> torch.device:
    """Return the device to run on; if it is a card that was chosen here, stderr names it.

    ``auto`` and ``cuda`` take a card that no other process of Almanac uses, out of those that CUDA_VISIBLE_DEVICES
    leaves. If all are in use, they take the card with the most free memory. A card that is named is always used.
    """
    device = torch.device(kind(wanted, torch.cuda.is_available(), torch.backends.mps.is_available()))
    if device.type != "cuda" or device.index is not None:
        return device
    cards = [_identity(index) for index in range(torch.cuda.device_count())]
    index = next((index for index, card in enumerate(cards) if card in _held), None)
    if index is None:
        index = _new(cards)
    return torch.device("cuda", index)


def _new(cards: Sequence[str]) -> int:
    taken = take(cards, LOCKS)
    if taken is None:
        index = max(range(len(cards)), key=lambda card: torch.cuda.mem_get_info(card)[0])
        note = "all are in use; this one has the most free memory"
    else:
        index, _held[cards[taken[0]]] = taken
        note = "for this process alone"
    print(f"cuda:{index} of {len(cards)} cards ({torch.cuda.get_device_name(index)}): {note}", file=sys.stderr)
    return index


def _identity(index: int) -> str:
    """Return a card's UUID, which, unlike the index, does not depend on CUDA_VISIBLE_DEVICES."""
    return str(getattr(torch.cuda.get_device_properties(index), "uuid", index))


def describe(device: torch.device) -> str:
    """Return a device in words: its kind and, for a card, the model but not the index, which makes no difference."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
