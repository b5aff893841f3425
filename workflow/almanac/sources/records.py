"""Finds the files of a folder's tables (CSV, JSON Lines or Parquet) and reads them in parts.

At most `PART` rows of a file are held as Python objects at a time.
"""

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from almanac.errors import AlmanacError
from almanac.sealed import check_table
from almanac.tables import once

CSV = (".csv", ".tsv", ".tab", ".txt")  # allowed for a single file of facts; a folder's CSV must end in .csv
PARQUET = ".parquet"
ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", PARQUET)
LIST_SEPARATOR = "|"
SEPARATORS = ",;\t"  # of CSV; the one that occurs most often in the header is used
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # the line that Excel may put above the header
NO_FACTS = "has no facts; write a row for each below its header"
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
SAVE_AS_CSV = "save each sheet as CSV in UTF-8, under the name of its table"
ALIKE = 0.8  # least `difflib` ratio at which a file's name counts as a misspelt table name
PART = 10_000
ARROW_LIST = pa.list_(pa.string())
TEXTUAL = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
LONGEST = 10_000_000  # characters of a line or a cell: a damaged or hostile file is refused before it fills memory
LOOKED_AT = 1000  # bytes of a file that are examined to see whether it is text
LISTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_fixed_size_list)

Cells: TypeAlias = Sequence[Any] | pa.Array

Item = TypeVar("Item")


class Columns(NamedTuple):
    """The required and optional columns of a table.

    ``others``: whether further columns (which are ignored) and capitals in the names are allowed. They are in a single
    file of facts, which may be anybody's spreadsheet, but not in a folder's tables, which are written for Almanac.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    others: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        return self.required + self.optional

    def called(self, name: str) -> str:
        """Return the known column that a header cell means, or the cell as it is."""
        folded = name.strip().lower()
        return folded if self.others and folded in self.names else name


TABLES = {
    "facts": Columns(
        ("relation_id", "subject_id"),
        ("object_id", "value", "datatype", "precision", "qualifiers", "split", "fact_id", "source"),
    ),
    "entities": Columns(("entity_id", "label"), ("aliases", "type")),
    "relations": Columns(
        ("relation_id", "label"), ("property", "cardinality", "object_type", "domain", "popularity", "bucket")
    ),
    "templates": Columns(
        ("relation_id", "text", "style"),
        ("template_id", "origin", "parent_id", "entails"),
    ),
    "popularity": Columns(("entity_id", "score"), ("source", "type", "bucket")),
    "evidence": Columns(("fact_id", "text"), ()),
    "exposures": Columns(("fact_id", "dose"), ()),
}
OF_A_PULL = ("buckets", "omissions")  # further tables that pulling a source writes; datasets do not use them
TRIPLES = Columns(("subject", "relation", "object"), ("split",), others=True)  # a single file instead of a folder
OF_FACTS = (TRIPLES, TABLES["facts"])  # tables that must not be empty
LISTS = {"aliases", "qualifiers", "entails"}
TYPES = dict.fromkeys(LISTS, ARROW_LIST) | dict.fromkeys(("score", "dose", "popularity"), pa.int64())  # others: texts


def find(folder: Path, table: str) -> Path | None:
    """Return the file of a table in a folder, or None.

    Raises:
        AlmanacError: two files are named as this table, or a folder or broken link is.
    """
    named = [folder / f"{table}{ending}" for ending in ENDINGS]
    found = [path for path in named if path.is_file()]
    if others := [path for path in named if path not in found and (path.is_symlink() or path.exists())]:
        raise AlmanacError(f"{others[0]}: is no file, but a folder or a link that leads nowhere; mend or remove it")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise AlmanacError(f"{folder}: {names} are the same table twice; keep one of them")
    return found[0] if found else None


def is_table(path: Path) -> bool:
    """Return whether a path is a file with a table's ending, and not a folder or an archive."""
    return path.is_file() and _ending(path) in (*CSV, ".jsonl", PARQUET)


