"""An encoder-decoder: a text is read whole by the encoder, and an answer is written, or scored, in the decoder."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from transformers.modeling_outputs import MoEModelOutput

from almanac.errors import AlmanacError
from almanac.models.local import LocalModel


@dataclass(frozen=True, eq=False)
class Seq2SeqModel(LocalModel):
    """T5, Flan-T5 and their kin.

    A request's text goes to the encoder with the special tokens that the tokenizer puts around it (T5: ``</s>`` after
    it). An answer stands in the decoder after the start token and what the tokenizer puts before a text (T5: nothing;
    BART: ``<s>``). A choice is scored by its own tokens, each given the text and the choice's tokens before it. Its end
    is not scored: the score is that of an answer that begins so, as it is for causal models.

    A choice's tokens are those that the tokenizer gives for it alone. Where the tokenizer puts a space before every
    text by itself (T5's ▁), one leading space of the choice is that space and is not written twice: `` London`` and
    ``London`` are both ``▁London``. Other tokenizers (BART's) get the choice as it is written.

    Of ``spans`` one is answered, that which ends the text: the text before it goes to the encoder, and the span is
    scored as an answer is. Any other is refused: a text in the encoder is given, not predicted. So is ``fill``: only
    some checkpoints were trained on blanks (T5 and mT5, not Flan-T5 or BART), and what fills them there is a span of
    any length with an end. A request can ask for that: ``choices`` such as ``<extra_id_0> Paris`` for a text with
    ``<extra_id_0>`` in it.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "generate", "similarity"})
    WRAPPER: ClassVar = "seq2seq/1"
    FIRST: ClassVar = 1  # The decoder's start token is given.

    def __post_init__(self) -> None:
        """Check that an answer has a beginning.

        Raises:
            AlmanacError: the checkpoint does not say with which token the decoder starts.
        """
        if self._start_id is None:
            raise AlmanacError(
                f"model {self.network.name_or_path}: neither generation_config.json nor config.json names a "
                "decoder_start_token_id; write it there (T5: that of <pad>)"
            )

    @property
    def _start_id(self) -> int | None:
        settings = (self.network.generation_config, self.network.config)
        found = [getattr(one, "decoder_start_token_id", None) for one in settings]
        return next((token for token in found if token is not None), None)

    @functools.cached_property
    def start(self) -> tuple[int, ...]:
        """The ids before every answer in the decoder; they are not scored."""
        assert self._start_id is not None
        return (self._start_id, *self.tokens.prefix)

    @functools.cached_property
    def side_by_side(self) -> bool:
        """Whether answers may stand in one row of the decoder: it knows positions by their distances alone, as T5 does.

        Not where experts take a limited number of a row's tokens: in Switch-Transformers the first leave none for the
        last.
        """
        config = self.network.config
        return hasattr(config, "relative_attention_num_buckets") and not hasattr(config, "expert_capacity")

    @functools.cached_property
    def batches_matter(self) -> bool:
        """Whether the rows of a batch change each other: NLLB-MoE's experts may take a part of all its tokens."""
        return getattr(self.network.config, "moe_eval_capacity_token_fraction", 1.0) < 1

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids of a text as the encoder reads them, and how many stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids, *self.tokens.after(ids)), len(before)

    def answer_ids(self, answer: str) -> list[int]:
        """Return the ids of an answer, without those that stand before it; see the class for its leading space."""
        return self.tokens.ids(answer.removeprefix(" ") if self.tokens.adds_space else answer)

    def encode(self, ids: Tensor) -> Tensor:
        """Read texts of one length, ``(rows, tokens)``; return the encoder's states, ``(rows, tokens, hidden)``."""
        states: Tensor = self.network.get_encoder()(input_ids=ids).last_hidden_state
        return states

    def decode(self, states: Tensor, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the logits of answers, ``(rows, tokens, vocabulary)``.

        Args:
            states: of each row's text, ``(rows, text tokens, hidden)``.
            ids: ``(rows, tokens)``, the start included.
            mask: what is added to the decoder's attention scores, ``(rows, 1, tokens, tokens)``; none: each token sees
                those before it.
        """
        logits: Tensor = self._run(states, decoder_input_ids=ids, decoder_attention_mask=mask, use_cache=False).logits
        return logits

    def step(self, states: Tensor, ids: Tensor, cache: Any) -> Any:
        """Go on with answers by tokens ``(rows, tokens)``; return the network's output, with logits and the cache."""
        return self._run(states, decoder_input_ids=ids, past_key_values=cache, use_cache=True)

    def _run(self, states: Tensor, **inputs: Any) -> Any:
        # Mixtures of experts look for the routers' logits too; others take this for any encoder's output.
        return self.network(encoder_outputs=MoEModelOutput(last_hidden_state=states), **inputs)
