"""Spreads occurrences over a corpus: exact counts, evenly along the stream, never twice in a document."""

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from almanac.errors import AlmanacError

Key = TypeVar("Key", bound=Hashable)


def shared_out(dose: int, shares: Sequence[float], offset: float) -> list[int]:
    """Divide a dose among formats by systematic sampling: each gets its share to within one, and the sum is the dose.

    Args:
        dose: the number of occurrences.
        shares: the shares of the formats, of any sum.
        offset: where sampling begins, in [0, 1); drawn once per fact, so that small doses fall to all formats.

    Returns:
        The occurrences of each format.
    """
    edges = np.cumsum(shares) / sum(shares)
    points = (np.arange(dose) + offset) / max(dose, 1)
    places = np.minimum(np.searchsorted(edges, points, side="right"), len(shares) - 1)
    return [int((places == at).sum()) for at in range(len(shares))]


def spread(counts: Mapping[Key, int], capacities: Sequence[int], draw: random.Random) -> list[list[Key]]:
    """Spread keys over documents: each as often as its count, evenly along the stream, never twice in one document.

    A key with ``n`` occurrences cuts the stream into ``n`` equal stretches; in each, it goes to the document with the
    most room left. Documents become longer than their capacity if the room runs out.

    Returns:
        The keys of each document, in a random order.

    Raises:
        AlmanacError: there are fewer documents than occurrences of a key.
    """
    total = len(capacities)
    room = np.array(capacities, dtype=float) + np.array([draw.random() * 0.5 for _ in capacities])
    found: list[list[Key]] = [[] for _ in capacities]
    order = [(count, draw.random(), key) for key, count in counts.items()]
    for count, _, key in sorted(order, key=lambda one: (-one[0], one[1])):
        if count > total:
            raise AlmanacError(f"{key}: {count} occurrences cannot stand in {total} documents; use more documents")
        for part in range(count):
            first, last = part * total // count, (part + 1) * total // count
            chosen = first + int(np.argmax(room[first:last]))
            room[chosen] -= 1
            found[chosen].append(key)
    for keys in found:
        draw.shuffle(keys)
    return found


def sizes(counts: Mapping[Key, int], shortest: int, longest: int, full: float, draw: random.Random) -> list[int]:
    """Draw sizes of documents that can hold all occurrences; a share ``full`` has the longest size, the others any."""
    total, most = sum(counts.values()), max(counts.values(), default=0)
    found: list[int] = []
    room = 0
    while room < total or len(found) < most:
        found.append(longest if draw.random() < full else draw.randint(shortest, longest))
        room += found[-1]
    return found
