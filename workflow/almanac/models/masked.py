"""A masked language model: a token is predicted from those on both sides of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from almanac.models.tokens import Tokens


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """An encoder with a head over the vocabulary, and its tokenizer.

    A text is read between the special tokens that its tokenizer puts around it ([CLS] and [SEP]). A continuation of
    several tokens is scored by the pseudo-log-likelihood ``pll_l2r``: its token i is predicted where i and all later
    tokens of the same continuation are masked (Kauf & Ivanova 2023 mask the rest of a word; here it is the rest of the
    answer). It is a score of this name and no probability of the text.

    Attributes:
        network: the transformers model, in evaluation mode, on its device.
        tokens: its tokenizer; it has a mask token.
        digest: sha256 of weights, tokenizer, config, dtype and wrapper.
        max_length: the most tokens that it reads, special ones included; none where nothing limits them.
        identity: what response files say of it: the digests of its parts, dtype, device, versions of packages.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "fill"})
    WRAPPER: ClassVar = "masked/pll_l2r/1"
    FIRST: ClassVar = 0  # The first position that can be scored.
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

    @property
    def mask_id(self) -> int:
        """The id of the mask token; a masked model is not loaded without one."""
        assert self.tokens.mask_id is not None
        return self.tokens.mask_id

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids with special tokens, and how many stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids, *self.tokens.after(ids)), len(before)