def _zipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def misnamed(folder: Path) -> str | None:
    """Return the first file that is probably a missing table under a wrong name, with the remedy, or None.

    Without this check an optional table with a wrong ending, such as `templates.xlsx`, would be ignored silently.
    """
    absent = [table for table in TABLES if find(folder, table) is None]
    for path in sorted(folder.iterdir()):
        stem, _, ending = path.name.lower().partition(".")
        meant = get_close_matches(stem, absent, 1, ALIKE)
        if not meant or not path.is_file():
            continue
        if f".{ending}" in SPREADSHEETS:
            return f"{path.name} is a spreadsheet program's own file; {SAVE_AS_CSV}: {meant[0]}.csv"
        if ending == "json":
            return f"{path.name} is read as JSON Lines alone: write one object a line, and name it {meant[0]}.jsonl"
        if ending in ("tsv", "txt", "tab"):
            return f"rename {path.name} to {meant[0]}.csv (cells may be separated by tabs)"
        if f".{ending}" in ENDINGS:
            return f"rename {path.name} to {meant[0]}.{ending}"
    return None


def passed_over(folder: Path) -> list[str]:
    """Return a note for each file of a facts folder that has a table's ending but no table's name."""
    endings = (*ENDINGS, *SPREADSHEETS, ".tsv", ".tab")
    return [
        f"{path}: not read, for it is none of the tables {', '.join(TABLES)}"
        for path in sorted(folder.iterdir())
        if path.name.lower().endswith(endings)
        and path.name.partition(".")[0] not in (*TABLES, *OF_A_PULL)
        and path.is_file()
        and not path.name.startswith((".", "~$"))  # hidden, or a spreadsheet program's lock
    ]


class RowBlock(NamedTuple):
    """Some rows of a file: row numbers, cells by column, and the numbers of rows with a wrong number of cells.

    A row's number is its line number in an editor (the first line, if a cell contains line breaks). Rows of Parquet are
    counted from 1.
    """

    numbers: Sequence[int]
    cells: Mapping[str, Cells]
    ragged: Sequence[int] = ()


def place(path: Path, number: int) -> str:
    """Return file and row as error messages name them: ``FILE: line 3``, or ``FILE: row 3`` for Parquet."""
    return f"{path}: {counted(path, number)}"


def counted(path: Path, number: int) -> str:
    """Return ``line 3``, or ``row 3`` for Parquet."""
    return f"{'row' if _ending(path) == PARQUET else 'line'} {number}"


