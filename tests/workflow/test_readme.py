"""The README's commands, run as they stand but small: other configurations, facts and model folder."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)


def shell(command, folder):
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment = outside | {"CONFIG": "tests/data/tiny.yaml", "PYTHON": sys.executable}
    return subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )


@pytest.fixture(scope="module")
def clone(fresh, tmp_path_factory):
    """Run the README's first block: clone the project and make the demo."""
    origin = fresh().root
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=origin, check=True)
    folder = tmp_path_factory.mktemp("newcomer")
    cloning, making = BLOCKS[0].strip().splitlines()
    cloned = shell(re.sub(r"https://\S+", str(origin), cloning), folder)
    assert cloned.returncode == 0, cloned.stderr
    # What is installed already is not installed again.
    environment = folder / "almanac" / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(Path(sys.prefix) / part)
    (environment / "installed").touch()
    made = shell(making, folder)
    assert made.returncode == 0, made.stdout + made.stderr
    (folder / "printed.txt").write_text(made.stdout)
    return folder / "almanac"


def test_the_first_block_makes_the_report_and_says_what_was_spent(clone):
    assert (clone / "results" / "tiny" / "report.html").is_file()
    again = shell("make demo", clone)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr
    assert "CPU s" in (clone.parent / "printed.txt").read_text()


def test_the_block_on_a_model_of_ones_own(clone, tmp_path):
    tokenizer = PreTrainedTokenizerFast.from_pretrained(clone / "results" / "tiny" / "models" / "base")
    torch.manual_seed(1)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(tmp_path / "mine")
    tokenizer.save_pretrained(tmp_path / "mine")
    made = shell(BLOCKS[1].replace("/models/mine", str(tmp_path / "mine")), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (clone / "results" / "mine" / "responses" / "mine" / "ic_lke" / "shipped").is_dir()


def test_the_block_on_facts_of_ones_own(clone, tmp_path):
    facts = tmp_path / "my_facts"
    facts.mkdir()
    with (facts / "entities.csv").open("w", newline="") as handle:
        rows = [["entity_id", "label", "aliases"]]
        rows += [[f"s{n}", f"Subject {n}", f"S{n}|Sub {n}"] for n in range(30)]
        rows += [[f"o{n}", f"Object {n}", ""] for n in range(15)]
        csv.writer(handle).writerows(rows)
    with (facts / "facts.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows(
            [
                ["relation_id", "subject_id", "object_id"],
                *([f"r{n % 2}", f"s{n // 2}", f"o{n % 15}"] for n in range(60)),
            ]
        )
    with (facts / "templates.csv").open("w", newline="") as handle:
        rows = [["relation_id", "style", "text"]]
        rows += [
            [relation, "statement", f"[X] is {word} of [Y]."] for relation in ("r0", "r1") for word in ("one", "part")
        ]
        rows += [[relation, "question", "What is [X] of?"] for relation in ("r0", "r1")]
        csv.writer(handle).writerows(rows)
    block = BLOCKS[2].replace("config/trex.yaml", "tests/data/own.yaml").replace("/data/my_facts", str(facts))
    made = shell(block, clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (clone / "results" / "own" / "report.html").is_file()


def test_the_readme_names_only_files_that_are_there():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (REPOSITORY / target).exists(), target


def test_every_configuration_that_is_named_is_there():
    assert len(BLOCKS) == 3
    assert shutil.which("make")
    for name in re.findall(r"config/\w+\.yaml", README):
        assert (REPOSITORY / name).is_file(), name
