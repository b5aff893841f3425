"""The scoring engine on a card: a random model of Llama-2-7B's shape, against lm-evaluation-harness's backends.

One command measures what is asked of a card: float32 exact against the plain way; the ratio to the best lm-eval
backend (transformers; vLLM too, where it is installed); the share of the card's measured rate of matrix products.
Seconds are wall seconds, the card waited for.
"""

import os

if __name__ == "__main__":
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import argparse
import gc
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from almanac.models.causal import CausalModel
from almanac.models.tokens import Tokens
from benchmarks import ours, peers, workloads
from benchmarks.checkpoints import TINY, Shape, byte_level, llama, sharpen
from benchmarks.comparing import Agreement, agreement, average
from benchmarks.measuring import Counts, Rate, calibrate, counting, operations
from benchmarks.workloads import Workload

EXAMPLES = """examples:
  python -m benchmarks.gpu                                       # a Llama-7B-shaped model, bfloat16 and float32
  python -m benchmarks.gpu --dtype bfloat16 --facts 40
  python -m benchmarks.gpu --device cpu --tiny --dtype float32   # does everything run, where there is no card?"""
SEVEN = Shape(layers=32, width=4_096, heads=32, vocabulary=32_000, length=4_096, inner=11_008, key_heads=32)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BARS = {"times": 10.0, "share": 0.5, "difference": 1e-3}  # in nats; plain passes of such depth are 3e-4 apart


@dataclass(frozen=True)
class Timed:
    """One contender on the card.

    Attributes:
        contender: its name.
        dtype: of the weights.
        examples: in-context examples.
        items: facts that it did.
        seconds: a fact, wall.
        tokens: that the model read, a fact; none where the model runs elsewhere.
        times: its seconds a fact by ours.
        share: of the card's rate of matrix products, for us.
        agreement: with ours.
        peak: GiB of the card's memory.
    """

    contender: str
    dtype: str
    examples: int
    items: int
    seconds: float
    tokens: float | None
    times: float
    share: float | None
    agreement: Agreement | None
    peak: float


def make(folder: Path, shape: Shape, device: str, dtype: torch.dtype) -> CausalModel:
    """Return a random decoder on a device, made there, and its tokenizer; only the latter is written."""
    tokenizer = byte_level(workloads.statements_of(workloads.shipped()), shape.vocabulary)
    tokenizer.save_pretrained(folder)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    with torch.device(device):
        network = LlamaForCausalLM(llama(shape)).eval()
    torch.set_default_dtype(usual)
    sharpen(network)
    network.name_or_path = str(folder)
    identity = {"weights": "random", "tokenizer": "trained", "dtype": str(dtype), "device": device}
    return CausalModel(network, Tokens(tokenizer), "random", shape.length, identity)


class Card:
    """A model on a device, and what is timed on it."""

    def __init__(self, model: CausalModel, dtype: str, device: str, shape: Shape) -> None:
        self.model, self.dtype, self.device, self.shape = model, dtype, device, shape
        self.cuda = device.startswith("cuda")

    def rate(self) -> Rate:
        """Measure plain matrix products."""
        return calibrate(self.shape, 1.0 if self.cuda else 0.1, self.device, DTYPES[self.dtype])

    def timed(self, work: Callable[[], Any]) -> tuple[Any, float, Counts, float]:
        """Do work; return its result, wall seconds, what the model did, and the peak of memory (GiB)."""
        if self.cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        with counting(self.model.network) as counts:
            begun = time.perf_counter()
            result = peers.quietly(work)
            if self.cuda:
                torch.cuda.synchronize()
            seconds = time.perf_counter() - begun
        return result, seconds, counts, torch.cuda.max_memory_allocated() / 2**30 if self.cuda else 0.0

    def forest(self, work: Workload, examples: int) -> tuple[Timed, dict[str, Any]]:
        """Time our side on all facts, after a first few that make its kernels."""
        way = ours.Ours(self.model)
        way.answer(work.items[:2], work.contexts, ours.choices)
        before = self.rate()
        values, seconds, counts, peak = self.timed(lambda: way.answer(work.items, work.contexts, ours.choices))
        rate = max(before.best, self.rate().best)
        least, seen = ours.least_tokens(self.model, work.requests, work.contexts)
        needed = operations(self.model.network, counts, seen * counts.tokens / least)
        count = len(work.items)
        share = needed / seconds / rate
        line = Timed("Almanac, " + way.name, self.dtype, examples, count, seconds / count, counts.tokens / count, 1.0,
                     share, None, peak)  # fmt: skip
        return line, {item.requests[0].request_id: value for item, value in zip(work.items, values, strict=True)}

    def other(
        self, name: str, score: peers.Scorer, work: Workload, count: int, first: Timed, known: dict[str, Any]
    ) -> Timed:
        """Time another program on facts of average length."""
        items = average(work.items, count)
        values, seconds, counts, peak = self.timed(lambda: score(items))
        each = seconds / len(items)
        found = agreement([known[item.requests[0].request_id] for item in items], values, True)
        tokens = counts.tokens / len(items) if counts.tokens else None
        return Timed(
            name, self.dtype, first.examples, len(items), each, tokens, each / first.seconds, None, found, peak
        )


