"""IMDb: Head-to-Tail's facts about films, series and people.

The popularity of a title is its number of votes, that of a person the votes of the titles they are known for. All
titles and people count for popularity. Facts are drawn: a pool of subjects per relation in each of head, torso and
tail. The five files are streamed; only a few numbers per title and person are held in memory.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import polars as pl

from almanac.rows import Relation
from almanac.sources.frames import assembled, bucketed, drawn, facts, popularity
from almanac.sources.imdb_files import CREW, PRINCIPALS, ImdbFiles, identifier, number, sharing
from almanac.sources.options import ImdbOptions
from almanac.sources.source_tables import Omissions, SourceTables

SOURCE = "imdb"
ACTORS = ("actor", "actress")
SHARED = "person whose name others have"
NUMBERED = r"^nm\d{1,9}$"
ASKED, CONTEXT = "movie", "context"
RELATIONS = [
    Relation(f"{SOURCE}.{name}", label, None, cardinality, kind, domain)
    for name, label, cardinality, kind, domain in (
        ("series_start", "year in which the series began", "N-1", "year", ASKED),
        ("series_end", "year in which the series ended", "N-1", "year", ASKED),
        ("release_year", "year of release", "N-1", "year", ASKED),
        ("runtime", "length in minutes", "N-1", "quantity", ASKED),
        ("director", "director", "N-M", "person", ASKED),
        ("writer", "writer", "N-M", "person", ASKED),
        ("character", "actor of a character", "N-M", "person", ASKED),
        ("birth_year", "year of birth", "N-1", "year", ASKED),
        ("death_year", "year of death", "N-1", "year", ASKED),
        ("profession", "only profession", "N-1", "profession", ASKED),
        ("known_for", "only title that the person is known for", "N-1", "title", ASKED),
        ("first_known_for", "first title that the person is known for", "N-1", "title", CONTEXT),
        ("first_year", "year of release, or in which the series began", "N-1", "year", CONTEXT),
        ("namesakes", "number of other titles with the same name", "N-1", "quantity", CONTEXT),
    )
]
WIDER, AGAIN = 4, 8  # candidates of a draw, as a multiple of the pool; and the factor by which a retry widens it


def read(options: ImdbOptions, folder: Path) -> SourceTables:
    """Return the tables of IMDb's files.

    Args:
        options: the last year, the pool, the seed.
        folder: holds the five files under their own names.

    Returns:
        Facts of the drawn subjects, their entities with popularity and bucket, and the buckets' sizes over all titles
        and all people. Titles without any year or that begin after the last year have no popularity and no facts.

    Raises:
        AlmanacError: naming the file, if it is missing, truncated, or not of IMDb's shape.
    """
    files, omissions = ImdbFiles(folder, options.last_year), Omissions()
    titles, title_sizes = bucketed(files.titles(omissions), SOURCE, "title")
    rows = title_facts(titles, options) + linked_facts(files, titles, options, omissions)
    titles = titles.select("id", "alike", "start", "score", "bucket")
    everybody = files.people(titles)
    if options.people == "faithful":
        people = _alone(everybody, omissions)
    else:
        people = everybody
        omissions.add("facts", SHARED, SOURCE, sharing(everybody["alike"]))
    people, person_sizes = bucketed(people, SOURCE, "person")
    makers = pl.concat(frame["object_id"] for frame in rows).drop_nulls().unique()
    own, labels = person_facts(files, people, everybody, _numbers(makers), options)
    rows += own
    named = pl.concat([frame[column] for frame in rows for column in ("subject_id", "object_id")]).drop_nulls().unique()
    named_titles, bearers = files.named_titles(_numbers(named.filter(named.str.starts_with("tt"))), titles)
    rows += title_context(bearers, titles)
    scores = [
        popularity(frame.with_columns(entity_id=identifier(prefix, "id")), SOURCE, kind)
        for frame, kind, prefix in (
            (titles.join(bearers, on="id", how="semi"), "title", "tt"),
            (people.join(labels.select("id"), on="id", how="semi"), "person", "nm"),
        )
    ]
    persons = labels.select(
        "label", entity_id=identifier("nm", "id"), aliases=pl.lit([], pl.List(pl.String)), type=pl.lit("person")
    )
    return assembled(RELATIONS, rows, [named_titles, persons], scores, [*title_sizes, *person_sizes], omissions)


def _alone(people: pl.DataFrame, omissions: Omissions) -> pl.DataFrame:
    """Return the people whose name is unique: only these have buckets in Head-to-Tail's released code.

    People known only for titles that do not count are dropped first, and do not make a name ambiguous.
    """
    counted = people.filter(pl.col("first").is_not_null() | pl.col("single").is_null())
    omissions.add(
        "popularity", "person known only for titles that do not count", SOURCE, people.height - counted.height
    )
    found = counted.filter(~pl.col("alike").is_duplicated())
    omissions.add("popularity", SHARED, SOURCE, counted.height - found.height)
    return found


def _numbers(identifiers: pl.Series) -> pl.Series:
    return identifiers.to_frame("text").select(number("text")).to_series()


def _draw(frame: pl.DataFrame, relation: str, options: ImdbOptions, count: int | None = None) -> pl.DataFrame:
    return drawn(frame, count or options.pool, options.seed, SOURCE, relation)


def _ids(frame: pl.DataFrame, has: pl.Expr) -> pl.DataFrame:
    return frame.lazy().filter(has).select("id", "bucket").collect()  # without a copy of the other columns


def title_facts(titles: pl.DataFrame, options: ImdbOptions) -> list[pl.DataFrame]:
    """Return years and lengths of drawn titles."""
    series, start, end = pl.col("series"), pl.col("start"), pl.col("end")
    wanted = {
        "series_start": (series & start.is_not_null(), start, "date", "year"),
        "release_year": (~series & start.is_not_null(), start, "date", "year"),
        "series_end": (series & (end <= options.last_year), end, "date", "year"),
        "runtime": (pl.col("runtime").is_not_null(), pl.col("runtime"), "quantity", None),
    }
    return [
        facts(
            titles.join(_draw(_ids(titles, eligible), name, options), on="id", how="semi").with_columns(
                subject_id=identifier("tt", "id")
            ),
            f"{SOURCE}.{name}",
            SOURCE,
            value=value.cast(pl.String),
            datatype=datatype,
            precision=precision,
        )
        for name, (eligible, value, datatype, precision) in wanted.items()
    ]


def linked_facts(
    files: ImdbFiles, titles: pl.DataFrame, options: ImdbOptions, omissions: Omissions
) -> list[pl.DataFrame]:
    """Return directors, writers, and actors with their characters, of drawn titles."""
    columns = {"director": "directors", "writer": "writers"}
    has = {name: pl.col(column).is_not_null() for name, column in columns.items()}
    out = []
    for name, crew in _linked(files, titles, CREW, tuple(columns.values()), has, options).items():
        makers = crew.with_columns(person=pl.col(columns[name]).str.split(",")).explode("person")
        rows = _people(makers, "person", omissions).with_columns(subject_id=identifier("tt", "id"))
        out.append(facts(rows, f"{SOURCE}.{name}", SOURCE, object_id=pl.col("person")))
    plays = {"character": pl.col("characters").is_not_null() & pl.col("category").is_in(ACTORS)}
    rows = _linked(files, titles, PRINCIPALS, ("nconst", "category", "characters"), plays, options)["character"]
    rows = _people(rows, "nconst", omissions)
    characters = [_characters(text, omissions) for text in rows["characters"]]
    rows = rows.with_columns(character=pl.Series(characters, dtype=pl.List(pl.String))).explode("character")
    rows = rows.filter(pl.col("character").is_not_null()).group_by("id", "nconst").agg("character")
    rows = rows.with_columns(subject_id=identifier("tt", "id"))
    qualifiers = pl.col("character").list.unique().list.sort()
    return [*out, facts(rows, f"{SOURCE}.character", SOURCE, object_id=pl.col("nconst"), qualifiers=qualifiers)]


def _people(rows: pl.DataFrame, column: str, omissions: Omissions) -> pl.DataFrame:
    """Return the rows whose ``column`` is a person's identifier; the others are counted as omitted."""
    named = pl.col(column).str.contains(NUMBERED)
    for text in rows.filter(~named)[column]:
        omissions.add("facts", "a maker is no person's identifier", text)
    return rows.filter(named)


