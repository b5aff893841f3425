"""Run a model on requests: one response for every request, also if it fails. Only a server's model needs a network.

Requests are read, answered and written in windows. An interrupted run resumes after its last complete window. A model
is loaded once for several request files. An existing response file of the same model and requests is kept, except that
failed requests are asked again. What a server's model has answered once is not asked again, even if other requests
have changed.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from almanac import sealed, tables, unfinished
from almanac.errors import AlmanacError
from almanac.loading import loading
from almanac.models import windows
from almanac.models.answerer import Answerer
from almanac.models.options import ENGINES, AnswerOptions
from almanac.models.parts import DoneParts
from almanac.models.reuse import FINAL, SERVED, Paid, Reusable
from almanac.options import FILE, add_flags, from_flags, positive
from almanac.progress import progress
from almanac.rows import KINDS, Request, Response
from almanac.versions import VERSIONS

EXAMPLES = """\
  R=results/demo/requests/ic_lke/invented/asked/all
  almanac answer --model results/demo/models/base --contexts $R/contexts.parquet \\
      --requests $R/requests-0.parquet --output responses-0.parquet
  almanac answer --model /models/my-llama --dtype bfloat16 --device cuda --contexts … --requests … --output …
  almanac answer --model … --requests A/requests-0.parquet B/requests-0.parquet \\
      --contexts A/contexts.parquet B/contexts.parquet --output a.parquet b.parquet    # two files, loaded once
  almanac answer --model results/demo/models/pythia-70m …       # after `almanac pull model`"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    parser.add_argument("--model", metavar="FOLDER", help="a checkpoint of transformers; or give --api")
    parser.add_argument(
        "--threads", type=positive, default=None, metavar="NUMBER", help="threads on a CPU [PyTorch's own choice]"
    )
    parser.add_argument(
        "--engine", choices=ENGINES, default="forest", help="the fastest backend that may be used [forest]"
    )
    # The flag may be given once with several files, or several times.
    several: dict[str, Any] = {**FILE, "nargs": "+", "action": "extend", "required": True}
    parser.add_argument("--requests", **several, help="request files that `ask` wrote")
    parser.add_argument("--contexts", **several, help="their contexts, one file for each of --requests")
    parser.add_argument("--reuse", **FILE, help="responses of this model, which are copied for equal requests")
    parser.add_argument("--output", **several, help="where the responses go, one file for each of --requests")
    add_flags(parser, AnswerOptions, "how the model answers (--api…: one on an OpenAI-compatible server)")


@dataclass(frozen=True)
class Files:
    """The files of a job: requests, their contexts, responses, and earlier responses that may be copied, if any."""

    requests: Path
    contexts: Path
    output: Path
    reuse: Path | None = None


def run(arguments: argparse.Namespace) -> None:
    """Load the model, answer all requests without an earlier response, and write one row for every request."""
    options, jobs = from_flags(arguments, AnswerOptions), _jobs(arguments)
    surveys = [windows.survey(files.requests, files.contexts) for files in jobs]
    if arguments.reuse is not None:
        tables.count(arguments.reuse, Response)  # fail before a model is loaded if the file cannot be read
    outputs = sorted(files.output.resolve() for files in jobs)  # one order for all processes, against deadlocks
    with ExitStack() as held:
        for output in outputs:
            held.enter_context(unfinished.alone(output))
        _answer(_answerer(arguments, options), jobs, surveys, options.kinds or KINDS)


def _answer(answerer: Answerer, jobs: Sequence[Files], surveys: Sequence[windows.Survey], kinds: Sequence[str]) -> None:
    """Answer all request files, then write their response files, and log the number of requests by status."""
    # The parts of all files stay until the last file is answered, so that the run after a killed one can use them.
    answered = []
    for number, (files, survey) in enumerate(zip(jobs, surveys, strict=True), 1):
        before, position = time.process_time(), f" of file {number} of {len(jobs)}" * (len(jobs) > 1)
        finish = answer_parts(answerer, files, survey, kinds, f"requests{position}")
        answered.append((files, survey, finish, time.process_time() - before))
    for files, survey, finish, seconds in answered:
        took = f"; {seconds:.1f} s CPU besides starting and loading" if finish() else ""
        print(f"{files.output}: {survey.requests} requests: {_statuses(files.output)}{took}", file=sys.stderr)


def _jobs(arguments: argparse.Namespace) -> list[Files]:
    """Return the files of every job; refuse unequal numbers of files, and outputs given twice or not writable."""
    given = {name: getattr(arguments, name) for name in ("requests", "contexts", "output")}
    if len({len(paths) for paths in given.values()}) > 1:
        counts = ", ".join(f"{len(paths)} of --{name}" for name, paths in given.items())
        raise AlmanacError(f"command line: there are {counts}; give as many of each, in the same order")
    jobs = [
        Files(requests, contexts, output, arguments.reuse)
        for requests, contexts, output in zip(*given.values(), strict=True)
    ]
    for path, times in Counter(files.output.resolve() for files in jobs).items():
        if times > 1:
            raise AlmanacError(f"command line: --output {path} is given {times} times; give each request file its own")
        tables.check_writable(path)
    return jobs


