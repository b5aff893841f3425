"""The page's figures as SVG: what is measured once, or not at all, changes no figure."""

import io
import warnings

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from almanac.report import drawing
from almanac.report.drawing import style, svg, write_print
from almanac.suites.comparison_figures import Map, laid_out


def a_figure(title):
    """Texts of several sizes, weights, lines and angles, twice over; an image, which depends on the resolution."""
    figure = Figure(figsize=(4, 3), layout="constrained")
    for axes in figure.subplots(1, 2):
        axes.imshow([[0, 1], [2, 3]], interpolation="bilinear")
        axes.set_title(title, fontweight="bold")
        axes.set_xlabel("two\nlines of $x_1$", fontsize=7)
        axes.set_yticks(range(2), ["Zürich", "twice"], rotation=90, style="italic")
        axes.text(0, 0, "twice", fontsize=14)
    return figure


@pytest.mark.parametrize("title", ["twice", "another"])
def test_a_figure_is_the_one_that_matplotlib_draws_with_a_renderer_of_its_own(title):
    with drawing.style():
        plain, buffer = a_figure(title), io.StringIO()
        canvas = FigureCanvasSVG(plain)
        plain.get_layout_engine().execute(plain)
        plain.set_layout_engine("none")
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
        figure = a_figure(title)
    text = buffer.getvalue()
    assert drawing.svg(figure) == drawing._slim(text[text.index("<svg") :])


def test_dollar_signs_in_a_name_stay_what_they_are():
    with drawing.style():
        figure = a_figure("twice")
    assert "lines of $x_1$" in drawing.svg(figure)


def test_what_is_left_out_of_a_figure_is_not_seen():
    """Groups of nothing, what a text is by default and what many markers share; labels and opacity stay as they are."""
    said = (
        '<svg width="9pt"><defs><style type="text/css">*{stroke-linejoin: round}</style></defs><g id="figure_1">'
        '<g id="text_1"><text style="font-size: 9px; font-family: \'DejaVu Sans\'; text-anchor: start" x="1" y="2"'
        ' transform="rotate(-0 1 2)">M 0.12345 z</text></g>'
        '<g clip-path="url(#c)"><use xlink:href="#m" x="1" y="2" style="fill: #fff; stroke: #000"/>'
        '<use xlink:href="#m" x="3.14159" y="2" style="fill: #fff; stroke: #000"/></g>'
        '<g clip-path="url(#c)"><use xlink:href="#m" x="1" y="2" style="opacity: 0.5"/></g>'
        '<path d="M 0 1.234 L 2 3 z " style="stroke: #000"/></g></svg>'
    )
    assert drawing._slim(said) == (
        '<svg style="stroke-linejoin:round;stroke-linecap:butt;font:9px \'DejaVu Sans\',sans-serif" width="9pt">'
        '<text x="1" y="2">M 0.12345 z</text>'
        '<g clip-path="url(#c)" style="fill:#fff;stroke:#000"><use xlink:href="#m" x="1" y="2"/>'
        '<use xlink:href="#m" x="3.14" y="2"/></g>'
        '<g clip-path="url(#c)"><use xlink:href="#m" x="1" y="2" style="opacity:0.5"/></g>'
        '<path d="M0 1.23L2 3z" style="stroke:#000"/></svg>'
    )


def test_a_map_gives_its_names_the_room_that_they_take():
    names = ["short", "a name that is longer than any cell"]
    figure, [one, other], scale = laid_out([Map(names, names, 0.5, 0.5), Map(["a"], names, 0.5, 0.5)], scale=True)
    assert scale is not None
    one.imshow([[0, 1], [1, 0]])
    other.imshow([[0], [1]])
    renderer, inside = FigureCanvasAgg(figure).get_renderer(), figure.bbox
    boxes = [text.get_window_extent(renderer) for axes in (one, other) for text in axes.texts]
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 and box.y1 <= inside.y1 for box in boxes)
    assert other.texts[0].get_rotation() == 0 and one.texts[0].get_rotation() == 90
    first, second = one.get_window_extent(renderer), other.get_window_extent(renderer)
    assert min(box.x0 for box in boxes[len(one.texts) :]) > first.x1 and second.y1 == pytest.approx(first.y1)
    assert first.width / figure.dpi == pytest.approx(1.0)


def test_other_scripts_stand_as_text_in_the_page_and_a_character_that_no_font_has_is_said_in_print(tmp_path, capsys):
    nobodys = "\U0003fffd"  # of a plane without characters
    with style():
        figure = Figure(figsize=(2, 1))
        figure.subplots().set_title(f"首都 {nobodys}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f">首都 {nobodys}</text>" in svg(figure)
        assert len(list(write_print([("one", figure)], tmp_path))) == 2
    said = capsys.readouterr().err
    assert "characters that no font here has" in said and nobodys in said
    assert said.count("\n") == 1
