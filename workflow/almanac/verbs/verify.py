"""Check an `edition` (its bytes, then its measures), a `rebuild` of a published one, or `facts` against others."""

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from almanac import tables, unfinished
from almanac.config import Asking
from almanac.dataset.comparison import compare
from almanac.edition import published
from almanac.edition.checks import check_datasets, check_ids, check_makers, check_shown, check_terms
from almanac.edition.differences import IN_A, IN_B, compared
from almanac.edition.layout import BETWEEN, Layout
from almanac.edition.manifest import SHORT
from almanac.edition.measuring import judge, measure, measure_across
from almanac.edition.unpacking import manifest_of, unpack, withheld_of
from almanac.errors import AlmanacError
from almanac.options import FACTS, FILE, FOLDER
from almanac.progress import progress
from almanac.rows import Measure, Outcome
from almanac.sealed import check_table
from almanac.sources.files import read_folder
from almanac.suites.listing import SUITES
from almanac.versions import MAKER, maker_of

Row = TypeVar("Row")
EXAMPLES = """\
  almanac verify edition results/editions/demo/demo-*.zip
  almanac verify rebuild results/editions/almanac-2026.14     # against resources/editions/almanac-2026.14
  almanac verify facts --facts resources/facts --against another_folder"""
SAID = 200  # most characters of a value in a message
TOLERANCE = 1e-9  # libraries may round the last digit differently; the report shows fewer digits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="WHAT")
    edition = things.add_parser("edition", help="rehash every file of a frozen edition and measure it again")
    edition.add_argument("archive", **FILE, help="an archive made by `freeze`")
    edition.add_argument("--digest", metavar="DIGEST", help="the digest that it must have, or its first digits")
    dense = "read it even if it unpacks to more than 30 times its size, which may fill the disk"
    edition.add_argument("--dense", action="store_true", help=dense)
    rebuild = things.add_parser("rebuild", help="compare an edition that was made again with the published one")
    rebuild.add_argument(
        "archive", type=Path, metavar="PLACE", help="an archive made by `freeze`, or the folder of one"
    )
    rebuild.add_argument("--against", **FOLDER, help="the published edition [resources/editions/EDITION]")
    rebuild.add_argument("--dense", action="store_true", help=dense)
    for part in (edition, rebuild):
        part.add_argument("more", nargs="*", help=argparse.SUPPRESS)  # for an error that says what to do
    facts = things.add_parser("facts", help="compare facts with another folder's wherever both name a subject")
    facts.add_argument("--facts", **FACTS, required=True, help="the facts to check")
    facts.add_argument("--against", **FACTS, required=True, help="the facts to check them by")


def run(arguments: argparse.Namespace) -> int:
    """Verify what the command line names."""
    if arguments.thing == "facts":
        return verify_facts(arguments)
    if arguments.more:
        raise AlmanacError(
            f"command line: verify {arguments.thing} checks one archive, and {1 + len(arguments.more)} are given; run "
            "it once for each (for FILE in *.zip; do …; done), or compare two with `almanac differences A B`"
        )
    if arguments.thing == "rebuild":
        return verify_rebuild(arguments.archive, arguments.against, arguments.dense)
    return verify_edition(arguments.archive, arguments.dense, arguments.digest)


