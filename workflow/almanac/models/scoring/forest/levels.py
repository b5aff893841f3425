"""Finds a request's best choice while feeding fewer tokens: choices that cannot win are dropped on the way.

Every request has a row of keys and values after the trunk, so that no token is fed twice. First the text is read, which
scores the first token of every choice. Then the likeliest choices are scored to their ends. Then all choices that may
still win, or still matter for the best one's share, are scored one more token at a time (`best.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.scoring.batching import kept_budget, rows_at_once, run_batches, token_budget
from almanac.models.scoring.best import Followed
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest.attention import KeysValues, Layer, Pass, UnusableError, additive
from almanac.models.scoring.forest.kernels import Attended
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.reading import ScoringWork
from almanac.models.scoring.forest.trie import ROOT, Growing
from almanac.models.scoring.reference import log_softmax

LIKELIEST = 4  # Choices of a request that are scored to their ends before others are dropped.
Kept = dict[int, KeysValues]


@dataclass
class LevelPass(Pass):
    """A pass that feeds new tokens to some rows after the tokens that each row keeps; there is no padding.

    Attributes:
        kept: by layer, keys and values ``(rows of the batch, key heads, room, size)``; made in the first pass.
        batch: how many rows the batch has.
        room: the most tokens that a row can hold.
        which: ``(rows,)``, the rows of this pass.
        row: ``(tokens,)``, the index of each token's row in ``which``.
        column: ``(tokens,)``, the index of each token among the new tokens of its row.
        slots: ``(tokens,)``, the place of each token in its row.
        visible: ``(rows, width, used)``, which places of its row each new token sees; ``width`` is the most new tokens.
    """

    kept: Kept
    batch: int
    room: int
    which: Tensor
    row: Tensor
    column: Tensor
    slots: Tensor
    visible: Tensor

    def inside(self, layer: Layer, index: int, q: Tensor, k: Tensor, v: Tensor) -> list[Attended]:
        """Store the new keys and values, and attend from each token to its path."""
        if layer.window is not None and self.farthest >= layer.window:
            raise UnusableError("a text is longer than a sliding window")
        q, k, v = (one[0].transpose(0, 1) for one in (q, k, v))  # (tokens, heads, size)
        if index not in self.kept:
            self.kept[index] = (self._room_for(k), self._room_for(v))
        held = []
        for kept, new in zip(self.kept[index], (k, v), strict=True):
            kept[self.which[self.row], :, self.slots] = new
            held.append(kept[self.which, :, : self.visible.shape[2]])
        queries = q.new_zeros(len(self.which), q.shape[1], self.width, q.shape[2])
        queries[self.row, :, self.column] = q
        out, log = layer.grouped(queries, held[0], held[1], additive(self.visible, q.dtype)[:, None])
        return [
            (out[self.row, :, self.column].transpose(0, 1)[None], log[self.row, :, self.column].transpose(0, 1)[None])
        ]

    def _room_for(self, one: Tensor) -> Tensor:
        return one.new_zeros(self.batch, one.shape[1], self.room, one.shape[2])


class ChoiceForest:
    """A request's choices as a forest after the trunk, and the log-probabilities known so far.

    Args:
        sequences: one per choice, with the same head and one part each.

    Raises:
        UnusableError: a choice's first scored token directly follows the head.
    """

    def __init__(self, sequences: Sequence[TokenSequence]) -> None:
        self.sequences = sequences
        self.forest = Growing()
        self.edges = [self.forest.add(_behind_head(one)) for one in sequences]
        if ROOT in self.forest.edge_nodes:
            raise UnusableError("a choice directly follows the context")
        self.depths: list[int] = []
        for parent in self.forest.parents:  # A node's parent stands before it.
            self.depths.append(self.depths[parent] + 1 if parent != ROOT else 0)
        self.begin()
        self.edges_of: dict[int, list[int]] = {}
        for edge, node in enumerate(self.forest.edge_nodes):
            self.edges_of.setdefault(node, []).append(edge)

    def begin(self) -> None:
        """Forget which nodes were fed and all log-probabilities."""
        self.followed = Followed(self.sequences)
        self.slots: dict[int, int] = {}
        self.found: dict[int, float] = {}

    def path(self, node: int) -> list[int]:
        """Return a node and its ancestors, uppermost first."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.forest.parents[node]
        return found[::-1]

    def missing(self, choice: int, to_the_end: bool) -> list[int]:
        """Return the nodes that must still be fed to score a choice's next token, or all its tokens."""
        edges = self.edges[choice]
        edge = edges[-1] if to_the_end else edges[len(self.followed.values[choice])]
        return [node for node in self.path(self.forest.edge_nodes[edge]) if node not in self.slots]

    def take(self, node: int, logprobs: Tensor) -> None:
        """Store the log-probabilities of the tokens scored after a node, read off ``(vocabulary,)`` in nats."""
        edges = self.edges_of[node]
        values = logprobs[[self.forest.edge_tokens[edge] for edge in edges]].tolist()
        self.found.update(zip(edges, values, strict=True))

    def follow(self) -> None:
        """Move the known log-probabilities of every choice into ``followed``, up to the first unknown one."""
        for edges, values in zip(self.edges, self.followed.values, strict=True):
            while len(values) < len(edges) and edges[len(values)] in self.found:
                values.append(self.found[edges[len(values)]])


