"""Make an edition, from its facts to its page, in results/ of the working folder: of models of your own, or the demo.

What is there already of the same settings stays, and an interrupted run goes on. It runs Snakemake with what ships with
Almanac, so that a checkout is not needed; in one, `make` does the same.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from almanac import locked
from almanac.errors import AlmanacError
from almanac.options import FILE
from almanac.project import PROJECT, there

DEMO, OWN = Path("config/config.yaml"), Path("config/own.yaml")
EXAMPLES = """\
  python -m almanac run --model /models/mine                  # every suite, of the facts that ship
  python -m almanac run --model EleutherAI/pythia-70m@COMMIT  # of the hub; or http://localhost:8000/v1, a server
  python -m almanac run --model /models/a /models/b --facts inventory.csv --size full --suites ic_lke karr
  python -m almanac run --model /models/mine --config edition=mine -- --dry-run
  python -m almanac run                                       # the demo, which trains small models
  python -m almanac run --configfile mine.yaml -- edition     # another configuration, up to the archive to cite"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    more: dict[str, Any] = {"nargs": "+", "default": []}
    parser.add_argument("--model", **more, metavar="MODEL", help="a checkpoint's folder, OWNER/NAME@COMMIT or a server")
    parser.add_argument("--facts", metavar="PATH", help="a file or folder of facts of your own [those that ship]")
    parser.add_argument("--size", metavar="SIZE", help="full: up to 32 test facts of each relation; all [a sample]")
    parser.add_argument("--suites", **more, metavar="SUITE", help="these suites alone [all]")
    file = f"the edition's configuration [{OWN} with --model, or else {DEMO}, the demo's]"
    parser.add_argument("--configfile", **FILE, help=file)
    parser.add_argument("--config", **more, metavar="KEY=VALUE", help="other settings, as in snakemake")
    words = "after --: targets and options of Snakemake, as edition, --dry-run, --cores 4 [all cores]"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)


def run(arguments: argparse.Namespace) -> int:
    """Run Snakemake on the edition, and return its exit status."""
    own = {
        "model": " ".join(arguments.model),
        "facts": arguments.facts,
        "size": arguments.size,
        "only": " ".join(arguments.suites),
    }
    settings = [f"{name}={value}" for name, value in own.items() if value] + arguments.config
    if arguments.configfile is None and any(own.values()) and not own["model"]:
        raise AlmanacError("command line: name the model that is asked: --model /models/mine; or give a --configfile")
    file = there(arguments.configfile) if arguments.configfile else PROJECT / (OWN if own["model"] else DEMO)
    os.environ["PYTHONSAFEPATH"] = "1"  # a file here that is called like a module is none of Snakemake's
    # Jobs run `python` and `snakemake`: those of the environment that this one is in.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    fixed = ["--logger", "almanac", "--workflow-profile", "none", "--cores", "all", "--rerun-incomplete"]
    command = ["snakemake", *fixed, "--snakefile", str(PROJECT / "Snakefile"), *arguments.words]
    return locked.main([*command, "--configfile", str(file), *(["--config", *settings] if settings else [])])
