"""The reference: plain forward passes over whole sequences. Every faster backend is tested against it.

A causal model reads one sequence per row, from first token to last, padded on the right. A masked model reads one
masked input per row, and an encoder-decoder one text and one answer. Their rows are not padded, since some encoders
(FNet's) mix padding in. Log-probabilities are a float32 log-softmax (nats), summed in float64.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.registry import Model
from almanac.models.scoring.batching import Job, Result, run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.seq2seq import Seq2SeqModel

ENGINE = "reference/1"


def score(model: Model, sequences: Sequence[TokenSequence], budget: int | None = None) -> list[list[list[float]]]:
    """Score the parts of sequences.

    Args:
        model: causal, masked (its score is the pseudo-log-likelihood ``pll_l2r``), or an encoder-decoder.
        sequences: the sequences to score; for an encoder-decoder, the encoder reads the head.
        budget: the most tokens in a batch; by default what the device and the vocabulary allow.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.
    """
    budget = budget or token_budget(model.device, model.vocabulary)
    if isinstance(model, MaskedModel):
        return _score_masked(model, sequences, budget)
    if isinstance(model, Seq2SeqModel):
        return [_score_answer(model, sequence) for sequence in sequences]
    return _run(model, sequences, lambda sequence: sequence.length, lambda batch: _score_causal(model, batch), budget)


def rope_switch(model: Model) -> int | None:
    """Return the number of tokens beyond which a model reads the whole text with other rotary frequencies, if any.

    Transformers chooses the frequencies by the longest text of a batch (``longrope``: Phi-3 with 128k, Phi-3.5). So
    texts above and below this bound must not share a batch, and a longer text must not continue a shorter one's cache.
    """
    rope = getattr(model.network.config.get_text_config(), "rope_parameters", None) or {}
    kinds = [rope, *(one for one in rope.values() if isinstance(one, dict))]
    lengths = [int(one["original_max_position_embeddings"]) for one in kinds if one.get("rope_type") == "longrope"]
    return min(lengths, default=None)


def _run(
    model: Model,
    jobs: Sequence[Job],
    length: Callable[[Job], int],
    work: Callable[[list[Job]], list[Result]],
    budget: int,
    even: bool = False,
) -> list[Result]:
    """Run jobs in batches, none of which mixes jobs below and above the model's `rope_switch`; see `run_batches`."""
    bound = rope_switch(model)
    beyond = [bound is not None and length(job) > bound for job in jobs]
    found: dict[int, Result] = {}
    for far in (False, True):
        some = [index for index in range(len(jobs)) if beyond[index] == far]
        found.update(zip(some, run_batches([jobs[index] for index in some], length, work, budget, even), strict=True))
    return [found[index] for index in range(len(jobs))]


def padding(model: Model) -> int:
    """Return an id to pad with: 0 if the padding token has no embedding, since it was added to the tokenizer alone."""
    return model.tokens.pad_id if model.tokens.pad_id < model.vocabulary else 0


