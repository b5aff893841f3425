"""IC-LKE's experiments on the page: a tiny edition from requests to the page."""

import math
import random
from html.parser import HTMLParser

import pytest
from tests.report import editions
from tests.report.reading import Page, check_items

from almanac import tables
from almanac.cli import main
from almanac.config import Asking, EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.measuring import bar_results
from almanac.report.asked import facts_asked
from almanac.report.chapters import chapters
from almanac.report.lines import share
from almanac.rows import Entity, Exposure, Item, Measure, Relation, Response, Template
from almanac.suites.chapter import Drawing
from almanac.suites.judged import conditions_of

DOSES = (0, 64)
PARTS = {"relation", "dose", "part"}  # what numbers of fewer items are chosen by
SUITES = {
    "eic_lke": {"examples": 8, "first": 4, "step": 2, "between": "space"},
    "lke_sweep": {"examples": [0, 2, 8], "draws": 2, "sample": 6, "models": ["able"]},
    "lke_separators": {"shots": 4, "sample": 6},
    "lke_positions": {"pairs": 16, "replaced": 4, "bins": 4, "judged": True},
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
    texts = ("[X] comes from [Y].", "[X] was made by [Y].")
    templates = [Template(f"P1/{at}", "P1", text, "statement", "written", None, ()) for at, text in enumerate(texts)]
    known = editions.Known(relations, editions.facts_of(("P1", "P2"), "real"), entities, templates)
    models = [{"name": "able", "planted": {}}, {"name": "silent", "path": "models/silent", "parameters": 1}]
    config = {
        "planting": {"worlds": {"beside": {"seed": 1}}, "taught": {"dataset": "real", "facts": 60, "doses": DOSES}},
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"ic_lke": {"real": {"shots": 4}}, **{name: {"real": own} for name, own in SUITES.items()}},
        "models": models,
    }
    exposures = [Exposure(fact.fact_id, DOSES[at % 2]) for at, fact in enumerate(known.facts)]
    return editions.finish(editions.asked(tmp_path_factory.mktemp("tiny"), config, known), answer, exposures)


@pytest.fixture(scope="module")
def found(layout):
    return chapters(layout)


@pytest.fixture(scope="module")
def text(layout):
    return layout.page().read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def measures(layout, suite, model="able"):
    return tables.read(layout.measures(Asking(model, suite, "real")), Measure)


def chapter(found, suite):
    [one] = [one for one in found[0] if one.anchor == f"{suite}-real"]
    return one.chapter


def drawn(found, suite, name):
    [drawing] = [part for part in chapter(found, suite).parts if isinstance(part, Drawing) and part.name == name]
    return drawing.draw()


def test_each_experiment_has_its_chapter_and_every_overall_accuracy_stands_there(layout, found, page):
    assert [chapter(found, suite).title for suite in SUITES] == [
        "EIC-LKE, many facts in one text",
        "How many examples are enough",
        "Separators between subject and object",
        "Unknown and incorrect examples",
        "Generated text",
    ]
    shown = {"accuracy", "accuracy_at_shots", "present", "probability_correct", "probability_replaced"}
    wanted = [
        (suite, row)
        for suite in SUITES
        for row in measures(layout, suite)
        if row.metric in shown
        and not {"relation", "dose", "part"} & conditions_of(row).keys()
        and row.value is not None
    ]
    assert len(wanted) > 15
    for suite, row in wanted:
        words = [words for one, words in page.buttons[f"{suite}-real"] if one["where"] == row.where]
        assert share(row.value) in words, row


def test_of_the_facts_taught_most_often_those_that_a_suite_asks_are_counted(layout):
    [found] = facts_asked(layout)
    [path] = {path for path in map(layout.exposures, layout.config.asked()) if path is not None}
    doses = {row.fact_id: row.dose for row in tables.read(path, Exposure)}
    items = tables.read(layout.requests_folder("eic_lke", "real", "asked", "all") / "items.parquet", Item)
    often = {row.fact_id for row in items if doses.get(row.fact_id) == max(doses.values())}
    assert found.asked_often["eic_lke"] == len(often) < len({row.fact_id for row in items})