def _behind_head(one: TokenSequence) -> TokenSequence:
    first = len(one.head)
    return TokenSequence(one.tail, tuple((start - first, stop - first) for start, stop in one.parts))


@torch.inference_mode()
def follow(
    machine: TreeMachine, groups: Sequence[Sequence[TokenSequence]], work: ScoringWork | None = None
) -> list[Followed]:
    """Score the choices of requests until each request's best choice and its share are certain.

    Args:
        machine: the model with tree attention.
        groups: for each request one sequence per choice, with the same head and one part each.
        work: the counter that the cost is added to.

    Returns:
        For each request its choices, of which the best one is fully scored.

    Raises:
        UnusableError: the model or a request cannot be scored in this way.
    """
    questions = [ChoiceForest(group) for group in groups]
    by_head: dict[tuple[int, ...], list[ChoiceForest]] = {}
    for question in questions:
        by_head.setdefault(question.followed.sequences[0].head, []).append(question)
    work = work if work is not None else ScoringWork()
    work.distinct += sum(len(question.forest.tokens) for question in questions) + sum(map(len, by_head))
    model = machine.model
    with machine.session():
        for head, asking in by_head.items():
            above = None
            if head:
                ids = torch.tensor(head, device=model.device)
                above, _ = machine.read_trunk(None, 0, ids, torch.tensor([len(head) - 1], device=model.device))
                work.count(len(head), 1)

            def answer(batch: list[ChoiceForest], above: Kept | None = above, length: int = len(head)) -> list[None]:
                _Batch(machine, batch, above, length, work).run()
                return [None] * len(batch)

            room = kept_budget(model.device, model.vocabulary)
            run_batches(asking, lambda question: len(question.forest.tokens), answer, room)
    return [question.followed for question in questions]


@dataclass
class _Batch:
    """Requests under one trunk that are scored together."""

    machine: TreeMachine
    questions: list[ChoiceForest]
    above: Kept | None
    length: int
    work: ScoringWork
    kept: Kept = field(default_factory=dict)

    def run(self) -> None:
        """Read the texts, score the likeliest choices to their ends, then all open ones a token at a time."""
        for question in self.questions:  # A batch that ran out of memory starts again.
            question.begin()
        self._feed([range(len(question.edges)) for question in self.questions], to_the_end=False)
        self._feed([question.followed.open()[:LIKELIEST] for question in self.questions], to_the_end=True)
        while any(choices := [question.followed.open() for question in self.questions]):
            self._feed(choices, to_the_end=False)

    def _feed(self, choices: Sequence[Sequence[int]], to_the_end: bool) -> None:
        """Feed the nodes that some choices of each request still need, and store the log-probabilities."""
        wanted = []
        for row, (question, some) in enumerate(zip(self.questions, choices, strict=True)):
            nodes = dict.fromkeys(node for choice in some for node in question.missing(choice, to_the_end))
            for node in sorted(nodes, key=question.depths.__getitem__):
                question.slots[node] = len(question.slots)
            if nodes:
                wanted.append((row, list(nodes)))

        def read(batch: list[tuple[int, list[int]]]) -> list[None]:
            self._read(batch)
            return [None] * len(batch)

        model = self.machine.model
        run_batches(wanted, lambda one: len(one[1]), read, token_budget(model.device, model.vocabulary))
        for question in self.questions:
            question.follow()

    def _read(self, batch: list[tuple[int, list[int]]]) -> None:
        """Feed new nodes of some rows, and store the log-probabilities of the tokens scored after them."""
        width = max(len(nodes) for _, nodes in batch)
        used = max(len(self.questions[row].slots) for row, _ in batch)
        visible = torch.zeros(len(batch), width, used, dtype=torch.bool)
        visible[:, :, 0] = True  # A place without a token must see some place, or it would be NaN.
        fed: list[tuple[int, int, int, int, int]] = []  # Row, column, slot, depth and token of every new node.
        read: list[tuple[int, ChoiceForest, int]] = []
        for place, (row, nodes) in enumerate(batch):
            question = self.questions[row]
            for column, node in enumerate(nodes):
                path = [question.slots[above] for above in question.path(node)]
                visible[place, column] = False
                visible[place, column, path] = True
                if node in question.edges_of:
                    read.append((len(fed), question, node))
                fed.append((place, column, path[-1], question.depths[node], question.forest.tokens[node]))
        device = self.machine.model.device
        rows, columns, slots, depths, ids = torch.tensor(fed, device=device).T
        level = LevelPass(
            above=self.above or {},
            length=self.length,
            positions=self.length + depths,
            farthest=self.length + max(depth for *_, depth, _ in fed),
            width=width,
            kept=self.kept,
            batch=len(self.questions),
            room=max(len(question.forest.tokens) for question in self.questions),
            which=torch.tensor([row for row, _ in batch], device=device),
            row=rows,
            column=columns,
            slots=slots,
            visible=visible.to(device),
        )
        logits = self.machine.run(level, ids, torch.tensor([place for place, _, _ in read], device=device))
        self.work.count(len(fed), len(read))
        step = rows_at_once(device)
        for start in range(0, len(read), step):
            logprobs = log_softmax(logits[start : start + step])
            for values, (_, question, node) in zip(logprobs, read[start : start + step], strict=True):
                question.take(node, values)
