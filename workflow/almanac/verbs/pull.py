"""Bring data from a source. `files` copies a folder of fact tables and records each file's size and sha256."""

import argparse
import datetime
import json
import shutil
import sys
from pathlib import Path

from almanac import __version__
from almanac.errors import AlmanacError
from almanac.sources.files import table_files
from almanac.tables import atomic, sha256

EXAMPLES = "  python -m almanac pull files --from my_facts --output results/mine/sources/mine"
MANIFEST = "pull.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    parser.add_argument("source", choices=["files"], help="files: a folder that holds facts and entities")
    parser.add_argument("--from", dest="origin", type=Path, required=True, metavar="FOLDER", help="the folder")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the copies go")
    parser.add_argument("--licence", default=None, help="the terms under which the facts may be used")
    parser.add_argument("--redistributable", action="store_true", help="an edition may carry these facts")


def run(arguments: argparse.Namespace) -> int:
    """Copy the tables, then write the manifest that says what was copied."""
    files = table_files(arguments.origin)
    try:
        shutil.rmtree(arguments.output, ignore_errors=True)
        arguments.output.mkdir(parents=True)
    except OSError as error:
        raise AlmanacError(f"{arguments.output}: cannot be made ({error.strerror}); give a writable folder") from error
    entries = []
    for path in files:
        copy = arguments.output / path.name
        shutil.copyfile(path, copy)
        entries.append({"path": path.name, "bytes": copy.stat().st_size, "sha256": sha256(copy)})
        print(f"{path.name}: {copy.stat().st_size} bytes, sha256 {entries[-1]['sha256']}", file=sys.stderr)
    manifest = {
        "source": arguments.source,
        "from": str(arguments.origin),
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "licence": arguments.licence,
        "redistributable": arguments.redistributable,
        "almanac": __version__,
        "files": entries,
    }
    with atomic(arguments.output / MANIFEST) as temporary:
        temporary.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 0
