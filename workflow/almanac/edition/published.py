"""A published edition: what the project carries of it, and how a rebuild compares.

Its folder, ``resources/editions/NAME``, has the manifest of the archive, with the digest to cite, and the tables that
readers cite: what was found, what is recovered of planted knowledge, how methods agree.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from almanac import tables
from almanac.edition.archive import LINES
from almanac.edition.layout import Layout
from almanac.edition.manifest import MANIFEST, Manifest, digest, written
from almanac.errors import AlmanacError, no_such

FOLDER = Path(__file__).resolve().parents[3] / "resources" / "editions"
# The tables, with the columns that name a row.
CARRIED: Mapping[str, tuple[str, ...]] = {
    "findings": ("model", "of", "method"),
    "validation": ("suite", "method", "where", "model"),
    "agreement-pairs": ("model", "of", "one", "other"),
}
# What no model has a say in: the facts, the worlds, what is asked and what planted models read.
FIXED = ("sources/", "planting/", "dataset/", "requests/")
ANSWERS = "responses/"
ENDS = (", low", ", high"), ("_low", "_high")  # how the columns of an interval are named after that of its number
AGAIN = "\0"  # ends the name of a rebuilt column
SAME = 1e-9  # a library may round its last digit differently
OUTSIDE = 0.05  # the share of numbers that may leave their 95 % intervals where other weights answered


@dataclass(frozen=True)
class Rebuild:
    """How a rebuild compares with what was published.

    Attributes:
        fixed: files that no model has a say in.
        changed: those of them that differ, or are on one side only.
        answers: files of responses.
        others: those of them that differ: other weights have answered.
        numbers: numbers that were compared: all where the answers are equal, else those with an interval.
        apart: those that differ where the answers are equal, else those outside the published interval, in words.
        missing: rows on one side only, in words.
    """

    fixed: int
    changed: Sequence[str]
    answers: int
    others: Sequence[str]
    numbers: int
    apart: Sequence[str]
    missing: Sequence[str]

    @property
    def agrees(self) -> bool:
        """Return whether it is the same edition, for all that another machine can tell."""
        allowed = OUTSIDE * self.numbers if self.others else 0
        return not (self.changed or self.missing) and len(self.apart) <= allowed


def publish(layout: Layout, manifest: Mapping[str, Any], folder: Path) -> None:
    """Write what the project carries of an edition: manifest, tables, and a page of Markdown with its findings.

    Args:
        layout: the edition, its page drawn.
        manifest: of its archive.
        folder: where to; what lies there of an earlier state is replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tables.atomic(folder / MANIFEST) as temporary:
        temporary.write_bytes(written(manifest))
    for name in CARRIED:
        source = layout.shown("tables") / f"{name}.csv"
        if source.is_file():  # an edition without planted models recovers nothing
            shutil.copyfile(source, folder / source.name)
    findings = (layout.shown("tables") / "findings.md").read_text(encoding="utf-8")
    made = f"Made with Almanac {manifest['almanac']}. Digest `{manifest['digest']}`."
    said = f"# {layout.config.title}\n\n{made}\n\n{findings}"
    with tables.atomic(folder / "README.md") as temporary:
        temporary.write_text(said, encoding="utf-8")


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return the manifest of a published edition.

    Raises:
        AlmanacError: there is none, or it is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise AlmanacError(f"{no_such(folder, 'published edition')} (it would hold a {MANIFEST})")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Manifest.model_validate(found)
        if digest(found) != found["digest"]:
            raise ValueError("its digest is not of what it says")
    except ValueError as error:
        raise AlmanacError(f"{path}: is damaged ({error}); get the project's file again") from error
    return found


def recovered(edition: str) -> list[dict[str, Any]]:
    """Return what methods recover of planted knowledge in a published edition, by `rows.Validation`'s columns."""
    path = FOLDER / edition / "validation.csv"
    return pl.read_csv(path, infer_schema_length=None).to_dicts() if path.is_file() else []


def rebuilt(layout: Layout, manifest: Mapping[str, Any], folder: Path) -> Rebuild:
    """Hold a rebuilt edition against the published one.

    Args:
        layout: the rebuild, unpacked.
        manifest: of its archive.
        folder: of the published edition.
    """
    was, now = ({one["path"]: one["sha256"] for one in own["files"]} for own in (manifest_of(folder), manifest))

    def unlike(starts: tuple[str, ...] | str) -> tuple[int, list[str]]:
        names = sorted(name for name in {*was, *now} if name.startswith(starts) and name.endswith(LINES))
        return len(names), [name for name in names if was.get(name) != now.get(name)]

    fixed, changed = unlike(FIXED)
    answers, others = unlike(ANSWERS)
    numbers, apart, missing = 0, list[str](), list[str]()
    for name, key in CARRIED.items():
        published = folder / f"{name}.csv"
        if not published.is_file():
            continue
        first, second = (_read(path, key) for path in (published, layout.shown("tables") / published.name))
        for one, other, where in ((first, second, "was published alone"), (second, first, "is rebuilt alone")):
            missing += [
                f"{name}: {_named(row)}: {where}" for row in one.join(other, on=key, how="anti").select(key).rows()
            ]
        for column, compared, far in _compared(first.join(second, on=key, suffix=AGAIN), key, loosely=bool(others)):
            numbers += compared
            for *row, before, after in far.rows():
                apart.append(f"{name}: {_named(row)}: {column}: {before} was published, rebuilt it is {after}")
    return Rebuild(fixed, changed, answers, others, numbers, apart, missing)


def _read(path: Path, key: Sequence[str]) -> pl.DataFrame:
    """Return a table as it was written: columns that hold only numbers as such, the others as texts."""
    frame = pl.read_csv(path, infer_schema_length=None, schema_overrides=dict.fromkeys(key, pl.String))
    return frame.with_columns(pl.col(pl.Int64).cast(pl.Float64), pl.col(pl.Boolean).cast(pl.String))


def _named(row: Sequence[object]) -> str:
    return ", ".join(map(str, row))


def _compared(rows: pl.DataFrame, key: Sequence[str], loosely: bool) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Yield of each column how many values were compared, and those that are too far from what was published.

    Args:
        rows: published values, and under names that end in `AGAIN` the rebuilt ones.
        key: the columns that name a row.
        loosely: compare numbers that have an interval with that alone, and no other numbers.
    """
    for column in (name for name in rows.columns if f"{name}{AGAIN}" in rows.columns):
        was, now = pl.col(column), pl.col(f"{column}{AGAIN}")
        far, said = ~was.eq_missing(now), was.cast(pl.String)
        ends = next(([column + one for one in both] for both in ENDS if column + both[0] in rows.columns), None)
        own = rows
        if rows.schema[column].is_float() and not loosely:
            near = (was - now).abs() <= SAME * pl.max_horizontal(was.abs(), pl.lit(1.0))
            far &= ~near.fill_null(False)
        elif rows.schema[column].is_float() and ends is not None:
            low, high = ends
            far, said = ~now.is_between(low, high), pl.format("{} [{}, {}]", column, low, high)
            own = rows.drop_nulls([column, f"{column}{AGAIN}", *ends])
        elif rows.schema[column].is_float():
            continue
        yield column, own.height, own.filter(far).select(*key, said.alias("was"), now.alias("is"))
