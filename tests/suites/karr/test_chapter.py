"""What the page shows of KaRR: tables whose numbers lead to their items, and figures that draw them."""

from dataclasses import replace

import pytest
from tests.suites.karr.worlds import METHODS, SUITE, Asking, changed, knows, logprobs, world

from almanac.errors import AlmanacError
from almanac.rows import Measure, Rating, Template
from almanac.suites.chapter import Drawing, Entrant, Shown, Table
from almanac.suites.judged import Range, conditions_of
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS
from almanac.suites.karr.chapter import NAMES as ALL
from almanac.suites.karr.figures import by_relation, by_size, by_threshold
from almanac.suites.karr.measures import CURVE
from almanac.suites.karr.options import KarrOptions
from almanac.tables import write_jsonl

NAMES = {name: label for name, label in ALL.items() if name in METHODS}
MODELS = [
    Entrant("base", "base", parameters=2_000_000, null="large"),
    Entrant("large", "large", parameters=9_000_000),
    Entrant("silent", "silent", permuted=True),
]
UNUSABLE = Template("a9", "a", "[Y] made [X].", "statement", "x", None, ())


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels") / "labels.jsonl"
    facts = world()[0].facts
    write_jsonl(path, [Rating(fact.fact_id, "r", ("known", "unknown")[at % 2], None) for at, fact in enumerate(facts)])
    return KarrOptions(subjects=3, templates=1, resamples=2, spurious=True, labels=str(path))


@pytest.fixture(scope="module")
def asked(options):
    """Three models: one knows its facts, one lacks some answers, one answers nothing; and what was not asked of any."""
    data, exposures = world()
    data = replace(data, templates=[*data.templates, UNUSABLE])
    logprob = logprobs(data, exposures, lambda dose: 0.4 * knows(dose))
    known, refused = {}, []
    for model in MODELS:
        asking = Asking(data, options, exposures, model.name)
        for _ in SUITE.rounds:
            refused += asking.ask().refused
            few = model.name == "large" and len(asking.rounds) == 1  # of what is asked in the second round
            asking.answer(
                logprob,
                "unsupported" if model.name == "silent" else "ok",
                lambda row: changed(row, status="failed") if few and int(row.request_id, 16) % 50 == 0 else row,  # noqa: B023
            )
        known[model.name] = asking.measured()
    return known, refused


@pytest.fixture(scope="module")
def shown(asked, options):
    known, refused = asked
    rows = [row for found in known.values() for row in found.rows]
    before = Shown("d", 12, MODELS, {"a": "home of <a>", "b": "b"}, rows, refused)
    judged = {name: found.judged for name, found in known.items()}
    return replace(before, measures=[*rows, *SUITE.across(judged, before, options)])


@pytest.fixture(scope="module")
def chapter(shown, options):
    return SUITE.chapter(shown, options)


def table(chapter, name):
    """Return the rows of a table, each by its columns' names."""
    [found] = [part for part in chapter.parts if isinstance(part, Table) and part.name == name]
    return [dict(zip(found.head, row, strict=True)) for row in found.rows]


def told(chapter):
    return " ".join(part for part in chapter.parts if isinstance(part, str))


def test_every_model_with_a_value_stands_with_every_method_and_the_others_are_named(chapter):
    rows = table(chapter, "methods")
    answering = [model.name for model in MODELS if model.name != "silent"]
    assert [(row["method"], row["model"]) for row in rows] == [
        (NAMES[own], name) for own in METHODS for name in answering
    ]
    assert "Without any value: silent KaRR; silent KaRR, released code;" in told(chapter)
    assert "'[Y] made [X].' does not end in [Y]" in told(chapter)
    names = [part.name for part in chapter.parts if not isinstance(part, str)]
    tables, figures = (
        ["expected", "draws", "labels", "known_by_relation"],
        ["threshold", "exposure", "relations", "size"],
    )
    assert names == ["methods", "held_out", *figures, *tables]


