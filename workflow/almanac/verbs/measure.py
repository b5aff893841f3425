"""Turn responses into outcomes and numbers; `validation` holds them against what planted models were taught."""

import argparse
import sys
from pathlib import Path

from almanac import tables
from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.remeasure import outcomes_and_measures, planted_runs
from almanac.report.lines import validation_lines
from almanac.rows import Measure, Outcome, Validation
from almanac.suites.ic_lke.validation import validate

EXAMPLES = """\
  python -m almanac measure ic_lke --edition results/demo --model base --dataset invented
  python -m almanac measure validation --edition results/demo --strict"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="WHAT")
    ic_lke = suites.add_parser("ic_lke", help="accuracy, probability mass, accuracy@K, recovery")
    ic_lke.add_argument("--model", required=True, help="the model's name in the edition")
    ic_lke.add_argument("--dataset", required=True, help="the dataset's name in the edition")
    validation = suites.add_parser("validation", help="what is recovered of planted knowledge, against the bars")
    validation.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    for part in (ic_lke, validation):
        part.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")


def run(arguments: argparse.Namespace) -> int:
    """Measure one model on one dataset, or validate the edition."""
    layout = Layout.open(arguments.edition)
    if arguments.suite == "validation":
        return _validation(layout, arguments.strict)
    asking = Asking(arguments.model, arguments.suite, arguments.dataset)
    outcomes, measures = outcomes_and_measures(layout, asking)
    tables.write(layout.outcomes(asking), Outcome, outcomes)
    tables.write(layout.measures(asking), Measure, measures)
    print(f"{len(outcomes)} outcomes, {len(measures)} measures", file=sys.stderr)
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
