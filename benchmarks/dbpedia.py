"""DBpedia's dump of mapping-based objects at any size, in its true shape: `python -m benchmarks.dbpedia FOLDER`.

20 million triples are 2.2 GB of lines and about 300 MB compressed. Everything in them is invented. Lines stand together
by subject; few things have most of the triples; there are records without a name (`…__1`), names with brackets, commas,
slashes and letters beyond ASCII, objects of other places, and predicates that no question ships for.
"""

import argparse
import bz2
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from almanac.project import RESOURCES
from almanac.sources.dbpedia_dump import ONTOLOGY, RESOURCE
from almanac.sources.options import DbpediaOptions
from benchmarks.imdb import CHUNK, words

TRIPLES = 20_000_000
EACH = 3  # triples of a subject, about
UNKNOWN = 100  # predicates without a question
STEP = 7_368_787  # a prime number: things in the order of their popularity are spread over the dump
WORDS = 20**7  # so many names differ

Integers = npt.NDArray[np.int64]


def _names(numbers: Integers) -> pl.Expr:
    """Return the last part of each thing's address: one in ten has more than words."""
    name = words(numbers * STEP % WORDS).str.replace(" ", "_")
    ends = np.array(["", "_(film)", ",_Ohio", "/Live", "_d'Été", "__1"])
    kind = np.where(numbers % 50 < 45, 0, numbers % 50 - 44)
    return pl.lit(name + pl.Series(ends[kind]))


def _triples(draw: np.random.Generator, first: int, count: int, things: int, predicates: list[str]) -> pl.Series:
    """Return lines of so many triples from one on."""
    subject = np.sort(draw.integers(first // EACH, (first + count) // EACH, count))
    popular = (things * draw.random(count) ** 8).astype(np.int64)
    among = np.minimum(len(predicates) * draw.random(count) ** 3, len(predicates) - 1).astype(np.int64)
    other = pl.lit(pl.Series(draw.random(count) < 0.001))
    place = pl.when(other).then(pl.lit("http://example.org/")).otherwise(pl.lit(RESOURCE))
    lines = pl.DataFrame({"predicate": pl.Series(predicates).gather(among)}).select(
        pl.format(
            "<{}{}> <{}{}> <{}{}> .\n",
            pl.lit(RESOURCE),
            _names(subject),
            pl.lit(ONTOLOGY),
            "predicate",
            place,
            _names(popular * STEP % things),
        ).alias("line")
    )
    return lines["line"].unique(maintain_order=True)


def generate(folder: Path, triples: int = TRIPLES) -> None:
    """Write a made-up dump, the same for the same number of triples.

    Args:
        folder: where it goes; it is made.
        triples: how many lines, about: of those that are drawn twice one stands.
    """
    questions = RESOURCES / "head_to_tail" / "dbpedia.jsonl"
    shipped = [json.loads(line)["predicate"] for line in questions.read_text("utf-8").splitlines()]
    predicates = [name for name in shipped if "://" not in name and ":" not in name]
    predicates = [*predicates, *(f"unheardOf{number}" for number in range(UNKNOWN))]
    np.random.default_rng(len(predicates)).shuffle(predicates)
    things = triples // EACH
    folder.mkdir(parents=True, exist_ok=True)
    with bz2.open(folder / DbpediaOptions.DOWNLOADS[0].name, "wb") as out:
        out.write(b"# started 2022-12-09\n")
        for number, first in enumerate(range(0, triples, CHUNK)):
            draw = np.random.default_rng([number, triples])
            lines = _triples(draw, first, min(CHUNK, triples - first), things, predicates)
            out.write("".join(lines.to_list()).encode())
        out.write(b"# completed\n")


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--triples", type=int, default=TRIPLES, help=f"lines, about [{TRIPLES}]")
    arguments = parser.parse_args()
    generate(arguments.folder, arguments.triples)


if __name__ == "__main__":
    main()
