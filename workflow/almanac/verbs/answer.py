"""Run a model on requests: one response for every request, whatever happened. Always offline."""

import argparse
import sys
from collections import Counter
from pathlib import Path

import torch

from almanac import tables
from almanac.models.answering import answer_checked
from almanac.models.registry import Model, ModelSource, load
from almanac.options import positive
from almanac.progress import progress
from almanac.rows import KINDS, Context, Request, Response

EXAMPLES = """\
  python -m almanac answer --model results/demo/models/base --contexts R/contexts.parquet \\
      --requests R/requests-0.parquet --output responses-0.parquet      # R=results/demo/requests/ic_lke/invented/round1
  python -m almanac answer --model /models/my-llama --dtype bfloat16 --device cuda --contexts … --requests … --output …
  python -m almanac answer --model results/demo/models/pythia-70m …       # after `almanac pull model`"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    parser.add_argument("--model", required=True, metavar="FOLDER", help="a checkpoint")
    parser.add_argument("--family", choices=["auto", "causal", "masked"], default="auto", help="[auto]")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=None, help="kinds it answers [all it can]")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32", help="[float32]")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 [auto]")
    parser.add_argument("--threads", type=positive, default=None, help="threads on a CPU [PyTorch's own choice]")
    parser.add_argument(
        "--engine",
        choices=["prefix_cache", "reference"],
        default="prefix_cache",
        help="reference: every text in full; prefix_cache: each context once, checked against the reference",
    )
    parser.add_argument("--requests", type=Path, required=True, metavar="FILE", help="a shard made by `ask`")
    parser.add_argument("--contexts", type=Path, required=True, metavar="FILE", help="its contexts")
    parser.add_argument("--reuse", type=Path, metavar="FILE", help="responses whose exact matches are copied")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="where the responses go")


def run(arguments: argparse.Namespace) -> int:
    """Load the model, answer what no reused response answers, write one row for every request."""
    tables.check_writable(arguments.output)
    requests = tables.read(arguments.requests, Request)
    contexts = {row.context_id: row.text for row in tables.read(arguments.contexts, Context)}
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    source = ModelSource(
        path=arguments.model,
        family=arguments.family,
        dtype=arguments.dtype,
        device=arguments.device,
    )
    model = load(source)
    kinds = arguments.kinds or KINDS
    known = _reusable(arguments.reuse, model.digest, arguments.engine) if arguments.reuse else {}
    declined = {request.request_id: _declined(request, model) for request in requests if request.kind not in kinds}
    new = [request for request in requests if request.request_id not in known and request.kind in kinds]
    with progress(len(new), "requests") as done:
        answered = answer_checked(model, new, contexts, arguments.engine, on_progress=done)
    found = known | declined | {response.request_id: response for response in answered.responses}
    tables.write(arguments.output, Response, [found[request.request_id] for request in requests])
    count = Counter(found[request.request_id].status for request in requests)
    print(
        f"{len(requests)} requests: {dict(count)}, {len(requests) - len(new) - len(declined)} reused", file=sys.stderr
    )
    if answered.largest_difference is not None:
        print(
            f"engine {answered.engine}: on {answered.checked} requests the largest difference from the reference is "
            f"{answered.largest_difference:.1e} nats",
            file=sys.stderr,
        )
    return 0


def _declined(request: Request, model: Model) -> Response:
    reason = f"the model is declared not to answer requests of the kind {request.kind!r}"
    return Response(request.request_id, "unsupported", reason, model_digest=model.digest)


def _reusable(path: Path, digest: str, engine: str) -> dict[str, Response]:
    """Return the answers of exactly this model by this engine, by request; what failed is asked again."""
    rows = tables.read(path, Response)
    return {
        row.request_id: row
        for row in rows
        if row.model_digest == digest and row.status in ("ok", "too_long") and row.engine.partition("/")[0] == engine
    }
