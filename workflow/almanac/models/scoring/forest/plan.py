"""Plans how a forest is fed to a model: long shared paths as trunks, all else packed into rows of equal width.

A trunk is a path that many nodes stand under. It is read once and its keys and values are kept; a trunk may continue
another trunk. A row holds pieces of the trees under one trunk, in preorder. A tree that does not fit continues in the
next row, after a copy of the path that leads to it, so that rows are full.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from almanac.models.scoring.forest.trie import ROOT, Forest, Ints

LEAST_ROOM = 4  # No tree begins in a row with fewer places left.


@dataclass(frozen=True)
class Shape:
    """The sizes of a plan, in tokens.

    Attributes:
        row: the width of rows that trees are packed into.
        longest: a tree wider than ``row`` but not than this, the path to it included, gets a row of its own.
        copied: the longest path that is copied into every row that needs it, less than ``row``; a longer one becomes
            a trunk if the tree under it is large.
        align: widths are multiples of this, except the width ``row``.
    """

    row: int = 192
    longest: int = 512
    copied: int = 32
    align: int = 8


@dataclass
class Trunk:
    """A path whose keys and values are kept while the trees under it are read.

    Attributes:
        nodes: the nodes of the path after those of its parent trunk, in order; empty for the trunk at the root.
        copied: how many of them, from the first, are copies of nodes in the parent's pool.
        above: how many tokens its parent trunks hold.
        pool: the nodes that are packed into rows under it, in preorder.
        wide: trees that get a row of their own under it: the path to each, copied from the pool, and its nodes.
        trunks: the trunks that continue it.
    """

    nodes: list[int]
    copied: int
    above: int
    pool: list[int] = field(default_factory=list)
    wide: list[tuple[list[int], range]] = field(default_factory=list)
    trunks: list["Trunk"] = field(default_factory=list)

    @property
    def length(self) -> int:
        """The number of tokens before every row under it."""
        return self.above + len(self.nodes)


@dataclass(frozen=True)
class TrunkRows:
    """Rows of one width under one trunk.

    Attributes:
        nodes: ``(rows, width)``, the node in each place; -1 for padding.
        ends: ``(rows, width)``, the place after the node's last descendant in this row: it defines the tree mask.
        own: ``(rows, width)``, whether the place holds the node itself, and not a copy on the path to a tree.
    """

    nodes: Ints
    ends: Ints
    own: NDArray[np.bool_]


def plan(forest: Forest, shape: Shape) -> Trunk:
    """Return the empty trunk at the root of a forest, which holds all other trunks."""
    root = Trunk([], 0, 0)
    # Each entry: the root of a subtree, the trunk it stands under, and the path between the two.
    waiting: list[tuple[int, Trunk, list[int]]] = [(node, root, []) for node in reversed(forest.children(ROOT))]
    while waiting:
        node, trunk, path = waiting.pop()
        end = int(forest.ends[node])
        if len(path) + end - node <= shape.row:
            trunk.pool.extend(range(node, end))
            continue
        last = _chain(forest, node)
        whole = [*path, *range(node, last + 1)]
        if len(whole) <= shape.copied and last + 1 < end:
            trunk.pool.extend(range(node, last + 1))
            below = (trunk, whole)
        elif len(path) + end - node <= shape.longest:
            trunk.wide.append((path, range(node, end)))
            continue
        else:
            grown = Trunk(whole, len(path), trunk.length)
            trunk.trunks.append(grown)
            below = (grown, [])
        waiting.extend((child, *below) for child in reversed(forest.children(last)))
    return root


def _chain(forest: Forest, node: int) -> int:
    """Return the last node of the unbranched path that begins at a node."""
    end = int(forest.ends[node])
    while node + 1 < end and int(forest.ends[node + 1]) == end:
        node += 1
    return node


def rows(forest: Forest, trunk: Trunk, shape: Shape) -> Iterator[TrunkRows]:
    """Yield the rows under a trunk, those of one width together."""
    if trunk.pool:
        yield _pack(forest, trunk, shape)
    by_width: dict[int, list[_RowInMaking]] = {}
    for path, tree in trunk.wide:
        row = _RowInMaking.of(forest, path, tree)
        by_width.setdefault(_aligned(len(row.nodes), shape.align), []).append(row)
    for width in sorted(by_width):
        yield _together(by_width[width], width)


def _aligned(width: int, step: int) -> int:
    return -(-width // step) * step


@dataclass
class _RowInMaking:
    """A row under construction: its nodes, the places of their parents in it, and which of them are no copies."""

    nodes: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    own: list[bool] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, forest: Forest, path: list[int], tree: range) -> "_RowInMaking":
        row = cls()
        for node in (*path, *tree):
            row.add(node, int(forest.parents[node]), node in tree)
        return row

    def add(self, node: int, parent: int, own: bool) -> None:
        self.places[node] = len(self.nodes)
        self.parents.append(self.places.get(parent, ROOT))
        self.nodes.append(node)
        self.own.append(own)


def _pack(forest: Forest, trunk: Trunk, shape: Shape) -> TrunkRows:
    """Pack the pool of a trunk into rows."""
    width = min(shape.row, _aligned(len(trunk.pool), shape.align))
    parents = forest.parents.tolist()
    inside = set(trunk.pool)
    packed = [_RowInMaking()]
    for node in trunk.pool:
        row, parent = packed[-1], parents[node]
        begins = parent not in inside
        if len(row.nodes) == width or (begins and len(row.nodes) > width - LEAST_ROOM and width > LEAST_ROOM):
            row = _RowInMaking()
            packed.append(row)
        if parent in inside and parent not in row.places:
            for above in _path(parents, parent, inside):
                row.add(above, parents[above], False)
        row.add(node, parent, True)
    return _together(packed, width)


def _path(parents: list[int], node: int, inside: set[int]) -> list[int]:
    """Return the path to a node inside a pool, from its uppermost node on."""
    path = []
    while node in inside:
        path.append(node)
        node = parents[node]
    return path[::-1]


def _together(packed: list[_RowInMaking], width: int) -> TrunkRows:
    nodes = np.full((len(packed), width), ROOT, dtype=np.int64)
    ends = np.tile(np.arange(1, width + 1), (len(packed), 1))
    own = np.zeros((len(packed), width), dtype=bool)
    for index, row in enumerate(packed):
        count = len(row.nodes)
        nodes[index, :count], own[index, :count] = row.nodes, row.own
        end = list(range(1, count + 1))
        for place in range(count - 1, 0, -1):
            parent = row.parents[place]
            if parent >= 0 and end[parent] < end[place]:
                end[parent] = end[place]
        ends[index, :count] = end
    return TrunkRows(nodes, ends, own)
