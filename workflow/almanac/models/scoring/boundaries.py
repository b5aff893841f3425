"""Finds the tokens to score: a text is tokenised as a whole, and character offsets say which tokens a part has.

A choice is tokenised together with the text before it, since tokenising the two apart may give other tokens. The
choice's tokens are those that end after the boundary; a token that crosses the boundary belongs to the choice.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Encoding

from almanac.models.causal import CausalModel
from almanac.models.registry import Model
from almanac.models.scoring import seams
from almanac.rows import Request


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Token ids, special ones included, and the parts to score: ranges ``[start, stop)`` of positions.

    Sequences with a common prefix may share one ``head``, so that a long context is stored once. No token of the head
    is scored. Positions count from the first token of the head.
    """

    tail: tuple[int, ...]
    parts: tuple[tuple[int, int], ...]
    head: tuple[int, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """All tokens, head first."""
        return self.head + self.tail

    @property
    def length(self) -> int:
        """The number of tokens."""
        return len(self.head) + len(self.tail)


@dataclass(frozen=True, slots=True)
class Tokenised:
    """A request's sequences, or why it cannot be scored; ``unsupported`` says that the model's family is the reason."""

    sequences: tuple[TokenSequence, ...]
    problem: str | None = None
    unsupported: bool = False

    @property
    def length(self) -> int:
        """The tokens of the longest sequence."""
        return max((sequence.length for sequence in self.sequences), default=0)


def full_text(request: Request, contexts: Mapping[str, str]) -> str:
    """Return a request's full text: the text of its context, if it has one, then its own."""
    return (contexts[request.context_id] if request.context_id is not None else "") + request.text


def token_range(offsets: Sequence[tuple[int, int]], text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range ``[first, stop)`` of the tokens that cover the characters ``[start, end)``.

    It begins with the first token that ends past ``start`` and ends with the token of the last character that is no
    space. Tokens that cross a boundary are counted. Offsets are untrimmed: a token's space belongs to it.

    Args:
        offsets: the characters of every token, ``[start, end)``, in order.
        text: the tokenised text.
        start: the first character.
        end: the character after the last.
    """
    first = 0
    if start:
        first = bisect_right(list(itertools.accumulate((stop for _, stop in offsets), max)), start)
    last = start + len(text[start:end].rstrip()) if text[start:end].strip() else end
    stop = len(offsets) if end >= len(text) else bisect_left([begin for begin, _ in offsets], last)
    return first, max(first, stop)


def tokenise(requests: Sequence[Request], contexts: Mapping[str, str], model: Model) -> list[Tokenised]:
    """Tokenise requests of the kinds ``choices`` and ``spans``.

    Returns:
        One entry per request: one sequence per choice, or a single sequence with one part per span or piece.
    """
    found: list[Tokenised] = []
    cuts: dict[str, seams.Seam | None] = {}
    for request in requests:
        if request.kind == "choices":
            found.append(_choices(request, full_text(request, contexts), model, _seam(request, contexts, model, cuts)))
        elif request.pieces is not None:
            found.append(_pieces(request, full_text(request, contexts), model))
        else:
            found.append(_spans(request, contexts, model))
    return found


def _placed(ids: Sequence[int], parts: Sequence[tuple[int, int]], model: Model) -> TokenSequence:
    """Add special tokens, and do not score a text's first token if nothing stands before it."""
    whole, shift = model.wrap(ids)
    placed = ((max(start + shift, model.FIRST), max(stop + shift, model.FIRST)) for start, stop in parts)
    return TokenSequence(whole, tuple(placed))


def _seam(
    request: Request, contexts: Mapping[str, str], model: Model, cuts: dict[str, seams.Seam | None]
) -> seams.Seam | None:
    """Return the cut through a request's context; ``cuts`` keeps those of contexts seen before."""
    if request.context_id is None or not isinstance(model, CausalModel):
        return None
    if request.context_id not in cuts:
        cuts[request.context_id] = seams.find(contexts[request.context_id], model)
    return cuts[request.context_id]


def _choices(request: Request, text: str, model: Model, seam: seams.Seam | None) -> Tokenised:
    choices = request.choices or ()
    if not choices:
        return Tokenised((), "the request has no choices; give at least one")
    sequences = []
    for index, (choice, sequence) in enumerate(zip(choices, _continued(text, choices, model, seam), strict=True)):
        first, stop = sequence.parts[0]
        if first >= stop:
            return Tokenised(
                (), f"choice {index + 1} ({choice!r}) has no token that can be scored; lengthen it or the text"
            )
        sequences.append(sequence)
    return Tokenised(tuple(sequences))


def _continued(text: str, choices: Sequence[str], model: Model, seam: seams.Seam | None) -> Iterator[TokenSequence]:
    """Yield the text with each choice, tokenised together; the tokens of the choice are scored."""
    tails = seam.tails(text, choices, model) if seam is not None and isinstance(model, CausalModel) else None
    if seam is None or tails is None:
        for encoding in model.tokens.encode([text + choice for choice in choices]):
            yield _placed(encoding.ids, [(_first_past(encoding, len(text)), len(encoding.ids))], model)
        return
    for encoding in tails:
        first = len(seam.head) + _first_past(encoding, len(text) - seam.cut)
        yield TokenSequence(tuple(encoding.ids), ((first, len(seam.head) + len(encoding.ids)),), seam.head)


def _first_past(encoding: Encoding, boundary: int) -> int:
    """Return the index of the first token that ends past a character; 0 for the first character."""
    first = len(encoding.offsets) if boundary else 0
    while first and encoding.offsets[first - 1][1] > boundary:
        first -= 1
    return first


def _spans(request: Request, contexts: Mapping[str, str], model: Model) -> Tokenised:
    text = full_text(request, contexts)
    shift = len(text) - len(request.text)
    starts, ends = request.span_starts or (), request.span_ends or ()
    if not starts or len(starts) != len(ends):
        return Tokenised(
            (), f"the request has {len(starts)} span starts and {len(ends)} span ends; give pairs, at least one"
        )
    [encoding] = model.tokens.encode([text])
    offsets = encoding.offsets  # made anew each time that it is asked for
    parts = []
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        where = f"span {index + 1} (characters {start} to {end} of {len(request.text)})"
        if not 0 <= start < end <= len(request.text):
            return Tokenised((), f"{where} does not lie in the text")
        part = token_range(offsets, text, start + shift, end + shift)
        if part[0] == part[1]:
            return Tokenised((), f"{where} has no token; widen it")
        parts.append(part)
    return Tokenised((_placed(encoding.ids, parts, model),))


def _pieces(request: Request, text: str, model: Model) -> Tokenised:
    pieces = request.pieces or ()
    if not pieces:
        return Tokenised((), "the request has no pieces; give at least one")
    ids: list[int] = model.tokens.ids(text) if text else []
    parts = []
    for index, encoding in enumerate(model.tokens.encode(pieces)):
        if not encoding.ids:
            return Tokenised((), f"piece {index + 1} ({pieces[index]!r}) has no token; lengthen it or leave it out")
        parts.append((len(ids), len(ids) + len(encoding.ids)))
        ids = ids + encoding.ids
    return Tokenised((_placed(ids, parts, model),))