def wrong_columns(names: Sequence[str], known: Columns) -> str | None:
    """Return what is wrong with a table's column names and how to correct it, or None."""
    missing = [name for name in known.required if name not in names]
    unknown = [name for name in names if name not in known.names]
    if missing:
        lower = {name.lower(): name for name in unknown}
        alike = 0.5 if set(known.required) & set(names) else 0.6  # stricter where the header itself may be missing
        near = {name: lower[found[0]] for name in missing if (found := get_close_matches(name, lower, 1, alike))}
        rename = "".join(f"; rename {found!r} to {name}" for name, found in near.items())
        if not near and not set(known.required) & set(names):
            rename = "; its first line must hold these names"
        if len(names) == 1 and set(known.required) <= set(re.split(r"\W+", names[0].lower())):
            if set(known.required) <= set(re.split(f"[{SEPARATORS}]", names[0].lower())):
                rename = "; its lines stand in quotation marks as a whole, each as one cell: take these marks off"
            else:
                rename = "; its cells are not separated by commas, semicolons or tabs, of which one must be used"
        elif known.others:
            rename += f"; one file of facts needs {', '.join(known.required)}; of a folder of tables name the folder"
        return f"lacks the column {', '.join(missing)}; it has {', '.join(names) or 'none'}{rename}"
    if unknown and not known.others:
        allowed = ", ".join(known.names)
        return f"has the unknown column {', '.join(map(repr, unknown))}; known are {allowed}"
    twice = [name for name, count in Counter(names).items() if count > 1 and name not in unknown]
    return f"has the column {', '.join(map(repr, twice))} twice; keep one of them" if twice else None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors while reading a file into an `AlmanacError` that names it."""
    try:
        try:
            yield
        except UnicodeDecodeError as error:
            raise AlmanacError(f"{path}: {_wrong_byte(path)}") from error
    except OverflowError as error:  # raised by Python's dates
        raise AlmanacError(
            f"{path}: holds a date or a duration that is out of range ({error}); write such a column as text"
        ) from error
    except (OSError, EOFError, ValueError, csv.Error, zlib.error, pa.ArrowException) as error:
        raise AlmanacError(f"{path}: cannot be read ({error}); is it complete, and its ending right?") from error


def _wrong_byte(path: Path) -> str:
    """Return the line of a file with the first byte that is not UTF-8, and the remedy."""
    line, wrong = 0, "its last character is cut"
    with gzip.open(path, "rb") if _zipped(path) else path.open("rb") as file:
        for line, text in enumerate(iter(lambda: file.readline(4 * LONGEST), b""), 1):  # noqa: B007 (said below)
            try:
                text.decode()
            except UnicodeDecodeError as error:
                wrong = f"byte {text[error.start]:#04x}"
                break
    return f"line {line} is no UTF-8 ({wrong}); save the file as UTF-8 (in a spreadsheet program: CSV UTF-8)"


def _check_is_text(path: Path, begins: bytes) -> None:
    """Refuse a file that is not the text its ending promises.

    Raises:
        AlmanacError: the file is empty, looks like UTF-16, or is a spreadsheet or an archive.
    """
    if not begins:
        raise AlmanacError(f"{path}: is empty; save it again with its rows, or remove it")
    if begins.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise AlmanacError(f"{path}: is a spreadsheet or an archive, whatever its ending says; {SAVE_AS_CSV}")
    if begins.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * begins.count(0) > len(begins):
        raise AlmanacError(f"{path}: is no UTF-8, but looks like UTF-16; save the file as UTF-8")


def _text(path: Path, newline: str) -> TextIO:
    """Open a text file, perhaps gzipped."""
    with gzip.open(path) if _zipped(path) else path.open("rb") as file:
        _check_is_text(path, file.read(LOOKED_AT))
    if _zipped(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


def _lines(path: Path, text: TextIO) -> Iterator[str]:
    """Yield the lines of a text with their line ends.

    Raises:
        AlmanacError: a line is longer than `LONGEST`.
    """
    number = 0
    while line := text.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise AlmanacError(f"{path}: line {number} has more than {LONGEST} characters; is its ending right?")
        yield line


def _csv(path: Path, text: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, blank ones too, each with the number of its first line.

    The separator is the one named above the header (`SEPARATOR_LINE`), or else the most frequent of `SEPARATORS` in the
    header, since some spreadsheet programs write semicolons. Empty lines above the header are skipped, and so is a
    space before a cell's quotation mark.

    Raises:
        AlmanacError: a quotation mark is not closed, or is closed before its cell ends.
        csv.Error: any other fault of a row.
    """
    csv.field_size_limit(LONGEST)
    lines, first = _lines(path, text), 1
    while (header := next(lines, "")) and not header.strip(f"{SEPARATORS} \r\n"):
        first += 1
    separator = max(SEPARATORS, key=header.count)
    if (declared := SEPARATOR_LINE.fullmatch(header)) is not None:
        separator, header, first = declared[1], next(lines, ""), first + 1
    rows, number = csv.reader(chain([header], lines), strict=True, delimiter=separator, skipinitialspace=True), first
    try:
        for row in rows:
            yield number, row
            number = rows.line_num + first
    except csv.Error as error:
        if "unexpected end" in str(error):
            message = "a quotation mark is opened there and not closed; close it"
            raise AlmanacError(f"{path}: line {number}: {message}") from error
        if "expected after" in str(error):
            message = (
                "a quotation mark is closed before its cell ends; quote the whole cell, and double the ones within it"
            )
            raise AlmanacError(f"{path}: line {number}: {message}") from error
        raise csv.Error(f"line {number}: {error}") from error


