"""Turn a dataset into a suite's requests, or into requests for drafts of templates and questions, by shards."""

import argparse
import sys
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.edition.drafting import drafter
from almanac.edition.writing import ask_questions
from almanac.errors import AlmanacError
from almanac.options import add_flags, from_flags, positive
from almanac.progress import progress
from almanac.rows import Context, Draft, Draw, Item, Link, NotAsked, Request, Template
from almanac.suites.asking import Asked
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.requests import ask_drafts, ask_round_trip
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.karr import draws
from almanac.suites.karr.method import ask_drawn
from almanac.suites.method import Answered, Data, Method
from almanac.suites.methods import METHODS

EXAMPLES = """\
  python -m almanac ask ic_lke --dataset results/mine/dataset/shipped --shots 16 --shards 2 \\
      --output results/mine/requests/ic_lke/shipped/round1
  python -m almanac ask karr --dataset results/mine/dataset/shipped --sample 20 \\
      --output results/mine/requests/karr/shipped/round1
  python -m almanac ask karr --draws my_draws.jsonl --output mine/requests
  python -m almanac ask karr --dataset results/mine/dataset/shipped --spurious true --after mine/round1 \\
      --responses mine/first.parquet --output mine/round2      # asked of one model, when it has answered round1
  python -m almanac ask facteval --dataset results/mine/dataset/shipped --sample 20 --contexts none antifactual \\
      --output results/mine/requests/facteval/shipped/round1
  python -m almanac ask drafts --dataset results/mine/dataset/shipped --output results/mine/drafting/round1
  python -m almanac ask writing --dataset results/mine/dataset/shipped --sample 5 --output results/mine/writing"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    for name, method in METHODS.items():
        part = suites.add_parser(name, help=method.summary)
        add_flags(part, method.options, f"{name} (defaults: the paper's)")
        origin = part.add_mutually_exclusive_group(required=True)
        origin.add_argument("--dataset", type=Path, metavar="FOLDER", help="a dataset made by `build`")
        if name == "karr":
            help_text = "draws made elsewhere (docs/karr.md), and no others"
            origin.add_argument("--draws", dest="drawn", type=Path, metavar="FILE", help=help_text)
        if method.ask_again is not None:
            second = part.add_argument_group("a second round, of one model")
            second.add_argument("--after", type=Path, metavar="FOLDER", help="what was asked in the first")
            second.add_argument("--responses", type=Path, nargs="+", metavar="FILE", help="the model's to all of that")
    drafts = suites.add_parser("drafts", help="have a model draft templates; with --drafts: see where they lead it")
    drafts.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="a dataset made by `build`")
    drafts.add_argument("--drafts", type=Path, metavar="FILE", help="made by `build drafts`: ask for the round trip")
    add_flags(drafts, DraftingOptions, "drafting")
    writing = suites.add_parser("writing", help="have a model write questions of facts, for FactEval")
    writing.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="a dataset made by `build`")
    add_flags(writing, WritingOptions, "writing")
    for part in suites.choices.values():
        part.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the requests go")
        part.add_argument("--shards", type=positive, default=1, help="how many files the requests are divided into [1]")


def run(arguments: argparse.Namespace) -> int:
    """Read the dataset, ask, write what was asked and one request file a shard."""
    if arguments.suite == "drafts":
        write(_drafts(arguments), arguments.output, arguments.shards)
        return 0
    if arguments.suite == "writing":
        asked = ask_questions(arguments.dataset, from_flags(arguments, WritingOptions))
        write(asked, arguments.output, arguments.shards)
        return 0
    # Not `draws`, which is a setting of IC-LKE.
    drawn, after = getattr(arguments, "drawn", None), getattr(arguments, "after", None)
    if drawn is not None and after is not None:
        raise AlmanacError(f"ask {arguments.suite}: draws made elsewhere have no second round; leave out --after")
    if after is None and getattr(arguments, "responses", None):
        raise AlmanacError(f"ask {arguments.suite}: --responses is for a second round; add --after")
    asked = _drawn(drawn) if drawn is not None else _suite(arguments)
    for row in asked.refused:
        print(f"not asked: {row.thing}: {row.reason}", file=sys.stderr)
    tables.write(arguments.output / "refused.parquet", NotAsked, asked.refused)
    for table, row_class in METHODS[arguments.suite].asked_beside.items():
        tables.write(arguments.output / f"{table}.parquet", row_class, asked.beside[table])
    write(asked, arguments.output, arguments.shards)
    return 0


def _suite(arguments: argparse.Namespace) -> Asked:
    """Ask a suite of a dataset, in a second round by what a model answered in the first."""
    method, folder = METHODS[arguments.suite], arguments.dataset
    options = from_flags(arguments, method.options)
    data = Data.read(lambda name, row: tables.read(folder / f"{name}.parquet", row))
    with progress(None, "steps") as done:
        if method.ask_again is None or arguments.after is None:
            return method.ask(data, options, done)
        if not options.asks_again:
            raise AlmanacError(f"ask {method.name}: these settings want no second round; set one that does (--help)")
        return method.ask_again(_first_round(method, arguments, data), options, done)


def _first_round(method: Method[Any], arguments: argparse.Namespace, data: Data) -> Answered:
    """Read the first round with a model's responses."""
    if not arguments.responses:
        raise AlmanacError(f"ask {method.name}: --after needs --responses; give the model's response files")
    return Answered.read(
        tables.read,
        [arguments.after],
        sorted(arguments.after.glob("requests-*.parquet")),
        arguments.responses,
        method.asked_beside,
        model=", ".join(map(str, arguments.responses)),
        dataset=str(arguments.dataset),
        data=data,
    )


def _drawn(path: Path) -> Asked:
    """Ask exactly what draws made elsewhere say: Parquet, or JSON Lines where the name ends so."""
    rows = tables.read(path, Draw) if path.suffix == ".parquet" else tables.read_jsonl(path, Draw)
    return ask_drawn(draws.check(rows, str(path)))


def _drafts(arguments: argparse.Namespace) -> Asked:
    """Ask for drafts, or whether drafts lead back to their relations."""
    options = from_flags(arguments, DraftingOptions)
    prompts = drafter(arguments.dataset, options)
    if arguments.drafts is None:
        return ask_drafts(prompts, tables.read(arguments.dataset / "templates.parquet", Template), options)
    return ask_round_trip(prompts, tables.read_jsonl(arguments.drafts, Draft))


def write(asked: Asked, folder: Path, shards: int) -> None:
    """Write what was asked: `items`, `links`, `contexts` and `requests-0`, and so on."""
    tables.write(folder / "items.parquet", Item, asked.items)
    tables.write(folder / "links.parquet", Link, asked.links)
    contexts = sorted(asked.contexts.values(), key=lambda row: row.context_id)
    tables.write(folder / "contexts.parquet", Context, contexts)
    for index, shard in enumerate(asked.shards(shards)):
        written = tables.write(folder / f"requests-{index}.parquet", Request, shard)
        print(f"requests-{index}: {written} requests", file=sys.stderr)
    print(f"{len(asked.items)} items, {len(asked.requests)} requests, {len(contexts)} contexts", file=sys.stderr)
