"""A grid of facts × names × templates, for `benchmarks.tables`: what it asks, and each step as a process of its own.

`python -m benchmarks.grid STEP FOLDER` does one step. The questions are blanks to fill, as many a fact as there are
names of its subject times templates. `facts` makes the edition in the folder, and `answer` writes responses of the
right form in a model's stead; all else is done by what editions are made with.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from almanac import tables
from almanac.columns import schema
from almanac.frames import frames
from almanac.rows import (
    Context,
    Exposure,
    Fact,
    Item,
    Link,
    Measure,
    NotAsked,
    Popularity,
    Relation,
    Request,
    Response,
)
from almanac.suites import listing
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.judged import Judged
from almanac.suites.options import SuiteOptions
from almanac.suites.suite import Judgements, Round, Suite
from almanac.versions import MAKER

NAMES = ("", "the elder", "of the hills")  # that a subject goes by
TEMPLATES = 87  # of a relation
GROUP = 5  # templates that share a setting
EACH = len(NAMES) * TEMPLATES  # requests of a fact
RELATIONS = 41
OBJECTS = 300
DOSES = (0, 4, 16, 64)
AT_ONCE = 200  # facts that are asked together
SEED = 13


class GridOptions(SuiteOptions):
    """There is nothing to set."""

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about."""
        return facts * relations * EACH * 20


class GridSetting(NamedTuple):
    """Which templates word it."""

    group: int


