"""What BELIEF's prompts cost: prompts a CPU second, against transformers' plain `generate` and full-vocabulary fill.

python -m benchmarks.belief --edition results/demo       # the edition's invented world, its models base and masked
python -m benchmarks.belief --dataset FOLDER --causal FOLDER --masked FOLDER --prompts 64
"""

import os

if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from almanac.errors import AlmanacError
from almanac.models.answering import LocalAnswerer
from almanac.rows import Context, Request
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.data import Data
from almanac.tables import from_arrow
from benchmarks import ours, peers

BATCH = 16
BLANK = "[MASK]"
Texts = list[str]


def asked(data: Data, prompting: str | None, sample: int) -> tuple[list[Request], dict[str, str]]:
    """Return BELIEF's distinct requests of a dataset and their contexts: blanks, or one way of prompting."""
    icl: Any = () if prompting is None else (prompting,)
    options = BeliefOptions(
        templates="dataset", groups=9, sample=sample, fill=prompting is None, prompting=icl, styles=("question", "mask")
    )
    requests: dict[str, Request] = {}
    contexts: dict[str, str] = {}
    for batch in Belief().ask(Belief.rounds[0], data, options, None):
        requests |= {row.request_id: row for row in from_arrow(Request, batch.requests)}
        contexts |= {row.context_id: row.text for row in from_arrow(Context, batch.contexts)}
    return list(requests.values()), contexts


def written_plainly(model: Any, requests: Sequence[Request], contexts: Mapping[str, str]) -> Texts:
    """Return the first line of what transformers' `generate` writes, in padded batches."""
    words, found = peers.tokenizer(model, "left"), []
    most = requests[0].max_new_tokens
    settings = GenerationConfig(
        max_new_tokens=most, do_sample=False, pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id
    )
    for start in range(0, len(requests), BATCH):
        part = [contexts.get(row.context_id or "", "") + str(row.text) for row in requests[start : start + BATCH]]
        inputs = words(part, return_tensors="pt", padding=True)
        mask = inputs["attention_mask"]
        output = model.generate(input_ids=inputs["input_ids"], attention_mask=mask, generation_config=settings)
        found += words.batch_decode(output[:, mask.shape[1] :], skip_special_tokens=True)
    return [text.partition("\n")[0] for text in found]


def filled_plainly(model: Any, requests: Sequence[Request], contexts: Mapping[str, str]) -> Texts:
    """Return the likeliest token of the whole vocabulary at each blank, in padded batches."""
    words, found = peers.tokenizer(model), []
    for start in range(0, len(requests), BATCH):
        part = [str(row.text).replace(BLANK, words.mask_token) for row in requests[start : start + BATCH]]
        inputs = words(part, return_tensors="pt", padding=True)
        with torch.inference_mode():
            logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        likely = torch.softmax(logits, dim=-1)[inputs["input_ids"] == words.mask_token_id].argmax(-1)
        found += [words.decode([int(one)]) for one in likely]
    return [text.strip() for text in found]


def rate(work: Callable[[], Texts], repeats: int) -> tuple[float, Texts]:
    """Return texts a CPU second, the best of some runs, and the texts."""
    seconds, found = [], Texts()
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return len(found) / min(seconds), found


def compared(folder: Path, data: Data, prompting: str | None, prompts: int, sample: int, repeats: int) -> str:
    """Time one way of asking on a model, ours and plainly, in turn; return a line of the table."""
    requests, contexts = asked(data, prompting, sample)
    model = ours.load_model(folder)
    answerer = LocalAnswerer(model)
    few = requests[:: max(1, len(requests) // prompts)][:prompts]
    plainly = filled_plainly if prompting is None else written_plainly

    def answer() -> Texts:
        rows = answerer.answer(requests, contexts)
        if unanswered := [row for row in rows if row.status != "ok"]:
            raise SystemExit(f"{len(unanswered)} requests were not answered: {unanswered[0].reason}")
        return [((row.tokens if prompting is None else row.texts) or ("",))[0] for row in rows]

    own, found = rate(answer, repeats)
    plain, theirs = peers.quietly(rate, lambda: plainly(model.network, few, contexts), repeats)
    by_request = dict(zip((row.request_id for row in requests), found, strict=True))
    mine = [by_request[row.request_id].partition("\n")[0].strip() for row in few]
    same = sum(one == other.strip() for one, other in zip(mine, theirs, strict=True))
    way = "a blank, any token" if prompting is None else prompting.replace("_", "-")
    return f"| {way} | {len(requests):,} | {own:.0f} | {plain:.0f} | {own / plain:.1f} | {same} of {len(few)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edition", type=Path, default=Path("results/demo"), help="whose dataset and models these are")
    parser.add_argument("--dataset", type=Path, help="a dataset's folder [of the edition: invented]")
    parser.add_argument("--causal", type=Path, help="a causal model's folder [base]")
    parser.add_argument("--masked", type=Path, help="a masked model's folder [masked]")
    parser.add_argument("--sample", type=int, default=20, help="facts a relation [20]")
    parser.add_argument("--prompts", type=int, default=128, help="prompts that are answered plainly [128]")
    parser.add_argument("--repeats", type=int, default=3, help="runs, of which the best counts [3]")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    models = arguments.edition / "models"
    data = Data(arguments.dataset or arguments.edition / "dataset" / "invented")
    causal, masked = arguments.causal or models / "base", arguments.masked or models / "masked"
    print("| asked | prompts | ours, a CPU s | transformers, a CPU s | times | the same text |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for way in (None, "zero_shot", "4_random", "4_relation", "4_template"):
        folder = masked if way is None else causal
        print(compared(folder, data, way, arguments.prompts, arguments.sample, arguments.repeats), flush=True)


if __name__ == "__main__":
    try:
        main()
    except AlmanacError as error:
        raise SystemExit(f"benchmarks.belief: {error}") from error
