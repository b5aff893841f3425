"""Builds a dataset's tables from a source's tables; the large ones are written one relation at a time."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from almanac import tables
from almanac.dataset.multiple_choice import Building
from almanac.dataset.options import DatasetOptions
from almanac.dataset.popularity import with_buckets
from almanac.dataset.templates import merged, with_shipped
from almanac.errors import AlmanacError
from almanac.rows import (
    Choices,
    Draft,
    Entity,
    Evidence,
    Exposure,
    Fact,
    Popularity,
    Refused,
    Relation,
    RelationCount,
    Template,
)
from almanac.sources.checking import FactColumns
from almanac.sources.files import read_columns


def sourced(facts: Path, name: str | None, options: DatasetOptions, drafts: Path | None) -> FactColumns:
    """Return the tables that a dataset is built from: a folder's tables plus the drafted templates to be kept."""
    source = read_columns(facts, name or facts.name, options.merge)
    if drafts is None:
        return source
    templates = with_drafts(source.templates, drafts)
    joined = f"{len(templates) - len(source.templates)} templates join from {drafts}"
    return replace(source, templates=templates, notes=(*source.notes, joined))


def with_drafts(frozen: Sequence[Template], drafts: Path) -> list[Template]:
    """Return frozen templates plus the drafts marked ``keep``; a frozen template wins over an equal draft.

    Raises:
        AlmanacError: the file cannot be read, or a draft marked ``keep`` is invalid.
    """
    return merged(frozen, tables.read_jsonl(drafts, Draft), str(drafts))


def build_tables(
    source: FactColumns,
    texts: Path | None,
    options: DatasetOptions,
    folder: Path,
    on_relation: Callable[[], object] = lambda: None,
) -> tuple[list[RelationCount], Iterable[Refused]]:
    """Build a dataset and write its tables; if no relation qualifies, nothing is written.

    Args:
        source: the source's tables.
        texts: an `Evidence` table that replaces the source's own.
        options: the counts and the seed.
        folder: where the tables are written.
        on_relation: called after each relation.

    Returns:
        The counts of each relation, and the refused relations and facts.

    Raises:
        AlmanacError: the texts cannot be read or hold a row twice; a table cannot be written.
    """
    building = Building(source.relations, source.facts, source.entities, options)
    if not building.qualifying:
        parts = list(building.parts())
        return [part.count for part in parts], [Refused(*row) for part in parts for row in part.refused.rows()]
    kept = [relation.relation_id for relation in building.qualifying]
    stated = source.facts.filter(pl.col("relation_id").is_in(kept)).select("fact_id")
    evidence = source.evidence if texts is None else _evidence(texts, source.facts)
    _write(folder, "evidence", Evidence, evidence.join(stated, on="fact_id", how="semi", maintain_order="left"))
    _write(folder, "exposures", Exposure, source.exposures.join(stated, on="fact_id", how="semi"))
    _write(folder, "entities", Entity, source.entities)
    _write(folder, "popularity", Popularity, with_buckets(source.popularity.lazy())[0].collect())
    tables.write(folder / "relations.parquet", Relation, building.qualifying)
    templates = (row for row in source.templates if row.relation_id in kept)
    tables.write(folder / "templates.parquet", Template, with_shipped(templates, building.qualifying))
    counts = _write_parts(folder, building, on_relation)
    return counts, tables.read_rows(folder / "refused.parquet", Refused)


def _write(folder: Path, table: str, row: type, frame: pl.DataFrame) -> None:
    with tables.writing(folder / f"{table}.parquet", row) as writer:
        writer.add(frame.to_arrow())


def _evidence(path: Path, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the texts of a file of `Evidence`.

    Raises:
        AlmanacError: the file is no such table, belongs to none of these facts, or holds a row twice.
    """
    if path.suffix != ".parquet":
        raise AlmanacError(f"{path}: is not called .parquet; put texts in another format into the table `evidence`")
    every = pl.DataFrame(tables.read_arrow(path, Evidence))
    strange = every.join(facts, on="fact_id", how="anti", maintain_order="left")["fact_id"]
    if every.height and len(strange) == every.height:
        raise AlmanacError(
            f"{path}: no text belongs to a known fact; the first is of {strange[0]!r}; write relation|subject|object"
        )
    if len(strange):
        message = f"{path}: {len(strange)} texts belong to no known fact, such as {strange[0]!r}; they are left out"
        print(f"note: {message}", file=sys.stderr)
    if (twice := every.filter(every.is_duplicated())).height:
        raise AlmanacError(f"{path}: the fact {twice['fact_id'][0]} has this text twice; keep one row")
    return every


def _write_parts(folder: Path, building: Building, on_relation: Callable[[], object]) -> list[RelationCount]:
    """Write the tables that are built one relation at a time; return the counts of each relation."""
    counts = []
    with (
        tables.writing(folder / "facts.parquet", Fact) as facts,
        tables.writing(folder / "choices.parquet", Choices) as choices,
        tables.writing(folder / "refused.parquet", Refused) as refused,
    ):
        for part in building.parts():
            facts.add(part.facts.to_arrow())
            choices.add(part.choices.to_arrow())
            refused.add(part.refused.to_arrow())
            counts.append(part.count)
            on_relation()
    tables.write(folder / "counts.parquet", RelationCount, counts)
    return counts
