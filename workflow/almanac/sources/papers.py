"""Papers, journals and conferences: the routines shared by MAG and OpenAlex (Head-to-Tail's Academics).

Papers do not fit into memory and are processed in three passes: for the buckets, the draw, and the drawn rows.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from almanac.rows import BucketSize, Relation
from almanac.sources.frames import bucketed, drawn, drawn_from, facts, histogram_from, popularity, shown
from almanac.sources.options import DrawnOptions
from almanac.sources.thirds import cuts, sizes

ASKED = "academics"
AUTHOR = "paper_author"
PAPER_RELATIONS = {
    "paper_year": ("year of publication", "N-1", "year"),
    "venue": ("journal or conference of publication", "N-1", "venue"),
    "publisher": ("publisher", "N-1", "organisation"),
    "doi": ("DOI", "1-1", "string"),
    "paper_author": ("author", "N-M", "person"),
}
PLACE_RELATIONS = {
    "issn": ("ISSN of the journal", "1-1", "string"),
    "location": ("location of the conference", "N-1", "place"),
}
SPARE = 2  # papers drawn for the author relation, as a multiple of the pool: some turn out to have no authors
TEXTS = {
    "id": pl.UInt64(),
    "title": pl.String(),
    "paper_year": pl.Int64(),
    "venue": pl.String(),
    "publisher": pl.String(),
    "doi": pl.String(),
}


class Drawn(NamedTuple):
    """Tables of one type of entity."""

    facts: list[pl.DataFrame]
    entities: pl.DataFrame
    popularity: pl.DataFrame
    buckets: list[BucketSize]


def relations(source: str, *names: str) -> list[Relation]:
    """Return the rows of the named relations for a source."""
    known = PAPER_RELATIONS | PLACE_RELATIONS
    return [
        Relation(f"{source}.{name}", label, None, cardinality, kind, ASKED)
        for name, (label, cardinality, kind) in known.items()
        if name in names
    ]


def asked_of(text: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Return by relation (except authors) an expression for whether a paper has a fact.

    Args:
        text: expressions for ``paper_year, venue, publisher, doi``.
    """
    there = {name: text[name].is_not_null() & shown(text[name].cast(pl.String)) for name in text}
    publisher = there["publisher"] & ~text["publisher"].str.contains("/", literal=True)
    return there | {"publisher": publisher}


def draw_papers(
    source: str,
    numbers: pl.LazyFrame,
    texts: Callable[[pl.Series], pl.DataFrame],
    credits: Callable[[pl.Series], pl.DataFrame],
    options: DrawnOptions,
) -> Drawn:
    """Draw papers for each relation and return their facts; the ids of authors are ``author:NUMBER``.

    Args:
        source: the source's name.
        numbers: all papers that count: ``id``, ``score`` and, for each relation of `TEXTS`, whether there is a fact.
        texts: returns the columns of `TEXTS` for given ids.
        credits: returns ``id`` and ``author`` (a number) for given ids, one row per author.
        options: the pool and the seed.
    """
    histogram = histogram_from(numbers)
    found = cuts(histogram)
    has = {name: pl.col(name) for name in PAPER_RELATIONS if name != AUTHOR}
    picked = drawn_from(numbers, has, found, options.pool, options.seed, source)
    candidates = drawn_from(numbers, {AUTHOR: pl.lit(True)}, found, SPARE * options.pool, options.seed, source)[AUTHOR]
    credits_of = credits(candidates["id"]).unique()
    picked[AUTHOR] = drawn(candidates.join(credits_of, on="id", how="semi"), options.pool, options.seed, source, AUTHOR)
    papers = pl.concat(picked.values()).unique("id").sort("id")
    papers = papers.join(texts(papers["id"]).unique("id"), on="id")
    papers = papers.with_columns(subject_id=pl.lit("paper:") + pl.col("id").cast(pl.String))
    rows = []
    for name, (datatype, precision) in {
        "paper_year": ("date", "year"),
        "venue": ("string", None),
        "publisher": ("string", None),
        "doi": ("string", None),
    }.items():
        own = papers.join(picked[name].select("id"), on="id", how="semi")
        value = pl.col(name).cast(pl.String)
        rows.append(facts(own, f"{source}.{name}", source, value=value, datatype=datatype, precision=precision))
    written = papers.select("id", "subject_id").join(picked[AUTHOR].select("id"), on="id", how="semi")
    written = written.join(credits_of, on="id")
    author = pl.lit("author:") + pl.col("author").cast(pl.String)
    rows.append(facts(written, f"{source}.{AUTHOR}", source, object_id=author))
    return Drawn(
        rows,
        _entities(papers, "title", "paper"),
        popularity(papers.with_columns(entity_id="subject_id"), source, "paper"),
        sizes(source, "paper", histogram, found),
    )


def draw_places(source: str, kind: str, relation: str, places: pl.DataFrame, options: DrawnOptions) -> Drawn:
    """Draw journals for their ISSN, or conferences for their location.

    Args:
        source: the source's name.
        kind: journal or conference.
        relation: issn or location.
        places: all journals or conferences: ``id, score, label, value, asked`` (whether it may be drawn).
        options: the pool and the seed.
    """
    scored, own_sizes = bucketed(places, source, kind)
    eligible = scored.filter(pl.col("asked") & shown(pl.col("value")) & pl.col("bucket").is_not_null())
    picked = drawn(eligible, options.pool, options.seed, source, relation)
    picked = picked.with_columns(subject_id=pl.lit(f"{kind}:") + pl.col("id").cast(pl.String))
    found = facts(picked, f"{source}.{relation}", source, value=pl.col("value"), datatype="string")
    scores = popularity(picked.with_columns(entity_id="subject_id"), source, kind)
    return Drawn([found], _entities(picked, "label", kind), scores, own_sizes)


def people(names: pl.DataFrame) -> pl.DataFrame:
    """Return the entities of authors.

    Args:
        names: ``author`` and ``label``.
    """
    named = names.with_columns(subject_id=pl.lit("author:") + pl.col("author").cast(pl.String))
    return _entities(named, "label", "person")


def _entities(rows: pl.DataFrame, label: str, kind: str) -> pl.DataFrame:
    none = pl.lit([], pl.List(pl.String))
    return rows.select(entity_id="subject_id", label=pl.col(label), aliases=none, type=pl.lit(kind))
