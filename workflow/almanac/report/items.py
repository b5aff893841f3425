"""The items behind the page's numbers, as columns: the page's script selects those of a number by its ``where``."""

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
from almanac.report.evidence import Block, EvidenceFiles, pooled
from almanac.report.known import FactFound
from almanac.report.lines import shortened
from almanac.rows import Measure, Outcome
from almanac.suites.answers import Answers
from almanac.suites.asked_texts import asked_texts
from almanac.suites.data import Data
from almanac.suites.headline import ABOVE_CHANCE, Finding
from almanac.suites.judged import Condition, chosen, conditions_of
from almanac.suites.listing import SUITES
from almanac.suites.recovery import HALF
from almanac.suites.suite import Method
from almanac.tables import in_order

RECOMPUTED = ("mean", "macro", "macro_of_facts", "ratio", "count")  # formulas that the page's script can compute
ROWS = 50_000  # rows of a block over all models, roughly: relations are combined up to that many
ALWAYS = ("item", "fact", "relation", "subject", "object", "outcome", "score", "confidence", "dose")
NAMED = ("relation", "subject", "object")
ALSO = "also_true"  # the other true objects of the subject, which some methods accept, too
LISTED = 5  # at most so many of these are listed
TEXT = "*asked"  # the text that was asked; columns with a star are not columns of `Judged`
WAY = "*way"  # the item's setting in words
METHOD, COUNTED, FALSE = "*method", "*counted", "*false"  # the item's method, if it counts, if its object is false
HOW = ("experiment", WAY, "template", "reading", METHOD, COUNTED, FALSE)  # how an item was asked and its answer read
DIGITS = 4  # significant digits of numbers that nothing is computed from


class Items:
    """Collects the items of an edition, one suite and dataset at a time."""

    def __init__(self, layout: Layout, evidence: EvidenceFiles, findings: Sequence[Finding]) -> None:
        self._layout = layout
        self._evidence = evidence
        self._above: dict[tuple[str | None, str, str], list[Measure]] = defaultdict(list)
        for finding in findings:
            if finding.verdict == ABOVE_CHANCE:
                self._above[finding.known.model, finding.known.suite, finding.known.dataset].append(finding.known)
        self._data = {name: layout.data(name) for name in layout.config.used_datasets()}
        self.relations = {
            name: {row.relation_id: row.label for row in data.relations} for name, data in self._data.items()
        }
        # By dataset: the facts that are asked; and by how many models and methods each is known, out of how many.
        self._facts: dict[str, pl.DataFrame] = {}
        self._known: dict[str, pl.DataFrame] = {}

    def add(self, askings: Sequence[Asking], measures: Sequence[Measure]) -> None:
        """Add the items that a suite asked of models on a dataset; ``measures`` are its numbers on the page."""
        conditions = {name for row in measures for name in conditions_of(row)}
        used = conditions | {name for row in measures for name in row.of}
        exact = (
            conditions | {"item", "dose"} | {name for row in measures if row.formula in RECOMPUTED for name in row.of}
        )
        suite, dataset = askings[0].suite, askings[0].dataset
        parts = ItemBlocks(self._data[dataset].names, used, exact, len(askings))
        asked: dict[tuple[Path, ...], Mapping[int, str]] = {}
        for asking in askings:
            judged, answers = judged_of(self._layout, asking), self._layout.answers(asking)
            folders = tuple(one.folder for one in answers.rounds)
            if folders not in asked:  # texts that several models were asked are read once
                asked[folders] = asked_texts(answers)
            predictions = read_frame(self._layout.judged(asking, "outcomes"), Outcome, ["prediction"])["prediction"]
            methods = SUITES[suite].counted(self._layout.options(asking))
            frame = _with_methods(_with_ways(judged.frame, answers), methods).with_columns(predictions)
            frame = _with_others(frame, self._data[dataset])
            parts.add(asking.model, frame, asked[folders])
            self._name(dataset, judged.frame)
            for row in self._above[asking]:
                self._count(dataset, judged.where(conditions_of(row)).frame)
        about = {"suite": suite, "label": SUITES[suite].label, "dataset": dataset, "scores": SUITES[suite].scores}
        self._evidence.add(list(parts.blocks(f"{suite}-{dataset}", about)))

    def _name(self, dataset: str, frame: pl.DataFrame) -> None:
        """Record the facts that are asked: their names, and the highest dose at which any model was taught them."""
        names = frame.filter(pl.col("fact").is_not_null()).unique("fact", maintain_order=True)
        names = names.select(pl.col("fact", *NAMED).cast(pl.String), "dose")
        all_names = pl.concat([self._facts.get(dataset, names.clear()), names]).group_by("fact", maintain_order=True)
        self._facts[dataset] = all_names.agg(pl.col(NAMED).first(), pl.col("dose").max())

    def _count(self, dataset: str, frame: pl.DataFrame) -> None:
        """Count the facts that one model knows by one method: it has more than half of a fact's items right."""
        observed = frame.filter(pl.col("hit").is_not_null() & pl.col("fact").is_not_null())
        known = (pl.col("hit").mean() > HALF).cast(pl.Int64)
        by_fact = observed.group_by(pl.col("fact").cast(pl.String), maintain_order=True)
        counts = by_fact.agg(known.alias("known"), asked=1)
        all_counts = pl.concat([self._known.get(dataset, counts.clear()), counts]).group_by("fact", maintain_order=True)
        self._known[dataset] = all_counts.agg(pl.col("known", "asked").sum())

    def facts(self) -> list[FactFound]:
        """Return how often each fact is known, over the models and methods that are above chance.

        All facts also become a block, for the page's search.
        """
        asked: dict[str, dict[str, list[Any]]] = {}
        found = []
        for dataset, facts in self._facts.items():
            label, relations = self._data[dataset].names.label, self.relations[dataset]
            counts = self._known.get(dataset, facts.select("fact", known=0, asked=0).clear())
            counted = facts.join(counts, on="fact", how="left", maintain_order="left").with_columns(
                pl.col("known", "asked").fill_null(0)
            )
            if counted["dose"].count():  # a model is taught only some of a source's facts
                counted = counted.with_columns(pl.col("dose").fill_null(0))
            if counted.height:
                asked[dataset] = counted.to_dict(as_series=False)
                asked[dataset] |= {name: list(map(label, asked[dataset][name])) for name in ("subject", "object")}
            rows = counted.filter(pl.col("asked") > 0).iter_rows()
            for fact, relation, subject, truth, dose, known, asked_by in rows:
                text = " — ".join((label(subject), relations[relation], label(truth)))
                found.append(FactFound(dataset, fact, text, dose, known, asked_by))
        self._evidence.add([Block("facts", {"facts": in_order(asked)})])
        return found


