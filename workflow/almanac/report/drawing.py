"""The page's figures: as SVG in the page and its folder, and as PNG and PDF for print, which no page waits for."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

FONT: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "almanac",
    "mathtext.fallback": "None",
}
PRINT: Mapping[str, Mapping[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
TAG = re.compile(r"<[^<>]*>")
FRACTION = re.compile(r"(?<![\w.])-?\d*\.\d{3,}(?:e-?\d+)?")
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')


def style() -> AbstractContextManager[None]:
    """Draw in the page's look inside of this."""
    return matplotlib.rc_context(FONT)


def svg(figure: Figure) -> str:
    """Return a figure as SVG without date or version, from its root element on.

    Its places are found first and it is drawn once, both by one renderer: saving it would draw it a second time for
    nothing else, and measure every text with a new one each time.
    """
    buffer = io.StringIO()
    with style():
        _place_empty(figure)
        canvas = _Canvas(figure, buffer)
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
        figure.draw(canvas.renderer)
        canvas.renderer.finalize()
    text = buffer.getvalue()
    return _slim(text[text.index("<svg") :])


class _Canvas(FigureCanvasSVG):
    """Draws a figure as SVG into a text, with one renderer for its places and its drawing."""

    def __init__(self, figure: Figure, buffer: io.StringIO) -> None:
        super().__init__(figure)
        figure.set_dpi(self.fixed_dpi)
        width, height = figure.get_size_inches()
        points = (width * self.fixed_dpi, height * self.fixed_dpi)
        plain = _Renderer(*points, buffer, image_dpi=self.fixed_dpi, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
        # It hands on what it does not do itself, so it has no type of a renderer.
        self.renderer: Any = MixedModeRenderer(figure, width, height, self.fixed_dpi, plain)  # type: ignore[no-untyped-call]

    def get_renderer(self) -> Any:
        """Return the one renderer, by which matplotlib finds places too."""
        return self.renderer


class _Renderer(RendererSVG):
    """Measures a text once, in however many figures it stands: that is a quarter of all time."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        """Return the width, height and descent of a text in points."""
        return _measured(s, prop.copy(), ismath)

    def _get_font_height_metrics(self, prop: FontProperties) -> tuple[float | None, ...]:
        """Return a font's ascent, descent and gap of lines in points; matplotlib reads the font's tables each time."""
        return _heights(prop.copy())


@cache
def _measured(text: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
    return text_to_path.get_text_width_height_descent(text, prop, ismath)


@cache
def _heights(prop: FontProperties) -> tuple[float, float, float] | tuple[None, None, None]:
    font = get_font(findfont(prop))
    table, head = font.get_sfnt_table("OS/2"), font.get_sfnt_table("head")
    if table is None or head is None:
        return None, None, None  # matplotlib looks further
    scale = 1 / head["unitsPerEm"] * prop.get_size_in_points()
    return table["sTypoAscender"] * scale, -table["sTypoDescender"] * scale, table["sTypoLineGap"] * scale


def _place_empty(figure: Figure) -> None:
    """Give titles and labels of axes that hold no text a fixed place: to find one for them is a seventh of all time."""
    for axes in figure.axes:
        if not any(axes.get_title(side) for side in ("left", "center", "right")):
            axes.set_title("", y=1.0)
        for axis in (axes.xaxis, axes.yaxis):
            if not axis.get_label_text():
                axis.set_label_coords(0, 0)


def _slim(text: str) -> str:
    """Return SVG without what nobody sees: comments, metadata, unused ids, indents, digits below a hundredth."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(REFERENCE.findall(text))
    text = TAG.sub(lambda tag: ID.sub(lambda own: own[0] if own[1] in used else "", tag[0]), text)
    # Only in tags: a number that is a label stays as it is. One below 1 scales something and keeps more digits.
    text = TAG.sub(lambda tag: FRACTION.sub(lambda number: _rounded(float(number[0])), tag[0].replace("\n", " ")), text)
    text = re.sub(r">\s*\n\s*<", "><", text)
    return re.sub(r" {2,}(?=[^<>]*>)", " ", text)


def _rounded(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.4g}" if value else "0"


def prefixed(text: str, name: str) -> str:
    """Return SVG whose ids begin with a name, so that several drawings can stand in one page."""
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return text


def write_print(drawn: Iterable[tuple[str, Figure]], folder: Path) -> Iterator[Path]:
    """Write figures by name as PNG and PDF; yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn:
        for kind, how in PRINT.items():
            with style():
                figure.savefig(folder / f"{name}.{kind}", **how)
            yield folder / f"{name}.{kind}"
