"""Scores choices with a prefix cache: keys and values of the prefix that all sequences share are computed once.

The last token of a sequence is scored but never fed, so choices of one token after the same text share one row. A row
that is a prefix of another is read off that one. Rows are padded on the right, under a cache expanded to their number.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest.trie import overlap
from almanac.models.scoring.reference import log_softmax, padding, rope_switch

ENGINE = "prefix_cache/1"
PLAIN_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)
WORTH = 256  # A second forward pass pays if it saves this many tokens.


class NoCacheError(Exception):
    """The model's cache is not keys and values of each token, or cannot be used for this text."""


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """Tokens fed after the prefix, and what is read off: pairs of a position in the row and the token scored there."""

    ids: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]


def shared_prefix(sequences: Sequence[TokenSequence]) -> int:
    """Return how many tokens all sequences share, not counting the token before the first scored one."""
    first, last = min(one.ids for one in sequences), max(one.ids for one in sequences)
    return min(overlap(first, last), *(start - 1 for one in sequences for start, _ in one.parts))


def is_worth_it(sequences: Sequence[TokenSequence]) -> bool:
    """Return whether a cache saves more than it costs: enough sequences share enough tokens."""
    return (len(sequences) - 1) * shared_prefix(sequences) >= WORTH


def score(model: CausalModel, sequences: Sequence[TokenSequence], budget: int | None = None) -> list[list[list[float]]]:
    """Score the parts of sequences with a common prefix.

    Args:
        model: a causal model.
        sequences: the sequences to score; they share at least one token before the first scored one.
        budget: the most tokens in a batch; in every row, a token of the cache counts a quarter.

    Returns:
        ``values[sequence][part][token]``: log-probabilities in nats.

    Raises:
        NoCacheError: the cache cannot be expanded over rows, or the model reads a text of this length with other
            rotary frequencies than its prefix.
    """
    prefix = shared_prefix(sequences)
    bound, longest = rope_switch(model), max(one.length for one in sequences)
    if bound is not None and longest > bound >= prefix:
        raise NoCacheError(f"a text of {longest} tokens has other rotary frequencies than its first {prefix} alone")
    cache = _prefix_cache(model, sequences[0].ids[:prefix])
    rows, row_of = _rows(sequences, prefix)

    def cost(row: PrefixRow) -> int:
        # A cached token costs less than a fed one: it has keys and values, but no logits.
        return max(len(row.ids), (prefix + len(row.ids)) // 4)

    limit = budget or token_budget(model.device, model.vocabulary)
    answers = run_batches(rows, cost, lambda batch: _read(model, cache, prefix, batch), limit)
    return [
        [
            [answers[row_of[_fed(one, prefix)]][position - 1 - prefix, one.ids[position]] for position in range(*part)]
            for part in one.parts
        ]
        for one in sequences
    ]


@torch.inference_mode()
def _prefix_cache(model: CausalModel, ids: Sequence[int]) -> DynamicCache:
    options = {"logits_to_keep": 1} if model.keeps_logits else {}
    output = model.network(input_ids=torch.tensor([list(ids)], device=model.device), use_cache=True, **options)
    return plain_cache(model, getattr(output, "past_key_values", None))


def plain_cache(model: CausalModel, cache: object) -> DynamicCache:
    """Return a model's cache.

    Raises:
        NoCacheError: it holds something other than keys and values.
    """
    # Subclasses (MiniMax's) keep more than their layers hold.
    if type(cache) is not DynamicCache or not all(type(layer) in PLAIN_LAYERS for layer in cache.layers):
        raise NoCacheError(f"{type(model.network).__name__} keeps no plain cache of keys and values")
    return cache


def expanded(cache: DynamicCache, rows: int) -> DynamicCache:
    """Return the cache of one row expanded to many rows; they can share its memory, since updates make new tensors."""
    many = copy.copy(cache)
    many.layers = []
    for layer in cache.layers:
        wide: Any = copy.copy(layer)
        wide.keys = wide.keys.expand(rows, -1, -1, -1)  # (1, heads, prefix, width) -> (rows, heads, prefix, width)
        wide.values = wide.values.expand(rows, -1, -1, -1)
        many.layers.append(wide)
    return many


def _fed(sequence: TokenSequence, prefix: int) -> tuple[int, ...]:
    """Return the tokens of a sequence that are fed after the prefix, up to the one before the last scored token."""
    return sequence.ids[prefix : max(stop for _, stop in sequence.parts) - 1]


def _rows(sequences: Sequence[TokenSequence], prefix: int) -> tuple[list[PrefixRow], dict[tuple[int, ...], int]]:
    """Return the rows to feed, and a map from each sequence's fed tokens to the index of the row they begin."""
    reads: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for one in sequences:
        wanted = reads.setdefault(_fed(one, prefix), set())
        wanted.update((position - 1 - prefix, one.ids[position]) for part in one.parts for position in range(*part))
    row_of: dict[tuple[int, ...], int] = {}
    rows: list[tuple[tuple[int, ...], set[tuple[int, int]]]] = []
    # In sorted order a row's extensions follow it directly, so walking backwards only the last row must be looked at.
    for ids in sorted(reads, reverse=True):
        if not rows or rows[-1][0][: len(ids)] != ids:
            rows.append((ids, set()))
        rows[-1][1].update(reads[ids])
        row_of[ids] = len(rows) - 1
    return [PrefixRow(ids, tuple(sorted(wanted))) for ids, wanted in rows], row_of


@torch.inference_mode()
def _read(
    model: CausalModel, cache: DynamicCache, prefix: int, batch: list[PrefixRow]
) -> list[dict[tuple[int, int], float]]:
    """Feed rows under the cache and return each row's log-probabilities (nats) by position and token."""
    width = max(len(row.ids) for row in batch)
    ids = torch.full((len(batch), width), padding(model), dtype=torch.long)
    for index, row in enumerate(batch):
        ids[index, : len(row.ids)] = torch.tensor(row.ids, dtype=torch.long)
    columns = sorted({position for row in batch for position, _ in row.reads})
    options: dict[str, Any] = {}
    if model.keeps_logits:
        options["logits_to_keep"] = torch.tensor(columns, device=model.device)
    else:
        columns = list(range(width))
    # Padding stands to the right of every position that is read off, so the causal mask alone hides it.
    logits = model.network(
        input_ids=ids.to(model.device), past_key_values=expanded(cache, len(batch)), use_cache=True, **options
    ).logits  # (rows, columns, vocabulary)
    column_of = {position: index for index, position in enumerate(columns)}
    places = sorted({(row, position) for row, one in enumerate(batch) for position, _ in one.reads})
    place_of = {place: index for index, place in enumerate(places)}
    chosen = log_softmax(logits[[row for row, _ in places], [column_of[position] for _, position in places]])
    wanted = [(row, position, token) for row, one in enumerate(batch) for position, token in one.reads]
    values = chosen[[place_of[row, position] for row, position, _ in wanted], [token for _, _, token in wanted]]
    found: list[dict[tuple[int, int], float]] = [{} for _ in batch]
    for (index, position, token), value in zip(wanted, values.tolist(), strict=True):
        found[index][position, token] = value
    return found
