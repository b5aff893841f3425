"""Make an edition, from its facts to its page, in results/ of the working folder: with your own models, or the demo.

Results with the same settings are kept, and an interrupted run resumes. No clone of the project is needed; in a clone,
`make` does the same.
"""

import argparse
import os
import sys
from pathlib import Path

from almanac import locked
from almanac.config.flags import add_edition, edition
from almanac.errors import AlmanacError
from almanac.project import PROJECT

EXAMPLES = """\
  almanac run --model /models/mine                  # every suite, of the facts that ship
  almanac run --model EleutherAI/pythia-70m@COMMIT  # of the hub; or http://localhost:8000/v1, a server
  almanac run --model /models/a /models/b --facts inventory.csv --size full --suites ic_lke karr
  almanac run --model /models/mine --config edition=mine -- --dry-run
  almanac run                                       # the demo, which trains small models
  almanac run --configfile mine.yaml -- edition     # another configuration, up to the archive to cite"""

HINT = "; options of Snakemake stand after --, as in: almanac run -- --dry-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    add_edition(parser)
    words = "after --: targets and options of Snakemake, as edition, --dry-run, --cores 4 [all cores]"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)


def run(arguments: argparse.Namespace) -> int:
    """Run Snakemake on the edition, and return its exit status."""
    file, settings = edition(arguments)
    if any(word.partition("=")[0] in ("--configfile", "--configfiles") for word in arguments.words):
        raise AlmanacError("command line: --configfile stands after --, where it would be passed over; give it before")
    os.environ["PYTHONSAFEPATH"] = "1"  # Snakemake must not import files of the working folder named like modules
    # Jobs run the `python` and `snakemake` of this environment.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    fixed = ["--logger", "almanac", "--workflow-profile", "none", "--cores", "all", "--rerun-incomplete"]
    beside = Path(sys.executable).with_name("snakemake")  # preferred to the module, whose help lacks the program's name
    snakemake = [str(beside)] if beside.is_file() else [sys.executable, "-m", "snakemake"]
    command = [*snakemake, *fixed, "--snakefile", str(PROJECT / "Snakefile"), *arguments.words]
    return locked.main([*command, "--configfile", str(file), *(["--config", *settings] if settings else [])])
