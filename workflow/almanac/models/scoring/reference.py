"""The reference: plain forward passes over whole sequences. Every faster way is tested against it.

A causal model reads each sequence from its first token to its last, one row a sequence, padded on the right; a masked
model reads one row a masked input. Log-probabilities are a float32 log-softmax (nats), summed in float64.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.registry import Model
from almanac.models.scoring.batching import run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence

ENGINE = "reference/1"


def score(model: Model, sequences: Sequence[TokenSequence], budget: int | None = None) -> list[list[list[float]]]:
    """Score the parts of sequences.

    Args:
        model: causal, or masked (then the score is the pseudo-log-likelihood ``pll_l2r``).
        sequences: what to score.
        budget: the most tokens of a batch; by default what the device and the vocabulary allow.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.
    """
    if isinstance(model, MaskedModel):
        return _score_masked(model, sequences, budget)
    return run_batches(
        sequences,
        lambda sequence: len(sequence.ids),
        lambda batch: _score_causal(model, batch),
        budget or token_budget(model.device, model.vocabulary),
    )


def padded(model: Model, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return rows of ids padded on the right, and their attention mask, both ``(rows, tokens)``."""
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), model.tokens.pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[index, : len(row)] = 1
    return ids.to(model.device), mask.to(model.device)


def log_softmax(logits: Tensor) -> Tensor:
    """Return float32 log-probabilities (nats) of logits ``(…, vocabulary)``.

    It subtracts the largest logit first, so that a token 1e6 nats less likely than the best gets about -1e6, not -inf.
    """
    return torch.log_softmax(logits.float(), dim=-1)


@torch.inference_mode()
def _score_causal(model: CausalModel, batch: list[TokenSequence]) -> list[list[list[float]]]:
    ids, mask = padded(model, [sequence.ids for sequence in batch])
    logits = model.network(input_ids=ids, attention_mask=mask, use_cache=False).logits  # (rows, tokens, vocabulary)
    places = [
        (row, position)
        for row, sequence in enumerate(batch)
        for start, stop in sequence.parts
        for position in range(start, stop)
    ]
    rows = torch.tensor([row for row, _ in places], dtype=torch.long, device=ids.device)
    positions = torch.tensor([position for _, position in places], dtype=torch.long, device=ids.device)
    chosen = log_softmax(logits[rows, positions - 1])  # (places, vocabulary)
    values = iter(chosen.gather(1, ids[rows, positions][:, None])[:, 0].tolist())
    return [[[next(values) for _ in range(start, stop)] for start, stop in sequence.parts] for sequence in batch]


def _score_masked(
    model: MaskedModel, sequences: Sequence[TokenSequence], budget: int | None
) -> list[list[list[float]]]:
    """Score by ``pll_l2r``. Equal masked inputs, such as those of choices of one token, are read once."""
    inputs: dict[tuple[tuple[int, ...], int], dict[int, float]] = {}
    for sequence in sequences:
        for key, target in _masked_inputs(model, sequence):
            inputs.setdefault(key, {})[target] = 0.0
    keys = list(inputs)
    wanted = [(ids, position, tuple(inputs[ids, position])) for ids, position in keys]

    def work(batch: list[tuple[tuple[int, ...], int, tuple[int, ...]]]) -> list[list[float]]:
        values = _distributions(model, [(ids, position) for ids, position, _ in batch])
        return [values[row, list(targets)].tolist() for row, (_, _, targets) in enumerate(batch)]

    budget = budget or token_budget(model.device, model.vocabulary)
    for (ids, position, targets), values in zip(
        wanted, run_batches(wanted, lambda job: len(job[0]), work, budget), strict=True
    ):
        inputs[ids, position] = dict(zip(targets, values, strict=True))
    scored = []
    for sequence in sequences:
        found = iter([inputs[key][target] for key, target in _masked_inputs(model, sequence)])
        scored.append([[next(found) for _ in range(start, stop)] for start, stop in sequence.parts])
    return scored


def _masked_inputs(model: MaskedModel, sequence: TokenSequence) -> list[tuple[tuple[tuple[int, ...], int], int]]:
    """Return, for each scored token, the masked input, the position and the token."""
    ids = sequence.ids
    return [
        (((*ids[:position], *[model.mask_id] * (stop - position), *ids[stop:]), position), ids[position])
        for start, stop in sequence.parts
        for position in range(start, stop)
    ]


def distributions(
    model: Model, places: Sequence[tuple[tuple[int, ...], int]], budget: int | None = None
) -> list[Tensor]:
    """Return the log-probabilities of the whole vocabulary at one place a sequence.

    Args:
        model: the model.
        places: ids, special ones included, and the position that is predicted: that of a mask for a masked model; for
            a causal model it may be the position after the last token.
        budget: the most tokens of a batch.

    Returns:
        For each place ``(vocabulary,)`` in nats, on the CPU.
    """
    return run_batches(
        places,
        lambda place: len(place[0]),
        lambda batch: list(_distributions(model, batch).cpu()),
        budget or token_budget(model.device, model.vocabulary),
    )


@torch.inference_mode()
def _distributions(model: Model, batch: Sequence[tuple[tuple[int, ...], int]]) -> Tensor:
    ids, mask = padded(model, [row for row, _ in batch])
    options = {"use_cache": False} if isinstance(model, CausalModel) else {}
    logits = model.network(input_ids=ids, attention_mask=mask, **options).logits  # (rows, tokens, vocabulary)
    positions = torch.tensor([position - model.FIRST for _, position in batch], dtype=torch.long, device=ids.device)
    return log_softmax(logits[torch.arange(len(batch), device=ids.device), positions])
