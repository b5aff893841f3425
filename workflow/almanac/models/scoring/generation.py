"""Continuing a text: greedy or sampled decoding, prompts of equal length together, so that nothing is padded."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from almanac import tables
from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import run_batches, token_budget
from almanac.models.scoring.prefix_cache import PLAIN_LAYERS


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to continue.

    Attributes:
        ids: the prompt, special tokens included.
        new: the most tokens to add.
        stop: texts before which an answer is cut.
        temperature: 0 for greedy decoding.
        seeds: one a sample.
    """

    ids: tuple[int, ...]
    new: int
    stop: tuple[str, ...]
    temperature: float
    seeds: tuple[int, ...]


@dataclass(slots=True)
class Sample:
    """One text in the making."""

    prompt: Prompt
    draws: torch.Generator | None
    ids: list[int] = field(default_factory=list)
    text: str | None = None


def sample_seed(seed: int, index: int) -> int:
    """Return the seed of one sample: it depends on the request's seed and the sample's index alone."""
    return tables.seed_of("sample", seed, index)


def generate(model: CausalModel, prompts: Sequence[Prompt], budget: int | None = None) -> list[list[str]]:
    """Continue prompts.

    A text ends before a stop string, at an EOS token, or when it is long enough. At a temperature above 0 each token is
    drawn from the full softmax by a generator of the sample's own, so that a sample does not depend on its neighbours.

    Args:
        model: the model.
        prompts: what to continue.
        budget: the most tokens of a batch, those to come included.

    Returns:
        The texts of each prompt, one a seed, without the prompt; greedy texts are equal.
    """
    jobs = [(index, number) for index, prompt in enumerate(prompts) for number in range(_distinct(prompt))]
    by_length: dict[int, list[tuple[int, int]]] = {}
    for job in jobs:
        by_length.setdefault(len(prompts[job[0]].ids), []).append(job)
    texts: dict[tuple[int, int], str] = {}
    for group in by_length.values():

        def work(batch: list[tuple[int, int]]) -> list[str]:
            return _continue(model, [_sample(prompts[index], number) for index, number in batch])

        limit = budget or 4 * token_budget(model.device, model.vocabulary)
        answers = run_batches(group, lambda job: len(prompts[job[0]].ids) + prompts[job[0]].new, work, limit)
        texts.update(zip(group, answers, strict=True))
    return [
        [texts[index, number if prompt.temperature > 0 else 0] for number in range(len(prompt.seeds))]
        for index, prompt in enumerate(prompts)
    ]


def _distinct(prompt: Prompt) -> int:
    return len(prompt.seeds) if prompt.temperature > 0 else min(1, len(prompt.seeds))


def _sample(prompt: Prompt, number: int) -> Sample:
    draws = None
    if prompt.temperature > 0:
        # On the CPU, so that every device draws the same numbers.
        draws = torch.Generator().manual_seed(prompt.seeds[number])
    return Sample(prompt, draws)


@torch.inference_mode()
def _continue(model: CausalModel, samples: list[Sample]) -> list[str]:
    """Decode samples whose prompts have one length, dropping rows that have ended."""
    for sample in samples:
        if sample.prompt.new < 1:
            sample.text = ""
    alive = [sample for sample in samples if sample.text is None]
    cache, logits = _prefill(model, alive) if alive else (None, torch.empty(0))
    while alive:
        for sample, row in zip(alive, logits, strict=True):
            _extend(model, sample, row)
        going = [index for index, sample in enumerate(alive) if sample.text is None]
        if not going:
            break
        keep = len(going) < len(alive)
        alive = [alive[index] for index in going]
        if cache is None:
            logits = _last_logits(model, [(*sample.prompt.ids, *sample.ids) for sample in alive])
            continue
        if keep:
            cache.batch_select_indices(torch.tensor(going, device=model.device))
        fed = torch.tensor([[sample.ids[-1]] for sample in alive], device=model.device)
        output = model.network(input_ids=fed, past_key_values=cache, use_cache=True)
        cache, logits = output.past_key_values, output.logits[:, -1].float().cpu()
    return [sample.text or "" for sample in samples]


def _prefill(model: CausalModel, samples: Sequence[Sample]) -> tuple[DynamicCache | None, Tensor]:
    """Read each distinct prompt once; return the cache (none where it is of no use) and each sample's logits."""
    rows = {ids: index for index, ids in enumerate(dict.fromkeys(sample.prompt.ids for sample in samples))}
    options = {"logits_to_keep": 1} if model.keeps_logits else {}
    output = model.network(input_ids=torch.tensor(list(rows), device=model.device), use_cache=True, **options)
    chosen = torch.tensor([rows[sample.prompt.ids] for sample in samples])
    logits = output.logits[:, -1].float().cpu()[chosen]
    cache = getattr(output, "past_key_values", None)
    if not isinstance(cache, DynamicCache) or not all(type(layer) in PLAIN_LAYERS for layer in cache.layers):
        return None, logits
    cache.batch_select_indices(chosen.to(model.device))
    return cache, logits


def _last_logits(model: CausalModel, rows: Sequence[tuple[int, ...]]) -> Tensor:
    """Return the logits after whole rows of one length: for models whose cache is no list of keys and values."""
    output = model.network(input_ids=torch.tensor(rows, device=model.device), use_cache=False)
    logits: Tensor = output.logits[:, -1].float().cpu()
    return logits


def _extend(model: CausalModel, sample: Sample, logits: Tensor) -> None:
    """Add the next token to a sample, and its text once it has ended.

    Raises:
        ArithmeticError: the logits hold no largest finite number.
    """
    if not torch.isfinite(logits.max()):
        raise ArithmeticError("the model's logits are not finite; run it in float32")
    token = int(logits.argmax()) if sample.draws is None else _draw(logits, sample.prompt.temperature, sample.draws)
    ended = token in model.end_ids
    if not ended:
        sample.ids.append(token)
    elif not sample.ids:
        sample.text = ""
        return
    ended = ended or len(sample.ids) >= sample.prompt.new
    if ended or sample.prompt.stop:
        text = model.tokens.decode(sample.ids)
        cuts = [text.find(stop) for stop in sample.prompt.stop if stop and stop in text]
        if ended or cuts:
            sample.text = text[: min(cuts)] if cuts else text


def _draw(logits: Tensor, temperature: float, draws: torch.Generator) -> int:
    """Draw a token from the full softmax at a temperature, by inverting the cumulative distribution in float64."""
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(0)
    point = torch.rand((), generator=draws, dtype=torch.float64) * cumulative[-1]
    return min(int(torch.searchsorted(cumulative, point, right=True)), len(cumulative) - 1)
