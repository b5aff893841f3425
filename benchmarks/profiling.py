"""Where our CPU time goes: one workload under torch's profiler, the operations put together by what they are for.

python -m benchmarks.profiling                            # 40 facts of IC-LKE, 50 in-context examples
python -m benchmarks.profiling --only statements --facts 50
"""

import os

if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import argparse
import cProfile
import pstats
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks import ours, workloads
from benchmarks.checkpoints import FULL, causal, masked
from benchmarks.measuring import operations, spend
from benchmarks.workloads import Workload

ATTENTION = "attention"
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_mkl_linear", "mkldnn::_linear_pointwise")
READS = ("aten::logsumexp", "aten::_log_softmax", "aten::exp", "aten::amax", "aten::sort", "aten::topk", "aten::max")
SHOWN = 25

MAKERS: dict[str, Callable[..., Workload]] = {
    "ic_lke": workloads.in_context,
    "statements": workloads.statements,
    "masked_statements": workloads.masked_statements,
    "masked_answers": workloads.masked_answers,
    "paraphrases": workloads.paraphrases,
    "samples": workloads.samples,
    "greedy": workloads.greedy,
}


def purpose(name: str, shapes: Sequence[Any], vocabulary: int) -> str:
    """Return what an operation is for: linear layers, the head, attention, reading log-probabilities, the rest."""
    sizes = {size for shape in shapes for size in (shape if isinstance(shape, list) else [])}
    if name in PRODUCTS:
        return "head" if vocabulary in sizes else "linear layers"
    if "attention" in name:
        return ATTENTION
    if vocabulary in sizes or name in READS:
        return "log-probabilities"
    return "norms, activations, copies"


def by_purpose(work: Callable[[], object], vocabulary: int) -> tuple[Counter[str], Counter[str]]:
    """Return CPU seconds by purpose, and of the rest by operation."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        work()
    purposes: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for event in seen.key_averages(group_by_input_shape=True):
        kind = purpose(event.key, event.input_shapes or [], vocabulary)
        purposes[kind] += event.self_cpu_time_total / 1e6
        if kind == "norms, activations, copies":
            rest[event.key] += event.self_cpu_time_total / 1e6
    return purposes, rest


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
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m benchmarks.profiling"
    )
    parser.add_argument("--only", choices=list(MAKERS), default="ic_lke", help="the workload [%(default)s]")
    parser.add_argument("--facts", type=int, default=40, help="[%(default)s]")
    parser.add_argument("--examples", type=int, default=50, help="[%(default)s]")
    parser.add_argument("--python", action="store_true", help="also the Python functions, by their own time")
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
    after = way.work()
    begun = time.process_time()
    purposes, rest = by_purpose(answer, FULL.vocabulary)
    profiled = time.process_time() - begun
    print(
        f"{asked.only}: {len(work.items)} items, {spent.cpu / len(work.items):.4f} CPU s each; "
        f"{spent.counts.tokens / len(work.items):.1f} tokens and {spent.counts.logits / len(work.items):.1f} "
        f"rows of logits each; matrix products at {spent.rate.model:.0f} and {spent.rate.square:.0f} GFLOP/CPU s"
    )
    print("engine:", {key: (after[key] - before.get(key, 0)) / len(work.items) for key in after})
    if asked.only in ("ic_lke", "statements"):
        least, seen = ours.least_tokens(model, work.requests, work.contexts)
        rate = operations(way.network, spent.counts, seen * spent.counts.tokens / least) / spent.cpu
        print(f"least {least / len(work.items):.1f} tokens; {rate:.1f} GFLOP/CPU s")
    purposes["Python, tokenizer, what torch does not see"] = profiled - sum(purposes.values())
    for kind, seconds in purposes.most_common():
        print(f"  {seconds / profiled:6.1%} {seconds / len(work.items):8.4f} s  {kind}")
    print("of these copies and small operations:", {key: round(value, 2) for key, value in rest.most_common(12)})
    if asked.python:
        seen_by = cProfile.Profile()
        seen_by.runcall(answer)
        pstats.Stats(seen_by).sort_stats("tottime").print_stats(SHOWN)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
