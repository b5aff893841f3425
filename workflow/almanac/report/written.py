"""The page's tables as files: CSV with every digit, Markdown and LaTeX (booktabs) as the page writes them."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from almanac import tables
from almanac.report.lines import share, with_interval
from almanac.rows import Measure
from almanac.suites.chapter import Cell, Link, Table

# What LaTeX reads as more than a letter.
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "–": "--",
        **{one: f"\\{one}" for one in "&%$#_{}"},
    }
)


def write_table(table: Table, folder: Path, name: str) -> None:
    """Write a table as ``NAME.csv``, ``NAME.md`` and ``NAME.tex``."""
    with tables.atomic(folder / f"{name}.csv") as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(exact(table))
    for kind, text in (("md", markdown(table)), ("tex", latex(table))):
        with tables.atomic(folder / f"{name}.{kind}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def exact(table: Table) -> Iterator[list[str | int | float | None]]:
    """Yield a table's lines with all digits; a column of numbers with intervals is followed by their ends."""
    spread = [any(isinstance(row[at], Measure) for row in table.rows) for at in range(len(table.head))]
    yield [
        name
        for head, wide in zip(table.head, spread, strict=True)
        for name in ((head, f"{head}, low", f"{head}, high") if wide else (head,))
    ]
    for row in table.rows:
        yield [one for cell, wide in zip(row, spread, strict=True) for one in _exact(cell, wide)]


def _exact(cell: Cell, wide: bool) -> Sequence[str | int | float | None]:
    if isinstance(cell, Measure):
        return cell.value, cell.low, cell.high
    plain = cell.text if isinstance(cell, Link) else cell
    return (plain, None, None) if wide else (plain,)


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    lines = [table.head, ["---"] * len(table.head), *map(_words, table.rows)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def latex(table: Table) -> str:
    """Return a table in LaTeX, with the rules of the package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cell.translate(LATEX) for cell in cells) + r" \\"

    rows = [line(_words(row)) for row in table.rows]
    begin = rf"\begin{{tabular}}{{{'l' * len(table.head)}}}"
    return "\n".join([begin, r"\toprule", line(table.head), r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", ""])


def _words(row: Sequence[Cell]) -> list[str]:
    """Return cells as the page writes them."""
    return [" ".join(_word(cell).split()) for cell in row]


def _word(cell: Cell) -> str:
    if isinstance(cell, Measure):
        return with_interval(cell)
    if isinstance(cell, Link):
        return cell.text
    if isinstance(cell, float) or cell is None:
        return share(cell)
    return f"{cell:,}" if isinstance(cell, int) else cell
