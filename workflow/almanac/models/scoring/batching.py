"""Runs work in batches under a token budget; a batch that runs out of memory is halved."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")

CPU_TOKENS = 1024  # More do not make a matrix product faster on a core, and no longer fit its caches.
ACCELERATOR_TOKENS = 16384
CPU_KEPT, ACCELERATOR_KEPT = 16384, 65536
LOGITS = 2**28  # Numbers of logits at once: 1 GiB of float32.


def token_budget(device: torch.device, vocabulary: int) -> int:
    """Return how many tokens a forward pass may hold, so that its logits stay within 1 GiB."""
    return max(1, min(CPU_TOKENS if device.type == "cpu" else ACCELERATOR_TOKENS, LOGITS // vocabulary))


def kept_budget(device: torch.device, vocabulary: int) -> int:
    """Return how many tokens texts decoded together may cache; limited, since each text has logits in every step."""
    return max(1, min(CPU_KEPT if device.type == "cpu" else ACCELERATOR_KEPT, 4 * (LOGITS // vocabulary)))


def rows_at_once(device: torch.device) -> int:
    """Return how many rows of float32 logits become log-probabilities at once; on a CPU, what fits its cache."""
    return 64 if device.type == "cpu" else 512


def ran_out_of_memory(error: RuntimeError) -> bool:
    """Return whether a torch error means that memory ran out, on the accelerator or on the host."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def run_batches(
    jobs: Sequence[Job],
    length: Callable[[Job], int],
    work: Callable[[list[Job]], list[Result]],
    budget: int,
    even: bool = False,
) -> list[Result]:
    """Run jobs in batches of similar length, the longest first.

    Args:
        jobs: the jobs.
        length: the number of tokens of a job; a batch costs its number of jobs times the length of its longest.
        work: runs a batch and returns one result per job.
        budget: the most tokens in a batch; a single job may exceed it.
        even: whether a batch holds only jobs of equal length, so that nothing is padded.

    Returns:
        The results in the order of the jobs.

    Raises:
        RuntimeError: memory runs out with a single job.
    """
    order = sorted(range(len(jobs)), key=lambda index: -length(jobs[index]))
    results: dict[int, Result] = {}
    done = 0
    while done < len(order):
        longest = length(jobs[order[done]])
        batch = order[done : done + max(1, budget // max(1, longest))]
        if even:
            batch = list(itertools.takewhile(lambda index: length(jobs[index]) == longest, batch))  # noqa: B023
        try:
            answers = work([jobs[index] for index in batch])
        except RuntimeError as error:
            if len(batch) == 1 or not ran_out_of_memory(error):
                raise
            budget = len(batch) // 2 * max(1, longest)
            _release()
            continue
        results.update(zip(batch, answers, strict=True))
        done += len(batch)
    return [results[index] for index in range(len(jobs))]


def _release() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
