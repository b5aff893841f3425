"""Turn a dataset into requests: those of a suite in one round, or those that let a model write texts to proofread."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from almanac.edition.asking import write_asked
from almanac.errors import AlmanacError
from almanac.options import FILE, FOLDER, add_flags, from_flags, positive
from almanac.progress import progress
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.listing import ASKING
from almanac.suites.suite import Asks, Round

EXAMPLES = """\
  almanac ask ic_lke --dataset results/mine/dataset/shipped --shots 16 --shards 2 \\
      --output results/mine/requests/ic_lke/shipped/asked/all
  almanac ask karr --dataset results/mine/dataset/shipped --sample 20 --output mine/asked
  almanac ask karr --file my_draws.jsonl --output mine/asked      # draws made elsewhere
  almanac ask karr --dataset results/mine/dataset/shipped --spurious true --round expected \\
      --before mine/asked --responses mine/first.parquet --output mine/expected    # of one model that has answered
  almanac ask facteval --dataset results/mine/dataset/shipped --contexts none antifactual --output mine/asked
  almanac ask drafting --dataset results/mine/dataset/shipped --output mine/drafts"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    for name, one in ASKING.items():
        part = suites.add_parser(name, help=one.summary)
        add_flags(part, one.options, f"{name} ({one.paper})" if one.paper else name)
        origin = part.add_mutually_exclusive_group(required=True)
        origin.add_argument("--dataset", **FOLDER, help="a dataset made by `build`")
        if one.reads == "questions":
            # A setting may be called file.
            origin.add_argument(
                "--file", **FILE, dest="given", help="instead of a dataset: a file of draws made elsewhere"
            )
        if len(one.rounds) > 1:
            rounds = [at.name for at in one.rounds]
            later = part.add_argument_group("a later round")
            later.add_argument(
                "--round", choices=rounds, default=rounds[0], help=f"the round that is asked [{rounds[0]}]"
            )
            help_text = "the folder of an earlier round; give it once for each, in their order"
            later.add_argument("--before", **FOLDER, action="append", help=help_text)
            help_text = "a model's responses in that round; after each --before"
            later.add_argument("--responses", **FILE, nargs="+", action="append", help=help_text)
        part.add_argument("--output", **FOLDER, required=True, help="where the requests go")
        part.add_argument("--shards", type=positive, default=1, help="how many files the requests are divided into [1]")


def run(arguments: argparse.Namespace) -> None:
    """Read the dataset, and write the tables of what the suite asks, with one request file per shard."""
    suite = ASKING[arguments.suite]
    counts = write_asked(arguments.output, _shown(_batches(suite, arguments)), suite.tables("asked"), arguments.shards)
    print(", ".join(f"{count} {name}" for name, count in counts.items()), file=sys.stderr)


def _batches(suite: Asks[Any], arguments: argparse.Namespace) -> Iterable[Batch]:
    """Return what is asked: from a dataset, or from a file of draws made elsewhere."""
    options = from_flags(arguments, suite.options)
    given = getattr(arguments, "given", None)
    at = next(one for one in suite.rounds if one.name == getattr(arguments, "round", suite.rounds[0].name))
    before = earlier(suite, at, options, arguments)
    if given is not None:
        if before is not None:
            raise AlmanacError(f"ask {suite.name}: a file made elsewhere has no round {at.name}; leave out --round")
        return suite.elsewhere(given, options).batches
    if not at.wanted(options):
        raise AlmanacError(f"ask {suite.name}: these settings want no round {at.name}; set one that does (--help)")
    return suite.ask(at, Data(arguments.dataset), options, before)


def earlier(suite: Asks[Any], at: Round, options: Any, arguments: argparse.Namespace) -> Answers | None:
    """Return the requests and responses of the rounds before ``at`` that the settings want; None for the first round.

    Raises:
        AlmanacError: the number of folders or responses is not that of the earlier rounds.
    """
    rounds = [one for one in suite.rounds[: suite.rounds.index(at)] if one.wanted(options)]
    place = len(rounds)
    folders, responses = (getattr(arguments, name, None) or [] for name in ("before", "responses"))
    if len(folders) != place:
        raise AlmanacError(
            f"ask {suite.name}: round {at.name} comes after {place} rounds and --before is given {len(folders)} times; "
            "give the folder of each earlier round, in their order"
        )
    if not place:
        return None
    if at.about_one and len(responses) != place:
        raise AlmanacError(
            f"ask {suite.name}: round {at.name} is made of a model's answers; give --responses after each --before"
        )
    answered = [*responses, *([[]] * (place - len(responses)))]
    files = [RoundFiles.of(one.name, folder, own) for one, folder, own in zip(rounds, folders, answered, strict=True)]
    name = ", ".join(str(path) for own in responses for path in own)
    return Answers(name, str(arguments.dataset), files, suite.setting, suite.tables("asked"))


def _shown(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches with a progress bar, and log what could not be asked."""
    with progress(None, "batches") as done:
        for batch in batches:
            for row in batch.refused.to_pylist():
                print(f"not asked: {row['thing']}: {row['reason']}", file=sys.stderr)
            yield batch
            done()
