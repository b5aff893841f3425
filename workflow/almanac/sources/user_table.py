"""A user's table as columns, and what is wrong with it by row.

Cells are texts without white space around them, null where empty, or lists of such texts. Characters that nobody sees
are left out, and white space inside a name is one space; both are said. Whole columns of texts stay Arrow's and
polars'; a column that holds anything else is read cell by cell.
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

ROW = "row"  # the column of a row's number, as `records.RowBlock` has it
SHOWN = 20  # mistakes of a kind that are described; the others are counted
LIST = pl.List(pl.String())
WHITE = "".join(char for char in map(chr, range(0x3001)) if char.isspace())  # what `str.strip` takes off

# What is not seen, but for the joiners that Persian, Indic scripts and emoji are written with: controls, marks of
# direction, soft hyphens, spaces of no width.
UNSEEN = (
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufeff]"
)
SPACES = r" [\s\x1c-\x1f]+|[\s\x1c-\x1f--[ ]][\s\x1c-\x1f]*"  # of polars: white space that is no single space
APART = r"[^\x00-\u02ff]"  # without such characters a text is composed (NFC) already
SEEN_AS_IT_IS = "text"  # the column of sentences, which keep what nobody sees

Check = tuple[pl.Expr, Callable[[dict[str, Any]], str]]  # what is wrong where it holds, and what to say of such a row


@dataclass
class UserTable:
    """A table of a folder, and what is wrong with it.

    Attributes:
        path: its file, or the name of one that is not there.
        rows: the column `ROW`, then every known column: texts without white space around them, null where empty, or
            lists of such texts. Rows with a mistake are left out.
        mistakes: row numbers (0: the whole file) and what is wrong there; of each kind those of the first rows.
        count: how many mistakes there are.
        notes: what was read in another way than it is written, as mistakes are.
        known: the first column of every row, whatever is wrong with the row: what others may name.
    """

    path: Path
    rows: pl.DataFrame
    mistakes: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    notes: list[str] = field(default_factory=list)
    known: list[pl.Series] = field(default_factory=list)
    _refused: int = 0

    def refuse(self, row: int, reason: str) -> None:
        """Note what is wrong with a row."""
        if self._refused < SHOWN or not row:
            self.mistakes.append((row, reason))
        self._refused += 1
        self.count += 1

    def note(self, rows: pl.Series, reason: str) -> None:
        """Note what was read in another way than it is written: the numbers of the rows, and what of the first."""
        more = f" (and {len(rows) - 1} more rows so)" if len(rows) > 1 else ""
        self.notes.append(f"{place(self.path, rows[0])}: {reason}{more}")

    def named(self) -> pl.Series:
        """Return what stands in the first column, of rows with a mistake too: no row is wrong for another's fault."""
        return pl.concat([pl.Series(dtype=pl.String), *(one.rename("") for one in self.known)])

    def check(self, *checks: Check) -> None:
        """Leave out the rows of which a condition holds, and note the reason that belongs to the first that does."""
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
        """Return which row is the first that has a row's values in some columns."""
        alike = self.rows.filter(*(pl.col(name) == row[name] for name in key))
        return counted(self.path, alike[ROW][0])

    def drop(self, dropped: pl.Expr, reason: Callable[[dict[str, Any]], str]) -> pl.DataFrame:
        """Leave out rows that are no mistake, note the first and how many there are, and return them."""
        out = self.rows.filter(dropped)
        if out.height:
            self.note(out[ROW], reason(out.row(0, named=True)))
            self.rows = self.rows.filter(dropped.not_().fill_null(True))
        return out

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row as its number and its cells by column, for tables that are small."""
        for record in self.rows.iter_rows(named=True):
            yield record.pop(ROW), record

    def take(self) -> pl.DataFrame:
        """Return the rows, which are held here no longer."""
        rows, self.rows = self.rows, self.rows.clear()
        return rows

    def lines(self) -> list[str]:
        """Return what is wrong, with file and row, in the order of the rows."""
        ordered = sorted(self.mistakes, key=lambda mistake: mistake[0])
        return [f"{place(self.path, row)}: {reason}" if row else f"{self.path}: {reason}" for row, reason in ordered]


def read_table(folder: Path, name: str) -> UserTable:
    """Read a table of a folder; one that is not there has no rows.

    Args:
        folder: holds the table, or does not.
        name: one of `TABLES`.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    path = find(folder, name)
    return completed(folder / name, TABLES[name]) if path is None else read_file(path, TABLES[name])


