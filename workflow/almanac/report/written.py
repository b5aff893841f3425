"""The page's tables as files: CSV and Parquet with all digits; Markdown and LaTeX (booktabs) as on the page."""

import csv
import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from almanac import tables
from almanac.columns import kinds, schema
from almanac.report.lines import alone, with_interval
from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, PageLink, Table
from almanac.suites.joining import EVERY

KIND_NAMES: Mapping[pl.DataType, str] = {pl.String(): "text", pl.Int64(): "whole number", pl.Float64(): "number"}
SHORT = 40  # rows of a table that fits on one page
HEAD = "| column | type | made of |\n| --- | --- | --- |\n"
REFERENCE = """# The columns of these tables

Every table of the page lies here as CSV and Parquet with all digits (a number's interval in two columns after it), and
as Markdown and LaTeX (booktabs, longtable) as the page writes it. *Made of*: a number's metric, and the formula that
makes it of which columns of the items; `measures.csv` has all numbers with the condition on their items. These columns
are of every suite's items; the page *Tables and their columns* of the documentation (`docs/tables.md`) has each suite's
own.

| column | meaning |
| --- | --- |
"""
# Characters that are special in LaTeX or not in its fonts; names of facts in other scripts need LuaLaTeX.
LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "<": "$<$",
    ">": "$>$",
    "→": r"$\to$",
    **{letter: rf"$\{name}$" for letter, name in zip("Δηκρτ", ("Delta", "eta", "kappa", "rho", "tau"), strict=True)},
    **{one: f"\\{one}" for one in "&%$#_{}"},
}


def write_table(table: Table, folder: Path, name: str, whole: Table | None = None) -> None:
    """Write a table as ``NAME.csv``, ``NAME.parquet``, ``NAME.md`` and ``NAME.tex``.

    CSV and Parquet are of ``whole``, if given: the same table with columns for which the page has no room.
    """
    whole = whole or table
    with tables.atomic(folder / f"{name}.csv") as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(exact(whole))
    with tables.atomic(folder / f"{name}.parquet") as temporary:
        as_frame(whole).write_parquet(temporary)
    for kind, text in (("md", markdown(table)), ("tex", latex(table))):
        tables.write_text(folder / f"{name}.{kind}", text)


def exact(table: Table) -> Iterator[list[str | int | float | None]]:
    """Yield a table's lines with all digits; each column with intervals is followed by their two ends."""
    has_ends = [_has_ends(table, at) for at in range(len(table.head))]
    yield [
        name
        for head, ends in zip(table.head, has_ends, strict=True)
        for name in ((head, f"{head}, low", f"{head}, high") if ends else (head,))
    ]
    for row in table.rows:
        yield [one for cell, ends in zip(row, has_ends, strict=True) for one in _exact(cell, ends)]


def _has_ends(table: Table, at: int) -> bool:
    """Return whether a column's numbers may have intervals; counts have none."""
    return table.head[at] in table.spreads or any(
        isinstance(cell := row[at], Measure) and cell.formula != "count" for row in table.rows
    )


def _exact(cell: Cell, wide: bool) -> Sequence[str | int | float | None]:
    if isinstance(cell, Measure) and wide:
        return cell.value, cell.low, cell.high
    if isinstance(cell, Measure):
        return (None if cell.value is None else round(cell.value),)
    plain = cell.text if isinstance(cell, PageLink) else cell
    return (plain, None, None) if wide else (plain,)


def as_frame(table: Table) -> pl.DataFrame:
    """Return a table's lines with all digits; columns with any text are text, repeated column names are numbered."""
    head, *lines = exact(table)
    names: list[str] = []
    for name in map(str, head):
        number = sum(one == name or one.startswith(f"{name} (") for one in names)
        names.append(f"{name} ({number + 1})" if name in names else name)
    columns = zip(*lines, strict=True) if lines else [()] * len(names)
    found = [pl.Series(name, values, strict=False) for name, values in zip(names, columns, strict=True)]
    return pl.DataFrame(found).cast({pl.Null: pl.Float64})


