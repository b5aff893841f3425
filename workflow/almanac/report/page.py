"""The page: chapters, numbers and figures in one HTML file that needs no network; equal numbers give an equal page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from almanac import __version__
from almanac.config import EditionConfig
from almanac.edition.citation import cited
from almanac.errors import AlmanacError, noted
from almanac.report.asked import FactsAsked
from almanac.report.drawing import prefixed, style
from almanac.report.evidence import EvidenceFiles
from almanac.report.lines import alone, share, shown
from almanac.report.written import LATEX, SHORT
from almanac.rows import Measure, Validation
from almanac.suites.chapter import Chapter, Drawing, PageLink, Table
from almanac.suites.comparison import OF_ONE
from almanac.suites.headline import method_of
from almanac.suites.listing import SUITES, guessing, method_label
from almanac.suites.looks import COLOURS, GREYS, MARKERS, coloured, look
from almanac.suites.suite import Suite
from almanac.versions import MAKER


@dataclass(frozen=True)
class Page:
    """What the page shows of one suite on one dataset; ``anchor`` is its address and the prefix of its files."""

    anchor: str
    suite: str
    dataset: str
    chapter: Chapter


def looks(config: EditionConfig) -> dict[str, dict[str, Any]]:
    """Return the colour and marker of every model, the same in all figures.

    A planted model has the colour of its recipe. With several worlds the marker shows its world, or that it has none.
    Models that were taught nothing true are grey.
    """
    controls = [one.name for one in config.models if one.control]
    others = [one.name for one in config.models if one.name not in controls]
    everybody, found = config.participants(), {}
    worlds = list(dict.fromkeys(one.world for one in everybody.values() if one.world is not None))
    for name, one in everybody.items():
        grey = one.model.name in controls
        place = (controls if grey else others).index(one.model.name)
        found[name] = look(place)
        if grey:
            found[name]["color"] = GREYS[place % len(GREYS)]
        if len(worlds) > 1:
            world = len(worlds) if one.world is None else worlds.index(one.world)
            again = 0 if grey else place // len(COLOURS) * (len(worlds) + 1)  # another marker for the same colour
            found[name]["marker"] = MARKERS[(world + again) % len(MARKERS)]
    return found


def figures(chapters: Sequence[Page], looks: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Figure]]:
    """Yield every figure with the name of its file, drawn one at a time, with the models' ``looks``."""
    for one in chapters:
        for part in one.chapter.parts:
            if isinstance(part, Drawing):
                yield f"{one.anchor}-{part.name}", _drawn(one, part, looks)


def _drawn(page: Page, part: Drawing, looks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Return a figure; errors name its suite and dataset."""
    where = f"suite {page.suite}: figure {part.name} of {page.dataset}"
    with noted(where), style(), coloured(looks):
        figure = part.draw()
    if not isinstance(figure, Figure):
        raise AlmanacError(f"{where}: its function must return a matplotlib Figure, found {figure!r}")
    return figure


def render(
    config: EditionConfig,
    chapters: Sequence[Page],
    validation: Sequence[Validation],
    vectors: Mapping[str, str],
    items: Mapping[str, Any],
    evidence: EvidenceFiles,
    models: Sequence[Mapping[str, Any]],
    asked: Sequence[FactsAsked],
) -> str:
    """Render the page.

    Args:
        config: the edition.
        chapters: one for each suite and dataset.
        validation: how well planted knowledge is recovered.
        vectors: the figures as SVG, by the names of `figures`.
        items: what the page needs to know of the items behind its numbers (`items.items`).
        evidence: the items.
        models: the models asked: name, origin, parameters.
        asked: the facts of each dataset, asked and left out.
    """
    environment = Environment(
        loader=PackageLoader("almanac.report"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": share,
        "code": in_code,
        "shown": shown,
        "alone": alone,
        "whole": "{:,}".format,
        "method": method_label,
        "guessing": lambda row: guessing(row.suite, row.method, row.chance),
        "paper": lambda name: SUITES[name].paper,
        "heads": row_heads,
        "file_name": lambda path: Path(path).name,  # folders are private
    }
    environment.tests |= {
        "link": lambda cell: isinstance(cell, PageLink),
        "number": lambda cell: isinstance(cell, Measure),
        "table": lambda part: isinstance(part, Table),
        "drawing": lambda part: isinstance(part, Drawing),
    }
    numbers = numbered(chapters)
    environment.filters["place"] = numbers.get
    return environment.get_template("page.html.j2").render(
        config=config,
        datasets={name: config.datasets[name] for name in config.used_datasets()},
        planted=sum(one.model.planted is not None for one in config.participants().values()),
        chapters=chapters,
        validation=validation,
        vectors={name: Markup(prefixed(text, name)) for name, text in vectors.items()},
        data=evidence.data({**items, "numbers": [carried(row) for row in numbers]}),
        evidence=evidence,
        items_root=items["root"],
        models=models,
        asked={one.dataset: one for one in asked},
        cited=cited(config),
        version=__version__,
        maker=MAKER,
        latex=dict(LATEX),
        short=SHORT,
    )


def in_code(text: str) -> Markup:
    """Return a text as HTML in which what stands between backticks is marked as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def row_heads(table: Table) -> int:
    """Return how many columns are row headers: the first, and the text columns up to the first that is not all text."""
    others = (at for at in range(len(table.head)) if not all(isinstance(row[at], str) for row in table.rows))
    return max(1, next(others, 1))


def tables_of(chapters: Sequence[Page]) -> Iterator[tuple[str, Table]]:
    """Yield the tables of the page with the names of their files."""
    for one in chapters:
        for part in one.chapter.parts:
            if isinstance(part, Table):
                yield f"{one.anchor}-{part.name}", part


def numbered(chapters: Sequence[Page]) -> dict[Measure, int]:
    """Return the numbers that link to their items, each with its index in the page's data."""
    cells = (cell for _, table in tables_of(chapters) for row in table.rows for cell in row)
    opening = (cell for cell in cells if isinstance(cell, Measure) and cell.value is not None)
    # Of numbers of two models, only counts link to items: those that one model has right and the other does not.
    linked = dict.fromkeys(
        row for row in opening if row.model and row.dataset and (not row.other or row.formula == "count")
    )
    return {row: at for at, row in enumerate(linked)}


def carried(row: Measure) -> dict[str, Any]:
    """Return what the page's script needs to know of a number."""
    names = ("suite", "dataset", "model", "other", "metric", "where", "formula", "of", "value", "n")
    return {**{name: getattr(row, name) for name in names}, "shown": shown(row), **_judged_otherwise(row)}


def _judged_otherwise(row: Measure) -> dict[str, str]:
    """Return how models are judged when they are compared, if that differs from how each is judged alone."""
    if row.metric not in OF_ONE or type(SUITES[row.suite]).comparable is Suite.comparable:
        return {}
    compared = method_of(row, SUITES[row.suite].methods).compared
    return {"compared": compared} if compared else {}