def test_every_number_leads_to_its_items(chapter, asked):
    """Each opens as many items as it rests on, as many of them correct."""
    known, _ = asked
    cells = [cell for part in chapter.parts if isinstance(part, Table) for row in part.rows for cell in row]
    numbers = [cell for cell in cells if isinstance(cell, Measure)]
    for row in numbers:
        own = known[row.model].judged.where(conditions_of(row)).frame
        assert row.n == own.height > 0
        if row.other is None:  # else the null's items are as many, at the threshold of the model
            assert row.n_correct == own["hit"].sum()
    assert {row.metric for row in numbers} >= {"known", "recovery_auc", "recall", "kendall", "null_model_known"}
    assert any("relation" in conditions_of(row) for row in numbers)


def test_recall_is_of_the_facts_taught_most(chapter, shown):
    """The same number as the end of the curve by exposure."""
    for row in table(chapter, "methods"):
        recall = row["recall"]
        where = conditions_of(recall)
        [curve] = shown.find("accuracy_by_exposure", model=recall.model, **where)
        assert where["dose"] == 16 and (recall.value, recall.n) == (curve.value, curve.n)


def test_what_the_threshold_was_not_chosen_on_stands_with_how_many_facts_that_is(chapter, asked):
    """The shares of facts of the other half alone, by the columns that the caption names."""
    known, _ = asked
    rows = {(row["model"], row["method"]): row for row in table(chapter, "held_out")}
    assert rows.keys() == {(model, NAMES[mode]) for model in ("base", "large") for mode in ("paper", "official")}
    frame = known["base"].judged.where(experiment="paper", calibrating=False).frame
    facts = frame.filter(asked=FACTS)
    for title, own in {
        "taught most": facts.filter(dose=16),
        "never taught": facts.filter(dose=0),
        "false": frame.filter(asked=NULL),
    }.items():
        row = rows["base", "KaRR"]
        assert 0 < own.height == row[f"{title}: facts"] < len(known["base"].judged.frame["fact"].unique())
        assert row[title].value == pytest.approx(own["hit"].mean())


def test_the_null_model_stands_with_the_model_that_it_is_the_null_of(chapter):
    rows = {(row["model"], row["method"]): row["null model"] for row in table(chapter, "methods")}
    never = {(row["model"], row["method"]): row["null, never taught"] for row in table(chapter, "methods")}
    assert {key for key, one in never.items() if one is not None} == {
        key for key, one in rows.items() if one is not None
    }
    assert all(one is None or 0 < one.n < rows[key].n for key, one in never.items())
    assert [key for key, cell in rows.items() if cell is not None] == [
        ("base", "KaRR"),
        ("base", "KaRR, released code"),
    ]


def test_expected_objects_are_counted_where_both_values_are_there(chapter):
    rows = {(row["model"], row["method"]): row for row in table(chapter, "expected")}
    assert len(rows) == 2 * len(METHODS)
    for row in rows.values():
        assert row["ΔP"].value == pytest.approx(row["SP"].value - row["true"].value)
        assert row["facts"] == row["SP"].n == row["true"].n
        assert conditions_of(row["SP"])["asked"] == SPURIOUS and conditions_of(row["true"])["asked"] == FACTS
    assert 0 < rows["large", "KaRR"]["facts"] < rows["base", "KaRR"]["facts"] == 72


def test_runs_and_labels_have_a_row_a_method(chapter):
    draws = [row for row in table(chapter, "draws") if row["model"] == "base"]
    assert [row["method"] for row in draws] == list(NAMES.values())
    for row in draws:
        assert row["templates: variance"].value == pytest.approx(row["templates: deviation"].value ** 2)
    labels = [row for row in table(chapter, "labels") if row["model"] == "base"]
    assert [row["method"] for row in labels] == list(NAMES.values())
    for row in labels:
        assert (row["recall"].n, row["τ"].n) == (36, 72)  # half of the facts are known to the labels, all are labelled
        assert row["p"] == row["τ"].p is not None


