"""A masked language model: a token is predicted from those on both sides of it."""

import contextlib
import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

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

    KINDS: ClassVar = frozenset({"choices", "spans", "fill", "similarity"})
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
        """Return the logits at one position a row, of rows without padding, without what only other positions need.

        Args:
            ids: ``(rows, tokens)``, with masks in place.
            positions: ``(rows,)``, that of a mask.

        Returns:
            ``(rows, vocabulary)``.
        """
        if self._narrowed is None:
            return self.plain_logits(ids, torch.ones_like(ids), positions)
        return self._narrow_logits(ids, positions, self._narrowed)

    @property
    def gathers(self) -> bool:
        """Whether the head is computed at the wanted positions only."""
        return self._narrowed is not None

    def _narrow_logits(self, ids: Tensor, positions: Tensor, maps: Sequence[tuple[nn.Module, int]]) -> Tensor:
        """Return logits as `logits` does, the head and some linear maps before it being shown one position a row.

        Behind the last attention all is done position by position. What a map gives for one position is added, by
        broadcasting, to the residual of them all: right at that position, which is all that the head is shown.

        Args:
            ids: as in `logits`.
            positions: as in `logits`.
            maps: the maps, and how often the encoder runs each (ALBERT: once a layer); the last time counts.
        """
        rows = torch.arange(len(ids), device=ids.device)
        left = Counter(dict(maps))

        def show(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
            left[module] -= 1
            states = given[0]  # (rows, tokens, hidden), or (rows, 1, hidden) behind another map
            wide = states.shape[1] > 1
            return (states[rows, positions][:, None], *given[1:]) if wide and left[module] == 0 else None

        def keep(module: nn.Module, given: Any, output: Any) -> Any:
            output.last_hidden_state = output.last_hidden_state[rows, positions][:, None]
            return output

        with contextlib.ExitStack() as hooks:
            hooks.enter_context(self.network.base_model.register_forward_hook(keep))
            for one, _ in maps:
                hooks.enter_context(one.register_forward_pre_hook(show))
            logits: Tensor = self.network(input_ids=ids).logits  # (rows, 1, vocabulary)
        return logits[:, 0]

    @functools.cached_property
    @torch.inference_mode()
    def _narrowed(self) -> tuple[tuple[nn.Module, int], ...] | None:
        """The last linear maps of the encoder that may be shown one position; none where even the head may not.

        It is found by trying: behind the last attention there are two maps to four, some heads look at the whole row,
        and some networks do not hand them what they return.
        """
        row, _ = self.wrap([*self.tokens.ids(PROBE), self.mask_id, *self.tokens.ids(f"{PROBE} {PROBE}")])
        ids = torch.tensor([row, row[::-1]], device=self.device)
        positions = torch.tensor([row.index(self.mask_id), 0], device=self.device)
        ran: list[nn.Module] = []
        with contextlib.ExitStack() as hooks:
            for one in self.network.base_model.modules():
                if isinstance(one, nn.Linear):
                    hooks.enter_context(one.register_forward_hook(lambda module, given, output: ran.append(module)))
            plain = self.plain_logits(ids, torch.ones_like(ids), positions).float()
        near = (NEAR if self.exact else NEAR_LOW) * float(plain.abs().max())
        for count in (4, 3, 2, 0):
            maps = tuple((one, ran.count(one)) for one in dict.fromkeys(ran[len(ran) - count :]))
            with contextlib.suppress(Exception):  # Architectures fail in their own ways.
                found = self._narrow_logits(ids, positions, maps).float()
                if found.shape == plain.shape and bool((found - plain).abs().max() <= near):
                    return maps
        return None


@dataclass(frozen=True, eq=False)
class EncoderModel(MaskedModel):
    """An encoder without a head, such as one of sentence embeddings: it reads texts and predicts nothing."""

    KINDS: ClassVar = frozenset({"similarity"})
    WRAPPER: ClassVar = "encoder/1"
