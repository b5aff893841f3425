"""The scoring engine against other programs: the same work in one process, CPU seconds, ratios and agreement.

The model is random (Llama, 8 layers of 512, vocabulary 16,384; BERT of the same size), in float32, on one thread; the
facts are those that ship. Slow contenders are given few facts, of average length, and their cost is extrapolated. Plain
matrix products are timed between the contenders, since a busy machine gives less to one than to the other.
"""

import os

# One thread for everything: before the libraries are imported, which read these once.
os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import argparse
import functools
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from almanac.models.scoring.ladder import Engine
from benchmarks import checkpoints, ours, peers, workloads
from benchmarks.checkpoints import FULL, TINY, Shape
from benchmarks.comparing import Contender, Line, Values, agreement, average, measure
from benchmarks.measuring import Spent, operations
from benchmarks.reporting import bars, describe, document, row, table
from benchmarks.workloads import Item, Workload

EXAMPLES = """examples:
  python -m benchmarks.scoring                               # everything; about a quarter of an hour on a quiet core
  python -m benchmarks.scoring --only ic_lke --examples 80   # one workload, with 80 in-context examples
  python -m benchmarks.scoring --only statements --facts 40 --no-peers
  python -m benchmarks.scoring --tiny                        # a small model, few facts: does everything run?
  python -m benchmarks.scoring --document docs/performance.md"""


class Bench:
    """What all workloads share: facts, checkpoints, models, and how many facts are asked.

    Args:
        folder: where the checkpoints go.
        shape: of the models.
        facts: of each workload, for us; none for each workload's own number.
        compared: whether other programs run too.
    """

    def __init__(self, folder: Path, shape: Shape = FULL, facts: int | None = None, compared: bool = True) -> None:
        self.folder, self.shape, self.facts, self.compared = folder, shape, facts, compared
        self.tables = workloads.shipped()
        self.lines: list[Line] = []

    def count(self, usual: int) -> int:
        """Return how many facts are asked where a workload has its usual number."""
        return usual if self.facts is None else min(self.facts, usual)

    def _checkpoint(self, name: str) -> Path:
        folder = self.folder / name
        if not folder.is_dir():
            make = {"causal": checkpoints.causal, "masked": checkpoints.masked}[name]
            make(folder, workloads.statements_of(self.tables), self.shape)
        return folder

    @functools.cached_property
    def causal(self) -> Any:
        """Our decoder."""
        return ours.load_model(self._checkpoint("causal"))

    @functools.cached_property
    def masked(self) -> Any:
        """Our encoder."""
        return ours.load_model(self._checkpoint("masked"))

    @functools.cached_property
    def decoder(self) -> Any:
        """The decoder that the others run: the same checkpoint, loaded again."""
        return AutoModelForCausalLM.from_pretrained(self._checkpoint("causal")).eval()

    @functools.cached_property
    def encoder(self) -> Any:
        """The encoder that the others run."""
        return AutoModelForMaskedLM.from_pretrained(self._checkpoint("masked")).eval()

    def compare(
        self,
        name: str,
        work: Workload,
        ways: Sequence[tuple[str, ours.Ours, int]],
        read: ours.Read,
        others: Sequence[Contender] = (),
        best: bool = True,
    ) -> None:
        """Run one workload: first our ways, the first of which all others are held against.

        Args:
            name: of the workload.
            work: its items.
            ways: our contenders: name, answerer, number of items.
            read: what is read off our responses.
            others: the other programs.
            best: whether the largest of an item's values is its answer.
        """
        mine = [
            Contender(label, lambda items, way=way: way.answer(items, work.contexts, read), way.network, count)
            for label, way, count in ways
        ]
        first: Line | None = None
        known: dict[str, Any] = {}
        for contender in (*mine, *(others if self.compared else ())):
            line, values, spent = peers.quiet(lambda: measure(name, contender, work.items, self.shape))  # noqa: B023
            chosen = work.items if line.items == len(work.items) else average(work.items, line.items)
            if first is None:
                first = line
                known = {_key(item): value for item, value in zip(chosen, values, strict=True)}
                line = replace(line, extra=self._extra(ways[0][1], work, spent))
            else:
                line = _against(line, first, [known[_key(item)] for item in chosen], values, best)
            self.lines.append(line)
            print(row(line), flush=True)

    def _extra(self, way: ours.Ours, work: Workload, spent: Spent) -> dict[str, float]:
        """Return what is measured of our first way alone, where it scores choices of a decoder."""
        if way.network.config.is_encoder_decoder or work.requests[0].kind != "choices":
            return {}
        least, seen = ours.least_tokens(way.answerer.model, work.requests, work.contexts)
        positions = seen * spent.counts.tokens / least
        rate = operations(way.network, spent.counts, positions) / spent.cpu
        extra = {"least_tokens": least / len(work.items), "gflop_per_s": rate}
        extra["share_of_rate"] = rate / spent.rate.best
        extra["tokens_over_least"] = spent.counts.tokens / least
        return extra | {f"engine_{key}": value / len(work.items) for key, value in way.work().items()}


