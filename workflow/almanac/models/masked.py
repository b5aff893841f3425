"""A masked language model: a token is predicted from the tokens on both sides of it."""

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

NEAR = 1e-3  # Share of the largest logit: far above float32 rounding, far below the effect of a wrong position.
NEAR_LOW = 0.1  # The same for lower precision.


@dataclass(frozen=True, eq=False)
class MaskedModel(LocalModel):
    """An encoder with a head over the vocabulary, and its tokenizer.

    A text is read between the special tokens that its tokenizer puts around it ([CLS] and [SEP]). A part of several
    tokens is scored by the pseudo-log-likelihood ``pll_l2r``: token i is predicted while i and all later tokens of the
    same part are masked (Kauf & Ivanova 2023 mask the rest of a word; here it is the rest of the answer). This score is
    not the probability of the text.

    If a text is cut into smaller parts, the sum over its parts is another known score: the original
    pseudo-log-likelihood (Salazar et al. 2020) if each token is a part, PLL-word-l2r if each word is a part.
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
        """Return the logits at one position per row, of an ordinary forward pass.

        Args:
            ids: ``(rows, tokens)``, with masks in place, padded on the right.
            attention: ``(rows, tokens)``, 1 for a token and 0 for padding.
            positions: ``(rows,)``, the position of a mask.

        Returns:
            ``(rows, vocabulary)``.
        """
        logits: Tensor = self.network(input_ids=ids, attention_mask=attention).logits
        return logits[torch.arange(len(ids), device=ids.device), positions]

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position per row; if possible, the last linear maps run there only.

        Args:
            ids: ``(rows, tokens)``, with masks in place, not padded.
            positions: ``(rows,)``, the position of a mask.

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
        """Return logits as `logits` does; the head and some linear maps before it are run at one position per row.

        After the last attention every position is computed by itself. The output of a map at one position is added, by
        broadcasting, to the residuals of all positions: this is right at that position, the only one the head sees.

        Args:
            ids: as in `logits`.
            positions: as in `logits`.
            maps: the maps, and how often the encoder runs each (ALBERT: once per layer); only the last run is narrowed.
        """
        rows = torch.arange(len(ids), device=ids.device)
        left = Counter(dict(maps))

        def show(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
            left[module] -= 1
            states = given[0]  # (rows, tokens, hidden), or (rows, 1, hidden) after another narrowed map
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
        """The last linear maps of the encoder that can be run at one position; None if not even the head can.

        This is found by trying: two to four maps follow the last attention, some heads look at the whole row, and some
        networks do not pass their output on to the head.
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
            with contextlib.suppress(Exception):  # Architectures fail in many ways.
                found = self._narrow_logits(ids, positions, maps).float()
                if found.shape == plain.shape and bool((found - plain).abs().max() <= near):
                    return maps
        return None


@dataclass(frozen=True, eq=False)
class EncoderModel(MaskedModel):
    """An encoder without a head, such as a sentence embedding model: it reads texts and predicts nothing."""

    KINDS: ClassVar = frozenset({"similarity"})
    WRAPPER: ClassVar = "encoder/1"
