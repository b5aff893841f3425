"""Packs whole documents of different lengths into rows of one length; arrays say which document a token is from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from almanac.errors import AlmanacError

OPEN_ROWS = 64  # rows that may still get a document; more waste less room but move documents further
NOBODY = -1


@dataclass(frozen=True, slots=True)
class Encoded:
    """A tokenised document; for each token, whether it is learnt, whether it begins a word, and its object.

    ``objects`` is 0 outside objects, and otherwise the number, from 1, of the object in the document.
    """

    tokens: tuple[int, ...]
    learnt: tuple[bool, ...]
    begins: tuple[bool, ...]
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Packed documents; each array is ``(rows, length)``.

    ``documents`` is the number of a token's document, -1 for padding; ``positions`` is its place in that document.
    """

    tokens: NDArray[np.int64]
    documents: NDArray[np.int64]
    positions: NDArray[np.int64]
    learnt: NDArray[np.bool_]
    begins: NDArray[np.bool_]
    objects: NDArray[np.int64]


def places(lengths: Sequence[int], length: int) -> list[list[int]]:
    """Put documents into rows of one length, roughly in their order.

    A document goes to the open row with the least room in which it fits, or else to a new row. If too many rows are
    open, the fullest is closed.

    Args:
        lengths: the lengths of the documents in tokens.
        length: the length of a row in tokens.

    Returns:
        The documents of each row; rows are in the order in which they were opened.

    Raises:
        AlmanacError: a document is longer than a row.
    """
    rows: list[list[int]] = []
    room: dict[int, int] = {}
    for number, size in enumerate(lengths):
        if size > length:
            raise AlmanacError(
                f"document {number} has {size} tokens, a row has {length}: raise models.NAME.planted.length, lower "
                "planting.corpus.list_characters if it is a list, or planting.tokenizer.min_frequency, so that words "
                "have fewer tokens"
            )
        fitting = [row for row, left in room.items() if left >= size]
        if fitting:
            chosen = min(fitting, key=lambda row: (room[row], row))
        else:
            if len(room) == OPEN_ROWS:
                room.pop(min(room, key=lambda row: (room[row], row)))
            chosen = len(rows)
            rows.append([])
            room[chosen] = length
        rows[chosen].append(number)
        room[chosen] -= size
        if not room[chosen]:
            room.pop(chosen)
    return rows


def pack(documents: Sequence[Encoded], length: int, padding: int) -> PackedRows:
    """Pack documents into rows; see `places`."""
    rows = places([len(one.tokens) for one in documents], length)
    shape = (len(rows), length)
    packed = PackedRows(
        np.full(shape, padding, dtype=np.int64),
        np.full(shape, NOBODY, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape, dtype=np.int64),
    )
    for row, numbers in enumerate(rows):
        at = 0
        for number in numbers:
            one = documents[number]
            here = slice(at, at + len(one.tokens))
            packed.tokens[row, here] = one.tokens
            packed.documents[row, here] = number
            packed.positions[row, here] = np.arange(len(one.tokens))
            packed.learnt[row, here] = one.learnt
            packed.begins[row, here] = one.begins
            packed.objects[row, here] = one.objects
            at = here.stop
    return packed
