"""The scoring engine against other programs: the same work in one process, CPU seconds, ratios and agreement.

The model is random (Llama, 8 layers of 512, vocabulary 16,384; BERT of the same size), in float32, on one thread; the
facts are those that ship. Slow contenders are given few facts, of average length, and their cost is extrapolated. Plain
matrix products are timed between the contenders, since a busy machine gives less to one than to the other.
"""

import os

if __name__ == "__main__":  # One thread for everything: before the libraries are imported, which read these once.
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks import ours, peers, workloads
from benchmarks.bench import Bench
from benchmarks.checkpoints import FULL, TINY
from benchmarks.comparing import Contender, Line
from benchmarks.reporting import document, joined, record, section

EXAMPLES = """examples:
  python -m benchmarks.scoring                               # everything; about a quarter of an hour on a quiet core
  python -m benchmarks.scoring --only ic_lke --examples 80   # one workload, with 80 in-context examples
  python -m benchmarks.scoring --only statements --facts 40 --no-peers
  python -m benchmarks.scoring --tiny                        # a small model, few facts: does everything run?
  python -m benchmarks.scoring --only ic_lke --examples 16 --facts 8 --causal .real-model/smollm2-135m-instruct
  python -m benchmarks.scoring --document docs/performance.md
  python -m benchmarks.scoring --join one.json other.json --document docs/performance.md"""


def ic_lke(bench: Bench, shots: int) -> None:
    """Examples, a subject and 100 choices."""
    work = workloads.in_context(bench.tables, shots, bench.count(400))
    ways = [
        ("Almanac, forest", ours.Ours(bench.causal), len(work.items)),
        ("Almanac, best choice only", ours.Ours(bench.causal, best_only=True), len(work.items)),
        ("Almanac, prefix cache", ours.Ours(bench.causal, "prefix_cache", 0), 8),
    ]
    others = [
        Contender("lm-eval, batch 16", partial(peers.lm_eval, batch=16), 1),
        Contender("LM Pub Quiz, batch 16", partial(peers.lm_pub_quiz, batch=16, statements=False), 1),
    ]
    if shots <= 50:  # Behind a longer prefix the slow ones would take most of the time.
        ways.append(("Almanac, the plain way", ours.Ours(bench.causal, "reference", 0), 1))
        others += [
            Contender("lm-eval, batch 1 (default)", peers.lm_eval, 1),
            Contender("LM Pub Quiz, batch 1 (default)", partial(peers.lm_pub_quiz, statements=False), 1),
        ]
    bench.compare(f"ic_lke_{shots}", work, ways, ours.choices, others)


def statements(bench: Bench) -> None:
    """Whole sentences with each of 60 answers."""
    work = workloads.statements(bench.tables, bench.count(200))
    others = [
        Contender("LM Pub Quiz, batch 16", partial(peers.lm_pub_quiz, batch=16), 40),
        Contender("LM Pub Quiz, batch 1 (default)", peers.lm_pub_quiz, 5),
        Contender("lm-eval, batch 16", partial(peers.lm_eval, batch=16), 10),
    ]
    bench.compare("statements", work, [_causal(bench, work)], ours.choices, others)


def masked_statements(bench: Bench) -> None:
    """The same for a masked model: the pseudo-log-likelihood of whole sentences, within-word variant."""
    work = workloads.masked_statements(bench.tables, bench.count(4))
    others = [Contender("LM Pub Quiz, batch 32", partial(peers.lm_pub_quiz, batch=32), 4)]
    bench.compare("masked_statements", work, [_masked(bench, work)], ours.sentences, others)


def masked_answers(bench: Bench) -> None:
    """The pseudo-log-likelihood of the answer alone, left to right under masks."""
    work = workloads.masked_answers(bench.tables, bench.count(20))
    quiz = partial(peers.lm_pub_quiz, batch=32, conditional_score=True, pll_metric="answer_l2r+word_l2r")
    others = [Contender("LM Pub Quiz, batch 32", quiz, 8)]
    bench.compare("masked_answers", work, [_masked(bench, work)], ours.choices, others)


def paraphrases(bench: Bench, examples: int) -> None:
    """Short prompts in many wordings with a final blank: the likeliest tokens, and 20 candidates."""
    work = workloads.paraphrases(bench.tables, bench.count(200), examples)
    script = Contender("transformers, batch 16", peers.likeliest, 64)
    bench.compare(f"paraphrases_{examples}_top", work, [_causal(bench, work)], ours.top, [script], best=False)
    work = workloads.paraphrases(bench.tables, bench.count(200), examples, candidates=20)
    harness = Contender("lm-eval, batch 16", partial(peers.lm_eval, batch=16), 4 if examples else 10)
    bench.compare(f"paraphrases_{examples}_candidates", work, [_causal(bench, work)], ours.choices, [harness])


def samples(bench: Bench) -> None:
    """A hundred samples of short prompts."""
    work = workloads.samples(bench.tables, bench.count(10), 100 if bench.shape is FULL else 10)
    others = [
        Contender("transformers generate", partial(peers.generate, batch=1), 2),
        Contender("transformers generate_batch", peers.generate_batch, 1),
    ]
    bench.compare("samples", work, [_causal(bench, work)], ours.texts, others, best=False)


def greedy(bench: Bench, shots: int) -> None:
    """Greedy continuation of prompts that share a long prefix."""
    work = workloads.greedy(bench.tables, shots, bench.count(100))
    others = [
        Contender("transformers generate, batch 16", partial(peers.generate, batch=16), 48),
        Contender("transformers generate, batch 48", partial(peers.generate, batch=48), 48),
        Contender("transformers generate_batch", peers.generate_batch, 48),
    ]
    bench.compare(f"greedy_{shots}", work, [_causal(bench, work)], ours.texts, others, best=False)


def _causal(bench: Bench, work: workloads.Workload) -> tuple[str, ours.Ours, int]:
    return "Almanac, forest", ours.Ours(bench.causal), len(work.items)


def _masked(bench: Bench, work: workloads.Workload) -> tuple[str, ours.Ours, int]:
    return "Almanac, masked", ours.Ours(bench.masked), len(work.items)


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
    parser.add_argument("--causal", type=Path, metavar="FOLDER", help="a decoder's checkpoint [a random one]")
    parser.add_argument("--tiny", action="store_true", help="a model of 2 layers of 64, few facts: a smoke test")
    parser.add_argument(
        "--output", type=Path, default=Path("results/benchmark/scoring.json"), help="what was measured [%(default)s]"
    )
    parser.add_argument("--document", type=Path, help="write the tables between this file's markers")
    parser.add_argument("--join", type=Path, nargs="+", metavar="FILE", help="measure nothing: take these outputs")
    return parser.parse_args(argv)


def _written(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks."""
    asked = arguments(argv)
    torch.set_num_threads(1)
    facts, shots = (asked.facts or 4, [5]) if asked.tiny else (asked.facts, asked.examples)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    if asked.join:
        found = _written(asked.output, joined(asked.join))
    else:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder), TINY if asked.tiny else FULL, facts, not asked.no_peers, asked.causal)
            bench.on_line = lambda: _written(asked.output, record(bench.lines))  # A run that is ended leaves its lines.
            found = record(run(bench, asked.only, shots))
    print(f"\n{section(found)}\nwritten to {asked.output}")
    if asked.document:
        document(asked.document, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
