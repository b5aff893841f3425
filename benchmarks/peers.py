"""The same work by other programs: lm-evaluation-harness, LM Pub Quiz, and transformers itself.

Each function sets a program up on a checkpoint and returns what does the work: items in, out come what ours returns for
them, log-probabilities of answers (nats), probabilities of the likeliest tokens, or texts. The programs are used as
their documentation says.
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import AutoTokenizer, ContinuousBatchingConfig, GenerationConfig

from benchmarks.workloads import Item

Scores = list[list[float]]
Texts = list[list[str]]
PAGE = 256  # Tokens of a page of continuous batching, as by default.
Scorer = Callable[[Sequence[Item]], Scores]
Writer = Callable[[Sequence[Item]], Texts]


def tokenizer(network: Any, padding: str = "right") -> Any:
    """Return a fresh tokenizer of a checkpoint: some programs change the one that they are given."""
    return AutoTokenizer.from_pretrained(network.name_or_path, padding_side=padding)


def lm_eval(network: Any, batch: int = 1) -> Scorer:
    """Set up lm-evaluation-harness's `HFLM.loglikelihood`.

    Args:
        network: a causal model.
        batch: sequences a forward pass.
    """
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    harness = HFLM(pretrained=network, tokenizer=tokenizer(network), batch_size=batch)

    def score(items: Sequence[Item]) -> Scores:
        pairs = [("" if item.template else item.text, choice) for item in items for choice in _continuations(item)]
        asked = [Instance("loglikelihood", {}, pair, index) for index, pair in enumerate(pairs)]
        values = iter(harness.loglikelihood(asked, disable_tqdm=True))
        return [[next(values)[0] for _ in _continuations(item)] for item in items]

    return score


def _continuations(item: Item) -> Sequence[str]:
    """Return whole sentences where an item has a template, and answers after a space elsewhere."""
    if item.template:
        return item.requests[0].choices or ()
    return [f" {answer}" for answer in item.answers]


def lm_pub_quiz(network: Any, batch: int = 1, statements: bool = True, **options: Any) -> Scorer:
    """Set up LM Pub Quiz's scorer, with the sum over tokens.

    Args:
        network: causal or masked.
        batch: statements a forward pass.
        statements: whether items have templates that are scored as whole sentences; else a text stands before the
            answers, and only these are scored.
        **options: of its evaluator, ``pll_metric`` and ``conditional_score``.
    """
    from lm_pub_quiz import Evaluator

    kind = "MLM" if "Masked" in type(network).__name__ else "CLM"
    options = {"conditional_score": not statements, "capitalize": statements, **options}
    scorer = Evaluator.from_model(network, model_type=kind, tokenizer=tokenizer(network), device="cpu", **options)

    def score(items: Sequence[Item]) -> Scores:
        return [
            scorer.score_answers(
                template=item.template if statements else f"{item.text} [Y]",
                subject=item.subject if statements else None,
                answers=list(item.answers),
                reduction="sum",
                batch_size=batch,
            )
            for item in items
        ]

    return score


def likeliest(network: Any, batch: int = 16, k: int = 10) -> Scorer:
    """Set up what a script does for the k likeliest next tokens: padded batches, all logits."""
    words = tokenizer(network, "left")

    @torch.no_grad()
    def read(items: Sequence[Item]) -> Scores:
        found = []
        for start in range(0, len(items), batch):
            inputs = words([item.text for item in items[start : start + batch]], return_tensors="pt", padding=True)
            logits = network(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
            found.extend(torch.softmax(logits[:, -1], dim=-1).topk(k).values.tolist())
        return found

    return read


def generate(network: Any, batch: int = 16) -> Writer:
    """Set up transformers' `generate` over padded batches.

    Args:
        network: a causal model.
        batch: prompts a call, each with all its samples.
    """
    words = tokenizer(network, "left")

    def write(items: Sequence[Item]) -> Texts:
        config, number = _settings(items[0], words)
        found: Texts = []
        for start in range(0, len(items), batch):
            part = items[start : start + batch]
            inputs = words([item.text for item in part], return_tensors="pt", padding=True)
            mask = inputs["attention_mask"]
            output = network.generate(input_ids=inputs["input_ids"], attention_mask=mask, generation_config=config)
            texts = words.batch_decode(output[:, mask.shape[1] :], skip_special_tokens=True)
            found.extend(texts[number * index : number * (index + 1)] for index in range(len(part)))
        return found

    return write


def generate_batch(network: Any) -> Writer:
    """Set up transformers' continuous batching, which shares the pages of equal prefixes.

    Its store is sized for the work: left to itself it takes most of the memory and spends twenty seconds on that. With
    few tokens a batch it reads a prefix before the prompts that share it.
    """
    words = tokenizer(network)

    def write(items: Sequence[Item]) -> Texts:
        config, number = _settings(items[0], words)
        inputs = [words(item.text)["input_ids"] for item in items]
        pages = max(map(len, inputs)) // PAGE + 2
        store = ContinuousBatchingConfig(
            page_size=PAGE, num_blocks=len(inputs) * number * pages, max_batch_tokens=2 * PAGE
        )
        outputs = network.generate_batch(
            inputs=inputs, generation_config=config, continuous_batching_config=store, progress_bar=False
        )
        texts: dict[tuple[int, ...], list[str]] = {}
        for one in outputs.values():
            texts.setdefault(tuple(one.prompt_ids), []).append(
                words.decode(one.generated_tokens, skip_special_tokens=True)
            )
        found = [texts.get(tuple(ids), []) for ids in inputs]
        if any(len(one) != number for one in found):
            raise RuntimeError(f"generate_batch returned {[len(one) for one in found]} texts, not {number} a prompt")
        return found

    return write


def _settings(item: Item, words: Any) -> tuple[GenerationConfig, int]:
    """Return how an item's request is generated, and how many texts come of it."""
    [request] = item.requests
    number = request.samples or 1
    sampled: dict[str, Any] = {"do_sample": False}
    if request.temperature:
        sampled = {"do_sample": True, "temperature": request.temperature, "top_k": 0, "top_p": 1.0}
    config = GenerationConfig(
        max_new_tokens=request.max_new_tokens,
        num_return_sequences=number,
        pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
        **sampled,
    )
    return config, number


def quietly(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function without other programs' warnings."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(*arguments)
