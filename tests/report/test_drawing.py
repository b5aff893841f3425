"""The page's figures as SVG: what is measured once, or not at all, changes no figure."""

import io

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from almanac.report import drawing


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
