"""IC-LKE's experiments on the page: a tiny edition from requests to the page."""

import json
import math
import random
import re
from html.parser import HTMLParser

import editions
import pytest
from almanac.edition.remeasure import held
from almanac.suites.ic_lke.experiment_figures import by_place, by_shots
from almanac.suites.ic_lke.positions.measures import IN_BIN

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.report import lke
from almanac.report.page import share
from almanac.rows import Entity, Exposure, Measure, Relation, Response, Template

DOSES = (0, 64)
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


def measures(layout, suite, model="able"):
    return tables.read(layout.root / "measures" / model / suite / "real.parquet", Measure)


def page(layout):
    return (layout.root / "report.html").read_text()


class Buttons(HTMLParser):
    """The numbers that can be clicked: what each asks for, and its words."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "button":
            self.found.append([{key.removeprefix("data-"): value for key, value in attrs}, ""])

    def handle_data(self, data):
        if self.found and not self.found[-1][1]:
            self.found[-1][1] = data


def buttons(layout):
    body = page(layout).partition('id="experiments-real"')[2].partition("</section>")[0]
    return [(wanted, words) for wanted, words in Buttons(body).found if "suite" in wanted]


def behind(layout, wanted):
    """Return (experiment, setting, outcome) of the items that the page's own script shows for a button."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page(layout), re.DOTALL)[1])
    keys = ("suite", "model", "dataset")
    [found] = [one for one in data["outcomes"] if all(one[key] == wanted[key] for key in keys)]
    items = data["asked"][f"{wanted['suite']}/{wanted['dataset']}"]
    return [
        (items["experiment"][at], items["setting"][at], found["outcome"][at])
        for at in range(len(items["item"]))
        if all(
            items[key][at] in wanted[key].split(" | ") for key in ("experiment", "setting", "role") if wanted.get(key)
        )
        and wanted.get("relation") in (None, items["relation"][at])
        and ("first" not in wanted or int(wanted["first"]) <= items["index"][at] < int(wanted["end"]))
        and ("doses" not in wanted or str(found["dose"][at]) == wanted["doses"])
    ]


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
    rows = [row for row in rows if row.exposure is None]
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


COMPARED = ("same_prediction", "accuracy_difference", "kappa", "pearson", "difference")
SHOWN = {
    "eic_lke": ("accuracy", *COMPARED[:4]),
    "lke_sweep": ("accuracy_at_shots", "deviation_at_shots"),
    "lke_separators": ("accuracy", "difference", "deviation"),
    "lke_positions": (*(f"probability_{name}" for name in ("correct", "following", "rest", "replaced")), IN_BIN),
    "lke_generated": ("present",),
}


def test_each_number_that_stands_for_items_opens_them_and_they_count_up(layout):
    """A button is known by what its number counts: as many items, as many of them correct."""
    rows = {}
    for suite, metrics in SHOWN.items():
        for row in measures(layout, suite):
            whole = row.relation_id is None or (suite, row.metric) == ("lke_separators", "accuracy")
            taught = (row.exposure is not None) == (row.metric == IN_BIN)
            if row.metric in metrics and whole and taught and row.value is not None:
                key = (suite, row.experiment, row.metric, row.relation_id, row.exposure, share(row.value))
                rows.setdefault(key, []).append((row.n, row.n_correct))
    found = {}
    for wanted, words in buttons(layout):
        items = behind(layout, wanted)
        if wanted["metric"] in COMPARED:  # beside a number's own items stand those that they are compared with
            own = [one for one in items if one[0] != "in_context" and one[1] != "space"]
            assert len(own) < len(items)
            items = own
        [experiment] = {one[0] for one in items}
        dose = int(wanted["doses"]) if "doses" in wanted else None
        key = (wanted["suite"], experiment, wanted["metric"], wanted.get("relation"), dose, words)
        correct = sum(outcome == "correct" for *_, outcome in items)
        found.setdefault(key, []).append((len(items), correct))
    assert {key: sorted(own) for key, own in found.items()} == {key: sorted(own) for key, own in rows.items()}
    opened = {(suite, metric) for suite, _, metric, *_ in found}
    # Of two relations there is no correlation.
    assert opened == {(suite, one) for suite in SHOWN for one in SHOWN[suite]} - {("eic_lke", "pearson")}


def test_a_strict_validation_fails_where_a_suites_own_bar_is_missed(layout, capsys):
    validation = ["measure", "validation", "--edition", str(layout.root)]
    assert main(validation) == 0
    assert main([*validation, "--strict"]) == 1
    lines = capsys.readouterr().out.splitlines()
    # The answers are chance's: of each part, said twice, that it misses.
    [missed] = {line.partition(" from ")[0] for line in lines if line.endswith(": misses the bar")}
    assert (missed, len(lines)) == ("lke_positions of real, able,", 2 * 4)


@pytest.mark.parametrize("change", [{"permuted": True}, {"architecture": "modernbert"}])
def test_nulls_and_masked_models_are_held_to_no_bar(layout, change):
    assert len(list(held(layout))) == 4
    values = layout.config.model_dump()
    values["models"][0]["planted"] |= change
    assert list(held(Layout(layout.root, EditionConfig.model_validate(values)))) == []
