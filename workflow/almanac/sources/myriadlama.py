"""MyriadLAMA: facts of LAMA's relations with many templates, from its table on Hugging Face (Zhao et al. 2024)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Template
from almanac.sources.lama import Collected, subject_of
from almanac.sources.options import MyriadlamaOptions
from almanac.sources.reading import present, readable
from almanac.sources.source_tables import SourceTables

SOURCE = "myriadlama"
TEXTS, LISTS = pl.List(pl.String), pl.List(pl.List(pl.String))
NEEDED = {
    **dict.fromkeys(("rel_uri", "sub_ent", "template"), pl.String()),
    "is_manual": pl.Boolean(),
    **dict.fromkeys(("obj_uris", "obj_ents"), TEXTS),
    "obj_aliases": LISTS,
}
MORE = {"sub_uri": pl.String(), "sub_aliases": TEXTS}  # optional columns
PAIR = ("rel_uri", "sub_uri", "sub_ent")
OBJECTS = ("obj_uris", "obj_ents", "obj_aliases")


def read(options: MyriadlamaOptions, folder: Path) -> SourceTables:
    """Return the tables from one table with a row for each (subject, relation, template).

    A subject without ``sub_uri`` gets the id ``subject:NAME``. Templates with ``is_manual`` have the origin "written".
    The table does not say which template a paraphrase belongs to, so each is a group of its own. Labels of relations
    are taken from `properties`.

    Args:
        options: not used.
        folder: holds the table.

    Raises:
        AlmanacError: the table is missing or damaged, lacks a column or has one of another type, or the numbers of
            objects and their names differ in a row.
    """
    path = folder / MyriadlamaOptions.DOWNLOADS[0].name
    rows = _table(path)
    collected = Collected(SOURCE)
    for pair in _pairs(path, rows):
        _add(collected, pair)
    return collected.tables(_templates(rows))


def _table(path: Path) -> pl.LazyFrame:
    """Return the needed columns, after checking their names and types."""
    present(path)
    with readable(path):
        rows = pl.scan_parquet(path)
        schema = rows.collect_schema()
    missing = [name for name in NEEDED if name not in schema]
    if missing:
        raise AlmanacError(
            f"{path}: lacks the column {', '.join(missing)}; it has {', '.join(schema.names()) or 'none'}; "
            "name the columns as MyriadLAMA does (docs/sources.md)"
        )
    for name, kind in {**NEEDED, **MORE}.items():
        if name in schema and schema[name] != kind:
            raise AlmanacError(f"{path}: the column {name!r} is {schema[name]}; it must be {kind}")
    more = [pl.col(name) if name in schema else pl.lit(None, kind).alias(name) for name, kind in MORE.items()]
    # URIs end in the id: http://www.wikidata.org/entity/P19.
    return rows.select(pl.col("rel_uri").str.split("/").list.last(), pl.exclude("rel_uri", *MORE), *more).select(
        *NEEDED, *MORE
    )


def _pairs(path: Path, rows: pl.LazyFrame) -> Iterator[dict[str, Any]]:
    """Yield one row for each (relation, subject, object), with all names that any row of the table has for them."""
    counts = [pl.col(name).list.len() for name in OBJECTS]
    uneven = rows.with_row_index("row").filter((counts[0] != counts[1]) | (counts[0] != counts[2])).head(1).collect()
    for row in uneven.iter_rows(named=True):
        found = ", ".join(f"{len(row[name])} {name}" for name in OBJECTS)
        raise AlmanacError(f"{path}: row {row['row'] + 1} has {found}; each object needs its name and its other names")
    listed = rows.select(*PAIR, "sub_aliases", *OBJECTS).explode(*OBJECTS)
    objects = listed.group_by(*PAIR, "obj_uris", maintain_order=True).agg(
        pl.col("sub_aliases").list.explode().drop_nulls().unique(maintain_order=True),
        pl.col("obj_ents").drop_nulls().unique(maintain_order=True),
        pl.col("obj_aliases").list.explode().drop_nulls().unique(maintain_order=True),
    )
    yield from objects.collect().iter_rows(named=True)


def _add(collected: Collected, row: dict[str, Any]) -> None:
    """Add the fact of one row of `_pairs`."""
    name = (row["sub_ent"] or "").strip()
    subject = row["sub_uri"] or subject_of(name)
    ends: dict[str, tuple[str, Sequence[str]]] = {
        "subject": (subject, [name, *row["sub_aliases"]] if name else []),
        "object": (row["obj_uris"] or "", [*row["obj_ents"], *row["obj_aliases"]] if row["obj_ents"] else []),
    }
    for end, (identity, names) in ends.items():
        if not identity or not collected.entity(identity, names):
            collected.omissions.add("facts", f"{end} has no id or no label", f"{row['rel_uri']} {name}")
            return
    collected.fact(row["rel_uri"], subject, object_id=row["obj_uris"])


def _templates(rows: pl.LazyFrame) -> Iterator[Template]:
    """Yield the templates of each relation, manually written ones first."""
    found = rows.group_by("rel_uri", "template", maintain_order=True).agg(pl.col("is_manual").any()).collect()
    order = found.sort("rel_uri", pl.col("is_manual").not_(), maintain_order=True)
    for (relation,), own in order.group_by("rel_uri", maintain_order=True):
        for at, (text, written) in enumerate(own.select("template", "is_manual").iter_rows()):
            stripped, origin = (text or "").strip(), "written" if written else "paraphrased"
            yield Template(f"{relation}/source/{at:02}", str(relation), stripped, "statement", origin, None, ())
