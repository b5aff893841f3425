"""Pack an edition into an archive to cite: tables as JSON Lines, a manifest with every sha256, one digest of all."""

import argparse
import sys
from pathlib import Path

from almanac.edition.archive import contents, freeze, named, too_large
from almanac.edition.layout import Layout
from almanac.edition.published import publish
from almanac.options import FOLDER
from almanac.progress import progress

EXAMPLES = """\
  almanac freeze --edition results/demo --output results/editions/demo    # demo-DIGEST.zip in that folder
  almanac freeze --edition results/demo --output demo.zip
  almanac freeze --edition results/almanac-2026.14 --output . --publish resources/editions/almanac-2026.14"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    parser.add_argument("--edition", **FOLDER, required=True, help="results/EDITION")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="PLACE", help="FILE.zip, or a folder: EDITION-DIGEST.zip in it"
    )
    parser.add_argument("--publish", **FOLDER, help="also write the manifest and the tables that readers cite there")


def run(arguments: argparse.Namespace) -> None:
    """Freeze an edition, and print the archive's path and the digest to cite."""
    layout = Layout.open(arguments.edition)
    with progress(len(contents(layout, too_large(layout))), "files") as done:
        manifest = freeze(layout, arguments.output, done)
    path = arguments.output if arguments.output.suffix == ".zip" else arguments.output / named(manifest)
    if arguments.publish:
        publish(layout, manifest, arguments.publish)
    size = path.stat().st_size / 1e6
    print(f"{path}: {len(manifest['files'])} files, {size:.1f} MB", file=sys.stderr)
    print(f"cited as by {', '.join(layout.config.credit)} (`credit` in the configuration)", file=sys.stderr)
    print(f"{path}\ndigest {manifest['digest']}")
