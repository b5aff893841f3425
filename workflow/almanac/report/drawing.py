"""The page's figures: SVG for the page and its folder; PNG and PDF for print, written apart from the page."""

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.text import Text

from almanac.progress import print_notes

FONT: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "almanac",
    "text.parse_math": False,  # a name may hold dollar signs
}
LACKING = r"Glyph (\d+) .*missing from font"  # the beginning of matplotlib's warning
OTHER_SCRIPTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Source Han Sans", "Hiragino Sans", "PingFang SC"),
    *("Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "MS Gothic", "WenQuanYi Zen Hei", "IPAGothic"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS"),
)
BOXES = 10  # at most so many missing characters are listed
PRINT: Mapping[str, Mapping[str, Any]] = {
    "png": {"dpi": 300, "metadata": {"Software": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
TAG = re.compile(r"<[^<>]*>")
FRACTION = re.compile(r"(?<![\w.])-?\d*\.\d{3,}(?:e-?\d+)?")
ID = re.compile(r' id="([^"]*)"')
STYLE = re.compile(r' style="([^"]*)"')
PATH = re.compile(r'(?<= d=")[^"]*')
STEP = re.compile(r" ?([MLHVCQz]) ?")
UPRIGHT = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
MARKERS = re.compile(r'<g( clip-path="[^"]*")?>((?:<use [^>]*? style="([^"]*)"/>)(?:<use [^>]*? style="\3"/>)*)</g>')
# Style declarations of nearly all texts and lines, and of every figure of matplotlib: they are stated once.
USUAL = {f"font-size: {FONT['font.size']}px", f"font-family: '{FONT['font.family']}'", "text-anchor: start"}
LOOK = f"stroke-linejoin:round;stroke-linecap:butt;font:{FONT['font.size']}px '{FONT['font.family']}',sans-serif"
REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')


@contextmanager
def style() -> Iterator[None]:
    """Apply the page's style inside; warnings of missing glyphs are ignored, since a reader's browser has them."""
    with matplotlib.rc_context(FONT), warnings.catch_warnings():
        warnings.filterwarnings("ignore", LACKING)
        yield


def svg(figure: Figure) -> str:
    """Return a figure as SVG from its root element on, without date and version.

    The layout is computed and the figure drawn once, by one renderer. `savefig` would draw it twice, and create a
    renderer for the measurement of each text.
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
    """Draws a figure as SVG into a text; one renderer computes the layout and draws."""

    def __init__(self, figure: Figure, buffer: io.StringIO) -> None:
        super().__init__(figure)
        figure.set_dpi(self.fixed_dpi)
        width, height = figure.get_size_inches()
        points = (width * self.fixed_dpi, height * self.fixed_dpi)
        plain = RendererSVG(*points, buffer, image_dpi=self.fixed_dpi, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
        # It delegates most calls to another renderer, and so does not have a renderer's type.
        self.renderer: Any = MixedModeRenderer(figure, width, height, self.fixed_dpi, plain)  # type: ignore[no-untyped-call]

    def get_renderer(self) -> Any:
        """Return the one renderer, with which matplotlib computes the layout, too."""
        return self.renderer


def _place_empty(figure: Figure) -> None:
    """Fix the positions of empty titles and axis labels, whose layout would take a seventh of the drawing time."""
    for axes in figure.axes:
        if not any(axes.get_title(side) for side in ("left", "center", "right")):
            axes.set_title("", y=1.0)
        for axis in (axes.xaxis, axes.yaxis):
            if not axis.get_label_text():
                axis.set_label_coords(0, 0)


def _slim(text: str) -> str:
    """Return SVG without what is invisible: comments, metadata, unused ids, empty groups, digits below a hundredth.

    Style declarations that matplotlib repeats for every text and line are stated once, on the root element, and
    inherited.
    """
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    used = set(REFERENCE.findall(text))
    kept: list[bool] = []  # for each open group, whether its tag is kept

    def tag(found: re.Match[str]) -> str:
        """Return a tag in its short form; empty if it is dropped."""
        text = found[0]
        if text == "</g>":
            return text if kept.pop() else ""
        # Only numbers in tags are rounded, not labels. Those below 1 are scales and keep more digits.
        text = ID.sub(lambda one: one[0] if one[1] in used else "", text.replace("\n", " "))
        text = FRACTION.sub(lambda number: _rounded(float(number[0])), text)
        text = UPRIGHT.sub("", STYLE.sub(_declared, text))
        text = PATH.sub(lambda path: STEP.sub(r"\1", path[0]), text)
        if not text.startswith("<g") or text[2] not in " >/":
            return text
        if text.endswith("/>"):
            return ""
        kept.append(text != "<g>")
        return text if kept[-1] else ""

    text = re.sub(r">\s*\n\s*<", "><", TAG.sub(tag, text))
    text = MARKERS.sub(_of_group, text.replace("<defs></defs>", ""))
    return text.replace("<svg", f'<svg style="{LOOK}"', 1)


def _declared(style: re.Match[str]) -> str:
    """Return a style attribute without the declarations that the root element has."""
    kept = [one for one in map(str.strip, style[1].split(";")) if one and one not in USUAL]
    return f' style="{";".join(kept).replace(": ", ":")}"' if kept else ""


def _of_group(markers: re.Match[str]) -> str:
    """Return markers of equal style with that style moved to their group."""
    start, own, style = markers.groups()
    if "opacity" in style.replace("fill-opacity", "").replace("stroke-opacity", ""):
        return markers[0]  # a group's opacity is another: overlapping members do not add up
    look = f' style="{style}"'
    return f"<g{start}{look}>{own.replace(look, '')}</g>"


def _rounded(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.4g}" if value else "0"


def prefixed(text: str, name: str) -> str:
    """Return SVG whose ids have a prefix, so that several drawings can be in one page."""
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return text


def write_print(drawn: Iterable[tuple[str, Figure]], folder: Path) -> Iterator[Path]:
    """Write figures by name as PNG and PDF; yield the files.

    PDFs embed TrueType fonts, since publishers refuse Type 3. Fonts of other scripts, however, are often CFF, which
    matplotlib embeds under a wrong name, so figures that need them use Type 3. Other scripts use the first of some
    common fonts that is installed; a note lists the characters that no font has.
    """
    folder.mkdir(parents=True, exist_ok=True)
    there = {font.name for font in fontManager.ttflist}
    families = [FONT["font.family"], *(name for name in OTHER_SCRIPTS if name in there)]
    usual = get_font(findfont(FONT["font.family"]))
    boxes: dict[str, None] = {}
    for name, figure in drawn:
        texts = figure.findobj(Text)
        for text in texts:
            text.set_fontfamily(families)
        has_all = all(usual.get_char_index(ord(one)) for text in texts for one in text.get_text() if one.isprintable())
        for kind, how in PRINT.items():
            fonts = matplotlib.rc_context({"pdf.fonttype": 42 if has_all else 3})
            with style(), fonts, warnings.catch_warnings(record=True) as caught:
                warnings.filterwarnings("always", LACKING)
                figure.savefig(folder / f"{name}.{kind}", **how)
            for one in caught:
                if lacking := re.match(LACKING, str(one.message)):
                    boxes[lacking[1]] = None
                else:
                    warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
            yield folder / f"{name}.{kind}"
    if boxes:
        some = " ".join(chr(int(code)) for code in list(boxes)[:BOXES])
        missing = (
            f"{folder}: boxes stand for {len(boxes)} characters that no font here has ({some}); install one that has "
            f"them, such as Noto Sans CJK, and remove matplotlib's list of fonts, {matplotlib.get_cachedir()}"
        )
        print_notes([missing])
