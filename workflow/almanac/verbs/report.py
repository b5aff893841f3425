"""Draw an edition's `page` with tables and figures, or the figures for `print`.

Print what its jobs have `spent`, or why some have `failed`.
"""

import argparse
import csv
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from almanac import tables
from almanac.columns import columns
from almanac.edition.layout import Layout
from almanac.edition.measuring import findings_of
from almanac.frames import frames
from almanac.report import answer
from almanac.report.lines import failed, run_began, spent, validation_lines
from almanac.resources import stored_parameters
from almanac.rows import Measure, Response, Validation

EXAMPLES = """\
  python -m almanac report page --edition results/demo      # results/demo/report.html
  python -m almanac report print --edition results/demo     # results/demo/print/*.png and *.pdf
  python -m almanac report spent --edition results/demo"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="WHAT")
    for name, summary in (
        ("page", "tables/, figures/ and report.html"),
        ("print", "print/: the page's figures as PNG and PDF"),
        ("spent", "wall and CPU seconds of every rule, from its logs"),
        ("failed", "the last lines of the logs of jobs that failed in the last run"),
        ("after", "what is printed after a run: the validation, what was spent, what was found, and where the page is"),
    ):
        part = things.add_parser(name, help=summary)
        part.add_argument("--edition", type=Path, required=True, metavar="FOLDER", help="results/EDITION")


def run(arguments: argparse.Namespace) -> int:
    """Report the thing that is asked for."""
    layout = Layout.bare(arguments.edition)
    if arguments.thing == "page":
        report_page(Layout.open(arguments.edition))
    elif arguments.thing == "print":
        report_print(Layout.open(arguments.edition))
    elif arguments.thing == "failed":
        print(failed(layout.logs(), run_began(Path())))
    else:
        table = layout.validation()
        if arguments.thing == "after" and table.is_file() and (rows := tables.read(table, Validation)):
            print(validation_lines(rows), end="\n\n")
        print(spent(layout.logs()))
        if arguments.thing == "after" and layout.page().is_file():
            found = findings_of(Layout.open(arguments.edition))
            if found:
                print("", answer.markdown(found), "", *answer.sentences(found), sep="\n")
            print(f"\n{layout.page()}")
    return 0


def report_page(layout: Layout) -> None:
    """Write tables, figures and the page."""
    from almanac.report import drawing, page  # drawing is not loaded only to print seconds
    from almanac.report.chapters import chapters, with_facts
    from almanac.report.items import items
    from almanac.report.written import reference, write_table

    validation = sorted(tables.read(layout.validation(), Validation), key=lambda row: (not row.judged, row.model))
    found, measures = chapters(layout)
    every = [row for own in measures.values() for row in own]
    carried, facts = items(layout, measures, findings_of(layout, every))
    found = with_facts(found, facts)
    write_csv(layout.shown("tables") / "measures.csv", Measure, every)
    shown = {"findings" if name == "answer-findings" else name: table for name, table in page.tables_of(found)}
    for name, table in shown.items():
        write_table(table, layout.shown("tables"), name)
    with tables.atomic(layout.shown("tables") / "columns.md") as temporary:
        temporary.write_text(reference(shown, {"measures": Measure, "validation": Validation}), encoding="utf-8")
    write_csv(layout.shown("tables") / "validation.csv", Validation, validation)
    gc.freeze()  # a drawing makes many objects, and what has been read so far need not be looked through each time
    vectors = {name: drawing.svg(figure) for name, figure in page.figures(found, list(layout.config.participants()))}
    folder = layout.shown("figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, vector in vectors.items():
        (folder / f"{name}.svg").write_text(vector, encoding="utf-8")
    models = list(model_rows(layout))
    text = page.render(layout.config, found, validation, vectors, carried, models)
    with tables.atomic(layout.page()) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{layout.page()}: {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)


def report_print(layout: Layout) -> None:
    """Write the page's figures as PNG and PDF."""
    from almanac.report import drawing, page
    from almanac.report.chapters import chapters

    for path in drawing.write_print(
        page.figures(chapters(layout)[0], list(layout.config.participants())), layout.shown("print")
    ):
        print(path)


def write_csv(path: Path, row_type: type, rows: Sequence[Any]) -> None:
    """Write rows as CSV, a column a field, lists joined by semicolons."""
    names = columns(row_type)
    with tables.atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            cells = (getattr(row, name) for name in names)
            writer.writerow("; ".join(cell) if isinstance(cell, tuple) else cell for cell in cells)


def model_rows(layout: Layout) -> Iterator[Mapping[str, Any]]:
    """Yield who was asked: name, origin, size, and the digest and engine that their responses carry."""
    digests: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for asking in layout.config.asked():
        for one in map(layout.files, layout.steps(asking)):
            for path in one.responses:
                for frame in frames(path, Response, ["model_digest", "engine", "status"]):
                    made = frame.filter(pl.col("status") == "ok").unique(maintain_order=True)
                    digests[one.answerer] |= {(digest, engine) for digest, engine, _ in made.iter_rows()}
    for participant in layout.config.participants().values():
        model = participant.model
        origin = f"planted in {participant.world}" if participant.world else f"{model.hub}@{model.revision}"
        if model.path is not None:
            origin = f"directory {Path(model.path).name}"  # its name alone: where it lies is nobody else's concern
        if model.api is not None:
            origin = f"{model.api_model or 'the model'} at {model.api}"
        own = sorted(digests[participant.name])
        parameters = stored_parameters(Path(model.path or layout.model(participant.name)))
        yield {
            "name": participant.name,
            "origin": origin,
            "parameters": f"{parameters / 1e6:.2f} M" if parameters else "–",
            "engine": ", ".join(dict.fromkeys(engine for _, engine in own)) or "nothing",
            "digest": ", ".join(dict.fromkeys(digest for digest, _ in own)) or "–",
        }