class Grid(Suite[GridOptions]):
    """Each fact by every name of its subject and every template."""

    name = "grid"
    label = "Grid"
    summary = "fill the blank of every fact, name and template"
    options = GridOptions
    setting = GridSetting

    def ask(self, at: Round, data: Data, options: GridOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the facts, some at a time, as columns."""
        settings = Asked()
        named = [settings.setting(GridSetting(number)) for number in range(TEMPLATES // GROUP + 1)]
        wordings = pl.DataFrame({"name": NAMES}).join(pl.DataFrame({"wording": range(TEMPLATES)}), how="cross")
        facts = data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id"])
        for first in range(0, facts.height, AT_ONCE):
            asked = facts[first : first + AT_ONCE].join(wordings, how="cross")
            words = ("wording", "relation_id", "subject_id", "name")
            text = pl.format("Template {} of {} says that {} {} is of [MASK] .", *words)
            asked = asked.with_columns(text=text, item=pl.int_range(pl.len()) + first * EACH)
            yield batch_of(asked, named, settings.take().settings)

    def judge(self, answers: Answers, data: Data, options: GridOptions) -> Iterator[Judgements]:
        """Judge the likeliest token of every blank."""
        facts = data.frame("facts", Fact, ["fact_id", "object_id"]).cast(pl.Categorical)
        likeliest = pl.col("tokens").list.first()
        for part in answers.parts(("fact_id", "status", "tokens", "probabilities")):
            links = part.links.with_columns(pl.col("fact_id").cast(pl.Categorical))
            links = links.join(facts, on="fact_id", how="left", maintain_order="left")
            outcomes = links.select(
                pl.col("item").cast(pl.Int64),
                likeliest.alias("prediction"),
                pl.when(likeliest == pl.col("object_id").cast(pl.String))
                .then(pl.lit("correct"))
                .otherwise(pl.lit("incorrect"))
                .alias("outcome"),
                pl.col("probabilities").list.first().alias("score"),
                pl.col("probabilities").list.first().alias("confidence"),
            )
            yield Judgements(outcomes, {})

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: GridOptions) -> list[Measure]:
        """Compute accuracy by relation, template, group, popularity and dose."""
        rows = judged.measures("accuracy", "macro", "hit") + judged.measures("confidence", "mean", "confidence")
        for by in (("relation",), ("relation", "template"), ("group",), ("name",), ("bucket",), ("dose",)):
            rows += judged.measures("accuracy", "mean", "hit", by=by)
        return rows


def batch_of(asked: pl.DataFrame, named: list[str], settings: pa.Table) -> Batch:
    """Return what is asked: an item, a request and a link a row."""
    ids = [tables.identity({"kind": "fill", "request_id": "", "text": text, "top_k": 1}) for text in asked["text"]]
    asked = asked.with_columns(request_id=pl.Series(ids))
    items = {
        "experiment": pl.lit("fill"),
        "template_id": pl.format("{}/{}", "relation_id", "wording"),
        "setting": pl.col("wording").floordiv(GROUP).replace_strict(dict(enumerate(named)), return_dtype=pl.String),
        "accepted": pl.lit([], pl.List(pl.String)),
    }
    requests = {"kind": pl.lit("fill"), "top_k": pl.lit(1)}
    return Batch(
        _table(Item, asked.with_columns(**items)),
        _table(Link, asked.with_columns(role=pl.lit("blank"))),
        _table(Request, asked.with_columns(**requests)),
        schema(Context).empty_table(),
        settings,
        schema(NotAsked).empty_table(),
        {},
    )


def _table(row: type, frame: pl.DataFrame) -> pa.Table:
    """Return the columns of a row class; those that a frame lacks have no value."""
    fields = schema(row)
    found = frame.select(name for name in fields.names if name in frame.columns).to_arrow()
    columns = [
        found.column(field.name).cast(field.type)
        if field.name in found.schema.names
        else pa.nulls(len(found), field.type)
        for field in fields
    ]
    return pa.Table.from_arrays(columns, schema=fields)


# The steps, each in an edition's folder


def facts(folder: Path, count: int) -> None:
    """Write an edition of one dataset, by which as many requests are made, and what else of it is not measured."""
    from almanac.edition.layout import BETWEEN, DATASET_TABLES, Layout

    numbers = range(count // EACH)
    names = [f"P{number % RELATIONS}" for number in numbers]
    rows: dict[str, list[Any]] = {table: [] for table in DATASET_TABLES}
    rows["relations"] = [Relation(f"P{number}", f"relation {number}", *[None] * 4) for number in range(RELATIONS)]
    rows["facts"] = [
        Fact(f"{name}|Q{number}", name, f"Q{number}", f"o{number % OBJECTS}", None, None, None, (), "test", "grid")
        for number, name in zip(numbers, names, strict=True)
    ]
    rows["popularity"] = [
        Popularity(f"Q{number}", "grid", "links", number, ("head", "torso", "tail")[number % 3]) for number in numbers
    ]
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "edition": "grid",
        "planting": {"worlds": {"grid": {}}},
        "datasets": {"grid": {"world": "grid"}},
        "suites": {"grid": {"grid": {}}},
        "models": [{"name": "m", "planted": {}}],
        "shards": 1,
    }
    (folder / "edition.json").write_text(json.dumps(config))
    layout = Layout.open(folder)
    for table, row in DATASET_TABLES.items():
        tables.write(layout.dataset("grid", table), row, rows[table])
    [asking] = layout.config.asked()
    doses = [Exposure(fact.fact_id, DOSES[at % len(DOSES)]) for at, fact in enumerate(rows["facts"])]
    tables.write(str(layout.exposures(asking)), Exposure, doses)
    for path, row in layout.facts_tables().items():
        tables.write(path, row, {**rows, "exposures": doses}.get(path.stem, []))
    for table, row in BETWEEN.items():
        tables.write(layout.between(table), row, [])
    layout.page().write_text(f'<meta name="generator" content="{MAKER}">a page')


def ask(folder: Path) -> None:
    """Ask."""
    from almanac.cli import main

    words = ["--dataset", str(folder / "dataset" / "grid"), "--output", str(folder / "requests/grid/grid/asked/all")]
    assert main(["ask", "grid", *words]) == 0


def answer(folder: Path) -> None:
    """Write a response to every request: a token drawn by its number."""
    from almanac.edition.layout import Layout

    layout = Layout.open(folder)
    [asking] = layout.config.asked()
    files = layout.rounds(asking)[0]
    draw = np.random.default_rng(SEED)
    digest = hashlib.sha256(b"m").hexdigest()
    for requests, responses in zip(files.requests, files.responses, strict=True):
        with tables.writing(responses, Response, {"almanac.model": digest}) as writer:
            for asked in frames(requests, Request, ["request_id"]):
                token = pl.Series(draw.integers(0, OBJECTS, asked.height))
                share = pl.Series(draw.random(asked.height))
                found = asked.with_columns(
                    status=pl.lit("ok"),
                    tokens=pl.concat_list("o" + token.cast(pl.String)),
                    probabilities=pl.concat_list(share),
                    model_digest=pl.lit(digest),
                    engine=pl.lit("none"),
                )
                writer.add(_table(Response, found))


def judge(folder: Path) -> None:
    """Judge."""
    from almanac.edition import measuring
    from almanac.edition.layout import Layout

    layout = Layout.open(folder)
    [asking] = layout.config.asked()
    data, path = layout.data(asking.dataset), layout.judged(asking, "outcomes")
    measuring.judge(listing.SUITES["grid"], layout.options(asking), layout.answers(asking), data, path.parent)


def measure(folder: Path) -> None:
    """Measure what was judged."""
    from almanac.edition import measuring
    from almanac.edition.layout import Layout

    layout = Layout.open(folder)
    [asking] = layout.config.asked()
    suite, options, path = listing.SUITES["grid"], layout.options(asking), layout.judged(asking, "outcomes")
    found = measuring.measure(suite, options, layout.answers(asking), layout.data(asking.dataset), path.parent)
    tables.write(layout.measures(asking), Measure, found, {measuring.PART: measuring.part_of(layout, asking)})


def freeze(folder: Path) -> None:
    """Freeze."""
    from almanac.cli import main

    assert main(["freeze", "--edition", str(folder), "--output", str(folder / "grid.zip")]) == 0


STEPS: Mapping[str, Callable[[Path], None]] = {
    "ask": ask,
    "answer": answer,
    "judge": judge,
    "measure": measure,
    "freeze": freeze,
}


if __name__ == "__main__":
    # Known to this process alone, before a configuration is made of the suites that there are.
    listing.SUITES["grid"] = listing.ASKING["grid"] = Grid()
    if sys.argv[1] == "facts":
        facts(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        STEPS[sys.argv[1]](Path(sys.argv[2]))