def verify_edition(archive: Path, dense: bool = False, digest: str | None = None) -> int:
    """Check an archive: compare its bytes with the manifest, then derive again what follows from other files in it.

    These are datasets, ids, measures (from the responses, or from outcomes if responses are withheld) and the page.

    Raises:
        AlmanacError: a file, the model that made it, or a measure differs; the message names it.
    """
    with unfinished.folder() as work, _in_words(archive):
        folder, again = work / "edition", work / "again"
        folder.mkdir()
        manifest = manifest_of(archive, folder, dense)
        _check_digest(archive, manifest, digest)
        _begins(f"{len(manifest['files'])} files are compared with the manifest, and unpacked")
        manifest = unpack(archive, folder, dense)
        print(f"{len(manifest['files'])} files agree with the manifest; digest {manifest['digest']}")
        layout = replace(Layout.open(folder, unpacked=True), recorded=manifest["parameters"])
        withheld = withheld_of(layout, manifest)
        if (maker := maker_of(layout.page())) != MAKER:
            by = f" (commit {manifest['commit']})" if "commit" in manifest else ""
            note = f"it was made by {maker}{by}, and this is {MAKER}, which may measure or draw something else"
            print(note, file=sys.stderr)
        _begins("the ids of requests are computed again, and the datasets built again")
        check_terms(layout, manifest)
        ids = check_ids(layout)
        built = check_datasets(layout, manifest, work / "datasets")
        datasets = f"{built} dataset{'s' * (built != 1)}"
        print(f"{datasets}, built again, and the ids of {ids} requests and contexts, made again, agree")
        for line in check_makers(layout, manifest):
            print(line)
        numbers = 0
        asked = list(layout.config.asked())
        with progress(len(asked), "measured again") as done:
            for asking in asked:
                judged_again = withheld.isdisjoint(layout.responses(asking))
                if not judged_again:
                    print(
                        f"{asking.model}, {asking.suite} of {asking.dataset}: the edition has digests of its responses "
                        "only; measured again from its outcomes"
                    )
                numbers += _measure_again(layout, asking, again, judged_again)
                done(note=", ".join(asking))
        _begins("models and methods are compared again")
        for table, rows in measure_across(layout).items():
            numbers += _agree_rows(layout, layout.between(table), BETWEEN[table], rows, again)
        print(f"{numbers} rows of measures and the validation, measured again, agree")
        if withheld:
            print("the page is not drawn again: it shows items of responses of which the edition has only the digests")
        else:
            from almanac.report.making import report_page  # drawing is not loaded to check facts

            _begins("the page with its tables and figures is drawn again")
            shown = check_shown(layout, manifest, lambda: report_page(layout))
            print(f"the page with its tables and figures ({shown} files), made again, agrees")
    return 0


def _begins(step: str) -> None:
    """Log the step that begins, since some take minutes."""
    print(f"{step} …", file=sys.stderr, flush=True)


@contextmanager
def _in_words(archive: Path) -> Iterator[None]:
    """Turn an error of checking an archive into a message: tables that contradict each other may break any step."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise AlmanacError(
            f"{archive}: cannot be made again ({type(error).__name__}: {str(error)[:SAID]}): its tables contradict "
            "each other, or this Almanac has a defect; verify it with the version that made it, or get it again from "
            "the people who made it"
        ) from error


def _check_digest(archive: Path, manifest: Mapping[str, Any], cited: str | None) -> None:
    """Compare an archive's digest with the cited one, and with the one in its file name."""
    of_name = re.fullmatch(rf"{re.escape(manifest['edition'])}-([0-9a-f]{{{SHORT}}})", archive.stem)
    for what, said in (("the name of the file", of_name and of_name[1]), ("--digest", cited)):
        if said and not manifest["digest"].startswith(said.lower().removeprefix("sha256:")):
            raise AlmanacError(
                f"{archive}: {what} says {said}, and the digest of its content is {manifest['digest']}: it is another "
                "edition, or the same made again; get the one that is cited"
            )


def _measure_again(layout: Layout, asking: Asking, again: Path, judge_again: bool) -> int:
    """Judge (if there are responses) and measure a model's answers again; return the number of measures that agree."""
    suite, options = SUITES[asking.suite], layout.options(asking)
    answers, data = layout.answers(asking), layout.data(asking.dataset)
    folder = layout.judged(asking, "outcomes").parent
    if judge_again:
        folder = again / "/".join(asking)
        judge(suite, options, answers, data, folder)
        for table, row in {"outcomes": Outcome, **suite.tables("judged")}.items():
            path = layout.judged(asking, table)
            if path.is_file():
                _agree(layout, path, folder / path.name, row)
            else:  # not in the archive, since it follows from the responses; comparing models may read it
                shutil.copy(folder / path.name, path)
    found = measure(suite, options, answers, data, folder)
    return _agree_rows(layout, layout.measures(asking), Measure, found, again)


