"""Which askings of planted models methods are compared and held against bars by, and which are variants of these."""

import pytest

from almanac.config import check
from almanac.edition.layout import Layout
from almanac.edition.measuring import _variant, of_other_passes
from almanac.project import PROJECT

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


def test_models_that_read_each_fact_another_number_of_times_than_most_are_compared_with_none():
    more = [
        {"name": name, "planted": {"passes": 2, **own}}
        for name, own in {"twice": {}, "null": {"permuted": True}}.items()
    ]
    for models, found in ((["base", "small"], ["twice"]), ([], [])):
        config = check(CONFIG | {"models": [*more, *models]}, "own.yaml", PROJECT)
        assert of_other_passes(config) == found
