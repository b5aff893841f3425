"""Microsoft Academic Graph: papers, journals and conferences by citations (its last release, of December 2021).

The files are tab-separated without header or quoting. Papers are read twice: for the citation counts of all, and for
the texts of the drawn ones.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from almanac import unfinished
from almanac.sources.frames import assembled, readable_text
from almanac.sources.options import MagOptions
from almanac.sources.papers import (
    PAPER_RELATIONS,
    PLACE_RELATIONS,
    TEXTS,
    asked_of,
    draw_papers,
    draw_places,
    people,
    relations,
)
from almanac.sources.reading import blocks, readable
from almanac.sources.source_tables import Omissions, SourceTables

SOURCE = "mag"
PAPERS, CREDITED, AUTHORS, JOURNALS, CONFERENCES = (download.name for download in MagOptions.DOWNLOADS)
# Number of cells in a line; names and indices of the cells to read.
LAYOUT = {
    PAPERS: (26, {"id": 0, "doi": 2, "title": 5, "paper_year": 7, "publisher": 10, "score": 19, "venue": 21}),
    CREDITED: (6, {"id": 0, "author": 1, "sequence": 3}),
    AUTHORS: (9, {"author": 0, "label": 3}),
    JOURNALS: (11, {"id": 0, "label": 3, "value": 4, "score": 9, "created": 10}),
    CONFERENCES: (18, {"id": 0, "label": 2, "value": 4, "score": 14, "created": 17}),
}


def read(options: MagOptions, folder: Path) -> SourceTables:
    """Return the tables of the five files.

    Args:
        options: the last year, the pool, the seed.
        folder: holds the files under their own names.

    Returns:
        Facts of drawn papers, journals and conferences. Papers count for popularity up to the last year. Journals and
        conferences always count, but are drawn only if MAG had them by the last year and their name is unique.

    Raises:
        AlmanacError: a file is missing, truncated or not of its shape, naming it and the line.
    """
    omissions = Omissions()
    with unfinished.folder() as work, readable(folder / PAPERS):
        numbers = _laid_aside(
            folder, PAPERS, work / "papers", lambda rows: _numbers(rows, options.last_year, omissions)
        )
        drawn = draw_papers(
            SOURCE,
            numbers,
            lambda ids: _rows(folder, PAPERS, "id", ids).pipe(_texts),
            lambda ids: _rows(folder, CREDITED, "id", ids).select(_whole("id"), _whole("author")),
            options,
        )
    authors = pl.concat(frame["object_id"] for frame in drawn.facts).drop_nulls().unique()
    names = _rows(folder, AUTHORS, "author", authors.str.slice(len("author:")).cast(pl.UInt64))
    journals = draw_places(SOURCE, "journal", "issn", _places(folder, JOURNALS, options), options)
    conferences = draw_places(SOURCE, "conference", "location", _places(folder, CONFERENCES, options), options)
    kinds = (drawn, journals, conferences)
    return assembled(
        relations(SOURCE, *PAPER_RELATIONS, *PLACE_RELATIONS),
        [frame for kind in kinds for frame in kind.facts],
        [*(kind.entities for kind in kinds), people(names)],
        [kind.popularity for kind in kinds],
        [size for kind in kinds for size in kind.buckets],
        omissions,
    )


def _whole(column: str, kind: type[pl.DataType] = pl.UInt64) -> pl.Expr:
    return pl.col(column).cast(kind)


def _laid_aside(folder: Path, file: str, aside: Path, query: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.LazyFrame:
    """Apply a query to each block of a file, write the results to disk, and return them as a stream."""
    aside.mkdir()
    width, columns = LAYOUT[file]
    with readable(folder / file):
        query(pl.DataFrame(schema=dict.fromkeys(columns, pl.String))).write_parquet(aside / "none.parquet")
        for number, block in enumerate(blocks(folder / file, width, columns)):
            query(block).write_parquet(aside / f"{number:06}.parquet")
    return pl.scan_parquet(aside / "*.parquet")


def _rows(folder: Path, file: str, column: str, wanted: pl.Series) -> pl.DataFrame:
    """Return the rows of a file whose cell ``column`` is one of the ids ``wanted``."""
    width, columns = LAYOUT[file]
    texts = wanted.cast(pl.String).implode()
    with readable(folder / file):
        found = [block.filter(pl.col(column).is_in(texts)) for block in blocks(folder / file, width, columns)]
    return pl.concat([pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), *found])


def _numbers(rows: pl.DataFrame, last_year: int, omissions: Omissions) -> pl.DataFrame:
    """Return ``id``, ``score`` and the expressions of `asked_of` for a block's papers that count."""
    texts = _texts(rows).with_columns(score=_count("score", rows))
    dated = texts.filter(pl.col("paper_year") <= last_year)
    omissions.add("popularity", f"paper without a year, or after {last_year}", PAPERS, rows.height - dated.height)
    titled = dated.filter(readable_text("title"))
    omissions.add(
        "popularity", "paper whose title is not ASCII for the most part", PAPERS, dated.height - titled.height
    )
    there = asked_of({name: pl.col(name) for name in PAPER_RELATIONS if name in TEXTS})
    return titled.select("id", "score", **there)


def _count(column: str, rows: pl.DataFrame) -> pl.Series:
    """Return a column as counts; empty cells are 0."""
    return rows[column].replace("", "0").cast(pl.Int64)


def _texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `TEXTS`; a title's final full stop is removed, as in Head-to-Tail."""
    title = pl.col("title").str.strip_chars().str.strip_suffix(".")
    year = pl.col("paper_year").replace("", None).cast(pl.Int64)
    return rows.select(_whole("id"), title=title, paper_year=year, venue="venue", publisher="publisher", doi="doi")


def _places(folder: Path, file: str, options: MagOptions) -> pl.DataFrame:
    """Return all journals or conferences, with ``asked``: whether each may be drawn."""
    width, columns = LAYOUT[file]
    with readable(folder / file):
        blank = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        rows = pl.concat([blank, *blocks(folder / file, width, columns)])
        known = pl.col("created").str.slice(0, 4).cast(pl.Int64, strict=False) <= options.last_year
        asked = pl.col("label").is_unique() & readable_text("label") & known.fill_null(False)
        return rows.select(_whole("id"), score=_count("score", rows), label="label", value="value", asked=asked)