def test_facts_that_were_taught_are_so_in_every_dataset_of_their_source(layout):
    config = layout.config.model_dump()
    config["sources"]["other"] = {"path": "elsewhere"}
    config["datasets"] |= {
        "again": config["datasets"]["real"],
        "else": config["datasets"]["real"] | {"source": "other"},
    }
    there = Layout(layout.root, EditionConfig.model_validate(config))
    taught = {name: there.exposures(Asking("able", "ic_lke", name)) for name in config["datasets"]}
    assert taught["again"] == taught["real"] is not None
    assert taught["else"] is None
    assert there.exposures(Asking("silent", "ic_lke", "again")) is None, "a checkpoint"


def test_the_page_is_whole_html_and_names_are_escaped(text):
    kept = ("table", "tr", "td", "th", "tbody", "section", "details", "figure", "p")

    class Balance(HTMLParser):
        open: tuple[str, ...] = ()

        def handle_starttag(self, tag, attrs):
            if tag in kept:
                self.open = (*self.open, tag)

        def handle_endtag(self, tag):
            if tag in kept:
                assert self.open[-1] == tag
                self.open = self.open[:-1]

    found = Balance()
    found.feed(text)
    assert found.open == ()
    assert "<name>" not in text


def test_a_model_that_is_not_named_is_not_asked(layout):
    assert {asking.model for asking in layout.config.asked() if asking.suite == "lke_sweep"} == {"able"}
    assert {asking.model for asking in layout.config.asked() if asking.suite == "eic_lke"} == {"able", "silent"}


def test_a_model_without_an_answer_is_listed_with_how_many(layout, page):
    rows = [row for row in page.rows["eic_lke-real"] if row[:2] == ["silent", "sequence"]]
    assert [row[-1] for row in rows] == ["48 of 48"]
    assert {row.value for row in measures(layout, "lke_positions", "silent")} == {None}


def test_a_relation_without_words_between_is_named(page):
    assert any("relation P2 (no template of it has words between [X] and [Y]" in text for text in page.everything)


def test_the_sweeps_figure_draws_each_accuracy_and_what_is_enough(layout, found):
    rows = measures(layout, "lke_sweep")
    [axes] = drawn(found, "lke_sweep", "examples").axes
    overall = [row for row in rows if row.metric == "accuracy_at_shots" and conditions_of(row).keys() == {"shots"}]
    line = next(line for line in axes.lines if line.get_label() == "able")
    points = [(conditions_of(row)["shots"], pytest.approx(row.value)) for row in overall]
    assert list(map(tuple, line.get_xydata())) == sorted(points, key=lambda point: point[0])
    [enough] = [row.value for row in rows if row.metric == "enough_shots"]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [enough]


def test_the_positions_figure_draws_every_place_once(found):
    figure = drawn(found, "lke_positions", "places")
    assert len(figure.axes) == 5  # one model; as it is, and two kinds in two arrangements
    places = [sum(len(line.get_xdata()) for line in axes.lines[:3]) for axes in figure.axes]
    # Both relations are drawn as their mean; distributed places differ between them, so both kinds may share a place.
    assert places[0] == 16
    assert all(math.isfinite(share) for axes in figure.axes for line in axes.lines for share in line.get_ydata())


def test_each_number_that_stands_for_items_opens_them_and_they_count_up(found, text):
    metrics = check_items(found[0], text)
    assert metrics >= {
        *("accuracy", "same_prediction", "accuracy_difference", "kappa"),  # of two relations there is no correlation
        *("accuracy_at_shots", "deviation_at_shots", "difference", "deviation", "present"),
        *(f"probability_{name}" for name in ("correct", "following", "rest", "replaced", "in_bin")),
    }


def test_a_strict_validation_fails_where_a_suites_own_bar_is_missed(layout, capsys):
    across = ["measure", "across", "--edition", str(layout.root)]
    assert main(across) == 0
    assert main([*across, "--strict"]) == 1
    lines = capsys.readouterr().out.splitlines()
    # The answers are chance's: of each part, said twice, that it misses.
    [missed] = {line.partition(" from ")[0] for line in lines if line.endswith(": misses the bar")}
    assert (missed, len(lines)) == ("lke_positions of real, able,", 2 * 4)


@pytest.mark.parametrize("change", [{"permuted": True}, {"architecture": "modernbert"}])
def test_nulls_and_masked_models_are_held_to_no_bar(layout, change):
    assert len(list(bar_results(layout))) == 4
    values = layout.config.model_dump()
    values["models"][0]["planted"] |= change
    assert list(bar_results(Layout(layout.root, EditionConfig.model_validate(values)))) == []
