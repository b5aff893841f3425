"""XLNet: trained on permuted orders, it predicts a token with a second stream that does not see this token."""

import functools
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from almanac.errors import AlmanacError
from almanac.models.masked import MaskedModel
from almanac.models.tokens import PROBE


@dataclass(frozen=True, eq=False)
class PermutationModel(MaskedModel):
    """XLNet (Yang et al. 2019) as a masked model.

    By default its attention goes both ways and each position sees its own token, so its plain logits cannot be used as
    scores. Here no position sees a masked one (``perm_mask``). The wanted token is predicted by the query stream
    (``target_mapping``), which knows the position and all tokens that are not masked: the factorisation order
    "everything else first". The token at a masked position makes no difference. Segments are those of the tokenizer,
    where [CLS] has one of its own.
    """

    WRAPPER: ClassVar = "permutation/pll_l2r/1"
    gathers = True  # The query stream computes the wanted position only.

    def __post_init__(self) -> None:
        """Check the dtype of the weights.

        Raises:
            AlmanacError: it is narrower than float32, which transformers' query stream cannot compute with.
        """
        # The network's own dtype is that of its first parameter, which stays float32.
        types = {str(parameter.dtype).removeprefix("torch.") for parameter in self.network.parameters()}
        if not types <= {"float32", "float64"}:
            raise AlmanacError(
                f"model {self.network.name_or_path}: XLNet's second stream is computed in float32 only, and its "
                f"weights are {', '.join(sorted(types))}; set dtype to float32"
            )

    def plain_logits(self, ids: Tensor, attention: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position per row, as `MaskedModel.plain_logits`."""
        return self._query_stream(ids, attention, positions)

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position per row, as `MaskedModel.logits`; the query stream has no others."""
        return self._query_stream(ids, None, positions)

    def _query_stream(self, ids: Tensor, attention: Tensor | None, positions: Tensor) -> Tensor:
        rows, width = ids.shape
        hidden = (ids == self.mask_id).to(self.network.dtype)  # (rows, tokens)
        target = torch.zeros((rows, 1, width), dtype=self.network.dtype, device=ids.device)
        target[torch.arange(rows, device=ids.device), 0, positions] = 1.0
        output = self.network(
            input_ids=ids,
            attention_mask=None if attention is None else attention.to(self.network.dtype),
            perm_mask=hidden[:, None, :].expand(rows, width, width),
            target_mapping=target,
            token_type_ids=self._segments(ids),
            use_mems=False,
        )
        logits: Tensor = output.logits  # (rows, 1, vocabulary)
        return logits[:, 0]

    def _segments(self, ids: Tensor) -> Tensor:
        segments = torch.zeros_like(ids)
        for token, segment in self._segment_of.items():
            segments[ids == token] = segment
        return segments

    @functools.cached_property
    def _segment_of(self) -> dict[int, int]:
        """By id, the segments of special tokens whose segment is not that of the text."""
        encoded = self.tokens.tokenizer(PROBE, return_token_type_ids=True)
        pairs = zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
        return {token: segment for token, segment in pairs if segment and token in self.tokens.special_ids}
