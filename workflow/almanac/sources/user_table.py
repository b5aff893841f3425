"""Reads a user's table into columns, and collects its mistakes by row.

Cells are stripped strings, null where empty, or lists of such strings. Invisible characters are removed and white space
is collapsed to single spaces, each with a note. Columns of strings stay in Arrow and polars; a column with any other
value is read cell by cell.
"""

import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from almanac.sources.records import (
    ARROW_LIST,
    LIST_SEPARATOR,
    LISTS,
    NO_FACTS,
    TABLES,
    Cells,
    Columns,
    RowBlock,
    counted,
    find,
    parts,
    place,
    readable,
    wrong_columns,
)
from almanac.sources.values import LONGEST

ROW = "row"  # the column of row numbers; see `records.RowBlock`
SHOWN = 20  # mistakes that are described; the others are only counted
LIST = pl.List(pl.String())
WHITE = "".join(char for char in map(chr, range(0x3001)) if char.isspace())  # what `str.strip` removes

# Invisible characters: control characters, direction marks, soft hyphens, zero-width spaces. The zero-width joiners,
# which Persian, Indic scripts and emoji need, are not among them.
UNSEEN = (
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufeff]"
)
SPACES = r" [\s\x1c-\x1f]+|[\s\x1c-\x1f--[ ]][\s\x1c-\x1f]*"  # (polars syntax) white space other than a single space
APART = r"[^\x00-\u02ff]"  # a text without such characters is in NFC already
SEEN_AS_IT_IS = "text"  # the column of sentences, which keep invisible characters and spaces

Check = tuple[pl.Expr, Callable[[dict[str, Any]], str]]  # a condition that marks wrong rows, and the message for a row


@dataclass
class UserTable:
    """A table of a folder, and its mistakes.

    Attributes:
        path: its file; if the table is absent, the folder and the table's name.
        rows: the column `ROW`, then every known column: stripped strings, null where empty, or lists of such strings.
            Rows with a mistake are removed.
        mistakes: (row number, message), 0 for the whole file; the first `SHOWN` of each check.
        count: the number of all mistakes.
        notes: warnings, such as that a cell was not read exactly as written.
        known: the first column of all rows, wrong ones included: the ids that other tables may refer to.
    """

    path: Path
    rows: pl.DataFrame
    mistakes: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    notes: list[str] = field(default_factory=list)
    known: list[pl.Series] = field(default_factory=list)
    _refused: int = 0

    def refuse(self, row: int, reason: str) -> None:
        """Record a mistake of a row."""
        if self._refused < SHOWN or not row:
            self.mistakes.append((row, reason))
        self._refused += 1
        self.count += 1

    def note(self, rows: pl.Series, reason: str) -> None:
        """Record that some rows (by number) were not read exactly as written; ``reason`` describes the first."""
        more = f" (and {len(rows) - 1} more rows so)" if len(rows) > 1 else ""
        self.notes.append(f"{place(self.path, rows[0])}: {reason}{more}")

    def named(self) -> pl.Series:
        """Return the first column, including wrong rows: a row that refers to a wrong row is not wrong itself."""
        return pl.concat([pl.Series(dtype=pl.String), *(one.rename("") for one in self.known)])

    def check(self, *checks: Check) -> None:
        """Remove the rows for which any check's condition holds, and record the message of the first such check."""
        first = pl.coalesce(pl.when(wrong).then(pl.lit(at, pl.UInt8)) for at, (wrong, _) in enumerate(checks))
        found = self.rows.select(first.alias("check")).to_series()
        if found.null_count() == len(found):
            return
        bad = self.rows.with_columns(found).filter(found.is_not_null())
        self.count += bad.height
        for row in bad.head(SHOWN).iter_rows(named=True):
            self.mistakes.append((row[ROW], checks[row["check"]][1](row)))
        self.rows = self.rows.filter(found.is_null())

    def first(self, row: Mapping[str, Any], *key: str) -> str:
        """Return the place (``line 3``) of the first row with the same values as ``row`` in the columns ``key``."""
        alike = self.rows.filter(*(pl.col(name) == row[name] for name in key))
        return counted(self.path, alike[ROW][0])

    def drop(self, dropped: pl.Expr, reason: Callable[[dict[str, Any]], str]) -> pl.DataFrame:
        """Remove rows that are not mistakes, record a note (the first row and their number), and return them."""
        out = self.rows.filter(dropped)
        if out.height:
            self.note(out[ROW], reason(out.row(0, named=True)))
            self.rows = self.rows.filter(dropped.not_().fill_null(True))
        return out

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row as its number and its cells by column; for small tables."""
        for record in self.rows.iter_rows(named=True):
            yield record.pop(ROW), record

    def take(self) -> pl.DataFrame:
        """Return the rows and release them from this table."""
        rows, self.rows = self.rows, self.rows.clear()
        return rows

    def lines(self) -> list[str]:
        """Return the mistakes with file and row, in the order of the rows."""
        ordered = sorted(self.mistakes, key=lambda mistake: mistake[0])
        return [f"{place(self.path, row)}: {reason}" if row else f"{self.path}: {reason}" for row, reason in ordered]


def read_table(folder: Path, name: str) -> UserTable:
    """Read a table of a folder; an absent table has no rows.

    Args:
        folder: the folder.
        name: one of `TABLES`.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    path = find(folder, name)
    return completed(folder / name, TABLES[name]) if path is None else read_file(path, TABLES[name])


