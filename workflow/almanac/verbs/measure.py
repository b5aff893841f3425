"""Turn responses into outcomes and measures: for a `model` of an edition, `across` its models, or for single files."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from almanac import tables, unfinished
from almanac.config import given
from almanac.config.inputs import carried_digests
from almanac.edition.asking import write_asked
from almanac.edition.layout import BETWEEN, CARRIED, PARAMETERS, Layout
from almanac.edition.measuring import bar_results, judge, measure, measure_across, measure_model
from almanac.errors import AlmanacError, nearest
from almanac.frames import frames
from almanac.options import FILE, FOLDER, add_flags, from_flags
from almanac.progress import progress
from almanac.report.lines import measure_lines, standing_lines, validation_lines
from almanac.rows import Fact, Item, Measure, Outcome, Response
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.data import Data
from almanac.suites.judged import conditions_of
from almanac.suites.listing import SUITES
from almanac.suites.suite import Suite

EXAMPLES = """\
  almanac measure model --edition results/demo --model base
  almanac measure across --edition results/demo --strict
  almanac measure karr --asked mine/asked --responses mine/responses-0.parquet --output mine/measured
  almanac measure karr --facts results/mine/dataset/shipped --spurious true \\
      --asked mine/asked --responses mine/first.parquet \\
      --asked mine/expected --responses mine/second.parquet --output mine/measured      # two rounds
  almanac measure facteval --answers answers.jsonl --modes paper --output mine/measured"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    what = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    model = what.add_parser("model", help="a model of an edition, on every suite and dataset that it was asked")
    model.add_argument("--model", required=True, metavar="NAME", help="its name in the edition")
    across = what.add_parser("across", help="comparisons of models, and the recovery of planted knowledge")
    across.add_argument("--strict", action="store_true", help="exit with 1 if a bar of the validation is missed")
    for part in (model, across):
        part.add_argument("--edition", **FOLDER, required=True, help="results/EDITION")
        part.add_argument("--settings", metavar="JSON", help="its configuration, if not the recorded one")
    for name, suite in SUITES.items():
        part = what.add_parser(name, help=f"from files, without an edition: {suite.summary}")
        origin = part.add_mutually_exclusive_group(required=True)
        origin.add_argument("--asked", **FOLDER, action="append", help="what `ask` wrote; once per round, in order")
        if suite.reads == "answers":
            origin.add_argument("--answers", **FILE, help="instead: a table of questions and answers")
        answered = "what `answer` wrote; after each --asked"
        part.add_argument("--responses", **FILE, nargs="+", action="append", help=answered)
        part.add_argument("--facts", **FOLDER, help="the dataset that was asked, for measures by its properties")
        part.add_argument("--output", **FOLDER, required=True, help="where the tables go")
        part.add_argument("--model", default="model", metavar="NAME", help="the model's name in the tables [model]")
        part.add_argument("--dataset", default="dataset", metavar="NAME", help="the dataset's name there [dataset]")
        add_flags(part, suite.options, f"{name}, as it was asked")


def run(arguments: argparse.Namespace) -> int:
    """Measure what the command line names."""
    if arguments.what == "model":
        return _model(_layout(arguments), arguments.model)
    if arguments.what == "across":
        return _across(_layout(arguments), arguments.strict)
    suite = SUITES[arguments.what]
    options = from_flags(arguments, suite.options)
    if getattr(arguments, "answers", None) is not None:
        return _elsewhere(suite, options, arguments)
    answers = _answers(suite, options, arguments)
    rows = _measured(suite, options, answers, _data(arguments.facts, answers), arguments.output)
    print(f"{answers.count} items, {len(rows)} measures", file=sys.stderr)
    return 0


def _layout(arguments: argparse.Namespace) -> Layout:
    folder, settings = arguments.edition, arguments.settings
    return Layout.open(folder) if settings is None else Layout(folder, given(settings))


def _model(layout: Layout, model: str) -> int:
    """Judge and measure a model's answers to every suite and dataset of an edition."""
    asked = list(dict.fromkeys(asking.model for asking in layout.config.asked()))
    if model not in asked:
        meant = nearest(Path(model), map(Path, asked))
        raise AlmanacError(f"--model: {layout.root} asks no model {model!r}{meant} (it asks {', '.join(asked)})")
    for asking, count in measure_model(layout, model):
        result = "kept: its inputs have not changed" if count is None else f"{count} measures"
        print(f"{asking.suite} of {asking.dataset}: {result}", file=sys.stderr)
    return 0


