"""The figures at the head of the page: a model looks the same in all of them, and a chance is of what is drawn."""

from types import SimpleNamespace

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from almanac.config import EditionConfig
from almanac.report import agreeing, page
from almanac.report.drawing import svg
from almanac.report.evidence import EvidenceFiles
from almanac.rows import Fact, Knowledge, Measure
from almanac.suites.agreement import SAME
from almanac.suites.chapter import Chapter, Drawing
from almanac.suites.data import Data
from almanac.suites.headline import ABOVE_CHANCE, NOT_ABOVE, UNDEFINED, Finding
from almanac.suites.judged import as_text
from almanac.suites.looks import COLOURS, GREYS, MARKERS, look
from almanac.suites.suite import Method

RECIPES = ("tiny", "small", "medium", "base", "large", "prose", "instruct")
WORLDS = ("one", "two", "three")


def edition(worlds=WORLDS, recipes=RECIPES, own=("mine",)):
    """An edition of planted models, of two nulls where there are any, and of models that nobody planted."""
    nulls = ("tiny-null", "base-null") if worlds else ()
    models = [{"name": name, "planted": {"permuted": name in nulls}} for name in (*recipes, *nulls)]
    models += [{"name": name, "path": f"models/{name}"} for name in own]
    datasets = {world: {"world": world} for world in worlds} | {"real": {"source": "real"}}
    suites = {"ic_lke": {name: {} for name in datasets}}
    planting = {"worlds": {world: {"seed": at} for at, world in enumerate(worlds)}}
    given = {"edition": "e", "sources": {"real": {"path": "facts"}}, "planting": planting}
    return EditionConfig.model_validate({**given, "datasets": datasets, "suites": suites, "models": models})


def test_of_a_planted_model_the_colour_tells_its_recipe_and_the_marker_its_world():
    found = page.looks(edition())
    assert {found[f"{recipe}-{world}"]["color"] for recipe in RECIPES for world in WORLDS} == {*COLOURS[:7]}
    for recipe, colour in zip(RECIPES, COLOURS, strict=False):
        assert [tuple(found[f"{recipe}-{world}"].values()) for world in WORLDS] == [(colour, one) for one in "osD"]
    for null, grey in zip(("tiny-null", "base-null"), GREYS, strict=True):
        assert [tuple(found[f"{null}-{world}"].values()) for world in WORLDS] == [(grey, one) for one in "osD"]
    assert tuple(found["mine"].values()) == (COLOURS[7], MARKERS[3]), "a colour and a marker of its own"


def test_where_colours_are_used_up_another_marker_tells_models_apart():
    found = page.looks(edition(WORLDS[:2], own=[f"own{at}" for at in range(9)]))
    assert len({tuple(one.values()) for one in found.values()}) == len(found)


@pytest.mark.parametrize("worlds", [(), ("one",)])
def test_of_one_world_or_none_models_differ_by_colour_and_marker(worlds):
    recipes = RECIPES if worlds else ()
    found = page.looks(edition(worlds, recipes, ("mine", "yours")))
    names = [*recipes, "mine", "yours"]
    assert [found[name] for name in names] == [look(place) for place in range(len(names))]


def row_and_finding(verdict=ABOVE_CHANCE, shared=40, asked=40, method="m", dataset="real", model="mine"):
    """What a method calls known of the shared facts, .3, and what it found of all that it asked; chance is .4."""
    facts = [f"f{at}" for at in range(shared)]

    def number(metric, value, **where):
        own = ("ic_lke", dataset, model, None, metric, as_text({"experiment": method, **where}), "other", ("hit",))
        return Measure(*own, value, value - 0.1, value + 0.1, None, shared, 0, 0, 0, 0, 0)

    chance = None if verdict == UNDEFINED else number("headline_chance", 0.4)
    found = Finding(Method(method, method, {}), number("headline", 0.5), chance, None, asked, None, verdict)
    return number(SAME, 0.3, fact=facts), found


@pytest.mark.parametrize(
    ("verdict", "asked", "fill", "ticks"),
    [
        (ABOVE_CHANCE, 40, "#0072b2", 1),
        (NOT_ABOVE, 40, "#ffffff", 1),
        (UNDEFINED, 40, "#99c7e0", 0),
        (ABOVE_CHANCE, 41, "#0072b2", 0),
        (NOT_ABOVE, 41, "#ffffff", 0),
    ],
)
def test_a_point_shows_its_verdict_and_a_chance_only_where_this_is_of_the_facts_that_it_is_of(
    verdict, asked, fill, ticks
):
    axes = Figure().subplots()
    agreeing._point(axes, 0, *row_and_finding(verdict, asked=asked), look(0))
    interval, point, *chance = axes.lines
    assert (list(interval.get_xdata()), list(point.get_xdata())) == ([pytest.approx(0.2), 0.4], [0.3])
    assert to_hex(point.get_markerfacecolor()) == fill and point.get_markeredgecolor() == COLOURS[0]
    assert [list(one.get_xdata()) for one in chance] == [[0.4, 0.4]] * ticks