def read_file(path: Path, known: Columns) -> UserTable:
    """Read a table; ignored columns are noted.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    out, names = completed(path, known), list[str]()
    empty = out.rows
    with readable(path):
        frames = [_frame(out, part) for part in parts(path, names, known)]
    if wrong := wrong_columns(names, known):
        return UserTable(path, empty, [(0, wrong)], 1)
    if others := [name for name in names if name not in known.names]:
        own = (name for name in known.names if name in names)
        out.notes.append(f"{path}: columns not read: {', '.join(map(repr, others))}; read: {', '.join(own)}")
    rows = pl.concat([empty, *frames])
    if known == TABLES["facts"] and rows.is_empty() and not out.count:
        return UserTable(path, empty, [(0, NO_FACTS)], 1)
    out.rows = _composed(out, _seen(out, rows))
    out.known.append(out.rows[known.required[0]])
    return out


def completed(path: Path, known: Columns, rows: pl.DataFrame | None = None) -> UserTable:
    """Return a table with all known columns: those in ``rows``, and empty ones; without ``rows``, an empty table."""
    rows = pl.DataFrame(schema={ROW: pl.Int64}) if rows is None else rows
    columns = [rows[name] if name in rows else _column(name, None, rows.height, {}) for name in known.names]
    out = UserTable(path, pl.DataFrame([rows[ROW], *columns]))
    out.known.append(out.rows[known.required[0]])
    return out


def _seen(out: UserTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Remove invisible characters and collapse white space to single spaces, with a note for each column."""
    for name, (pattern, new) in product(rows.columns[1:], ((UNSEEN, ""), (SPACES, " "))):
        if name == SEEN_AS_IT_IS:
            continue
        column = rows[name]
        texts = column.list.join(" ") if name in LISTS else column
        affected = texts.str.contains(pattern).fill_null(False)
        if not affected.any():
            continue
        first = texts.filter(affected)[0]
        seen = pl.element().str.replace_all(pattern, new).str.strip_chars(WHITE)
        mended = (
            column.list.eval(seen) if name in LISTS else column.str.replace_all(pattern, new).str.strip_chars(WHITE)
        )
        cleared = mended.list.eval(pl.element().filter(pl.element() != "")) if name in LISTS else mended
        rows = rows.with_columns(cleared if name in LISTS else cleared.set(cleared == "", None))
        unseen = re.search(UNSEEN, first)
        message = f"holds U+{ord(unseen[0]):04X}, an invisible character; it is left out" if unseen else ""
        out.note(rows[ROW].filter(affected), f"{name} {message or f'{first[:60]!r} is read with single spaces'}")
    return rows


