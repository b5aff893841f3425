"""Goodreads: books by their ratings, with publisher, authors and ISBN (the UCSD collection; Head-to-Tail's Book).

A title's popularity is the number of ratings of all editions with the same title, ignoring case. Facts are about
editions whose title and year together are unique.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import polars as pl

from almanac.rows import Relation
from almanac.sources.checking import DIGITS
from almanac.sources.frames import (
    assembled,
    drawn_from,
    facts,
    histogram_from,
    once,
    popularity,
    readable_text,
    shown,
)
from almanac.sources.options import GoodreadsOptions
from almanac.sources.reading import json_lines, laid_aside, readable
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.thirds import cuts, sizes

SOURCE = "goodreads"
BOOKS, AUTHORS = (download.name for download in GoodreadsOptions.DOWNLOADS)
RELATIONS = [
    Relation(f"{SOURCE}.{name}", label, None, cardinality, kind, domain)
    for name, label, cardinality, kind, domain in (
        ("publisher", "publisher", "N-1", "organisation", "book"),
        ("author", "author", "N-M", "person", "book"),
        ("isbn13", "ISBN-13", "1-1", "string", "book"),
        ("isbn10", "ISBN-10", "1-1", "string", "book"),
        ("publication_year", "year of publication", "N-1", "year", "context"),
    )
]
SCHEMA = {
    "id": pl.UInt64(),
    "title": pl.String(),
    "year": pl.Int64(),
    "publisher": pl.String(),
    "isbn10": pl.String(),
    "isbn13": pl.String(),
    "ratings": pl.Int64(),
    "authors": pl.List(pl.String()),
}
WROTE = ("", "author", "writer")


class Credit(msgspec.Struct):
    """A contributor of a book and their role; authors have one of the roles `WROTE`."""

    author_id: str
    role: str = ""


class Book(msgspec.Struct):
    """A line of the books' file: one edition; all values are strings."""

    book_id: str
    title: str
    isbn: str = ""
    isbn13: str = ""
    publisher: str = ""
    publication_year: str = ""
    ratings_count: str = ""
    authors: list[Credit] = []


class GoodreadsAuthor(msgspec.Struct):
    """A line of the authors' file."""

    author_id: str
    name: str


def read(options: GoodreadsOptions, folder: Path) -> SourceTables:
    """Return the tables of the two files.

    Args:
        options: the last year, the pool, the seed.
        folder: holds the files under their own names.

    Raises:
        AlmanacError: a file is missing, truncated or not of its shape, naming it and the line; or two different books
            have the same id.
    """
    omissions = Omissions()
    with readable(folder / BOOKS):
        aside = laid_aside(_books(folder / BOOKS, omissions), SCHEMA)
        books = once(folder / BOOKS, aside.stream(), omissions, "edition")
        folded = books.with_columns(folded=pl.col("title").str.to_lowercase())
        titles = folded.group_by("folded").agg(score=pl.col("ratings").sum()).collect(engine="streaming")
        histogram = histogram_from(titles.lazy())
        found = cuts(histogram)
        editions = folded.group_by("folded", "year").len()
        judged = folded.join(editions, on=["folded", "year"], how="left").with_columns(
            reason=_reason(options.last_year)
        )
        left = judged.group_by("reason").agg(pl.len(), pl.col("id").min()).drop_nulls("reason")
        for reason, count, example in left.collect(engine="streaming").iter_rows():
            omissions.add("facts", reason, str(example), count)
        asked = judged.filter(pl.col("reason").is_null()).drop("len", "reason").join(titles.lazy(), on="folded")
        has = {
            "publisher": shown(pl.col("publisher")),
            "author": pl.col("authors").list.len() > 0,
            "isbn13": pl.col("isbn13").str.contains(r"^\d{13}$"),
            "isbn10": pl.col("isbn10").str.contains(r"^\d{9}[\dX]$"),
        }
        drawn = drawn_from(asked, has, found, options.pool, options.seed, SOURCE)
        scored = pl.concat(drawn.values()).unique("id")
        rows = asked.drop("score").join(scored.lazy(), on="id").collect(engine="streaming")
        rows = rows.with_columns(subject_id=_identifier("book", pl.col("id"))).sort("id")
    entities = rows.select(entity_id="subject_id", label="title", aliases=_none(), type=pl.lit("book"))
    return assembled(
        RELATIONS,
        _facts(rows, drawn),
        [entities, _authors(folder / AUTHORS, set(rows["authors"].explode().drop_nulls()))],
        [popularity(rows.with_columns(entity_id="subject_id"), SOURCE, "book")],
        sizes(SOURCE, "book", histogram, found),
        omissions,
    )


