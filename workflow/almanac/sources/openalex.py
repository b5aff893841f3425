"""OpenAlex: papers by citations, with year, venue, publisher, DOI and authors; journals with their ISSN.

Only the parts of the snapshot that the configuration names are read. A journal's popularity is the sum of its papers'
citations in these parts. OpenAlex has no conference locations, so that template of Head-to-Tail has no facts here.
"""

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import polars as pl

from almanac.sources.frames import assembled, once, readable_text
from almanac.sources.options import OpenalexOptions
from almanac.sources.papers import PAPER_RELATIONS, TEXTS, asked_of, draw_papers, draw_places, people, relations
from almanac.sources.reading import json_lines, laid_aside, readable
from almanac.sources.source_tables import Omissions, SourceTables

SOURCE = "openalex"
DOI = ("https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/")
TAG = re.compile(r"</?(?:i|b|u|em|strong|sub|sup|scp|tt|br|p|span|mml:\w+|jats:\w+)\b[^<>]*>")  # H<sub>2</sub>O
SCHEMA = TEXTS | {
    "score": pl.Int64(),
    "journal": pl.UInt64(),
    "issn": pl.String(),
    "authors": pl.List(pl.UInt64()),
    "names": pl.List(pl.String()),
}


class AuthorName(msgspec.Struct):
    """An author as a work names it."""

    id: str | None = None
    display_name: str | None = None


class Authorship(msgspec.Struct):
    """One author of a work."""

    author: AuthorName | None = None


class Venue(msgspec.Struct):
    """Where a work appeared."""

    id: str | None = None
    display_name: str | None = None
    issn_l: str | None = None
    host_organization_name: str | None = None
    type: str | None = None


class Location(msgspec.Struct):
    """A place of publication."""

    source: Venue | None = None


class Work(msgspec.Struct):
    """A line of the snapshot's works; all other keys are ignored."""

    id: str
    title: str | None = None
    publication_year: int | None = None
    doi: str | None = None
    cited_by_count: int = 0
    primary_location: Location | None = None
    authorships: list[Authorship] = []


def read(options: OpenalexOptions, folder: Path) -> SourceTables:
    """Return the tables of the named parts.

    Args:
        options: the parts, the last year, the pool, the seed.
        folder: holds the parts.

    Raises:
        AlmanacError: a part is missing, truncated or not of its shape, naming it and the line; or two works with the
            same id have different values.
    """
    omissions = Omissions()
    files = [folder / download.name for download in options.downloads()]
    with readable(folder):
        aside = laid_aside(_works(files, options.last_year, omissions), SCHEMA)
        works = once(folder, aside.stream(), omissions, "work")
        there = asked_of({column: pl.col(column) for column in PAPER_RELATIONS if column in TEXTS})
        numbers = works.filter(readable_text("title")).select("id", "score", **there)

        def rows_of(ids: pl.Series) -> pl.LazyFrame:
            return works.join(ids.to_frame("id").lazy(), on="id", how="semi")

        papers = draw_papers(
            SOURCE,
            numbers,
            lambda ids: rows_of(ids).select(*TEXTS).collect(engine="streaming"),
            lambda ids: (
                rows_of(ids).select("id", author="authors").explode("author").drop_nulls().collect(engine="streaming")
            ),
            options,
        )
        authors = rows_of(papers.entities["entity_id"].str.slice(len("paper:")).cast(pl.UInt64))
        names = authors.select("authors", "names").explode("authors", "names").unique("authors").collect()
        journals = (
            works.filter(pl.col("journal").is_not_null())
            .group_by(id="journal")
            .agg(pl.col("score").sum(), label=pl.col("venue").max(), value=pl.col("issn").max())
            .with_columns(pl.col("value").fill_null(""), asked=readable_text("label") & pl.col("label").is_unique())
            .collect(engine="streaming")
        )
    places = draw_places(SOURCE, "journal", "issn", journals, options)
    return assembled(
        relations(SOURCE, *PAPER_RELATIONS, "issn"),
        [*papers.facts, *places.facts],
        [papers.entities, places.entities, people(names.select(author="authors", label="names"))],
        [papers.popularity, places.popularity],
        [*papers.buckets, *places.buckets],
        omissions,
    )


def _works(files: Iterable[Path], last_year: int, omissions: Omissions) -> Iterator[tuple[object, ...]]:
    for path in files:
        for work in json_lines(path, Work):
            number, title = _number(work.id, "W"), TAG.sub("", html.unescape(work.title or "")).strip().rstrip(".")
            if number is None or not title:
                omissions.add("popularity", "work without a number or a title", work.id)
            elif work.publication_year is None or work.publication_year > last_year:
                omissions.add("popularity", f"work without a year, or after {last_year}", work.id)
            else:
                yield number, title, work.publication_year, *_published(work), *_written(work)


def _published(work: Work) -> tuple[object, ...]:
    """Return a work's venue, publisher, DOI, citations, journal number and ISSN."""
    venue = (work.primary_location and work.primary_location.source) or Venue()
    doi = work.doi or ""
    for prefix in DOI:
        doi = doi.removeprefix(prefix)
    journal = _number(venue.id, "S") if venue.type == "journal" and venue.display_name else None
    publisher = venue.host_organization_name
    return venue.display_name, publisher, doi or None, work.cited_by_count, journal, venue.issn_l


def _written(work: Work) -> tuple[list[int], list[str]]:
    """Return the numbers and names of a work's authors; authors without a name are left out."""
    authors = [one.author for one in work.authorships if one.author is not None]
    named = {number: author.display_name for author in authors if (number := _number(author.id, "A")) is not None}
    there = {number: label for number, label in named.items() if label}
    return list(there), list(there.values())


def _number(identifier: str | None, letter: str) -> int | None:
    """Return the number of an OpenAlex identifier (https://openalex.org/W2741809807)."""
    digits = (identifier or "").rpartition("/")[2].removeprefix(letter)
    return int(digits) if digits.isdecimal() else None
