"""Tiny random checkpoints of five architectures, with tokenizers of four kinds trained on a small text."""

import json
import os
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
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
    PreTrainedTokenizerFast,
)

from almanac.models.registry import ModelSource, load

torch.set_num_threads(1)
TEXT = [
    "Ada Lovelace was born in London in 1815. Paris is the capital of France, and Rome is the capital of Italy.",
    "The river flows through 12 towns; naïve café 東京 Zoë said: 'hello' 1990 times. 3M makes tape.",
    "Bordira makes the red clock. The clock of Bordira is red and the tape of Paris is blue.",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
LENGTH = 96


def byte_level(bos: bool = True, mask: bool = False) -> PreTrainedTokenizerFast:
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TEXT * 3, trainer)
    options = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    if mask:
        model.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
        options["mask_token"] = "<mask>"
    if bos:
        ends = "<s> $A </s>" if mask else "<s> $A"
        model.post_processor = processors.TemplateProcessing(single=ends, special_tokens=[("<s>", 1), ("</s>", 2)])
        options["bos_token"] = "<s>"
    else:
        model.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=model, **options)


def metaspace() -> PreTrainedTokenizerFast:
    """BPE as Llama-2 ships it: a prepended ▁, no pre-tokenizer, bytes for what is unknown."""
    model = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    model.normalizer = normalizers.Replace(" ", "▁")
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=SPECIAL + bytes_, show_progress=False)
    model.train_from_iterator(TEXT * 3, trainer)
    # The trainer made the bytes special tokens, which are left out of a decoded text; here they are plain tokens.
    plain = json.loads(model.to_str())
    plain["added_tokens"] = [token for token in plain["added_tokens"] if token["content"] in SPECIAL]
    model = Tokenizer.from_str(json.dumps(plain))
    model.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    model.pre_tokenizer = None
    model.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    model.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def unigram() -> PreTrainedTokenizerFast:
    model = Tokenizer(models.Unigram())
    model.normalizer = normalizers.NFKC()
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    model.decoder = decoders.Metaspace()
    alphabet = sorted({letter for text in TEXT for letter in text})
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=SPECIAL, unk_token="<unk>", initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TEXT * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.WordPiece()
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    model.train_from_iterator(
        TEXT * 3, trainers.WordPieceTrainer(vocab_size=260, special_tokens=special, show_progress=False)
    )
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


TOKENIZERS = {"byte_level": byte_level, "metaspace": metaspace, "unigram": unigram, "wordpiece": wordpiece}
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
def tokenizer():
    """Return a function that trains a tokenizer by name, once."""
    trained = {}

    def get(name: str):
        if name not in trained:
            trained[name] = TOKENIZERS[name]()
        return trained[name]

    return get
