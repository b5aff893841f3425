"""IMDb's five files at any size, in their true shape: `python -m benchmarks.imdb FOLDER --scale 0.001`.

At full size they are 12 M titles, 15 M names and 95 M principals: 1.9 GB. What questions cost to make of them:
`python -m benchmarks.tables --cases imdb`.

Everything in the files is invented. Titles that begin with a quotation mark, that are called NA, that are shared, and
people without films are all there.
"""

import argparse
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

TITLES, NAMES, PRINCIPALS = 12_000_000, 15_000_000, 95_000_000
CHUNK = 1_000_000  # rows made and written at a time
KINDS = ("tvEpisode", "short", "movie", "video", "tvSeries", "tvMiniSeries", "videoGame")
KIND_SHARES = (0.68, 0.11, 0.07, 0.04, 0.05, 0.01, 0.04)
PROFESSIONS = ("actor", "actress", "director", "writer", "producer", "composer", "camera_department", "art_department")
PROFESSIONS += ("soundtrack", "legal", "stunts", "visual_effects", "editor", "cinematographer", "special_effects")
CATEGORIES = ("actor", "actress", "self", "director", "writer", "producer", "composer", "editor")
SYLLABLES = np.array([first + vowel for first in "bdfgk" for vowel in "aeio"])

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def _text(column: Integers | pl.Series, missing: Flags | None = None) -> pl.Series:
    series = pl.Series(column).cast(pl.String)
    return series if missing is None else series.set(pl.Series(missing), "\\N")


def _identity(prefix: str, numbers: Integers) -> pl.Series:
    return prefix + pl.Series(numbers).cast(pl.String).str.zfill(7)