def _across(layout: Layout, strict: bool) -> int:
    """Compare models and print the validation; return 1 if ``strict`` and a bar is missed or nothing was validated."""
    found = measure_across(layout)
    metadata = {CARRIED: " ".join(carried_digests(layout.config)), PARAMETERS: tables.canonical(layout.sizes())}
    for table, rows in found.items():
        tables.write(layout.between(table), BETWEEN[table], rows, metadata if table == "across" else None)
    print(f"{len(found['across'])} measures that compare models", file=sys.stderr)
    validation = found["validation"]
    verdicts = list(bar_results(layout))
    if validation or not verdicts:
        print(validation_lines(validation))
    if found["standings"]:
        print(standing_lines(found["standings"]))
    for what, one in verdicts:
        verdict = "meets the bar" if one.met else "misses the bar"
        print(f"{what}, {one.found}: {verdict}")
    if strict and not verdicts and not any(row.judged for row in validation):
        print("no planted decoder was asked about its world: nothing is validated")
        return 1
    return int(strict and (any(row.failed for row in validation) or not all(one.met for _, one in verdicts)))


def _answers(suite: Suite[Any], options: Any, arguments: argparse.Namespace) -> Answers:
    """Return the requests and responses from the files on the command line."""
    wanted, folders, responses = suite.rounds_of(options), arguments.asked, arguments.responses or []
    if len(folders) != len(wanted) or len(responses) != len(wanted):
        raise AlmanacError(
            f"measure {suite.name}: these settings want {len(wanted)} rounds "
            f"({', '.join(one.name for one in wanted)}); "
            f"--asked is given {len(folders)} times and --responses {len(responses)} times; give both once per round"
        )
    rounds = [
        RoundFiles.of(at.name, folder, own, at.answered_by or "")
        for at, folder, own in zip(wanted, folders, responses, strict=True)
    ]
    _check_model(suite.name, [one for one in rounds if not one.answerer])
    return Answers(arguments.model, arguments.dataset, rounds, suite.setting, suite.tables("asked"))


def _check_model(suite: str, rounds: Sequence[RoundFiles]) -> None:
    """Refuse responses of several models, since all rounds and shards are measured as those of one model."""
    found: dict[str, Path] = {}
    for path in (path for one in rounds for path in one.responses):
        for frame in frames(path, Response, ["status", "model_digest"]):
            for status, digest in frame.unique().iter_rows():
                if status == "ok" and digest:
                    found.setdefault(digest, path)
    if len(found) > 1:
        listed = ", ".join(f"{path} (of {digest[:12]}…)" for digest, path in found.items())
        raise AlmanacError(
            f"measure {suite}: the responses are of {len(found)} models: {listed}; give those of one, to all rounds"
        )


def _data(folder: Path | None, answers: Answers) -> Data:
    """Return the dataset that was asked; without its folder, a dataset with the ids of the facts and relations only."""
    if folder is not None:
        return Data(folder)
    asked: dict[str, str] = {}
    for one in answers.rounds:
        for frame in frames(one.folder / "items.parquet", Item, ["fact_id", "relation_id"]):
            asked |= {fact: relation for fact, relation in frame.unique().iter_rows() if fact is not None}
    facts = [Fact(fact, relation, fact, None, "", None, None, (), None, "") for fact, relation in asked.items()]
    return Data.of(facts=facts)


def _measured(
    suite: Suite[Any], options: Any, answers: Answers, data: Data, folder: Path, some_items: bool = False
) -> list[Measure]:
    """Judge and measure answers, and write every table as Parquet and as JSON Lines."""
    judge(suite, options, answers, data, folder, some_items)
    rows = measure(suite, options, answers, data, folder)
    tables.write(folder / "measures.parquet", Measure, rows)
    written = {"outcomes": Outcome, "measures": Measure, **suite.tables("judged")}
    for name, row in written.items():
        tables.write_jsonl(folder / f"{name}.jsonl", tables.read(folder / f"{name}.parquet", row))
    return rows


def _elsewhere(suite: Suite[Any], options: Any, arguments: argparse.Namespace) -> int:
    """Measure answers from a table, one output folder per model; print the measures over all relations."""
    found = suite.elsewhere(arguments.answers, options)
    folders = {model: re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model" for model in found.responses}
    if len(set(folders.values())) < len(folders):
        twice = ", ".join(name for name, folder in folders.items() if [*folders.values()].count(folder) > 1)
        raise AlmanacError(f"{arguments.answers}: the models {twice} would share a folder; rename all but one")
    with unfinished.folder() as folder:
        write_asked(folder, found.batches, suite.tables("asked"), 1)
        with progress(len(found.responses), "models") as done:
            for model, responses in found.responses.items():
                path = folder / "responses.parquet"
                tables.write(path, Response, responses)
                rounds = [RoundFiles.of(suite.rounds[0].name, folder, [path], model)]
                answers = Answers(model, arguments.dataset, rounds, suite.setting, suite.tables("asked"))
                output = arguments.output if len(found.responses) == 1 else arguments.output / folders[model]
                rows = _measured(suite, options, answers, found.data, output, some_items=True)
                print(measure_lines(row for row in rows if "relation" not in conditions_of(row)))
                done()
    return 0
