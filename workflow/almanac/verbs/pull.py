"""Bring data from outside, and record each file's size and sha256. No other verb downloads anything.

`files` copies a folder of fact tables, or makes one from a file of subject, relation and object. `model` fetches a
checkpoint from a hub at one commit. The others store a source's raw answers or files in a dated snapshot, which is
never changed again, and extract the tables from it.
"""

import argparse
import contextlib
import datetime
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from almanac import __version__, unfinished
from almanac.errors import AlmanacError, disk_full
from almanac.options import FACTS, FOLDER, add_flags, from_flags
from almanac.progress import print_notes, progress
from almanac.rows import Omission
from almanac.sealed import PULLED, checked_record, sealed
from almanac.sealed import files as entries_of
from almanac.sources.files import as_folder, read_columns, table_files
from almanac.sources.options import KINDS, DumpOptions, NetworkOptions
from almanac.sources.records import ENDINGS, TABLES, passed_over
from almanac.sources.source_tables import ROWS
from almanac.tables import atomic, read, write_text

EXAMPLES = """\
  almanac pull files --from my_facts --output results/mine/sources/mine      # or my_facts.zip
  almanac pull files --from inventory.csv --output my_facts   # turns one file into a folder of tables
  almanac pull wikidata --relations P36 P569 --contact me@example.org --output results/mine/sources/wikidata
  almanac pull wikidata … --again 2026-12-01 --output changes.json      # a new snapshot, and what changed
  almanac pull imdb --path my_imdb_files --output results/mine/sources/imdb
  almanac pull model --hub EleutherAI/pythia-70m --revision COMMIT --output results/mine/models/pythia-70m"""
SNAPSHOTS = Path("results/snapshots")
DATE = "%Y-%m-%dT%H%MZ"  # the name of a snapshot: the minute, UTC


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    sources = parser.add_subparsers(dest="source", required=True, metavar="SOURCE")
    files = sources.add_parser(
        "files",
        help="a folder with the tables facts and entities, a zip or tar archive of one, or one file of subject, "
        "relation and object",
    )
    files.add_argument("--from", dest="origin", **FACTS, required=True, help="the folder, the archive or the file")
    files.add_argument(
        "--merge", action="store_true", help="allow duplicate rows, and copy them; `build dataset` merges them"
    )
    files.add_argument("--licence", default=None, help="the terms under which the facts may be used")
    files.add_argument("--redistributable", action="store_true", help="allow an edition to carry these facts")
    model = sources.add_parser("model", help="a checkpoint of the Hugging Face hub")
    model.add_argument("--hub", required=True, metavar="OWNER/NAME", help="the repository")
    model.add_argument("--revision", required=True, metavar="COMMIT", help="its commit, 40 hexadecimal digits")
    model.add_argument(
        "--trust-remote-code", action="store_true", help="bring its Python code too, for `answer` to run"
    )
    for part in (files, model):
        part.add_argument("--output", **FOLDER, required=True, help="the folder where the copies go")
    parts = [files]
    for kind, options in KINDS.items():
        part = sources.add_parser(kind, help=str(options.model_fields["kind"].description).removeprefix(f"{kind}: "))
        part.add_argument("--contact", default=None, help="your e-mail address or web page, sent to the servers")
        where = f"the folder of all snapshots [{SNAPSHOTS}]"
        part.add_argument("--snapshots", **FOLDER, default=SNAPSHOTS, help=where)
        again = "make another snapshot, named DATE (YYYY-MM-DD), and write what changed to --output, as JSON"
        part.add_argument("--again", default=None, metavar="DATE", help=again)
        part.add_argument("--output", **FOLDER, required=True, help="the folder where the tables go")
        add_flags(part, options, "the source")
        parts.append(part)
    for part in parts:
        part.add_argument(
            "--replace",
            action="store_true",
            help="replace also tables that no pull has brought, or that you have changed",
        )


def run(arguments: argparse.Namespace) -> None:
    """Bring the files, then write the record of what was brought."""
    if arguments.source == "files":
        copies = copy_tables(arguments.origin, arguments.output, arguments.merge, arguments.replace)
        what = {"licence": arguments.licence, "redistributable": arguments.redistributable}
        record(arguments.output, "files", str(arguments.origin), copies, what)
    elif arguments.source == "model":
        from almanac.models.hub import download  # pulling facts needs no model's packages

        copies = download(arguments.hub, arguments.revision, arguments.output, code=arguments.trust_remote_code)
        what = {"revision": arguments.revision, "code": arguments.trust_remote_code}
        record(arguments.output, "model", arguments.hub, copies, what)
    else:
        options = from_flags(arguments, KINDS[arguments.source])
        if arguments.again is None:
            pull_source(options, arguments.contact, arguments.snapshots, arguments.output, arguments.replace)
        else:
            pull_again(options, arguments.contact, arguments.snapshots, arguments.again, arguments.output)


def copy_tables(origin: Path, folder: Path, merge: bool = False, replace: bool = False) -> list[Path]:
    """Copy the tables of a folder of facts, or of an archive of one, into a new folder, after checking each row.

    A single file of facts is converted to tables, and the parts of it that are not read are noted. ``replace``: as in
    `replace_tables`.

    Raises:
        AlmanacError: a table is missing or has rows that no dataset can be built from; the new folder overlaps the old
            one, has other files or cannot be written.
    """
    table_files(origin)
    with as_folder(origin) as inside:
        found = read_columns(inside, origin.name, merge)
        new, old = folder.resolve(), origin.resolve()
        if new.is_relative_to(old) or old.is_relative_to(new):
            raise AlmanacError(f"{folder}: lies in the folder it is copied from, or holds it; name another")

        def fill(beside: Path) -> None:
            if inside.is_file():
                from almanac.sources import triples  # loading polars takes longer than copying does

                triples.write(beside, found.entities, found.facts, found.relations)
                print_notes(note.replace(str(inside), str(origin)) for note in found.notes)
                return
            for path in table_files(inside):
                shutil.copyfile(path, beside / path.name)
            print_notes(note.replace(str(inside), str(origin)) for note in passed_over(inside))

        replace_tables(folder, fill, replace)
    return table_files(folder)


