"""Check an `edition` (its bytes, then its numbers, measured again), or `facts` against another source's facts."""

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from almanac.dataset.comparison import compare
from almanac.edition.archive import Frozen, unpack
from almanac.edition.layout import Layout
from almanac.edition.makers import check_makers
from almanac.edition.remeasure import compared, measured, planted_runs
from almanac.errors import AlmanacError
from almanac.rows import Comparison, Measure, Outcome, Validation
from almanac.sources.files import read_folder
from almanac.suites.methods import METHODS
from almanac.suites.validation import validate
from almanac.tables import as_dict

EXAMPLES = """\
  python -m almanac verify edition results/editions/demo.zip
  python -m almanac verify facts --facts resources/facts --against another_folder"""
TOLERANCE = 1e-9  # a library may round its last digit differently; no number of the report shows as much


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="WHAT")
    edition = things.add_parser("edition", help="rehash every file of a frozen edition and measure it again")
    edition.add_argument("archive", type=Path, metavar="FILE", help="made by `freeze`")
    facts = things.add_parser("facts", help="hold facts against another folder's wherever both name a subject")
    facts.add_argument("--facts", type=Path, required=True, metavar="FOLDER", help="the facts to check")
    facts.add_argument("--against", type=Path, required=True, metavar="FOLDER", help="the facts to check them by")


def run(arguments: argparse.Namespace) -> int:
    """Verify the thing that is asked for."""
    return verify_facts(arguments) if arguments.thing == "facts" else verify_edition(arguments.archive)


def verify_edition(archive: Path) -> int:
    """Check an archive's bytes, then measure it again from its responses.

    Raises:
        AlmanacError: a file or the model that made it differs from the manifest, or a number from the frozen one,
            naming it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = unpack(archive, folder)
        print(f"{len(manifest['files'])} files agree with the manifest; digest {manifest['digest']}")
        layout = Frozen.open(folder)
        for line in check_makers(layout, manifest):
            print(line)
        numbers = 0
        for asking in layout.config.asked():
            again = measured(layout, asking)
            _agree(layout, layout.outcomes(asking), Outcome, again.outcomes)
            numbers += _agree(layout, layout.measures(asking), Measure, again.measures)
            for table, row in METHODS[asking.suite].measured_beside.items():
                _agree(layout, layout.beside_outcomes(asking, table), row, again.beside[table])
        _agree(layout, layout.comparison(), Comparison, compared(layout))
        _agree(layout, layout.validation(), Validation, validate(planted_runs(layout), layout.config.validation))
    print(f"{numbers} measures, the comparison and the validation, measured again from the responses, agree")
    return 0


def _agree(layout: Layout, path: Path, row_class: type, again: Sequence[object]) -> int:
    """Hold each row of a frozen table against the one of its key that is measured again; return how many they are."""
    rows: list[object] = layout.read(path, row_class)
    columns: tuple[str, ...] = vars(row_class)["KEY"]
    old, new = (
        sorted(map(as_dict, found), key=lambda row: [str(row.get(column)) for column in columns])
        for found in (rows, again)
    )
    name = path.relative_to(layout.root)
    for stated, found in zip(old, new, strict=False):
        for key in stated | found:
            if not _equal(stated.get(key), found.get(key)):
                raise AlmanacError(
                    f"{name}: {key} is {stated.get(key)!r}, measured again it is {found.get(key)!r} (row {stated})"
                )
    if len(old) != len(new):
        raise AlmanacError(f"{name}: has {len(old)} rows, measured again there are {len(new)}")
    return len(old)


def _equal(stated: object, found: object) -> bool:
    if isinstance(stated, float) and isinstance(found, float):
        return math.isclose(stated, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return stated == found


def verify_facts(arguments: argparse.Namespace) -> int:
    """Print how many subjects both sources speak of, and every one on which they differ."""
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
