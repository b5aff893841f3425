"""Filling a blank: the likeliest tokens, and the log-probabilities and ranks of the choices."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.registry import Model
from almanac.models.scoring.boundaries import TokenSequence, token_range
from almanac.models.seq2seq import Seq2SeqModel
from almanac.models.tokens import PROBE, Tokens
from almanac.rows import Request

BLANK = "[MASK]"


@dataclass(frozen=True, slots=True)
class Blank:
    """A tokenised text with a blank.

    Attributes:
        ids: special ones included; with one mask for a masked model, up to the blank for a causal one.
        position: the predicted position.
        choices: for each choice, the sequence with the choice in the blank.
        problem: why the blank cannot be filled, or None.
        unsupported: whether the reason is the model's family.
    """

    ids: tuple[int, ...] = ()
    position: int = 0
    choices: tuple[TokenSequence, ...] = ()
    problem: str | None = None
    unsupported: bool = False


def read_blank(request: Request, text: str, model: Model) -> Blank:
    """Tokenise a text with a blank.

    If the tokenizer binds a space to the word after it, the space before the blank belongs to the blank, which then
    stands for " word"; otherwise it stands for "word".

    Args:
        request: of the kind ``fill``.
        text: the request's full text, which must hold one ``[MASK]``.
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
    """The results read off the distribution at a blank.

    Attributes:
        tokens: the texts of the likeliest allowed tokens.
        probabilities: their probabilities.
        counts: the number of tokens of each choice; 0 if one of them is the unknown token.
        ranks: the rank of each one-token choice among the allowed tokens, from 0; None for longer choices.
        best: the largest log-probability of the vocabulary, nats; not finite if the model's logits are not.
    """

    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    counts: tuple[int, ...]
    ranks: tuple[int | None, ...]
    best: float


def fill(request: Request, logprobs: Tensor, choices: Sequence[TokenSequence], model: Model) -> Filled:
    """Return what a request asks of the distribution at its blank.

    Args:
        request: of the kind ``fill``.
        logprobs: ``(vocabulary,)``, nats, at its blank.
        choices: for each choice, the sequence with the choice in the blank.
        model: the model.
    """
    mask = allowed(model, request.exclude or ())
    ids = [one.ids[slice(*one.parts[0])] for one in choices]
    words, probabilities = top(logprobs, mask, request.top_k or 0, model.tokens)
    counts = [0 if model.tokens.unknown_id in choice else len(choice) for choice in ids]
    found = ranks(logprobs, mask, [(choice[0], count) for choice, count in zip(ids, counts, strict=True)])
    return Filled(tuple(words), tuple(probabilities), tuple(counts), tuple(found), float(logprobs.max()))


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
    bare = [*tokens.ids(_before_blank(left, tokens)), model.mask_id, *_after_blank(right, tokens)]
    if bare.count(model.mask_id) != 1:
        return Blank(problem=f"the text holds {bare.count(model.mask_id)} mask tokens of the model; one is allowed")
    ids, _ = model.wrap(bare)
    position = ids.index(model.mask_id)
    sequences = []
    choices = request.choices or ()
    for choice, word in zip(choices, words_ids(left, choices, right, tokens), strict=True):
        if not word:
            return Blank(problem=f"choice {choice!r} has no token; lengthen it")
        whole = (*ids[:position], *word, *ids[position + 1 :])
        sequences.append(TokenSequence(whole, ((position, position + len(word)),)))
    return Blank(ids, position, tuple(sequences))


def _after_blank(right: str, tokens: Tokens) -> list[int]:
    """Return the ids of the text after a blank, tokenised as if a word stood before it.

    Otherwise a tokenizer that puts a space before every text would put one between the mask and a full stop.
    """
    if not tokens.adds_space:
        return tokens.ids(right)
    text = PROBE + right
    [encoding] = tokens.encode([text])
    start, stop = token_range(encoding.offsets, text, len(PROBE), len(text))
    if start < stop and encoding.offsets[start][0] < len(PROBE):  # A token reaches from the probe into the text.
        return tokens.ids(right)
    return encoding.ids[start:stop]


def words_ids(left: str, words: Sequence[str], right: str, tokens: Tokens) -> list[list[int]]:
    """Return the ids of each word between two texts, with the space before it if that belongs to the blank.

    A word whose tokens reach into the text on either side is tokenised on its own.
    """
    begin = len(_before_blank(left, tokens))
    found = []
    for word, encoding in zip(words, tokens.encode([left + word + right for word in words]), strict=True):
        text, end = left + word + right, len(left) + len(word)
        start, stop = token_range(encoding.offsets, text, begin, end)
        inside = start < stop
        if inside:
            before = text[encoding.offsets[start][0] : begin]
            after = text[end : encoding.offsets[stop - 1][1]]
            inside = not before.strip() and not after.strip()
        found.append(encoding.ids[start:stop] if inside else tokens.ids(left[begin:] + word))
    return found


@functools.lru_cache(maxsize=2)  # requests of one kind exclude the same words
def allowed(model: Model, exclude: tuple[str, ...]) -> Tensor:
    """Return which ids may fill a blank, ``(vocabulary,)``: not special, not excluded, and ids of a token."""
    tokens, vocabulary = model.tokens, model.vocabulary
    mask = torch.zeros(vocabulary, dtype=torch.bool)
    mask[: len(tokens.words)] = True
    banned = set(tokens.special_ids)
    for word in exclude:
        banned |= tokens.excluded(word)
    mask[[token for token in banned if token < vocabulary]] = False
    return mask


def top(logprobs: Tensor, mask: Tensor, k: int, tokens: Tokens) -> tuple[list[str], list[float]]:
    """Return the ``k`` likeliest allowed tokens, spaces around them removed, and their probabilities.

    Args:
        logprobs: ``(vocabulary,)``, nats, of the full softmax: tokens that are not allowed keep their share.
        mask: ``(vocabulary,)``, which tokens are allowed.
        k: how many; fewer are returned if fewer are allowed.
        tokens: the tokenizer.
    """
    values = torch.where(mask, logprobs, -torch.inf)
    k = min(k, int(mask.sum()))
    if k == 0:
        return [], []
    if k == 1:
        best = int(values.argmax())  # The first of equal ones.
        return [tokens.words[best]], [math.exp(float(values[best]))]
    least = torch.topk(values, k).values[-1]
    ids = torch.nonzero(values >= least)[:, 0]  # The k likeliest, and those that tie with the last of them.
    likely, order = torch.sort(values[ids], descending=True, stable=True)
    return [tokens.words[token] for token in ids[order[:k]].tolist()], likely[:k].double().exp().tolist()


def ranks(logprobs: Tensor, mask: Tensor, choices: Sequence[tuple[int, int]]) -> list[int | None]:
    """Return the rank of each one-token choice among the allowed tokens, from 0; None for other choices.

    Of equal tokens the lower id comes first, as among the likeliest tokens (`top`).

    Args:
        logprobs: ``(vocabulary,)``, nats.
        mask: ``(vocabulary,)``, which tokens are allowed.
        choices: for each choice, the id of its first token and the number of its tokens.
    """
    others = torch.where(mask, logprobs, -torch.inf)
    return [_rank(token, float(logprobs[token]), others) if count == 1 else None for token, count in choices]


def _rank(token: int, value: float, others: Tensor) -> int:
    return int((others > value).sum()) + int((others[:token] == value).sum())
