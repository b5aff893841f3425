"""Turn responses into outcomes and numbers; `validation` holds them against what planted models were taught."""

import argparse
import sys
from pathlib import Path

from almanac import tables
from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.remeasure import karr_measured, measured, planted_runs
from almanac.errors import AlmanacError
from almanac.options import add_flags, from_flags
from almanac.report.lines import validation_lines
from almanac.rows import (
    Draw,
    Fact,
    Item,
    KarrLeaf,
    KarrValue,
    Link,
    Measure,
    Outcome,
    Request,
    Response,
    Validation,
)
from almanac.suites.karr.judging import Answers
from almanac.suites.karr.options import KarrOptions
from almanac.suites.validation import validate

EXAMPLES = """\
  python -m almanac measure ic_lke --edition results/demo --model base --dataset invented
  python -m almanac measure karr --edition results/demo --model base --dataset invented
  python -m almanac measure karr --requests mine/requests --responses mine/responses-0.parquet --output mine/measured
  python -m almanac measure validation --edition results/demo --strict"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="WHAT")
    ic_lke = suites.add_parser("ic_lke", help="accuracy, probability mass, accuracy@K, recovery")
    karr = suites.add_parser("karr", help="KaRR of every fact, thresholds, baselines, recovery; or of given draws")
    karr.add_argument("--requests", type=Path, metavar="FOLDER", help="instead of an edition: what `ask karr` wrote")
    karr.add_argument("--responses", type=Path, nargs="+", metavar="FILE", help="with --requests: what `answer` wrote")
    karr.add_argument("--output", type=Path, metavar="FOLDER", help="with --requests: where the tables go")
    karr.add_argument("--edition", type=Path, metavar="FOLDER", help="results/EDITION")
    ic_lke.add_argument("--model", required=True, help="the model's name in the edition")
    ic_lke.add_argument("--dataset", required=True, help="the dataset's name in the edition")
    karr.add_argument("--model", default="model", help="the model's name in the edition, or any name [model]")
    karr.add_argument("--dataset", default="draws", help="the dataset's name in the edition, or any name [draws]")
    add_flags(karr, KarrOptions, "KaRR, with --requests (of these the thresholds are read)")
    validation = suites.add_parser("validation", help="what is recovered of planted knowledge, against the bars")
    validation.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    for part in (ic_lke, validation):
        part.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")


def run(arguments: argparse.Namespace) -> int:
    """Measure one model on one dataset, or validate the edition."""
    if arguments.suite == "karr" and arguments.requests is not None:
        return _given(arguments)
    if arguments.edition is None:
        raise AlmanacError("measure karr: needs --edition, or --requests with --responses and --output")
    layout = Layout.open(arguments.edition)
    if arguments.suite == "validation":
        return _validation(layout, arguments.strict)
    asking = Asking(arguments.model, arguments.suite, arguments.dataset)
    found = measured(layout, asking)
    tables.write(layout.outcomes(asking), Outcome, found.outcomes)
    tables.write(layout.measures(asking), Measure, found.measures)
    if asking.suite == "karr":
        tables.write(layout.beside_outcomes(asking, "values"), KarrValue, found.values)
        tables.write(layout.beside_outcomes(asking, "leaves"), KarrLeaf, found.leaves)
    print(f"{len(found.outcomes)} outcomes, {len(found.measures)} measures", file=sys.stderr)
    return 0


def _given(arguments: argparse.Namespace) -> int:
    """Measure KaRR of requests and responses that belong to no edition; print every fact's values."""
    if not arguments.responses or arguments.output is None:
        raise AlmanacError("measure karr: --requests needs --responses and --output; give both")
    folder, out = arguments.requests, arguments.output
    items = tables.read(folder / "items.parquet", Item)
    answers = Answers.of(
        arguments.model,
        tables.read(folder / "links.parquet", Link),
        tables.read(folder / "draws.parquet", Draw),
        [row for path in sorted(folder.glob("requests-*.parquet")) for row in tables.read(path, Request)],
        [row for path in arguments.responses for row in tables.read(path, Response)],
    )
    # Nothing is read of these facts but which ones there are.
    facts = [
        Fact(item.fact_id, item.relation_id, item.fact_id, None, "", None, None, (), None, arguments.dataset)
        for item in items
    ]
    found = karr_measured(answers, items, arguments.dataset, from_flags(arguments, KarrOptions), facts, None)
    for name, row, rows in (
        ("outcomes", Outcome, found.outcomes),
        ("measures", Measure, found.measures),
        ("values", KarrValue, found.values),
        ("leaves", KarrLeaf, found.leaves),
    ):
        tables.write(out / f"{name}.parquet", row, rows)
    tables.write_jsonl(out / "values.jsonl", found.values)
    tables.write_jsonl(out / "leaves.jsonl", found.leaves)
    without = sum(row.karr is None for row in found.values)
    print(f"{len(found.values)} values, {without} of them none, {len(found.leaves)} leaves", file=sys.stderr)
    return 0


def _validation(layout: Layout, strict: bool) -> int:
    rows = validate(planted_runs(layout), layout.config.validation)
    tables.write(layout.validation(), Validation, rows)
    print(validation_lines(rows))
    failed = [row for row in rows if row.failed]
    if strict and not any(row.judged for row in rows):
        print("no planted decoder was asked of its world: nothing is validated")
        return 1
    return int(strict and bool(failed))
