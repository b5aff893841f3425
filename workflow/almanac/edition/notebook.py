"""An edition in a notebook: its tables as pandas data frames, from its folder or from its archive."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from almanac import tables, unfinished
from almanac.columns import described
from almanac.config import Asking
from almanac.edition.layout import DATASET_TABLES, Layout
from almanac.edition.measuring import entrant, findings_of, joined, judge, judged_of
from almanac.edition.pairs import differences
from almanac.edition.unpacking import opened
from almanac.errors import AlmanacError, did_you_mean
from almanac.frames import read_frame
from almanac.rows import Agreement, Knowledge, Measure, Outcome, Standing, Validation
from almanac.statistics import grouped
from almanac.suites.agreement import called
from almanac.suites.asked_texts import asked_texts
from almanac.suites.chapter import NOT_TAUGHT
from almanac.suites.headline import Finding
from almanac.suites.joining import EVERY
from almanac.suites.judged import Judged, as_text
from almanac.suites.listing import SUITES

if TYPE_CHECKING:
    import pandas

ROWS: Mapping[str, type] = {
    **{**DATASET_TABLES, "measures": Measure, "between": Measure},
    **{"validation": Validation, "standings": Standing, "agreements": Agreement, "knowledge": Knowledge},
}
ASKED = ("model", "dataset", "suite", "method", "where")  # identify a finding; `where` is the method's setting
# The columns of `Edition.findings`, `Edition.known` and `Edition.compared`.
NUMBERS = ("known", "low", "high", "other_relations_low", "other_relations_high")
FINDINGS = {
    **dict.fromkeys(ASKED, pl.String()),
    **dict.fromkeys((*NUMBERS, "chance", "above_chance", "above_low", "above_high"), pl.Float64()),
    **{"facts": pl.Int64(), "p": pl.Float64(), "p_unadjusted": pl.Float64(), "verdict": pl.String()},
    "beyond_names": pl.Boolean(),
}
TEXTS = (*ASKED, "fact", "subject", "relation", "object")
KNOWN = dict.fromkeys(TEXTS, pl.String()) | {"known": pl.Boolean(), "right": pl.Float64(), "score": pl.Float64()}
COMPARED = {
    **dict.fromkeys(("dataset", "method", "model", "other"), pl.String()),
    **dict.fromkeys(("difference", "low", "high", "p", "p_unadjusted"), pl.Float64()),
    "facts": pl.Int64(),
}
FRAMES = {"findings": FINDINGS, "known": KNOWN, "compared": COMPARED}


def read_edition(path: Path | str) -> "Edition":
    """Open an edition.

    Args:
        path: its folder, ``results/EDITION``, or the archive that `freeze` made, which is checked and unpacked.

    Raises:
        AlmanacError: there is no edition, or the archive is damaged.
    """
    layout, unpacked = opened(Path(path).expanduser())
    if not layout.page().is_file():
        warnings.warn(
            f"{path} has no page: its run has not ended or was not whole; results of two may be in it", stacklevel=2
        )
    return Edition(layout, unpacked)


def shares(known: "pandas.DataFrame", by: Sequence[str] | str) -> "pandas.DataFrame":
    """Return the share of known facts in groups of your choice, computed as on the page.

    A share is a macro-average: each relation of a group has the same weight, however few facts it has.

    Args:
        known: rows of `Edition.known`, possibly with further columns of yours.
        by: the columns that define the groups, such as ``["model", "method", "continent"]``. Each of model, dataset,
            suite, method and where must be among them, or have a single value in every group.

    Returns:
        One row per group with facts: the columns ``by``; ``known``, the mean over relations of the facts' shares of
        right answers; ``low`` and ``high``, its 95 % interval (for these relations; a subject's facts are drawn
        together); and ``facts``, the number of facts.

    Raises:
        AlmanacError: a column is missing or has the name of a result's column, a fact occurs twice, or a group has
            several models, datasets or methods.
    """
    frame, by = pl.DataFrame(known), [by] if isinstance(by, str) else list(dict.fromkeys(by))
    for name in (*by, *KNOWN):
        if name not in frame.columns:
            raise AlmanacError(f"shares: there is no column {name!r}{did_you_mean(name, frame.columns)}")
    if taken := [name for name in by if name in ("known", "low", "high", "facts")]:
        raise AlmanacError(f"shares: {taken[0]!r} is a column of the result; rename yours")
    if frame.select(*ASKED, "fact").is_duplicated().any():
        raise AlmanacError("shares: a fact occurs twice by one method of a model; join your own table by unique keys")
    for name in (name for name in ASKED if name not in by):
        values = frame.group_by(by).agg(pl.col(name).unique().sort())[name]
        if several := [found for found in values.to_list() if len(found) > 1]:
            such = " and ".join(several[0][:2])
            raise AlmanacError(f"shares: a group has several values of {name!r}, such as {such}; add it to by")
    ids = pl.col("fact").str.splitn("|", 3).struct  # the fact's relation, subject and object
    parts = frame.with_columns(ids.field("field_0").alias("*relation"), ids.field("field_1").alias("*subject"))
    found = grouped.macro(parts, by, "right", "*relation", "*subject").rename({"value": "known"})
    counted = frame.group_by(by).agg(pl.len().alias("facts"))
    return found.join(counted, on=by, how="left", nulls_equal=True).sort(by).to_pandas()


class Edition:
    """A finished or frozen edition; every table is a pandas data frame, read on access.

    Attributes:
        name: the edition's name.
        title: the page's title.
        models: the names of the models that were asked.
        datasets: the names of the datasets that they were asked.
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
        """The finding of each method on each model: the page's table of methods.

        ``known`` is the share of known facts: ``low`` to ``high`` is its interval for these relations,
        ``other_relations_low`` to ``other_relations_high`` for other relations. ``above_chance`` is ``known`` minus
        ``chance``, ``facts`` the number of answered facts, and ``where`` tells which items are counted. ``p`` is
        adjusted for all verdicts (Holm), as on the page; ``p_unadjusted`` is the p-value of the single test.
        ``beyond_names``: whether a result above chance is so also without the facts that names give away. If a planted
        model was not taught a method's format, the ``verdict`` says so, and there are no numbers.
        """
        rows = [
            {
                "model": one.known.model,
                "dataset": one.known.dataset,
                "suite": one.known.suite,
                "method": one.method.label,
                "where": one.known.where,
                **({} if one.verdict == NOT_TAUGHT else _numbers(one)),
                "facts": one.facts,
                "verdict": one.verdict,
                "beyond_names": one.beyond_names,
            }
            for one in findings_of(self._layout)
        ]
        return pl.DataFrame(rows, FINDINGS).to_pandas()

    @property
    def measures(self) -> "pandas.DataFrame":
        """Every measure of a single model, with its interval and the condition on its items (``where``)."""
        paths = [self._layout.measures(asking) for asking in self._layout.config.asked()]
        return pl.concat(read_frame(path, Measure) for path in paths).to_pandas()

    @property
    def between(self) -> "pandas.DataFrame":
        """Every measure that compares models."""
        return read_frame(self._layout.between("across"), Measure).to_pandas()

    @property
    def compared(self) -> "pandas.DataFrame":
        """The differences of two models that the page tests: the table of *Models compared, all methods*.

        ``difference`` is the share that ``model`` knows minus that of ``other`` on the same facts, with its interval.
        ``p`` is adjusted for all rows (Holm), ``p_unadjusted`` is the p-value of the single test. Both are empty if
        fewer than 20 facts were answered.
        """
        found = differences(tables.read(self._layout.between("across"), Measure), self._layout.config.compare)
        rows = [
            {
                "dataset": row.dataset,
                "method": label,
                "model": row.model,
                "other": row.other,
                "difference": row.value,
                "low": row.low,
                "high": row.high,
                "p": p,
                "p_unadjusted": None if p is None else row.p,
                "facts": row.n,
            }
            for row, _, label, p in found
        ]
        return pl.DataFrame(rows, COMPARED).to_pandas()

    @property
    def validation(self) -> "pandas.DataFrame":
        """What each method recovers of planted knowledge."""
        return read_frame(self._layout.between("validation"), Validation).to_pandas()

    @property
    def standings(self) -> "pandas.DataFrame":
        """How well each method recovers what was taught, and whether the order of the methods is stable."""
        return read_frame(self._layout.between("standings"), Standing).to_pandas()

    @property
    def agreements(self) -> "pandas.DataFrame":
        """How well two methods agree on the facts that both asked of a model."""
        return read_frame(self._layout.between("agreements"), Agreement).to_pandas()

    @property
    def knowledge(self) -> "pandas.DataFrame":
        """For each model and fact, how many methods asked it, and how many call it known."""
        return read_frame(self._layout.between("knowledge"), Knowledge).to_pandas()

    def dataset(self, name: str, table: str = "facts") -> "pandas.DataFrame":
        """Return a table of a dataset: ``facts``, ``entities``, ``relations``, ``templates``, ``choices``, …."""
        if name not in self.datasets or table not in DATASET_TABLES:
            there = f"{', '.join(self.datasets)} with {', '.join(DATASET_TABLES)}"
            raise AlmanacError(f"edition {self.name}: there is no {table!r} of {name!r}; there are {there}")
        return read_frame(self._layout.dataset(name, table), DATASET_TABLES[table]).to_pandas()

    @property
    def known(self) -> "pandas.DataFrame":
        """Whether each method calls each fact of each model known: more than half of its items are right.

        One row per model, method and fact, with the names of subject, relation and object. ``right`` is the share of
        the fact's items that are right, and ``known`` whether it is more than half; ``score`` is what the method ranks
        facts by. ``method`` and ``where`` are as in `findings`. The page's shares are means of ``right``. As in
        `knowledge`, a method is left out if a planted model was not taught its format, or if most answers do not
        follow its format.
        """
        parts = [pl.DataFrame(schema=KNOWN)]
        names = {name: self._layout.data(name).named for name in self.datasets}
        found = findings_of(self._layout)
        labels = {(one.known.suite, one.known.dataset, one.known.where): one.method.label for one in found}
        for asking in self._layout.config.asked():
            suite, model = SUITES[asking.suite], entrant(self._layout, asking)
            methods = [one for one in suite.counted(self._layout.options(asking)) if model.understands(one.format)]
            for one in called(self._judged(asking), methods):
                if not one.followed:
                    continue
                where = as_text(one.conditions)
                label = labels.get((asking.suite, asking.dataset, where), one.method.label)
                keys = {"method": label, "where": where, **asking._asdict()}
                facts = one.facts.select(pl.col("fact").cast(pl.String), "known", "score", right="hit")
                facts = facts.join(names[asking.dataset], on="fact", how="left", maintain_order="left")
                parts.append(facts.with_columns(pl.lit(text).alias(name) for name, text in keys.items()).select(*KNOWN))
        return pl.concat(parts).to_pandas()

    def outcomes(self, model: str, suite: str, dataset: str, *, text: bool = False) -> "pandas.DataFrame":
        """Return a model's judged items: one row per item and reading, with all columns that measures are grouped by.

        Choose an ``experiment`` and a ``reading`` before counting, and leave out rows without ``hit``, which no measure
        counts. ``prediction`` is the answer without surrounding space; if the whole answer is judged, all of it.

        Args:
            model: the name of the model.
            suite: the name of the suite that asked.
            dataset: the name of the dataset.
            text: whether to add a column ``text``: what was asked, with its context, as the page's window shows it.
        """
        asked = list(self._layout.config.asked())
        for column, name in Asking(model, suite, dataset)._asdict().items():
            names = {getattr(one, column) for one in asked}
            if name not in names:
                raise AlmanacError(f"edition {self.name}: there is no {column} {name!r}{did_you_mean(name, names)}")
        found = [one for one in asked if one == (model, suite, dataset)]
        if not found:
            there = "; ".join(f"{one.model}, {one.suite}, {one.dataset}" for one in asked[:20])
            raise AlmanacError(f"edition {self.name}: {suite} of {dataset} is not asked of {model}; asked are {there}")
        frame = self._judged(found[0]).frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
        predictions = read_frame(self._layout.judged(found[0], "outcomes"), Outcome, ["prediction"])
        frame = frame.with_columns(predictions["prediction"].str.strip_chars())
        if text:
            texts = asked_texts(self._layout.answers(found[0]))
            frame = frame.with_columns(pl.Series("text", map(texts.get, frame["item"]), pl.String))
        return frame.to_pandas()

    def _judged(self, asking: Asking) -> Judged:
        """Return a model's judged items; judge them first if the archive has only the responses."""
        layout, suite = self._layout, SUITES[asking.suite]
        paths = [layout.judged(asking, name) for name in ("outcomes", *joined(suite))]
        if self._unpacked is not None and not all(path.is_file() for path in paths):
            answers, data = layout.answers(asking), layout.data(asking.dataset)
            judge(suite, layout.options(asking), answers, data, paths[0].parent)
        return judged_of(layout, asking)

    @staticmethod
    def describe(table: str) -> str:
        """Return the meaning of a table's columns; ``table`` is a table of datasets or a property of this class."""
        if table in FRAMES:
            return f"{inspect.getdoc(getattr(Edition, table))}\n\nColumns: {', '.join(FRAMES[table])}"
        if table == "outcomes":
            # Only measures over several datasets have the column `dataset`.
            shared = {name: meaning for name, meaning in EVERY.items() if name != "dataset"}
            return _listed(inspect.getdoc(Edition.outcomes) or "", shared | {"…": "the suite's own (docs/tables.md)"})
        if table not in ROWS:
            raise AlmanacError(f"there is no table {table!r}; there are {', '.join([*FRAMES, 'outcomes', *ROWS])}")
        return _listed(*described(ROWS[table]))


def _listed(text: str, meanings: Mapping[str, str]) -> str:
    return "\n".join([text, "", "Columns:", *(f"  {name}: {meaning}" for name, meaning in meanings.items())])


def _numbers(one: Finding) -> dict[str, float | None]:
    """Return the numbers of a finding."""
    return {
        "known": one.known.value,
        "low": one.known.low,
        "high": one.known.high,
        "other_relations_low": one.other_relations.low if one.other_relations else None,
        "other_relations_high": one.other_relations.high if one.other_relations else None,
        "chance": one.chance.value if one.chance else None,
        "above_chance": one.above.value if one.above else None,
        "above_low": one.above.low if one.above else None,
        "above_high": one.above.high if one.above else None,
        "p": one.adjusted,
        "p_unadjusted": one.above.p if one.above else None,
    }
