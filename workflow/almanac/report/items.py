"""The items behind the page's numbers, as columns: the page's script finds those of a number by its ``where``."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from almanac.config import Asking
from almanac.dataset.names import ObjectNames
from almanac.edition.layout import Layout
from almanac.edition.measuring import judged_of
from almanac.frames import read_frame
from almanac.report.answer import FactFound
from almanac.rows import Context, Entity, Measure, Outcome, Relation
from almanac.suites.answers import Answers
from almanac.suites.headline import ABOVE_CHANCE, Finding
from almanac.suites.judged import Judged, Range, conditions_of
from almanac.suites.listing import SUITES

RECOMPUTED = ("share", "mean", "macro", "macro_of_facts", "ratio")  # formulas that the page's script has too
MOST_EMBEDDED = 60_000  # rows; beyond, the page would no longer open quickly, and names the files instead
ALWAYS = ("item", "fact", "relation", "subject", "object", "outcome", "score", "confidence", "dose")
HALF = 0.5  # of a fact's items; above, the fact is counted as known
DIGITS = 4  # that a number has, where nothing depends on more


class Items:
    """Collects what the page carries; texts stand once, however many items show them."""

    def __init__(self, layout: Layout, findings: Sequence[Finding] = ()) -> None:
        self._layout = layout
        self._above: dict[tuple[str | None, str, str], list[Measure]] = defaultdict(list)
        for one in findings:
            if one.verdict == ABOVE_CHANCE:
                self._above[one.known.model, one.known.suite, one.known.dataset].append(one.known)
        self._known: dict[tuple[str, str], FactFound] = {}
        self._texts: dict[str, int] = {"": 0}
        self._left = MOST_EMBEDDED
        self._names: dict[str, ObjectNames] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._asked_in: dict[tuple[Path, ...], dict[int, int]] = {}
        self._judged: list[dict[str, Any]] = []
        self._pool: dict[str, int] = {}  # columns as JSON: what all models were asked alike stands once

    def add(self, askings: Sequence[Asking], measures: Sequence[Measure]) -> None:
        """Add what a suite asked of a dataset, unless it is too much for the page.

        Args:
            askings: the models that were asked.
            measures: the numbers that are shown.
        """
        used = {name for row in measures for name in (*conditions_of(row), *row.of)}
        exact = {name for row in measures for name, one in conditions_of(row).items() if isinstance(one, Range)} | {
            "item",
            "dose",
        }
        exact |= {name for row in measures if row.formula in RECOMPUTED for name in row.of}
        found = [(asking, judged_of(self._layout, asking)) for asking in askings]
        if sum(judged.frame.height for _, judged in found) > self._left:
            return
        for asking, judged in found:
            self._left -= judged.frame.height
            self._judged.append(self._model(asking, judged, used, exact))
            for row in self._above[asking]:
                self._count(asking.dataset, judged.where(conditions_of(row)).frame)

    def _count(self, dataset: str, frame: pl.DataFrame) -> None:
        """Count which facts one model knows by one method: those that most of its items know."""
        dose = pl.col("dose").first() if "dose" in frame.columns else pl.lit(None).alias("dose")
        observed = frame.filter(pl.col("hit").is_not_null() & pl.col("fact").is_not_null())
        names = pl.col("relation", "subject", "object").first().cast(pl.String)
        by_fact = observed.group_by("fact", maintain_order=True).agg(names, dose, pl.col("hit").mean().alias("known"))
        for fact, relation, subject, truth, times, known in by_fact.iter_rows():
            old = self._known.get((dataset, fact))
            if old is None:
                label = f"{self._label(dataset, subject)} — {self._relations(dataset)[relation]} — "
                old = FactFound(dataset, fact, label + self._label(dataset, truth), times, 0, 0)
            new = old._replace(known=old.known + (known > HALF), asked=old.asked + 1)
            self._known[dataset, fact] = new

    def facts(self) -> list[FactFound]:
        """Return how often each fact is known, of the models and methods that are above chance."""
        return list(self._known.values())

    def _relations(self, dataset: str) -> Mapping[str, str]:
        if dataset not in self._labels:
            rows = self._layout.read(self._layout.dataset(dataset, "relations"), Relation)
            self._labels[dataset] = {row.relation_id: row.label for row in rows}
        return self._labels[dataset]

    def found(self) -> dict[str, Any]:
        """Return what the page carries."""
        root = f"results/{self._layout.config.edition}"
        relations = {name: self._relations(name) for name in self._layout.config.used_datasets()}
        return {
            "root": root,
            "texts": list(self._texts),
            "judged": self._judged,
            "columns": [json.loads(column) for column in self._pool],
            "relations": relations,
        }

    def _model(self, asking: Asking, judged: Judged, used: set[str], exact: set[str]) -> dict[str, Any]:
        frame = judged.frame
        names = [name for name in frame.columns if name in used or name in ALWAYS]
        columns = {name: self._column(frame[name], name in exact, asking.dataset) for name in names}
        columns["prediction"] = self._column(self._predictions(asking, frame), True, "")
        columns["asked"] = {"codes": list(self._asked(asking, frame))}
        places = {name: self._place(column) for name, column in columns.items()}
        return {"suite": asking.suite, "dataset": asking.dataset, "model": asking.model, "columns": places}

    def _place(self, column: dict[str, Any]) -> int:
        text = json.dumps(column, ensure_ascii=False, separators=(",", ":"))
        return self._pool.setdefault(text, len(self._pool))

    def _column(self, column: pl.Series, exact: bool, dataset: str) -> dict[str, Any]:
        """Return a column as values, or as texts and the number of each item's; subjects and objects by label."""
        if isinstance(column.dtype, pl.Categorical | pl.String):
            texts = column.cast(pl.String)
            kept = texts.drop_nulls().unique(maintain_order=True)
            place = pl.Series(range(len(kept)), dtype=pl.UInt32)
            codes = texts.replace_strict(kept, place, default=None, return_dtype=pl.UInt32)
            labelled = column.name in ("subject", "object") and dataset
            names = [self._label(dataset, name) for name in kept] if labelled else kept.to_list()
            return {"names": names, "codes": codes.to_list()}
        if column.dtype.is_float() and not exact:
            column = column.round_sig_figs(DIGITS)
        return {"values": column.to_list()}

    def _label(self, dataset: str, key: str) -> str:
        if dataset not in self._names:
            rows = self._layout.read(self._layout.dataset(dataset, "entities"), Entity)
            self._names[dataset] = ObjectNames.of(rows)
        return self._names[dataset].label(key)

    def _predictions(self, asking: Asking, frame: pl.DataFrame) -> pl.Series:
        path = self._layout.judged(asking, "outcomes")
        return read_frame(path, Outcome, ["prediction"])["prediction"].alias("prediction")

    def _asked(self, asking: Asking, frame: pl.DataFrame) -> Iterator[int]:
        """Yield the number of the text that each item shows: of several requests the first."""
        answers = self._layout.answers(asking)
        folders = tuple(one.folder for one in answers.rounds)
        if folders not in self._asked_in:  # what all models were asked alike is read once
            self._asked_in[folders] = self._texts_of(answers)
        texts = self._asked_in[folders]
        return (texts[item] for item in frame["item"])

    def _texts_of(self, answers: Answers) -> dict[int, int]:
        contexts = {
            row.context_id: row.text
            for one in answers.rounds
            for row in self._layout.read(one.folder / "contexts.parquet", Context)
        }
        texts: dict[int, int] = {}
        for part in answers.parts(("context_id", "instruction", "text", "options", "pieces")):
            first = part.links.unique("item", keep="first", maintain_order=True)
            for row in first.iter_rows(named=True):
                text = contexts.get(row["context_id"], "") + _shown(row)
                texts[row["item"]] = self._texts.setdefault(text, len(self._texts))
        return texts


def _shown(row: Mapping[str, Any]) -> str:
    """Return what is asked, as a reader sees it; a model's wrapper arranges instructed requests."""
    parts = (row["instruction"], row["text"], *(row["options"] or ()))
    return "\n".join(part for part in parts if part) or "".join(row["pieces"] or ())


def items(
    layout: Layout, measures: Mapping[tuple[str, str], Sequence[Measure]], findings: Sequence[Finding] = ()
) -> tuple[dict[str, Any], list[FactFound]]:
    """Return the items that numbers count, and how often each fact is known.

    Args:
        layout: the edition.
        measures: the numbers that are shown, by suite and dataset.
        findings: what was found; facts are counted by the methods that are above chance.
    """
    out = Items(layout, findings)
    for suite, dataset, askings in layout.askings():
        if suite.name in SUITES:
            out.add(askings, measures.get((suite.name, dataset), ()))
    return out.found(), out.facts()
