"""A dataset as suites read it: its tables as rows or as columns, each read when it is first asked for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from almanac import tables
from almanac.dataset.names import ObjectNames
from almanac.frames import frame_of, read_frame
from almanac.rows import Choices, Entity, Evidence, Exposure, Fact, Popularity, Relation, Template
from almanac.suites.sampling import asked_facts

Row = TypeVar("Row")


class Data:
    """The tables of a dataset.

    Attributes:
        folder: where they lie; none: what is given instead (`of`), every other table being empty.
    """

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
        """Return columns of a table; all if none are named."""
        if self.folder is None:
            found = frame_of(row, self.rows(table, row))
            return found.select(columns) if columns else found
        return read_frame(self.folder / f"{table}.parquet", row, columns)

    @cached_property
    def entities(self) -> list[Entity]:
        """The things that facts speak of, with their names."""
        return self.rows("entities", Entity)

    @cached_property
    def relations(self) -> list[Relation]:
        """The relations."""
        return self.rows("relations", Relation)

    @cached_property
    def offered(self) -> pl.DataFrame:
        """What each test fact is chosen among: ``fact`` and ``offered``, the wrong choices and the true object."""
        true = {fact.fact_id: self.names.label(fact.object_key) for fact in self.facts}
        rows = [(row.fact_id, [*row.labels, true[row.fact_id]]) for row in self.choices]
        found = pl.DataFrame(rows, {"fact": pl.String, "offered": pl.List(pl.String)}, orient="row")
        return found.with_columns(pl.col("fact").cast(pl.Categorical))

    @cached_property
    def facts(self) -> list[Fact]:
        """Every fact: shown in examples, asked, and beyond what is asked."""
        return self.rows("facts", Fact)

    @cached_property
    def choices(self) -> list[Choices]:
        """The wrong choices of the test facts."""
        return self.rows("choices", Choices)

    @cached_property
    def templates(self) -> list[Template]:
        """The sentences of the relations."""
        return self.rows("templates", Template)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """Texts in which facts are said."""
        return self.rows("evidence", Evidence)

    @cached_property
    def popularity(self) -> list[Popularity]:
        """How well known things are."""
        return self.rows("popularity", Popularity)

    @cached_property
    def names(self) -> ObjectNames:
        """The names of subjects and objects."""
        return ObjectNames.of(self.entities)

    @cached_property
    def by_relation(self) -> dict[str, list[Fact]]:
        """The facts of each relation, relations sorted."""
        found: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            found[fact.relation_id].append(fact)
        return dict(sorted(found.items()))

    @cached_property
    def exposures(self) -> list[Exposure]:
        """How often facts were to be taught to models, where the dataset's source says it: an invented world."""
        return self.rows("exposures", Exposure)

    @cached_property
    def doses(self) -> dict[str, int]:
        """The exposures by fact."""
        return {row.fact_id: row.dose for row in self.exposures}

    def tested(self, sample: int | None, seed: int) -> dict[str, list[Fact]]:
        """Return the facts that are asked, of each relation a seeded sample (none: all): the same for every suite."""
        return {relation: self.asked(own, sample, seed) for relation, own in self.by_relation.items()}

    def asked(self, facts: Iterable[Fact], sample: int | None, seed: int) -> list[Fact]:
        """Return those of one relation's facts that are asked; see `sampling.asked_facts`."""
        return asked_facts(facts, sample, seed, self.doses)
