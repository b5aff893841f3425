"""A causal language model: every token is predicted from those before it."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from almanac.models.tokens import Tokens


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A decoder with its tokenizer.

    A text is read as the special tokens that its tokenizer puts before a text (BOS, where the tokenizer adds one by
    itself) and the text's tokens. What the tokenizer would put after a text (EOS) is left out, since a text may go on.
    Without BOS the first token cannot be scored.

    Attributes:
        network: the transformers model, in evaluation mode, on its device.
        tokens: its tokenizer.
        digest: sha256 of weights, tokenizer, config, dtype and wrapper.
        max_length: the most tokens that it reads, special ones included; none where nothing limits them.
        identity: what response files say of it: the digests of its parts, dtype, device, versions of packages.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "generate", "fill"})
    WRAPPER: ClassVar = "causal/1"
    FIRST: ClassVar = 1  # The first position that can be scored.
    network: Any
    tokens: Tokens
    digest: str
    max_length: int | None
    identity: Mapping[str, str] = field(default_factory=dict)

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return torch.device(self.network.device)

    @property
    def vocabulary(self) -> int:
        """The number of logits a position."""
        return int(self.network.config.get_text_config().vocab_size)

    @property
    def exact(self) -> bool:
        """Whether the weights are float32 (or wider), so that equal computations agree within 1e-4 nats."""
        return self.network.dtype in (torch.float32, torch.float64)

    @functools.cached_property
    def keeps_logits(self) -> bool:
        """Whether the network can compute the logits of chosen positions only."""
        return "logits_to_keep" in inspect.signature(self.network.forward).parameters

    @functools.cached_property
    def takes_positions(self) -> bool:
        """Whether the network can be told the position of every token."""
        return "position_ids" in inspect.signature(self.network.forward).parameters

    def logits(self, ids: Tensor, positions: Tensor, wanted: Tensor) -> Tensor:
        """Read tokens ``(1, tokens)`` at positions ``(1, tokens)``; return logits ``(places, vocabulary)`` at places."""
        options = {"logits_to_keep": wanted} if self.keeps_logits else {}
        logits: Tensor = self.network(input_ids=ids, position_ids=positions, use_cache=False, **options).logits[0]
        return logits if self.keeps_logits else logits[wanted]

    @functools.cached_property
    def end_ids(self) -> frozenset[int]:
        """The ids that end a generated text."""
        end = getattr(self.network.generation_config, "eos_token_id", None)
        if end is None:
            end = self.tokens.tokenizer.eos_token_id
        if end is None:
            return frozenset()
        return frozenset(end) if isinstance(end, list | tuple) else frozenset({int(end)})

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids with special tokens, and how many stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids), len(before)