def _agree_rows(layout: Layout, path: Path, row: type[Row], rows: Sequence[Row], again: Path) -> int:
    """Compare a frozen table with rows that are measured again; return their number."""
    tables.write(again / "rows.parquet", row, rows)
    return _agree(layout, path, again / "rows.parquet", row)


def _agree(layout: Layout, path: Path, again: Path, row: type) -> int:
    """Compare a frozen table with another; return the number of rows.

    Raises:
        AlmanacError: a row or a value differs; the message names it.
    """
    name = path.relative_to(layout.root).with_suffix("").as_posix()
    check_table(path)
    sides = pl.scan_parquet(path), pl.scan_parquet(again)
    for one in compared(name, *sides, [row], TOLERANCE):
        assert one.rows is not None  # tables of one row class can differ only in rows and values
        first = one.rows.row(0, named=True)
        stated, found = first.pop(IN_A, None), first.pop(IN_B, None)
        first = {key: said if len(said := str(value)) <= SAID else f"{said[:SAID]}…" for key, value in first.items()}
        if one.kind == "value":
            raise AlmanacError(f"{name}: {one.column} is {stated!r}, measured again it is {found!r} (row {first})")
        told = "is frozen and not" if one.kind == "row only in A" else "is not frozen, and"
        raise AlmanacError(f"{name}: the row {first} {told} measured again ({one.count} such rows)")
    return tables.count(path, row)


def verify_rebuild(place: Path, against: Path | None, dense: bool = False) -> int:
    """Compare a frozen rebuild with the published edition, and print the result; return 1 if they differ, else 0.

    Raises:
        AlmanacError: the archive is damaged, or no edition of its name is published.
    """
    archives = sorted(place.glob("*.zip")) if place.is_dir() else [place]
    if len(archives) != 1:
        raise AlmanacError(f"{place}: holds {len(archives)} archives; name one: FILE.zip")
    with unfinished.folder() as work:
        folder = work / "edition"
        against = against or published.FOLDER / manifest_of(archives[0], folder, dense)["edition"]
        digest = published.manifest_of(against)["digest"]
        manifest = unpack(archives[0], folder, dense)
        print(f"{archives[0].name}: digest {manifest['digest']}\npublished: digest {digest}")
        found = published.rebuilt(Layout.open(folder, unpacked=True), manifest, against)
    print(f"{found.fixed} tables of facts, worlds and requests, {len(found.changed)} of them differ")
    print(f"{found.answers} files of answers and of requests made from answers, {len(found.others)} of them differ")
    if found.others:
        print(f"{found.values} published intervals, {len(found.apart)} of which do not contain the rebuilt value")
    else:
        print(f"{found.values} values of the published tables, {len(found.apart)} of them differ")
    for line in (*found.changed, *found.missing, *found.added, *found.apart):
        print(f"  {line}")
    print("the rebuild agrees" if found.agrees else "the rebuild differs")
    return 0 if found.agrees else 1


def verify_facts(arguments: argparse.Namespace) -> int:
    """Print the number of subjects that both sources have, and every subject on which they differ."""
    compared = compare(read_folder(arguments.facts, "ours"), read_folder(arguments.against, "theirs"))
    for row in compared:
        if row.verdict in ("disagree", "extra", "ambiguous"):
            print(f"{row.verdict}: {row.relation_id} {row.subject}: {', '.join(row.ours)} | {', '.join(row.theirs)}")
    count = Counter(row.verdict for row in compared)
    print(
        f"compared {count['agree'] + count['extra'] + count['disagree']}, disagreeing {count['disagree']}, "
        f"with an object more {count['extra']}, ambiguous {count['ambiguous']}, unmatched {count['unmatched']}"
    )
    return 0
