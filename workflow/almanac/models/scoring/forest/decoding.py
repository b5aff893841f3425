"""Continuing many prompts: what they share is read once, and what very many share is never copied.

Prompts of which enough begin alike stand under one trunk; what fewer share is read once by `prefill`. Every text in the
making has a row of its own keys and values, which begins after the trunk; attention over trunk and row is merged as for
trees. Samples of one prompt share its reading.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import kept_budget, run_batches, token_budget
from almanac.models.scoring.forest import prefill
from almanac.models.scoring.forest.attention import KeysValues, Layer, Pass, additive
from almanac.models.scoring.forest.kernels import Attended
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.prefill import Trunk
from almanac.models.scoring.samples import Prompt, Sample, begin, extend

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
    equal = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return min(equal, *(len(prompts[index].ids) - 1 for index in members))


def _branches(prompts: Sequence[Prompt], members: Sequence[int], shared: int) -> list[list[int]]:
    """Divide sorted prompts by the token after what they share; equal prompts and ends stand alone."""
    branches: dict[object, list[int]] = {}
    for index in members:
        ids = prompts[index].ids
        ends = len(ids) == shared + 1
        branches.setdefault((index,) if ends else ids[shared], []).append(index)
    return list(branches.values())


@dataclass
class StepPass(Pass):
    """A step of decoding: a token of each row that keeps its own keys and values after the trunk.

    Attributes:
        rows: by layer, keys and values ``(rows, key heads, room, size)``.
        lengths: ``(rows,)``, how many tokens each row held before the step.
        used: how many the longest holds after the step.
    """

    rows: dict[int, KeysValues]
    lengths: Tensor
    used: int
    _masks: dict[int | None, Tensor] = field(default_factory=dict)

    def inside(self, layer: Layer, index: int, q: Tensor, k: Tensor, v: Tensor) -> Attended:
        """Keep the step's keys and values, and attend to all that a row holds."""
        q, k, v = (one.transpose(0, 2) for one in (q, k, v))  # (rows, heads, 1, size)
        for kept, new in zip(self.rows[index], (k, v), strict=True):
            kept[torch.arange(len(kept), device=q.device), :, self.lengths] = new[:, :, 0]
        keys, values = (kept[:, :, : self.used] for kept in self.rows[index])
        out, log = layer.grouped(q, keys, values, self._mask(layer.window, q.dtype))  # (rows, heads, 1, size)
        return out.transpose(0, 2), log.transpose(0, 2)

    def _mask(self, window: int | None, dtype: torch.dtype) -> Tensor:
        if window not in self._masks:
            back = self.lengths[:, None, None] - torch.arange(self.used, device=self.lengths.device)  # (rows, 1, used)
            visible = (back >= 0) & (back < window) if window is not None else back >= 0
            self._masks[window] = additive(visible, dtype)[:, None]
        return self._masks[window]


@torch.inference_mode()
def generate(machine: TreeMachine, prompts: Sequence[Prompt], budget: int | None = None) -> list[list[Sample]]:
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
    return [[decoder.ended[index, number] for number in range(prompt.distinct)] for index, prompt in enumerate(prompts)]


@dataclass
class _Decoder:
    machine: TreeMachine
    prompts: Sequence[Prompt]
    budget: int
    ended: dict[Job, Sample] = field(default_factory=dict)

    @property
    def model(self) -> CausalModel:
        return self.machine.model

    def run(self, group: Group, above: Trunk) -> None:
        """Decode a group under its trunk, then the groups in it under theirs."""
        if group.length > group.above:
            some = self.prompts[_any(group)].ids[group.above : group.length]
            last = self._tensor([len(some) - 1])
            above, _ = self.machine.read_trunk(above, group.above, self._tensor(some), last)

        def decode(batch: list[Job]) -> list[Sample]:
            return self._decode(batch, above, group.length)

        loose = sorted(group.loose, key=lambda index: self.prompts[index].ids)
        jobs = [(index, number) for index in loose for number in range(self.prompts[index].distinct)]
        for own, room in self._alike(jobs, group.length):
            # In the order of their texts, in which they share most: to `run_batches` all are of one length.
            samples = run_batches(own, lambda job: room, decode, self.budget)  # noqa: B023 (called at once)
            self.ended.update(zip(own, samples, strict=True))
        for deeper in group.groups:
            self.run(deeper, above)

    def _alike(self, jobs: Sequence[Job], length: int) -> Iterator[tuple[list[Job], int]]:
        """Yield jobs with the tokens that the longest keeps: all if a batch holds them, else by like length."""
        rooms = {job: len(self.prompts[job[0]].ids) - length + self.prompts[job[0]].new for job in jobs}
        together = len(jobs) * max(rooms.values(), default=0) <= self.budget
        parts: dict[int, list[Job]] = {}
        for job in jobs:
            parts.setdefault(0 if together else rooms[job].bit_length(), []).append(job)
        for own in parts.values():
            yield own, max(rooms[job] for job in own)

    def _tensor(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.model.device)

    def _decode(self, jobs: list[Job], above: Trunk, length: int) -> list[Sample]:
        samples = [begin(self.prompts[index], number) for index, number in jobs]
        going = [sample for sample in samples if sample.text is None]
        if not going:
            return samples
        rows, logits = self._prefill(going, above, length)
        while True:
            for sample, row in zip(going, logits, strict=True):
                if sample.text is None:
                    extend(self.model, sample, row)
            left = [place for place, sample in enumerate(going) if sample.text is None]
            if not left:
                return samples
            if len(left) <= THINNED * len(going):
                rows.keep(self._tensor(left))
                going = [going[place] for place in left]
            fed = self._tensor([sample.ids[-1] if sample.ids else 0 for sample in going])
            one = rows.step(above, length, fed)
            logits = self.machine.run(one, fed, torch.arange(len(going), device=fed.device)).float().cpu()

    def _prefill(self, samples: Sequence[Sample], above: Trunk, length: int) -> tuple["_Rows", Tensor]:
        """Read the rest of each distinct prompt; return rows and logits of samples.

        A text's row is as long as the longest of its batch will be, so that all are continued together.
        """
        own = [sample.prompt.ids[length:] for sample in samples]
        room = max(map(len, own)) + max(sample.prompt.new for sample in samples)
        budget = token_budget(self.model.device, self.model.vocabulary)
        found = prefill.read(self.machine, list(dict.fromkeys(own)), above, length, room, budget)
        chosen = self._tensor([found.places[rest] for rest in own])
        rows = {layer: (keys[chosen], values[chosen]) for layer, (keys, values) in found.rows.items()}
        lengths = self._tensor(list(map(len, own)))
        return _Rows(rows, lengths, room, max(map(len, own))), torch.stack([found.logits[rest] for rest in own])


@dataclass
class _Rows:
    """What the texts of a batch keep for themselves."""

    kept: dict[int, KeysValues]
    lengths: Tensor
    room: int
    used: int

    def keep(self, chosen: Tensor) -> None:
        """Keep some rows, in an order, repeated where they are named again."""
        self.kept = {layer: (keys[chosen], values[chosen]) for layer, (keys, values) in self.kept.items()}
        self.lengths = self.lengths[chosen]

    def step(self, above: Trunk, length: int, fed: Tensor) -> StepPass:
        """Return the pass that feeds one more token to every row."""
        before, self.lengths, self.used = self.lengths, self.lengths + 1, self.used + 1
        return StepPass(above or {}, length, length + before, length + self.used - 1, 1, self.kept, before, self.used)


def _any(group: Group) -> int:
    """Return one prompt of a group."""
    while not group.loose:
        group = group.groups[0]
    return group.loose[0]
