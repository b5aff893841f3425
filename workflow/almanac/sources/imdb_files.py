"""IMDb's five files: strict scans as streams, and every title and person as a few numbers."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl

from almanac.errors import AlmanacError
from almanac.sources.frames import readable, scan
from almanac.sources.options import ImdbOptions
from almanac.sources.source_tables import Omissions

BASICS, RATINGS, CREW, PRINCIPALS, NAMES = (download.name for download in ImdbOptions.DOWNLOADS)
TITLE_COLUMNS = "tconst titleType primaryTitle originalTitle isAdult startYear endYear runtimeMinutes genres"
COLUMNS = {
    BASICS: TITLE_COLUMNS.split(),
    RATINGS: ["tconst", "averageRating", "numVotes"],
    CREW: ["tconst", "directors", "writers"],
    PRINCIPALS: ["tconst", "ordering", "nconst", "category", "job", "characters"],
    NAMES: ["nconst", "primaryName", "birthYear", "deathYear", "primaryProfession", "knownForTitles"],
}
SERIES = ("tvSeries", "tvMiniSeries")
LARGEST = 2**27  # of the titles' numbers, in 2026 below 2**26: votes are looked up in an array of that length
PROFESSION = pl.Categorical(pl.Categories("imdb.profession", physical=pl.UInt16))
PERSON = {
    "id": pl.UInt32(),
    "score": pl.UInt32(),
    "born": pl.Int16(),
    "died": pl.Int16(),
    "profession": pl.String(),
    "known": pl.UInt32(),
    "famous": pl.Boolean(),
}


def number(column: str) -> pl.Expr:
    """Return the number of an identifier (tt0111161, nm0000001)."""
    return pl.col(column).str.slice(2).cast(pl.UInt32)


def identifier(prefix: str, column: str) -> pl.Expr:
    """Return the identifier of a number."""
    return pl.lit(prefix) + pl.col(column).cast(pl.String).str.zfill(7)


def only(column: str) -> pl.Expr:
    """Return a comma-separated list's text where it has one element, else nothing."""
    return pl.when(~pl.col(column).str.contains(",", literal=True)).then(pl.col(column))