def reference(shown: Mapping[str, Table], rows: Mapping[str, type]) -> str:
    """Return a description of the columns of all tables, in Markdown.

    Args:
        shown: the page's tables by file name.
        rows: the row classes of further tables by file name.
    """
    parts = [REFERENCE + "".join(f"| {name} | {meaning} |\n" for name, meaning in EVERY.items())]
    for name, row in rows.items():
        lines = [f"| {field.name} | {kinds(row)[field.name].__name__} | |" for field in schema(row)]
        parts.append(f"## {name}.csv\n\n{inspect.getdoc(row)}\n\n{HEAD}" + "\n".join(lines) + "\n")
    for name, table in shown.items():
        lines = []
        types = iter(as_frame(table).dtypes)
        for place, head in enumerate(table.head):
            numbers = [line[place] for line in table.rows if isinstance(line[place], Measure)]
            lines.append(f"| {head} | {KIND_NAMES[next(types)]} | {_made_of(numbers)} |")
            if _has_ends(table, place):
                low, _ = next(types), next(types)
                lines.append(f"| {head}, low; {head}, high | {KIND_NAMES[low]} | its 95 % interval |")
        caption = " ".join(table.caption.split())
        parts.append(f"## {name}\n\n{caption}\n\n{HEAD}" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _made_of(numbers: Sequence[Any]) -> str:
    """Return the metrics of a column's numbers, each with its formula and the item columns that it uses."""
    found = {f"`{row.metric}`: {row.formula} of {', '.join(row.of)}".removesuffix(" of ") for row in numbers}
    return "; ".join(sorted(found))


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    lines = [table.head, ["---"] * len(table.head), *map(_words, table.rows)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def summary(chapters: Mapping[str, Chapter]) -> str:
    """Return chapters in Markdown, by anchor: findings, notes, the first figure and short tables of each."""
    parts = []
    for anchor, one in chapters.items():
        parts += [f"## {one.title}", one.asks]
        drawn = next((part for part in one.parts if isinstance(part, Drawing)), None)
        for part in one.parts:
            if isinstance(part, str):
                parts.append(part)
            elif part is drawn:
                parts += [f"![{one.title}](../figures/{anchor}-{part.name}.svg)", part.caption]
            elif isinstance(part, Table) and not part.folded and len(part.rows) <= SHORT:
                parts += [part.caption, markdown(part).strip()]
    return "\n\n".join(parts) + "\n"


def latex(table: Table) -> str:
    """Return a table in LaTeX with the rules of booktabs; one too long for a page is a longtable.

    The page's script (`tables.js`) writes the same.
    """
    escapes = str.maketrans(dict(LATEX))

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(cell.translate(escapes) for cell in cells)
        return f"{'{}' * text.startswith(('[', '*'))}{text} \\\\"  # else an argument of the line's end above

    sides = "".join("r" if one else "l" for one in table.numeric)
    kind, before, after = "tabular", "", "\\bottomrule\n"
    if len(table.rows) > SHORT:  # head and foot are repeated on each page
        kind, before, after = "longtable", "\\endhead\n\\bottomrule\n\\endfoot\n", ""
    head = f"\\begin{{{kind}}}{{{sides}}}\n\\toprule\n{line(table.head)}\n\\midrule\n"
    rows = "".join(f"{line(_words(row))}\n" for row in table.rows)
    return f"{head}{before}{rows}{after}\\end{{{kind}}}\n"


def _words(row: Sequence[Cell]) -> list[str]:
    """Return cells as they are written on the page."""
    return [" ".join(_word(cell).split()) for cell in row]


def _word(cell: Cell) -> str:
    if isinstance(cell, Measure):
        return with_interval(cell)
    if isinstance(cell, PageLink):
        return cell.text
    if isinstance(cell, float) or cell is None:
        return alone(cell)
    return f"{cell:,}" if isinstance(cell, int) else cell
