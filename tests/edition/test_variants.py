"""Which askings of planted models methods are compared and held against bars by, and which are variants of these."""

import pytest
from tests.edition.conftest import RELATIONS, answer
from tests.report import editions

from almanac.config import check
from almanac.edition.layout import Layout
from almanac.edition.measuring import _variant, of_other_passes
from almanac.project import PROJECT
from almanac.rows import Entity, Exposure, Relation, Standing, Template, Validation

CONFIG = {
    "edition": "own",
    "planting": {"worlds": {"one": {"seed": 1}}},
    "datasets": {
        "one": {"world": "one", "choices": 20},
        "few": {"world": "one", "choices": 5},
        "again": {"world": "one", "choices": 20, "test": 30},
    },
    "suites": {"ic_lke": {"one": {}, "few": {}, "again": {}}},
    "models": ["base", "instruct", "prose"],
}


@pytest.mark.parametrize(
    ("model", "dataset", "found"),
    [
        ("base", "one", ("all", "")),
        ("instruct", "one", ("all", "")),  # it read more than others, and nothing less
        ("prose", "one", ("format", "prose")),
        ("base", "few", ("choices", "5")),
        ("prose", "few", None),
        ("base", "again", None),
    ],
)
def test_a_variant_differs_in_one_thing(tmp_path, model, dataset, found):
    layout = Layout(tmp_path, check(CONFIG, "own.yaml", PROJECT))
    models = {one.model.name: one.model for one in layout.config.participants().values()}
    assert _variant(layout, models[model], dataset) == found


def test_a_suite_is_validated_where_it_is_asked_and_models_of_other_doses_have_no_place(tmp_path):
    facts = editions.facts_of(RELATIONS)
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    templates = [Template(name, name, "[X] is from [Y].", "statement", "written", None, ()) for name in RELATIONS]
    sizes = editions.SIZES | {"world": "one", "test": 48}
    config = {
        "planting": {"worlds": {"one": {"seed": 1}}},
        "datasets": {"one": sizes, "few": sizes | {"choices": 4}},
        "suites": {
            "ic_lke": {"few": {"shots": 2, "draws": 1}},
            "eic_lke": {"one": {"examples": 8, "first": 4, "step": 2}},
        },
        "models": [
            {"name": "twice", "planted": {"passes": 2}},
            *({"name": n, "planted": {}} for n in ("base", "small")),
        ],
    }
    relations = [Relation(name, name, *[None] * 4) for name in RELATIONS]
    layout = editions.asked(tmp_path, config, editions.Known(relations, facts, entities, templates))
    exposures = [Exposure(fact.fact_id, editions.DOSES[at % 3]) for at, fact in enumerate(facts)]
    editions.finish(layout, lambda _, request: answer("all", request), exposures)
    found = layout.read(layout.between("validation"), Validation)
    assert {row.model for row in found if row.suite == "ic_lke"} == {"twice", "base", "small"}
    found = layout.read(layout.between("standings"), Standing)
    assert {(row.suite, *row.models) for row in found if row.axis == "all"} == {("eic_lke", "base", "small")}


def test_models_that_read_each_fact_another_number_of_times_than_most_are_compared_with_none():
    more = [
        {"name": name, "planted": {"passes": 2, **own}}
        for name, own in {"twice": {}, "null": {"permuted": True}}.items()
    ]
    for models, found in ((["base", "small"], ["twice"]), ([], [])):
        config = check(CONFIG | {"models": [*more, *models]}, "own.yaml", PROJECT)
        assert of_other_passes(config) == found