def _characters(text: str, omissions: Omissions) -> list[str]:
    """Return the characters of a JSON list, each as ``character=NAME``."""
    try:
        names = msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError:
        omissions.add("facts", "characters are no JSON list of texts", text)
        return []
    return [f"character={name}" for name in names if name.strip()]


def _linked(
    files: ImdbFiles,
    titles: pl.DataFrame,
    file: str,
    columns: Sequence[str],
    has: Mapping[str, pl.Expr],
    options: ImdbOptions,
) -> dict[str, pl.DataFrame]:
    """Return a file's rows of drawn titles by relation; only this file tells which titles have facts of them.

    The first titles of each bucket in the draw's order are looked up, then more of them until the pools are full. The
    result is the same as a draw from all titles with the relation. ``has``: by relation, whether a row has a fact.
    """
    count = options.pool * WIDER
    while True:
        candidates = {name: _draw(titles, name, options, count).select("id", "bucket") for name in has}
        anywhere = pl.concat(candidates.values())["id"].unique().implode()

        def query(rows: pl.LazyFrame, anywhere: pl.Series = anywhere) -> pl.LazyFrame:
            rows = rows.filter(pl.any_horizontal(*has.values())).with_columns(id=number("tconst"))
            return rows.filter(pl.col("id").is_in(anywhere))

        rows = files.collect(file, ("tconst", *columns), query)
        found = {name: rows.filter(has[name]).join(candidates[name], on="id") for name in has}
        subjects = {name: rows_of.unique("id") for name, rows_of in found.items()}
        if all(_full(subjects[name], _bucket_counts(titles), count, options) for name in has):
            return {
                name: rows_of.join(_draw(subjects[name], name, options), on="id", how="semi")
                for name, rows_of in found.items()
            }
        count *= AGAIN


