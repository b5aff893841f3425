"""Compare two result folders or editions, table by table, whatever the order of their rows.

Rows are matched by the key of their row class, which the table's path in the layout or its name tells, or else by all
columns without floats. To save memory with millions of rows, whole rows are first compared by 64-bit hashes, and only
those that differ are read.
"""

import math
import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import polars as pl

from almanac import unfinished
from almanac.columns import schema
from almanac.edition.asking import TABLES as REQUEST_TABLES
from almanac.edition.layout import DATASET_TABLES, RECORD, Layout
from almanac.edition.manifest import reading
from almanac.errors import AlmanacError
from almanac.sealed import check_table
from almanac.suites.listing import SUITES

NAMED = (DATASET_TABLES, REQUEST_TABLES)  # row classes by name, for tables whose path is not in the layout
# Tables that archives do not carry, since they can be made again.
MADE_AGAIN = {name for suite in SUITES.values() for name, own in suite.own.items() if not own.frozen}
ENDINGS = (".parquet", ".jsonl")  # file endings of tables
BLOCK = 50_000  # rows that are read together
AT, IN_A, IN_B = "\0at", "\0a", "\0b"  # columns of row numbers and of values; no table has columns of these names

Kind = Literal[
    "table only in A",
    "table only in B",
    "column only in A",
    "column only in B",
    "column of another type",
    "row only in A",
    "row only in B",
    "value",
]


@dataclass(frozen=True)
class Side:
    """One side of the comparison: a folder, or the zip archive of one, and the paths of its tables."""

    root: Path
    archive: zipfile.ZipFile | None
    names: frozenset[str]

    @contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """Yield the path of a file; a file in an archive is copied to a temporary folder meanwhile.

        Raises:
            AlmanacError: it cannot be read.
        """
        if self.archive is None:
            yield self.root / name
            return
        with unfinished.folder() as folder:
            copy = folder / PurePosixPath(name).name
            with reading(self.archive, self.root, name) as packed, copy.open("wb") as out:
                shutil.copyfileobj(packed, out)
            yield copy

    def placed(self) -> dict[str, type]:
        """Return the row class of each table in the recorded edition's layout, by the table's path without ending."""
        try:
            with self.file(RECORD) as record:
                layout = Layout.open(record.parent)
                tables = layout.tables()
        except (AlmanacError, KeyError):  # no edition, or an edition of another version
            return {}
        return {path.relative_to(layout.root).with_suffix("").as_posix(): row for path, row in tables.items()}


@contextmanager
def opened(root: Path) -> Iterator[Side]:
    """Open a result folder, an unpacked edition or an edition's archive.

    Raises:
        AlmanacError: it is none of these, or holds no table.
    """
    if not (root.is_dir() or zipfile.is_zipfile(root)):
        raise AlmanacError(f"{root}: is no folder and no zip archive; name results/EDITION or an edition's archive")
    with nullcontext() if root.is_dir() else zipfile.ZipFile(root) as archive:
        if archive is None:
            found = (Path(folder, name) for folder, _, files in os.walk(root, followlinks=True) for name in files)
            names = [path.relative_to(root).as_posix() for path in found if path.is_file()]
        else:
            names = archive.namelist()
        tables = [name for name in names if name.endswith(ENDINGS) and not PurePosixPath(name).name.startswith(".")]
        if not tables:
            raise AlmanacError(f"{root}: holds no table ({' or '.join(ENDINGS)}); name results/EDITION or an edition")
        yield Side(root, archive, frozenset(tables))


