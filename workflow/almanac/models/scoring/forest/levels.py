"""Following choices token by token and leaving those that cannot win: fewer tokens than there are.

Every request keeps the keys and values of the tokens that were fed for it, in a row of its own behind the trunk, so
that nothing is fed twice. First the text is read, which gives every choice's first token; then the likeliest choices
are followed to their ends; then, a token at a time, all that may still win or take a share (`best.py`).
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

LIKELIEST = 4  # Choices of a request that are followed to their ends before the others are judged.
Kept = dict[int, KeysValues]


@dataclass
class LevelPass(Pass):
    """New tokens of some rows, each of which keeps what was fed for it before; the line of tokens has no padding.

    Attributes:
        kept: by layer, keys and values ``(rows of the batch, key heads, room, size)``; made in the first pass.
        batch: how many rows the batch has.
        room: how many tokens a row may come to hold.
        which: ``(rows,)``, the rows of this pass.
        row: ``(tokens,)``, the place of each token's row among those.
        column: ``(tokens,)``, which of its row's new tokens it is.
        slots: ``(tokens,)``, its place in its row.
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
        """Keep the new keys and values, and attend to each token's path."""
        if layer.window is not None and self.farthest >= layer.window:
            raise UnusableError("a text is longer than a sliding window")
        q, k, v = (one[0].transpose(0, 1) for one in (q, k, v))  # (tokens, heads, size)
        if index not in self.kept:
            self.kept[index] = (self._room_for(k), self._room_for(v))
        held = []
        for kept, new in zip(self.kept[index], (k, v), strict=True):
            kept[self.which[self.row], :, self.slots] = new
            held.append(kept[self.which, :, : self.visible.shape[2]])
        apart = q.new_zeros(len(self.which), q.shape[1], self.width, q.shape[2])
        apart[self.row, :, self.column] = q
        out, log = layer.grouped(apart, held[0], held[1], additive(self.visible, q.dtype)[:, None])
        return [
            (out[self.row, :, self.column].transpose(0, 1)[None], log[self.row, :, self.column].transpose(0, 1)[None])
        ]

    def _room_for(self, one: Tensor) -> Tensor:
        return one.new_zeros(self.batch, one.shape[1], self.room, one.shape[2])


class ChoiceForest:
    """A request's choices as a forest behind the trunk, and what is known of it.

    Args:
        sequences: one a choice, with one head for all and one part each.

    Raises:
        UnusableError: a choice is scored right behind the head.
    """

    def __init__(self, sequences: Sequence[TokenSequence]) -> None:
        self.sequences = sequences
        self.forest = Growing()
        self.edges = [self.forest.add(_behind_head(one)) for one in sequences]
        if ROOT in self.forest.edge_nodes:
            raise UnusableError("a choice is scored right behind the context")
        self.depths: list[int] = []
        for parent in self.forest.parents:  # A node's parent stands before it.
            self.depths.append(self.depths[parent] + 1 if parent != ROOT else 0)
        self.begin()
        self.edges_of: dict[int, list[int]] = {}
        for edge, node in enumerate(self.forest.edge_nodes):
            self.edges_of.setdefault(node, []).append(edge)

    def begin(self) -> None:
        """Forget what was fed and what is known."""
        self.followed = Followed(self.sequences)
        self.slots: dict[int, int] = {}
        self.found: dict[int, float] = {}

    def path(self, node: int) -> list[int]:
        """Return a node and its ancestors, the uppermost first."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.forest.parents[node]
        return found[::-1]

    def missing(self, choice: int, to_the_end: bool) -> list[int]:
        """Return the nodes that must be fed for a choice's next token, or for all of them."""
        edges = self.edges[choice]
        edge = edges[-1] if to_the_end else edges[len(self.followed.values[choice])]
        return [node for node in self.path(self.forest.edge_nodes[edge]) if node not in self.slots]

    def take(self, node: int, logprobs: Tensor) -> None:
        """Take what is scored after a node from its log-probabilities ``(vocabulary,)``."""
        edges = self.edges_of[node]
        values = logprobs[[self.forest.edge_tokens[edge] for edge in edges]].tolist()
        self.found.update(zip(edges, values, strict=True))

    def follow(self) -> None:
        """Follow every choice as far as its tokens are known."""
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
    """Follow the choices of requests until each request's best choice and its share are certain.

    Args:
        machine: the model with tree attention.
        groups: for each request a sequence a choice, with one head for all and one part each.
        work: where the cost is added up.

    Returns:
        For each request its choices, the best one followed to its end.

    Raises:
        UnusableError: the model or a request cannot be read so.
    """
    questions = [ChoiceForest(group) for group in groups]
    by_head: dict[tuple[int, ...], list[ChoiceForest]] = {}
    for question in questions:
        by_head.setdefault(question.followed.sequences[0].head, []).append(question)
    work = work if work is not None else ScoringWork()
    work.distinct += sum(len(question.forest.tokens) for question in questions) + sum(map(len, by_head))
    model = machine.model
    with machine.session():
        for head, own in by_head.items():
            above = None
            if head:
                ids = torch.tensor(head, device=model.device)
                above, _ = machine.read_trunk(None, 0, ids, torch.tensor([len(head) - 1], device=model.device))
                work.count(len(head), 1)

            def answer(batch: list[ChoiceForest], above: Kept | None = above, length: int = len(head)) -> list[None]:
                _Batch(machine, batch, above, length, work).run()
                return [None] * len(batch)

            room = kept_budget(model.device, model.vocabulary)
            run_batches(own, lambda question: len(question.forest.tokens), answer, room)
    return [question.followed for question in questions]


@dataclass
class _Batch:
    """Requests under one trunk that are followed together."""

    machine: TreeMachine
    questions: list[ChoiceForest]
    above: Kept | None
    length: int
    work: ScoringWork
    kept: Kept = field(default_factory=dict)

    def run(self) -> None:
        """Read the texts, follow the likeliest choices to their ends, then all that are open a token at a time."""
        for question in self.questions:  # A batch that ran out of memory begins anew.
            question.begin()
        self._feed([range(len(question.edges)) for question in self.questions], to_the_end=False)
        self._feed([question.followed.open()[:LIKELIEST] for question in self.questions], to_the_end=True)
        while any(choices := [question.followed.open() for question in self.questions]):
            self._feed(choices, to_the_end=False)

    def _feed(self, choices: Sequence[Sequence[int]], to_the_end: bool) -> None:
        """Feed what some choices of each request need, and take what it gives."""
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
        """Feed new nodes of some rows, and take what is scored after them."""
        width = max(len(nodes) for _, nodes in batch)
        used = max(len(self.questions[row].slots) for row, _ in batch)
        visible = torch.zeros(len(batch), width, used, dtype=torch.bool)
        visible[:, :, 0] = True  # So that what is no token sees something, and is no NaN.
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
        one = LevelPass(
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
        logits = self.machine.run(one, ids, torch.tensor([place for place, _, _ in read], device=device))
        self.work.count(len(fed), len(read))
        step = rows_at_once(device)
        for start in range(0, len(read), step):
            logprobs = log_softmax(logits[start : start + step])
            for values, (_, question, node) in zip(logprobs, read[start : start + step], strict=True):
                question.take(node, values)
