"""A tiny random checkpoint of every family that the papers asked, each with a tokenizer of the right kind.

The weights are sharper than at initialisation, so that a wrong mask or position moves scores by whole nats, and what is
special about a family is switched on: a sliding window is shorter than the requests, a soft cap is small enough to
bite. ``off`` holds the settings that switch it off again: a test makes sure that the requests can tell.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tests.models.tiny_tokenizers import TOKENIZERS
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

LENGTH = 224  # Tokens that a family with a limit reads; longer requests are refused.
WINDOW = 24  # Tokens of a sliding window: fewer than most requests share.
AUTO = {
    "causal": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "permutation": AutoModelForCausalLM,
    "seq2seq": AutoModelForSeq2SeqLM,
}


@dataclass(frozen=True)
class Family:
    """A row of the table.

    Attributes:
        name: as the table calls it.
        architecture: the config's ``model_type``.
        tokenizer: its kind, a key of ``TOKENIZERS``.
        settings: of the config; the vocabulary's size and the special ids are added.
        special: what a scoring engine has to get right.
        models: well-known checkpoints of it.
        off: settings that switch something special off, on the same weights.
        note: what else a user may want to know.
        kind: causal, masked, permutation or seq2seq.
        spare: rows of the vocabulary that no token uses, as real checkpoints have them.
        gain: the standard deviation of what a matrix makes of entries of variance 1.
        tokenizer_class: as real checkpoints name it.
        attention: the implementation that is taken for the truth (Falcon's eager one adds ALiBi twice).
        dtype: the type that is taken for the truth (XLNet's positions are float32 by themselves).
    """

    name: str
    architecture: str
    tokenizer: str
    settings: Mapping[str, Any]
    special: str
    models: str
    off: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    kind: str = "causal"
    spare: int = 0
    gain: float = 2.0
    tokenizer_class: str = "PreTrainedTokenizerFast"
    attention: str = "eager"
    dtype: str = "float64"


USUAL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": LENGTH,
}
GROUPED = USUAL | {"num_key_value_heads": 2}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": LENGTH}
HEADS = {"head_dim": 8}
SLIDING_AND_FULL = {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
FULL = {"layer_types": ["full_attention"] * 3}
FALCON = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": LENGTH}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3],
    "long_factor": [1.5, 3.0, 6.0, 9.0],
    "original_max_position_embeddings": 80,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
OPT = {
    "hidden_size": 32,
    "ffn_dim": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": LENGTH,
}
BART = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": LENGTH,
    "decoder_start_token_id": 2,
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}

CAUSAL = (
    Family(
        "Llama",
        "llama",
        "metaspace",
        USUAL,
        "rotary positions",
        "Llama, Alpaca, Vicuna, Koala, WizardLM",
        tokenizer_class="LlamaTokenizer",
    ),
    Family(
        "Llama-2",
        "llama",
        "metaspace",
        GROUPED,
        "grouped queries",
        "Llama-2, Vicuna 1.5",
        tokenizer_class="LlamaTokenizer",
    ),
    Family(
        "Llama-3",
        "llama",
        "byte_level",
        GROUPED | {"rope_parameters": LLAMA3_ROPE},
        "grouped queries, scaled rotary positions",
        "Llama-3, 3.1, 3.2",
        off={"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
    ),
    Family(
        "Mistral, sliding",
        "mistral",
        "metaspace",
        GROUPED | {"sliding_window": WINDOW},
        "a sliding window in every layer",
        "Mistral-7B-v0.1, OpenHermes-2.5",
        off={"sliding_window": None},
        tokenizer_class="LlamaTokenizer",
    ),
    Family(
        "Mistral",
        "mistral",
        "metaspace_padded",
        GROUPED | {"sliding_window": None, "pad_token_id": None},
        "a padding token without an embedding",
        "Mistral-7B-v0.2, v0.3",
        spare=-1,
        tokenizer_class="LlamaTokenizer",
        note="as in fine-tuned checkpoints with an added `[PAD]`",
    ),
    Family(
        "Mixtral",
        "mixtral",
        "metaspace",
        GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2},
        "a mixture of experts",
        "Mixtral-8x7B, Nous-Hermes-2-Mixtral",
        off={"num_experts_per_tok": 1},
        tokenizer_class="LlamaTokenizer",
    ),
    Family(
        "Gemma",
        "gemma",
        "metaspace_bare",
        GROUPED | HEADS,
        "scaled embeddings, norms around one",
        "Gemma",
        tokenizer_class="GemmaTokenizer",
    ),
    Family(
        "Gemma-2",
        "gemma2",
        "metaspace_bare",
        GROUPED
        | HEADS
        | SLIDING_AND_FULL
        | {
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 8,
            "attn_logit_softcapping": 1.5,
            "final_logit_softcapping": 5.0,
        },
        "soft caps on attention and logits, sliding windows in turn",
        "Gemma-2",
        off={"attn_logit_softcapping": None},
        tokenizer_class="GemmaTokenizer",
    ),
    Family(
        "Gemma-3",
        "gemma3_text",
        "metaspace_bare",
        GROUPED | HEADS | SLIDING_AND_FULL | {"sliding_window": WINDOW, "query_pre_attn_scalar": 8},
        "sliding windows in turn, two rotary bases",
        "Gemma-3 (text)",
        off=FULL,
        tokenizer_class="GemmaTokenizer",
    ),
    Family("Falcon, 7B form", "falcon", "byte_level_gpt2", FALCON, "one key and value for all heads", "Falcon-7B"),
    Family(
        "Falcon, 40B form",
        "falcon",
        "byte_level_gpt2",
        FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2},
        "grouped queries, norms side by side",
        "Falcon-40B, 180B",
    ),
    Family(
        "Falcon, RW form",
        "falcon",
        "byte_level_gpt2",
        FALCON | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
        "ALiBi",
        "Falcon-RW-1B, 7B",
        off={"alibi": False},
        attention="sdpa",
        note="transformers' eager attention adds ALiBi twice; its default here, sdpa, does not",
    ),
    Family(
        "MPT",
        "mpt",
        "byte_level_nfc",
        {"d_model": 32, "n_heads": 4, "n_layers": 2, "expansion_ratio": 2, "max_seq_len": LENGTH},
        "ALiBi",
        "MPT-7B",
        spare=3,
        tokenizer_class="GPTNeoXTokenizer",
    ),
    Family(
        "GPT",
        "openai-gpt",
        "word_bpe",
        GPT,
        "learned positions",
        "GPT (2018)",
        tokenizer_class="OpenAIGPTTokenizer",
        note="keeps no cache and takes no mask of trees",
    ),
    Family("GPT-2", "gpt2", "byte_level_gpt2", GPT, "learned positions", "GPT-2", tokenizer_class="GPT2Tokenizer"),
    Family(
        "GPT-J",
        "gptj",
        "byte_level_gpt2",
        GPT | {"rotary_dim": 4},
        "rotary positions of a part, interleaved",
        "GPT-J-6B",
        spare=5,
        tokenizer_class="GPT2Tokenizer",
    ),
    Family(
        "CodeGen",
        "codegen",
        "byte_level_gpt2",
        GPT | {"rotary_dim": 4},
        "rotary positions of a part",
        "CodeGen",
        spare=5,
        tokenizer_class="CodeGenTokenizer",
    ),
    Family(
        "GPT-Neo",
        "gpt_neo",
        "byte_level_gpt2",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": WINDOW,
            "max_position_embeddings": LENGTH,
        },
        "global and local attention in turn, attention not scaled",
        "GPT-Neo",
        off={"attention_types": [[["global"], 2]]},
        tokenizer_class="GPT2Tokenizer",
        note="its own attention counts the window by places in a row",
    ),
    Family(
        "GPT-NeoX",
        "gpt_neox",
        "byte_level_nfc",
        USUAL | {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}},
        "rotary positions of a part",
        "GPT-NeoX-20B, Pythia, Dolly",
        spare=7,
        tokenizer_class="GPTNeoXTokenizer",
    ),
    Family(
        "OPT",
        "opt",
        "byte_level_opt",
        OPT,
        "learned positions counted from the attention mask",
        "OPT",
        tokenizer_class="GPT2Tokenizer",
    ),
    Family(
        "OPT-350M",
        "opt",
        "byte_level_opt",
        OPT | {"word_embed_proj_dim": 16, "do_layer_norm_before": False},
        "narrow embeddings, norms after",
        "OPT-350M",
        tokenizer_class="GPT2Tokenizer",
    ),
    Family(
        "BLOOM",
        "bloom",
        "byte_level_gpt2",
        {"hidden_size": 32, "n_layer": 2, "n_head": 4},
        "ALiBi",
        "BLOOM, BLOOMZ, Phoenix",
        tokenizer_class="BloomTokenizerFast",
    ),
    Family(
        "Phi",
        "phi",
        "byte_level_gpt2",
        GROUPED,
        "rotary positions of a part",
        "Phi-1, 1.5, 2",
        spare=9,
        tokenizer_class="CodeGenTokenizer",
    ),
    Family(
        "Phi-3",
        "phi3",
        "metaspace_no_bos",
        GROUPED | {"sliding_window": WINDOW},
        "a sliding window, joined projections",
        "Phi-3-mini-4k",
        off={"sliding_window": None},
        tokenizer_class="LlamaTokenizer",
    ),
    Family(
        "Phi-3, long",
        "phi3",
        "metaspace_no_bos",
        GROUPED | {"rope_parameters": LONGROPE, "original_max_position_embeddings": 80},
        "the frequencies depend on the length that is read",
        "Phi-3-mini-128k, Phi-3.5",
        off={"rope_parameters": LONGROPE | {"long_factor": LONGROPE["short_factor"]}},
        tokenizer_class="LlamaTokenizer",
        note="texts up to `original_max_position_embeddings` by the forest, longer ones by the prefix cache or plainly",
    ),
    Family(
        "Qwen2",
        "qwen2",
        "byte_level_nfc",
        GROUPED,
        "biased projections",
        "Qwen2, Qwen2.5",
        tokenizer_class="Qwen2Tokenizer",
    ),
    Family(
        "Qwen2-MoE",
        "qwen2_moe",
        "byte_level_nfc",
        GROUPED
        | {
            "num_hidden_layers": 3,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
            "use_sliding_window": True,
            "sliding_window": 80,
            "max_window_layers": 1,
        },
        "a window in the mask alone, experts",
        "Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B",
        off={"use_sliding_window": False},
        tokenizer_class="Qwen2Tokenizer",
        note="texts within the window by the forest; the published ones use none",
    ),
    Family(
        "Qwen3",
        "qwen3",
        "byte_level_nfc",
        GROUPED | HEADS,
        "normed queries and keys",
        "Qwen3",
        tokenizer_class="Qwen2Tokenizer",
    ),
    Family(
        "GPT-OSS",
        "gpt_oss",
        "byte_level_gpt2",
        GROUPED
        | HEADS
        | {
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "sliding_window": WINDOW,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {"rope_type": "default", "rope_theta": 150000.0},
        },
        "attention sinks, sliding windows in turn, experts",
        "gpt-oss-20b, 120b",
        off={"layer_types": ["full_attention"] * 2},
    ),
    Family("OLMo-2", "olmo2", "byte_level_gpt2", GROUPED, "norms after, normed queries and keys", "OLMo-2"),
    Family(
        "RWKV",
        "rwkv",
        "byte_level_nfc",
        {"hidden_size": 32, "num_hidden_layers": 3, "rescale_every": 2, "context_length": LENGTH},
        "a state, no attention",
        "RWKV-4",
        tokenizer_class="GPTNeoXTokenizer",
        note="`context_length` is taken for the longest text",
    ),
    Family(
        "Mamba",
        "mamba",
        "byte_level_nfc",
        {"hidden_size": 32, "state_size": 8, "num_hidden_layers": 2},
        "a state, no attention",
        "Mamba",
        tokenizer_class="GPTNeoXTokenizer",
    ),
    Family("GLM-4", "glm", "byte_level_glm", GROUPED | HEADS, "rotary positions of a part", "GLM-4-9B"),
    Family("GLM-4-0414", "glm4", "byte_level_glm", GROUPED | HEADS, "norms before and after", "GLM-4-9B-0414, GLM-Z1"),
    Family("StableLM", "stablelm", "byte_level_gpt2", GROUPED, "rotary positions of a part", "StableLM-2, 3B-4E1T"),
    Family(
        "Cohere",
        "cohere",
        "byte_level",
        GROUPED | {"logit_scale": 0.5},
        "scaled logits",
        "Command-R, Aya-23",
        tokenizer_class="CohereTokenizer",
    ),
)
BERT = USUAL | {"type_vocab_size": 2}
MASKED = (
    Family(
        "BERT",
        "bert",
        "wordpiece",
        BERT,
        "segments, learned positions",
        "BERT",
        kind="masked",
        tokenizer_class="BertTokenizer",
    ),
    Family(
        "ALBERT",
        "albert",
        "unigram_albert",
        BERT | {"embedding_size": 16, "max_position_embeddings": 2 * LENGTH},
        "one layer's weights for all",
        "ALBERT",
        kind="masked",
        tokenizer_class="AlbertTokenizer",
    ),
    Family(
        "RoBERTa",
        "roberta",
        "byte_level_mask",
        BERT,
        "positions counted from the padding token",
        "RoBERTa",
        kind="masked",
        tokenizer_class="RobertaTokenizer",
    ),
    Family(
        "DistilBERT",
        "distilbert",
        "wordpiece",
        {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "max_position_embeddings": LENGTH},
        "learned positions",
        "DistilBERT",
        kind="masked",
        tokenizer_class="DistilBertTokenizer",
    ),
    Family(
        "ModernBERT",
        "modernbert",
        "byte_level_mask",
        USUAL
        | {
            "num_hidden_layers": 3,
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
            "local_attention": WINDOW,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
        "sliding windows in turn",
        "ModernBERT",
        kind="masked",
        off={"layer_types": ["full_attention"] * 3},
    ),
    Family(
        "XLNet",
        "xlnet",
        "unigram_xlnet",
        {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
        "two streams of attention, relative positions",
        "XLNet",
        kind="permutation",
        dtype="float32",
        tokenizer_class="XLNetTokenizer",
        note="a masked model here; no causal model, whatever its head is called",
    ),
)
SEQ2SEQ = (
    Family(
        "T5",
        "t5",
        "unigram_t5",
        T5,
        "relative positions, attention not scaled",
        "T5",
        kind="seq2seq",
        gain=1.0,
        spare=11,
        tokenizer_class="T5Tokenizer",
        note="answers `choices`, `generate`, `similarity` and of `spans` what ends the text; "
        "the answer's end is not scored",
    ),
    Family(
        "Flan-T5",
        "t5",
        "unigram_t5",
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        "gated, a head of its own",
        "Flan-T5, T5 1.1",
        kind="seq2seq",
        gain=1.0,
        spare=11,
        tokenizer_class="T5Tokenizer",
    ),
    Family(
        "BART",
        "bart",
        "byte_level_mask",
        BART,
        "learned positions, `</s><s>` before an answer",
        "BART",
        kind="seq2seq",
        tokenizer_class="BartTokenizer",
    ),
)
FAMILIES = {family.name: family for family in (*CAUSAL, *MASKED, *SEQ2SEQ)}


def config_of(family: Family, tokenizer: Any, **settings: Any) -> Any:
    """Return the config of a family; settings replace the family's own."""
    ids = {
        f"{name}_token_id": getattr(tokenizer, f"{name}_token_id")
        for name in ("pad", "bos", "eos")
        if getattr(tokenizer, f"{name}_token") is not None
    }
    size = {"vocab_size": len(tokenizer) + family.spare}
    return CONFIG_MAPPING[family.architecture](**size | ids | dict(family.settings) | settings)


def make(family: Family, folder: Path) -> Path:
    """Save a checkpoint of a family in a folder; the same weights every time."""
    tokenizer = TOKENIZERS[family.tokenizer]()
    seed = zlib.crc32(family.name.encode())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # some begin with biases that are drawn: GPT-OSS, Mamba
        network = AUTO[family.kind].from_config(config_of(family, tokenizer))
    sharpen(network, family.gain, seed)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"tokenizer_class": family.tokenizer_class}))
    return folder


def plain_network(family: Family, folder: Path, **settings: Any) -> Any:
    """Return a family's network as transformers runs it without any of this project's code.

    Args:
        family: the family.
        folder: where its checkpoint was saved.
        settings: of the config, other than the checkpoint's.
    """
    config = config_of(family, TOKENIZERS[family.tokenizer](), **settings)
    return (
        AUTO[family.kind]
        .from_pretrained(
            folder,
            config=config,
            dtype=family.dtype,
            attn_implementation=family.attention,
            experts_implementation="eager",
        )
        .eval()
    )


@torch.no_grad()
def sharpen(network: torch.nn.Module, gain: float, seed: int) -> None:
    """Draw matrices anew, so that what they make of entries of variance 1 has a deviation of ``gain``; move the rest.

    Norms, biases, sinks and decays keep their place and get noise: what ignores one of them is seen.
    """
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim >= 2:
            parameter.copy_(noise * gain / parameter.shape[-1] ** 0.5)
        else:
            parameter.add_(noise * 0.3)
