"""A published edition: the part of it that the project's repository has, and its comparison with a rebuild.

Its folder, ``resources/editions/NAME``, has the manifest of the archive, with the digest to cite, and the tables that
readers cite: findings, recovery of planted knowledge, agreement of methods.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from almanac import tables
from almanac.edition.layout import ALL, Layout
from almanac.edition.manifest import MANIFEST, parsed, written
from almanac.edition.packing import LINES
from almanac.errors import AlmanacError, no_such
from almanac.project import RESOURCES

FOLDER = RESOURCES / "editions"
# The tables, with their key columns and a description.
CARRIED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "findings": (("model", "of", "method"), "what each method found in each model"),
    "validation": (("suite", "method", "where", "model"), "what each method recovers of what was taught"),
    "standings": (("axis", "level", "suite", "method", "where"), "which recovers it best, and whether that stands"),
    "agreement-pairs": (("model", "of", "one", "other"), "how each two methods agree on the same facts"),
}
OF_MANIFEST = "the digest to cite, and the sha256 of every file of the archive"
# FIXED: tables that depend on no model's answers: facts, worlds, texts for planted models, and requests that are the
# same for all models. ANSWERS: responses, and requests made from one model's earlier responses.
FIXED = re.compile(rf"(sources|planting|dataset)/|requests(/[^/]+){{3}}/{ALL}/")
ANSWERS = re.compile(rf"responses/|requests(/[^/]+){{3}}/(?!{ALL}/)")
FIGURE = re.compile(r"\]\(\.\./figures/([^)]+\.svg)\)")  # in the summary, which lies next to the folder of figures
ENDS = (", low", ", high"), ("_low", "_high")  # suffixes of an interval's columns, after the name of the value's column
AGAIN, NTH = "\0", "\0nth"  # suffix of rebuilt columns; column with the number of a row among those of the same key
SIDES = "in the published edition", "in the rebuild"
SAME = 1e-9  # relative tolerance: libraries may round the last digit differently
OUTSIDE = 0.05  # the share of values that may lie outside their 95 % intervals if other weights answered


@dataclass(frozen=True)
class Rebuild:
    """The comparison of a rebuild with the published edition.

    Attributes:
        fixed: number of tables that do not depend on any answer.
        changed: names of the fixed tables that differ, or are on one side only.
        answers: number of files of responses, and of requests made from one model's earlier responses.
        others: names of these files that differ, which means that other weights have answered.
        values: number of compared values: all if the answers are equal, else only values with an interval.
        apart: a message for each value that differs, or, if the answers differ, lies outside the published interval.
        missing: a message for each table or row on one side only, and for each column that the rebuild lacks.
        added: a message for each column that the published edition lacks (a later Almanac may add columns).
    """

    fixed: int
    changed: Sequence[str]
    answers: int
    others: Sequence[str]
    values: int
    apart: Sequence[str]
    missing: Sequence[str]
    added: Sequence[str] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing changed or is missing, and no value is apart (with other answers, at most `OUTSIDE`)."""
        allowed = OUTSIDE * self.values if self.others else 0
        return not (self.changed or self.missing) and len(self.apart) <= allowed