def _statuses(responses: Path) -> dict[str, int]:
    batches = tables.stream(responses, Response, ["status"])
    return dict(Counter(status for batch in batches for status in batch.column(0).to_pylist()))


def _answerer(arguments: argparse.Namespace, options: AnswerOptions) -> Answerer:
    if (options.api is None) == (arguments.model is None):
        raise AlmanacError("command line: give either --model FOLDER or --api URL")
    if options.api is not None:
        from almanac.models.api import ApiAnswerer  # a local model needs no client

        return ApiAnswerer(options)
    with loading():  # takes seconds, so not before the command line is checked, and not for a server's model
        import torch

        from almanac.models.answering import LocalAnswerer
        from almanac.models.registry import load
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
        # The tokenizers library uses as many threads of its own as there are cores.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if arguments.threads > 1 else "false")
    with loading():
        return LocalAnswerer(load(arguments.model, options), arguments.engine)


def answer_parts(
    answerer: Answerer, files: Files, survey: windows.Survey, kinds: Sequence[str] = KINDS, what: str = "requests"
) -> Callable[[], bool]:
    """Answer a request file window by window, resuming where an earlier run of the same job was stopped.

    Requests of kinds other than ``kinds`` get the status ``unsupported``; ``what`` is the label of the progress bar.

    Returns:
        A function that joins the parts into the response file and returns True. If a finished response file exists, it
        only makes the file newer than its requests and returns False.
    """
    record = answerer.record() | {
        "requests": sealed.sha256(files.requests),
        "contexts": sealed.sha256(files.contexts),
        "version": str(VERSIONS["answer"]),
    }
    record["job"] = _identity(record, kinds, files.reuse is not None)
    final = SERVED if answerer.is_paid else FINAL
    made = _statuses(files.output) if tables.says(files.output, "almanac.job", record["job"]) else None
    if made is not None and made.keys() <= {*final, "unsupported"}:
        print(f"{files.output} is there already, of these requests and this model; it stays", file=sys.stderr)

        def stay() -> bool:
            os.utime(files.output)
            return False

        return stay
    identity = tables.identity([record["job"], windows.REQUESTS, windows.CHARACTERS])
    parts = DoneParts(files.output, f"{record['version']}-{identity}")
    paid = Paid(files.output, record, answerer.reusable_digests) if answerer.is_paid else None
    earlier = [files.reuse] if files.reuse is not None else []
    if paid is not None:
        for responses in parts.left(paid.parts()):
            paid.keep([one for one in responses if one.status in final])
        earlier += paid.earlier()
    elif made is not None:
        earlier.append(files.output)
    parts.remove_others()
    reusable = {
        path: Reusable(path, answerer.digest, record["engine"], final, answerer.reusable_digests) for path in earlier
    }
    copied = Counter[Path]()
    with progress(survey.requests, what) as done:
        if parts.rows:
            print(f"{parts.rows} of {survey.requests} requests were answered before; going on", file=sys.stderr)
            done(parts.rows)
        kept = {name: row for name, row in parts.kept().items() if row.status in final}
        if kept:
            print(f"{len(kept)} answers of an interrupted run are not asked for again", file=sys.stderr)
        for window in windows.windows(tables.read_rows(files.requests, Request, start=parts.rows)):
            found: dict[str, Response] = {}
            for path, one in reusable.items():
                copies = one.find(window)
                copied[path] += len(copies.keys() - found.keys())
                found |= copies
            found |= {row.request_id: kept[row.request_id] for row in window if row.request_id in kept}
            for row in window:
                if row.kind not in kinds and row.request_id not in found:
                    reason = f"the model is declared not to answer requests of the kind {row.kind!r}"
                    declined = Response(row.request_id, "unsupported", reason, model_digest=answerer.digest)
                    found[row.request_id] = declined
            done(len(found))
            asked = [row for row in window if row.request_id not in found]
            answers = answerer.answer(asked, survey.contexts, done, parts.keep)
            found |= {response.request_id: response for response in answers}
            parts.add([found[row.request_id] for row in window])
    if earlier:
        told = " and ".join(str(path) for path in earlier if copied[path] or path == files.reuse)
        print(f"{copied.total()} responses were copied{told and f' from {told}'}", file=sys.stderr)

    def join() -> bool:
        parts.join({f"almanac.{name}": value for name, value in record.items()})
        if paid is not None:
            paid.keep_output()
        parts.remove()
        return True

    return join


def _identity(record: dict[str, str], kinds: Sequence[str], reuses: bool) -> str:
    """Return a digest of what responses depend on, without the self-test, whose numbers vary a little between runs.

    It covers whether responses may be copied, but not from which file: a copy is this model's response to an equal
    request.
    """
    stable = {name: value for name, value in record.items() if name != "self_test"}
    return tables.identity([stable, sorted(kinds), reuses])
