"""Turn a dataset into a suite's requests, or into requests for drafts of its templates, divided into shards."""

import argparse
import sys
from pathlib import Path

from almanac import tables
from almanac.edition.drafting import drafter
from almanac.options import add_flags, from_flags, positive
from almanac.progress import progress
from almanac.rows import Choices, Context, Draft, Entity, Fact, Item, Link, Request, Template
from almanac.suites.asking import Asked
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.requests import ask_drafts, ask_round_trip
from almanac.suites.ic_lke import requests as ic_lke
from almanac.suites.ic_lke.options import IcLkeOptions

EXAMPLES = """\
  python -m almanac ask ic_lke --dataset results/mine/dataset/shipped --shots 16 --shards 2 \\
      --output results/mine/requests/ic_lke/shipped/round1
  python -m almanac ask drafts --dataset results/mine/dataset/shipped --output results/mine/drafting/round1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    suite = suites.add_parser("ic_lke", help="pick one object of many after in-context examples")
    add_flags(suite, IcLkeOptions, "IC-LKE (defaults: the paper's)")
    drafts = suites.add_parser("drafts", help="have a model draft templates; with --drafts: see where they lead it")
    drafts.add_argument("--drafts", type=Path, metavar="FILE", help="made by `build drafts`: ask for the round trip")
    add_flags(drafts, DraftingOptions, "drafting")
    for part in (suite, drafts):
        part.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="a dataset made by `build`")
        part.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the requests go")
        part.add_argument("--shards", type=positive, default=1, help="how many files the requests are divided into [1]")


def run(arguments: argparse.Namespace) -> int:
    """Read the dataset, ask, write items, links, contexts and one request file a shard."""
    if arguments.suite == "drafts":
        return run_drafts(arguments)
    options = from_flags(arguments, IcLkeOptions)
    folder = arguments.dataset
    facts = tables.read(folder / "facts.parquet", Fact)
    with progress(len({fact.relation_id for fact in facts}), "relations") as done:
        asked = ic_lke.ask(
            facts,
            tables.read(folder / "entities.parquet", Entity),
            tables.read(folder / "choices.parquet", Choices),
            tables.read(folder / "templates.parquet", Template),
            options,
            done,
        )
    write(asked, arguments.output, arguments.shards)
    return 0


def run_drafts(arguments: argparse.Namespace) -> int:
    """Ask for drafts, or whether drafts lead back to their relations."""
    options = from_flags(arguments, DraftingOptions)
    prompts = drafter(arguments.dataset, options)
    if arguments.drafts is None:
        asked = ask_drafts(prompts, tables.read(arguments.dataset / "templates.parquet", Template), options)
    else:
        asked = ask_round_trip(prompts, tables.read_jsonl(arguments.drafts, Draft))
    write(asked, arguments.output, arguments.shards)
    return 0


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
