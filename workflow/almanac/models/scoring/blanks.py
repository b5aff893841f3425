"""Filling a blank: the likeliest tokens, and the log-probabilities and ranks of given words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.registry import Model
from almanac.models.scoring.boundaries import TokenSequence, token_range
from almanac.models.seq2seq import Seq2SeqModel
from almanac.models.tokens import Tokens
from almanac.rows import Request

BLANK = "[MASK]"


@dataclass(frozen=True, slots=True)
class Blank:
    """A text with a blank as a model reads it.

    Attributes:
        ids: special ones included; with one mask for a masked model, up to the blank for a causal one.
        position: the position that is predicted.
        choices: for each choice a sequence in which it stands in the blank.
        problem: why the blank cannot be filled, or none.
        unsupported: whether the reason is the model's family.
    """

    ids: tuple[int, ...] = ()
    position: int = 0
    choices: tuple[TokenSequence, ...] = ()
    problem: str | None = None
    unsupported: bool = False


def read_blank(request: Request, text: str, model: Model) -> Blank:
    """Tokenise a text with a blank.

    The space before a blank goes with it where the tokenizer binds a space to the word after it, so that the blank
    stands for " word" there and for "word" elsewhere.

    Args:
        request: of the kind ``fill``.
        text: its full text, which holds one ``[MASK]``.
        model: the model.
    """
    if text.count(BLANK) != 1:
        return Blank(problem=f"the text must hold one {BLANK}, found {text.count(BLANK)}")
    if isinstance(model, Seq2SeqModel):
        return Blank(problem="encoder-decoders fill no blanks", unsupported=True)
    left, right = text.split(BLANK)
    if isinstance(model, CausalModel):
        return _final_blank(request, left, right, model)
    return _masked_blank(request, left, right, model)


@dataclass(frozen=True, slots=True)
class Filled:
    """What a distribution over a blank gives.

    Attributes:
        tokens: the likeliest allowed tokens' texts.
        probabilities: theirs.
        ranks: of each choice of one token among the allowed ones, 0 first; none for longer choices.
        best: the largest log-probability of all, nats; no finite number where the model's logits are none.
    """

    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    ranks: tuple[int | None, ...]
    best: float


def fill(request: Request, logprobs: Tensor, choices: Sequence[TokenSequence], model: Model) -> Filled:
    """Read off a distribution what a request wants of it.

    Args:
        request: of the kind ``fill``.
        logprobs: ``(vocabulary,)``, nats, at its blank.
        choices: its choices as they stand in the blank.
        model: the model.
    """
    mask = allowed(request, model)
    ids = [one.ids[slice(*one.parts[0])] for one in choices]
    words, probabilities = top(logprobs, mask, request.top_k or 0, model.tokens)
    found = ranks(logprobs, mask, ids, [float(logprobs[own[0]]) for own in ids])
    return Filled(tuple(words), tuple(probabilities), tuple(found), float(logprobs.max()))


def _before_blank(left: str, tokens: Tokens) -> str:
    return left[:-1] if left.endswith(" ") and tokens.binds_space else left


def _final_blank(request: Request, left: str, right: str, model: CausalModel) -> Blank:
    if right:
        return Blank(
            problem=f"causal models fill only a blank that ends the text; {right[:20]!r} follows it", unsupported=True
        )
    before = _before_blank(left, model.tokens)
    ids, _ = model.wrap(model.tokens.ids(before))
    if not ids:
        return Blank(problem="no token stands before the blank")
    sequences = []
    for choice in request.choices or ():
        text = left + choice
        [encoding] = model.tokens.encode([text])
        start, stop = token_range(encoding.offsets, text, len(before), len(text))
        whole, shift = model.wrap(encoding.ids)
        if start >= stop or start + shift == 0:
            return Blank(problem=f"choice {choice!r} has no token that can be scored; lengthen it or the text")
        sequences.append(TokenSequence(whole, ((start + shift, stop + shift),)))
    return Blank(ids, len(ids), tuple(sequences))


def _masked_blank(request: Request, left: str, right: str, model: MaskedModel) -> Blank:
    tokens = model.tokens
    bare = tokens.ids(_before_blank(left, tokens) + str(tokens.tokenizer.mask_token) + right)
    if bare.count(model.mask_id) != 1:
        return Blank(problem=f"the text holds {bare.count(model.mask_id)} mask tokens of the model; one is allowed")
    ids, _ = model.wrap(bare)
    position = ids.index(model.mask_id)
    sequences = []
    for choice in request.choices or ():
        word = word_ids(left, choice, right, tokens)
        if not word:
            return Blank(problem=f"choice {choice!r} has no token; lengthen it")
        whole = (*ids[:position], *word, *ids[position + 1 :])
        sequences.append(TokenSequence(whole, ((position, position + len(word)),)))
    return Blank(ids, position, tuple(sequences))


def word_ids(left: str, word: str, right: str, tokens: Tokens) -> list[int]:
    """Return the ids of a word as it stands between two texts, with the space before it where that goes with it.

    Where its tokens reach over its ends into the texts, the word is tokenised on its own.
    """
    text = left + word + right
    [encoding] = tokens.encode([text])
    begin = len(_before_blank(left, tokens))
    start, stop = token_range(encoding.offsets, text, begin, len(left) + len(word))
    if start < stop:
        before = text[encoding.offsets[start][0] : begin]
        after = text[len(left) + len(word) : encoding.offsets[stop - 1][1]]
        if not before.strip() and not after.strip():
            return encoding.ids[start:stop]
    return tokens.ids(left[begin:] + word)


def allowed(request: Request, model: Model) -> Tensor:
    """Return which ids may fill a blank, ``(vocabulary,)``: neither special, nor excluded, nor without a text."""
    tokens = model.tokens
    mask = torch.zeros(model.vocabulary, dtype=torch.bool)
    mask[: len(tokens.words)] = True
    banned = set(tokens.special_ids)
    for word in request.exclude or ():
        banned |= tokens.excluded(word)
    mask[[token for token in banned if token < model.vocabulary]] = False
    return mask


def top(logprobs: Tensor, mask: Tensor, k: int, tokens: Tokens) -> tuple[list[str], list[float]]:
    """Return the ``k`` likeliest allowed tokens, spaces around them removed, and their probabilities.

    Args:
        logprobs: ``(vocabulary,)``, nats, of the full softmax: what is not allowed keeps its share.
        mask: ``(vocabulary,)``, what is allowed.
        k: how many; fewer are returned where fewer are allowed.
        tokens: the tokenizer.
    """
    ids = torch.nonzero(mask)[:, 0]
    values, order = torch.sort(logprobs[ids], descending=True, stable=True)
    best = ids[order[:k]].tolist()
    return [tokens.words[token] for token in best], values[:k].double().exp().tolist()


def ranks(
    logprobs: Tensor, mask: Tensor, choices: Sequence[tuple[int, ...]], values: Sequence[float]
) -> list[int | None]:
    """Return how many allowed tokens are likelier than each choice of one token; none for longer choices.

    Args:
        logprobs: ``(vocabulary,)``, nats.
        mask: ``(vocabulary,)``, what is allowed.
        choices: the ids of each choice.
        values: the log-probability of each choice, nats.
    """
    found: list[int | None] = []
    for ids, value in zip(choices, values, strict=True):
        if len(ids) > 1:
            found.append(None)
            continue
        others = mask.clone()
        others[ids[0]] = False
        found.append(int((logprobs[others] > value).sum()))
    return found
