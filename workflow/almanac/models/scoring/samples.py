"""Decoding, whatever computes the logits: how the next token is chosen and where a text ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac import tables
from almanac.models.local import LocalModel
from almanac.models.stopping import after_thinking, before_stop, closed_block_end, may_end

TAIL = 8  # The mark that ends thinking is looked for in the last 8 tokens: it is a few tokens shorter.


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and how to continue it.

    Attributes:
        ids: the prompt, special tokens included.
        new: the most tokens to add.
        thinking: how many of these are reserved for thinking.
        opened: the mark that ends the thinking block in which the prompt stops; None if it opens no such block.
        stop: texts before which an answer is cut; see `stopping.before_stop`.
        temperature: 0 for greedy decoding.
        seeds: one per sample.
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
        """Return one text per seed, from the `distinct` ones."""
        return [found[number if self.temperature > 0 else 0] for number in range(len(self.seeds))]


@dataclass(slots=True)
class GrowingText:
    """A sample that is being generated.

    Attributes:
        text: the text of its answer, without thinking; None until the sample has ended.
        thinks: whether it is still thinking.
        thought: how many of its tokens come before its answer, if it thinks.
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
        """The text of the answer; None if thinking left too little room for one."""
        return None if self.cut else self.text or ""


def sample_seed(seed: int, index: int) -> int:
    """Return the seed of one sample: it depends on the request's seed and the sample's index alone."""
    return tables.seed_of("sample", seed, index)


def begin(prompt: Prompt, number: int) -> GrowingText:
    """Return a prompt's sample by its number, not yet continued; unless greedy, with a generator of its own."""
    draws = None
    if prompt.temperature > 0:
        # On the CPU, so that every device draws the same numbers.
        draws = torch.Generator().manual_seed(prompt.seeds[number])
    return GrowingText(prompt, draws, text="" if prompt.new < 1 else None, thinks=prompt.opened is not None)


def extend(model: LocalModel, samples: Sequence[GrowingText], logits: Tensor) -> None:
    """Add the next token to each sample that has not ended, and set its text if that ends it.

    Args:
        model: the model that gave the logits.
        samples: the samples so far.
        logits: ``(samples, vocabulary)``, float32, on the CPU.

    Raises:
        ArithmeticError: a sample's largest logit is not finite.
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
    """Add a token to a sample, and set its text if that ends it."""
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
    answer = after_thinking(written, prompt.opened or closed_block_end(written))  # more blocks may follow the first
    if sample.thinks or answer is None or (sample.thought and not answer):
        sample.thinks, sample.thought, whole = answer is None, count, full
    if answer is None:
        sample.text, sample.cut = ("", True) if full else (None, False)
        return
    text, met = before_stop(answer, prompt.stop)
    if whole or met:
        sample.text = text
        sample.cut = sample.thought > 0 and not (ended or met) and count - sample.thought < least


def draw(logits: Tensor, temperature: float, draws: torch.Generator) -> int:
    """Draw a token from the full softmax at a temperature, by inverting the cumulative distribution in float64."""
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(0)
    point = torch.rand((), generator=draws, dtype=torch.float64) * cumulative[-1]
    return min(int(torch.searchsorted(cumulative, point, right=True)), len(cumulative) - 1)
