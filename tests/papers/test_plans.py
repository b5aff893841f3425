"""The five papers' configurations: their plans as their head comments say, and their registries of models."""

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from almanac.config import EditionConfig, check, load, read_yaml
from almanac.config.edition import RELATIONS
from almanac.edition.costs import sizes
from almanac.job_size import BYTES
from almanac.sources import google_re
from almanac.sources.options import NOBEL
from almanac.verbs.plan import remarks

REPOSITORY = Path(__file__).parents[2]
CONFIG = REPOSITORY / "config" / "papers"
MODELS = {"wu": 49, "zhao": 17, "sun": 16, "dong": 13, "luo": 9}
COMMANDS = {
    name: [line.removeprefix("#").strip() for line in (CONFIG / f"{name}.yaml").read_text("utf-8").splitlines()[:8]]
    for name in MODELS
}
REGISTERED = [(name, *pair) for name in MODELS for pair in read_yaml(CONFIG / f"{name}_models.yaml").items()]
# Of eight experts the name has the size of one; they share what is not feed-forward.
SIZES = {"Mixtral-8x7B": 46.7e9}


def edition(name: str) -> EditionConfig:
    values = {**read_yaml(CONFIG / f"{name}.yaml"), "contact": "somebody@example.org"}
    return check(values, f"{name}.yaml", REPOSITORY)


def test_the_command_for_facts_that_are_here_is_of_settings_that_can_be(tmp_path):
    document = (REPOSITORY / "docs" / "papers.md").read_text("utf-8")
    [command] = re.findall(r"snakemake -n --configfile (config/papers/wu.yaml --config .*)", document)
    path, _, *words = shlex.split(command.replace("FOLDER", str(tmp_path)))
    found = load(
        REPOSITORY / path, {key: yaml.safe_load(value) for key, _, value in (one.partition("=") for one in words)}
    )
    assert found.sources["trex"].path == str(tmp_path)


def test_there_are_five_papers_each_with_a_registry():
    assert {path.name for path in CONFIG.iterdir()} == {
        f"{name}{more}.yaml" for name in MODELS for more in ("", "_models")
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_a_registry_is_asked_and_its_base_is_one_of_them(name):
    models = {model.name: model for model in edition(name).models}
    assert list(models) and models.keys() == read_yaml(CONFIG / f"{name}_models.yaml").keys()
    assert len(models) == MODELS[name]
    for model in models.values():
        if model.base is not None:
            assert (models[model.base].series, models[model.base].base) == (model.series, None)


@pytest.mark.parametrize(("name", "model", "entry"), REGISTERED, ids=lambda value: value if type(value) is str else "")
def test_the_size_in_a_name_is_that_of_the_parameters_and_the_memory_beside_it_follows(name, model, entry):
    if size := re.search(r"-(?:8x)?([\d.]+)([BM])(?=-|$)", model):
        billions = float(size[1]) * {"B": 1e9, "M": 1e6}[size[2]]
        said = next((own for start, own in SIZES.items() if model.startswith(start)), billions)
        # Gemma counts without its large vocabulary.
        assert entry["parameters"] == pytest.approx(said, rel=0.26)
    if "api" not in entry:
        gib = math.ceil(entry["parameters"] * BYTES[entry["dtype"]] * 1.3 / 2**30)
        assert f"\n{model}:  # {gib} GiB\n" in f"\n{(CONFIG / f'{name}_models.yaml').read_text('utf-8')}"


@pytest.mark.parametrize("tool", ["almanac plan", pytest.param("snakemake -n", marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_can_be_made_as_the_configuration_says(name, tool):
    [command] = [line for line in COMMANDS[name] if line.startswith(tool)]
    program, *words = shlex.split(command)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow")}
    ran = subprocess.run(
        [sys.executable, "-m", program, *words],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    jobs = re.findall(r"^pull_model +(\d+)$", ran.stdout + ran.stderr, re.MULTILINE)
    served = sum(model.api is not None for model in edition(name).models)
    if tool.startswith("snakemake"):
        assert int(jobs[0]) == MODELS[name] - served
    else:
        asked = [model.name for model in edition(name).models if model.suites != ()]
        assert {line.split()[0] for line in ran.stdout.splitlines()[1:]} >= {*asked, "all"}


def test_a_plan_counts_the_relations_that_a_source_is_known_to_have():
    """Lists of the configuration, laureates' four, LAMA's 41, Google-RE's, UMLS's with facts, Dong et al.'s 600."""
    known = {
        "wu": {"trex": 50, "nobel": len(NOBEL)},
        "zhao": dict.fromkeys(["encoders", "decoders", "written"], 41),
        "luo": {"trex": 41, "google_re": len(google_re.RELATIONS), "umls": 16},
        "dong": {"trex": 600, "encoder_decoders": 600, "lama": 41, "lpaqa": 41},
        "sun": {},
    }
    for name, relations in known.items():
        found = sizes(edition(name))
        assert {key: size.relations for key, size in found.items() if size.named} == relations
        assert {size.relations for size in found.values() if not size.named} <= {RELATIONS}
    config = edition("dong")
    [said] = [line for line in remarks(config, [], {}, []) if line.startswith("Dataset trex")]
    assert said == "Dataset trex: 600 relations of 20 test facts (relations as its source has, at most; facts assumed)."
    # A scheduler is not asked for less time than such a plan expects.
    tokens = config.asked_tokens("karr", "trex", 600, 20) // config.shards
    assert config.shard_tokens("karr", "trex") == tokens
