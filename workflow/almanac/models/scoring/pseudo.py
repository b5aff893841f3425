"""Masked models fast: each distinct masked input once, rows of one length together, the head at the mask alone.

Nothing of one masked input can serve another, since attention goes both ways; what is saved is the same input asked
twice (the choices of one blank share their first), padding, and what is done at other positions behind the last
attention, the head above all (`MaskedModel.logits`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.masked import MaskedModel
from almanac.models.scoring.batching import rows_at_once, run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.reference import by_part, log_softmax, masked_inputs

ENGINE = "pseudo/1"

Place = tuple[tuple[int, ...], int]


@dataclass(slots=True)
class _Input:
    """A masked input: what is wanted of it.

    Attributes:
        ids: special ones included, with masks in place.
        position: the mask that is predicted.
        values: by token, its log-probability (nats).
        places: the indices of the places that ask for its whole distribution.
    """

    ids: tuple[int, ...]
    position: int
    values: dict[int, float] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)


def score(
    model: MaskedModel,
    sequences: Sequence[TokenSequence],
    places: Sequence[Place] = (),
    on_row: Callable[[int, Tensor], None] | None = None,
    budget: int | None = None,
) -> list[list[list[float]]]:
    """Score the parts of sequences by ``pll_l2r`` and read distributions off masks, in the same forward passes.

    Args:
        model: the model.
        sequences: what to score.
        places: ids, special ones included, and the position of the mask whose distribution is wanted.
        on_row: takes a place's index and its log-probabilities ``(vocabulary,)``, nats, on the CPU.
        budget: the most tokens of a batch; by default what the device and the vocabulary allow.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.
    """
    inputs: dict[Place, _Input] = {}
    asked: list[tuple[_Input, int]] = []
    for sequence in sequences:
        for ids, position, token in masked_inputs(model, sequence):
            one = inputs.setdefault((ids, position), _Input(ids, position))
            one.values[token] = 0.0
            asked.append((one, token))
    for index, place in enumerate(places):
        inputs.setdefault(place, _Input(*place)).places.append(index)

    def work(batch: list[_Input]) -> list[None]:
        _read(model, batch, on_row)
        return [None] * len(batch)

    # A token of a batch costs as many logits as the vocabulary has, unless the head reads the masks only.
    budget = budget or token_budget(model.device, 1 if model.gathers else model.vocabulary)
    run_batches(list(inputs.values()), lambda one: len(one.ids), work, budget, even=True)
    return by_part(iter([one.values[token] for one, token in asked]), sequences)


def distributions(model: MaskedModel, places: Sequence[Place], budget: int | None = None) -> list[Tensor]:
    """Return the log-probabilities of the whole vocabulary at one mask a place, as `reference.distributions`."""
    rows: dict[int, Tensor] = {}
    score(model, (), places, rows.__setitem__, budget)
    return [rows[index] for index in range(len(places))]


@torch.inference_mode()
def _read(model: MaskedModel, batch: Sequence[_Input], on_row: Callable[[int, Tensor], None] | None) -> None:
    ids = torch.tensor([one.ids for one in batch], dtype=torch.long, device=model.device)
    positions = torch.tensor([one.position for one in batch], dtype=torch.long, device=model.device)
    logits = model.logits(ids, positions)  # (rows, vocabulary)
    step = rows_at_once(model.device)
    for start in range(0, len(batch), step):
        some = batch[start : start + step]
        logprobs = log_softmax(logits[start : start + step])
        pairs = [(row, token) for row, one in enumerate(some) for token in one.values]
        index = torch.tensor(pairs, dtype=torch.long, device=model.device).reshape(-1, 2).T
        for (row, token), value in zip(pairs, logprobs[index[0], index[1]].tolist(), strict=True):
            some[row].values[token] = value
        if on_row is not None:
            for row, one in enumerate(some):
                for place in one.places:
                    on_row(place, logprobs[row].cpu())
