"""Strict, streaming scans of IMDb's five files; every title and person becomes a few numbers."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from almanac.errors import AlmanacError
from almanac.sources.frames import NOTHING, owned, scan, shown
from almanac.sources.options import ImdbOptions
from almanac.sources.reading import check_cells, opened, readable
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
YEAR = pl.Int16()
NUMBERS = {
    "startYear": YEAR,
    "endYear": YEAR,
    "runtimeMinutes": pl.Int32(),
    "numVotes": pl.UInt32(),
    "birthYear": YEAR,
    "deathYear": YEAR,
}
SERIES = ("tvSeries", "tvMiniSeries")
LARGEST = 2**27  # limit of title numbers (below 2**26 in 2026), since they index an array of votes
PROFESSION = pl.Categorical(pl.Categories("imdb.profession", physical=pl.UInt16))
PERSON = {
    "id": pl.UInt32(),
    "alike": pl.UInt64(),
    "score": pl.UInt32(),
    "born": pl.Int16(),
    "died": pl.Int16(),
    "profession": pl.String(),
    "first": pl.UInt32(),
    "single": pl.Boolean(),
}


def number(column: str, strict: bool = True) -> pl.Expr:
    """Return the number of an identifier (tt0111161, nm0000001); if not strict, null for an invalid one."""
    return pl.col(column).str.slice(2).cast(pl.UInt32, strict=strict)


def whole(column: str, strict: bool = True) -> pl.Expr:
    """Return a column of `NUMBERS` as integers; if not strict, null for invalid cells."""
    return pl.col(column).cast(NUMBERS[column], strict=strict)


def identifier(prefix: str, column: str) -> pl.Expr:
    """Return the identifiers of a column of numbers."""
    return pl.lit(prefix) + pl.col(column).cast(pl.String).str.zfill(7)


def only(column: str) -> pl.Expr:
    """Return a comma-separated list if it has exactly one element, otherwise null."""
    return pl.when(shown(pl.col(column)) & ~pl.col(column).str.contains(",", literal=True)).then(pl.col(column))


def alike(text: pl.Expr) -> pl.Expr:
    """Return a 64-bit hash of a text, which stands for the text: collisions among 12 million names are improbable."""
    return text.hash()


def bearers(ids: pl.Series, everybody: pl.DataFrame) -> pl.DataFrame:
    """Return ``id, bearers`` for the ids that are in a frame: the number of its rows with the same name.

    Args:
        ids: the ids.
        everybody: ``id, alike`` (the hash of the name).
    """
    own = everybody.lazy().filter(pl.col("id").is_in(ids.implode())).select("id", "alike").collect()
    same = everybody.lazy().filter(pl.col("alike").is_in(own["alike"].unique().implode()))
    return own.join(same.group_by("alike").agg(bearers=pl.len()).collect(), on="alike").select("id", "bearers")


def sharing(alikes: pl.Series) -> int:
    """Return how many elements have a value that occurs more than once."""
    ordered = np.sort(alikes.to_numpy())  # takes less time and memory than a histogram
    same = ordered[1:] == ordered[:-1]
    return int(np.count_nonzero(np.append(same, False) | np.append(False, same)))


def _check_numbers(path: Path, names: Sequence[str]) -> None:
    """Raise an `AlmanacError` for the first cell of a file that is no valid identifier or number."""
    rows = scan(path, names, names, seen=True).with_row_index("line", 2)
    numbers = {names[0]: number(names[0], strict=False)}
    numbers |= {name: whole(name, strict=False) for name in names if name in NUMBERS}
    for name, value in numbers.items():
        wrong = rows.filter(pl.col(name).is_not_null() & value.is_null())
        first = wrong.select("line", identity=names[0], text=name).head(1).collect(engine="streaming")
        for line, identity, text in first.iter_rows():
            of = f" of {identity}" if name in NUMBERS else ""
            expected = f"a whole number or {NOTHING}" if name in NUMBERS else "tt or nm and digits"
            raise AlmanacError(
                f"{path}: line {line}: {name}{of} is {text!r}; expected is {expected}; "
                "correct the row, or download the file again"
            )


class ImdbFiles:
    """The files of one folder, and the filter that says which titles count."""

    def __init__(self, folder: Path, last_year: int) -> None:
        self._folder = folder
        self._last_year = last_year
        self._seen: set[str] = set()  # files that have been read completely and are valid

    def collect(self, file: str, wanted: Iterable[str], query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Return the result of a query on one file, which is streamed.

        Raises:
            AlmanacError: naming the file, if it is missing, truncated, or not of IMDb's shape.
        """
        path = self._folder / file
        with readable(path):
            rows = scan(path, COLUMNS[file], tuple(wanted), file in self._seen)
            try:
                found = owned(query(rows)).collect(engine="streaming")
            except pl.exceptions.PolarsError:
                with opened(path) as lines:
                    check_cells(path, lines, 1, len(COLUMNS[file]), b"\t")
                _check_numbers(path, COLUMNS[file])
                raise
        self._seen.add(file)
        return found

    def kept(self, start: pl.Expr, end: pl.Expr) -> pl.Expr:
        """Whether a title counts: it has a year, and does not begin after the last (Head-to-Tail's filter)."""
        return (start.is_not_null() | end.is_not_null()) & (start.is_null() | (start <= self._last_year))

    def titles(self, omissions: Omissions) -> pl.DataFrame:
        """Return all titles that count: ``id, alike, series, start, end, runtime, score``.

        ``alike`` is the hash of the lower-cased title; ``score`` is the number of votes, 1 for titles without votes.
        """
        everything = self.collect(
            BASICS,
            ("tconst", "titleType", "primaryTitle", "startYear", "endYear", "runtimeMinutes"),
            lambda rows: rows.select(
                id=number("tconst"),
                alike=alike(pl.col("primaryTitle").str.to_lowercase()),
                series=pl.col("titleType").is_in(SERIES),
                start=whole("startYear"),
                end=whole("endYear"),
                runtime=whole("runtimeMinutes"),
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
            lambda rows: rows.select(id=number("tconst"), score=whole("numVotes")),
        )
        self._once(RATINGS, votes)
        scores = self._looked_up(RATINGS, votes, 1)
        return titles.with_columns(score=pl.Series(scores[np.minimum(titles["id"].to_numpy(), len(scores) - 1)]))

    def _looked_up(self, file: str, scored: pl.DataFrame, others: int) -> npt.NDArray[np.uint32]:
        """Return an array of scores indexed by title number; its last element is the score of any larger number.

        Args:
            file: the file with the numbers, for messages.
            scored: ``id, score``.
            others: the score of titles that are not in ``scored``.
        """
        numbers = scored["id"].to_numpy()
        if (largest := int(numbers.max(initial=0))) >= LARGEST:
            raise AlmanacError(f"{self._folder / file}: the number {largest} is larger than any that IMDb has given")
        found = np.full(largest + 2, others, np.uint32)
        found[numbers] = scored["score"].to_numpy()
        return found

    def _once(self, file: str, frame: pl.DataFrame) -> None:
        numbers = frame["id"]
        if numbers.null_count():
            raise AlmanacError(f"{self._folder / file}: a row has no identifier ({NOTHING}); download the file again")
        if numbers.is_sorted() and not (numbers == numbers.shift(1)).any():
            return  # the files are sorted; this is much cheaper
        if numbers.is_duplicated().any():
            twice = numbers.filter(numbers.is_duplicated())[0]
            raise AlmanacError(f"{self._folder / file}: the number {twice} occurs twice; download the file again")

    def people(self, titles: pl.DataFrame) -> pl.DataFrame:
        """Return all people: ``id, alike, score, born, died, profession, first, single``.

        ``score`` is the sum of the scores of those known-for titles that count, and ``first`` is the first of these.
        ``profession`` is null unless the person has exactly one. ``single`` tells whether the person is known for
        exactly one title, counting or not; null if for none.

        Args:
            titles: all titles that count.
        """
        votes = self._looked_up(BASICS, titles, 0)

        def scored(batch: pl.DataFrame) -> pl.DataFrame:
            listed = batch["knownForTitles"].str.slice(2).str.split(",tt")
            lengths = listed.list.len().fill_null(0).to_numpy()
            found = listed.explode(empty_as_null=False, keep_nulls=False).cast(pl.UInt32, strict=False)
            if found.null_count() or not batch["knownForTitles"].str.starts_with("tt").all():
                raise self._no_titles(batch)
            known = found.to_numpy()
            running = np.concatenate([[0], np.cumsum(votes[np.minimum(known, len(votes) - 1)], dtype=np.int64)])
            ends = np.cumsum(lengths, dtype=np.int64)
            counted = np.flatnonzero(votes[np.minimum(known, len(votes) - 1)])  # titles that count have a score above 0
            nearest = np.append(counted, len(known))[np.searchsorted(counted, ends - lengths)]
            first = np.append(known, 0)[nearest]
            return batch.select(
                id=number("nconst"),
                alike=alike(pl.col("primaryName")),
                score=pl.Series(running[ends] - running[ends - lengths]).cast(pl.UInt32),
                born=whole("birthYear"),
                died=whole("deathYear"),
                profession=only("primaryProfession"),
                first=pl.when(pl.Series(nearest < ends)).then(pl.Series(first, dtype=pl.UInt32)),
                single=pl.when(pl.Series(lengths > 0)).then(pl.Series(lengths == 1)),
            )

        people = self.collect(
            NAMES,
            ("nconst", "primaryName", "birthYear", "deathYear", "primaryProfession", "knownForTitles"),
            lambda rows: rows.map_batches(scored, schema=PERSON, streamable=True).with_columns(
                pl.col("profession").cast(PROFESSION)
            ),
        )
        self._once(NAMES, people)
        return people

    def _no_titles(self, batch: pl.DataFrame) -> AlmanacError:
        """Return the error for the first person of a batch whose ``knownForTitles`` is no list of titles."""
        strange = batch.filter(~pl.col("knownForTitles").str.contains(r"^tt\d{1,9}(,tt\d{1,9})*$"))
        person, text = strange.select("nconst", "knownForTitles").row(0)
        return AlmanacError(
            f"{self._folder / NAMES}: {person} is known for {text!r}; expected are titles (tt0000001,tt0000002); "
            "correct the row, or download the file again"
        )

    def named_people(self, ids: pl.Series, people: pl.DataFrame) -> pl.DataFrame:
        """Return the names of some people.

        Args:
            ids: their numbers.
            people: all people, to count how many share a name.

        Returns:
            ``id, label, bearers`` (the number of people with the same name).
        """
        wanted = ids.unique().implode()  # `is_in` needs less memory than a join, which buffers what it reads
        found = self.collect(
            NAMES,
            ("nconst", "primaryName"),
            lambda rows: (
                rows.with_columns(id=number("nconst"))
                .filter(pl.col("id").is_in(wanted))
                .select("id", label="primaryName")
            ),
        )
        return found.join(bearers(ids, people), on="id")

    def named_titles(self, ids: pl.Series, titles: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the names of some titles.

        Args:
            ids: their numbers.
            titles: all titles that count.

        Returns:
            The entities; and, for those that count, ``id, bearers``: the number of counting titles with the same name,
            ignoring case.
        """
        wanted, title, original = ids.unique().implode(), pl.col("primaryTitle"), pl.col("originalTitle")
        found = self.collect(
            BASICS,
            ("tconst", "titleType", "primaryTitle", "originalTitle"),
            lambda rows: rows.with_columns(id=number("tconst")).filter(pl.col("id").is_in(wanted)),
        )
        entities = found.select(
            entity_id="tconst",
            label=title,
            aliases=pl.when(original != title).then(pl.concat_list(original)).otherwise(pl.lit([], pl.List(pl.String))),
            type="titleType",
        )
        return entities, bearers(ids, titles).join(found.filter(title != ""), on="id", how="semi")
