"""The plan's numbers against sums by hand, and against what the rules ask a scheduler for."""

import csv
import json
from pathlib import Path

import pytest
import yaml

from almanac.cli import main
from almanac.config import EditionConfig, load
from almanac.edition.costs import TRAINING, by_model, costs, total
from almanac.resources import LEAST_MINUTES, needs

REPOSITORY = Path(__file__).parents[1]
B = 1_000_000_000
VALUES = {
    "edition": "mine",
    "facts": "my_facts",
    "sources": {"mine": {}},
    "planting": {"worlds": {"one": {}, "two": {}}},
    "datasets": {
        "real": {"source": "mine", "train": 50, "test": 100, "choices": 10},
        "one": {"world": "one", "train": 50, "test": 20, "choices": 10},
    },
    "suites": {"ic_lke": {"real": {"shots": 50}, "one": {"shots": 50}}},
    "models": [
        {"name": "large", "hub": "owner/large", "revision": "unpinned", "parameters": 7 * B, "dtype": "bfloat16"},
        {"name": "tiny", "path": "tiny", "parameters": 10**6},
        {"name": "far", "api": "http://localhost:8000/v1"},
        {"name": "made", "planted": {}},
    ],
    "shards": 4,
}


def edition(**changes):
    return EditionConfig.model_validate(VALUES | changes)


def rows_of(config, model):
    return [row for row in costs(config) if row.model == model]


def test_a_large_model_takes_a_gpu_and_is_downloaded_once():
    [row] = rows_of(edition(), "large")
    # 50 relations: examples once, 100 facts with 10 choices of 8 tokens.
    assert row.tokens == 50 * (50 * 10 + 100 * 10 * 8)
    assert row.gpu_hours == pytest.approx(2 * 7e9 * row.tokens / 1e14 / 3600)
    assert row.core_hours == 0
    assert row.gpu_gib == pytest.approx(7e9 * 2 * 1.3 / 2**30)
    assert row.download_bytes == 14 * B


def test_without_gpus_the_same_model_takes_a_core():
    [row] = rows_of(edition(gpus=0), "large")
    assert (row.gpu_hours, row.gpu_gib) == (0, 0)
    assert row.core_hours == pytest.approx(2 * 7e9 * row.tokens / 2e10 / 3600)


def test_a_server_takes_no_time_of_ours_and_a_folder_is_not_downloaded():
    [far] = rows_of(edition(), "far")
    assert (far.gpu_hours, far.core_hours, far.download_bytes) == (0, 0, 0)
    assert far.tokens > 0
    [tiny] = rows_of(edition(), "tiny")
    assert (tiny.gpu_hours, tiny.download_bytes) == (0, 0)
    assert tiny.core_hours > 0


def test_a_recipe_is_trained_in_every_world_and_asked_of_its_own():
    names = [(row.model, row.suite, row.dataset) for row in costs(edition()) if row.model.startswith("made")]
    assert names == [
        ("made-one", TRAINING, "one"),
        ("made-one", "ic_lke", "real"),
        ("made-one", "ic_lke", "one"),
        ("made-two", TRAINING, "two"),
        ("made-two", "ic_lke", "real"),
    ]


def test_sums_are_sums():
    rows = costs(edition())
    whole = total(rows)
    assert whole.tokens == sum(row.tokens for row in rows) == sum(row.tokens for row in by_model(rows))
    assert whole.gpu_hours == pytest.approx(sum(row.gpu_hours for row in rows))
    assert whole.gpu_gib == max(row.gpu_gib for row in rows)
    assert [row.model for row in by_model(rows)] == ["large", "tiny", "far", "made-one", "made-two"]


@pytest.mark.parametrize("parameters", [10**8, 7 * B])
def test_the_plan_and_the_scheduler_are_told_the_same(parameters):
    config = edition(models=[{"name": "m", "path": "m", "parameters": parameters}], shards=1)
    [row] = costs(config)
    asked = needs(parameters, row.tokens)
    assert asked.gpu == (row.gpu_hours > 0)
    assert asked.runtime == int(LEAST_MINUTES + (row.gpu_hours + row.core_hours) * 60)


def test_the_papers_plan_is_whole(tmp_path, capsys):
    words = [
        "plan",
        "--configfile",
        str(REPOSITORY / "config" / "papers" / "wu.yaml"),
        "--config",
        "contact=a@example.org",
    ]
    words += [f"registry={REPOSITORY / 'config' / 'papers' / 'wu_models.yaml'}", "--output", str(tmp_path / "plan.csv")]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1 + 49 + 1
    assert "Not counted: the download of sources.trex" in shown.err
    rows = list(csv.DictReader((tmp_path / "plan.csv").open()))
    assert len({row["model"] for row in rows}) == 49
    # Every parameter of the 49 checkpoints in two bytes.
    registry = yaml.safe_load((REPOSITORY / "config" / "papers" / "wu_models.yaml").read_text())
    stored = 2 * sum(entry["parameters"] for entry in registry.values())
    assert sum(int(row["download_bytes"]) for row in rows) == stored


def test_keys_are_set_anew_as_in_snakemake(tmp_path, monkeypatch):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES))
    out = tmp_path / "plan.json"
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--configfile", str(path), "--config", "gpus=0", "models=[]", "--output", str(out)]) == 0
    assert json.loads(out.read_text()) == []
    assert main(["plan", "--configfile", str(path), "--config", "gpus=0", "--output", str(out), "--by", "asking"]) == 0
    assert len(json.loads(out.read_text())) == len(costs(load(path, {"gpus": 0})))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "gpus"], "--config: 'gpus' is no KEY=VALUE; give one like shards=4"),
        (["--config", "gpus={"], "the value is no YAML"),
        (["--config", "gpu=1"], "gpu: is unknown; did you mean gpus?; see the keys allowed"),
        (["--output", "plan.txt"], "--output: plan.txt ends in '.txt'; allowed are .csv and .json"),
        (["--config", "shards=0"], "shards: must be at least 1"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_reason(tmp_path, capsys, words, message):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(VALUES))
    assert main(["plan", "--configfile", str(path), *words]) == 1
    assert message in capsys.readouterr().err
