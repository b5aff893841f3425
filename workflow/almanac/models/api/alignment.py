"""Where a server's tokens stand in a text, found from their texts.

A server says which tokens it read as texts, and these do not simply add up to the text: special tokens come before it,
metaspace tokens lose their space, a token that holds a part of a character has the text "" or �. The offsets that
servers give count what they show (vLLM's count BOS), so they say no more. Hence every token gets the least and the
greatest place where it can end and begin; a boundary that falls between the two is not decided but refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

SPECIAL = 4  # At most so many special tokens stand before a text.
BROKEN = ("�", "bytes:")  # What is shown of a token that holds a part of a character.


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest that a place can be, in characters."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """The tokens of a text: how many stand before it, and where each other begins (its space included) and ends."""

    special: int
    begins: tuple[Range, ...]
    ends: tuple[Range, ...]


def special_tokens(tokens: Sequence[str], text: str) -> int | None:
    """Return how many of the tokens stand before the text, or none where they are not its tokens."""
    counts = range(min(SPECIAL, len(tokens)) + 1)
    return next((count for count in counts if align(tokens, text, count) is not None), None)


def align(tokens: Sequence[str], text: str, special: int) -> Alignment | None:
    """Find tokens in a text.

    Args:
        tokens: their texts, special ones included, in order.
        text: what they are tokens of.
        special: how many stand before the text.

    Returns:
        Their places, or none where the tokens are not those of the text.
    """
    own = tokens[special:]
    least = _ends(own, text)
    mirrored = _ends([token[::-1] for token in reversed(own)], text[::-1])
    if least is None or mirrored is None:
        return None
    starts = [len(text) - place for place in reversed(mirrored)]  # The greatest place where what is shown starts.
    shown = [index for index, token in enumerate(own) if not _hidden(token)]
    most = [0] * len(own)  # The greatest end of each; a later token never ends before an earlier one.
    follows, opened = len(text), False
    for index in range(len(own) - 1, -1, -1):
        if _hidden(own[index]):
            after = next((own[at] for at in shown if at > index), "")
            opened = opened or _open(own[index])
            most[index] = min([follows + (_completed(after) if opened else 0), len(text), *most[index + 1 : index + 2]])
        else:
            most[index] = starts[index] + len(own[index])
            follows, opened = starts[index], False
    begins, ends = [], []
    before = Range(0, 0)
    for index, token in enumerate(own):
        loose = _hidden(token) or (index > 0 and _hidden(own[index - 1]))
        latest = max(before.most, starts[index] + _completed(token)) if loose else before.most
        begins.append(Range(max(0, before.least - loose), latest))
        before = Range(min(least[index], len(text)), max(least[index], most[index]))
        ends.append(before)
    return Alignment(special, tuple(begins), tuple(ends))


def _hidden(token: str) -> bool:
    """Return whether a token does not show the characters that it stands for."""
    return not token or any(mark in token for mark in BROKEN)


def _open(token: str) -> bool:
    """Return whether a token may end inside a character, which the next one that is shown then shows."""
    return not token or token.endswith("�") or token.startswith("bytes:")


def _completed(token: str) -> int:
    """Return how much of a token may be what hidden tokens before it left open: up to a character of several bytes."""
    return next((index + 1 for index, letter in enumerate(token) if not letter.isascii()), 0)


def token_range(tokens: Alignment, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the tokens of the characters ``[start, end)``, special ones counted, by the rule of `scoring.boundaries`.

    The first is the first that ends past ``start``, the last the one that holds the last character that is no space.

    Returns:
        The range of tokens, or none where it cannot be told.
    """
    first = _count(tokens.ends, lambda place: place <= start) if start else 0
    last = start + len(text[start:end].rstrip()) if text[start:end].strip() else end
    stop = len(tokens.ends) if end >= len(text) else _count(tokens.begins, lambda place: place < last)
    if first is None or stop is None:
        return None
    return tokens.special + first, tokens.special + max(first, stop)


def _count(places: Sequence[Range], holds: Callable[[int], bool]) -> int | None:
    """Return how many places meet a condition that the first ones meet, or none where one of them may or may not."""
    if any(holds(place.least) != holds(place.most) for place in places):
        return None
    return sum(holds(place.most) for place in places)


def _ends(tokens: Sequence[str], text: str) -> list[int] | None:
    """Return the least place where each token can end, or none where the text does not hold them in this order."""
    place, gap = 0, False  # A gap: hidden tokens stand before, which may be of any length.
    ends = []
    for token in tokens:
        if _hidden(token):
            gap = True
            ends.append(place + 1)
            continue
        at = text.find(token, place)
        if at < 0 or (not gap and text[place:at].strip()):
            return None
        place, gap = at + len(token), False
        ends.append(place)
    return None if text[place:].strip() and not gap else ends