class ImdbFiles:
    """The files of one folder, and the filter that says which titles count."""

    def __init__(self, folder: Path, last_year: int) -> None:
        self._folder = folder
        self._last_year = last_year
        self._seen: set[str] = set()  # files that have been read whole, and are what they should be

    def collect(self, file: str, wanted: Iterable[str], query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Return what a query finds in one file, which is read as a stream.

        Raises:
            AlmanacError: the file is missing, cut, or not of IMDb's shape, naming it.
        """
        path = self._folder / file
        with readable(path):
            found = query(scan(path, COLUMNS[file], tuple(wanted), file in self._seen)).collect(engine="streaming")
        self._seen.add(file)
        return found

    def kept(self, start: pl.Expr, end: pl.Expr) -> pl.Expr:
        """Whether a title counts: it has a year, and does not begin after the last (Head-to-Tail's filter)."""
        return (start.is_not_null() | end.is_not_null()) & (start.is_null() | (start <= self._last_year))

    def titles(self, omissions: Omissions) -> pl.DataFrame:
        """Return all titles that count, with ``id, series, start, end, runtime, score``: its votes, 1 without any."""
        everything = self.collect(
            BASICS,
            ("tconst", "titleType", "startYear", "endYear", "runtimeMinutes"),
            lambda rows: rows.select(
                id=number("tconst"),
                series=pl.col("titleType").is_in(SERIES),
                start=pl.col("startYear").cast(pl.Int16),
                end=pl.col("endYear").cast(pl.Int16),
                runtime=pl.col("runtimeMinutes").cast(pl.Int32),
            ),
        )
        self._once(BASICS, everything)
        without = everything.filter(pl.col("start").is_null() & pl.col("end").is_null()).height
        titles = everything.filter(self.kept(pl.col("start"), pl.col("end")))
        late = everything.height - without - titles.height
        omissions.add("popularity", "title without any year", BASICS, without)
        omissions.add("popularity", f"title that begins after {self._last_year}", BASICS, late)
        votes = self.collect(
            RATINGS,
            ("tconst", "numVotes"),
            lambda rows: rows.select(id=number("tconst"), score=pl.col("numVotes").cast(pl.UInt32)),
        )
        self._once(RATINGS, votes)
        return titles.join(votes, on="id", how="left").with_columns(pl.col("score").fill_null(1))

    def _once(self, file: str, frame: pl.DataFrame) -> None:
        numbers = frame["id"]
        if numbers.is_sorted() and not (numbers == numbers.shift(1)).any():
            return  # the files are sorted; this is much cheaper
        if numbers.is_duplicated().any():
            twice = numbers.filter(numbers.is_duplicated())[0]
            raise AlmanacError(f"{self._folder / file}: the number {twice} stands twice; bring the file again")

    def people(self, titles: pl.DataFrame) -> pl.DataFrame:
        """Return all people, with ``id, score, born, died, profession, known, famous``.

        The score is the sum of those of their known-for titles that count. ``profession`` and ``known`` are given where
        there is just one; ``famous`` are those who are known for anything.

        Args:
            titles: all titles that count.
        """
        numbers = titles["id"].to_numpy()
        if (largest := int(numbers.max(initial=0))) >= LARGEST:
            raise AlmanacError(f"{self._folder / BASICS}: the number {largest} is larger than any that IMDb has given")
        votes = np.zeros(largest + 2, np.uint32)  # the last stands for all that lie beyond
        votes[numbers] = titles["score"].to_numpy()

        def scored(batch: pl.DataFrame) -> pl.DataFrame:
            listed = batch["knownForTitles"].str.split(",")
            lengths = listed.list.len().fill_null(0).to_numpy()
            known = listed.drop_nulls().explode().str.slice(2).cast(pl.UInt32).to_numpy()
            running = np.concatenate([[0], np.cumsum(votes[np.minimum(known, len(votes) - 1)], dtype=np.int64)])
            ends = np.cumsum(lengths, dtype=np.int64)
            return batch.select(
                id=number("nconst"),
                score=pl.Series(running[ends] - running[ends - lengths]).cast(pl.UInt32),
                born=pl.col("birthYear").cast(pl.Int16),
                died=pl.col("deathYear").cast(pl.Int16),
                profession=only("primaryProfession"),
                known=only("knownForTitles").str.slice(2).cast(pl.UInt32),
                famous=pl.col("knownForTitles").is_not_null(),
            )

        people = self.collect(
            NAMES,
            ("nconst", "birthYear", "deathYear", "primaryProfession", "knownForTitles"),
            lambda rows: rows.map_batches(scored, schema=PERSON, streamable=True).with_columns(
                pl.col("profession").cast(PROFESSION)
            ),
        )
        self._once(NAMES, people)
        return people

    def named_people(self, people: pl.DataFrame) -> pl.DataFrame:
        """Return ``id, label, first`` (known-for title, as an identifier) of the people in a frame's ``id``."""
        wanted = people["id"].unique().implode()  # `is_in` holds less than a join, which buffers what it reads
        return self.collect(
            NAMES,
            ("nconst", "primaryName", "knownForTitles"),
            lambda rows: (
                rows.with_columns(id=number("nconst"))
                .filter(pl.col("id").is_in(wanted))
                .select("id", label="primaryName", first=pl.col("knownForTitles").str.split(",").list.first())
            ),
        )

    def same_name(self, labels: pl.Series) -> pl.DataFrame:
        """Return ``label`` and ``len``: how many people have each of these names."""
        wanted = labels.unique().to_frame("label").lazy()
        return self.collect(
            NAMES,
            ("primaryName",),
            lambda rows: rows.select(label="primaryName").join(wanted, on="label", how="semi").group_by("label").len(),
        )

    def named_titles(self, identifiers: pl.Series) -> pl.DataFrame:
        """Return the entities of these titles."""
        wanted = identifiers.unique().to_frame("tconst").lazy()
        title, original = pl.col("primaryTitle"), pl.col("originalTitle")
        return self.collect(
            BASICS,
            ("tconst", "titleType", "primaryTitle", "originalTitle"),
            lambda rows: rows.join(wanted, on="tconst", how="semi").select(
                entity_id="tconst",
                label=title,
                aliases=pl.when(original != title)
                .then(pl.concat_list(original))
                .otherwise(pl.lit([], pl.List(pl.String))),
                type="titleType",
            ),
        )

    def same_title(self, labels: pl.Series) -> pl.DataFrame:
        """Return ``folded`` and ``len``: how many titles that count have each of these, in lower case."""
        wanted = labels.str.to_lowercase().unique().to_frame("folded").lazy()
        start, end = pl.col("startYear").cast(pl.Int16), pl.col("endYear").cast(pl.Int16)
        return self.collect(
            BASICS,
            ("primaryTitle", "startYear", "endYear"),
            lambda rows: (
                rows.filter(self.kept(start, end))
                .select(folded=pl.col("primaryTitle").str.to_lowercase())
                .join(wanted, on="folded", how="semi")
                .group_by("folded")
                .len()
            ),
        )
