"""Turn responses into outcomes and numbers.

`comparison` puts models side by side, `validation` holds their numbers against what planted models were taught.
"""

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.remeasure import compared, held, measured, planted_runs
from almanac.errors import AlmanacError
from almanac.options import add_flags, from_flags
from almanac.progress import progress
from almanac.report.lines import measure_lines, validation_lines
from almanac.rows import (
    Comparison,
    Fact,
    Item,
    Measure,
    Outcome,
    Question,
    QuestionSimilarity,
    Response,
    Validation,
)
from almanac.sources.records import read
from almanac.suites.method import Answered, Data, Measured, Method
from almanac.suites.methods import METHODS
from almanac.suites.validation import validate

EXAMPLES = """\
  python -m almanac measure ic_lke --edition results/demo --model base --dataset invented
  python -m almanac measure karr --edition results/demo --model base --dataset invented
  python -m almanac measure karr --requests mine/requests --responses mine/responses-0.parquet --output mine/measured
  python -m almanac measure karr --requests mine/round1 --again mine/round2 --facts results/mine/dataset/shipped \\
      --responses mine/first.parquet mine/second.parquet --output mine/measured      # after `ask karr --after`
  python -m almanac measure comparison --edition results/demo
  python -m almanac measure facteval --answers answers.jsonl --modes paper --output mine/measured
  python -m almanac measure validation --edition results/demo --strict"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    suites = parser.add_subparsers(dest="suite", required=True, metavar="WHAT")
    for name, method in METHODS.items():
        part = suites.add_parser(name, help=f"{method.summary}: its numbers")
        origin = part.add_mutually_exclusive_group(required=True)
        origin.add_argument("--edition", type=Path, metavar="FOLDER", help="results/EDITION")
        origin.add_argument("--requests", type=Path, metavar="FOLDER", help="instead: what `ask` wrote")
        if method.given is not None:
            origin.add_argument("--answers", type=Path, metavar="FILE", help="instead: questions and answers, a table")
        if method.ask_again is not None:
            part.add_argument("--again", type=Path, metavar="FOLDER", help="with --requests: what `ask --after` wrote")
        help_text = "with --requests: of `answer`, the first round's before the second's"
        part.add_argument("--responses", type=Path, nargs="+", metavar="FILE", help=help_text)
        part.add_argument("--facts", type=Path, metavar="FOLDER", help="with --requests: the dataset, for its slices")
        part.add_argument("--output", type=Path, metavar="FOLDER", help="without an edition: where the tables go")
        part.add_argument("--model", default="model", help="its name in the edition, or any name [model]")
        part.add_argument("--dataset", default="dataset", help="its name in the edition, or any name [dataset]")
        add_flags(part, method.options, f"{name}, with --requests (an edition has its own)")
    similarity = suites.add_parser("similarity", help="FactEval: questions by a model against those from templates")
    similarity.add_argument("--requests", type=Path, required=True, metavar="FOLDER", help="what `ask facteval` wrote")
    similarity.add_argument(
        "--embedder", type=Path, required=True, metavar="FOLDER", help="a checkpoint, for BERTScore"
    )
    similarity.add_argument("--layer", type=int, metavar="N", help="whose hidden states are compared [the last]")
    similarity.add_argument("--output", type=Path, required=True, metavar="FILE", help="the table")
    validation = suites.add_parser("validation", help="what is recovered of planted knowledge, against the bars")
    validation.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")
    comparison = suites.add_parser("comparison", help="models side by side: board, correlations, subsumption")
    comparison.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")
    validation.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")


def run(arguments: argparse.Namespace) -> int:
    """Measure one model on one dataset, or validate the edition."""
    if arguments.suite == "validation":
        return _validation(Layout.open(arguments.edition), arguments.strict)
    if arguments.suite == "comparison":
        layout = Layout.open(arguments.edition)
        written = tables.write(layout.comparison(), Comparison, compared(layout))
        print(f"{written} numbers between models", file=sys.stderr)
        return 0
    if arguments.suite == "similarity":
        return _similarity(arguments)
    method = METHODS[arguments.suite]
    if arguments.requests is not None:
        return _given(method, arguments)
    if method.given is not None and arguments.answers is not None:
        return _answers(method, method.given, arguments)
    layout = Layout.open(arguments.edition)
    asking = _asked(layout, Asking(arguments.model, arguments.suite, arguments.dataset))
    found = measured(layout, asking)
    tables.write(layout.outcomes(asking), Outcome, found.outcomes)
    tables.write(layout.measures(asking), Measure, found.measures)
    for table, row in method.beside_outcomes.items():
        tables.write(layout.beside_outcomes(asking, table), row, found.beside[table])
    print(f"{len(found.outcomes)} outcomes, {len(found.measures)} measures", file=sys.stderr)
    return 0


def _asked(layout: Layout, asking: Asking) -> Asking:
    """Return what is to be measured if the edition asks it.

    Raises:
        AlmanacError: it does not, naming the first wrong name, the nearest right one and all that are right.
    """
    left = list(layout.config.asked())
    wrong = {
        "suite": "",
        "model": f" of a model {asking.model!r}",
        "dataset": f" of {asking.model} on a dataset {asking.dataset!r}",
    }
    for key, said in wrong.items():
        found, allowed = getattr(asking, key), sorted({getattr(one, key) for one in left})
        if found not in allowed:
            near = "".join(f"did you mean {name!r}? " for name in difflib.get_close_matches(found, allowed, 1))
            raise AlmanacError(
                f"measure {asking.suite}: {layout.root} does not ask it{said}; {near}there are "
                f"{', '.join(allowed) or 'none'}"
            )
        left = [one for one in left if getattr(one, key) == found]
    return asking


def _given(method: Method[Any], arguments: argparse.Namespace) -> int:
    """Measure requests and responses that belong to no edition; write every table as Parquet and as JSON Lines."""
    if not arguments.responses or arguments.output is None:
        raise AlmanacError(f"measure {method.name}: --requests needs --responses and --output; give both")
    options, again = from_flags(arguments, method.options), getattr(arguments, "again", None)
    if options.asks_again and again is None:
        raise AlmanacError(
            f"measure {method.name}: these settings want a second round; give its folder (--again) and the responses "
            "to it, or leave out what wants one"
        )
    _check_model(method.name, arguments.responses)
    folders = [arguments.requests, *([again] if again is not None else [])]
    answered = Answered.read(
        tables.read,
        folders,
        [path for folder in folders for path in sorted(folder.glob("requests-*.parquet"))],
        arguments.responses,
        method.asked_beside,
        model=arguments.model,
        dataset=arguments.dataset,
        data=_data(arguments.facts, tables.read(arguments.requests / "items.parquet", Item)),
    )
    write(method, method.measure(answered, options), arguments.output)
    return 0


def _check_model(suite: str, responses: Sequence[Path]) -> None:
    """Refuse answers of several models: rounds and shards are measured as those of one."""
    found: dict[str, Path] = {}
    for path in responses:
        for batch in tables.stream(path, Response, ["status", "model_digest"]):
            for status, digest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if status == "ok" and digest:
                    found.setdefault(digest, path)
    if len(found) > 1:
        listed = ", ".join(f"{path} (of {digest[:12]}…)" for digest, path in found.items())
        raise AlmanacError(
            f"measure {suite}: the responses are of {len(found)} models: {listed}; give those of one, to all rounds"
        )


def _answers(method: Method[Any], measure: Callable[..., Measured], arguments: argparse.Namespace) -> int:
    """Measure answers that were given elsewhere; print the numbers that speak of all of them."""
    if arguments.output is None:
        raise AlmanacError(f"measure {method.name}: --answers needs --output; name a folder for the tables")
    names, rows = read(arguments.answers)
    found = measure(arguments.answers, names, rows, arguments.dataset, from_flags(arguments, method.options))
    write(method, found, arguments.output)
    print(measure_lines(row for row in found.measures if row.relation_id is None))
    return 0


def _data(folder: Path | None, items: list[Item]) -> Data:
    """Return the dataset that was asked; without it, no more of its facts than which ones there are."""
    if folder is not None:
        return Data.read(lambda name, row: tables.read(folder / f"{name}.parquet", row))
    named = {item.fact_id: item.relation_id for item in items}
    return Data(
        facts=[Fact(fact, relation, fact, None, "", None, None, (), None, "") for fact, relation in named.items()]
    )


def write(method: Method[Any], found: Measured, folder: Path) -> None:
    """Write what was measured outside an edition, and say how much it is."""
    written: dict[str, tuple[type, Any]] = {
        "outcomes": (Outcome, found.outcomes),
        "measures": (Measure, found.measures),
    }
    written |= {name: (row, found.beside[name]) for name, row in method.beside_outcomes.items()}
    for name, (row, rows) in written.items():
        tables.write(folder / f"{name}.parquet", row, rows)
        tables.write_jsonl(folder / f"{name}.jsonl", rows)
    print(", ".join(f"{len(rows)} {name}" for name, (_, rows) in written.items()), file=sys.stderr)


def _similarity(arguments: argparse.Namespace) -> int:
    """Compare the wordings of questions by the embeddings of a model."""
    from almanac.models.embedding import embed  # no other measure needs the packages that models do
    from almanac.suites.facteval.analyses import Similarity, bertscore
    from almanac.suites.facteval.similarity import pairs, similarity

    questions = tables.read(arguments.requests / "questions.parquet", Question)
    found = pairs(tables.read(arguments.requests / "items.parquet", Item), questions)
    texts = sorted({text for pair in found for text in (pair.template, pair.written)})
    with progress(len(texts), "texts") as done:
        embedded = embed(arguments.embedder, texts, arguments.layer, done)

    def compare(written: str, template: str) -> Similarity:
        own, other = embedded[written], embedded[template]
        return bertscore(own.vectors, other.vectors, (own.counted, other.counted))

    count = tables.write(arguments.output, QuestionSimilarity, similarity(found, compare))
    print(f"{len(found)} pairs, {count} rows", file=sys.stderr)
    return 0


def _validation(layout: Layout, strict: bool) -> int:
    rows = validate(planted_runs(layout), layout.config.validation)
    tables.write(layout.validation(), Validation, rows)
    verdicts = list(held(layout))
    if rows or not verdicts:
        print(validation_lines(rows))
    for asking, one in verdicts:
        verdict = "meets the bar" if one.met else "misses the bar"
        print(f"{asking.suite} of {asking.dataset}, {asking.model}, {one.found}: {verdict}")
    if strict and not verdicts and not any(row.judged for row in rows):
        print("no planted decoder was asked of its world: nothing is validated")
        return 1
    return int(strict and (any(row.failed for row in rows) or not all(one.met for _, one in verdicts)))
