"""Estimate what an edition will cost before it is made: tokens, hours and bytes of every model, suite and dataset.

Estimates follow from sizes and settings. Core hours are scaled by the time that the editions in results/ took on this
machine; where nothing of the kind has run here, they are those of a 2-core server of 2026. GPU hours assume a GPU of
100 TFLOP/s. Nothing is downloaded or made.
"""

import argparse
import csv
import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.config import EditionConfig, load
from almanac.config.flags import add_edition, edition
from almanac.config.inputs import check_inputs
from almanac.config.models import UNKNOWN_SIZE
from almanac.edition.costs import Cost, Factors, by_model, costs, measured, sizes, total
from almanac.errors import AlmanacError
from almanac.job_size import gpu_seen
from almanac.locked import as_given, mistake_in_word
from almanac.options import FILE, FOLDER
from almanac.sources.options import DumpOptions

EXAMPLES = """\
  almanac plan --model /models/mine --size full
  almanac plan --configfile config/papers/wu.yaml --config contact=me@example.org --output plan.csv"""
RESULTS = Path("results")
HEAD = ("tokens, millions", "GPU hours", "core hours", "GPU GiB", "download GB", "responses MB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    add_edition(parser)
    by = "one line per model, or per model, suite and dataset [model]"
    parser.add_argument("--by", choices=("model", "asking"), default="model", help=by)
    parser.add_argument("--output", **FILE, help="write the whole plan there, as .csv or .json")
    finished = f"the folder of the editions made here, whose times scale the estimates [{RESULTS}]"
    parser.add_argument("--results", **FOLDER, default=RESULTS, help=finished)


def run(arguments: argparse.Namespace) -> None:
    """Print the plan, and write its rows to --output if given."""
    output = arguments.output
    if arguments.results != RESULTS and not arguments.results.is_dir():
        raise AlmanacError(f"--results: there is no folder {arguments.results}; name the one that holds the editions")
    if output is not None and output.suffix not in (".csv", ".json"):
        raise AlmanacError(f"--output: {output} ends in {output.suffix or 'nothing'!r}; allowed are .csv and .json")
    file, settings = edition(arguments)
    config = load(file, overrides(settings))
    check_inputs(config, arguments.results / config.edition)
    factors, editions = measured(arguments.results)
    rows = costs(config, factors)
    if output is not None:
        write(output, rows)
    print(table(by_model(rows) if arguments.by == "model" else rows, total(rows)))
    for line in remarks(config, rows, factors, editions, arguments.results):
        print(line, file=sys.stderr)


def write(path: Path, rows: Sequence[Cost]) -> None:
    """Write every row as CSV or JSON, depending on the path's ending."""
    listed = [dataclasses.asdict(row) for row in rows]
    with tables.atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        if path.suffix == ".json":
            handle.write(json.dumps(listed, indent=1) + "\n")
        else:
            writer = csv.DictWriter(handle, [field.name for field in dataclasses.fields(Cost)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(listed)


def overrides(words: Sequence[str]) -> dict[str, Any]:
    """Parse KEY=VALUE words as a run does.

    Raises:
        AlmanacError: a word has no key or no value, or its key has dots.
    """
    if not words:
        return {}
    if said := next(filter(None, map(mistake_in_word, words)), None):
        raise AlmanacError(said)
    from snakemake.cli import parse_config

    return dict(parse_config(map(as_given, words)))


def table(rows: Sequence[Cost], whole: Cost) -> str:
    """Return the plan as lines of text, the total last."""
    names = [" ".join(filter(None, (row.model, row.suite, row.dataset))) for row in (*rows, whole)]
    width = max(map(len, names)) + 2
    lines = [" " * width + "".join(f"{name:>18}" for name in HEAD)]
    for name, row in zip(names, (*rows, whole), strict=True):
        cells = (
            f"{row.tokens / 1e6:,.1f}",
            f"{row.gpu_hours:,.1f}",
            f"{row.core_hours:,.3f}",
            f"{math.ceil(row.gpu_gib):,}",
            f"{row.download_bytes / 1e9:,.1f}",
            f"{row.response_bytes / 1e6:,.1f}",
        )
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def remarks(
    config: EditionConfig, rows: Sequence[Cost], factors: Factors, editions: Sequence[str], results: Path = RESULTS
) -> list[str]:
    """Return remarks on the numbers: what was measured, counted and assumed."""
    kinds = dict.fromkeys(row.suite for row in rows if row.suite and (row.core_hours or row.gpu_hours))
    here, assumed = ([kind for kind in kinds if (kind in factors) == known] for known in (True, False))
    out = ["All numbers are estimates; core hours are CPU time, so two cores take about half of it."]
    if here:
        out.append(f"Measured on this machine ({', '.join(editions)}): {', '.join(here)}.")
    if assumed:
        out.append(
            f"Assumed, since no edition in {results}/ has it: {', '.join(assumed)}, as on a 2-core server of 2026."
        )
    if any(row.gpu_hours for row in rows):
        out.append("Assumed: a GPU of 100 TFLOP/s.")
        if not gpu_seen():
            on_cores = total(costs(config.model_copy(update={"gpus": 0}), factors)).core_hours
            out.append(f"No GPU is seen here; without one it would take {on_cores:,.1f} core hours.")
    # The settled configuration has the number of parameters of every checkpoint that is here.
    if unknown := [one.name for one in config.models if (one.hub or one.path) and one.parameters is None]:
        billions = UNKNOWN_SIZE // 1_000_000_000
        out.append(f"Size of {', '.join(unknown)} assumed ({billions} B); set a model's `parameters: N` to give it.")
    for name, size in sizes(config).items():
        kind = "counted" if size.counted else "assumed, since its facts are not here yet or are many"
        if size.named:
            kind = "relations as its source has, at most; facts assumed"
        relations, facts = f"relation{'s' * (size.relations != 1)}", f"test fact{'s' * (size.facts != 1)}"
        out.append(f"Dataset {name}: {size.relations} {relations} of {size.facts} {facts} ({kind}).")
    if not rows:
        out.append("No model is asked anything: `models` or `suites` is empty.")
    return [*out, *_not_counted(config)]


def _not_counted(config: EditionConfig) -> Iterator[str]:
    """Yield remarks on costs that the plan leaves out."""
    if served := [one.name for one in config.models if one.api is not None]:
        yield (
            f"Not counted: the calls to {', '.join(served)}, and what its server charges. A server reads the whole "
            "text of each choice, where a model that runs here reads what choices share once; what `kinds` leaves out "
            "is not asked."
        )
    if thinking := [one.name for one in config.models if one.thinking_tokens]:
        yield f"Not counted: what {', '.join(thinking)} thinks before an answer, at most its thinking_tokens each."
    for name, source in config.sources.items():
        if isinstance(source, DumpOptions) and source.path is None and source.downloads():
            most = sum(one.max_bytes for one in source.downloads() if one.url is not None) / 1e9
            by_hand = ", ".join(one.name for one in source.downloads() if one.url is None)
            if most:
                yield f"Not counted: the download of sources.{name}, at most {most:,.0f} GB."
            if by_hand:
                yield f"To be brought by hand: sources.{name} ({by_hand}); give its `path`."
