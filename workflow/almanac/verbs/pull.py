"""Bring data from outside, the only verb that may use the network, and record each file's size and sha256.

`files` copies a folder of fact tables; `model` fetches a checkpoint from a hub at one commit.
"""

import argparse
import datetime
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from almanac import __version__
from almanac.errors import AlmanacError
from almanac.sources.files import ENDINGS, TABLES, table_files
from almanac.tables import atomic, sha256

EXAMPLES = """\
  python -m almanac pull files --from my_facts --output results/mine/sources/mine
  python -m almanac pull model --hub EleutherAI/pythia-70m --revision COMMIT --output results/mine/models/pythia-70m"""
MANIFEST = "pull.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    sources = parser.add_subparsers(dest="source", required=True, metavar="SOURCE")
    files = sources.add_parser("files", help="a folder that holds facts and entities")
    files.add_argument("--from", dest="origin", type=Path, required=True, metavar="FOLDER", help="the folder")
    files.add_argument("--licence", default=None, help="the terms under which the facts may be used")
    files.add_argument("--redistributable", action="store_true", help="an edition may carry these facts")
    model = sources.add_parser("model", help="a checkpoint of the Hugging Face hub")
    model.add_argument("--hub", required=True, metavar="OWNER/NAME", help="the repository")
    model.add_argument("--revision", required=True, metavar="COMMIT", help="40 hexadecimal digits")
    model.add_argument("--trust-remote-code", action="store_true", help="bring its code too, for `answer` to run")
    for part in (files, model):
        part.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the copies go")


def run(arguments: argparse.Namespace) -> int:
    """Bring the files, then write the manifest that says what was brought."""
    if arguments.source == "files":
        copies = copy_tables(arguments.origin, arguments.output)
        what = {"licence": arguments.licence, "redistributable": arguments.redistributable}
        record(arguments.output, "files", str(arguments.origin), copies, what)
    else:
        from almanac.models.hub import download  # pulling facts needs no model's packages

        copies = download(arguments.hub, arguments.revision, arguments.output, code=arguments.trust_remote_code)
        what = {"revision": arguments.revision, "code": arguments.trust_remote_code}
        record(arguments.output, "model", arguments.hub, copies, what)
    return 0


def copy_tables(origin: Path, folder: Path) -> list[Path]:
    """Copy the tables of a facts folder into a new folder.

    Raises:
        AlmanacError: a table is missing; the new folder overlaps the old, holds other files or cannot be written.
    """
    files = table_files(origin)
    new, old = folder.resolve(), origin.resolve()
    if new.is_relative_to(old) or old.is_relative_to(new):
        raise AlmanacError(f"{folder}: lies in the folder it is copied from, or holds it; name another")
    brought = {MANIFEST, *(f"{table}{ending}" for table in TABLES for ending in ENDINGS)}
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in brought) if folder.is_dir() else []
    if strangers:
        raise AlmanacError(f"{folder}: holds {strangers[0]}, which no pull has brought; name a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as name:
            beside = Path(name) / "new"
            beside.mkdir()
            for path in files:
                shutil.copyfile(path, beside / path.name)
            shutil.rmtree(folder, ignore_errors=True)
            beside.replace(folder)
    except OSError as error:
        raise AlmanacError(f"{folder}: cannot be written ({error.strerror}); give a writable folder") from error
    return [folder / path.name for path in files]


def record(folder: Path, source: str, origin: str, files: Sequence[Path], more: Mapping[str, object]) -> None:
    """Write the manifest of a pull: from where, when, and each file's bytes and sha256."""
    entries = [{"path": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)} for path in files]
    for entry in entries:
        print(f"{entry['path']}: {entry['bytes']} bytes, sha256 {entry['sha256']}", file=sys.stderr)
    manifest = {
        "source": source,
        "from": origin,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "almanac": __version__,
        "files": entries,
        **more,
    }
    with atomic(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
