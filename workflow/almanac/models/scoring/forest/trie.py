"""What token sequences share: a forest of their prefixes, in which every distinct token stands once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from almanac.models.scoring.boundaries import TokenSequence

Ints = NDArray[np.int64]
ROOT = -1


def overlap(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences begin with together."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class Growing:
    """A forest that sequences are added to.

    A node is a token that is fed to the model, in its place after all tokens before it. An edge is a token that is
    scored after a node; the last token of a sequence is an edge only, and never fed.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.edge_nodes: list[int] = []
        self.edge_tokens: list[int] = []
        self._children: dict[tuple[int, int], int] = {}
        self._edges: dict[tuple[int, int], int] = {}
        self._heads: dict[int, tuple[tuple[int, ...], int]] = {}  # The tuple is kept, so that its id stays its own.
        self._last: tuple[Sequence[int], list[int]] = ((), [ROOT])  # the tokens that were followed last, and their path

    def add(self, sequence: TokenSequence) -> list[int]:
        """Add a sequence and return the edges of its scored tokens, part after part."""
        first = len(sequence.head)
        positions = [position for part in sequence.parts for position in range(*part)]
        if not positions:  # a text of one token that nothing stands before: there is nothing to score
            return []
        if min(positions) < first:
            raise ValueError("a head holds scored tokens; only what follows it may be scored")
        path = self._path(self._head(sequence.head), sequence.tail[: max(positions) - first])
        return [self._edge(path[position - first], sequence.tail[position - first]) for position in positions]

    def add_place(self, ids: Sequence[int]) -> int:
        """Add tokens after which the whole vocabulary is wanted, and return the node of the last."""
        return self._path(ROOT, ids)[-1]

    def _head(self, head: tuple[int, ...]) -> int:
        if not head:
            return ROOT
        known = self._heads.get(id(head))
        if known is None:
            known = self._heads[id(head)] = (head, self.add_place(head))
        return known[1]

    def _path(self, node: int, tokens: Sequence[int]) -> list[int]:
        """Return a node and those of the tokens behind it, which are added where they are not there.

        The choices of a question come one after another and begin alike: what two share is followed once.
        """
        last, walked = self._last
        shared = overlap(tokens, last) if walked[0] == node else 0
        path = walked[: shared + 1] if shared else [node]
        node = path[-1]
        for token in tokens[shared:]:
            child = self._children.setdefault((node, token), len(self.tokens))
            if child == len(self.tokens):
                self.tokens.append(token)
                self.parents.append(node)
            path.append(child)
            node = child
        self._last = tokens, path
        return path

    def _edge(self, node: int, token: int) -> int:
        key = (node, token)
        edge = self._edges.get(key)
        if edge is None:
            edge = self._edges[key] = len(self.edge_nodes)
            self.edge_nodes.append(node)
            self.edge_tokens.append(token)
        return edge

    def in_order(self) -> tuple["Forest", Ints]:
        """Return the forest in preorder, children by token id, and the place of each node in it.

        The order depends on the sequences alone, not on the order in which they came.
        """
        count = len(self.tokens)
        tokens, parents = np.array(self.tokens, dtype=np.int64), np.array(self.parents, dtype=np.int64)
        by_parent = np.lexsort((tokens, parents))
        starts = np.searchsorted(parents[by_parent], np.arange(ROOT, count + 1))
        order: list[int] = []
        stack = by_parent[starts[0] : starts[1]][::-1].tolist()
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(by_parent[starts[node + 1] : starts[node + 2]][::-1].tolist())
        placed = np.array(order, dtype=np.int64)
        place = np.empty(count + 1, dtype=np.int64)
        place[placed] = np.arange(count)
        place[ROOT] = ROOT  # The last entry, which index -1 finds.
        return Forest.of(tokens[placed], place[parents[placed]]), place[:count]


@dataclass(frozen=True)
class Forest:
    """A forest in preorder: a node stands before its descendants, which follow it without a gap.

    Attributes:
        tokens: ``(nodes,)``, the token of each node.
        parents: ``(nodes,)``, the place of its parent, -1 for a root.
        depths: ``(nodes,)``, its position in the text, from 0.
        ends: ``(nodes,)``, the place after its last descendant, so that ``k`` is an ancestor of ``q`` or ``q`` itself
            exactly where ``k <= q < ends[k]``.
    """

    tokens: Ints
    parents: Ints
    depths: Ints
    ends: Ints

    @classmethod
    def of(cls, tokens: Ints, parents: Ints) -> "Forest":
        """Return the forest of nodes that stand in preorder."""
        above = parents.tolist()
        depths, ends = [0] * len(above), list(range(1, len(above) + 1))
        for node, parent in enumerate(above):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        for node in range(len(above) - 1, -1, -1):
            parent = above[node]
            if parent >= 0 and ends[parent] < ends[node]:
                ends[parent] = ends[node]
        return cls(tokens, parents, np.array(depths, dtype=np.int64), np.array(ends, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.tokens)

    def children(self, node: int) -> list[int]:
        """Return the children of a node, or the roots for -1."""
        found, place = [], node + 1
        end = int(self.ends[node]) if node >= 0 else len(self)
        while place < end:
            found.append(place)
            place = int(self.ends[place])
        return found
