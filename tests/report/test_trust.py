"""A page whose models nobody taught says what its methods recover of planted knowledge in the published edition."""

import csv
from dataclasses import replace

from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.published import FOLDER
from almanac.report.trust import EDITION, chapter
from almanac.rows import Measure
from almanac.suites.headline import ABOVE_CHANCE, Finding
from almanac.suites.listing import SUITES, guessing
from almanac.suites.suite import Method


def found(suite, method):
    known = Measure(suite, "facts", "mine", None, "headline", "{}", "mean", ("hit",), 0.4, 0.3, 0.5, None, 9, *[0] * 5)
    return Finding(method, known, None, None, 9, None, ABOVE_CHANCE)


def edition(folder, **config):
    return Layout(folder, EditionConfig.model_validate({"edition": "own", **config}))


def names_of(row):
    """What the method of a published row is called."""
    return next(one.label for one in SUITES[row["suite"]].methods if one.name == row["method"])


def methods():
    return [(suite.name, method) for suite in SUITES.values() for method in suite.methods]


def test_each_method_has_the_published_number_of_the_largest_model_that_it_can_ask(tmp_path):
    rows = [found(suite, method) for suite, method in methods()]
    found_here = chapter(edition(tmp_path), [*rows, found("karr", Method("new", "A method of tomorrow", {}))])
    table, order, lacking, _ = found_here.parts
    with (FOLDER / EDITION / "validation.csv").open(newline="", encoding="utf-8") as stream:
        published = {(row["suite"], row["method"], row["model"]): row for row in csv.DictReader(stream)}
    names = {method.label: (suite, method.name) for suite, method in methods()}
    assert len(table.rows) >= 10
    for label, model, _, area, correlation, never, _ in table.rows:
        key = names[label]
        assert model == next(one for one in ("large", "instruct", "masked") if (*key, one) in published)
        numbers = zip((area, correlation, never), ("auc", "spearman", "never"), strict=True)
        assert all(one.value == float(published[*key, model][name]) for one, name in numbers)
        assert area.model is None, "a number that would open items which are not on this page"
    assert {"instruct", "masked"} < {row[1] for row in table.rows}
    areas = [row[3].value for row in table.rows]
    assert areas == sorted(areas, reverse=True)
    assert "A method of tomorrow" in lacking
    with (FOLDER / EDITION / "standings.csv").open(newline="", encoding="utf-8") as stream:
        standings = list(csv.DictReader(stream))
    of = {(row["axis"], names_of(row)): row for row in reversed(standings)}
    assert [row[0] for row in order.rows] == sorted(row[0] for row in order.rows) and len(order.rows) >= 15
    for place, label, area, gap, balanced, unread in order.rows:
        assert (gap is None) == (place == 1), "the first is not less than itself"
        row, later = (of[axis, label.removesuffix("*")] for axis in ("all", "format"))
        assert (area.value, balanced.value, unread.value) == (
            *(float(row[name]) for name in ("auc", "balanced")),
            float(later["auc"]),
        )
        assert label.endswith("*") == (row["graded"].lower() == "false")
    assert {row[1] for row in order.rows} >= {"IC-LKE", "Head-to-Tail*"}


def test_of_items_that_are_counted_apart_those_that_are_published_have_the_number(tmp_path):
    asked = next(one for one in SUITES["facteval"].methods if one.name == "saq-wh")
    rows = []
    for origin in ("template", "written"):
        where = f'{{"context":"none","experiment":"saq-wh","origin":"{origin}","reading":"strict"}}'
        of = found("facteval", replace(asked, label=f"FactEval, question, {origin}"))
        rows.append(of._replace(known=replace(of.known, where=where)))
    for every in (rows, rows[::-1]):
        table, _, lacking, _ = chapter(edition(tmp_path), every).parts
        assert [row[0] for row in table.rows] == ["FactEval, question, template"]
        assert lacking.endswith("of: FactEval, question, written.")


def test_what_planted_models_were_taught_is_known_and_their_page_says_nothing_of_others(tmp_path):
    config = {
        "planting": {"worlds": {"beside": {"seed": 1}}, "taught": {"dataset": "real"}},
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real"}},
        "suites": {"ic_lke": {"real": {}}},
        "models": [{"name": "long", "planted": {}}],
    }
    own = [found("ic_lke", SUITES["ic_lke"].methods[0])]
    assert chapter(edition(tmp_path, **config), own) is None, "no method is held against bars, too"
    assert chapter(edition(tmp_path, **{**config, "models": [{"name": "mine", "path": "mine"}]}), own) is not None


def test_a_method_that_was_not_asked_there_alone_makes_no_chapter(tmp_path):
    assert chapter(edition(tmp_path), [found("toy", Method("toy", "Toy", {}))]) is None


def test_what_cannot_be_guessed_has_no_guessing_and_what_is_never_guessed_has_zero():
    assert guessing("facteval", "saq-wh", 0.0) is None, "an open answer"
    assert guessing("karr", "paper", 0.0) == 0.0, "false objects, none of which was called known"
    assert guessing("ic_lke", "in_context", 0.05) == 0.05
    assert guessing("not_installed", "any", 0.0) == 0.0
