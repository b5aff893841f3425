"""The paper's plan in numbers that the paper states, and its relations by the names that the shipped facts know."""

import json
import math
import re
from pathlib import Path

import pytest

from almanac.config import UNPINNED, EditionConfig, check, read_yaml
from almanac.resources import BYTES

REPOSITORY = Path(__file__).parents[1]
CONFIG = REPOSITORY / "config"
REGISTRY = (CONFIG / "paper_models.yaml").read_text("utf-8")
RELATIONS = re.findall(r"^ +- (P\d+) +# (.+)$", (CONFIG / "paper.yaml").read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def edition() -> EditionConfig:
    values = {**read_yaml(CONFIG / "paper.yaml"), "contact": "somebody@example.org"}
    return check(values, "paper.yaml", REPOSITORY)


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


@pytest.mark.parametrize("model", read_yaml(CONFIG / "paper_models.yaml").items(), ids=lambda pair: pair[0])
def test_the_size_in_a_name_is_that_of_the_parameters_and_the_memory_beside_it_follows(model):
    name, entry = model
    number, unit = re.search(r"-(?:8x)?([\d.]+)([BM])", name).groups()
    # Eight experts share what is not feed-forward: 46.7 B of 8 x 7 B. Gemma counts without its large vocabulary.
    size = 46.7e9 if "8x7B" in name else float(number) * {"B": 1e9, "M": 1e6}[unit]
    assert entry["parameters"] == pytest.approx(size, rel=0.26)
    gib = math.ceil(entry["parameters"] * BYTES[entry["dtype"]] * 1.3 / 2**30)
    assert f"{name}:  # {gib} GiB" in REGISTRY


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
    for name, label in known.items():
        assert label == shipped[name] or label.endswith(f"? ({shipped[name]})")
