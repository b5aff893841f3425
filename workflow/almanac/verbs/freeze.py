"""Pack an edition that can be cited: canonical JSON Lines, a manifest with every sha256, one digest over all."""

import argparse
import sys
from pathlib import Path

from almanac.edition.archive import freeze, named
from almanac.edition.layout import Layout
from almanac.progress import progress

EXAMPLES = """\
  python -m almanac freeze --edition results/demo --output results/editions/demo    # demo-DIGEST.zip in that folder
  python -m almanac freeze --edition results/demo --output demo.zip"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    parser.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")
    parser.add_argument("--output", type=Path, required=True, metavar="PLACE", help="a folder, or FILE.zip")


def run(arguments: argparse.Namespace) -> int:
    """Freeze and print the digest to cite."""
    layout = Layout.open(arguments.edition)
    with progress(len(layout.tables()), "files") as done:
        manifest = freeze(layout, arguments.output, done)
    path = arguments.output if arguments.output.suffix == ".zip" else arguments.output / named(manifest)
    size = path.stat().st_size / 1e6
    print(f"{path}: {len(manifest['files'])} files, {size:.1f} MB", file=sys.stderr)
    print(f"digest {manifest['digest']}")
    return 0