def pairs(a: Side, b: Side) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each table's name, and its path on each side (None if absent).

    A table may be Parquet on one side and JSON Lines on the other, so its name is its path without the ending. If one
    side has both, each file is a table of its own, and its name has the ending.
    """
    paths: dict[str, tuple[list[str], list[str]]] = {}
    for which, side in enumerate((a, b)):
        for name in sorted(side.names):
            paths.setdefault(str(PurePosixPath(name).with_suffix("")), ([], []))[which].append(name)
    for table, (names_a, names_b) in sorted(paths.items()):
        if len(names_a) <= 1 and len(names_b) <= 1:
            yield table, next(iter(names_a), None), next(iter(names_b), None)
        else:
            for name in sorted({*names_a, *names_b}):
                yield name, name if name in names_a else None, name if name in names_b else None


@dataclass(frozen=True)
class Difference:
    """Differences of one kind in a table.

    Attributes:
        table: the table's name, as in `pairs`.
        kind: what differs: the table, a column, rows, or values of a column.
        column: the column, if a column or its values differ.
        count: how many rows differ in this way; 1 if a table or column differs.
        rows: for rows, the columns of their key (all columns if the key is empty); for values, also the columns `IN_A`
            and `IN_B` with both values; for a column of another type, `IN_A` and `IN_B` with both types.
    """

    table: str
    kind: Kind
    column: str | None = None
    count: int = 1
    rows: pl.DataFrame | None = None


def differences(a: Side, b: Side, tolerance: float) -> Iterator[Difference]:
    """Yield the differences of two sides, table by table.

    Floats a and b count as equal if ``|a - b| <= tolerance * max(1, |a|, |b|)``.

    Raises:
        AlmanacError: a table cannot be read; the message names it.
    """
    placed = b.placed() | a.placed()
    for table, path_a, path_b in pairs(a, b):
        if path_a is None or path_b is None:
            if not_carried(table, path_a, path_b, a, b):
                continue
            yield Difference(table, "table only in A" if path_b is None else "table only in B")
            continue
        place = PurePosixPath(path_a).with_suffix("")
        rows = [placed[str(place)]] if str(place) in placed else []
        rows += [named[place.name] for named in NAMED if place.name in named]
        with a.file(path_a) as first, b.file(path_b) as second:
            try:
                yield from compared(table, _scan(first, rows), _scan(second, rows), rows, tolerance)
            except pl.exceptions.PolarsError as error:
                reason = str(error).partition("\n")[0]
                raise AlmanacError(f"{table}: cannot be read on one side ({reason}); is it whole?") from error


def not_carried(table: str, path_a: str | None, path_b: str | None, a: Side, b: Side) -> bool:
    """Whether a table is missing on one side only because archives do not carry it, as it can be made again."""
    archived = a.archive is not None or b.archive is not None
    return None in (path_a, path_b) and archived and PurePosixPath(table).name in MADE_AGAIN


def _scan(path: Path, rows: Sequence[type]) -> pl.LazyFrame:
    """Scan a table; ``rows`` are the row classes that it may have.

    JSON Lines leave out missing values, so nullable key columns that a file lacks are added, filled with nulls.
    """
    if path.suffix == ".parquet":
        check_table(path)
        return pl.scan_parquet(path)
    if not path.stat().st_size:
        return pl.LazyFrame()
    found = pl.scan_ndjson(path, infer_schema_length=None).collect_schema()  # infer it once, not at every read
    empty = (field.name for row in rows for field in schema(row) if field.nullable and field.name in _key(row))
    lacking = dict.fromkeys(name for name in empty if name not in found)
    return pl.scan_ndjson(path, schema=found).with_columns(pl.lit(None).alias(name) for name in lacking)


def _key(row: type) -> tuple[str, ...]:
    return getattr(row, "KEY", ())


def compared(
    table: str, a: pl.LazyFrame, b: pl.LazyFrame, rows: Sequence[type], tolerance: float
) -> Iterator[Difference]:
    """Yield the differences of two tables of one name; see `differences`.

    The key is that of the first row class in ``rows`` whose key columns both sides have, else all columns but floats.
    """
    types_a, types_b = a.collect_schema(), b.collect_schema()
    if not types_a and not types_b:
        return
    if not types_a:  # an empty file of JSON Lines, which has no columns
        a, types_a = pl.LazyFrame(schema=types_b), types_b
    elif not types_b:
        b, types_b = pl.LazyFrame(schema=types_a), types_a
    for column in (name for name in types_a if name not in types_b and _has_values(a, name)):
        yield Difference(table, "column only in A", column)
    for column in (name for name in types_b if name not in types_a and _has_values(b, name)):
        yield Difference(table, "column only in B", column)
    shared = {name: _common(kind, types_b[name]) for name, kind in types_a.items() if name in types_b}
    for column in (name for name, kind in shared.items() if kind is None):
        types = pl.DataFrame({IN_A: [str(types_a[column])], IN_B: [str(types_b[column])]})
        yield Difference(table, "column of another type", column, 1, types)
    comparable = [pl.col(name).cast(kind) if kind is not None else _json(name) for name, kind in shared.items()]
    exact = [name for name, kind in shared.items() if not _is_float(kind)]
    key = next((_key(row) for row in rows if _key(row) and set(_key(row)) <= set(shared)), exact)
    yield from _rows(table, a.select(comparable), b.select(comparable), key, tolerance)


def _has_values(frame: pl.LazyFrame, column: str) -> bool:
    return bool(frame.select(pl.col(column).is_not_null().any()).collect(engine="streaming").item())


def _common(a: pl.DataType, b: pl.DataType) -> pl.DataType | None:
    """Return the type to which two columns are cast for comparison; None if they are compared as JSON."""
    if a == b == pl.Null:
        return pl.String()
    if pl.Null in (a, b):
        return b if a == pl.Null else a
    if a == b:
        return a
    if a.is_numeric() and b.is_numeric():
        return pl.Float64() if a.is_float() or b.is_float() else pl.Int64()
    if isinstance(a, pl.List) and isinstance(b, pl.List):
        inner = _common(a.inner, b.inner)  # type: ignore[arg-type]  # an instance, where a schema holds it
        return None if inner is None else pl.List(inner)
    return None


def _is_float(kind: pl.DataType | None) -> bool:
    return _is_float(kind.inner) if isinstance(kind, pl.List) else kind is not None and kind.is_float()  # type: ignore[arg-type]


def _json(name: str) -> pl.Expr:
    return pl.struct(name).struct.json_encode().alias(name)


def _rows(table: str, a: pl.LazyFrame, b: pl.LazyFrame, key: Sequence[str], tolerance: float) -> Iterator[Difference]:
    """Yield the rows that only one of two tables has, and the values that differ; both have the same columns."""
    first, second = _hashed(a, key), _hashed(b, key)
    same, shown = ["key", "row", "turn"], list(key) or list(a.collect_schema())
    first, second = first.join(second, on=same, how="anti"), second.join(first, on=same, how="anti")
    # Several rows may share a key: sort them by the sum of their floats on each side, and compare the first with the
    # first, the second with the second, and so on.
    first, second = (_in_turn(rest.sort("key", "size", AT), "key") for rest in (first, second))
    for block in _blocks(first.join(second, on=["key", "turn"], how="anti")):
        yield Difference(table, "row only in A", None, block.height, _read(a.select(shown), block[AT]))
    for block in _blocks(second.join(first, on=["key", "turn"], how="anti")):
        yield Difference(table, "row only in B", None, block.height, _read(b.select(shown), block[AT]))
    for block in _blocks(first.join(second, on=["key", "turn"], suffix=IN_B)):
        left, right = _read(a, block[AT]), _read(b, block[AT + IN_B])
        for column in (name for name in left.columns if name not in key):
            far = _differs(left[column], right[column], tolerance)
            if far.any():
                values = (
                    left.select(shown).with_columns(left[column].alias(IN_A), right[column].alias(IN_B)).filter(far)
                )
                yield Difference(table, "value", column, values.height, values)


def _blocks(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield rows ordered by row number, `BLOCK` at a time, so that each block reads one stretch of a table."""
    ordered = rows.sort(AT)
    return (ordered[start : start + BLOCK] for start in range(0, rows.height, BLOCK))


