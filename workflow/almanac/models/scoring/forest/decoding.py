"""Continuing many prompts: what they share is read once, and what very many share is never copied.

Prompts of which enough begin alike stand under one trunk; what fewer share is read once by `prefill`. Every text in the
making has a row of its own keys and values, which begins where its prompt leaves what the others of its tree say (their
stem, kept once); attention over trunk, stem and row is merged as for trees. Samples of one prompt share its reading.
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
WORTH = 64  # Tokens that are not read again before a trunk pays,
STEP = 16  # and for every token to come: texts of a trunk are continued apart, and a pass costs this beside its tokens.
LONG = 192  # Tokens: what is shorter is read once in the rows of `prefill` too, so that a trunk only saves
COPIES = 2**11  # tokens that texts keep copies of: fewer cost less than the passes of texts that are continued apart.
WORTH_KEPT = 2**14  # Tokens that are not kept again for every sample before a trunk pays.
THINNED = 0.75  # Ended rows are dropped once so few of the rows go on.

Job = tuple[int, int]  # A prompt and the number of its sample.


@dataclass
class Group:
    """Prompts that begin with the same tokens.

    Attributes:
        above: how many tokens the group around it shares already.
        length: how many its prompts share.
        loose: prompts that share no more.
        groups: prompts that share more with each other.
    """

    above: int
    length: int
    loose: list[int] = field(default_factory=list)
    groups: list["Group"] = field(default_factory=list)


def grouped(prompts: Sequence[Prompt]) -> Group:
    """Return prompts by what they share; at least the last token of each is left to itself."""
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
    """Return how many tokens sorted prompts begin with together, less than the shortest has."""
    first, last = prompts[members[0]].ids, prompts[members[-1]].ids
    return min(overlap(first, last), *(len(prompts[index].ids) - 1 for index in members))


def _branches(prompts: Sequence[Prompt], members: Sequence[int], shared: int) -> list[list[int]]:
    """Divide sorted prompts by the token after what they share; equal prompts and ends stand alone."""
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
        prompts: what to continue.
        budget: the most tokens that the rows of a batch hold.

    Returns:
        For each prompt its samples that may differ, ended.

    Raises:
        UnusableError: the model cannot be run by this machine.
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
        tree: of what their prompts have after the trunk.
        jobs: the texts, in the order of the tree's prompts.
        room: how many tokens each may keep for itself after the tree's stem.
    """

    tree: PromptTree
    jobs: list[Job]
    room: int

    @property
    def tokens(self) -> int:
        """How many tokens are kept for all of them."""
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
        """Decode a group under its trunk, then the groups in it under theirs."""
        if group.length > group.above:
            some = self.prompts[_any(group)].ids[group.above : group.length]
            last = self._tensor([len(some) - 1])
            above, _ = self.machine.read_trunk(above, group.above, self._tensor(some), last)
        jobs = [(index, number) for index in group.loose for number in range(self.prompts[index].distinct)]
        for units in self._alike(list(self._units(jobs, group.length))):
            run_batches(
                units, lambda unit: unit.tokens, lambda batch: self._decode(batch, above, group.length), self.budget
            )
        for deeper in group.groups:
            self.run(deeper, above)

    def _units(self, jobs: Sequence[Job], length: int) -> Iterator[_Unit]:
        """Yield texts by the trees of their prompts after a trunk, halved where a batch does not hold all of a tree."""
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

    def _alike(self, units: Sequence[_Unit]) -> Iterator[list[_Unit]]:
        """Yield all units if a batch holds them, else those that keep about as much for each text together."""
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
            one = rows.step(above, length, fed)
            logits = self.machine.run(one, fed, torch.arange(len(going), device=fed.device)).float().cpu()

    def _prefill(self, units: Sequence[_Unit], above: Trunk, length: int) -> tuple[StemRows, Tensor]:
        """Read each distinct prompt once; return rows and logits of the texts.

        A text's row is as long as the longest of its batch will be, so that all are continued together.
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
            of = torch.repeat_interleave(torch.tensor([len(unit.jobs) for unit in units]))
            stems = Stems(found.stems, self._tensor([tree.stem for tree in trees]), of.to(self.model.device))
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