def read_file(path: Path, known: Columns) -> UserTable:
    """Read a table; columns that it may have and that are not read are noted.

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
    """Return a table of some of its columns, with the others empty; of none it has no rows."""
    rows = pl.DataFrame(schema={ROW: pl.Int64}) if rows is None else rows
    columns = [rows[name] if name in rows else _column(name, None, rows.height, {}) for name in known.names]
    out = UserTable(path, pl.DataFrame([rows[ROW], *columns]))
    out.known.append(out.rows[known.required[0]])
    return out


def _seen(out: UserTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without characters that nobody sees, and with one space for any white space."""
    for name, (odd, instead) in product(rows.columns[1:], ((UNSEEN, ""), (SPACES, " "))):
        if name == SEEN_AS_IT_IS:
            continue
        column = rows[name]
        texts = column.list.join(" ") if name in LISTS else column
        holds = texts.str.contains(odd).fill_null(False)
        if not holds.any():
            continue
        first = texts.filter(holds)[0]
        seen = pl.element().str.replace_all(odd, instead).str.strip_chars(WHITE)
        mended = (
            column.list.eval(seen) if name in LISTS else column.str.replace_all(odd, instead).str.strip_chars(WHITE)
        )
        cleared = mended.list.eval(pl.element().filter(pl.element() != "")) if name in LISTS else mended
        rows = rows.with_columns(cleared if name in LISTS else cleared.set(cleared == "", None))
        unseen = re.search(UNSEEN, first)
        said = f"holds U+{ord(unseen[0]):04X}, which nobody sees; it is left out" if unseen else ""
        out.note(rows[ROW].filter(holds), f"{name} {said or f'{first[:60]!r} is read with single spaces'}")
    return rows


def _composed(out: UserTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with their accents as Unicode composes them (NFC): alike to the eye, texts are equal."""
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
    """Return a part's rows, and note in the table which are wrong."""
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
        cells: Python's objects, or what `arrow` returns; none where the file lacks the column.
        count: how many rows there are.
        wrong: gets the places of cells that are no text, or no list of texts, and why, but for those it has already.
    """
    if cells is None:
        empty = pl.Series(name, [[]], LIST) if name in LISTS else pl.Series(name, [None], pl.String)
        return empty.new_from_index(0, count)
    return _lists(name, cells, wrong) if name in LISTS else _texts(name, cells, wrong)


def _texts(name: str, cells: Cells, wrong: dict[int, str]) -> pl.Series:
    """Return a column of texts."""
    try:
        texts = cells if isinstance(cells, pa.Array) else pa.array(cells, pa.string())
    except (pa.ArrowException, ValueError):  # numbers, true and false, a structure, or half a character
        return pl.Series(name, _each(name, cells, wrong), pl.String)
    if pa.types.is_list(texts.type):
        return pl.Series(name, _each(name, texts.to_pylist(), wrong), pl.String)
    stripped = pl.Series(name, texts).str.strip_chars(WHITE)
    return stripped.set(stripped == "", None)


def _lists(name: str, cells: Cells, wrong: dict[int, str]) -> pl.Series:
    """Return a column of lists of texts."""
    try:
        if isinstance(cells, pa.Array):
            lists = pl.Series(name, cells)
        else:
            kinds = set(map(type, cells)) - {type(None)}  # Arrow would take a text for the list of its letters
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
    """Return cells one by one; ``wrong`` gets those that are none of their column."""
    out = []
    for at, value in enumerate(cells):
        try:
            out.append(_cell(name, value))
        except ValueError as error:
            out.append(None)
            wrong.setdefault(at, str(error))
    return out


def _cell(name: str, value: Any) -> Any:
    """Return a cell's text, none if it is empty; of a list column, its texts.

    Raises:
        ValueError: the cell holds a structure that is no text, or no list of texts, or half a character.
    """
    # NaN is an empty cell of a data frame.
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
    """Return the texts of a cell: between bars, or a list of JSON, whose texts may hold a bar."""
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError) as error:
        if re.match(r"\s*\[\s*[\]\"']", text):  # [sic] is a text
            says = "a list that is no JSON; write a list of JSON, or A|B"
            raise ValueError(f"{name} is {text[:60]!r}, {says}") from error
        found = None
    return text.split(LIST_SEPARATOR) if found is None else list(found)


def _whole(name: str, value: Any) -> str:
    """Return a value as text, without white space around it; whole numbers without a point, midnights as days."""
    if isinstance(value, datetime.datetime):
        if value.timetz().replace(tzinfo=None) != datetime.time():
            raise ValueError(f"{name} is {value}, with a time of day; write the day alone, as {value.date()}")
        value = value.date()
    if isinstance(value, bytes):
        value = value.decode()  # an error of this is a ValueError too
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
        raise ValueError(f"{name} is {text!r}, which holds half a character (a surrogate); mend it") from error
    return text
