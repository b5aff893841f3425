"""A causal language model: every token is predicted from those before it."""

import functools
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from almanac.models.local import LocalModel


@dataclass(frozen=True, eq=False)
class CausalModel(LocalModel):
    """A decoder with its tokenizer.

    The model reads the special tokens that its tokenizer puts before a text (BOS, if the tokenizer itself adds one),
    then the text. Tokens that the tokenizer would put after a text (EOS) are left out, since the text may continue.
    Without BOS the first token cannot be scored.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "generate", "fill", "similarity"})
    WRAPPER: ClassVar = "causal/1"
    FIRST: ClassVar = 1  # The first position that can be scored.

    @functools.cached_property
    def keeps_logits(self) -> bool:
        """Whether the network can compute logits at chosen positions only."""
        return "logits_to_keep" in inspect.signature(self.network.forward).parameters

    @functools.cached_property
    def takes_positions(self) -> bool:
        """Whether the network can be told the position of every token."""
        return "position_ids" in inspect.signature(self.network.forward).parameters

    def logits(self, ids: Tensor, positions: Tensor, wanted: Tensor) -> Tensor:
        """Read ids at positions, both ``(1, tokens)``; return the logits ``(places, vocabulary)`` at wanted places."""
        options = {"logits_to_keep": wanted} if self.keeps_logits else {}
        logits: Tensor = self.network(input_ids=ids, position_ids=positions, use_cache=False, **options).logits[0]
        return logits if self.keeps_logits else logits[wanted]

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids with special tokens, and how many stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids), len(before)
