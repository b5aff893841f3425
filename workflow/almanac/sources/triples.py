"""Converts one file of subject, relation and object names into the tables of a facts folder.

The columns are `records.TRIPLES`. Each name is both id and label of an entity, so that equal names are one entity. A
relation's id is its name in lower case with underscores, or the number of a Wikidata property if that is written.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl

from almanac.frames import frame_of
from almanac.rows import Relation
from almanac.sources.records import LIST_SEPARATOR, NO_FACTS, TABLES, TRIPLES
from almanac.sources.user_table import ROW, Check, UserTable, completed

PROPERTY = r"^[Pp][1-9][0-9]*$"  # the number of a Wikidata property
SLOT = r"\[(?:X|Y|MASK)\]"  # shows that a sentence was written instead of a relation's name
WRITTEN = {  # the tables and columns that such a file determines
    "facts": ("relation_id", "subject_id", "object_id"),
    "entities": ("entity_id", "label"),
    "relations": ("relation_id", "label"),
}


def tables_of(found: UserTable) -> dict[str, UserTable]:
    """Return the tables `WRITTEN` for a file; rows keep their numbers, and the mistakes stay with `facts`."""
    cells = [pl.col(name) for name in TRIPLES.required]
    found.drop(pl.all_horizontal(*(cell.is_null() for cell in cells)), lambda _: "is an empty row; it is left out")
    if found.rows.is_empty() and not found.count:
        found.refuse(0, NO_FACTS)
    found.check(_complete(), *(_without_bar(name) for name in TRIPLES.required), _no_sentence())
    number = pl.when(pl.col("relation").str.contains(PROPERTY)).then(pl.col("relation").str.to_uppercase())
    words = pl.col("relation").str.to_lowercase().str.replace_all(" ", "_")
    rows = found.rows.with_columns(relation_id=pl.coalesce(number, words), relation=pl.coalesce(number, "relation"))
    # A relation's label is its most frequent spelling; ties are broken in favour of lower case.
    spelt = rows.group_by("relation_id", label="relation").len()
    spelt = spelt.sort("relation_id", "len", "label", descending=[False, True, True])
    labels = spelt.unique("relation_id", keep="first").drop("len")
    rows = rows.join(labels, on="relation_id", how="left", maintain_order="left")
    other = rows.filter(pl.col("relation") != pl.col("label"))
    if other.height:
        first = other.row(0, named=True)
        found.note(other[ROW], f"the relation {first['relation']!r} is read as {first['label']!r}")
    names = pl.concat([rows.select(ROW, entity_id=name) for name in ("subject", "object")]).unique("entity_id")
    facts = rows.select(ROW, "relation_id", "split", subject_id="subject", object_id="object")
    relations = rows.select(ROW, "relation_id", "label").unique("relation_id", keep="first", maintain_order=True)
    return {
        "entities": completed(found.path, TABLES["entities"], names.with_columns(label="entity_id")),
        "facts": replace(found, rows=completed(found.path, TABLES["facts"], facts).rows, known=[facts["relation_id"]]),
        "relations": completed(found.path, TABLES["relations"], relations),
    }


def _complete() -> Check:
    def says(row: dict[str, str | None]) -> str:
        absent = " and no ".join(name for name in TRIPLES.required if row[name] is None)
        return f"has no {absent}; a fact needs subject, relation and object: write it, or remove the row"

    return pl.any_horizontal(*(pl.col(name).is_null() for name in TRIPLES.required)), says


def _without_bar(name: str) -> Check:
    remedy = "give each object a row of its own" if name == "object" else "write it in another way"
    says = f"holds {LIST_SEPARATOR!r}, which separates the parts of a fact's id; {remedy}"
    return pl.col(name).str.contains(LIST_SEPARATOR, literal=True), lambda row: f"{name} {row[name]!r} {says}"


def _no_sentence() -> Check:
    says = "is a sentence; name the relation here (capital), and write sentences into the `templates` of a folder"
    return pl.col("relation").str.contains(SLOT), lambda row: f"relation {row['relation']!r} {says}"


def write(folder: Path, entities: pl.DataFrame, facts: pl.DataFrame, relations: list[Relation]) -> None:
    """Write the tables of a file as a folder's CSV tables, with an empty column for aliases."""
    frames = {"entities": entities, "facts": facts, "relations": frame_of(Relation, relations)}
    splits = [pl.col("split")] if facts["split"].is_not_null().any() else []
    more = {"entities": [pl.lit(None, pl.String).alias("aliases")], "facts": splits}
    for table, columns in WRITTEN.items():
        frames[table].select(*columns, *more.get(table, ())).write_csv(folder / f"{table}.csv")