def _reason(last_year: int) -> pl.Expr:
    """Return an expression for the reason why an edition is not asked about; null if it is."""
    return (
        pl.when(pl.col("year").is_null())
        .then(pl.lit("edition without a year"))
        .when(pl.col("year") > last_year)
        .then(pl.lit(f"edition after {last_year}"))
        .when(~readable_text("title"))
        .then(pl.lit("edition whose title is mostly not ASCII"))
        .when(pl.col("len") > 1)
        .then(pl.lit("edition whose title and year others have"))
    )


def _identifier(kind: str, column: pl.Expr) -> pl.Expr:
    return pl.lit(f"{kind}:") + column.cast(pl.String)


def _none() -> pl.Expr:
    return pl.lit([], pl.List(pl.String))


def _books(path: Path, omissions: Omissions) -> Iterator[tuple[object, ...]]:
    for book in json_lines(path, Book):
        if not book.title.strip() or not book.book_id.isdecimal():
            omissions.add("popularity", "book without a title or a number", book.book_id)
            continue
        numbers = (book.book_id, book.publication_year, book.ratings_count)
        if any(number.isdecimal() and len(number) > DIGITS for number in numbers):
            omissions.add("popularity", f"book with a number of more than {DIGITS} digits", numbers)
            continue
        others = [credit for credit in book.authors if credit.role.strip().lower() not in WROTE]
        if others:
            omissions.add("facts", "credit that is no author's", f"{book.book_id} {others[0].role}", len(others))
        yield (
            int(book.book_id),
            book.title.strip(),
            (int(book.publication_year) or None) if book.publication_year.isdecimal() else None,
            book.publisher.strip(),
            book.isbn.strip().upper(),
            book.isbn13.strip(),
            int(book.ratings_count) if book.ratings_count.isdecimal() else 0,  # as in the paper's code
            [credit.author_id for credit in book.authors if credit not in others],
        )


def _authors(path: Path, wanted: set[str]) -> pl.DataFrame:
    found = [
        (f"author:{row.author_id}", row.name) for row in json_lines(path, GoodreadsAuthor) if row.author_id in wanted
    ]
    names = pl.DataFrame(found, schema={"entity_id": pl.String, "label": pl.String}, orient="row")
    return names.with_columns(aliases=_none(), type=pl.lit("person"))


def _facts(rows: pl.DataFrame, drawn: dict[str, pl.DataFrame]) -> list[pl.DataFrame]:
    out = [
        facts(
            rows.join(drawn[name], on="id", how="semi"),
            f"{SOURCE}.{name}",
            SOURCE,
            value=pl.col(name),
            datatype="string",
        )
        for name in ("publisher", "isbn13", "isbn10")
    ]
    credits = rows.join(drawn["author"], on="id", how="semi").explode("authors").filter(pl.col("authors") != "")
    author = _identifier("author", pl.col("authors"))
    out.append(facts(credits, f"{SOURCE}.author", SOURCE, object_id=author))
    year = pl.col("year").cast(pl.String)
    context = facts(rows, f"{SOURCE}.publication_year", SOURCE, value=year, datatype="date", precision="year")
    return [*out, context]