class ItemBlocks:
    """The items of a suite on a dataset, of all models, divided by relation into blocks of about `ROWS` rows."""

    def __init__(self, names: ObjectNames, used: set[str], exact: set[str], models: int) -> None:
        self._names, self._used, self._exact, self._models = names, used, exact, models
        self._block_of: dict[str | None, int] = {}
        self._columns: dict[int, dict[str, dict[str, str]]] = defaultdict(dict)
        self._seen: dict[tuple[int, str], tuple[pl.Series, str]] = {}
        self._texts: dict[int, dict[str, int]] = defaultdict(dict)

    def add(self, model: str, frame: pl.DataFrame, asked: Mapping[int, str]) -> None:
        """Add one model's judged items.

        Args:
            model: the model.
            frame: the items, as of `Judged`, with `WAY` and the predictions.
            asked: the text of each item.
        """
        self._divide(frame["relation"].cast(pl.String))
        kept = [name for name in frame.columns if name in self._used or name in (*ALWAYS, *HOW, ALSO, "prediction")]
        block = pl.col("relation").cast(pl.String).replace_strict(self._block_of, return_dtype=pl.Int64)
        for part in frame.with_columns(block.alias("*block")).partition_by("*block", maintain_order=True):
            number = part["*block"][0]
            columns = {name: self._column(number, part[name]) for name in kept}
            texts = self._texts[number]
            codes = [texts.setdefault(asked[item], len(texts)) for item in part["item"]]
            self._columns[number][model] = columns | {TEXT: in_order({"codes": codes})}

    def _divide(self, relations: pl.Series) -> None:
        """Assign each relation to the last block, or to a new one if that is full."""
        last, rows = max(self._block_of.values(), default=0), 0
        for relation, count in relations.value_counts(sort=False).sort("relation", nulls_last=True).iter_rows():
            if relation not in self._block_of:
                last, rows = (last + 1, 0) if rows and (rows + count) * self._models > ROWS else (last, rows)
                self._block_of[relation] = last
                rows += count

    def _column(self, block: int, column: pl.Series) -> str:
        """Return a column as JSON; a column equal to the previous model's is not encoded again."""
        seen, text = self._seen.get((block, column.name), (None, ""))
        if seen is None or seen.dtype != column.dtype or not seen.equals(column):
            text = in_order(self._values(column))
            self._seen[block, column.name] = column, text
        return text

    def _values(self, column: pl.Series) -> dict[str, Any]:
        """Return a column as values; of text, as distinct texts and each item's code; subjects and objects by label."""
        if isinstance(column.dtype, pl.Categorical | pl.String):
            found = column.cast(pl.String).to_arrow().dictionary_encode()
            names = found.dictionary.to_pylist()
            shown = list(map(self._names.label, names)) if column.name in ("subject", "object") else names
            return {"names": shown, "codes": found.indices.to_pylist()}
        if column.dtype.is_float():
            column = column if column.name in self._exact else column.round_sig_figs(DIGITS)
            column = column.set(~column.is_finite(), None)  # not allowed in JSON
        return {"values": column.to_list()}

    def blocks(self, name: str, about: Mapping[str, str]) -> Iterator[Block]:
        """Yield the blocks; their names begin with ``name``, and the page gets ``about`` for each."""
        for number, columns in sorted(self._columns.items()):
            relations = [relation for relation, block in self._block_of.items() if block == number]
            pieces = {"texts": in_order(list(self._texts[number])), **dict(pooled(columns))}
            yield Block(f"{name}-{number}", pieces, {**about, "models": list(columns), "relations": relations})