def _bucket_counts(frame: pl.DataFrame) -> dict[str, int]:
    return dict(frame["bucket"].value_counts().iter_rows())


def _full(found: pl.DataFrame, available: Mapping[str, int], count: int, options: ImdbOptions) -> bool:
    """Whether each bucket has a full pool, or all its candidates were looked up."""
    counts = _bucket_counts(found)
    return all(counts.get(bucket, 0) >= options.pool or count >= available[bucket] for bucket in available)


def person_facts(
    files: ImdbFiles, people: pl.DataFrame, everybody: pl.DataFrame, others: pl.Series, options: ImdbOptions
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Return facts of drawn people; they have a unique name and are known for a title that counts.

    Args:
        files: the files, for the names.
        people: the people who have a bucket.
        everybody: all people, to count how many share a name.
        others: numbers of further people whose names are needed.
        options: the last year, the pool, the seed.

    Returns:
        The facts; and all candidates and ``others`` with their names (`ImdbFiles.named_people`).
    """
    last, count = options.last_year, options.pool * WIDER
    known = pl.col("first").is_not_null()
    eligible = {
        "birth_year": known & (pl.col("born") <= last),
        "death_year": known & (pl.col("died") <= last),
        "profession": known & pl.col("profession").is_not_null(),
        "known_for": known & pl.col("single"),
    }
    available = {name: _bucket_counts(_ids(people, has)) for name, has in eligible.items()}
    while True:
        candidates = {
            name: people.filter(pl.col("id").is_in(_draw(_ids(people, has), name, options, count)["id"].implode()))
            for name, has in eligible.items()
        }
        labels = files.named_people(pl.concat([others, *(frame["id"] for frame in candidates.values())]), everybody)
        alone = labels.filter((pl.col("bearers") == 1) & (pl.col("label") != ""))  # a null label is dropped too
        found = {name: frame.join(alone.select("id"), on="id", how="semi") for name, frame in candidates.items()}
        if all(_full(found[name], available[name], count, options) for name in found):
            break
        count *= AGAIN
    rows = {
        name: _draw(frame, name, options).with_columns(subject_id=identifier("nm", "id"))
        for name, frame in found.items()
    }
    years = {"birth_year": "born", "death_year": "died"}
    out = [
        facts(
            rows[name],
            f"{SOURCE}.{name}",
            SOURCE,
            value=pl.col(column).cast(pl.String),
            datatype="date",
            precision="year",
        )
        for name, column in years.items()
    ]
    profession = pl.col("profession").cast(pl.String)
    out.append(facts(rows["profession"], f"{SOURCE}.profession", SOURCE, value=profession, datatype="string"))
    first = identifier("tt", "first")
    out.append(facts(rows["known_for"], f"{SOURCE}.known_for", SOURCE, object_id=first))
    subjects = pl.concat(frame.select("id", "subject_id", "first") for frame in rows.values()).unique("id")
    return [*out, facts(subjects, f"{SOURCE}.first_known_for", SOURCE, object_id=first)], labels


def title_context(bearers: pl.DataFrame, titles: pl.DataFrame) -> list[pl.DataFrame]:
    """Return facts that tell titles apart: the year, and the number of other titles of the same name, ignoring case.

    Args:
        bearers: ``id, bearers`` of the titles in the tables (`ImdbFiles.named_titles`).
        titles: all titles that count.
    """
    own = bearers.join(titles.select("id", "start"), on="id").with_columns(
        subject_id=identifier("tt", "id"), others=pl.col("bearers") - 1
    )
    year, others = pl.col("start").cast(pl.String), pl.col("others").cast(pl.String)
    dated = own.filter(pl.col("start").is_not_null())
    return [
        facts(dated, f"{SOURCE}.first_year", SOURCE, value=year, datatype="date", precision="year"),
        facts(own, f"{SOURCE}.namesakes", SOURCE, value=others, datatype="quantity"),
    ]
