"""The command line: `python -m almanac VERB …`. A verb's module is imported only when it runs."""

import argparse
import importlib
import io
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from almanac import __version__
from almanac.errors import INTERRUPTED, AlmanacError, did_you_mean, disk_full
from almanac.job_size import children, used
from almanac.loading import loading

VERBS = {
    "run": "make an edition: everything from facts to the page",
    "pull": "bring data from a source and record what was brought",
    "plan": "estimate what an edition will cost: tokens, hours, bytes",
    "build": "turn source tables into a dataset",
    "plant": "make a world, its corpus, and a model whose knowledge is known",
    "ask": "turn a dataset into a suite's requests",
    "answer": "run a model on requests",
    "measure": "turn responses into outcomes and measures",
    "report": "draw tables, figures and the page",
    "freeze": "pack an edition that can be cited",
    "verify": "check an edition: its bytes, then its measures",
    "differences": "compare the tables of two result folders or editions",
}


def load(verb: str) -> ModuleType:
    """Import a verb's module, with all modules that it needs."""
    with loading():
        return importlib.import_module(f"almanac.verbs.{verb}")


class _Parser(argparse.ArgumentParser):
    """A parser without abbreviated flags, which may be misspelt ones; subcommands get the same class."""

    hint = ""  # appended to the error about an unknown flag

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line, and exit."""
        super().error(f"{message}{self.hint}" if message.startswith("unrecognized") else message)


def parser_of(name: str, verb: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of a verb's command line."""
    parser = _Parser(
        prog=f"almanac {name}",
        description=verb.__doc__,
        epilog=f"examples:\n{verb.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_arguments(parser)
    parser.hint = getattr(verb, "HINT", "")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0 for success; 1 if the input is bad or a check fails (the reason is printed); 2 for a wrong command line or an
        installed suite that cannot be loaded; 130 after an interrupt. A verb whose 1 means something else has an
        ``ERROR_STATUS`` for bad input.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # print ? for characters that the terminal's character set lacks
        sys.stdout.reconfigure(errors="replace")
    inherited = children()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] not in VERBS:
        return _top_level(words)
    try:
        try:
            return _run(words[0], words[1:], inherited)
        except KeyboardInterrupt:
            time.sleep(0)  # if polars has raised it, Python raises it a second time at the next call: here
            raise
    except KeyboardInterrupt:
        print(f"almanac {words[0]}: {INTERRUPTED}", file=sys.stderr)
        return 128 + signal.SIGINT


def _run(name: str, words: Sequence[str], inherited: float) -> int:
    try:
        verb = load(name)
    except AlmanacError as error:  # an installed suite is broken
        print(f"almanac {name}: {error}", file=sys.stderr)
        return 2
    failed = int(getattr(verb, "ERROR_STATUS", 1))
    parser = parser_of(name, verb)
    started = time.perf_counter()
    try:
        # Words after -- are for Snakemake; argparse would mistake its flags for the verb's.
        verb_words = words[: words.index("--")] if name == "run" and "--" in words else words
        parsed = parser.parse_args(verb_words)
        if len(verb_words) < len(words):
            parsed.words += words[len(verb_words) + 1 :]
        status = int(verb.run(parsed) or 0)
    except AlmanacError as error:
        print(f"almanac {name}: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        return failed
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        message = disk_full(error)
        if message is None and isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            message = f"{where}{error.strerror or error}; is the path right, and is there room?"
        if message is None:
            raise
        print(f"almanac {name}: {message}", file=sys.stderr)
        return failed
    if name != "run":  # a run has printed the usage of each of its jobs
        print(f"almanac {name}: {used(started, inherited)}", file=sys.stderr)
    return status


def _top_level(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="almanac",
        description=__doc__.partition(":")[0] + " of Almanac: twelve verbs, each with --help and an example.",
        epilog="verbs:\n" + "\n".join(f"  {name:<13}{summary}" for name, summary in VERBS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"almanac {__version__}")
    parser.add_argument("verb", choices=list(VERBS), metavar="VERB")
    if not words:
        parser.print_help()
        return 2
    if not words[0].startswith("-"):
        parser.error(f"there is no verb {words[0]!r}{did_you_mean(words[0], VERBS)}")
    parser.parse_args(words)
    return 2
