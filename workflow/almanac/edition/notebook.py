"""An edition in a notebook: its tables as pandas frames, from its folder or from the archive that was frozen."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from almanac import unfinished
from almanac.columns import columns
from almanac.config import Asking
from almanac.edition.layout import DATASET_TABLES, Layout
from almanac.edition.measuring import entrant, findings_of, judge, judged_of
from almanac.edition.unpacking import unpack
from almanac.errors import AlmanacError
from almanac.frames import read_frame
from almanac.rows import Measure, Outcome, Validation
from almanac.suites.agreement import called
from almanac.suites.judged import Judged
from almanac.suites.listing import SUITES

if TYPE_CHECKING:
    import pandas

ROWS: Mapping[str, type] = {**DATASET_TABLES, "measures": Measure, "between": Measure, "validation": Validation}


def read_edition(path: Path | str) -> "Edition":
    """Return an edition.

    Args:
        path: its folder, ``results/EDITION``, or the archive that `freeze` made, which is checked and unpacked.

    Raises:
        AlmanacError: there is none, or the archive is damaged.
    """
    path = Path(path)
    if not path.is_file():
        return Edition(Layout.open(path))
    unpacked = unfinished.Folder()
    unpack(path, Path(unpacked.name))
    return Edition(Layout.open(Path(unpacked.name), unpacked=True), unpacked)


class Edition:
    """A finished or frozen edition; every table is a pandas frame, read when it is asked for.

    Attributes:
        name: the edition's.
        title: the page's.
        models: who was asked.
        datasets: of which facts.
    """

    def __init__(self, layout: Layout, unpacked: unfinished.Folder | None = None) -> None:
        self._layout, self._unpacked = layout, unpacked  # the folder of an archive lives as long as the edition
        self.name, self.title = layout.config.edition, layout.config.title
        asked = list(layout.config.asked())
        self.models = list(dict.fromkeys(one.model for one in asked))
        self.datasets = list(dict.fromkeys(one.dataset for one in asked))

    def __repr__(self) -> str:
        return f"<edition {self.name}: {', '.join(self.models)} on {', '.join(self.datasets)}>"

    @property
    def findings(self) -> "pandas.DataFrame":
        """What each method says of each model: known with both intervals, chance, the difference, the verdict."""
        rows = [
            {
                "model": one.known.model,
                "dataset": one.known.dataset,
                "suite": one.known.suite,
                "method": one.method.label,
                "known": one.known.value,
                "low": one.known.low,
                "high": one.known.high,
                "other_relations_low": one.elsewhere.low if one.elsewhere else None,
                "other_relations_high": one.elsewhere.high if one.elsewhere else None,
                "chance": one.chance.value if one.chance else None,
                "above_chance": one.above.value if one.above else None,
                "above_low": one.above.low if one.above else None,
                "above_high": one.above.high if one.above else None,
                "facts": one.facts,
                "p": one.above.p if one.above else None,
                "p_adjusted": one.adjusted,
                "verdict": one.verdict,
            }
            for one in findings_of(self._layout)
        ]
        return pl.DataFrame(rows, infer_schema_length=None).to_pandas()

    @property
    def measures(self) -> "pandas.DataFrame":
        """Every number of one model, with its interval and the condition on the items that it counts (``where``)."""
        paths = [self._layout.measures(asking) for asking in self._layout.config.asked()]
        return pl.concat(read_frame(path, Measure) for path in paths).to_pandas()

    @property
    def between(self) -> "pandas.DataFrame":
        """Every number between models."""
        return read_frame(self._layout.between("across"), Measure).to_pandas()

    @property
    def validation(self) -> "pandas.DataFrame":
        """What each method recovers of planted knowledge."""
        return read_frame(self._layout.between("validation"), Validation).to_pandas()

    def dataset(self, name: str, table: str = "facts") -> "pandas.DataFrame":
        """Return a table of a dataset: ``facts``, ``entities``, ``relations``, ``templates``, ``choices``, …."""
        if name not in self.datasets or table not in DATASET_TABLES:
            there = f"{', '.join(self.datasets)} with {', '.join(DATASET_TABLES)}"
            raise AlmanacError(f"edition {self.name}: there is no {table!r} of {name!r}; there are {there}")
        return read_frame(self._layout.dataset(name, table), DATASET_TABLES[table]).to_pandas()

    @property
    def known(self) -> "pandas.DataFrame":
        """Whether each method calls each fact of each model known: more than half of its items are right.

        A row a model, method and fact, with the items that the method counts (``where``), the fact's relation, subject
        and object by name, ``known``, the share of items that are right, and the ``score`` by which the method ranks
        facts. Methods whose format a planted model was not taught are left out.
        """
        parts = []
        for asking in self._layout.config.asked():
            suite, data = SUITES[asking.suite], self._layout.data(asking.dataset)
            model, label = entrant(self._layout, asking), data.names.label
            methods = [one for one in suite.counted(self._layout.options(asking)) if model.understands(one.format)]
            named = pl.DataFrame(
                [(row.fact_id, label(row.subject_id), label(row.object_key)) for row in data.facts],
                {"fact": pl.String, "subject": pl.String, "object": pl.String},
                orient="row",
            )
            relations = {row.relation_id: row.label for row in data.relations}
            for one in called(self._judged(asking), methods):
                about = zip(("suite", "method", "where"), (one.suite, one.method.label, one.key[2]), strict=True)
                keys = {"model": asking.model, "dataset": asking.dataset, **dict(about)}
                facts = one.facts.select(pl.col("fact", "relation").cast(pl.String), "known", "score", right="hit")
                facts = facts.join(named, on="fact", how="left", maintain_order="left")
                facts = facts.with_columns(pl.col("relation").replace(relations))
                kept = ("fact", "subject", "relation", "object", "known", "right", "score")
                parts.append(facts.select(*(pl.lit(text).alias(name) for name, text in keys.items()), *kept))
        return pl.concat(parts).to_pandas()

    def outcomes(self, model: str, suite: str, dataset: str) -> "pandas.DataFrame":
        """Return what became of a model's items: a row an item and reading, with all that numbers are counted by.

        ``prediction`` is the answer as it was read.
        """
        asked = list(self._layout.config.asked())
        found = [one for one in asked if one == (model, suite, dataset)]
        if not found:
            there = "; ".join(f"{one.model}, {one.suite}, {one.dataset}" for one in asked[:20])
            raise AlmanacError(f"edition {self.name}: {suite} of {dataset} is not asked of {model}; asked are {there}")
        frame = self._judged(found[0]).frame
        said = read_frame(self._layout.judged(found[0], "outcomes"), Outcome, ["prediction"])["prediction"]
        frame = frame.with_columns(said)
        return frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_pandas()

    def _judged(self, asking: Asking) -> Judged:
        """Return what became of a model's items, judged first where an archive carries the responses alone."""
        layout, outcomes = self._layout, self._layout.judged(asking, "outcomes")
        if self._unpacked is not None and not outcomes.is_file():
            answers, data = layout.answers(asking), layout.data(asking.dataset)
            judge(SUITES[asking.suite], layout.options(asking), answers, data, outcomes.parent)
        return judged_of(layout, asking)

    @staticmethod
    def describe(table: str) -> str:
        """Return what a table's columns mean: one of a dataset, ``measures``, ``between`` or ``validation``."""
        if table not in ROWS:
            raise AlmanacError(f"there is no table {table!r}; there are {', '.join(ROWS)}")
        return f"{inspect.getdoc(ROWS[table])}\n\nColumns: {', '.join(columns(ROWS[table]))}"