def publish(layout: Layout, manifest: Mapping[str, Any], folder: Path) -> None:
    """Write the published folder of an edition: manifest, tables, a Markdown page with its summary, and figures.

    The edition's page must have been drawn. An earlier version in the folder is replaced.

    Raises:
        AlmanacError: the folder has files, but no published edition.
    """
    if folder.is_dir() and not (folder / MANIFEST).is_file() and (others := sorted(folder.iterdir())):
        raise AlmanacError(f"{folder}: holds {others[0].name}, and no published edition; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tables.atomic(folder / MANIFEST) as temporary:
        temporary.write_bytes(written(manifest))
    listed = [f"- [`{MANIFEST}`]({MANIFEST}): {OF_MANIFEST}"]
    for name, (_, what) in CARRIED.items():
        source, target = layout.shown("tables") / f"{name}.csv", folder / f"{name}.csv"
        target.unlink(missing_ok=True)
        if source.is_file():  # no two methods may have asked the same facts
            shutil.copyfile(source, target)
            listed.append(f"- [`{target.name}`]({target.name}): {what}")
    summary = (layout.shown("tables") / "summary.md").read_text(encoding="utf-8")
    for path in folder.glob("*.svg"):
        path.unlink()
    for name in FIGURE.findall(summary):
        shutil.copyfile(layout.shown("figures") / name, folder / name)
    summary = FIGURE.sub(r"](\1)", summary)
    made = f"Made with Almanac {manifest['almanac']}. Digest `{manifest['digest']}`."
    page = "\n\n".join([f"# {layout.config.title}", made, "\n".join(listed), summary])
    tables.write_text(folder / "README.md", page)


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return the manifest of a published edition.

    Raises:
        AlmanacError: there is no manifest, or it is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise AlmanacError(f"{no_such(folder, 'published edition')} (it would hold a {MANIFEST})")
    return parsed(path.read_bytes(), str(path))[0]


def carried(edition: str, table: str) -> list[Any]:
    """Return the rows of a published edition's table (`CARRIED`) as objects with the columns as attributes."""
    rows = pl.read_csv(FOLDER / edition / f"{table}.csv", infer_schema_length=None).to_dicts()
    return [SimpleNamespace(**row) for row in rows]


def rebuilt(layout: Layout, manifest: Mapping[str, Any], folder: Path) -> Rebuild:
    """Compare a rebuilt, unpacked edition and the manifest of its archive with the folder of the published edition."""
    was, now = ({one["path"]: one["sha256"] for one in own["files"]} for own in (manifest_of(folder), manifest))

    def unlike(of: re.Pattern[str]) -> tuple[int, list[str]]:
        names = sorted(name for name in {*was, *now} if of.match(name) and name.endswith(LINES))
        return len(names), [name for name in names if was.get(name) != now.get(name)]

    fixed, changed = unlike(FIXED)
    answers, others = unlike(ANSWERS)
    values, apart, missing, added = 0, list[str](), list[str](), list[str]()
    for name, (key, _) in CARRIED.items():
        paths = folder / f"{name}.csv", layout.shown("tables") / f"{name}.csv"
        if not (paths[0].is_file() and paths[1].is_file()):
            missing += [f"{name}: only {where}" for path, where in zip(paths, SIDES, strict=True) if path.is_file()]
            continue
        first, second = (_read(path, key) for path in paths)
        for one, other, where, columns in ((first, second, SIDES[0], missing), (second, first, SIDES[1], added)):
            alone = one.join(other, on=[*key, NTH], how="anti").select(key).rows()
            missing += [f"{name}: {_named(row)}: only {where}" for row in alone]
            columns += [f"{name}: column {column!r}: only {where}" for column in one.columns if column not in other]
        for column, compared, far in _compared(first, second, key, loosely=bool(others)):
            values += compared
            for *row, before, after in far.rows():
                apart.append(f"{name}: {_named(row)}: {column}: {before} was published, rebuilt it is {after}")
    return Rebuild(fixed, changed, answers, others, values, apart, missing, added)


def _read(path: Path, key: Sequence[str]) -> pl.DataFrame:
    """Return a table as strings, with rows of the same key numbered: two settings of a method may share its name."""
    rows = pl.read_csv(path, infer_schema=False).with_columns(pl.col(key).fill_null(""))
    return rows.with_columns(pl.int_range(pl.len()).over(key).alias(NTH))


def _named(row: Sequence[object]) -> str:
    return ", ".join(map(str, row))


def _compared(
    first: pl.DataFrame, second: pl.DataFrame, key: Sequence[str], loosely: bool
) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Yield each column, the number of compared values, and the rows that differ too much from the published table.

    ``first`` is the published table. ``loosely``: compare only values with an interval; they must lie in the published
    interval.
    """
    rows = first.join(second, on=[*key, NTH], suffix=AGAIN)
    for column in (name for name in first.columns if name in second.columns and name not in (*key, NTH)):
        was, now = (pl.col(name).cast(pl.Float64, strict=False) for name in (column, column + AGAIN))
        ends = next(([column + one for one in both] for both in ENDS if column + both[0] in first.columns), None)
        if not loosely:
            same = pl.col(column).eq_missing(pl.col(column + AGAIN))
            near = (was - now).abs() <= SAME * pl.max_horizontal(was.abs(), pl.lit(1.0))
            own, far, before = rows, ~(same | near.fill_null(False)), pl.col(column)
        elif ends is not None:
            low, high = (pl.col(one).cast(pl.Float64) for one in ends)
            own, far = rows.drop_nulls([column, *ends]), ~now.is_between(low, high).fill_null(False)
            before = pl.format("{} [{}, {}]", column, *ends)
        else:
            continue
        yield column, own.height, own.filter(far).select(*key, before.alias("was"), pl.col(column + AGAIN).alias("is"))
