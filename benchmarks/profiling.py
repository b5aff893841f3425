"""Where our CPU time goes: one workload under Python's profiler with a CPU clock, put together by what it is for."""

import os

if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import argparse
import cProfile
import pstats
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks import ours, workloads
from benchmarks.checkpoints import FULL, causal, masked
from benchmarks.measuring import operations, spend
from benchmarks.workloads import Workload

EXAMPLES = """examples:
  python -m benchmarks.profiling                              # 40 facts of IC-LKE, 50 in-context examples
  python -m benchmarks.profiling --only statements --facts 50 --functions 30"""
MAKERS: dict[str, Callable[..., Workload]] = {
    "ic_lke": workloads.in_context,
    "statements": workloads.statements,
    "masked_statements": workloads.masked_statements,
    "masked_answers": workloads.masked_answers,
    "paraphrases": workloads.paraphrases,
    "samples": workloads.samples,
    "greedy": workloads.greedy,
}
LINEAR = "linear layers and head"
# The first that a function's file and name hold decides.
PURPOSES = (
    ("_nn.linear", LINEAR),
    ("scaled_dot_product", "attention"),
    ("logsumexp", "log-sum-exp"),
    ("log_softmax", "log-sum-exp"),
    ("tokenizers", "tokenizer"),
    ("models/scoring/forest/kernels", "attention: merging"),
    ("models/scoring/forest/attention", "attention: merging"),
    ("models/scoring", "scoring: Python, gathering"),
    ("almanac/", "answering: Python"),
    ("transformers/", "norms, rotary, activations"),
    ("torch", "norms, rotary, activations"),
)


def purpose(place: tuple[str, int, str]) -> str:
    """Return what a function is for, by its file and name."""
    said = f"{place[0]} {place[2]}"
    return next((kind for part, kind in PURPOSES if part in said), "other")


@contextmanager
def timing_head(network: Any) -> Iterator[list[float]]:
    """Add up the CPU seconds of the head."""
    spent, begun = [0.0], [0.0]

    def before(module: Any, inputs: Any) -> None:
        begun[0] = time.process_time()

    def after(module: Any, inputs: Any, output: Any) -> None:
        spent[0] += time.process_time() - begun[0]

    head = network.get_output_embeddings()
    hooks = [head.register_forward_pre_hook(before), head.register_forward_hook(after)]
    try:
        yield spent
    finally:
        for hook in hooks:
            hook.remove()


def make(name: str, facts: int, examples: int) -> Workload:
    """Return a workload by name."""
    tables = workloads.shipped()
    if name in ("ic_lke", "greedy"):
        return MAKERS[name](tables, examples, facts)
    if name == "paraphrases":
        return workloads.paraphrases(tables, facts, examples)
    return MAKERS[name](tables, facts)


def main() -> int:
    """Measure one workload and print where its time goes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.profiling",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=list(MAKERS), default="ic_lke", help="the workload [%(default)s]")
    parser.add_argument("--facts", type=int, default=40, help="[%(default)s]")
    parser.add_argument("--examples", type=int, default=50, help="[%(default)s]")
    parser.add_argument("--functions", type=int, default=0, help="also so many functions, by their own time")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    work = make(asked.only, asked.facts, asked.examples)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = masked if asked.only.startswith("masked") else causal
        model = ours.load_model(checkpoint(Path(folder) / "m", workloads.statements_of(workloads.shipped())))
    way = ours.Ours(model)

    def answer() -> object:
        return way.answerer.answer(work.requests, work.contexts)

    before = way.work()
    _, spent = spend(answer, way.network, FULL)
    after, count = way.work(), len(work.items)
    print(
        f"{asked.only}: {count} items, {spent.cpu / count:.4f} CPU s each; {spent.counts.tokens / count:.1f} tokens "
        f"and {spent.counts.logits / count:.1f} rows of logits each; matrix products at {spent.rate.model:.0f} and "
        f"{spent.rate.square:.0f} GFLOP/CPU s"
    )
    print("engine, an item:", {key: round((after[key] - before[key]) / count, 2) for key in after})
    if work.requests[0].kind == "choices":
        least, seen = ours.least_tokens(model, work.requests, work.contexts)
        rate = operations(way.network, spent.counts, seen * spent.counts.tokens / least) / spent.cpu
        print(f"least {least / count:.1f} tokens; {rate:.1f} GFLOP/CPU s, {rate / spent.rate.best:.0%} of products")
    show(answer, way.network, count, asked.functions)
    return 0


def show(answer: Callable[[], object], network: Any, count: int, functions: int) -> None:
    """Run under the profiler and print where the time went."""
    profiler = cProfile.Profile(time.process_time)
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    with timing_head(network) as head:
        profiler.runcall(answer)
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime - system
    stats = pstats.Stats(profiler)
    spent: Counter[str] = Counter()
    for place, (_, _, own, *_) in stats.stats.items():  # type: ignore[attr-defined]
        spent[purpose(place)] += own
    total = sum(spent.values())
    spent[LINEAR] -= head[0]
    spent["head"] = head[0]
    for kind, seconds in spent.most_common():
        print(f"  {seconds / total:6.1%} {seconds / count:9.5f} s an item  {kind}")
    print(f"  of all, in the kernel (memory that is given out anew): {system / total:.1%}")
    if functions:
        stats.sort_stats("tottime").print_stats(functions)


if __name__ == "__main__":
    raise SystemExit(main())
