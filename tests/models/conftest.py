"""Tiny random checkpoints of five architectures, with tokenizers of four kinds trained on a small text."""

import os
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import tiny_encoders
import torch
from tiny_tokenizers import TOKENIZERS, byte_level, metaspace, unigram, wordpiece
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
)

from almanac.models.registry import ModelSource, load

torch.set_num_threads(1)
LENGTH = 96


IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def llama(vocabulary: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        **IDS,
    )
    return LlamaForCausalLM(config)


def gpt2(vocabulary: int) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4, n_positions=LENGTH, **IDS))


def neox(vocabulary: int) -> GPTNeoXForCausalLM:
    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        **IDS,
    )
    return GPTNeoXForCausalLM(config)


def bert(vocabulary: int) -> BertForMaskedLM:
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        pad_token_id=0,
    )
    return BertForMaskedLM(config)


def modernbert(vocabulary: int) -> ModernBertForMaskedLM:
    config = ModernBertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        cls_token_id=1,
        sep_token_id=2,
        **IDS,
    )
    return ModernBertForMaskedLM(config)


# name: (architecture, tokenizer)
CHECKPOINTS = {
    "llama": (llama, byte_level),
    "llama2": (llama, metaspace),
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
            with torch.no_grad():
                # Sharper than at initialisation: a wrong position or mask then moves scores by whole nats.
                for parameter in network.parameters():
                    if parameter.ndim == 2:
                        parameter.mul_(12.0)
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
            loaded[name] = load(ModelSource(str(checkpoint(name)), device="cpu"))
        return loaded[name]

    return get


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    """Return a function that makes and loads a tiny masked model or encoder-decoder by name, once."""
    loaded = {}

    def get(name: str):
        if name not in loaded:
            folder = tiny_encoders.make(name, tmp_path_factory.mktemp(name))
            loaded[name] = load(ModelSource(str(folder), device="cpu"))
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
