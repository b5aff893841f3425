"""What `make own` asks of a model at its quick size: random models to try it on, and where the answers' time goes."""

import os

if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from almanac import tables
from almanac.rows import Context, Request
from benchmarks import ours, workloads
from benchmarks.checkpoints import byte_level, filled, save
from benchmarks.measuring import Counts, calibrate, counting, matrices_of, operations

EXAMPLES = """examples:
  python -m benchmarks.own --make FOLDER                # FOLDER/small (33 M) and FOLDER/gpt2 (124 M)
  make own MODEL=FOLDER/gpt2                            # results/own; its last line says what it took
  python -m benchmarks.own --model FOLDER/gpt2 --edition results/own --suites karr facteval"""
VOCABULARY, END = 50_257, "<|endoftext|>"


def make(folder: Path) -> None:
    """Write two random models with GPT-2's vocabulary size: a Llama of 33 M parameters, and one of GPT-2's shape."""
    texts = workloads.statements_of(workloads.shipped())
    small = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=384,
        intermediate_size=1_024,
        num_hidden_layers=8,
        num_attention_heads=6,
        max_position_embeddings=1_024,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    save(folder / "small", LlamaForCausalLM(small), byte_level(texts, VOCABULARY))
    save(folder / "gpt2", GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0)), _gpt2s(texts))


def _gpt2s(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Train byte-level BPE that puts nothing before a text, as GPT-2's."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=[END],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=filled(model, VOCABULARY), bos_token=END, eos_token=END)


def asked(edition: Path, suites: Sequence[str]) -> list[tuple[str, list[Request], dict[str, str]]]:
    """Return what an edition asks: suite, dataset, round and kind in words, the requests, and their contexts."""
    found = []
    for path in sorted((edition / "requests").glob("*/*/*/*/requests-*.parquet")):
        suite, dataset, round_, about = path.parts[-5:-1]
        if suites and suite not in suites:
            continue
        contexts = {one.context_id: one.text for one in tables.read_rows(path.with_name("contexts.parquet"), Context)}
        requests = list(tables.read_rows(path, Request))
        for kind in sorted({request.kind for request in requests}):
            name = " ".join([suite, dataset, round_, *([about] if about != "all" else []), kind])
            found.append((name, [one for one in requests if one.kind == kind], contexts))
    return found


def measure(way: ours.Ours, requests: Sequence[Request], contexts: Mapping[str, str]) -> tuple[float, Counts, int]:
    """Answer requests; return the CPU seconds, what the model did, and in how many passes."""
    passes = [0]
    hook = way.network.register_forward_pre_hook(lambda module, inputs: passes.append(0))
    try:
        with counting(way.network) as counts:
            begun = time.process_time()
            way.answerer.answer(requests, contexts)
            return time.process_time() - begun, counts, len(passes) - 1
    finally:
        hook.remove()


def table(way: ours.Ours, edition: Path, suites: Sequence[str]) -> None:
    """Print what each kind of request takes; the rate of plain products is the mean of before and after."""
    head = "requests", "passes", "tokens", "head rows", "CPU s", "GFLOP a CPU s", "share of rate"
    print(f"| suite, dataset, round, kind | {' | '.join(head)} |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    total, before = 0.0, calibrate(matrices_of(way.network), 0.1).best
    for name, requests, contexts in asked(edition, suites):
        seconds, counts, passes = measure(way, requests, contexts)
        after = calibrate(matrices_of(way.network), 0.1).best
        # Attention is left out: it is little at these lengths.
        rate, best = operations(way.network, counts, 0) / seconds, (before + after) / 2
        total, before = total + seconds, after
        numbers = f"{len(requests):,} | {passes:,} | {counts.tokens:,} | {counts.logits:,} | {seconds:.1f}"
        print(f"| {name} | {numbers} | {rate:.0f} | {rate / best:.0%} |", flush=True)
    print(f"{total:.0f} CPU s in all")


def main() -> int:
    """Make the models, or table where the time of their answers goes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.own",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="write the random models here")
    parser.add_argument("--model", type=Path, help="a checkpoint")
    parser.add_argument("--edition", type=Path, default=Path("results/own"), help="[%(default)s]")
    parser.add_argument("--suites", nargs="*", default=[], help="[all]")
    given = parser.parse_args()
    if not (given.make or given.model):
        parser.error("give --make FOLDER, to write the models, or --model FOLDER, to ask one")
    torch.set_num_threads(1)
    if given.make:
        make(given.make)
    if not given.model:
        return 0
    table(ours.Ours(ours.load_model(given.model)), given.edition, given.suites)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