def measure(card: Card, facts: int, examples: int, batches: Sequence[int], slow: int) -> Iterator[Timed]:
    """Yield what one model takes: our side, the plain way in float32, and lm-eval at several batch sizes."""
    work = workloads.in_context(workloads.shipped(), examples, facts)
    first, known = card.forest(work, examples)
    yield first
    if card.model.exact:
        plain = ours.Ours(card.model, "reference", 0)

        def score(items: Sequence[workloads.Item]) -> Any:
            return plain.answer(items, work.contexts, ours.choices)

        yield card.other("Almanac, the plain way", score, work, 1, first, known)
    for batch in batches:
        harness = peers.lm_eval(card.model.network, batch)
        yield card.other(f"lm-eval, transformers, batch {batch}", harness, work, slow, first, known)
    if card.cuda and importlib.util.find_spec("vllm"):
        yield _by_vllm(card, work, slow, first, known)


def _by_vllm(card: Card, work: Workload, count: int, first: Timed, known: dict[str, Any]) -> Timed:
    """Time lm-eval's vLLM backend, which needs the checkpoint in a folder."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.vllm_causallms import VLLM

    folder = card.model.network.name_or_path
    card.model.network.save_pretrained(folder)
    harness = VLLM(
        pretrained=folder,
        dtype=card.dtype,
        max_model_len=2_048,
        gpu_memory_utilization=0.5,
        enable_prefix_caching=True,
        batch_size="auto",
    )

    def score(items: Sequence[workloads.Item]) -> peers.Scores:
        pairs = [(item.text, f" {answer}") for item in items for answer in item.answers]
        asked = [Instance("loglikelihood", {}, pair, index) for index, pair in enumerate(pairs)]
        values = iter(harness.loglikelihood(asked, disable_tqdm=True))
        return [[next(values)[0] for _ in item.answers] for item in items]

    return card.other("lm-eval, vLLM", score, work, count, first, known)


def text(line: Timed) -> str:
    """Return a line as it is printed."""
    tokens = "" if line.tokens is None else f"{line.tokens:,.0f} tokens, "
    said = f"{line.contender:34} {line.dtype:9} {line.examples} examples, {line.items} facts: {tokens}"
    said += f"{line.seconds:.4g} s a fact, {line.times:.3g} times ours, {line.peak:.1f} GiB"
    if line.share is not None:
        said += f", {line.share:.0%} of the measured rate of matrix products"
    if line.agreement is not None:
        one = line.agreement
        said += f"; differs by at most {one.largest:.1e} nats in {one.compared}"
        said += f", best equal in {one.same} of {one.items} ({one.near} near)"
    return said


def bars(lines: Sequence[Timed]) -> list[str]:
    """Return which of the bars hold."""
    found = []
    for line in lines:
        if line.share is not None and line.dtype != "float32":
            found.append(f"{text(line)}: share {_verdict(line.share >= BARS['share'])}")
        if line.contender.endswith("plain way") and line.agreement is not None:
            largest = line.agreement.largest or 0.0
            found.append(
                f"float32 differs from the plain way by {largest:.1e}: {_verdict(largest <= BARS['difference'])}"
            )
    for dtype, examples in sorted({(line.dtype, line.examples) for line in lines}):
        against = [
            line for line in lines if (line.dtype, line.examples) == (dtype, examples) and "lm-eval" in line.contender
        ]
        if against:
            best = min(against, key=lambda line: line.times)
            said = f"{dtype}, {examples} examples: {best.times:.3g} times faster than {best.contender}"
            found.append(f"{said}: {_verdict(best.times >= BARS['times'])}")
    return found


def _verdict(holds: bool) -> str:
    return "holds" if holds else "MISSED"


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cuda", help="[%(default)s]")
    parser.add_argument("--dtype", nargs="+", choices=list(DTYPES), default=["bfloat16", "float32"], help="[both]")
    parser.add_argument("--facts", type=int, default=400, help="[%(default)s]")
    parser.add_argument("--examples", type=int, nargs="+", default=[50, 80], help="[50 80]")
    parser.add_argument("--batch", type=int, nargs="+", default=[16, 64], help="of lm-eval [16 64]")
    parser.add_argument("--slow", type=int, default=4, help="facts for the other programs [%(default)s]")
    parser.add_argument("--tiny", action="store_true", help="a small model and few facts")
    parser.add_argument("--output", type=Path, default=Path("results/benchmark/gpu.json"), help="[%(default)s]")
    asked = parser.parse_args(argv)
    if asked.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("there is no card here; `--device cpu --tiny` shows that the command works")
    shape, facts, shots = (TINY, 4, [5]) if asked.tiny else (SEVEN, asked.facts, asked.examples)
    lines: list[Timed] = []
    for dtype in asked.dtype:
        with tempfile.TemporaryDirectory() as folder:
            card = Card(make(Path(folder), shape, asked.device, DTYPES[dtype]), dtype, asked.device, shape)
            print(f"{dtype}: {card.rate()}", flush=True)
            for examples in shots:
                for line in measure(card, facts, examples, asked.batch, asked.slow):
                    lines.append(line)
                    print(text(line), flush=True)
        del card
        gc.collect()
    for said in [] if asked.tiny else bars(lines):
        print(said)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    where = torch.cuda.get_device_name() if asked.device.startswith("cuda") else "CPU"
    record = {"where": where, "torch": torch.__version__, "lines": [asdict(line) for line in lines]}
    asked.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
