"""Continues many prompts: prefixes that prompts share are read once, and those that very many share are never copied.

A prefix of enough prompts becomes a trunk; one of fewer prompts is read once by `prefill`. Every generated text has a
row of keys and values. The row begins where the prompt differs from the others of its tree; their common prefix, the
stem, is kept once. Attention over trunk, stem and row is merged as for trees. Samples of one prompt share its prefill.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import kept_budget, run_batches, token_budget
from almanac.models.scoring.forest import prefill
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.prefill import PromptTree, Rest, Trunk, packed
from almanac.models.scoring.forest.steps import StemRows, Stems
from almanac.models.scoring.forest.trie import overlap
from almanac.models.scoring.samples import GrowingText, Prompt, begin, extend

ENGINE = "shared_prefix/1"
WORTH = 64  # A trunk must save reading this many tokens,
STEP = 16  # and this many more per token to generate: its texts are decoded apart, in passes that cost about as much.
LONG = 192  # A shorter prefix is read once by `prefill` as well: a trunk then only saves copies of keys and values,
COPIES = 2**11  # and must save copies of this many tokens to pay for the separate passes.
WORTH_KEPT = 2**14  # A trunk also pays if it saves this many copied tokens over all samples.
THINNED = 0.75  # Ended rows are dropped once at most this share of the rows goes on.

Job = tuple[int, int]  # A prompt and the number of its sample.


@dataclass
class Group:
    """Prompts with a common prefix.

    Attributes:
        above: the length of the prefix of the group around it.
        length: the length of its own prefix.
        loose: prompts that are in no deeper group.
        groups: groups of prompts with a longer common prefix.
    """

    above: int
    length: int
    loose: list[int] = field(default_factory=list)
    groups: list["Group"] = field(default_factory=list)


def grouped(prompts: Sequence[Prompt]) -> Group:
    """Group prompts by common prefix; a prefix never holds the last token of a prompt."""
    order = sorted(range(len(prompts)), key=lambda index: prompts[index].ids)
    root = Group(0, 0)
    waiting = [(root, order)] if order else []
    while waiting:
        group, members = waiting.pop()
        shared = _shared(prompts, members)
        more = shared - group.length
        texts = len({prompts[index].ids for index in members})
        rows = sum(prompts[index].distinct for index in members)
        worth = WORTH + STEP * max(prompts[index].new for index in members) if more >= LONG else COPIES
        if (texts - 1) * more >= worth or (rows - 1) * more >= WORTH_KEPT:
            deeper = Group(group.length, shared)
            group.groups.append(deeper)
            group = deeper
        elif len(members) == 1:
            group.loose += members
            continue
        waiting += [(group, branch) for branch in _branches(prompts, members, shared)]
    return root


def _shared(prompts: Sequence[Prompt], members: Sequence[int]) -> int:
    """Return the length of the common prefix of sorted prompts, less than the length of the shortest."""
    first, last = prompts[members[0]].ids, prompts[members[-1]].ids
    return min(overlap(first, last), *(len(prompts[index].ids) - 1 for index in members))


def _branches(prompts: Sequence[Prompt], members: Sequence[int], shared: int) -> list[list[int]]:
    """Divide sorted prompts by the token after their common prefix; one that has a single token more stands alone."""
    branches: dict[object, list[int]] = {}
    for index in members:
        ids = prompts[index].ids
        ends = len(ids) == shared + 1
        branches.setdefault((index,) if ends else ids[shared], []).append(index)
    return list(branches.values())


@torch.inference_mode()
def generate(machine: TreeMachine, prompts: Sequence[Prompt], budget: int | None = None) -> list[list[GrowingText]]:
    """Continue prompts; see `generation.generate`.

    Args:
        machine: the model with tree attention.
        prompts: the prompts to continue.
        budget: the most tokens that the rows of a batch hold.

    Returns:
        For each prompt its `distinct` samples, ended.

    Raises:
        UnusableError: this machine cannot run the model.
    """
    model = machine.model
    decoder = _Decoder(machine, prompts, budget or kept_budget(model.device, model.vocabulary))
    with machine.session():
        decoder.run(grouped(prompts), None)
    return [[decoder.texts[index, number] for number in range(prompt.distinct)] for index, prompt in enumerate(prompts)]


@dataclass
class _Unit:
    """Texts whose prompts are read as one tree.

    Attributes:
        tree: the tree of their prompts, without the trunk.
        jobs: the texts, in the order of the tree's prompts.
        room: the most tokens that each text keeps in a row of its own, after the stem of the tree.
    """

    tree: PromptTree
    jobs: list[Job]
    room: int

    @property
    def tokens(self) -> int:
        """How many tokens are kept for all texts together."""
        return self.tree.stem + len(self.jobs) * self.room


@dataclass
class _Decoder:
    machine: TreeMachine
    prompts: Sequence[Prompt]
    budget: int
    texts: dict[Job, GrowingText] = field(default_factory=dict)

    @property
    def model(self) -> CausalModel:
        return self.machine.model

    def run(self, group: Group, above: Trunk) -> None:
        """Decode a group under its trunk, then its deeper groups under theirs."""
        if group.length > group.above:
            some = self.prompts[_any(group)].ids[group.above : group.length]
            last = self._tensor([len(some) - 1])
            above, _ = self.machine.read_trunk(above, group.above, self._tensor(some), last)
        jobs = [(index, number) for index in group.loose for number in range(self.prompts[index].distinct)]
        for units in self._similar(list(self._units(jobs, group.length))):
            run_batches(
                units, lambda unit: unit.tokens, lambda batch: self._decode(batch, above, group.length), self.budget
            )
        for deeper in group.groups:
            self.run(deeper, above)

    def _units(self, jobs: Sequence[Job], length: int) -> Iterator[_Unit]:
        """Yield texts by the trees of their prompts after a trunk; a tree that is too large for a batch is halved."""
        by_rest: dict[Rest, list[Job]] = {}
        for job in jobs:
            by_rest.setdefault(self.prompts[job[0]].ids[length:], []).append(job)
        for tree in packed(list(by_rest)):
            own = [job for rest in tree.paths for job in by_rest[rest]]
            new = max(self.prompts[index].new for index, _ in own)
            unit = _Unit(tree, own, max(map(len, tree.paths)) - tree.stem + new)
            if len(own) == 1 or unit.tokens <= self.budget:
                yield unit
            else:
                yield from self._units(own[: len(own) // 2], length)
                yield from self._units(own[len(own) // 2 :], length)

    def _similar(self, units: Sequence[_Unit]) -> Iterator[list[_Unit]]:
        """Yield all units together if a batch holds them, else groups of units with about as much room per text."""
        together = sum(len(unit.jobs) for unit in units) * max((unit.room for unit in units), default=0)
        parts: dict[int, list[_Unit]] = {}
        for unit in units:
            parts.setdefault(0 if together <= self.budget else unit.room.bit_length(), []).append(unit)
        yield from parts.values()

    def _tensor(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.model.device)

    def _decode(self, units: list[_Unit], above: Trunk, length: int) -> list[None]:
        """Continue the texts of some trees until all have ended."""
        jobs = [job for unit in units for job in unit.jobs]
        going = [begin(self.prompts[index], number) for index, number in jobs]
        self.texts |= zip(jobs, going, strict=True)
        rows, logits = self._prefill(units, above, length)
        while True:
            extend(self.model, going, logits)
            left = [place for place, sample in enumerate(going) if sample.text is None]
            if not left:
                return [None] * len(units)
            if len(left) <= THINNED * len(going):
                rows.keep(self._tensor(left))
                going = [going[place] for place in left]
            fed = self._tensor([sample.ids[-1] if sample.ids else 0 for sample in going])
            step = rows.step(above, length, fed)
            logits = self.machine.run(step, fed, torch.arange(len(going), device=fed.device)).float().cpu()

    def _prefill(self, units: Sequence[_Unit], above: Trunk, length: int) -> tuple[StemRows, Tensor]:
        """Read each distinct prompt once; return the rows of the texts, and the logits after their prompts.

        All rows of a batch have room for its longest text, so that all are continued together.
        """
        trees, room = [unit.tree for unit in units], max(unit.room for unit in units)
        found = prefill.read(
            self.machine, trees, above, length, room, token_budget(self.model.device, self.model.vocabulary)
        )
        first, chosen = 0, []
        for unit in units:
            places = {rest: first + number for number, rest in enumerate(unit.tree.paths)}
            chosen += [places[self.prompts[index].ids[length:]] for index, _ in unit.jobs]
            first += len(places)
        own = [len(self.prompts[index].ids) - length - unit.tree.stem for unit in units for index, _ in unit.jobs]
        new = [self.prompts[index].new for unit in units for index, _ in unit.jobs]
        lasts = [max(0, before + more - 1) for before, more in zip(own, new, strict=True)]
        stems = None
        if any(tree.stem for tree in trees):
            row_trees = torch.repeat_interleave(torch.tensor([len(unit.jobs) for unit in units]))
            stems = Stems(found.stems, self._tensor([tree.stem for tree in trees]), row_trees.to(self.model.device))
        rows = StemRows(found.rows, self._tensor(own), self._tensor(lasts), max(own), stems)
        if chosen == list(range(first)):
            return rows, found.logits
        rows.kept = {
            layer: (keys[self._tensor(chosen)], values[self._tensor(chosen)])
            for layer, (keys, values) in rows.kept.items()
        }
        return rows, found.logits[chosen]


def _any(group: Group) -> int:
    """Return one prompt of a group."""
    while not group.loose:
        group = group.groups[0]
    return group.loose[0]
