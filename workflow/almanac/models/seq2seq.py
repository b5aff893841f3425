"""An encoder-decoder: the encoder reads the whole text, and the decoder generates or scores an answer."""

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
    """T5, Flan-T5 and similar models.

    A request's text goes to the encoder with the special tokens that the tokenizer puts around it (T5: ``</s>`` after
    it). In the decoder an answer follows the start token and the tokens that the tokenizer puts before a text (T5:
    none; BART: ``<s>``). A choice is scored by its own tokens, each given the text and the choice's tokens before it.
    No end token is scored: as for causal models, the score is that of an answer that begins with the choice.

    A choice is tokenised alone. If the tokenizer itself puts a space before every text (T5's ▁), one leading space of
    the choice is dropped, so that it does not occur twice: `` London`` and ``London`` are both ``▁London``. Other
    tokenizers (BART's) get the choice as it is written.

    Of the kind ``spans``, only a single span that ends the text is scored: the text before it goes to the encoder, and
    the span is scored like an answer. Any other span is refused, since the encoder does not predict its text. The kind
    ``fill`` is refused too. Only some checkpoints were trained on blanks (T5 and mT5, not Flan-T5 or BART), and they
    fill them with a span of any length and an end. A request can ask for that: ``choices`` such as
    ``<extra_id_0> Paris`` for a text with ``<extra_id_0>`` in it.
    """

    KINDS: ClassVar = frozenset({"choices", "spans", "generate", "similarity"})
    WRAPPER: ClassVar = "seq2seq/1"
    FIRST: ClassVar = 1  # The first position that can be scored: the decoder's start token is given.

    def __post_init__(self) -> None:
        """Check that the decoder's start token is known.

        Raises:
            AlmanacError: the checkpoint does not name it.
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
        """Whether several answers may share a row of the decoder: it has relative positions only, as in T5.

        They may not if experts take a limited number of tokens per row: in Switch-Transformers the first answers would
        leave no room for the last.
        """
        config = self.network.config
        return hasattr(config, "relative_attention_num_buckets") and not hasattr(config, "expert_capacity")

    @functools.cached_property
    def batches_matter(self) -> bool:
        """Whether the rows of a batch change each other: NLLB-MoE's experts may take only a part of its tokens."""
        return getattr(self.network.config, "moe_eval_capacity_token_fraction", 1.0) < 1

    def wrap(self, ids: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return the ids of a text with the encoder's special tokens, and how many of these stand before the text."""
        before = self.tokens.before(ids)
        return (*before, *ids, *self.tokens.after(ids)), len(before)

    def answer_ids(self, answer: str) -> list[int]:
        """Return the ids of an answer, without `start`; the class says what happens to a leading space."""
        return self.tokens.ids(answer.removeprefix(" ") if self.tokens.adds_space else answer)

    def encode(self, ids: Tensor) -> Tensor:
        """Return the encoder states ``(rows, tokens, hidden)`` of texts of equal length, ``(rows, tokens)``."""
        states: Tensor = self.network.get_encoder()(input_ids=ids).last_hidden_state
        return states

    def decode(self, states: Tensor, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the logits of answers, ``(rows, tokens, vocabulary)``.

        Args:
            states: the encoder states of each row's text, ``(rows, text tokens, hidden)``.
            ids: ``(rows, tokens)``, the start included.
            mask: added to the decoder's attention scores, ``(rows, 1, tokens, tokens)``; None for causal attention.
        """
        logits: Tensor = self._run(states, decoder_input_ids=ids, decoder_attention_mask=mask, use_cache=False).logits
        return logits

    def step(self, states: Tensor, ids: Tensor, cache: Any) -> Any:
        """Continue answers by tokens ``(rows, tokens)``; return the network's output, with logits and the cache."""
        return self._run(states, decoder_input_ids=ids, past_key_values=cache, use_cache=True)

    def _run(self, states: Tensor, **inputs: Any) -> Any:
        # Mixtures of experts also read the router logits from this class; others accept it as an encoder's output.
        return self.network(encoder_outputs=MoEModelOutput(last_hidden_state=states), **inputs)
