"""Join items with their outcomes, facts, popularity and doses to make `Judged`.

All joined columns are numbers or categories: no text is repeated, so millions of items fit into memory.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import polars as pl

from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.frames import frames
from almanac.rows import Fact, Item, Popularity
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.judged import FACT, SUBJECT, Judged
from almanac.suites.suite import Suite

BATCH = {field.name for field in fields(Batch)} | {"outcomes", "measures"}  # names of files that every suite has
ITEM = {"relation_id": "relation", "fact_id": "fact", "template_id": "template"}
# The columns of every suite's scored items, and what they hold.
EVERY = {
    "item": "the item's number, which goes on through all rounds of a suite and dataset",
    "experiment": "the experiment of the suite that asks the item",
    "relation": "the fact's relation",
    "fact": "the fact that the item asks for",
    "template": "the template of the item's text",
    "name": "the subject's name in the text, if the subject has several",
    "setting": "how the item is asked; the setting's fields are columns too",
    "subject": "the fact's subject",
    "object": "the fact's object",
    "bucket": "head, torso or tail, by the subject's popularity",
    "dose": "how often the model was taught the fact; empty if it was not taught the dataset",
    "object_dose": "how often the model was taught facts with this object",
    "dataset": "the item's dataset, in measures over several datasets",
    "reading": "how the answer is read, if the suite has several ways",
    "outcome": "correct, incorrect, missing (abstained or refused), invalid (no answer to the question) or error",
    "score": (
        "what facts are ranked by: a natural logarithm (nats) if choices, blanks or strings are scored, from 0 to 1 if "
        "a text is read; the suite's page says of what"
    ),
    "confidence": "how sure the model is of its answer, from 0 to 1, if the suite has this",
    "prediction": "the answer as it was read",
    "hit": "whether the outcome is correct; empty without a score",
}


def join(
    suite: Suite[Any],
    options: Any,
    answers: Answers,
    data: Data,
    outcomes: pl.DataFrame,
    own: Mapping[str, pl.DataFrame],
) -> Judged:
    """Return the judged items of one model.

    ``outcomes`` has a row for each item and reading, in the order of the items; items without an outcome are left out.
    ``own`` are the suite's own tables of what was judged.

    Returns:
        A row for each item and reading, with the columns of `EVERY` (``prediction`` if the suite reads it, ``dataset``
        only in `concatenated`), the fields of the item's setting, the columns of the suite's own tables of items and of
        outcomes, and the columns that `Suite.derived` adds.

    Raises:
        AlmanacError: two of these columns have the same name, or `Suite.derived` changes the rows.
    """
    check_names(suite)
    frame = _items(answers)
    for name, table in suite.own.items():
        if table.of == "item":
            rows = answers.own(name) if table.at == "asked" else own[name]
            frame = _joined(suite, name, frame, rows, ["item"])
    frame = frame.join(_facts(data, answers.exposures), on="fact", how="left", maintain_order="left")
    kept = ["item", "reading", "outcome", "score", "confidence", *(["prediction"] if suite.reads_predictions else [])]
    found = _narrow(outcomes.select(kept))
    hit = pl.when(pl.col("score").is_not_null()).then(pl.col("outcome") == "correct").alias("hit")
    frame = frame.join(found, on="item", how="inner", maintain_order="left_right").with_columns(hit)
    for name, table in suite.own.items():
        if table.of == "outcome":
            frame = _joined(suite, name, frame, own[name], ["item", "reading"])
    judged = suite.derived(frame, options)
    if not judged.select("item", "reading").equals(frame.select("item", "reading")):
        raise AlmanacError(f"suite {suite.name}: `derived` must return the rows that it is given, in their order")
    return Judged(suite.name, answers.dataset, answers.model, judged)


def _joined(suite: Suite[Any], name: str, frame: pl.DataFrame, rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Add the columns of a suite's own table; refuse a table with a repeated key, whose items would count twice."""
    joined = frame.join(_narrow(rows), on=key, how="left", maintain_order="left")
    if joined.height > frame.height:
        first = rows.filter(pl.struct(key).is_duplicated()).row(0, named=True)
        said = ", ".join(f"{column} {first[column]}" for column in key)
        raise AlmanacError(
            f"suite {suite.name}: table {name}: more than one row for {said}; only of='free' allows that"
        )
    return joined