def test_the_figures_draw_the_numbers(chapter, shown):
    figures = {part.name: part.draw() for part in chapter.parts if isinstance(part, Drawing)}
    paper, official = figures["threshold"].axes
    assert (paper.get_title(), official.get_title()) == ("KaRR", "KaRR, released code")
    [line] = [one for one in paper.get_lines() if one.get_label() == "base"]
    curve = [shown.one("known_at", "base", experiment="paper", asked=FACTS, ratio=Range(at)).value for at in CURVE]
    assert list(line.get_xdata()) == list(CURVE) and list(line.get_ydata()) == curve
    panels = [axes for axes in figures["relations"].axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["home of <a>", "b"]
    assert all(line.get_linewidth() > 0 for axes in panels for line in axes.get_lines()), "points are joined"
    assert [axes.get_label() for axes in figures["size"].axes[0].containers] == list(NAMES.values())
    assert [text.get_text() for text in figures["size"].axes[0].get_xticklabels()] == ["base\n2 M", "large\n9 M"]
    assert [axes.get_title() for axes in figures["exposure"].axes] == ["KaRR", "KaRR, released code"]
    assert [text.get_text() for text in figures["exposure"].axes[0].get_xticklabels()] == ["0", "2", "16"]


def test_relations_are_drawn_as_they_are_named_and_otherwise_thirty_with_most_facts(shown):
    """The paper's figure has thirty; of forty relations, of which each has one fact more, the last thirty are drawn."""

    def panels(*given):
        return [axes.get_title() for axes in by_relation(*given).axes if axes.get_visible()]

    assert panels(shown, "paper", ("b", "a")) == ["b", "home of <a>"]
    [known] = shown.find("known", model="base", experiment="paper", asked=FACTS, relation="b")
    names = [f"r{at:02}" for at in range(40)]
    rows = [replace(known, where=known.where.replace('"b"', f'"{name}"'), n=10 + at) for at, name in enumerate(names)]
    assert panels(replace(shown, measures=rows), "paper") == names[:9:-1]


def test_a_relation_of_the_figure_that_is_not_there_is_refused_before_anything_is_asked():
    asking = Asking(world()[0], KarrOptions(figure_relations=("a", "z")))
    with pytest.raises(AlmanacError, match="figure_relations: 'z' is not in the dataset, which has a, b; correct it"):
        asking.ask()


def test_a_line_joins_the_models_of_a_family(shown):
    """Of three models two are of one family, so each method has their line, and no line leads on to the third."""
    base, large, _ = MODELS
    families = [
        replace(base, series="one"),
        replace(large, series="one"),
        Entrant("other", "two", parameters=5_000_000),
    ]
    rows = [replace(row, model="other") for row in shown.measures if row.model == "base"]
    own = replace(shown, models=families, measures=[*shown.measures, *rows])
    [axes] = by_size(own, {"paper": "KaRR"}).axes
    lines = [
        list(line.get_ydata()) for line in axes.get_lines() if line.get_linestyle() == "-" and len(line.get_xdata())
    ]
    values = {row.model: row.value for row in own.find("known", experiment="paper", asked=FACTS)}
    assert lines == [[values["base"], values["large"]]]
    assert len(axes.containers[0].lines[0].get_xdata()) == 3  # all three are marked


@pytest.mark.parametrize(("name", "rotation"), [("a/b", 0), ("organisation/Model-3.1-of-eight-billion", 30)])
def test_the_names_of_models_by_size_do_not_run_into_each_other(shown, name, rotation):
    models = [Entrant(f"{name}-{at}", "one", parameters=10**at) for at in (6, 7)]
    rows = [replace(row, model=models[row.model == "large"].name) for row in shown.measures if row.model]
    [axes] = by_size(replace(shown, models=models, measures=rows), {"paper": "KaRR"}).axes
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {rotation}


def test_each_models_threshold_is_drawn_with_and_without_false_objects(shown):
    """Of three models one has no threshold."""
    rows = [row for row in shown.measures if (row.metric, row.model) != ("threshold", "silent")]
    for kept in (rows, [row for row in rows if conditions_of(row).get("asked") != NULL]):
        [axes] = by_threshold(replace(shown, measures=kept), {"paper": "KaRR"}).axes
        dotted = [line.get_xdata()[0] for line in axes.get_lines() if line.get_linestyle() == ":"]
        assert dotted == [
            shown.one("threshold", name, experiment="paper", asked=FACTS).value for name in ("base", "large")
        ]


def test_methods_stand_apart_where_all_models_are_of_one_size(shown):
    models = [replace(model, parameters=2_000_000) for model in MODELS[:2]]
    [axes] = by_size(replace(shown, models=models), NAMES).axes
    places = [container.lines[0].get_xdata()[0] for container in axes.containers]
    assert len(set(places)) == len(places) > 1


def test_without_numbers_there_is_no_chapter(options):
    assert SUITE.chapter(Shown("d", 12, MODELS), options) is None