def _key(item: Item) -> str:
    return item.requests[0].request_id


def _against(line: Line, first: Line, mine: Values, values: Values, best: bool) -> Line:
    """Return a line with its ratios to ours and its agreement."""
    speed = max(line.rate_model, line.rate_square) / max(first.rate_model, first.rate_square)
    ratio = line.cpu / first.cpu
    found = agreement(mine, values, best)
    return replace(line, ratio=ratio, ratio_at_rate=ratio * speed, agreement=found)


def ic_lke(bench: Bench, shots: int) -> None:
    """Examples, a subject and 100 choices."""
    work = workloads.in_context(bench.tables, shots, bench.count(400))
    short = shots <= 50  # With the longer prefix the slow ones would take most of the time.
    ways = [
        ("Almanac, forest", _ours(bench.causal), len(work.items)),
        ("Almanac, prefix cache", _ours(bench.causal, "prefix_cache", 0), 8),
        *([("Almanac, the plain way", _ours(bench.causal, "reference", 0), 1)] if short else []),
    ]
    others = [
        Contender("lm-eval, batch 16", peers.lm_eval(bench.decoder, 16), bench.decoder, 1),
        Contender("LM Pub Quiz, batch 16", peers.lm_pub_quiz(bench.decoder, 16, False), bench.decoder, 1),
    ]
    if short:
        others += [
            Contender("lm-eval, batch 1 (default)", peers.lm_eval(bench.decoder, 1), bench.decoder, 1),
            Contender("LM Pub Quiz, batch 1 (default)", peers.lm_pub_quiz(bench.decoder, 1, False), bench.decoder, 1),
        ]
    bench.compare(f"ic_lke_{shots}", work, ways, ours.choices, others)


def statements(bench: Bench) -> None:
    """Whole sentences with each of 60 answers."""
    work = workloads.statements(bench.tables, bench.count(200))
    others = [
        Contender("LM Pub Quiz, batch 16", peers.lm_pub_quiz(bench.decoder, 16), bench.decoder, 40),
        Contender("LM Pub Quiz, batch 1 (default)", peers.lm_pub_quiz(bench.decoder, 1), bench.decoder, 5),
        Contender("lm-eval, batch 16", peers.lm_eval(bench.decoder, 16), bench.decoder, 10),
    ]
    bench.compare("statements", work, [("Almanac, forest", _ours(bench.causal), len(work.items))], ours.choices, others)


def masked_statements(bench: Bench) -> None:
    """The same for a masked model: the pseudo-log-likelihood of whole sentences, within-word variant."""
    work = workloads.masked_statements(bench.tables, bench.count(4))
    quiz = peers.lm_pub_quiz(bench.encoder, 32)
    others = [Contender("LM Pub Quiz, batch 32", quiz, bench.encoder, 4)]
    bench.compare(
        "masked_statements", work, [("Almanac, masked", _ours(bench.masked), len(work.items))], ours.sentences, others
    )


def masked_answers(bench: Bench) -> None:
    """The pseudo-log-likelihood of the answer alone, left to right under masks."""
    work = workloads.masked_answers(bench.tables, bench.count(20))
    options = {"conditional_score": True, "pll_metric": "answer_l2r+word_l2r"}
    quiz = peers.lm_pub_quiz(bench.encoder, 32, **options)
    others = [Contender("LM Pub Quiz, batch 32", quiz, bench.encoder, 8)]
    bench.compare(
        "masked_answers", work, [("Almanac, masked", _ours(bench.masked), len(work.items))], ours.choices, others
    )


