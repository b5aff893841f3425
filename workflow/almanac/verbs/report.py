"""Draw an edition's `page` with tables and figures, or the figures for `print`.

Or print the `questions` that are asked, the time that its jobs have `spent`, or the logs of jobs that have `failed`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.measuring import findings_of, measures_of, outdated
from almanac.edition.unpacking import opened
from almanac.errors import AlmanacError, no_such, refuse
from almanac.job_size import USED
from almanac.options import FILE, FOLDER
from almanac.report import answer, asked, sentences
from almanac.report.known import of_relations
from almanac.report.lines import failed, run_began, spent, validation_lines
from almanac.rows import Measure, Validation

EXAMPLES = """\
  almanac report page --edition results/demo      # results/demo/report.html
  almanac report print --edition results/demo     # results/demo/print/*.png and *.pdf
  almanac report print --edition demo-0123456789ab.zip      # demo-0123456789ab-print/
  almanac report questions --edition results/own  # before any model is asked: after a run of the target data
  almanac report spent --edition results/demo"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's flags."""
    things = parser.add_subparsers(dest="thing", required=True, metavar="WHAT")
    for name, summary in (
        ("page", "tables/, figures/ and report.html"),
        ("print", "print/: the page's figures as PNG and PDF; for an archive, in a folder next to it"),
        ("questions", "some of the questions of each suite, of every relation, with the right answers"),
        ("spent", "wall and CPU seconds of every rule, from its logs"),
        ("failed", "the last lines of the logs of jobs that failed in the last run"),
        ("found", "the findings, and where the page is, or that there is none"),
        ("after", "what is printed after a run: the validation, the time spent, the findings, and where the page is"),
    ):
        part = things.add_parser(name, help=summary)
        edition = "results/EDITION, or its archive" if name == "print" else "results/EDITION"
        part.add_argument("--edition", **FOLDER, required=True, help=edition)
        if name in ("found", "after"):
            help_text = "instead of the findings: a file of texts by a model, and how many of them are kept"
            part.add_argument("--written", **FILE, action="append", help=help_text)


def run(arguments: argparse.Namespace) -> None:
    """Report what the command line names."""
    # An edition whose run has failed may have no record yet; the paths of its logs do not depend on it.
    layout = Layout(arguments.edition, EditionConfig(edition="unknown"))
    if arguments.thing != "print" and not layout.root.is_dir():
        raise AlmanacError(no_such(layout.root, "edition"))
    if arguments.thing == "page":
        from almanac.report.making import report_page  # drawing is not loaded only to print seconds

        layout = Layout.open(arguments.edition)
        refuse(outdated(layout, suspected=True))
        report_page(layout)
    elif arguments.thing == "print":
        report_print(arguments.edition)
    elif arguments.thing == "questions":
        print_questions(Layout.open(arguments.edition))
    elif arguments.thing == "failed":
        if text := failed(layout.logs(), run_began(Path())):
            print(text)
    elif arguments.thing == "found":
        print_end(layout, arguments.written)
    else:
        table = layout.between("validation")
        if arguments.thing == "after" and table.is_file() and (rows := tables.read(table, Validation)):
            print(validation_lines(rows), end="\n\n")
        print(spent(layout.logs(), run_began(Path()) if arguments.thing == "after" else 0.0))
        if arguments.thing == "after":
            print_end(layout, arguments.written)


def print_questions(layout: Layout) -> None:
    """Print some of the questions, and which relations and facts are not asked, or only by their labels or ids."""
    if missing := [path for path in layout.questions() if not path.is_file()]:
        raise AlmanacError(
            f'{missing[0]} is not there yet: run the target data first, as in make own … ARGS="-- data", which asks no '
            "model anything"
        )
    print(*asked.questions(layout), *asked.sentences(asked.facts_asked(layout)), sep="\n\n")


def print_end(layout: Layout, written: Sequence[Path] | None) -> None:
    """Print the result of a run: the logs of files that a model has written, or else the findings."""
    for path in written or ():
        log = layout.log(f"write_{path.parent.name}/{path.stem}")
        lines = log.read_text("utf-8").splitlines() if log.is_file() else [str(path)]
        print("", *(line for line in lines if not USED.match(line)), sep="\n")
    if not written:
        print_found(layout)


def print_found(layout: Layout) -> None:
    """Print the headline table in Markdown, its sentences, and the paths of the page and of its archive, if any.

    If there are measures but no page, print how to draw it.
    """
    if layout.page().is_file():
        layout = Layout.open(layout.root)
        measures = measures_of(layout)
        found, between = findings_of(layout, measures), layout.read(layout.between("across"), Measure)
        if layout.config.asked():
            facts = asked.facts_asked(layout)
            relations = list(of_relations(found, measures, facts))
            told = sentences.told(layout, found, measures, between, facts, relations)
            lines = [*told.found, *told.notes, *sentences.of_weights(layout)]
            print(*(["", answer.markdown(found)] if found else []), "", *lines, sep="\n")
        paths = [path for path in map(layout.measures, layout.config.asked()) if path.is_file()]
        newer = any(path.stat().st_mtime > layout.page().stat().st_mtime for path in paths)
        older = " (is older than these numbers; a run without a target draws it again)" if newer else ""
        print(f"\n{layout.page()}{older}")
        frozen = layout.frozen()
        if not newer and frozen.is_file() and frozen.stat().st_mtime >= layout.page().stat().st_mtime:
            print(frozen.read_text(encoding="utf-8").rstrip())
    elif layout.record().is_file():
        layout = Layout.open(layout.root)
        if any(map(Path.is_file, map(layout.measures, layout.config.asked()))):
            print(f"\n{layout.root} has no page of these numbers: a run without a target draws it")


def report_print(edition: Path) -> None:
    """Write the figures of an edition's page as PNG and PDF; those of an archive go to a folder next to it."""
    from almanac.report import drawing, page
    from almanac.report.chapters import chapters

    layout, unpacked = opened(edition)
    folder = layout.shown("print") if unpacked is None else edition.with_name(f"{edition.stem}-print")
    drawn = page.figures(chapters(layout)[0], page.looks(layout.config))
    for path in drawing.write_print(drawn, folder):
        print(path)
