"""Wu et al.'s plan in numbers that the paper states, and its relations by the names that the shipped facts know."""

import json
import re
from pathlib import Path

import pytest

from almanac.config import EditionConfig, check, read_yaml
from almanac.models.options import UNPINNED

REPOSITORY = Path(__file__).parents[2]
CONFIG = REPOSITORY / "config" / "papers"
RELATIONS = re.findall(r"^ +- (P\d+) +# (.+)$", (CONFIG / "wu.yaml").read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def edition() -> EditionConfig:
    values = {**read_yaml(CONFIG / "wu.yaml"), "contact": "somebody@example.org"}
    return check(values, "wu.yaml", REPOSITORY)


def test_49_models_of_11_families_are_asked(edition):
    assert len(edition.models) == 49
    assert len({model.series for model in edition.models}) == 11
    tuned = [model for model in edition.models if model.base is not None]
    assert len(tuned) == 14
    by_name = {model.name: model for model in edition.models}
    for model in tuned:
        base = by_name[model.base]
        assert (base.series, base.base) == (model.series, None)
        assert base.parameters == pytest.approx(model.parameters, rel=1e-5)


def test_every_model_says_where_it_is_and_has_a_place_for_its_commit(edition):
    for model in edition.models:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", model.hub)
        assert model.revision == UNPINNED or re.fullmatch(r"[0-9a-f]{40}", model.revision)
    assert len({model.hub for model in edition.models}) == 49


def test_50_relations_of_400_test_and_100_train_facts_make_20000_and_5000(edition):
    relations = edition.sources["trex"].relations
    assert [name for name, _ in RELATIONS] == list(relations)
    assert len(set(relations)) == 50
    dataset = edition.datasets["trex"]
    assert (50 * dataset.test, 50 * dataset.train, dataset.choices) == (20_000, 5_000, 100)
    assert (dataset.min_facts, dataset.min_objects, edition.suites.ic_lke["trex"].shots) == (500, 100, 50)


def test_properties_have_the_names_that_the_shipped_facts_give_them():
    lines = (REPOSITORY / "resources" / "facts" / "relations.jsonl").read_text("utf-8").splitlines()
    shipped = {row["property"]: row["label"] for row in map(json.loads, lines)}
    known = {name: label for name, label in RELATIONS if name in shipped}
    assert len(known) == 17
    # Those that ship have years alone, of books and of films apart.
    assert shipped["P577"].startswith("year of first") and known.pop("P577") == "publication date"
    for name, label in known.items():
        assert label == shipped[name] or label.endswith(f"? ({shipped[name]})")