def parts(path: Path, names: list[str], known: Columns) -> Iterator[RowBlock]:
    """Yield a file's rows in parts; its column names are appended to ``names``, which is complete at the end."""
    if _ending(path) == PARQUET:
        check_table(path)
        with pq.ParquetFile(path) as file:
            names += map(known.called, file.schema_arrow.names)
            read = 0
            for batch in file.iter_batches(PART):
                cells = {name: _arrow(batch.column(at)) for at, name in enumerate(names) if name in known.names}
                yield RowBlock(range(read + 1, read + batch.num_rows + 1), cells)
                read += batch.num_rows
    elif _ending(path) in CSV:
        with _text(path, "") as text:
            lines = _csv(path, text)
            names += map(known.called, next(lines, (1, []))[1])
            for numbered in _batched(lines):
                whole = [(number, line) for number, line in numbered if len(line) == len(names)]
                cells = dict(zip(names, zip(*(line for _, line in whole), strict=True), strict=False))
                ragged = [number for number, line in numbered if any(map(str.strip, line)) and len(line) != len(names)]
                yield RowBlock([number for number, _ in whole], cells, ragged)
    else:
        yield from _json_parts(path, names, known)


def _json_parts(path: Path, names: list[str], known: Columns) -> Iterator[RowBlock]:
    """Yield the rows of JSON Lines; see `parts`."""
    seen: dict[str, None] = {}
    before = 0
    with _text(path, "\n") as text:
        for lines in _batched(_lines(path, text)):
            if (plain := _plain(lines, known)) is not None:
                seen |= dict.fromkeys(name for name, column in plain.items() if column.null_count < len(lines))
                numbers = range(before + 1, before + len(lines) + 1)
                yield RowBlock(numbers, {name: _arrow(column) for name, column in plain.items()})
            else:
                objects = list(_objects(path, lines, before + 1, known.called))
                rows = [row for _, row in objects]
                seen |= dict.fromkeys(chain.from_iterable(rows))
                cells = {name: [row.get(name) for row in rows] for name in known.names}
                yield RowBlock([number for number, _ in objects], cells)
            before += len(lines)
    names += seen


def _plain(lines: Sequence[str], known: Columns) -> dict[str, pa.Array] | None:
    """Parse lines of JSON with Arrow, which takes a tenth of the time; None if any line needs the slow path.

    Such lines are blank, hold no object or several, or have an unknown key, a key twice or a value of another type. An
    empty required column needs the slow path too.
    """
    text = "".join(lines)
    if not text.startswith("{") or text.count("}\n{") != len(lines) - 1:  # Arrow accepts two objects in one line
        return None
    expected = pa.schema([(name, TYPES.get(name, pa.string())) for name in known.names])
    parsing = pj.ParseOptions(explicit_schema=expected, unexpected_field_behavior="error")
    packed = text.encode()
    try:
        table = pj.read_json(pa.py_buffer(packed), pj.ReadOptions(use_threads=False, block_size=len(packed)), parsing)
    except (pa.ArrowException, OverflowError):  # OverflowError: more than 2 GiB
        return None
    if table.num_rows != len(lines) or any(table[name].null_count == len(lines) for name in known.required):
        return None
    return {name: table[name].combine_chunks() for name in known.names}


