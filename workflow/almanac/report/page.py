"""The page: chapters, numbers and figures in one HTML file that needs no network, the same for the same numbers."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from matplotlib.figure import Figure

from almanac import __version__
from almanac.config import EditionConfig
from almanac.report.lines import share
from almanac.rows import Measure, Validation
from almanac.suites.chapter import Chapter, Drawing, Table

FONT: Any = {"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "almanac"}


@dataclass(frozen=True)
class Page:
    """What the page shows of one suite on one dataset; ``anchor`` is its place, and begins the names of its files."""

    anchor: str
    suite: str
    dataset: str
    chapter: Chapter


def style() -> AbstractContextManager[None]:
    """Draw in the page's look inside of this."""
    return matplotlib.rc_context(FONT)


def figures(chapters: Sequence[Page]) -> dict[str, Figure]:
    """Draw every figure of the page, by the name of its file."""
    with style():
        return {
            f"{one.anchor}-{part.name}": part.draw()
            for one in chapters
            for part in one.chapter.parts
            if isinstance(part, Drawing)
        }


def svg(figure: Figure) -> str:
    """Return a figure as SVG without date or version, from its root element on."""
    buffer = io.StringIO()
    with style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def render(
    config: EditionConfig,
    chapters: Sequence[Page],
    validation: Sequence[Validation],
    drawn: Mapping[str, Figure],
    items: Mapping[str, Any],
    models: Sequence[Mapping[str, Any]],
) -> str:
    """Render the page.

    Args:
        config: the edition.
        chapters: one a suite and dataset.
        validation: what is recovered of planted knowledge.
        drawn: the figures (`figures`).
        items: the items behind the numbers (`items.items`).
        models: who was asked: name, origin, parameters.
    """
    environment = Environment(
        loader=PackageLoader("almanac.report"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"share": share, "whole": "{:,}".format}
    environment.tests |= {
        "number": lambda cell: isinstance(cell, Measure),
        "table": lambda part: isinstance(part, Table),
        "drawing": lambda part: isinstance(part, Drawing),
    }
    # Without any `<`, neither `</script>` nor `<!--` can end the element that holds the data or hide its end.
    data = json.dumps(items, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")
    return environment.get_template("page.html.j2").render(
        config=config,
        chapters=chapters,
        validation=validation,
        vectors={name: Markup(_unique_ids(svg(figure), name)) for name, figure in drawn.items()},
        items=Markup(data),
        items_root=items["root"],
        models=models,
        version=__version__,
    )


def tables_of(chapters: Sequence[Page]) -> Iterator[tuple[str, Table]]:
    """Yield the tables of the page with the names of their files."""
    for one in chapters:
        for part in one.chapter.parts:
            if isinstance(part, Table):
                yield f"{one.anchor}-{part.name}", part


def _unique_ids(text: str, name: str) -> str:
    """Give a drawing's ids a prefix, so that several drawings can stand in one page."""
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return text


def write_figures(drawn: Mapping[str, Figure], folder: Path) -> None:
    """Write figures as SVG and PNG, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        (folder / f"{name}.svg").write_text(svg(figure), encoding="utf-8")
        with style():
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
