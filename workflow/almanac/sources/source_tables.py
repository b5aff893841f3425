"""The tables that every source returns, and the function that writes them.

A source is a module `sources/KIND.py` with a pure function ``read(options, folder) -> SourceTables``. It reads a folder
of frozen files: raw server responses or downloads.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from almanac import tables
from almanac.rows import BucketSize, Entity, Evidence, Fact, Omission, Popularity, Relation, Template

# Rows of a table: a list of its dataclass, which is sorted by key and checked when written; or, for large tables, an
# iterator over Arrow batches, whose producer is responsible for sorted and unique keys.
Rows = Iterable[Any]

STREAMED: dict[str, type] = {
    "entities": Entity,
    "relations": Relation,
    "facts": Fact,
    "templates": Template,
    "popularity": Popularity,
    "buckets": BucketSize,
    "evidence": Evidence,
}
ROWS: dict[str, type] = {**STREAMED, "omissions": Omission}


class Omissions:
    """Counts the rows that a source leaves out, by table and reason, with one example of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, table: str, reason: str, example: object, count: int = 1) -> None:
        """Count omitted rows; an ``example`` that is no text is shown as JSON."""
        if count:
            before, first = self._found.get((table, reason), (0, _text(example)))
            self._found[table, reason] = before + count, first

    def rows(self) -> list[Omission]:
        """Return the counts, sorted by table and reason."""
        return [Omission(*key, count, example) for key, (count, example) in sorted(self._found.items())]


def distinct(templates: Iterable[Template], omitted: Omissions) -> Iterator[Template]:
    """Yield the templates that have each slot exactly once; of those that differ only in case and spaces the first.

    Args:
        templates: statements, with [X] and [Y], or questions, with [X] alone.
        omitted: counts the templates that are left out.
    """
    seen = set()
    for row in templates:
        key = row.relation_id, row.style, " ".join(row.text.lower().split())
        if any(row.text.count(slot) != 1 for slot in ("[X]", "[Y]")[: 1 if row.style == "question" else 2]):
            omitted.add("templates", "a slot is missing or stands twice", f"{row.template_id}: {row.text}")
        elif key in seen:
            omitted.add("templates", "another says the same", row.template_id)
        else:
            seen.add(key)
            yield row


def _text(example: object) -> str:
    text = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False, default=str)
    return text[:200]


@dataclass(frozen=True)
class SourceTables:
    """The tables of one source. Each is a list of rows, or an iterator over `pyarrow` batches or tables.

    ``omissions`` is written last, so that iterators may add to it while they are consumed.
    """

    entities: Rows
    relations: Rows = ()
    facts: Rows = ()
    templates: Rows = ()
    popularity: Rows = ()
    buckets: Rows = ()
    evidence: Rows = ()
    omissions: Omissions = field(default_factory=Omissions)


def write(folder: Path, source: SourceTables) -> dict[str, int]:
    """Write a source's tables as ``TABLE.parquet``; empty tables are written too.

    Returns:
        The number of rows of each table.

    Raises:
        AlmanacError: naming a row that does not fit its table, or a key that a list holds twice.
    """
    counts = {
        table: _write(folder / f"{table}.parquet", row, getattr(source, table)) for table, row in STREAMED.items()
    }
    counts["omissions"] = tables.write(folder / "omissions.parquet", Omission, source.omissions.rows())
    return counts


def _write(path: Path, row: type, rows: Rows) -> int:
    if isinstance(rows, pa.Table | pa.RecordBatch):
        return tables.write_batches(path, row, [rows])
    if isinstance(rows, list | tuple):
        key = row.KEY  # type: ignore[attr-defined]  # every row class has one
        return tables.write(path, row, sorted(rows, key=lambda one: tuple(getattr(one, name) for name in key)))
    return tables.write_batches(path, row, rows)
