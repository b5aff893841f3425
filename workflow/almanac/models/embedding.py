"""Similarity of two texts by a model's hidden states: BERTScore of their tokens, and the distance of their means.

BERTScore is that of Zhang et al. (2020), section 3, without idf and without rescaling.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from almanac.models.registry import Model
from almanac.models.seq2seq import Seq2SeqModel

ENGINE = "embedding/1"
BATCH = 64  # texts in a forward pass
PAIRS = 256  # pairs whose embeddings are held in memory at once


@dataclass(frozen=True)
class Text:
    """Token ids of a text, special ones included; the text's own tokens are ``ids[start:end]``."""

    ids: tuple[int, ...]
    start: int
    end: int


class Similarity(NamedTuple):
    """BERTScore of a text against another, and their distance: 1 minus the cosine of the means of their tokens."""

    precision: float
    recall: float
    f1: float
    distance: float


def read(model: Model, text: str) -> Text:
    """Return a text with the special tokens that the model puts around one."""
    own = model.tokens.ids(text)
    ids, before = model.wrap(own)
    return Text(ids, before, before + len(own))


def similarities(model: Model, pairs: Sequence[tuple[Text, Text]], layer: int | None = None) -> list[Similarity]:
    """Return the similarity of the texts of each pair.

    Args:
        model: the model that gives the hidden states; of an encoder-decoder, its encoder.
        pairs: pairs of a candidate and a reference text; both have at least one token that is not special.
        layer: the layer of the hidden states; 0 is the input of the first layer, None the last layer.

    Raises:
        ValueError: the model has no such layer.
    """
    found = []
    for start in range(0, len(pairs), PAIRS):
        some = pairs[start : start + PAIRS]
        vectors = embed(model, [text.ids for pair in some for text in pair], layer)
        for one, other in some:
            found.append(compare(vectors[one.ids], vectors[other.ids], (one.start, one.end), (other.start, other.end)))
    return found


@torch.inference_mode()
def embed(
    model: Model, texts: Sequence[tuple[int, ...]], layer: int | None = None
) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Return the embeddings of texts, ``(tokens, width)`` each; see `similarities`.

    Only texts of equal length share a batch, so that nothing is padded: a text is read as if it were alone.
    """
    network: Any = model.network.get_encoder() if isinstance(model, Seq2SeqModel) else model.network.base_model
    by_length: dict[int, dict[tuple[int, ...], None]] = defaultdict(dict)
    for ids in texts:
        by_length[len(ids)][ids] = None
    found: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for equally_long in map(list, by_length.values()):
        for start in range(0, len(equally_long), BATCH):
            some = equally_long[start : start + BATCH]
            read_together = torch.tensor(some, device=model.device)  # (texts, tokens)
            states = network(input_ids=read_together, output_hidden_states=True).hidden_states
            if layer is not None and not 0 <= layer < len(states):
                raise ValueError(f"the model has the layers 0 to {len(states) - 1}; found {layer}")
            chosen = states[-1 if layer is None else layer]  # (texts, tokens, width)
            found |= zip(some, chosen.double().cpu().numpy(), strict=True)
    return found


def compare(
    candidate: NDArray[np.float64],
    reference: NDArray[np.float64],
    candidate_span: tuple[int, int],
    reference_span: tuple[int, int],
) -> Similarity:
    """Return the similarity of two texts.

    Each token's cosine with the most similar token of the other text is averaged over the candidate's own tokens
    (precision) and over the reference's own tokens (recall). Special tokens can be matched but are not averaged over.

    Args:
        candidate: embeddings of the candidate's tokens, ``(tokens, width)``.
        reference: embeddings of the reference's tokens, ``(tokens, width)``.
        candidate_span: start and end of the candidate's own tokens.
        reference_span: start and end of the reference's own tokens.
    """
    mine, theirs = slice(*candidate_span), slice(*reference_span)
    cosines = _unit(candidate) @ _unit(reference).T  # (candidate's tokens, reference's tokens)
    precision = float(cosines.max(axis=1)[mine].mean())
    recall = float(cosines.max(axis=0)[theirs].mean())
    total = precision + recall
    means = _unit(np.stack([candidate[mine].mean(axis=0), reference[theirs].mean(axis=0)]))
    distance = 1.0 - float(means[0] @ means[1])
    return Similarity(precision, recall, 2 * precision * recall / total if total else 0.0, distance)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):  # a network may give zeros; the caller checks the result
        return rows / lengths