def concatenated(judged: Mapping[str, Mapping[str, Judged]]) -> dict[str, Judged]:
    """Return the items on several datasets as one table per model, for the models that were asked on all of them.

    Args:
        judged: the judged items, by dataset and model.

    Returns:
        By model, its items, with numbers that go on from dataset to dataset, and the additional column ``dataset``.
        Facts and subjects of two datasets are never the same.
    """
    models = [name for name in next(iter(judged.values()), {}) if all(name in own for own in judged.values())]
    found = {}
    for model in models:
        parts, first = [], 0
        for dataset, own in judged.items():
            frame = own[model].frame
            apart = pl.col(FACT, SUBJECT).cast(pl.String) + f" of {dataset}"
            frame = frame.with_columns(apart, pl.col("item") + first, pl.lit(dataset).alias("dataset"))
            parts.append(frame.with_columns(pl.col(FACT, SUBJECT, "dataset").cast(pl.Categorical)))
            first += frame["item"].n_unique()
        found[model] = replace(own[model], dataset="", frame=pl.concat(parts))
    return found


def check_names(suite: Suite[Any]) -> None:
    """Refuse a suite with two columns of the same name: metrics would be grouped by the wrong one.

    Raises:
        AlmanacError: naming the column and where else it is.
    """
    if taken := [name for name in suite.own if name in BATCH]:
        raise AlmanacError(f"suite {suite.name}: table {taken[0]}: every suite has a table of that name; rename it")
    there = dict.fromkeys(EVERY, "every item")
    sources = {"setting": columns(suite.setting)}
    for table, own in suite.own.items():
        if own.of != "free":
            keys = {"item"} if own.of == "item" else {"item", "reading"}
            sources[f"table {table}"] = [name for name in columns(own.row) if name not in keys]
    for where, names in sources.items():
        for name in names:
            if name in there:
                raise AlmanacError(
                    f"suite {suite.name}: {where}: {there[name]} already has a column {name!r}; rename this one"
                )
            there[name] = f"its {where}"


def _items(answers: Answers) -> pl.DataFrame:
    """Return the items of all rounds with the fields of their settings."""
    wanted = ["item", "experiment", *ITEM, "name", "setting"]
    found = pl.concat(
        _narrow(frame) for one in answers.rounds for frame in frames(one.folder / "items.parquet", Item, wanted)
    )
    settings = answers.settings.drop("setting_label").with_columns(pl.col("setting").cast(pl.Categorical))
    return found.join(settings, on="setting", how="left", maintain_order="left").rename(ITEM)


def _facts(data: Data, exposures: pl.DataFrame | None) -> pl.DataFrame:
    """Return facts with subject, object, the popularity bucket of the subject, and the doses of fact and object."""
    facts = _narrow(
        data.frame("facts", Fact, ["fact_id", "subject_id", "object_id", "value"]).select(
            pl.col("fact_id").alias("fact"),
            pl.col("subject_id").alias("subject"),
            pl.coalesce("object_id", "value").alias("object"),
        )
    )
    buckets = data.frame("popularity", Popularity, ["entity_id", "source", "type", "bucket"])
    buckets = buckets.sort("entity_id", "source", "type").unique("entity_id", keep="first", maintain_order=True)
    named = _narrow(buckets.select(pl.col("entity_id").alias("subject"), "bucket"))
    facts = facts.join(named, on="subject", how="left", maintain_order="left")
    if exposures is None:
        return facts.with_columns(pl.lit(None, pl.Int32).alias("dose"), pl.lit(None, pl.Int64).alias("object_dose"))
    doses = exposures.select(pl.col("fact_id").cast(pl.Categorical).alias("fact"), pl.col("dose").cast(pl.Int32))
    facts = facts.join(doses, on="fact", how="left", maintain_order="left")
    return facts.with_columns(pl.col("dose").fill_null(0).cast(pl.Int64).sum().over("object").alias("object_dose"))


def _narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose texts are categories and whose items are counted in four bytes."""
    found = frame.with_columns(pl.col(pl.String).cast(pl.Categorical))
    return found.with_columns(pl.col("item").cast(pl.UInt32)) if "item" in frame.columns else found
