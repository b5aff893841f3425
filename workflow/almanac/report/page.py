"""The page: figures as vector graphics in one HTML file that needs no network, the same bytes for the same numbers."""

import io
import json
from collections.abc import Mapping, Sequence
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
from almanac.report.chapter import Chapter
from almanac.report.sections import Section
from almanac.rows import Validation
from almanac.suites.ic_lke import figures

FONT: Any = {"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "almanac"}


def style() -> AbstractContextManager[None]:
    """Draw in the page's look inside of this."""
    return matplotlib.rc_context(FONT)


@dataclass(frozen=True)
class Drawing:
    """A figure of the page and what it is of; ``kind`` is exposure, relations or confidence."""

    dataset: str
    kind: str
    experiment: str
    setting: str
    figure: Figure
    name: str


def draw(sections: Sequence[Section]) -> list[Drawing]:
    """Draw every figure of the page: the recovery of each dataset, then each experiment and setting by itself."""
    out: list[Drawing] = []
    with style():
        for section in sections:
            chance = 1 / section.choices
            answered = [row for row in section.measures if row.metric == "accuracy" and row.value is not None]
            settings = list(dict.fromkeys((row.experiment, row.setting) for row in answered))
            if any(row.metric == "accuracy_by_exposure" for row in section.measures):
                # Of several draws of the examples the first is drawn: one line a model and experiment.
                first = dict(reversed(settings))
                rows = [row for row in section.measures if row.setting == first.get(row.experiment)]
                figure = figures.by_exposure(rows, chance)
                out.append(Drawing(section.dataset, "exposure", "", "", figure, f"{section.dataset}-exposure"))
            for number, (experiment, setting) in enumerate(settings):
                models = {row.model for row in answered if (row.experiment, row.setting) == (experiment, setting)}
                rows = [
                    row
                    for row in section.measures
                    if (row.experiment, row.setting) == (experiment, setting) and row.model in models
                ]
                for kind, figure in (
                    ("relations", figures.by_relation(rows, section.relations)),
                    ("confidence", figures.accuracy_at_k(rows, chance)),
                ):
                    name = f"{section.dataset}-{number}-{experiment}-{kind}"
                    out.append(Drawing(section.dataset, kind, experiment, setting, figure, name))
    return out


def svg(figure: Figure) -> str:
    """Return a figure as SVG without date or version, from its root element on."""
    buffer = io.StringIO()
    with style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def render(
    config: EditionConfig,
    sections: Sequence[Section],
    validation: Sequence[Validation],
    drawings: Sequence[Drawing],
    items: Mapping[str, Any],
    models: Sequence[Mapping[str, Any]],
    chapters: Sequence[Chapter] = (),
) -> str:
    """Render the page.

    Args:
        config: the edition.
        sections: one a dataset.
        validation: what is recovered of planted knowledge.
        drawings: the figures (`draw`).
        items: the items behind the numbers (`explorer.explorer`).
        models: who was asked: name, origin, parameters.
        chapters: what follows IC-LKE's sections.
    """
    environment = Environment(
        loader=PackageLoader("almanac.report"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"share": share, "whole": "{:,}".format}
    # Without any `<`, neither `</script>` nor `<!--` can end the element that holds the data or hide its end.
    data = json.dumps(items, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")
    return environment.get_template("page.html.j2").render(
        config=config,
        sections=sections,
        validation=validation,
        drawings=drawings,
        vectors=_vectors({one.name: one.figure for one in drawings}),
        chapters=chapters,
        bodies={one.anchor: _body(environment, one, config) for one in chapters},
        items=Markup(data),
        items_root=items["root"],
        models=models,
        version=__version__,
    )


def _vectors(figures: Mapping[str, Figure]) -> dict[str, Markup]:
    return {name: Markup(_unique_ids(svg(figure), name)) for name, figure in figures.items()}


def _body(environment: Environment, chapter: Chapter, config: EditionConfig) -> Markup:
    template = environment.get_template(chapter.template)
    return Markup(template.render(**chapter.values, vectors=_vectors(chapter.figures), config=config))


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
    return text[1:] if text.startswith("0.") else text.replace("-0.", "−.").replace("-", "−")


def write_figures(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write figures as SVG and PNG, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        (folder / f"{name}.svg").write_text(svg(figure), encoding="utf-8")
        with style():
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
