"""Compare the tables of two result folders or editions: what is on one side only, which rows and values differ.

An edition may be an archive or unpacked. Tables are Parquet or JSON Lines; pages, figures, logs and other files are not
compared. The order of rows does not matter: rows are matched by their key, or, in an unknown table, by all columns
without floats.

The exit status is 0 if nothing differs, 1 if something differs, 2 if the tables cannot be compared.
"""

import argparse
import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import polars as pl

from almanac.edition.differences import IN_A, IN_B, Difference, Kind, differences, not_carried, opened, pairs
from almanac.tables import atomic

EXAMPLES = """\
  almanac differences results/demo results/demo_again
  almanac differences demo-0123456789ab.zip results/demo --tolerance 1e-6
  almanac differences old.zip new.zip --output differences.csv     # the whole list; --all prints it"""
ERROR_STATUS = 2
FEW = 3  # differences of each kind that are printed
WIDE = 160  # characters of a row's key that are printed
COLUMNS = ("table", "kind", "column", "row", "a", "b")

Line = tuple[str, str, str, str, str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    for side in ("a", "b"):
        parser.add_argument(side, type=Path, metavar=side.upper(), help="results/EDITION, or an edition's archive")
    parser.add_argument(
        "--tolerance",
        type=_tolerance,
        default=1e-9,
        metavar="NUMBER",
        help="floats a and b are equal if |a - b| is at most this number times the largest of 1, |a| and |b| [1e-9]",
    )
    parser.add_argument("--all", action="store_true", help=f"print every difference, not the first {FEW} of each kind")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write every difference there, as CSV")


def _tolerance(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text} is no tolerance; give a number from 0")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Print the differences table by table, then the totals; return 1 if there are any, else 0."""
    with opened(arguments.a) as a, opened(arguments.b) as b, _listing(arguments.output) as write:
        shared = sum(path_a is not None and path_b is not None for _, path_a, path_b in pairs(a, b))
        aside = sum(not_carried(*pair, a, b) for pair in pairs(a, b))
        print(f"A: {a.root}, {len(a.names)} tables\nB: {b.root}, {len(b.names)} tables")
        counts = {"differ": 0, "table only in A": 0, "table only in B": 0}
        for table, found in groupby(differences(a, b, arguments.tolerance), lambda one: one.table):
            kind = _print_table(table, found, None if arguments.all else FEW, write)
            counts[kind if kind in counts else "differ"] += 1
    only = f"{counts['table only in A']} only in A, {counts['table only in B']} only in B"
    if aside:
        only += f"; {aside} not compared: archives do not carry them, since they can be made again"
    print(f"{shared} tables on both sides, {counts['differ']} of them differ; {only}")
    return int(any(counts.values()))


def _print_table(
    table: str, found: Iterator[Difference], most: int | None, write: Callable[[list[Line]], object] | None
) -> Kind:
    """Print the counts of a table's differences and the first ``most`` of each kind; return the kind of the first."""
    counts = Counter[tuple[Kind, str | None]]()
    shown: dict[tuple[Kind, str | None], list[Line]] = defaultdict(list)
    for one in found:
        what = one.kind, one.column
        counts[what] += one.count
        left = None if most is None else most - len(shown[what])
        lines = list(_lines(one, None if write else left))
        if write:
            write(lines)
        shown[what] += lines[:left]
    print(f"{table}: " + "; ".join(_counted(*what, count) for what, count in counts.items()))
    for lines in shown.values():
        for _, kind, column, row, in_a, in_b in lines:
            if row or in_a:
                values = f"{column}: {in_a or 'nothing'} | {in_b or 'nothing'}" if column else kind
                print(f"  {values} {row if len(row) <= WIDE else row[: WIDE - 1] + '…'}".rstrip())
    return next(iter(counts))[0]


def _counted(kind: Kind, column: str | None, count: int) -> str:
    if kind == "value":
        return f"{column} differs in {count:,} rows"
    if column is not None:
        return kind.replace("column", f"column {column}")
    return kind.removeprefix("table ") if kind.startswith("table") else kind.replace("row", f"{count:,} rows")


def _lines(one: Difference, most: int | None) -> Iterator[Line]:
    """Yield the first ``most`` rows of a difference (None: all) as texts; ``row`` is the JSON of the row's key."""
    if one.rows is None:
        yield one.table, one.kind, one.column or "", "", "", ""
        return
    rows = one.rows if most is None else one.rows.head(most)
    named = rows.drop(IN_A, IN_B, strict=False)
    keys = _json(named) if named.width else [""] * rows.height
    values = [_texts(rows[side]) if side in rows.columns else [""] * rows.height for side in (IN_A, IN_B)]
    for row, in_a, in_b in zip(keys, *values, strict=True):
        yield one.table, one.kind, one.column or "", row, in_a, in_b


def _json(rows: pl.DataFrame) -> list[str]:
    return rows.select(pl.struct(pl.all()).struct.json_encode()).to_series().to_list()


def _texts(values: pl.Series) -> list[str]:
    """Return values as strings: lists as JSON, missing values as empty strings."""
    if values.dtype.is_nested():
        start = len('{"a":')
        return [text[start:-1] for text in _json(values.alias("a").to_frame())]
    return values.cast(pl.String).fill_null("").to_list()


@contextmanager
def _listing(path: Path | None) -> Iterator[Callable[[list[Line]], object] | None]:
    """Yield a function that writes lines into a CSV file, which exists when the block ends; None without a path."""
    if path is None:
        yield None
        return
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        yield writer.writerows
