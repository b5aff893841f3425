"""Scores masked models: each distinct masked input is run once, in batches of equal length.

Attention goes both ways, so that masked inputs share no computation. What is saved: equal inputs are run once (the
choices of one blank share their first), rows are not padded, and after the last attention only the position of the mask
is computed, above all by the output head (`MaskedModel.logits`).
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
    """A masked input and the values that are read off it.

    Attributes:
        ids: special ones included, with masks in place.
        position: the position of the predicted mask.
        values: log-probabilities (nats) by token.
        places: the indices of the places that want its whole distribution.
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
    """Score the parts of sequences by ``pll_l2r``, and compute distributions at masks in the same forward passes.

    Args:
        model: the model.
        sequences: the sequences to score.
        places: ids, special ones included, and the position of the mask whose distribution is wanted.
        on_row: called with a place's index and its log-probabilities ``(vocabulary,)``, nats, on the CPU.
        budget: the most tokens in a batch; by default what the device and the vocabulary allow.

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

    # Each token of a batch costs one logit per word of the vocabulary, unless the head is applied to masks only.
    budget = budget or token_budget(model.device, 1 if model.gathers else model.vocabulary)
    run_batches(list(inputs.values()), lambda one: len(one.ids), work, budget, even=True)
    return by_part(iter([one.values[token] for one, token in asked]), sequences)


def distributions(model: MaskedModel, places: Sequence[Place], budget: int | None = None) -> list[Tensor]:
    """Return the log-probabilities of the whole vocabulary at the mask of each place, as `reference.distributions`."""
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