def _hashed(frame: pl.LazyFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return of each row its number (`AT`), hashes of its key and of the whole row, and the sum of floats (``size``).

    Columns have other weights in the sum, since rows of equal sums would have another order if a last digit differs.
    The column ``turn`` numbers identical rows from 0.
    """
    schema = frame.collect_schema()
    floats = [
        pl.col(name).list.sum() if isinstance(kind, pl.List) else pl.col(name)
        for name, kind in schema.items()
        if _is_float(kind)
    ]
    weighted = [one.cast(pl.Float64) * math.pi**-at for at, one in enumerate(floats)]
    size = pl.sum_horizontal(*weighted) if weighted else pl.lit(0.0)
    hashes = {"key": pl.struct(key or pl.lit(0)).hash(), "row": pl.struct(pl.all().exclude(AT)).hash()}
    found = frame.with_row_index(AT).select(AT, **hashes, size=size).collect(engine="streaming")
    return _in_turn(found, "key", "row")


def _in_turn(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    return rows.with_columns(turn=pl.int_range(pl.len()).over(by))


def _read(frame: pl.LazyFrame, places: pl.Series) -> pl.DataFrame:
    """Return the rows of a table with the given row numbers, in their order."""
    first, last = int(places.min()), int(places.max())  # type: ignore[arg-type]  # there is a place
    near = frame.with_row_index(AT).slice(first, last - first + 1)
    found = near.filter(pl.col(AT).is_in(places.implode())).collect(engine="streaming")
    return places.to_frame(AT).join(found, on=AT, how="left", maintain_order="left").drop(AT)


def _differs(a: pl.Series, b: pl.Series, tolerance: float) -> pl.Series:
    """Return where two columns differ, as booleans; two missing values are equal, and so are two NaN."""
    far = ~a.eq_missing(b)
    if isinstance(a.dtype, pl.List) and _is_float(a.dtype):
        as_long = far & a.list.len().eq_missing(b.list.len())
        cells = pl.DataFrame({"a": a, "b": b}).with_row_index(AT).filter(as_long).explode("a", "b")
        apart = cells.filter(_differs(cells["a"], cells["b"], tolerance))[AT].unique()
        return (far & ~as_long).scatter(apart, True)
    if a.dtype.is_float():
        gap = (a - b).abs()
        most = pl.select(pl.max_horizontal(a.abs(), b.abs(), pl.lit(1.0, a.dtype))).to_series() * tolerance
        return far & ~((gap <= most) & gap.is_finite()).fill_null(False)
    return far
