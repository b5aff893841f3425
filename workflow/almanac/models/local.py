"""The base class of all models that run on this machine, whatever their family."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from almanac.models.framing import Framing, plain_framing
from almanac.models.tokens import Tokens


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A network and its tokenizer.

    Attributes:
        network: the transformers model, in evaluation mode, on its device.
        tokens: its tokenizer.
        digest: sha256 of weights, tokenizer, config, dtype, the class that runs it, and framing.
        max_length: the most tokens that it reads, special ones included; None if there is no limit.
        identity: metadata for response files: digests of its parts, dtype, device, versions of packages.
        framing: how instructed requests become text for it.
    """

    network: Any
    tokens: Tokens
    digest: str
    max_length: int | None
    identity: Mapping[str, str] = field(default_factory=dict)
    framing: Framing = field(default_factory=plain_framing)

    @property
    def device(self) -> torch.device:
        """The device that the model runs on."""
        return torch.device(self.network.device)

    @functools.cached_property
    def vocabulary(self) -> int:
        """The number of logits per position."""
        return int(self.network.config.get_text_config().vocab_size)

    @property
    def exact(self) -> bool:
        """Whether the weights are float32 (or wider), so that equal computations agree closely."""
        return self.network.dtype in (torch.float32, torch.float64)

    @functools.cached_property
    def end_ids(self) -> frozenset[int]:
        """The ids that end a generated text: the EOS tokens of the generation config and of the tokenizer.

        A tuned model ends its turn with the tokenizer's EOS, and its generation config may still be the base model's.
        """
        end = getattr(self.network.generation_config, "eos_token_id", None)
        listed = end if isinstance(end, list | tuple) else [end]
        return frozenset(int(one) for one in (*listed, self.tokens.tokenizer.eos_token_id) if one is not None)
