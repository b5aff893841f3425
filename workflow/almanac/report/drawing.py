"""The page's figures: as SVG in the page and its folder, and as PNG and PDF for print, which no page waits for."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

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

    Its places are found first and it is drawn once: saving it would draw it a second time for nothing else.
    """
    buffer = io.StringIO()
    with style():
        canvas = FigureCanvasSVG(figure)
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    return _slim(text[text.index("<svg") :])


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
