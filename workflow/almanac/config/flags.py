"""Command-line flags that choose an edition: by the user's own model, or by a configuration file."""

import argparse
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError
from almanac.options import FILE
from almanac.project import PROJECT, there

DEMO, OWN = Path("config/config.yaml"), Path("config/own.yaml")


def add_edition(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose an edition."""
    more: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    parser.add_argument("--model", **more, metavar="MODEL", help="a checkpoint's folder, OWNER/NAME@COMMIT or a server")
    parser.add_argument("--facts", metavar="PATH", help="your own facts, a file or folder [those that ship]")
    size = "full: up to 32 test facts per relation; all: every fact but the examples [a sample]"
    parser.add_argument("--size", metavar="SIZE", help=size)
    parser.add_argument("--suites", **more, metavar="SUITE", help="ask only these suites [all]")
    file = f"the edition's configuration [{OWN} with --model, or else {DEMO}, the demo's]"
    parser.add_argument("--configfile", **FILE, help=file)
    parser.add_argument("--config", **more, metavar="KEY=VALUE", help="other keys of the configuration")


def edition(arguments: argparse.Namespace) -> tuple[Path, list[str]]:
    """Return the configuration file that the flags of `add_edition` choose, and the settings that they override.

    Raises:
        AlmanacError: facts, a size or suites are given without a model, or a value is empty.
    """
    given = {"--model": arguments.model, "--facts": [arguments.facts], "--suites": arguments.suites}
    for flag, values in given.items():
        if any(value is not None and not value.strip() for value in values):
            raise AlmanacError(f"command line: {flag} is empty; is a variable of the shell not set?")
    chosen = {
        "model": " ".join(arguments.model),
        "facts": arguments.facts,
        "size": arguments.size,
        "only": " ".join(arguments.suites),
    }
    settings = [f"{name}={value}" for name, value in chosen.items() if value] + arguments.config
    if arguments.configfile is not None:
        return there(arguments.configfile), settings
    if any(chosen.values()) and not chosen["model"]:
        raise AlmanacError("command line: name the model that is asked: --model /models/mine; or give a --configfile")
    return PROJECT / (OWN if chosen["model"] else DEMO), settings