def padded(model: Model, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return rows of ids padded on the right, and their attention mask, both ``(rows, tokens)``."""
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), padding(model), dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[index, : len(row)] = 1
    return ids.to(model.device), mask.to(model.device)


def log_softmax(logits: Tensor) -> Tensor:
    """Return float32 log-probabilities (nats) of logits ``(…, vocabulary)``.

    The largest logit is subtracted first, so that a token 1e6 nats less likely than the best gets about -1e6, not -inf.
    """
    return torch.log_softmax(logits.float(), dim=-1)


def _causal_logits(model: CausalModel, ids: Tensor, mask: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """Return logits ``(places, vocabulary)`` at some places; the output head is applied to no other column.

    Args:
        model: the model.
        ids: ``(rows, tokens)``, padded.
        mask: ``(rows, tokens)``, the attention mask.
        rows: ``(places,)``, the row of each place.
        places: ``(places,)``, the column of each place.
    """
    columns, column = torch.unique(places, return_inverse=True)
    options = {"logits_to_keep": columns} if model.keeps_logits else {}
    logits: Tensor = model.network(input_ids=ids, attention_mask=mask, use_cache=False, **options).logits
    return logits[rows, column if model.keeps_logits else places]


@torch.inference_mode()
def _score_causal(model: CausalModel, batch: list[TokenSequence]) -> list[list[list[float]]]:
    ids, mask = padded(model, [sequence.ids for sequence in batch])
    places = [
        (row, position)
        for row, sequence in enumerate(batch)
        for start, stop in sequence.parts
        for position in range(start, stop)
    ]
    rows = torch.tensor([row for row, _ in places], dtype=torch.long, device=ids.device)
    positions = torch.tensor([position for _, position in places], dtype=torch.long, device=ids.device)
    chosen = log_softmax(_causal_logits(model, ids, mask, rows, positions - 1))  # (places, vocabulary)
    values = iter(chosen.gather(1, ids[rows, positions][:, None])[:, 0].tolist())
    return [[[next(values) for _ in range(start, stop)] for start, stop in sequence.parts] for sequence in batch]


def _score_masked(model: MaskedModel, sequences: Sequence[TokenSequence], budget: int) -> list[list[list[float]]]:
    """Score by ``pll_l2r``, every masked input by itself."""
    inputs = [one for sequence in sequences for one in masked_inputs(model, sequence)]

    def work(batch: list[MaskedInput]) -> list[float]:
        values = _distributions(model, [(ids, position) for ids, position, _ in batch])
        return [float(values[row, target]) for row, (_, _, target) in enumerate(batch)]

    return by_part(iter(run_batches(inputs, lambda one: len(one[0]), work, budget, even=True)), sequences)


MaskedInput = tuple[tuple[int, ...], int, int]  # Ids with masks in place, the scored position, the token scored there.


def masked_inputs(model: MaskedModel, sequence: TokenSequence) -> list[MaskedInput]:
    """Return the masked input of each scored token, by ``pll_l2r``: the token and the rest of its part are masked."""
    ids = sequence.ids
    return [
        ((*ids[:position], *[model.mask_id] * (stop - position), *ids[stop:]), position, ids[position])
        for start, stop in sequence.parts
        for position in range(start, stop)
    ]


def by_part(values: Iterator[float], sequences: Sequence[TokenSequence]) -> list[list[list[float]]]:
    """Arrange the values of all scored tokens, in order, as ``values[sequence][part][token]``."""
    return [[[next(values) for _ in range(*part)] for part in sequence.parts] for sequence in sequences]


@torch.inference_mode()
def _score_answer(model: Seq2SeqModel, sequence: TokenSequence) -> list[list[float]]:
    text, answer = (torch.tensor([ids], device=model.device) for ids in (sequence.head, sequence.tail))
    logits = model.network(input_ids=text, decoder_input_ids=answer, use_cache=False).logits[0]
    values = log_softmax(logits[:-1]).gather(1, answer[0, 1:, None])[:, 0].tolist()  # Of all tokens but the first.
    shift = len(sequence.head) + 1
    return [values[start - shift : stop - shift] for start, stop in sequence.parts]


def distributions(
    model: Model, places: Sequence[tuple[tuple[int, ...], int]], budget: int | None = None
) -> list[Tensor]:
    """Return the log-probabilities of the whole vocabulary at one position of each sequence.

    Args:
        model: the model.
        places: ids, special ones included, and the predicted position. For a masked model it holds a mask; for a
            causal model it may be the position after the last token.
        budget: the most tokens in a batch.

    Returns:
        For each place ``(vocabulary,)`` in nats, on the CPU.
    """
    return _run(
        model,
        places,
        lambda place: len(place[0]),
        lambda batch: list(_distributions(model, batch).cpu()),
        budget or token_budget(model.device, model.vocabulary),
        even=isinstance(model, MaskedModel),
    )


@torch.inference_mode()
def _distributions(model: Model, batch: Sequence[tuple[tuple[int, ...], int]]) -> Tensor:
    if isinstance(model, Seq2SeqModel):
        raise TypeError("an encoder-decoder has no distribution at a position of a text")
    ids, mask = padded(model, [row for row, _ in batch])
    positions = torch.tensor([position - model.FIRST for _, position in batch], dtype=torch.long, device=ids.device)
    if isinstance(model, MaskedModel):
        return log_softmax(model.plain_logits(ids, mask, positions))
    return log_softmax(_causal_logits(model, ids, mask, torch.arange(len(batch), device=ids.device), positions))