def look(path: Path, known: Columns) -> None:
    """Check the beginning of a table's file before any job reads it: that it is text, and its columns (not of JSON).

    Raises:
        AlmanacError: the file cannot be read, its columns are wrong, or it is a CSV file of facts without rows.
    """
    bare = False
    with readable(path):
        if _ending(path) == PARQUET:
            names: Sequence[str] = pq.read_schema(path).names
        elif _ending(path) in CSV:
            with _text(path, "") as text:
                rows = _csv(path, text)
                names = next(rows, (1, []))[1]
                bare = known in OF_FACTS and next(rows, None) is None
        else:  # the keys of JSON Lines are not known before the last row
            with _text(path, "\n"):
                return
    if wrong := wrong_columns([*map(known.called, names)], known):
        raise AlmanacError(f"{path}: {wrong}")
    if bare:
        raise AlmanacError(f"{path}: {NO_FACTS}")


def _arrow(column: pa.Array) -> pa.Array | list[Any]:
    """Return a column as strings or lists of strings; columns of other types as Python objects.

    Floats of 16 or 32 bits become the shortest `Decimal` (0.1), since Python's floats would add digits.

    Raises:
        pa.ArrowException: a string or binary value is not UTF-8.
    """
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    plain.validate(full=True)
    listed = any(is_kind(plain.type) for is_kind in LISTED)
    inner = plain.type.value_type if listed else plain.type
    if any(is_kind(inner) for is_kind in BINARY):  # some programs write strings as binary
        plain = plain.cast(pa.list_(pa.binary()) if listed else pa.binary())
    if any(is_kind(inner) for is_kind in (*TEXTUAL, *BINARY)):
        return plain.cast(ARROW_LIST if listed else pa.string())
    if pa.types.is_float16(plain.type) or pa.types.is_float32(plain.type):
        return [None if number is None else Decimal(number) for number in plain.cast(pa.string()).to_pylist()]
    return plain.to_pylist()


def _objects(
    path: Path, lines: Iterable[str], first: int = 1, called: Callable[[str], str] = str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for lines of JSON; ``called`` maps the keys to column names.

    Blank lines are counted but not yielded.
    """

    def row_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        return once([(called(key), cell) for key, cell in pairs])

    for number, ended in enumerate(lines, first):
        line = ended.removesuffix("\n")
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=row_of, parse_float=Decimal)
        except (ValueError, RecursionError) as error:  # includes huge numbers and endless brackets
            reason = str(error).partition(";")[0]
            raise AlmanacError(
                f"{path}: line {number} is no JSON that can be read ({reason}); one object a line is expected"
            ) from error
        if not isinstance(row, dict):
            raise AlmanacError(f"{path}: line {number} is {line[:60]!r}; one JSON object a line is expected")
        yield number, row


def _batched(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield lists of `PART` items; the last may be shorter."""
    every = iter(items)
    while part := list(islice(every, PART)):
        yield part


def read(path: Path) -> tuple[Sequence[str], Iterable[tuple[int, dict[str, Any] | None]]]:
    """Return a file's column names and its (number, row) pairs; a row with a wrong number of cells is None.

    Row 1 is the first after the header; blank rows are skipped but counted. For files that fit into memory as Python
    objects; `user_table` reads columns instead.

    Raises:
        AlmanacError: the file cannot be read at all.
    """
    with readable(path):
        if _ending(path) == PARQUET:
            check_table(path)
            table = pq.read_table(path)
            return table.schema.names, enumerate(table.to_pylist(), 1)
        if ".csv" in path.suffixes:
            with _text(path, "") as text:
                lines = _csv(path, text)
                _, header = next(lines, (1, []))
                return header, [
                    (number, dict(zip(header, line, strict=True)) if len(line) == len(header) else None)
                    for number, (_, line) in enumerate(lines, 1)
                    if any(map(str.strip, line))
                ]
        with _text(path, "\n") as text:
            rows = list(_objects(path, _lines(path, text)))
        return list(dict.fromkeys(name for _, row in rows for name in row)), rows