def _with_ways(frame: pl.DataFrame, answers: Answers) -> pl.DataFrame:
    """Return items with `WAY`, their setting in words."""
    ways = answers.settings.select(pl.col("setting").cast(pl.Categorical), pl.col("setting_label").alias(WAY))
    return frame.join(ways, on="setting", how="left", maintain_order="left")


def _with_methods(frame: pl.DataFrame, methods: Sequence[Method]) -> pl.DataFrame:
    """Return items with `METHOD` (the label of the method that asked them), `COUNTED` and `FALSE`.

    Items of false objects, against which a method compares each fact, and items of other readings of its answers belong
    to the method as well, but its share does not count them.
    """
    false = [(method.label, method.guess) for method in methods if isinstance(method.guess, Mapping)]
    asked = [*((method.label, method.where) for method in methods), *false]
    label = pl.coalesce(
        pl.lit(None, pl.String), *(pl.when(_meets(where, "reading")).then(pl.lit(name)) for name, where in asked)
    )
    return frame.with_columns(
        label.alias(METHOD),
        pl.any_horizontal(pl.lit(False), *(_meets(method.where) for method in methods)).alias(COUNTED),
        pl.any_horizontal(pl.lit(False), *(_meets(where, "reading") for _, where in false)).alias(FALSE),
    )


def _with_others(frame: pl.DataFrame, data: Data) -> pl.DataFrame:
    """Return items with `ALSO`, by label, if a subject has several true objects in its relation."""
    facts = frame.select(pl.col(NAMED).cast(pl.String)).drop_nulls().unique(maintain_order=True)
    others = {}
    for relation, subject, truth in facts.iter_rows():
        true_objects = data.true_objects.get((relation, subject), ())
        if truth in true_objects and len(true_objects) > 1:
            labels = (data.names.label(key) for key in true_objects if key != truth)
            others[f"{relation}|{subject}|{truth}"] = shortened(labels, "; ", LISTED)
    key = pl.concat_str(pl.col(NAMED).cast(pl.String), separator="|")
    return frame.with_columns(key.replace_strict(others, default=None).alias(ALSO)) if others else frame


def _meets(conditions: Mapping[str, Condition], ignored: str = "") -> pl.Expr:
    return pl.all_horizontal(pl.lit(True), *(chosen(name, one) for name, one in conditions.items() if name != ignored))


def items(
    layout: Layout,
    evidence: EvidenceFiles,
    measures: Mapping[tuple[str, str], Sequence[Measure]],
    findings: Sequence[Finding],
) -> tuple[dict[str, Any], list[FactFound]]:
    """Collect the items that numbers count; return what the page needs to know of them, and how often facts are known.

    Numbers are given by suite and dataset. Facts are counted by the methods that are above chance.
    """
    out = Items(layout, evidence, findings)
    for suite, dataset, askings in layout.askings():
        out.add(askings, measures[suite.name, dataset])
    known = out.facts()
    return {"root": f"results/{layout.config.edition}", "relations": out.relations}, known