def replace_tables(folder: Path, fill: Callable[[Path], object], replace: bool) -> None:
    """Replace a folder of tables by a new one, completely or not at all.

    Args:
        folder: where the tables go.
        fill: writes them into a folder.
        replace: whether to replace also tables without a record (left by a run that was stopped), and changed ones.

    Raises:
        AlmanacError: the old folder is a file, has files that no pull has brought, or was changed; or the new one
            cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise AlmanacError(f"{folder}: is a file, and tables go into a folder; name a new folder")
    brought = {PULLED, "changes"}
    if replace:
        brought |= {f"{table}{ending}" for table in {*TABLES, *ROWS} for ending in ENDINGS}
    elif (folder / PULLED).is_file():  # the user may have edited the tables
        kept = "name a new folder, or add --replace to lose what was changed"
        brought |= {str(entry["path"]) for entry in checked_record(folder / PULLED, kept)["files"]}
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in brought) if folder.is_dir() else []
    if strangers:
        raise AlmanacError(f"{folder}: holds {strangers[0]}, which no pull has brought; name a new folder")
    try:
        with unfinished.replacement(folder) as new:
            fill(new)
            if (folder / "changes").is_dir():
                shutil.copytree(folder / "changes", new / "changes")
    except OSError as error:
        message = f"{folder}: cannot be written ({error.strerror}); give a writable folder"
        raise AlmanacError(disk_full(error, folder) or message) from error


def pull_source(options: NetworkOptions, contact: str | None, snapshots: Path, output: Path, replace: bool) -> None:
    """Write a source's tables: from the user's copies of its files, from a snapshot, or from a first one made now.

    ``replace``: as in `replace_tables`.

    Raises:
        AlmanacError: the settings, the server, the files or the snapshot are wrong, or they give no facts.
    """
    from almanac.dataset.popularity import bucket_tables, count_mentions  # these two need packages of their own
    from almanac.sources import frozen

    if isinstance(options, DumpOptions) and options.path is not None:
        origin: Mapping[str, Any] = frozen.own_files(options)
        raw = Path(options.path)
    else:
        now = datetime.datetime.now(datetime.UTC).strftime(DATE)
        with progress(None, "answers and files") as done:
            snapshot = frozen.first_or_chosen(options, contact, snapshots, now, say, done)
        origin, raw = frozen.origin(snapshot), snapshot
    counts: dict[str, int] = {}

    def fill(beside: Path) -> None:
        counts.update(frozen.write_tables(options, raw, beside))
        if not counts["facts"]:
            left = "; ".join(f"{row.reason}: {row.count}" for row in read(beside / "omissions.parquet", Omission))
            raise AlmanacError(f"{raw}: gives no facts; left out were: {left or 'none'}; check the source's settings")
        counts["popularity"] = count_mentions(beside, options.kind)
        counts["buckets"] = bucket_tables(beside)

    replace_tables(output, fill, replace)
    for table, count in counts.items():
        print(f"{table}: {count} rows", file=sys.stderr)
    files = sorted(output.glob("*.parquet"))
    terms = {"licence": options.licence, "redistributable": options.redistributable}
    record(output, options.kind, str(raw), files, {**terms, "raw": origin, "rows": counts})


def pull_again(options: NetworkOptions, contact: str | None, snapshots: Path, date: str, report: Path) -> None:
    """Make another snapshot, and report what has changed since the newest one.

    Raises:
        AlmanacError: the name is no date, there is no snapshot to compare with, or one of this or a later date; the
            report cannot be written; or as in `pull_source`.
    """
    from almanac.sources import frozen

    if not _is_date(date):
        raise AlmanacError(
            f"--again: {date!r} is no date; give the day, as 2026-12-01, or the minute (UTC), as 2026-12-01T1530Z"
        )
    if report.is_dir():
        raise AlmanacError(f"{report}: is a folder; give the path of a file")
    with atomic(report) as temporary:  # before anything is pulled: the report cannot be made again
        with progress(None, "answers and files") as done:
            changes = frozen.again(options, contact, snapshots, date, say, done)
        print(changes.pop("text"))
        temporary.write_text(json.dumps(changes, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _is_date(text: str) -> bool:
    """Whether a text is a day, or a minute in the form of `DATE`; such names sort by time."""
    for form in ("%Y-%m-%d", DATE):
        with contextlib.suppress(ValueError):
            if datetime.datetime.strptime(text, form).strftime(form) == text:
                return True
    return False


def say(line: str) -> None:
    """Log a retry and its reason."""
    print(f"again, since {line}", file=sys.stderr, flush=True)


def record(folder: Path, source: str, origin: str, files: Sequence[Path], more: Mapping[str, object]) -> None:
    """Write the record of a pull: origin, time, and each file's bytes and sha256."""
    entries = entries_of(folder, files)
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
    write_text(folder / PULLED, json.dumps(sealed(manifest), indent=2, sort_keys=True) + "\n")
