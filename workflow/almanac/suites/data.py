"""A dataset as suites read it: its tables as rows or as data frames, each read on first access."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from almanac import tables
from almanac.dataset.names import ObjectNames, likeness
from almanac.errors import AlmanacError
from almanac.frames import frame_of, read_frame
from almanac.rows import Choices, Entity, Evidence, Exposure, Fact, Relation, Template
from almanac.suites.options import of_each
from almanac.suites.sampling import asked_facts

Row = TypeVar("Row")


def _table(name: str, row: type[Row]) -> cached_property[list[Row]]:
    """Return a property of a dataset: one of its tables as rows."""

    def rows(data: "Data") -> list[Row]:
        return data.rows(name, row)

    return cached_property(rows)


class Data:
    """The tables of a dataset.

    Attributes:
        folder: their folder; None: a dataset of rows in memory (`of`), in which all other tables are empty.
    """

    entities = _table("entities", Entity)  # subjects and objects, with their names
    relations = _table("relations", Relation)
    facts = _table("facts", Fact)  # of the splits train (shown in examples) and test (asked), and of no split
    choices = _table("choices", Choices)  # the wrong choices of the test facts
    templates = _table("templates", Template)  # the sentences of the relations
    evidence = _table("evidence", Evidence)  # texts that state facts
    exposures = _table("exposures", Exposure)  # the doses of an invented world's facts

    def __init__(self, folder: Path | None = None, given: Mapping[str, Sequence[Any]] | None = None) -> None:
        self.folder = folder
        self._given = dict(given or {})

    @classmethod
    def of(cls, **rows: Sequence[Any]) -> "Data":
        """Return a dataset of the given rows, by the tables' names."""
        return cls(None, rows)

    def rows(self, table: str, row: type[Row]) -> list[Row]:
        """Return a table as rows."""
        if self.folder is None:
            return list(self._given.get(table, ()))
        return tables.read(self.folder / f"{table}.parquet", row)

    def frame(self, table: str, row: type, columns: list[str] | None = None) -> pl.DataFrame:
        """Return columns of a table, by default all."""
        if self.folder is None:
            found = frame_of(row, self.rows(table, row))
            return found.select(columns) if columns else found
        return read_frame(self.folder / f"{table}.parquet", row, columns)

    @cached_property
    def offered(self) -> pl.DataFrame:
        """The choices of each test fact: ``fact`` and ``offered``, the wrong choices and then the true object."""
        true = {fact.fact_id: self.names.label(fact.object_key) for own in self.split_facts.values() for fact in own}
        rows = [(row.fact_id, [*row.labels, true[row.fact_id]]) for row in self.choices]
        found = pl.DataFrame(rows, {"fact": pl.String, "offered": pl.List(pl.String)}, orient="row")
        return found.with_columns(pl.col("fact").cast(pl.Categorical))

    @cached_property
    def split_facts(self) -> dict[str, list[Fact]]:
        """The train and test facts of each relation, without facts of no split; relations sorted."""
        every = self.triples["relation_id"].unique().sort()
        found: dict[str, list[Fact]] = {relation: [] for relation in every}
        for fact in self._some("facts", Fact, lambda batch: pc.is_valid(batch.column("split"))):
            found[fact.relation_id].append(fact)
        return found

    @cached_property
    def triples(self) -> pl.DataFrame:
        """Every fact as columns, in the table's order: ``relation_id``, ``subject_id`` and ``object``, its key."""
        columns = ["relation_id", "subject_id", "object_id", "value"]
        found = self.frame("facts", Fact, columns)
        return found.select("relation_id", "subject_id", pl.coalesce("object_id", "value").alias("object"))

    @cached_property
    def object_facts(self) -> list[Fact]:
        """The last fact of each relation and object: wrong objects are drawn from these."""
        last = self.triples.with_row_index("at").unique(["relation_id", "object"], keep="last")["at"].to_arrow()
        start = 0

        def of(batch: pa.RecordBatch) -> pa.Array:
            nonlocal start
            rows = pa.array(range(start, start := start + batch.num_rows), pa.uint32())
            return pc.is_in(rows, last)

        return list(self._some("facts", Fact, of))

    @cached_property
    def true_objects(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The true objects for the (relation, subject) of each train and test fact, sorted.

        As in `true_objects`, facts of no split count too, and subjects with the same name share their objects. Facts
        stay columns here, since there may be millions of them.
        """
        said = self.triples
        subjects = said.select(pl.col("subject_id").unique())
        read = subjects.with_columns(
            pl.Series("reading", map(self.names.normalised_label, subjects["subject_id"]), pl.String)
        )
        pairs = {(fact.relation_id, fact.subject_id) for own in self.split_facts.values() for fact in own}
        asked = pl.DataFrame(list(pairs), {"relation_id": pl.String, "subject_id": pl.String}, orient="row")
        asked, key = asked.join(read, on="subject_id"), ["relation_id", "reading"]
        known = said.join(read, on="subject_id").join(asked, on=key, how="semi")
        objects = known.group_by(key).agg(pl.col("object").unique().sort())
        rows = asked.join(objects, on=key).select("relation_id", "subject_id", "object").iter_rows()
        return {(relation, subject): tuple(keys) for relation, subject, keys in rows}

    def chosen(self, named: Sequence[str], setting: str) -> list[str]:
        """Return the relations that a setting names, in the order of the dataset; all if it names none.

        Raises:
            AlmanacError: the dataset has no such relation.
        """
        if strange := [name for name in named if name not in self.split_facts]:
            there = ", ".join(self.split_facts)
            raise AlmanacError(f"{setting}: {strange[0]!r} is not in the dataset, which has {there}; correct it")
        return [name for name in self.split_facts if not named or name in named]

    def false_objects(self, fact: Fact, keys: Iterable[str]) -> Iterator[str]:
        """Yield those of ``keys``, in order, that are under no name a true object of a fact's subject and relation."""
        taken = {
            name
            for key in self.true_objects[fact.relation_id, fact.subject_id]
            for name in self.names.normalised_names(key)
        }
        return (key for key in keys if taken.isdisjoint(self.names.normalised_names(key)))

    def choices_of(self, facts: Iterable[Fact]) -> dict[str, Choices]:
        """Return the wrong choices of some test facts, by fact; others are not kept in memory."""
        wanted = pa.array([fact.fact_id for fact in facts], pa.string())
        some = self._some("choices", Choices, lambda batch: pc.is_in(batch.column("fact_id"), wanted))
        return {row.fact_id: row for row in some}

    def facts_of(self, relations: Iterable[str]) -> dict[str, list[Fact]]:
        """Return all facts of some relations, those of no split too, in the table's order."""
        found: dict[str, list[Fact]] = {relation: [] for relation in relations}
        wanted = pa.array(list(found), pa.string())
        some = self._some("facts", Fact, lambda batch: pc.is_in(batch.column("relation_id"), wanted)) if found else ()
        for fact in some:
            found[fact.relation_id].append(fact)
        return found

    def _some(self, table: str, row: type[Row], keep: Callable[[pa.RecordBatch], pa.Array]) -> Iterator[Row]:
        """Yield the rows of a table that ``keep`` selects, without keeping others in memory."""
        batches: Iterable[pa.RecordBatch]
        if self.folder is None:
            batches = tables.arrow_of(row, self.rows(table, row)).to_batches()
        else:
            batches = tables.stream(self.folder / f"{table}.parquet", row, size=tables.GROUP)
        for batch in batches:
            yield from tables.from_arrow(row, pa.Table.from_batches([batch.filter(keep(batch))]))

    @cached_property
    def given_by_names(self) -> frozenset[str]:
        """The test facts that names give away: the true object's label is most like the subject's (`likeness`).

        A rule that compares names then chooses the true object, or one of several equally similar choices. Poerner et
        al. (2020) leave such facts out, by other rules (LAMA-UHN).
        """
        tested = {fact.fact_id: fact for own in self.split_facts.values() for fact in own if fact.split == "test"}
        wanted, label, given = pa.array(list(tested), pa.string()), self.names.label, set()
        for row in self._some("choices", Choices, lambda batch: pc.is_in(batch.column("fact_id"), wanted)):
            fact = tested[row.fact_id]
            subject = label(fact.subject_id)
            most = likeness(subject, label(fact.object_key))
            if most > 0 and row.labels and all(likeness(subject, other) <= most for other in row.labels):
                given.add(row.fact_id)
        return frozenset(given)

    @cached_property
    def names(self) -> ObjectNames:
        """The names of subjects and objects."""
        return ObjectNames.of(self.entities)

    @cached_property
    def named(self) -> pl.DataFrame:
        """The facts with labels: ``fact``, its ``subject``, ``relation`` and ``object``."""
        label, relations = self.names.label, {row.relation_id: row.label for row in self.relations}
        rows = [
            (row.fact_id, label(row.subject_id), relations.get(row.relation_id, row.relation_id), label(row.object_key))
            for row in self.facts
        ]
        return pl.DataFrame(rows, dict.fromkeys(("fact", "subject", "relation", "object"), pl.String), orient="row")

    @cached_property
    def by_relation(self) -> dict[str, list[Fact]]:
        """The facts of each relation, those of no split too; relations sorted."""
        return self.facts_of(self.split_facts)

    @cached_property
    def doses(self) -> dict[str, int]:
        """The doses by fact."""
        return {row.fact_id: row.dose for row in self.exposures}

    def tested(self, sample: int | None, seed: int, at_least: int = 0) -> dict[str, list[Fact]]:
        """Return the facts to ask, a seeded sample of each relation (`of_each`): the same for every suite."""
        each = of_each(sample, at_least, len(self.split_facts))
        return {relation: asked_facts(own, each, seed, self.doses) for relation, own in self.split_facts.items()}
