"""Tiny random checkpoints of five architectures, with tokenizers of four kinds trained on a small text."""

import os
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
from tests.models import tiny_encoders
from tests.models.tiny_networks import IDS, LENGTH, SHAPE, llama, sharpen
from tests.models.tiny_tokenizers import TOKENIZERS, byte_level, metaspace, unigram, wordpiece
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
)

from almanac.models.options import AnswerOptions
from almanac.models.registry import load

torch.set_num_threads(1)


def grouped(vocabulary: int) -> LlamaForCausalLM:
    """A Llama whose heads share keys and values two by two."""
    return llama(vocabulary, num_key_value_heads=2)


def deep(vocabulary: int) -> LlamaForCausalLM:
    """A Llama so deep that rounding alone moves its scores, as it does those of models of a billion parameters."""
    return llama(vocabulary, num_hidden_layers=24, hidden_size=128, intermediate_size=256)


def gpt2(vocabulary: int) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4, n_positions=LENGTH, **IDS))


def neox(vocabulary: int) -> GPTNeoXForCausalLM:
    return GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=vocabulary, max_position_embeddings=LENGTH, **SHAPE, **IDS))


def bert(vocabulary: int) -> BertForMaskedLM:
    return BertForMaskedLM(
        BertConfig(vocab_size=vocabulary, max_position_embeddings=LENGTH, pad_token_id=IDS["pad_token_id"], **SHAPE)
    )


def modernbert(vocabulary: int) -> ModernBertForMaskedLM:
    frame = {"cls_token_id": 1, "sep_token_id": 2}
    return ModernBertForMaskedLM(
        ModernBertConfig(vocab_size=vocabulary, max_position_embeddings=LENGTH, **frame, **SHAPE, **IDS)
    )


# name: (architecture, tokenizer)
CHECKPOINTS = {
    "llama": (grouped, byte_level),
    "llama2": (grouped, metaspace),
    "deep": (deep, byte_level),
    "gemma": (grouped, lambda: metaspace(prepend=False)),
    "gpt2": (gpt2, lambda: byte_level(bos=False)),
    "neox": (neox, unigram),
    "bert": (bert, wordpiece),
    "modernbert": (modernbert, lambda: byte_level(mask=True)),
}


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """Return a function that makes a checkpoint by name, once, and returns its folder."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            architecture, tokenizer = CHECKPOINTS[name]
            torch.manual_seed(0)
            words = tokenizer()
            network = architecture(len(words))
            sharpen(network)
            folder = tmp_path_factory.mktemp(name)
            network.save_pretrained(folder)
            words.save_pretrained(folder)
            made[name] = folder
        return made[name]

    return make


@pytest.fixture(scope="session")
def model(checkpoint):
    """Return a function that loads a checkpoint by name, once."""
    loaded = {}

    def get(name: str):
        if name not in loaded:
            loaded[name] = load(str(checkpoint(name)), AnswerOptions(device="cpu"))
        return loaded[name]

    return get


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    """Return a function that makes and loads a tiny masked model or encoder-decoder by name, once."""
    loaded = {}

    def get(name: str):
        if name not in loaded:
            folder = tiny_encoders.make(name, tmp_path_factory.mktemp(name))
            loaded[name] = load(str(folder), AnswerOptions(device="cpu"))
        return loaded[name]

    return get


@pytest.fixture(scope="session")
def tokenizer():
    """Return a function that trains a tokenizer by name, once."""
    trained = {}

    def get(name: str):
        if name not in trained:
            trained[name] = TOKENIZERS[name]()
        return trained[name]

    return get