def words(numbers: Integers) -> pl.Series:
    """Return a made-up name for each number; different numbers below 20 to the power of 7 have different names."""
    parts = [pl.Series(SYLLABLES[(numbers // 20**place) % 20]) for place in range(7)]
    return (parts[0] + parts[1] + parts[2] + " " + parts[3] + parts[4] + parts[5] + parts[6]).str.to_titlecase()


def _popular(draw: np.random.Generator, count: int, among: int) -> Integers:
    """Draw numbers from 1 to ``among``, low ones much oftener."""
    return (among * draw.random(count) ** 4).astype(np.int64) + 1


def _basics(draw: np.random.Generator, first: int, count: int, titles: int) -> pl.DataFrame:
    numbers = np.arange(first, first + count)
    kind = draw.choice(len(KINDS), count, p=KIND_SHARES)
    start = 2026 - (130 * draw.random(count) ** 3).astype(np.int64)
    unknown = draw.random(count)
    series = np.isin(kind, (4, 5))
    name = words(draw.integers(0, max(titles * 3, 10), count))
    odd = pl.Series(draw.integers(0, 1000, count))
    name = pl.select(
        pl.when(odd == 0).then('"' + name + '" lives').when(odd == 1).then(pl.lit("NA")).otherwise(name)
    ).to_series()
    # Most episodes are named by their season and place, and so very many of them alike.
    untitled = pl.Series((kind == 0) & (draw.random(count) < 0.65))
    season, place = (_text(_popular(draw, count, most)) for most in (30, 250))
    name = pl.select(pl.when(untitled).then("Episode #" + season + "." + place).otherwise(name)).to_series()
    return pl.DataFrame(
        {
            "tconst": _identity("tt", numbers),
            "titleType": pl.Series(np.array(KINDS)[kind]),
            "primaryTitle": name,
            "originalTitle": name,
            "isAdult": _text((draw.random(count) < 0.03).astype(np.int64)),
            "startYear": _text(start, unknown < 0.12),
            "endYear": _text(np.minimum(start + draw.integers(0, 9, count), 2026), ~series | (unknown > 0.6)),
            "runtimeMinutes": _text(draw.integers(1, 240, count), draw.random(count) < 0.65),
            "genres": pl.Series(np.array(["Drama", "Comedy,Short", "\\N"])[draw.integers(0, 3, count)]),
        }
    )


def _ratings(draw: np.random.Generator, first: int, count: int) -> pl.DataFrame:
    numbers = np.arange(first, first + count)[draw.random(count) < 0.13]
    votes = np.minimum(5 * draw.random(len(numbers)) ** -1.1, 3e6).astype(np.int64)
    return pl.DataFrame(
        {
            "tconst": _identity("tt", numbers),
            "averageRating": _text(draw.integers(1, 10, len(numbers))) + ".5",
            "numVotes": _text(votes),
        }
    )


def _crew(draw: np.random.Generator, first: int, count: int, names: int) -> pl.DataFrame:
    columns = {"tconst": _identity("tt", np.arange(first, first + count))}
    for name, missing in (("directors", 0.4), ("writers", 0.5)):
        one, two = (_identity("nm", _popular(draw, count, names)) for _ in range(2))
        several, none = pl.Series(draw.random(count) < 0.3), pl.Series(draw.random(count) < missing)
        both = pl.when(several & (one != two)).then(one + "," + two).otherwise(one)
        columns[name] = pl.select(pl.when(none).then(pl.lit("\\N")).otherwise(both)).to_series()
    return pl.DataFrame(columns)


def _principals(draw: np.random.Generator, first: int, count: int, names: int, each: float) -> pl.DataFrame:
    rows = np.full(count, int(each)) + (draw.random(count) < each % 1)
    title = np.repeat(np.arange(first, first + count), rows)
    ordering = np.arange(len(title)) - np.repeat(np.cumsum(rows) - rows, rows) + 1
    category = draw.integers(0, len(CATEGORIES), len(title))
    character = '["' + words(draw.integers(0, 10**6, len(title))) + '"]'
    return pl.DataFrame(
        {
            "tconst": _identity("tt", title),
            "ordering": _text(ordering),
            "nconst": _identity("nm", _popular(draw, len(title), names)),
            "category": pl.Series(np.array(CATEGORIES)[category]),
            "job": pl.Series(np.where(draw.random(len(title)) < 0.2, "producer", "\\N")),
            "characters": character.set(pl.Series((category > 2) | (draw.random(len(title)) < 0.1)), "\\N"),
        }
    )


def _names(draw: np.random.Generator, first: int, count: int, names: int, titles: int) -> pl.DataFrame:
    born = draw.integers(1850, 2010, count)
    professions = np.array(PROFESSIONS)[draw.integers(0, len(PROFESSIONS), (2, count))]
    twice = pl.Series((draw.random(count) < 0.4) & (professions[0] != professions[1]))
    one, two = map(pl.Series, professions)
    known = [_identity("tt", draw.integers(1, titles + 1, count)) for _ in range(4)]
    several = pl.Series(draw.integers(0, 6, count))
    listed = (
        pl.when(several == 0)
        .then(pl.lit("\\N"))
        .when(several < 3)
        .then(known[0])
        .when(several < 4)
        .then(known[0] + "," + known[1])
        .otherwise(known[0] + "," + known[1] + "," + known[2] + "," + known[3])
    )
    return pl.DataFrame(
        {
            "nconst": _identity("nm", np.arange(first, first + count)),
            "primaryName": words(draw.integers(0, max(names * 4, 10), count)),
            "birthYear": _text(born, draw.random(count) < 0.95),
            "deathYear": _text(born + draw.integers(20, 90, count), draw.random(count) < 0.98),
            "primaryProfession": pl.select(pl.when(twice).then(one + "," + two).otherwise(one)).to_series(),
            "knownForTitles": pl.select(listed).to_series(),
        }
    )


def generate(folder: Path, titles: int = TITLES, names: int = NAMES, principals: int = PRINCIPALS) -> None:
    """Write the five files of a made-up IMDb, the same for the same numbers.

    Args:
        folder: where the files go; it is made.
        titles: rows of title.basics and title.crew; about 13 in 100 of them are rated.
        names: rows of name.basics.
        principals: rows of title.principals, about.
    """
    makers: dict[str, tuple[int, Callable[[np.random.Generator, int, int], pl.DataFrame]]] = {
        "title.basics": (titles, lambda draw, first, count: _basics(draw, first, count, titles)),
        "title.ratings": (titles, _ratings),
        "title.crew": (titles, lambda draw, first, count: _crew(draw, first, count, names)),
        "title.principals": (
            titles,
            lambda draw, first, count: _principals(draw, first, count, names, principals / titles),
        ),
        "name.basics": (names, lambda draw, first, count: _names(draw, first, count, names, titles)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, (rows, make) in makers.items():
        with gzip.open(folder / f"{file}.tsv.gz", "wb", compresslevel=1) as out:
            for number, first in enumerate(range(1, rows + 1, CHUNK)):
                draw = np.random.default_rng([number, *file.encode()])
                frame = make(draw, first, min(CHUNK, rows + 1 - first))
                out.write(frame.write_csv(include_header=not number, separator="\t", quote_style="never").encode())
        print(f"{folder / file}.tsv.gz", file=sys.stderr)


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the true size [1]")
    arguments = parser.parse_args()
    generate(arguments.folder, *(int(rows * arguments.scale) for rows in (TITLES, NAMES, PRINCIPALS)))


if __name__ == "__main__":
    main()
