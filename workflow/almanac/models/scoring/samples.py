"""Texts in the making: how the next token is chosen and where a text ends, whatever computes the logits."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac import tables
from almanac.models.local import LocalModel
from almanac.models.stopping import after_thinking, closed, may_end, said

TAIL = 8  # Tokens in which thinking ends: those of the mark and a few more.


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to continue.

    Attributes:
        ids: the prompt, special tokens included.
        new: the most tokens to add.
        thinking: how many of them are for thinking alone.
        opened: what ends the thinking that the prompt opens where it ends; none where it opens none.
        stop: texts before which an answer is cut; see `stopping.said`.
        temperature: 0 for greedy decoding.
        seeds: one a sample.
    """

    ids: tuple[int, ...]
    new: int
    stop: tuple[str, ...]
    temperature: float
    seeds: tuple[int, ...]
    thinking: int = 0
    opened: str | None = None

    @property
    def distinct(self) -> int:
        """The number of samples that may differ: greedy ones do not."""
        return len(self.seeds) if self.temperature > 0 else min(1, len(self.seeds))

    def texts(self, found: Sequence[str | None]) -> list[str | None]:
        """Return one text a seed, of those that may differ."""
        return [found[number if self.temperature > 0 else 0] for number in range(len(self.seeds))]


@dataclass(slots=True)
class GrowingText:
    """One text in the making; its text, that of its answer, stands once it has ended.

    Attributes:
        thinks: whether it has not yet come to its answer.
        thought: how many of its tokens come before its answer, where it thinks.
        cut: whether its thinking left too little room for an answer.
    """

    prompt: Prompt
    draws: torch.Generator | None
    ids: list[int] = field(default_factory=list)
    text: str | None = None
    thinks: bool = False
    thought: int = 0
    cut: bool = False

    @property
    def answer(self) -> str | None:
        """The text; none where thinking left too little room for it."""
        return None if self.cut else self.text or ""


def sample_seed(seed: int, index: int) -> int:
    """Return the seed of one sample: it depends on the request's seed and the sample's index alone."""
    return tables.seed_of("sample", seed, index)


def begin(prompt: Prompt, number: int) -> GrowingText:
    """Return a prompt's sample of a number, with a generator of its own where it is drawn."""
    draws = None
    if prompt.temperature > 0:
        # On the CPU, so that every device draws the same numbers.
        draws = torch.Generator().manual_seed(prompt.seeds[number])
    return GrowingText(prompt, draws, text="" if prompt.new < 1 else None, thinks=prompt.opened is not None)


def extend(model: LocalModel, samples: Sequence[GrowingText], logits: Tensor) -> None:
    """Add the next token to each sample that has not ended, and its text once it has.

    Args:
        model: whose tokens they are.
        samples: the texts so far.
        logits: ``(samples, vocabulary)``, float32, on the CPU.

    Raises:
        ArithmeticError: the logits of a sample hold no largest finite number.
    """
    likely = logits.argmax(-1)
    finite = torch.isfinite(logits.gather(-1, likely[:, None]))[:, 0].tolist()
    for sample, token, known, row in zip(samples, likely.tolist(), finite, logits, strict=True):
        if sample.text is not None:
            continue
        if not known:
            raise ArithmeticError("the model's logits are not finite; run it in float32")
        _add(model, sample, token if sample.draws is None else draw(row, sample.prompt.temperature, sample.draws))


def _add(model: LocalModel, sample: GrowingText, token: int) -> None:
    """Add a token to a sample, and its text once it has ended."""
    prompt, ended, decode = sample.prompt, token in model.end_ids, model.tokens.decode
    if not ended:
        sample.ids.append(token)
    count, least = len(sample.ids), prompt.new - prompt.thinking
    full = ended or count >= prompt.new
    if sample.thinks and not full and not may_end(decode(sample.ids[-TAIL:])):
        return
    whole = full or count - sample.thought >= least
    if not (whole or sample.thinks or sample.thought or prompt.stop or count <= TAIL):
        return
    written = decode(sample.ids)
    answer = after_thinking(written, prompt.opened or closed(written))  # it may think on after a block that was closed
    if sample.thinks or answer is None or (sample.thought and not answer):
        sample.thinks, sample.thought, whole = answer is None, count, full
    if answer is None:
        sample.text, sample.cut = ("", True) if full else (None, False)
        return
    text, met = said(answer, prompt.stop)
    if whole or met:
        sample.text = text
        sample.cut = sample.thought > 0 and not (ended or met) and count - sample.thought < least


def draw(logits: Tensor, temperature: float, draws: torch.Generator) -> int:
    """Draw a token from the full softmax at a temperature, by inverting the cumulative distribution in float64."""
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(0)
    point = torch.rand((), generator=draws, dtype=torch.float64) * cumulative[-1]
    return min(int(torch.searchsorted(cumulative, point, right=True)), len(cumulative) - 1)
