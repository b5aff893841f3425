"""A prefix forest (trie) of token sequences: tokens after the same prefix are stored once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from almanac.models.scoring.boundaries import TokenSequence

Ints = NDArray[np.int64]
ROOT = -1


def overlap(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common prefix of two sequences."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class Growing:
    """A forest under construction.

    A node is a token that is fed to the model after all its ancestors. An edge is a token that is scored after a node.
    The last token of a sequence is an edge only, and never fed.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.edge_nodes: list[int] = []
        self.edge_tokens: list[int] = []
        self._children: dict[tuple[int, int], int] = {}
        self._edges: dict[tuple[int, int], int] = {}
        self._heads: dict[int, tuple[tuple[int, ...], int]] = {}  # By `id`; keeps the tuple, so no other gets its id.
        self._last: tuple[Sequence[int], list[int]] = ((), [ROOT])  # the tokens that were added last, and their path

    def add(self, sequence: TokenSequence) -> list[int]:
        """Add a sequence and return the edges of its scored tokens, in order."""
        first = len(sequence.head)
        positions = [position for part in sequence.parts for position in range(*part)]
        if not positions:  # nothing can be scored of a text of one token without a special token before it
            return []
        if min(positions) < first:
            raise ValueError("a head holds scored tokens; only tokens after it may be scored")
        path = self._path(self._head(sequence.head), sequence.tail[: max(positions) - first])
        return [self._edge(path[position - first], sequence.tail[position - first]) for position in positions]

    def add_place(self, ids: Sequence[int]) -> int:
        """Add tokens after which the whole distribution is wanted, and return the node of the last one."""
        return self._path(ROOT, ids)[-1]

    def _head(self, head: tuple[int, ...]) -> int:
        if not head:
            return ROOT
        known = self._heads.get(id(head))
        if known is None:
            known = self._heads[id(head)] = (head, self.add_place(head))
        return known[1]

    def _path(self, node: int, tokens: Sequence[int]) -> list[int]:
        """Return the path from a node along some tokens, the node first; missing nodes are added.

        The choices of a question come one after another and share prefixes, so the last path is reused.
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
        """Return the forest in preorder, children ordered by token id, and the place of each node in it.

        The result depends on the set of sequences only, not on the order in which they were added.
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
        place[ROOT] = ROOT  # The last entry, since ROOT is -1.
        return Forest.of(tokens[placed], place[parents[placed]]), place[:count]


@dataclass(frozen=True)
class Forest:
    """A forest in preorder: the descendants of a node follow it without a gap.

    Attributes:
        tokens: ``(nodes,)``, the token of each node.
        parents: ``(nodes,)``, the place of its parent, -1 for a root.
        depths: ``(nodes,)``, its position in the text, from 0.
        ends: ``(nodes,)``, the place after its last descendant: ``k`` is an ancestor of ``q``, or ``q`` itself, if and
            only if ``k <= q < ends[k]``.
    """

    tokens: Ints
    parents: Ints
    depths: Ints
    ends: Ints

    @classmethod
    def of(cls, tokens: Ints, parents: Ints) -> "Forest":
        """Return the forest with these nodes, which must be in preorder."""
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
