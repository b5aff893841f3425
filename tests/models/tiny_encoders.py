"""Tiny random masked models and encoder-decoders, with tokenizers as they bring them."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from tests.models.tiny_tokenizers import TEXT, byte_level, wordpiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    CONFIG_MAPPING,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedTokenizerFast,
    T5Tokenizer,
    XLNetLMHeadModel,
    XLNetTokenizer,
)

LENGTH = 96


def pieces(special: list[str]) -> list[tuple[str, float]]:
    """Return the pieces of a Unigram model over metaspaces with their scores, special tokens first."""
    model = Tokenizer(models.Unigram())
    model.normalizer = normalizers.NFKC()
    model.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    alphabet = sorted({letter for text in TEXT for letter in text if letter != " "})
    trainer = trainers.UnigramTrainer(
        vocab_size=220, special_tokens=special, unk_token="<unk>", initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TEXT * 3, trainer)
    found = [(piece, round(score, 3)) for piece, score in json.loads(model.to_str())["model"]["vocab"]]
    # The trainer's order of ties changes from run to run.
    return found[: len(special)] + sorted(found[len(special) :], key=lambda pair: (-pair[1], pair[0]))


def t5_tokenizer() -> T5Tokenizer:
    sentinels = [f"<extra_id_{number}>" for number in (2, 1, 0)]
    plain = pieces(["<pad>", "</s>", "<unk>"])
    return T5Tokenizer(vocab=[*plain, *((one, 0.0) for one in sentinels)], extra_ids=3)


def xlnet_tokenizer() -> XLNetTokenizer:
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    return XLNetTokenizer(vocab=pieces(special))


def albert_tokenizer() -> PreTrainedTokenizerFast:
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    model = Tokenizer(models.Unigram(pieces(special), unk_id=1))
    model.normalizer = normalizers.NFKC()
    model.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", unk_token="<unk>", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip


def bart_tokenizer() -> PreTrainedTokenizerFast:
    return byte_level(mask=True)  # <s> before a text, </s> after it.


def roberta_tokenizer() -> PreTrainedTokenizerFast:
    return byte_level(mask=True)


USUAL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
BERT = USUAL | {"max_position_embeddings": LENGTH, "initializer_range": 0.25, "pad_token_id": 0}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "initializer_factor": 1.2}
T5 |= {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "init_std": 0.25}
BART |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": LENGTH}
BART |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}

# name: (architecture, settings, tokenizer, head)
MODELS: dict[str, tuple[str, dict, Callable, type]] = {
    "bert": ("bert", BERT, wordpiece, AutoModelForMaskedLM),
    "albert": ("albert", BERT | {"embedding_size": 16}, albert_tokenizer, AutoModelForMaskedLM),
    "roberta": ("roberta", BERT, roberta_tokenizer, AutoModelForMaskedLM),
    "distilbert": (
        "distilbert",
        {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "initializer_range": 0.25, "pad_token_id": 0},
        wordpiece,
        AutoModelForMaskedLM,
    ),
    "modernbert": (
        "modernbert",
        USUAL | {"initializer_range": 0.5, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
                 "sep_token_id": 2, "local_attention": 8, "global_attn_every_n_layers": 2},
        roberta_tokenizer,
        AutoModelForMaskedLM,
    ),
    "electra": ("electra", BERT | {"embedding_size": 16}, wordpiece, AutoModelForMaskedLM),
    "deberta": (
        "deberta-v2",
        BERT | {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"],
                "position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0},
        roberta_tokenizer,
        AutoModelForMaskedLM,
    ),
    "fnet": ("fnet", BERT, albert_tokenizer, AutoModelForMaskedLM),
    "longformer": ("longformer", BERT | {"attention_window": 8, "max_position_embeddings": 130}, roberta_tokenizer,
                   AutoModelForMaskedLM),
    "xlnet": (
        "xlnet",
        {"d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 64, "initializer_range": 0.25},
        xlnet_tokenizer,
        XLNetLMHeadModel,
    ),
    "t5": ("t5", T5, t5_tokenizer, AutoModelForSeq2SeqLM),
    "flan": ("t5", T5 | {"feed_forward_proj": "gated-gelu"}, t5_tokenizer, AutoModelForSeq2SeqLM),
    "bart": ("bart", BART, bart_tokenizer, AutoModelForSeq2SeqLM),
}  # fmt: skip


def make(name: str, folder: Path) -> Path:
    """Save a checkpoint in a folder; the same weights every time."""
    architecture, settings, tokenizer, head = MODELS[name]
    torch.manual_seed(0)
    words = tokenizer()
    config = CONFIG_MAPPING[architecture](vocab_size=len(words), **settings)
    network = head(config) if head is XLNetLMHeadModel else head.from_config(config)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 1:  # Norms and biases: away from ones and zeros, so that what ignores them is seen.
                parameter.add_(torch.randn(parameter.shape) * 0.3)
    network.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
