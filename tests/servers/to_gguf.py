"""Write a Llama of `tests.models.tiny_networks` as GGUF in float32, for llama.cpp: to_gguf.py FOLDER FILE."""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write(folder: Path, file: Path) -> None:
    """Write the checkpoint of a folder, which has `config.json`, `model.safetensors` and `tokenizer.json`."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name(folder.name)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    width = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    _tokenizer(writer, json.loads((folder / "tokenizer.json").read_text("utf-8")), config)
    for name, weights in load_file(folder / "model.safetensors").items():
        rows, shape = weights, weights.shape
        for count, projection in ((heads, "q_proj"), (groups, "k_proj")):
            if projection in name:  # llama.cpp rotates neighbouring numbers of a head, transformers its two halves.
                rows = weights.reshape(count, 2, -1, shape[1]).swapaxes(1, 2).reshape(shape)
        plain = name.removesuffix(".weight")
        block, _, part = plain.removeprefix("model.layers.").partition(".")
        named = f"blk.{block}.{NAMES[part]}" if block.isdigit() else NAMES[plain]
        writer.add_tensor(f"{named}.weight", np.ascontiguousarray(rows, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tokenizer(writer: gguf.GGUFWriter, words: dict, config: dict) -> None:
    model, added = words["model"], {token["content"] for token in words["added_tokens"]}
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    metaspace = model["byte_fallback"]
    writer.add_tokenizer_model("llama" if metaspace else "gpt2")
    writer.add_tokenizer_pre("default" if metaspace else "gpt-2")
    writer.add_token_list(pieces)
    if metaspace:  # It has no merges: of neighbouring pieces those are joined whose whole has the greatest score.
        ranks = {"".join(pair): rank for rank, pair in reversed([*enumerate(model["merges"])])}
        writer.add_token_scores([-float(ranks.get(piece, len(ranks))) for piece in pieces])
    else:
        writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    types = dict.fromkeys(added, gguf.TokenType.CONTROL) | {f"<0x{b:02X}>": gguf.TokenType.BYTE for b in range(256)}
    types |= {model["unk_token"]: gguf.TokenType.UNKNOWN}
    writer.add_token_types([types.get(piece, gguf.TokenType.NORMAL) for piece in pieces])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token((words["post_processor"] or {}).get("type") == "TemplateProcessing")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