def paraphrases(bench: Bench, examples: int) -> None:
    """Short prompts in many wordings with a final blank: the likeliest tokens, and 20 candidates."""
    way = _ours(bench.causal)
    work = workloads.paraphrases(bench.tables, bench.count(200), examples)
    script = Contender("transformers, batch 16", peers.likeliest(bench.decoder), bench.decoder, 64)
    bench.compare(
        f"paraphrases_{examples}_top", work, [("Almanac, forest", way, len(work.items))], ours.top, [script], False
    )
    work = workloads.paraphrases(bench.tables, bench.count(200), examples, candidates=20)
    others = [
        Contender("lm-eval, batch 16", peers.lm_eval(bench.decoder, 16), bench.decoder, 10 if not examples else 4)
    ]
    bench.compare(
        f"paraphrases_{examples}_candidates", work, [("Almanac, forest", way, len(work.items))], ours.choices, others
    )


def samples(bench: Bench) -> None:
    """A hundred samples of short prompts."""
    tiny = bench.shape is not FULL
    work = workloads.samples(bench.tables, bench.count(10), 10 if tiny else 100)
    others = [
        Contender("transformers generate", peers.generate(bench.decoder, 1), bench.decoder, 2),
        Contender("transformers generate_batch", peers.generate_batch(bench.decoder), bench.decoder, 1),
    ]
    bench.compare("samples", work, [("Almanac", _ours(bench.causal), len(work.items))], ours.texts, others, False)


def greedy(bench: Bench, shots: int) -> None:
    """Greedy continuation of prompts that share a long prefix."""
    work = workloads.greedy(bench.tables, shots, bench.count(100))
    others = [
        Contender("transformers generate, batch 16", peers.generate(bench.decoder, 16), bench.decoder, 48),
        Contender("transformers generate_batch", peers.generate_batch(bench.decoder), bench.decoder, 48),
    ]
    bench.compare(
        f"greedy_{shots}", work, [("Almanac", _ours(bench.causal), len(work.items))], ours.texts, others, False
    )


def _ours(model: Any, engine: Engine = "forest", checked: int | None = None) -> ours.Ours:
    return ours.Ours(model, engine, checked)


WORKLOADS: dict[str, Callable[..., None]] = {
    "ic_lke": ic_lke,
    "statements": statements,
    "masked_statements": masked_statements,
    "masked_answers": masked_answers,
    "paraphrases": paraphrases,
    "samples": samples,
    "greedy": greedy,
}


def run(bench: Bench, only: Sequence[str], shots: Sequence[int]) -> list[Line]:
    """Run workloads and return what was measured."""
    for name in only:
        work = WORKLOADS[name]
        if name in ("ic_lke", "greedy"):
            for number in shots:
                work(bench, number)
        elif name == "paraphrases":
            for number in (0, 4):
                work(bench, number)
        else:
            work(bench)
    return bench.lines


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scoring",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS), metavar="WORKLOAD",
                        help=f"workloads to run [all: {', '.join(WORKLOADS)}]")  # fmt: skip
    parser.add_argument("--facts", type=int, help="the most facts of a workload that we are asked [each its own]")
    parser.add_argument("--examples", type=int, nargs="+", default=[50, 80], help="in-context examples [50 80]")
    parser.add_argument("--no-peers", action="store_true", help="only our side: no other package is needed")
    parser.add_argument("--tiny", action="store_true", help="a model of 2 layers of 64, few facts: a smoke test")
    parser.add_argument(
        "--output", type=Path, default=Path("results/benchmark/scoring.json"), help="what was measured [%(default)s]"
    )
    parser.add_argument("--document", type=Path, help="write the tables between this file's markers")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks."""
    asked = arguments(argv)
    torch.set_num_threads(1)
    facts, shots = (asked.facts or 4, [5]) if asked.tiny else (asked.facts, asked.examples)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), TINY if asked.tiny else FULL, facts, not asked.no_peers)
        lines = run(bench, asked.only, shots)
    found = {"where": describe(), "lines": [line.record() for line in lines], "bars": bars(lines)}
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"\n{table(lines)}\n")
    for bar in found["bars"]:
        print(bar["text"])
    print(f"\nwritten to {asked.output}", file=sys.stderr)
    if asked.document:
        document(asked.document, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
