"""Check an `edition` (its bytes, then its numbers, measured again), or `facts` against another source's facts."""

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from almanac.dataset.comparison import compare
from almanac.edition.archive import Frozen, unpack
from almanac.edition.remeasure import outcomes_and_measures, planted_runs
from almanac.errors import AlmanacError
from almanac.rows import Measure, Outcome, Validation
from almanac.sources.files import read_folder
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
        AlmanacError: a file differs from the manifest, or a number from the frozen one, naming it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = unpack(archive, folder)
        print(f"{len(manifest['files'])} files agree with the manifest; digest {manifest['digest']}")
        layout = Frozen.open(folder)
        numbers = 0
        for asking in layout.config.asked():
            outcomes, measures = outcomes_and_measures(layout, asking)
            _agree(layout.read(layout.outcomes(asking), Outcome), outcomes, layout.outcomes(asking).relative_to(folder))
            _agree(layout.read(layout.measures(asking), Measure), measures, layout.measures(asking).relative_to(folder))
            numbers += len(measures)
        again = validate(planted_runs(layout), layout.config.validation)
        _agree(layout.read(layout.validation(), Validation), again, layout.validation().relative_to(folder))
    print(f"{numbers} measures and the validation, measured again from the responses, agree")
    return 0


def _agree(frozen: Sequence[object], again: Sequence[object], path: Path) -> None:
    old = sorted((as_dict(row) for row in frozen), key=_key)
    new = sorted((as_dict(row) for row in again), key=_key)
    for stated, found in zip(old, new, strict=False):
        for name in stated | found:
            if not _equal(stated.get(name), found.get(name)):
                raise AlmanacError(
                    f"{path}: {name} is {stated.get(name)!r}, measured again it is {found.get(name)!r} (row {stated})"
                )
    if len(old) != len(new):
        raise AlmanacError(f"{path}: has {len(old)} rows, measured again there are {len(new)}")


def _key(row: dict[str, object]) -> str:
    return str(sorted((name, str(value)) for name, value in row.items() if not isinstance(value, float)))


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
