"""Random checkpoints in the shapes that are measured, with tokenizers trained on the facts that ship.

No weights are downloaded: what a forward pass costs does not depend on what a model knows. The weights are sharper than
at initialisation, so that attention is not flat and a token in the wrong place moves a score by whole nats.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PAD, START, END = "<pad>", "<s>", "</s>"
SPREAD = 1.6  # Of a matrix's weights, times the root of its inputs.
EMBEDDING_SPREAD = 0.12


@dataclass(frozen=True)
class Shape:
    """The size of a model.

    Attributes:
        layers: the number of blocks.
        width: of the residual stream.
        heads: query heads.
        vocabulary: logits a position.
        length: the most tokens that it reads.
        inner: width inside the decoder's blocks.
        key_heads: of the decoder; by default half as many as query heads.
    """

    layers: int = 8
    width: int = 512
    heads: int = 8
    vocabulary: int = 16_384
    length: int = 2_048
    inner: int = 1_408
    key_heads: int | None = None

    @property
    def keys(self) -> int:
        """The width of a decoder's keys."""
        return self.width // self.heads * (self.key_heads or self.heads // 2)


FULL = Shape()
TINY = Shape(layers=2, width=64, heads=4, vocabulary=2_048, length=1_024, inner=176)


def causal(folder: Path, texts: Sequence[str], shape: Shape = FULL) -> Path:
    """Write a decoder of the Llama family, grouped-query attention, and its byte-level BPE tokenizer.

    Args:
        folder: where the checkpoint goes.
        texts: what the tokenizer is trained on.
        shape: the size; where the texts give fewer tokens than the vocabulary, entries are added that no text yields.

    Returns:
        The folder.
    """
    return save(folder, LlamaForCausalLM(llama(shape)), byte_level(texts, shape.vocabulary))


def llama(shape: Shape) -> LlamaConfig:
    """Return the config of a decoder of the Llama family."""
    return LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads or shape.heads // 2,
        max_position_embeddings=shape.length,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


def masked(folder: Path, texts: Sequence[str], shape: Shape = FULL) -> Path:
    """Write an encoder of the BERT family and its WordPiece tokenizer; see `causal`."""
    config = BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.width * 4,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        max_position_embeddings=512,
        pad_token_id=0,
    )
    return save(folder, BertForMaskedLM(config), wordpiece(texts, shape.vocabulary))


def save(folder: Path, network: Any, tokenizer: PreTrainedTokenizerFast) -> Path:
    """Sharpen a network and write it with its tokenizer; return the folder."""
    sharpen(network)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@torch.no_grad()
def sharpen(network: Any, seed: int = 1) -> None:
    """Draw the matrices of a network again, wider than its own initialisation does."""
    draws = torch.Generator(network.device).manual_seed(seed)
    for name, parameter in network.named_parameters():
        if parameter.ndim == 2:
            embedding = "emb" in name or "head" in name
            parameter.normal_(
                0.0, EMBEDDING_SPREAD if embedding else SPREAD / parameter.shape[-1] ** 0.5, generator=draws
            )


def byte_level(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE that puts BOS before a text, as the Llama-3 family's does."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    model = filled(model, vocabulary)
    model.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, 1)])
    return PreTrainedTokenizerFast(tokenizer_object=model, pad_token=PAD, bos_token=START, eos_token=END)


def wordpiece(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train a WordPiece tokenizer as BERT's."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, min_frequency=2, special_tokens=special, show_progress=False
    )
    model.train_from_iterator(texts, trainer)
    model = filled(model, vocabulary)
    model.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=model,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        unk_token="[UNK]",
    )


def filled(model: Tokenizer, vocabulary: int) -> Tokenizer:
    """Return a tokenizer with entries that no text yields, so that every logit has a token."""
    plain = json.loads(model.to_str())
    entries: dict[str, int] = plain["model"]["vocab"]
    entries |= {f"<unused{index}>": index for index in range(len(entries), vocabulary)}
    return Tokenizer.from_str(json.dumps(plain))
