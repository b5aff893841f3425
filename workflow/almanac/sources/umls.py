"""UMLS Metathesaurus: facts of named relations, and concepts with their names, from pipe-separated files."""

from pathlib import Path

import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Relation
from almanac.sources.frames import assembled, facts, shown
from almanac.sources.options import UmlsOptions
from almanac.sources.reading import blocks
from almanac.sources.source_tables import Omissions, SourceTables

SOURCE = "umls"
NAMES, RELATED, TYPES = (download.name for download in UmlsOptions.DOWNLOADS)
# Number of cells in a line (the last, after the final bar, is empty); names and indices of the cells to read.
LAYOUT = {
    NAMES: (19, {"concept": 0, "language": 1, "status": 2, "form": 4, "preferred": 6, "label": 14, "suppressed": 16}),
    RELATED: (17, {"first": 0, "second": 4, "relation": 7, "suppressed": 14}),
    TYPES: (7, {"concept": 0, "type": 3}),
}

SUPPRESSED = pl.col("suppressed").is_in(["O", "E", "Y"])  # obsolete; suppressed by an editor; by the release's rules


def read(options: UmlsOptions, folder: Path) -> SourceTables:
    """Return the tables of MRCONSO, MRREL and MRSTY.

    A concept's label is its preferred name in the chosen language, and its other names are aliases. Obsolete and
    suppressed names and rows are omitted, and so are facts with a concept that has no name in the language.

    Args:
        options: the relations, the language, and which concept of a row is the subject.
        folder: holds the three files.

    Raises:
        AlmanacError: a file is missing, a line has a wrong number of cells, or a relation has no facts.
    """
    subject, target = ("first", "second") if options.subject == "first" else ("second", "first")
    rows = _rows(folder, RELATED, pl.col("relation").is_in(options.relations))
    omissions = Omissions()
    reasons = {
        "row is obsolete or suppressed": SUPPRESSED,
        "a concept is related to itself": pl.col("first") == pl.col("second"),
        "another row says the same": ~pl.struct("first", "second", "relation").is_first_distinct(),
    }
    for reason, left_out in reasons.items():
        for example in rows.filter(left_out).select("first", "relation", "second").iter_rows():
            omissions.add("facts", reason, " ".join(example))
        rows = rows.filter(~left_out)
    rows = rows.with_columns(subject_id=subject)
    if missing := sorted(set(options.relations) - set(rows["relation"])):
        raise AlmanacError(f"{folder / RELATED}: has no facts of {', '.join(missing)}; correct `relations`")
    named = pl.concat([rows["first"], rows["second"]]).unique().implode()
    entities = _entities(folder, named, options.language)
    tables = [
        facts(rows.filter(pl.col("relation") == name), f"{SOURCE}.{name}", SOURCE, object_id=pl.col(target))
        for name in options.relations
    ]
    relations = [
        Relation(f"{SOURCE}.{name}", name.replace("_", " "), None, "N-M", None, "biomedicine")
        for name in options.relations
    ]
    none = pl.DataFrame(schema={"entity_id": pl.String, "source": pl.String, "type": pl.String, "score": pl.Int64})
    popularity = none.with_columns(bucket=pl.lit(None, pl.String))  # UMLS has no measure of its own
    return assembled(relations, tables, [entities], [popularity], [], omissions)


def _rows(folder: Path, file: str, wanted: pl.Expr) -> pl.DataFrame:
    """Return a file's rows for which ``wanted`` holds; the file is streamed."""
    width, columns = LAYOUT[file]
    none = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return pl.concat([none, *(block.filter(wanted) for block in blocks(folder / file, width, columns, "|"))])


def _entities(folder: Path, named: pl.Series, language: str) -> pl.DataFrame:
    theirs = pl.col("concept").is_in(named)
    usable = theirs & (pl.col("language") == language) & ~SUPPRESSED
    best = (pl.col("status") == "P").cast(pl.Int8) * 4 + (pl.col("form") == "PF") * 2 + (pl.col("preferred") == "Y")
    names = (
        _rows(folder, NAMES, usable & shown(pl.col("label")))
        .with_columns(best=best)
        .sort("concept", "best", "label", descending=[False, True, False])
        .group_by("concept", maintain_order=True)
        .agg(pl.col("label").unique(maintain_order=True))
    )
    types = _rows(folder, TYPES, theirs).group_by("concept").agg(pl.col("type").min())
    label = pl.col("label").list
    rows = names.join(types, on="concept", how="left")
    return rows.select(entity_id="concept", label=label.first(), aliases=label.slice(1), type="type")
