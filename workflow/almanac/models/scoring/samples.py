"""Texts in the making: how the next token is chosen and where a text ends, whatever computes the logits."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from almanac import tables
from almanac.models.local import LocalModel
from almanac.models.stopping import said


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to continue.

    Attributes:
        ids: the prompt, special tokens included.
        new: the most tokens to add.
        stop: texts before which an answer is cut; see `stopping.said`.
        temperature: 0 for greedy decoding.
        seeds: one a sample.
    """

    ids: tuple[int, ...]
    new: int
    stop: tuple[str, ...]
    temperature: float
    seeds: tuple[int, ...]

    @property
    def distinct(self) -> int:
        """The number of samples that may differ: greedy ones do not."""
        return len(self.seeds) if self.temperature > 0 else min(1, len(self.seeds))

    def texts(self, found: Sequence[str]) -> list[str]:
        """Return one text a seed, of those that may differ."""
        return [found[number if self.temperature > 0 else 0] for number in range(len(self.seeds))]


@dataclass(slots=True)
class GrowingText:
    """One text in the making; its text stands once it has ended."""

    prompt: Prompt
    draws: torch.Generator | None
    ids: list[int] = field(default_factory=list)
    text: str | None = None


def sample_seed(seed: int, index: int) -> int:
    """Return the seed of one sample: it depends on the request's seed and the sample's index alone."""
    return tables.seed_of("sample", seed, index)


def begin(prompt: Prompt, number: int) -> GrowingText:
    """Return a prompt's sample of a number, with a generator of its own where it is drawn."""
    draws = None
    if prompt.temperature > 0:
        # On the CPU, so that every device draws the same numbers.
        draws = torch.Generator().manual_seed(prompt.seeds[number])
    return GrowingText(prompt, draws, text="" if prompt.new < 1 else None)


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
    ended = token in model.end_ids
    if not ended:
        sample.ids.append(token)
    elif not sample.ids:
        sample.text = ""
        return
    ended = ended or len(sample.ids) >= sample.prompt.new
    if ended or sample.prompt.stop:
        text, met = said(model.tokens.decode(sample.ids), sample.prompt.stop)
        if ended or met:
            sample.text = text


def draw(logits: Tensor, temperature: float, draws: torch.Generator) -> int:
    """Draw a token from the full softmax at a temperature, by inverting the cumulative distribution in float64."""
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(0)
    point = torch.rand((), generator=draws, dtype=torch.float64) * cumulative[-1]
    return min(int(torch.searchsorted(cumulative, point, right=True)), len(cumulative) - 1)
