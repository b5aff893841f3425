"""Turn a dataset into a suite's requests, divided into shards."""

import argparse
import sys
from pathlib import Path

from almanac import tables
from almanac.options import add_flags, from_flags, positive
from almanac.progress import progress
from almanac.rows import Choices, Context, Entity, Fact, Item, Link, Request, Template
from almanac.suites.asking import Asked
from almanac.suites.ic_lke import requests as ic_lke
from almanac.suites.ic_lke.options import IcLkeOptions

EXAMPLES = """\
  python -m almanac ask ic_lke --dataset results/mine/dataset/shipped --shots 16 --shards 2 \\
      --output results/mine/requests/ic_lke/shipped/round1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    suite = suites.add_parser("ic_lke", help="pick one object of many after in-context examples")
    suite.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="a dataset made by `build`")
    suite.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the requests go")
    suite.add_argument("--shards", type=positive, default=1, help="how many files the requests are divided into [1]")
    add_flags(suite, IcLkeOptions, "IC-LKE (defaults: the paper's)")


def run(arguments: argparse.Namespace) -> int:
    """Read the dataset, ask, write items, links, contexts and one request file a shard."""
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
