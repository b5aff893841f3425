"""A masked language model: a token is predicted from those on both sides of it."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from almanac.models.local import LocalModel
from almanac.models.tokens import PROBE

NEAR = 1e-3  # Of the largest logit: far above the rounding of float32, far below what a wrong position does.
NEAR_LOW = 0.1  # The same below float32.


@dataclass(frozen=True, eq=False)
class MaskedModel(LocalModel):
    """An encoder with a head over the vocabulary, and its tokenizer.

    A text is read between the special tokens that its tokenizer puts around it ([CLS] and [SEP]). A continuation of
    several tokens is scored by the pseudo-log-likelihood ``pll_l2r``: its token i is predicted where i and all later
    tokens of the same continuation are masked (Kauf & Ivanova 2023 mask the rest of a word; here it is the rest of the
    answer). It is a score of this name and no probability of the text.

    Where a text is cut into smaller parts, the same rule is another known score, the sum over its parts: the original
    pseudo-log-likelihood (Salazar et al. 2020) where each token is a part, PLL-word-l2r where each word is one.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "fill"})
    WRAPPER: ClassVar = "masked/pll_l2r/1"
    FIRST: ClassVar = 0  # The first position that can be scored.

    @property
    def mask_id(self) -> int:
        """The id of the mask token; a masked model is not loaded without one."""
        assert self.tokens.mask_id is not None
        return self.tokens.mask_id

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids with special tokens, and how many stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids, *self.tokens.after(ids)), len(before)

    def plain_logits(self, ids: Tensor, attention: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position a row, of an ordinary forward pass.

        Args:
            ids: ``(rows, tokens)``, with masks in place, padded on the right.
            attention: ``(rows, tokens)``, 1 for a token and 0 for padding.
            positions: ``(rows,)``, that of a mask.

        Returns:
            ``(rows, vocabulary)``.
        """
        logits: Tensor = self.network(input_ids=ids, attention_mask=attention).logits
        return logits[torch.arange(len(ids), device=ids.device), positions]

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position a row, of rows without padding; the head reads no other position.

        Args:
            ids: ``(rows, tokens)``, with masks in place.
            positions: ``(rows,)``, that of a mask.

        Returns:
            ``(rows, vocabulary)``.
        """
        if not self.gathers:
            return self.plain_logits(ids, torch.ones_like(ids), positions)
        return self._gathered(ids, positions)

    def _gathered(self, ids: Tensor, positions: Tensor) -> Tensor:
        with self.network.base_model.register_forward_hook(_keep(positions)):
            logits: Tensor = self.network(input_ids=ids).logits  # (rows, 1, vocabulary)
        return logits[:, 0]

    @functools.cached_property
    @torch.inference_mode()
    def gathers(self) -> bool:
        """Whether the network's head gives the same logits when it is shown the wanted positions only.

        It is found by trying: some heads look at the whole row, and some networks do not hand it what they return.
        """
        row, _ = self.wrap([*self.tokens.ids(PROBE), self.mask_id, *self.tokens.ids(f"{PROBE} {PROBE}")])
        ids = torch.tensor([row, row[::-1]], device=self.device)
        positions = torch.tensor([row.index(self.mask_id), 0], device=self.device)
        plain = self.plain_logits(ids, torch.ones_like(ids), positions).float()
        try:
            found = self._gathered(ids, positions).float()
        except Exception:  # Architectures fail in their own ways; the full head answers for all of them.
            return False
        near = (NEAR if self.exact else NEAR_LOW) * float(plain.abs().max())
        return found.shape == plain.shape and bool((found - plain).abs().max() <= near)


def _keep(positions: Tensor) -> Callable[[Any, Any, Any], Any]:
    """Return a hook that leaves one position a row of an encoder's last hidden state: ``(rows, 1, hidden)``."""

    def hook(module: Any, arguments: Any, output: Any) -> Any:
        states = output.last_hidden_state
        output.last_hidden_state = states[torch.arange(len(positions), device=states.device), positions][:, None]
        return output

    return hook