def _composed(out: UserTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Normalise texts to NFC, so that texts that look the same are equal, with a note for each column."""
    for name in rows.columns[1:]:
        column = rows[name]
        texts = column.list.join("\n") if name in LISTS else column
        if not texts.str.contains(APART).any():
            continue
        form = pl.element().str.normalize("NFC")
        composed = column.list.eval(form) if name in LISTS else column.str.normalize("NFC")
        if (changed := (composed != column).fill_null(False)).any():
            rows = rows.with_columns(composed)
            first = texts.filter(changed)[0][:60]
            out.note(rows[ROW].filter(changed), f"{name} {first!r} is read with its accents composed")
    return rows


def _frame(out: UserTable, part: RowBlock) -> pl.DataFrame:
    """Return the valid rows of a part, and record the wrong ones in ``out``."""
    for number in part.ragged:
        out.refuse(number, 'has more or fewer cells than the header; quote a cell that holds a separator ("…")')
    wrong: dict[int, str] = {}
    columns = [_column(name, part.cells.get(name), len(part.numbers), wrong) for name in out.rows.columns[1:]]
    frame = pl.DataFrame([pl.Series(ROW, part.numbers, pl.Int64), *columns])
    for at, reason in wrong.items():
        out.refuse(part.numbers[at], reason)
    out.known.extend([frame[frame.columns[1]].gather(list(wrong))] if wrong else [])
    return frame.with_row_index("at").filter(~pl.col("at").is_in(list(wrong))).drop("at") if wrong else frame


def _column(name: str, cells: Cells | None, count: int, wrong: dict[int, str]) -> pl.Series:
    """Return a column of a table.

    Args:
        name: the column's name; those of `LISTS` hold lists.
        cells: Python objects or an Arrow array; None if the file lacks the column.
        count: the number of rows.
        wrong: receives the index and message of each row's first cell that is no text or list of texts.
    """
    if cells is None:
        empty = pl.Series(name, [[]], LIST) if name in LISTS else pl.Series(name, [None], pl.String)
        return empty.new_from_index(0, count)
    return _lists(name, cells, wrong) if name in LISTS else _texts(name, cells, wrong)


def _texts(name: str, cells: Cells, wrong: dict[int, str]) -> pl.Series:
    """Return a column of strings."""
    try:
        texts = cells if isinstance(cells, pa.Array) else pa.array(cells, pa.string())
    except (pa.ArrowException, ValueError):  # numbers, Booleans, structures, or lone surrogates
        return pl.Series(name, _each(name, cells, wrong), pl.String)
    if pa.types.is_list(texts.type):
        return pl.Series(name, _each(name, texts.to_pylist(), wrong), pl.String)
    stripped = pl.Series(name, texts).str.strip_chars(WHITE)
    return stripped.set(stripped == "", None)


def _lists(name: str, cells: Cells, wrong: dict[int, str]) -> pl.Series:
    """Return a column of lists of strings."""
    try:
        if isinstance(cells, pa.Array):
            lists = pl.Series(name, cells)
        else:
            kinds = set(map(type, cells)) - {type(None)}  # Arrow would read a string as the list of its letters
            if not (kinds <= {str} or kinds <= {list}):
                raise TypeError
            lists = pl.Series(name, pa.array(cells, ARROW_LIST if list in kinds else pa.string()))
    except (pa.ArrowException, ValueError, TypeError):
        return pl.Series(name, _each(name, cells, wrong), LIST)
    if lists.dtype == pl.String:
        if lists.str.contains(r"^\s*\[").any():
            return pl.Series(name, _each(name, lists, wrong), LIST)
        lists = lists.str.split(LIST_SEPARATOR)
    texts = pl.element().str.strip_chars(WHITE)
    return lists.fill_null([]).list.eval(texts).list.eval(pl.element().filter(pl.element() != ""))


def _each(name: str, cells: Iterable[Any], wrong: dict[int, str]) -> list[Any]:
    """Convert cells one by one; ``wrong`` receives the index and message of each invalid cell."""
    out = []
    for at, value in enumerate(cells):
        try:
            out.append(_cell(name, value))
        except ValueError as error:
            out.append(None)
            wrong.setdefault(at, str(error))
    return out


def _cell(name: str, value: Any) -> Any:
    """Return a cell as text (None if empty) or, in a list column, as a list of texts.

    Raises:
        ValueError: the cell is no text or no list of texts, or contains a lone surrogate.
    """
    # Data frames write empty cells as NaN.
    if value is None or (isinstance(value, float | decimal.Decimal) and math.isnan(value)):
        return [] if name in LISTS else None
    if name in LISTS:
        parts = _listed(name, value) if isinstance(value, str) else value
        if not isinstance(parts, list) or any(isinstance(part, list | dict) for part in parts):
            raise ValueError(f"{name} is {value!r}; a list of texts is expected")
        return [text for part in parts if part is not None and (text := _whole(name, part))]
    if isinstance(value, list | dict):
        several = "; give each object a row of its own" if name in ("object_id", "object", "value") else ""
        raise ValueError(f"{name} is {value!r}; a text is expected{several}")
    return _whole(name, value) or None


def _listed(name: str, text: str) -> list[Any]:
    """Return the texts of a cell: ``A|B``, or a JSON list, whose texts may contain a bar."""
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError) as error:
        if re.match(r"\s*\[\s*[\]\"']", text):  # [sic] is a text
            says = "a list that is no JSON; write a list of JSON, or A|B"
            raise ValueError(f"{name} is {text[:60]!r}, {says}") from error
        found = None
    return text.split(LIST_SEPARATOR) if found is None else list(found)


def _whole(name: str, value: Any) -> str:
    """Return a value as stripped text; integral floats lose the decimal point, and midnights become days."""
    if isinstance(value, datetime.datetime):
        if value.timetz().replace(tzinfo=None) != datetime.time():
            raise ValueError(f"{name} is {value}, with a time of day; write the day alone, as {value.date()}")
        value = value.date()
    if isinstance(value, bytes):
        value = value.decode()  # UnicodeDecodeError is a ValueError
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | decimal.Decimal):
        value = decimal.Decimal(str(value))
        if not value.is_finite() or abs(value.adjusted()) > LONGEST:
            raise ValueError(f"{name} is {value}, which is no number; write one, or a text")
        value = int(value) if value == int(value) else format(value, "f")
    text = str(value).strip()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is {text!r}, which holds half a character (a surrogate); correct it") from error
    return text
