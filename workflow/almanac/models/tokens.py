"""A tokenizer as scoring needs it: ids with exact character offsets, and special tokens added only once."""

import copy
import functools
import json
from collections.abc import Sequence
from typing import Any

from tokenizers import Encoding, Tokenizer

from almanac.errors import AlmanacError
from almanac.models.stopping import THINKING_TAGS

PROBE = "a"


class Tokens:
    """A fast tokenizer, whose special tokens before and after a text are kept apart.

    The special tokens are those that the tokenizer itself adds before a text (``prefix``: BOS, [CLS]) and after it
    (``suffix``: EOS, [SEP]). They are found by tokenising a probe, so that settings like ``add_bos_token`` have their
    usual effect. A text that already begins with the prefix gets no second one.

    Args:
        tokenizer: a transformers tokenizer that is backed by the tokenizers library.
        as_text: a special token to read as plain text, such as "[MASK]" for a model without masks. The attribute
            ``as_text`` is None if the tokenizer has no such token.

    Raises:
        AlmanacError: the tokenizer has no offsets, or changes a text when it adds special tokens.
    """

    def __init__(self, tokenizer: Any, as_text: str | None = None) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise AlmanacError(
                f"{tokenizer.name_or_path}: the tokenizer {type(tokenizer).__name__} gives no character offsets; "
                "put a tokenizer.json beside the weights"
            )
        self.tokenizer = tokenizer
        # The post-processor trims offsets (a token of one space becomes empty) and adds special tokens. Neither is
        # wanted here, and the ids of a text do not depend on it.
        self.plain: Tokenizer = copy.deepcopy(tokenizer.backend_tokenizer)
        added = {one.content for one in self.plain.get_added_tokens_decoder().values()}
        self.as_text = as_text if as_text in added else None
        if self.as_text is not None:
            # `encode_special_tokens` makes special tokens text, so only this one stays special.
            saved = json.loads(self.plain.to_str())
            for one in saved["added_tokens"]:
                one["special"] = one["content"] == as_text
            self.plain = Tokenizer.from_str(json.dumps(saved))
            self.plain.encode_special_tokens = True
        self.plain.post_processor = None
        self.plain.no_truncation()
        self.plain.no_padding()
        if getattr(self.plain.model, "dropout", None):  # BPE dropout, for training: each call would give other tokens
            self.plain.model.dropout = None
        self.prefix, self.suffix = self._special()
        self.mask_id: int | None = tokenizer.mask_token_id
        self.pad_id: int = tokenizer.pad_token_id or 0
        self.unknown_id: int | None = tokenizer.unk_token_id

    def _special(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        bare = self.plain.encode(PROBE, add_special_tokens=False).ids
        full = list(self.tokenizer(PROBE)["input_ids"])
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return tuple(full[:start]), tuple(full[start + len(bare) :])
        raise AlmanacError(
            f"{self.tokenizer.name_or_path}: the tokenizer gives {full} for {PROBE!r} with special tokens and {bare} "
            "without; special tokens may only stand before and after a text"
        )

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Tokenise texts without special tokens; offsets are characters of the text, spaces included, untrimmed."""
        return self.plain.encode_batch(list(texts), add_special_tokens=False)

    def ids(self, text: str) -> list[int]:
        """Tokenise one text without special tokens."""
        return self.plain.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without special tokens, except those that delimit a model's thinking."""
        if keep := not self.thinking_tags.isdisjoint(ids):
            ids = [token for token in ids if token in self.thinking_tags or token not in self.special_ids]
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=not keep, clean_up_tokenization_spaces=False))

    def before(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the special tokens to put before ``ids``; none if they stand there already."""
        return () if self.prefix and tuple(ids[: len(self.prefix)]) == self.prefix else self.prefix

    def after(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the special tokens to put after ``ids``; none if they stand there already."""
        return () if self.suffix and tuple(ids[-len(self.suffix) :]) == self.suffix else self.suffix

    @functools.cached_property
    def binds_space(self) -> bool:
        """Whether a space belongs to the word after it (byte-level, metaspace) or to no token (WordPiece)."""
        text = "a b"
        if self.plain.normalizer is not None:  # Gemma's turns spaces into ▁, so that its pre-tokenizer splits nowhere.
            text = self.plain.normalizer.normalize_str(text)
        if self.plain.pre_tokenizer is None:
            return True
        [*_, (last, _)] = self.plain.pre_tokenizer.pre_tokenize_str(text)
        return len(last) > 1

    @functools.cached_property
    def adds_space(self) -> bool:
        """Whether the tokenizer itself puts a space before every text, as metaspace tokenizers do (▁)."""
        first: str = self.tokenizer.convert_ids_to_tokens(self.ids(PROBE))[0]
        return first.startswith(("▁", "Ġ"))

    @functools.cached_property
    def words(self) -> list[str]:
        """The text of every token, by id, without the spaces around it."""
        return [
            text.strip()
            for text in self.tokenizer.batch_decode(
                [[token] for token in range(len(self.tokenizer))], clean_up_tokenization_spaces=False
            )
        ]

    @functools.cached_property
    def ids_of_word(self) -> dict[str, tuple[int, ...]]:
        """The ids of all tokens with the same `words` text, by this text: ``the`` and ``Ġthe`` are both ``the``."""
        found: dict[str, list[int]] = {}
        for token, word in enumerate(self.words):
            found.setdefault(word, []).append(token)
        return {word: tuple(ids) for word, ids in found.items()}

    @functools.cached_property
    def thinking_tags(self) -> frozenset[int]:
        """The special tokens that delimit a model's thinking."""
        added = self.tokenizer.added_tokens_decoder
        return frozenset(token for token, one in added.items() if one.special and one.content in THINKING_TAGS)

    @functools.cached_property
    def special_ids(self) -> frozenset[int]:
        """The ids that stand for no text, such as BOS, padding and masks."""
        added = self.tokenizer.added_tokens_decoder
        return frozenset(self.tokenizer.all_special_ids) | {token for token, one in added.items() if one.special}

    @functools.lru_cache(maxsize=65536)  # noqa: B019 (a Tokens object lives as long as its model)
    def excluded(self, word: str) -> frozenset[int]:
        """Return the ids that excluding a word rules out: tokens with its text, and the token of a one-token word."""
        alone = [encoding.ids for encoding in self.encode([word, f" {word}"])]
        return frozenset(self.ids_of_word.get(word.strip(), ())) | {ids[0] for ids in alone if len(ids) == 1}
