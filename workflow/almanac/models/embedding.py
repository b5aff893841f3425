"""Embeddings of the tokens of texts, in context, by a model in a directory: what BERTScore compares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from almanac.errors import AlmanacError

BATCH = 64  # texts that go through the model together


@dataclass(frozen=True)
class Embedded:
    """A text as its tokens' embeddings.

    Attributes:
        vectors: ``(tokens, width)``, the marks that the tokenizer puts around a text among them.
        counted: which tokens are the text's own.
    """

    vectors: NDArray[np.float64]
    counted: tuple[bool, ...]


def embed(
    folder: Path, texts: Sequence[str], layer: int | None = None, done: Callable[[int], object] = lambda _: None
) -> dict[str, Embedded]:
    """Return the embeddings of texts.

    Args:
        folder: a transformers checkpoint of any architecture whose hidden states can be read.
        texts: each is embedded once.
        layer: whose hidden states are taken (0 is what goes into the first one); the last if none.
        done: told of each batch, how many texts it held.

    Raises:
        AlmanacError: the folder holds no such model, it has no such layer, or a text is too long for it.
    """
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        network: Any = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).split("\n", 1)[0]
        raise AlmanacError(
            f"{folder}: is no model whose embeddings can be read ({reason}); name a checkpoint"
        ) from error
    if network.config.is_encoder_decoder:
        network = network.get_encoder()  # what a text is read by
    tokenizer.padding_side = "right"  # so that a token's place does not depend on the other texts of its batch
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    longest = getattr(network.config, "max_position_embeddings", None)
    wanted = sorted(set(texts), key=lambda text: (len(text), text))  # batches of texts that are about as long
    found: dict[str, Embedded] = {}
    for start in range(0, len(wanted), BATCH):
        own = wanted[start : start + BATCH]
        found |= zip(own, _batch(network, tokenizer, own, layer, longest, folder), strict=True)
        done(len(own))
    return found


@torch.inference_mode()
def _batch(
    network: Any, tokenizer: Any, texts: Sequence[str], layer: int | None, longest: int | None, folder: Path
) -> list[Embedded]:
    read = tokenizer(list(texts), padding=True, return_tensors="pt", return_special_tokens_mask=True)
    marks = read.pop("special_tokens_mask")
    length = int(read["input_ids"].shape[1])
    if longest is not None and length > longest:
        raise AlmanacError(f"{folder}: reads {longest} tokens; {texts[-1][:60]!r} … has {length}; name another model")
    known = {"input_ids": read["input_ids"], "attention_mask": read["attention_mask"]}
    states = network(**known, output_hidden_states=True).hidden_states
    if layer is not None and not 0 <= layer < len(states):
        raise AlmanacError(f"{folder}: has the layers 0 to {len(states) - 1}; found {layer}")
    chosen = states[-1 if layer is None else layer]  # (texts, tokens, width)
    out = []
    for vectors, real, mark in zip(chosen, read["attention_mask"].bool(), marks.bool(), strict=True):
        counted = tuple(bool(one) for one in ~mark[real])
        out.append(Embedded(vectors[real].double().numpy(), counted))
    return out
