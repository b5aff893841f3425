"""IC-LKE's experiments on the page: a tiny edition from requests to the page."""

import math
import random
import re
from html.parser import HTMLParser

import editions
import pytest

from almanac import tables
from almanac.report import lke
from almanac.rows import Entity, Measure, Relation, Response, Template
from almanac.suites.ic_lke.experiment_figures import by_place, by_shots

SUITES = {
    "eic_lke": {"examples": 8, "first": 4, "step": 2, "between": "space"},
    "lke_sweep": {"examples": [0, 2, 8], "draws": 2, "sample": 6, "models": ["able"]},
    "lke_separators": {"shots": 4, "sample": 6},
    "lke_positions": {"pairs": 16, "replaced": 4, "bins": 4},
    "lke_generated": {"shots": 4, "sample": 6},
}


def answer(model, request):
    """Answer by chance; ``silent`` finds every text too long."""
    if model == "silent":
        return Response(request.request_id, "too_long", "900 tokens; the model reads at most 96")
    chance = random.Random(model + request.request_id)
    if request.kind == "generate":
        return Response(request.request_id, "ok", None, texts=(f" O {chance.randrange(12)} and more",))
    count = len(request.choices or request.pieces or request.span_starts)
    values = [-3 * chance.random() for _ in range(count)]
    if request.choices:
        values[-1] += 0.5
    return Response(request.request_id, "ok", None, tuple(values), (2,) * count)


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    relations = [Relation(p, label, *[None] * 4) for p, label in (("P1", "maker"), ("P2", "a $dear$ <name>"))]
    entities = [Entity(f"{kind}{at}", f"{kind} {at}", (), None) for kind in "QO" for at in range(60)]
    templates = [Template("P1/0", "P1", "[X] comes from [Y].", "statement", "written", None, ())]
    known = editions.Known(relations, editions.facts_of(("P1", "P2"), "real"), entities, templates)
    models = [{"name": name, "path": f"models/{name}", "parameters": 1} for name in ("able", "silent")]
    config = {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"ic_lke": {"real": {"shots": 4}}, **{name: {"real": own} for name, own in SUITES.items()}},
        "models": models,
    }
    return editions.finish(editions.asked(tmp_path_factory.mktemp("tiny"), config, known), answer)


def measures(layout, suite, model="able"):
    return tables.read(layout.root / "measures" / model / suite / "real.parquet", Measure)


def page(layout):
    return (layout.root / "report.html").read_text()


def test_each_experiment_has_its_part_and_every_overall_accuracy_stands_there(layout):
    [chapter] = lke.chapters(layout)
    body = page(layout).partition(f'id="{chapter.anchor}"')[2].partition("</section>")[0]
    heads = re.findall(r"<h3>(.*?)</h3>", body)
    assert heads == [
        "Many facts in one text: EIC-LKE",
        "How many examples are enough",
        "What stands between subject and object",
        "Unknown and incorrect examples",
        "What is written",
    ]
    shown = {"accuracy", "present", "probability_correct", "probability_replaced"}
    rows = [row for suite in SUITES for row in measures(layout, suite) if row.relation_id is None]
    wanted = [row.value for row in rows if row.metric in shown and row.level is None and row.value is not None]
    assert len(wanted) > 15
    for value in wanted:
        assert (f"{value:.3f}"[1:] if value < 1 else f"{value:.3f}") in body


def test_the_page_is_whole_html_and_names_are_escaped(layout):
    class Balance(HTMLParser):
        open: tuple[str, ...] = ()

        def handle_starttag(self, tag, attrs):
            if tag in ("table", "tr", "td", "th", "tbody", "section", "details", "figure", "p"):
                self.open = (*self.open, tag)

        def handle_endtag(self, tag):
            if tag in ("table", "tr", "td", "th", "tbody", "section", "details", "figure", "p"):
                assert self.open[-1] == tag
                self.open = self.open[:-1]

    found = Balance()
    found.feed(page(layout))
    assert found.open == ()
    assert "<name>" not in page(layout)


def test_a_model_that_is_not_named_is_not_asked(layout):
    assert {asking.model for asking in layout.config.asked() if asking.suite == "lke_sweep"} == {"able"}
    assert {asking.model for asking in layout.config.asked() if asking.suite == "eic_lke"} == {"able", "silent"}


def test_a_model_without_an_answer_is_listed_with_how_many(layout):
    body = page(layout)
    assert re.search(r"silent</th><td>sequence.*?48 of 48", body)
    assert {row.value for row in measures(layout, "lke_positions", "silent")} == {None}


def test_a_relation_without_words_between_is_named(layout):
    assert "relation P2 (no template of it has words between [X] and [Y]" in page(layout)


def test_the_sweeps_figure_draws_each_accuracy_and_what_is_enough(layout):
    rows = measures(layout, "lke_sweep")
    [axes] = by_shots(rows).axes
    overall = [row for row in rows if row.metric == "accuracy_at_shots" and row.relation_id is None]
    line = next(line for line in axes.lines if line.get_label() == "able")
    assert list(map(tuple, line.get_xydata())) == [(row.level, pytest.approx(row.value)) for row in overall]
    [enough] = [row.value for row in rows if row.metric == "enough_shots"]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [enough]


def test_the_positions_figure_draws_every_place_once(layout):
    rows = measures(layout, "lke_positions")
    figure = by_place(rows)
    assert len(figure.axes) == 5  # one model; as it is, and two kinds in two arrangements
    places = [sum(len(line.get_xdata()) for line in axes.lines[:2]) for axes in figure.axes]
    # Both relations are drawn as their mean; distributed places differ between them, so both kinds may share a place.
    assert places[0] == 16
    assert all(math.isfinite(share) for axes in figure.axes for line in axes.lines for share in line.get_ydata())
