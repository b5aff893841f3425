"""What the tiny networks with random weights have in common, and the Llama that most tests ask."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

LENGTH = 96
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def llama(vocabulary: int, length: int = LENGTH, **settings: Any) -> LlamaForCausalLM:
    """Return a Llama of two layers that reads ``length`` tokens; ``settings`` stand in for those of its shape."""
    shape = SHAPE | settings
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, max_position_embeddings=length, **IDS, **shape))


def sharpen(network: torch.nn.Module, by: float = 12.0) -> None:
    """Multiply the weights, so that a wrong position or mask moves scores by whole nats."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(by)