def drawn(pairs, config=None):
    return list(agreeing.forests(config or edition(), *zip(*pairs, strict=True)))


def test_facts_of_a_source_come_before_invented_ones_and_markers_are_explained_where_they_tell_worlds():
    pairs = [row_and_finding(dataset=name, model=model) for name, model in (("two", "base-two"), ("real", "mine"))]
    figures = drawn(pairs)
    assert [one.dataset for one in figures] == ["real", "two"]
    assert all("those of one world one marker" in one.caption for one in figures)
    [alone] = drawn([row_and_finding(dataset="one", model="base")], edition(("one",)))
    assert "marker" not in alone.caption


@pytest.mark.parametrize("name", ["mine", "smollm2-135m-instruct", "llama-tuned-on-notes-" * 4])
def test_no_model_is_named_outside_of_the_figure(name):
    names = [f"{name}{at}" for at in range(9)]
    [drawing] = drawn([row_and_finding(model=one) for one in names], edition((), (), names))
    figure = drawing.draw()
    svg(figure)
    [legend] = figure.legends
    named = legend.get_window_extent(figure.canvas.get_renderer())
    assert len(legend.get_texts()) == 9
    assert figure.bbox.x0 <= named.x0 and named.x1 <= figure.bbox.x1 and named.y1 <= figure.bbox.y1


@pytest.mark.parametrize(("methods", "below"), [(5, False), (40, True)])
def test_a_tall_figure_has_its_scale_below_too(methods, below):
    [figure] = drawn([row_and_finding(method=f"m{at}") for at in range(methods)])
    [axes] = figure.draw().axes
    shown = axes.xaxis.get_tick_params()
    assert (shown["labeltop"], shown["labelbottom"]) == (True, below)


def test_the_first_figure_of_the_page_is_shown_and_those_of_other_datasets_are_folded(tmp_path):
    def rendered(*datasets):
        parts = [Drawing(f"same-{name}", f"Of {name}.", Figure, name) for name in datasets]
        first = page.Page("answer", "", "", Chapter("What was found", "", parts))
        vectors = {f"answer-{part.name}": "<svg></svg>" for part in parts}
        given = ([first], [], vectors, {"root": "results/e"}, EvidenceFiles(tmp_path / "items"), [], [])
        return page.render(edition(), *given)

    text = rendered("real", "one", "two")
    shown, folded = text.split("<summary>The same figure of other datasets: one, two</summary>")
    assert [f"answer.same-{name}" in shown for name in ("real", "one", "two")] == [True, False, False]
    inside = folded[: folded.index("</details>")]
    assert [f'id="answer.same-{name}"' in inside for name in ("real", "one", "two")] == [False, True, True]
    assert "The same figure of" not in rendered("real")


def test_only_what_a_method_knows_is_known_most_widely_and_only_what_one_does_not_least():
    facts = [Fact(name, "r", name, name.upper(), *[None] * 3, (), "test", "x") for name in "abcd"]
    layout = SimpleNamespace(data=lambda dataset: Data.of(facts=facts))

    def told(**known):
        rows = [Knowledge("facts", "mine", name, 2, count) for name, count in known.items()]
        return next(agreeing._facts(layout, {("facts", "mine"): rows}))

    assert told(a=0, b=1, c=0, d=0).endswith("Known most widely: b, r: B. Known least: a, r: A; c, r: C; d, r: D.")
    assert told(a=2, b=2).endswith("Known most widely: a, r: A; b, r: B.")
    assert told(a=0, b=0).endswith("Known least: a, r: A; b, r: B.")
    assert "half as many methods asked as any, 2 are known by all that did, 0 by some" in told(a=2, b=2)
    assert "half as many methods asked as any, 1 is known by all that did, 1 by some" in told(a=2, b=1)
    rows = [Knowledge("facts", "mine", name, methods, 2) for name, methods in (("a", 2), ("b", 4), ("c", 5))]
    said = next(agreeing._facts(layout, {("facts", "mine"): rows}))
    assert "of 2 facts that at least half" in said and "a, r: A" not in said
