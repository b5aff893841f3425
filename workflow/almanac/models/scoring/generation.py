"""Greedy or sampled decoding; prefixes that prompts share are read once, if the model allows it.

Other models continue prompts of equal length together under their own cache, so that nothing is padded.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from almanac.models.causal import CausalModel
from almanac.models.scoring.batching import kept_budget, run_batches
from almanac.models.scoring.forest import decoding
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.prefix_cache import NoCacheError, plain_cache
from almanac.models.scoring.reference import rope_switch
from almanac.models.scoring.samples import GrowingText, Prompt, begin, extend

ENGINE = "own_cache/1"


def generate(
    model: CausalModel, prompts: Sequence[Prompt], machine: TreeMachine | None = None, budget: int | None = None
) -> list[list[str | None]]:
    """Continue prompts.

    A text ends before a stop string, at an EOS token, or at its maximum length. At a temperature above 0, each token is
    drawn from the full softmax. Every sample has its own generator, so that it does not depend on its neighbours.

    Args:
        model: the model.
        prompts: the prompts to continue.
        machine: runs the model and reads shared prefixes once; None for a model that it cannot run.
        budget: the most tokens in a batch, tokens to be generated included.

    Returns:
        The answers to each prompt, one per seed, without the prompt and the model's thinking; greedy ones are equal.
        An answer is None if thinking left too little room for it.
    """
    if machine is not None:
        samples = decoding.generate(machine, prompts, budget)
        return [prompt.texts([one.answer for one in drawn]) for prompt, drawn in zip(prompts, samples, strict=True)]
    jobs = [(index, number) for index, prompt in enumerate(prompts) for number in range(prompt.distinct)]
    by_length: dict[int, list[tuple[int, int]]] = {}
    for job in jobs:
        by_length.setdefault(len(prompts[job[0]].ids), []).append(job)
    texts: dict[tuple[int, int], str | None] = {}
    for group in by_length.values():

        def work(batch: list[tuple[int, int]]) -> list[str | None]:
            return _continue(model, [begin(prompts[index], number) for index, number in batch])

        limit = budget or kept_budget(model.device, model.vocabulary)
        answers = run_batches(group, lambda job: len(prompts[job[0]].ids) + prompts[job[0]].new, work, limit)
        texts.update(zip(group, answers, strict=True))
    return [
        prompt.texts([texts[index, number] for number in range(prompt.distinct)])
        for index, prompt in enumerate(prompts)
    ]


@torch.inference_mode()
def _continue(model: CausalModel, samples: list[GrowingText]) -> list[str | None]:
    """Decode samples whose prompts have equal length, dropping rows that have ended."""
    alive = [sample for sample in samples if sample.text is None]
    cache, logits = _prefill(model, alive) if alive else (None, torch.empty(0))
    while alive:
        extend(model, alive, logits)
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
    return [sample.answer for sample in samples]


def _prefill(model: CausalModel, samples: Sequence[GrowingText]) -> tuple[DynamicCache | None, Tensor]:
    """Read each distinct prompt once; return the cache (None if it cannot be used) and each sample's logits."""
    rows = {ids: index for index, ids in enumerate(dict.fromkeys(sample.prompt.ids for sample in samples))}
    options = {"logits_to_keep": 1} if model.keeps_logits else {}
    output = model.network(input_ids=torch.tensor(list(rows), device=model.device), use_cache=True, **options)
    chosen = torch.tensor([rows[sample.prompt.ids] for sample in samples])
    logits = output.logits[:, -1].float().cpu()[chosen]
    bound, longest = rope_switch(model), max(len(sample.prompt.ids) + sample.prompt.new for sample in samples)
    if bound is not None and len(samples[0].prompt.ids) <= bound < longest:
        return None, logits  # The longest text passes the bound, which changes how the prompt itself is read.
    try:
        cache = plain_cache(model, getattr(output, "past_key_values", None))
    except NoCacheError:
        return None, logits
    cache.batch_select_indices(chosen.to(model.device))
    return cache, logits


def _last_logits(model: CausalModel, rows: Sequence[tuple[int, ...]]) -> Tensor:
    """Return the logits after whole rows of equal length, for models without a plain cache of keys and values."""
    output = model.network(input_ids=torch.tensor(rows, device=model.device), use_cache=False)
    logits: Tensor = output.logits[:, -1].float().cpu()
    return logits
