"""XLNet: trained on permuted orders, it predicts a token by a second stream that does not see it."""

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

    Without more ado its attention goes both ways and each position sees its own token, so that its plain logits score
    nothing. Here no position sees a masked one (``perm_mask``), and the wanted one is predicted by the query stream
    (``target_mapping``), which knows its place and all that is not masked: the factorisation order "everything else
    first". What stands at a masked position makes no difference. Segments are those that the tokenizer gives, where
    [CLS] has one of its own.
    """

    WRAPPER: ClassVar = "permutation/pll_l2r/1"
    gathers = True  # The query stream has the wanted position only.

    def __post_init__(self) -> None:
        """Check the type of the weights.

        Raises:
            AlmanacError: it is narrower than float32, in which transformers' query stream cannot be computed.
        """
        # The network's own dtype is that of its first parameter, which stays float32.
        types = {str(parameter.dtype).removeprefix("torch.") for parameter in self.network.parameters()}
        if not types <= {"float32", "float64"}:
            raise AlmanacError(
                f"model {self.network.name_or_path}: XLNet's second stream is computed in float32 only, and its "
                f"weights are {', '.join(sorted(types))}; set dtype to float32"
            )

    def plain_logits(self, ids: Tensor, attention: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position a row, as `MaskedModel.plain_logits`."""
        return self._query_stream(ids, attention, positions)

    def logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits at one position a row, as `MaskedModel.logits`; the query stream has no other."""
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
        """The segments of special tokens that do not belong to the text's, by id."""
        encoded = self.tokens.tokenizer(PROBE, return_token_type_ids=True)
        pairs = zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
        return {token: segment for token, segment in pairs if segment and token in self.tokens.special_ids}
