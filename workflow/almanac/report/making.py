"""An edition's report: its tables and figures as files, and the page that shows them."""

import csv
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from almanac import tables
from almanac.columns import columns
from almanac.edition.layout import Layout
from almanac.edition.measuring import findings_of
from almanac.frames import frames
from almanac.report import drawing, page
from almanac.report.asked import facts_asked
from almanac.report.chapters import chapters, with_facts
from almanac.report.evidence import MOST, EvidenceFiles, emptied
from almanac.report.items import items
from almanac.report.written import reference, summary, write_table
from almanac.rows import KINDS, Measure, Response, Standing, Validation
from almanac.suites.chapter import Table

SUMMARY = "answer", "course", "compared", "recovered"  # the chapters in summary.md
MADE = 50_000  # garbage collection threshold while drawing: a sixth less time for 12 MiB more memory


def report_page(layout: Layout) -> None:
    """Write tables, figures and the page.

    An existing page is removed first, since a page vouches for the files next to it.
    """
    validation = sorted(
        tables.read(layout.between("validation"), Validation), key=lambda row: (not row.judged, row.model)
    )
    found, measures = chapters(layout)
    layout.page().unlink(missing_ok=True)
    for one in ("tables", "figures"):
        emptied(layout.shown(one))
    every = [row for own in measures.values() for row in own]
    evidence = EvidenceFiles(layout.shown("items"))
    told, facts = items(layout, evidence, measures, findings_of(layout, every))
    found = with_facts(found, facts)
    write_csv(layout.shown("tables") / "measures.csv", Measure, every)
    shown = {"findings" if name == "answer-findings" else name: table for name, table in page.tables_of(found)}
    whole = shown | {"findings": with_unadjusted(shown["findings"])}
    for name, table in shown.items():
        write_table(table, layout.shown("tables"), name, whole[name])
    summed = {one.anchor: one.chapter for one in found if one.anchor in SUMMARY}
    tables.write_text(layout.shown("tables") / "summary.md", summary(summed))
    rows = {"measures": Measure, "validation": Validation, "standings": Standing}
    tables.write_text(layout.shown("tables") / "columns.md", reference(whole, rows))
    write_csv(layout.shown("tables") / "validation.csv", Validation, validation)
    write_csv(layout.shown("tables") / "standings.csv", Standing, tables.read(layout.between("standings"), Standing))
    usual = gc.get_threshold()
    gc.freeze()  # drawing creates many objects: without this each collection would scan all data read so far
    gc.set_threshold(MADE)
    vectors = {name: drawing.svg(figure) for name, figure in page.figures(found, page.looks(layout.config))}
    gc.set_threshold(*usual)
    folder = layout.shown("figures")
    for name, vector in vectors.items():
        (folder / f"{name}.svg").write_text(vector, encoding="utf-8")
    models = list(model_rows(layout))
    parts = (layout.config, found, validation, vectors, told, evidence, models, facts_asked(layout))
    text = page.render(*parts)
    if not evidence.files and len(text.encode()) > MOST:
        evidence.write()
        text = page.render(*parts)
    drawn = sorted(path.relative_to(layout.root).as_posix() for path in layout.drawn() if path != layout.page())
    tables.write_text(layout.drawn_list(), "".join(f"{name}\n" for name in drawn))
    tables.write_text(layout.page(), text)
    aside = f", and {evidence.files} files next to it, {evidence.size / 1e6:.1f} MB" if evidence.files else ""
    print(f"{layout.page()}: {len(text.encode()) / 1e6:.1f} MB{aside}", file=sys.stderr)


def with_unadjusted(findings: Table) -> Table:
    """Return the table of methods with each row's unadjusted p-value added; the page has only the adjusted one."""
    rows = [
        (*row, next((cell.p for cell in row if isinstance(cell, Measure) and cell.p is not None), None))
        for row in findings.rows
    ]
    return replace(findings, head=(*findings.head, "p_unadjusted"), rows=rows)


def write_csv(path: Path, row_type: type, rows: Sequence[Any]) -> None:
    """Write rows as CSV, one column for each field; lists are joined by semicolons."""
    names = columns(row_type)
    with tables.atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            cells = (getattr(row, name) for name in names)
            writer.writerow("; ".join(cell) if isinstance(cell, tuple) else cell for cell in cells)


def model_rows(layout: Layout) -> Iterator[Mapping[str, Any]]:
    """Yield, for each model, name, origin, size, and the digest and engine stated in its responses."""
    digests: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for one in layout.every_round():
        for path in one.responses:
            for frame in frames(path, Response, ["model_digest", "engine", "status"]):
                made = frame.filter(pl.col("status") == "ok").unique(maintain_order=True)
                digests[one.answerer] |= {(digest, engine) for digest, engine, _ in made.iter_rows()}
    for participant in layout.config.participants().values():
        model = participant.model
        origin = f"{model.hub}@{model.revision}"
        if model.planted is not None:
            control = ", a control whose objects are exchanged" if model.planted.permuted else ""
            origin = f"planted in {participant.world}{control}: read {', '.join(model.planted.kinds)}"
        if model.path is not None:
            origin = f"directory {Path(model.path).name}"  # only its name: folders are private
        if model.api is not None:
            origin = f"{model.api_model or 'the model'} at {model.api}"
            if "generate" in (model.kinds or KINDS):
                origin += f", which writes by {model.api_generate_with}"
        if model.thinking_tokens:
            origin += f"; may think with at most {model.thinking_tokens:,} tokens"
        made_by = sorted(digests[participant.name])
        parameters = layout.parameters(participant.name)
        yield {
            "name": participant.name,
            "origin": origin,
            "parameters": f"{parameters / 1e6:.2f} M" if parameters else "–",
            "engine": ", ".join(dict.fromkeys(engine for _, engine in made_by)) or "nothing",
            "digest": ", ".join(dict.fromkeys(digest for digest, _ in made_by)) or "–",
        }
