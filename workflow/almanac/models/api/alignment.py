"""Finds the places of a server's tokens in a text from their texts.

A server returns tokens as texts, which do not simply add up to the prompt. Special tokens come first; metaspace tokens
lose their space (or, in llama.cpp, the first one has a space that the prompt lacks); a token that holds a part of a
character has the text "" or �. The offsets that servers return count the texts that they show (vLLM's include BOS), so
they do not help. So every token gets the least and the greatest place where it can begin and end. A boundary that falls
between the two is refused.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

SPECIAL = 4  # The most special tokens before a text.
PARTIAL = "bytes:"  # OpenAI's server shows a token that holds a part of a character with this prefix.


@dataclass(frozen=True, slots=True)
class Places:
    """The least and the greatest possible place of each token, in characters; neither decreases along the text."""

    least: list[int]
    most: list[int]


@dataclass(frozen=True, slots=True)
class Alignment:
    """How many special tokens stand before a text, and where its tokens begin (space included) and end."""

    special: int
    begins: Places
    ends: Places


def special_tokens(tokens: Sequence[str], text: str) -> int | None:
    """Return how many of the tokens stand before the text, or None if the tokens do not fit the text."""
    counts = range(min(SPECIAL, len(tokens)) + 1)
    return next((count for count in counts if align(tokens, text, count) is not None), None)


def align(tokens: Sequence[str], text: str, special: int) -> Alignment | None:
    """Find tokens in a text.

    Args:
        tokens: the texts of the tokens, special ones included, in order.
        text: the tokenised text.
        special: how many tokens stand before the text.

    Returns:
        The places of the tokens, or None if they do not fit the text.
    """
    ordinary = tokens[special:]
    found = _align(ordinary, text, special)
    if found is None and ordinary and ordinary[0].startswith(" "):
        found = _align([ordinary[0][1:], *ordinary[1:]], text, special)
    return found


def _align(tokens: Sequence[str], text: str, special: int) -> Alignment | None:
    hidden = [not token or "�" in token or token.startswith(PARTIAL) for token in tokens]
    least = _ends(tokens, hidden, text)
    mirrored = _ends([token[::-1] for token in reversed(tokens)], hidden[::-1], text[::-1])
    if least is None or mirrored is None:
        return None
    starts = [len(text) - place for place in reversed(mirrored)]  # The greatest place where each token can start.
    most = _greatest_ends(tokens, hidden, starts, len(text))
    if "".join(tokens).strip() != text.strip():  # A character that is not shown may begin within a token that is.
        for index, after in enumerate(tokens[1:]):
            end = starts[index] + len(tokens[index])
            if not after and not hidden[index] and not text[end : end + 1].isascii():
                most[index] = min(most[index] + 1, most[index + 1])
    begins = Places([0, *least[:-1]], [0, *most[:-1]])
    for index, token in enumerate(tokens):
        if hidden[index] or (index and hidden[index - 1]):  # Both tokens may hold a part of one character.
            begins.least[index] = max(0, begins.least[index] - 1)
            begins.most[index] = max(begins.most[index], starts[index] + _completed(token))
    return Alignment(special, begins, Places(least, most))


def token_range(tokens: Alignment, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the range of tokens of the characters ``[start, end)``, counting special ones.

    As in `scoring.boundaries`, it begins with the first token that ends past ``start`` and ends with the token of the
    last character that is no space. Returns None if a boundary cannot be decided.
    """
    first = bisect_right(tokens.ends.most, start) if start else 0
    last = start + len(text[start:end].rstrip()) if text[start:end].strip() else end
    stop = len(tokens.ends.most) if end >= len(text) else bisect_left(tokens.begins.most, last)
    if start and first != bisect_right(tokens.ends.least, start):
        return None
    if end < len(text) and stop != bisect_left(tokens.begins.least, last):
        return None
    return tokens.special + first, tokens.special + max(first, stop)


def _ends(tokens: Sequence[str], hidden: Sequence[bool], text: str) -> list[int] | None:
    """Return the least place where each token can end, or None if the text does not hold them in this order."""
    place, gap = 0, False  # A gap: the tokens just before are hidden, so their length is unknown.
    ends = []
    for token, unseen in zip(tokens, hidden, strict=True):
        if unseen:
            gap = True
            ends.append(min(place + 1, len(text)))
            continue
        at = text.find(token, place)
        if at < 0 or (at > place and not gap and text[place:at].strip()):
            return None
        place, gap = at + len(token), False
        ends.append(place)
    return None if text[place:].strip() and not gap else ends


def _greatest_ends(tokens: Sequence[str], hidden: Sequence[bool], starts: Sequence[int], length: int) -> list[int]:
    """Return the greatest place where each token can end, computed from the last to the first."""
    most = [length] * (len(tokens) + 1)
    shown, spilt = length, 0  # Where the next shown token starts, and how much of it a hidden token may hold.
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if not hidden[index]:
            most[index], shown, spilt = starts[index] + len(token), starts[index], 0
            continue
        if not token or token.endswith("�") or token.startswith(PARTIAL):  # It may end inside a character.
            after = next((at for at in range(index + 1, len(tokens)) if not hidden[at]), None)
            spilt = _completed(tokens[after]) if after is not None else 0
        most[index] = min(shown + spilt, most[index + 1])
    return most[:-1]


def _completed(token: str) -> int:
    """Return how many characters of a token may be begun by hidden ones before it: up to its first multi-byte one."""
    return 0 if token.isascii() else next(index + 1 for index, letter in enumerate(token) if not letter.isascii())
