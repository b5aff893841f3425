"""Turn a dataset into a suite's requests, or into requests for drafts of its templates, divided into shards."""

import argparse
import sys
from pathlib import Path

from almanac import tables
from almanac.edition.drafting import drafter
from almanac.options import add_flags, from_flags, positive
from almanac.progress import progress
from almanac.rows import (
    Choices,
    Context,
    Draft,
    Draw,
    Entity,
    Fact,
    Item,
    Link,
    NotAsked,
    Relation,
    Request,
    Template,
)
from almanac.suites.asking import Asked
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.drafting.requests import ask_drafts, ask_round_trip
from almanac.suites.ic_lke import requests as ic_lke
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.karr import draws
from almanac.suites.karr import requests as karr
from almanac.suites.karr.options import KarrOptions

EXAMPLES = """\
  python -m almanac ask ic_lke --dataset results/mine/dataset/shipped --shots 16 --shards 2 \\
      --output results/mine/requests/ic_lke/shipped/round1
  python -m almanac ask karr --dataset results/mine/dataset/shipped --sample 20 \\
      --output results/mine/requests/karr/shipped/round1
  python -m almanac ask karr --draws my_draws.jsonl --output mine/requests
  python -m almanac ask drafts --dataset results/mine/dataset/shipped --output results/mine/drafting/round1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    ic_lke_parser = suites.add_parser("ic_lke", help="pick one object of many after in-context examples")
    add_flags(ic_lke_parser, IcLkeOptions, "IC-LKE (defaults: the paper's)")
    karr_parser = suites.add_parser("karr", help="prefer the object under any names and templates")
    add_flags(karr_parser, KarrOptions, "KaRR (defaults: the released code's sizes)")
    origin = karr_parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--dataset", type=Path, metavar="FOLDER", help="a dataset made by `build`")
    origin.add_argument("--draws", type=Path, metavar="FILE", help="draws made elsewhere (docs/karr.md), and no others")
    drafts = suites.add_parser("drafts", help="have a model draft templates; with --drafts: see where they lead it")
    drafts.add_argument("--drafts", type=Path, metavar="FILE", help="made by `build drafts`: ask for the round trip")
    add_flags(drafts, DraftingOptions, "drafting")
    for part in (ic_lke_parser, drafts):
        part.add_argument("--dataset", type=Path, required=True, metavar="FOLDER", help="a dataset made by `build`")
    for part in (ic_lke_parser, karr_parser, drafts):
        part.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the requests go")
        part.add_argument("--shards", type=positive, default=1, help="how many files the requests are divided into [1]")


def run(arguments: argparse.Namespace) -> int:
    """Read the dataset, ask, write items, links, contexts and one request file a shard."""
    {"ic_lke": ask_ic_lke, "karr": ask_karr, "drafts": run_drafts}[arguments.suite](arguments)
    return 0


def ask_ic_lke(arguments: argparse.Namespace) -> None:
    """Ask IC-LKE."""
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


def ask_karr(arguments: argparse.Namespace) -> None:
    """Ask KaRR and its baselines of a dataset, or exactly what given draws say; write draws and refusals beside."""
    if arguments.draws is not None:
        found = karr.ask_drawn(draws.check(read_draws(arguments.draws), str(arguments.draws)))
    else:
        folder, options = arguments.dataset, from_flags(arguments, KarrOptions)
        with progress(None, "facts") as done:
            found = karr.ask(
                tables.read(folder / "facts.parquet", Fact),
                tables.read(folder / "entities.parquet", Entity),
                tables.read(folder / "relations.parquet", Relation),
                tables.read(folder / "templates.parquet", Template),
                tables.read(folder / "choices.parquet", Choices),
                options,
                done,
            )
    for row in found.refused:
        print(f"not asked: {row.thing}: {row.reason}", file=sys.stderr)
    tables.write(arguments.output / "draws.parquet", Draw, found.draws)
    tables.write(arguments.output / "refused.parquet", NotAsked, found.refused)
    write(found.asked, arguments.output, arguments.shards)


def read_draws(path: Path) -> list[Draw]:
    """Read draws as Parquet, or as JSON Lines where the name ends so."""
    return tables.read(path, Draw) if path.suffix == ".parquet" else tables.read_jsonl(path, Draw)


def run_drafts(arguments: argparse.Namespace) -> None:
    """Ask for drafts, or whether drafts lead back to their relations."""
    options = from_flags(arguments, DraftingOptions)
    prompts = drafter(arguments.dataset, options)
    if arguments.drafts is None:
        asked = ask_drafts(prompts, tables.read(arguments.dataset / "templates.parquet", Template), options)
    else:
        asked = ask_round_trip(prompts, tables.read_jsonl(arguments.drafts, Draft))
    write(asked, arguments.output, arguments.shards)


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
