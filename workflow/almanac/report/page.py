"""The page: figures as vector graphics in one HTML file that needs no network, the same bytes for the same numbers."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from matplotlib.figure import Figure

from almanac import __version__
from almanac.config import EditionConfig
from almanac.report.sections import Section
from almanac.rows import Validation
from almanac.suites.ic_lke import figures

FONT: Any = {"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "almanac"}


def draw(sections: Sequence[Section]) -> dict[str, Figure]:
    """Draw every figure of the page, by file name."""
    out: dict[str, Figure] = {}
    with matplotlib.rc_context(FONT):
        for section in sections:
            if any(row.metric == "accuracy_by_exposure" for row in section.measures):
                out[f"{section.dataset}-exposure"] = figures.by_exposure(section.measures, 1 / section.choices)
            for experiment in dict.fromkeys(row.experiment for row in section.measures):
                rows = [row for row in section.measures if row.experiment == experiment]
                if not any(row.metric == "accuracy" and row.value is not None for row in rows):
                    continue
                name, chance = f"{section.dataset}-{experiment}", 1 / section.choices
                out[f"{name}-relations"] = figures.by_relation(rows, section.relations)
                answered = [row for row in rows if row.metric != "accuracy_at_k" or _answers(rows, row.model)]
                out[f"{name}-confidence"] = figures.accuracy_at_k(answered, chance)
    return out


def _answers(rows: Sequence[Any], model: str) -> bool:
    return any(row.model == model and row.metric == "accuracy" and row.value is not None for row in rows)


def svg(figure: Figure) -> str:
    """Return a figure as SVG without date or version, from its root element on."""
    buffer = io.StringIO()
    with matplotlib.rc_context(FONT):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def render(
    config: EditionConfig,
    sections: Sequence[Section],
    validation: Sequence[Validation],
    drawings: Mapping[str, str],
    items: Mapping[str, Any],
    models: Sequence[Mapping[str, Any]],
) -> str:
    """Render the page.

    Args:
        config: the edition.
        sections: one a dataset.
        validation: what is recovered of planted knowledge.
        drawings: figures as SVG, by name.
        items: the items behind the numbers (`sections.explorer`).
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
    data = json.dumps(items, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("</", "<\\/")
    return environment.get_template("page.html.j2").render(
        config=config,
        sections=sections,
        validation=validation,
        drawings={name: Markup(_unique_ids(text, name)) for name, text in drawings.items()},
        items=Markup(data),
        items_root=items["root"],
        models=models,
        version=__version__,
    )


def _unique_ids(text: str, name: str) -> str:
    """Give a drawing's ids a prefix, so that several drawings can stand in one page."""
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return text


def share(value: float | None) -> str:
    """Return a share as the field writes it: .873; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text.replace("-0.", "−.")


def write_figures(drawn: Mapping[str, Figure], folder: Path) -> dict[str, str]:
    """Write every figure as SVG and PNG and return the SVG texts."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for name, figure in drawn.items():
        texts[name] = svg(figure)
        (folder / f"{name}.svg").write_text(texts[name], encoding="utf-8")
        with matplotlib.rc_context(FONT):
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    return texts
