"""The README's commands, run as they stand: but for the places of a model, a commit, a server and a folder of facts.

What would take minutes is planned and not run: `planned` sets an option of Snakemake's in the environment.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
import torch
import yaml
from tests.models.servers import Reply, Wire, reference_wire
from tests.models.tiny_networks import sharpen
from tests.report.reading import Page
from tests.workflow.conftest import installed, shell
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from almanac import read_edition
from almanac.config.models import ModelConfig
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.suites.listing import SUITES

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
EDITIONS = (REPOSITORY / "docs" / "editions.md").read_text(encoding="utf-8")
TUTORIAL = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")
EDITS = (REPOSITORY / "docs" / "edits.md").read_text(encoding="utf-8")
CLUSTERS = re.findall(
    r"```bash\n(.*?)```", (REPOSITORY / "docs" / "clusters.md").read_text(encoding="utf-8"), re.DOTALL
)
DEMO, OWN, REAL, ELSEWHERE, INSTALLED, STEPS, PAIRS, ENTRY, FACTS, QUESTIONS = re.findall(
    r"```bash\n(.*?)```", README, re.DOTALL
)
ENTRIES = re.findall(r"\{name: [^`]*?\}", README)
COMMIT = "0123456789abcdef" * 2 + "01234567"
ACTIVATED = "source .venv/bin/activate\n"  # which a reader types once in each terminal
SMALL = {"CONFIG": "tests/data/tiny.yaml"}  # instead of the demo, which trains for minutes


@pytest.mark.whole
def test_the_drawing_of_the_rules_is_drawn_of_the_rules_that_there_are(fresh):
    """Its arrows, which `tred` has left where no longer way leads."""
    [command] = re.findall(r"`(snakemake edition --rulegraph dot [^`|]+) \| tred", README)
    root = fresh().root
    installed(root)
    drawn = shell(f"{ACTIVATED}{command}", root, PYTHONPATH=str(root / "workflow"))
    assert drawn.returncode == 0, drawn.stderr
    names = dict(re.findall(r'(\d+)\[label = "(\w+)', drawn.stdout))
    edges = {(names[one], names[other]) for one, other in re.findall(r"(\d+) -> (\d+)", drawn.stdout)}

    def after(rule):
        return {rule}.union(*(after(other) for one, other in edges if one == rule))

    picture = (REPOSITORY / "docs" / "rules.svg").read_text(encoding="utf-8")
    shown = dict(re.findall(r"<title>(\d+)</title>.*?<text[^>]*>(\w+)", picture, re.DOTALL))
    arrows = {(shown[one], shown[other]) for one, other in re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", picture)}
    longer = {(one, end) for one, other in edges for end in after(other) - {other}}
    assert arrows == edges - longer


@pytest.fixture
def planned(tmp_path):
    """What lets Snakemake plan jobs and run none."""
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "config.yaml").write_text("dry-run: true\nprintshellcmds: true\n")
    return {"SNAKEMAKE_PROFILE": str(tmp_path / "profile")}


@pytest.fixture(scope="module")
def clone(fresh, tmp_path_factory):
    """Run the README's first block: clone the project and make the demo."""
    origin = fresh().root
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=origin, check=True)
    folder = tmp_path_factory.mktemp("newcomer")
    cloning, making = DEMO.strip().splitlines()
    cloned = shell(cloning.replace("ADDRESS", str(origin)), folder)
    assert cloned.returncode == 0, cloned.stderr
    installed(folder / "almanac")
    made = shell(making, folder, **SMALL)
    assert made.returncode == 0, made.stdout + made.stderr
    (folder / "printed.txt").write_text(made.stdout)
    return folder / "almanac"


@pytest.mark.whole
def test_the_first_block_makes_the_report_and_says_what_was_spent(clone):
    assert (clone / "results" / "tiny" / "report.html").is_file()
    again = shell("make demo", clone, **SMALL)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr
    printed = (clone.parent / "printed.txt").read_text()
    table = printed[printed.index("| model | of |") :]
    assert again.stdout.endswith(table) and table.endswith("\nresults/tiny/report.html\n")
    assert "CPU s" in printed


@pytest.fixture(scope="module")
def mine(clone, tmp_path_factory):
    """A model of one's own: tiny, with random weights, which reads as much as most do."""
    folder = tmp_path_factory.mktemp("models") / "mine"
    tokenizer = PreTrainedTokenizerFast.from_pretrained(clone / "results" / "tiny" / "models" / "base")
    torch.manual_seed(1)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    network = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=2048, **shape))
    sharpen(network)  # A server whose values are nearly alike is not trusted.
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """Facts of one's own: sixty rows of three relations, whose objects are ten."""
    folder = tmp_path_factory.mktemp("data") / "my_facts"
    folder.mkdir()
    with (folder / "entities.csv").open("w", newline="") as handle:
        rows = [["entity_id", "label", "aliases"]]
        rows += [[f"s{n}", f"Subject {n}", f"S{n}|Sub {n}"] for n in range(20)]
        rows += [[f"o{n}", f"Object {n}", ""] for n in range(10)]
        csv.writer(handle).writerows(rows)
    with (folder / "facts.csv").open("w", newline="") as handle:
        rows = [["relation_id", "subject_id", "object_id"]]
        rows += [[f"r{n % 3}", f"s{n // 3}", f"o{(n // 3 + n % 3) % 10}"] for n in range(60)]
        csv.writer(handle).writerows(rows)
    with (folder / "templates.csv").open("w", newline="") as handle:
        rows = [["relation_id", "style", "text"]]
        rows += [
            [relation, "statement", f"[X] is {word} of [Y]."]
            for relation in ("r0", "r1", "r2")
            for word in ("one", "part")
        ]
        rows += [[relation, "question", "What is [X] of?"] for relation in ("r0", "r1", "r2")]
        csv.writer(handle).writerows(rows)
    return folder


@pytest.mark.whole
def test_the_command_on_a_model_of_ones_own_asks_it_every_suite(clone, mine):
    made = shell(OWN.replace("/models/mine", str(mine)), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    results = clone / "results" / "own"
    assert (results / "report.html").is_file()
    assert "| mine | facts | IC-LKE |" in made.stdout  # what was found, to paste
    assert "Nothing is distinguishable from chance: mine" in made.stdout
    assert str(Path("results/own/report.html")) in made.stdout
    assert {path.parent.name for path in results.glob("responses/mine/*/facts")} == set(SUITES)
    assert not (results / "planting").exists()


@pytest.mark.whole
def test_an_edition_of_the_facts_that_ship_is_frozen_and_moved_as_is_written(clone, mine, tmp_path):
    made = shell(OWN.replace("/models/mine", str(mine)), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    text = (clone / "results" / "own" / "report.html").read_text(encoding="utf-8")
    [command] = re.findall(r"<code>(almanac freeze [^<]*)</code>", text)
    assert command in EDITIONS
    frozen = shell(f'export PATH="$PWD/.venv/bin:$PATH"\n{command}', clone, PYTHONPATH=str(clone / "workflow"))
    assert frozen.returncode == 0 and "digest " in frozen.stdout, frozen.stderr
    [archive] = (clone / "results" / "editions" / "own").glob("own-*.zip")
    with zipfile.ZipFile(archive) as opened:
        assert b"CC0-1.0" in opened.read("sources/facts/LICENCE.txt")
    _, moving, again = re.findall(r"```bash\n(.*?)```", EDITIONS, re.DOTALL)
    place = tmp_path / "moved"
    gone = mine.rename(tmp_path / "gone")
    try:
        command = f'export PATH="$PWD/.venv/bin:$PATH"\n{moving.replace("/data/moved", str(place))}'
        moved = shell(command, clone, PYTHONPATH=str(clone / "workflow"))
    finally:
        gone.rename(mine)
    assert "0 of them differ; 0 only in A, 0 only in B" in moved.stdout, moved.stderr
    assert (place / "report.html").read_text(encoding="utf-8") == text, "without the model"
    assert list(read_edition(place).models) == ["mine"]
    made = shell(again.replace("/models/mine", str(mine)).replace("own-0123456789ab.zip", str(archive)), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    command = f'export PATH="$PWD/.venv/bin:$PATH"\nalmanac differences results/own {archive}'
    same = shell(command, clone, PYTHONPATH=str(clone / "workflow")).stdout
    assert "0 of them differ; 0 only in A, 0 only in B" in same, same


@pytest.mark.whole
def test_facts_of_ones_own_are_frozen_once_their_terms_are_given(clone, mine, facts, planned):
    command, *_ = re.findall(r"```bash\n(.*?)```", EDITIONS, re.DOTALL)
    own = command.replace("/models/mine", str(mine)).replace("/data/my_facts", str(facts))
    made = shell(own, clone, **planned)
    assert made.returncode == 0, made.stdout + made.stderr
    said = (made.stdout + made.stderr).replace("\\", "")
    assert '"licence":"CC-BY-4.0","redistributable":true' in said
    assert "Ada Lovelace" in said


@pytest.fixture(scope="module")
def environment(clone, tmp_path_factory):
    """Run the installing line in an environment of one's own, which has all that Almanac needs and not Almanac."""
    folder = tmp_path_factory.mktemp("environment") / "own"
    venv.create(folder)
    [packages] = folder.glob("lib/*/site-packages")
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    needed = folder / "bin" / "snakemake"
    needed.write_text(f"#!{folder}/bin/python\nfrom snakemake.cli import main\nmain()\n")
    needed.chmod(0o755)
    (folder / "bin" / "pip").write_text(f'#!/bin/sh\nexec {folder}/bin/python -m pip "$@"\n')
    (folder / "bin" / "pip").chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Without a network: what builds the package is there.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_IGNORE_INSTALLED": "1", "PIP_NO_DEPS": "1"}
    installing, _ = INSTALLED.strip().splitlines()
    made = shell(installing.replace("ADDRESS", f"file://{clone}"), folder, PATH=path, **offline)
    assert made.returncode == 0, made.stdout + made.stderr
    return {"PATH": path}


@pytest.mark.whole
def test_what_pip_installs_asks_the_same_without_a_clone(clone, mine, environment, tmp_path):
    _, running = INSTALLED.strip().splitlines()
    for name in ("almanac", "statistics"):  # a job would take such a file of the folder for the module
        (tmp_path / f"{name}.py").write_text("raise ImportError('another module')\n")
    made = shell(running.replace("/models/mine", str(mine)), tmp_path, **environment)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "| mine | facts | IC-LKE |" in made.stdout
    refused = shell("almanac run -- --software-deployment-method conda --dry-run", tmp_path, **environment)
    assert refused.returncode == 1 and "needs a checkout of the project, not an installed package" in refused.stderr
    cloned = shell(OWN.replace("/models/mine", str(mine)), clone)
    assert cloned.returncode == 0, cloned.stdout + cloned.stderr
    page = Path("results") / "own" / "report.html"
    assert (tmp_path / page).read_bytes() == (clone / page).read_bytes()
    python = "import almanac, almanac.versions; print(almanac.__file__, almanac.versions.commit())"
    place, commit = shell(f"python -P -c '{python}'", tmp_path, **environment).stdout.split()
    assert not Path(place).is_relative_to(REPOSITORY)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True)
    assert commit == head.stdout.strip()
    frozen = shell("almanac freeze --edition results/own --output .", tmp_path, **environment)
    assert frozen.returncode == 0, frozen.stderr
    [archive] = tmp_path.glob("own-*.zip")
    with zipfile.ZipFile(archive) as opened:
        assert f"torch=={metadata.version('torch')}\n" in opened.read("lock.txt").decode()
    assert shell(f"almanac verify edition {archive}", tmp_path, **environment).returncode == 0
    compared = shell(f"almanac differences {archive} results/own", tmp_path, **environment)
    assert compared.returncode == 0, compared.stdout


@pytest.mark.whole
def test_each_command_of_who_has_installed_it_is_taken(mine, facts, environment, tmp_path):
    lines = (REPOSITORY / "docs" / "installed.md").read_text(encoding="utf-8").splitlines()
    commands = [line.split(" | ")[1].strip(" |`") for line in lines if line.startswith("| `")][:-1]
    assert len(commands) == 8
    for name in ("mine", "a", "b"):
        shutil.copytree(mine, tmp_path / "models" / name)
    (tmp_path / "inventory.csv").write_text("subject,relation,object\nPeru,continent,South America\n")
    for command in commands:
        words = command.replace("/models/", f"{tmp_path}/models/").replace("/data/my_facts", str(facts))
        if words.startswith("almanac run") and "--list" not in words:
            words += " --dry-run" if " -- " in words else " -- --dry-run"
        done = shell(words, tmp_path, **environment)
        assert done.returncode == 0, words + done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.whole
def test_what_a_run_has_not_finished_is_neither_frozen_nor_read_without_a_word(clone, mine, tmp_path):
    activated = f'export PATH="{clone}/.venv/bin:$PATH"'
    running = f"{activated}\nalmanac run --model {mine} --suites lke_prompts"
    assert shell(running, tmp_path).returncode == 0
    again = shell(f"{running} --size full -- --until ask_lke_prompts", tmp_path)
    assert again.returncode == 0 and "it is made anew for size full" in again.stderr
    frozen = shell(f"{activated}\nalmanac freeze --edition results/own --output .", tmp_path)
    assert frozen.returncode == 1 and "report.html: there is no page, as its run has not ended" in frozen.stderr
    with pytest.warns(UserWarning, match="own has no page: its run has not ended"):
        read_edition(tmp_path / "results" / "own")
    assert shell(f"{running} --size full", tmp_path).returncode == 0
    assert read_edition(tmp_path / "results" / "own").known["fact"].nunique() == 1248
    assert "Nothing to be done" in shell(f"{running} --size full", tmp_path).stderr
    assert (tmp_path / "results" / "own" / "report.html").is_file()


@pytest.mark.whole
def test_the_command_on_a_repository_of_the_hub_asks_the_hub_for_the_commit(clone):
    hub, _ = ELSEWHERE.splitlines()
    refused = shell(hub.replace("COMMIT", COMMIT), clone, HF_HUB_OFFLINE="1")
    said = refused.stdout + refused.stderr
    assert f"model EleutherAI/pythia-70m at {COMMIT}: cannot be downloaded from the hub" in said
    assert "unset HF_HUB_OFFLINE" in said
    unpinned = shell(hub, clone)
    assert "EleutherAI/pythia-70m@COMMIT" in unpinned.stderr and "40 hexadecimal digits" in unpinned.stderr


@pytest.mark.whole
def test_the_command_on_a_server_plans_every_suite(clone, planned):
    _, server = ELSEWHERE.splitlines()
    made = shell(server, clone, **planned)
    assert made.returncode == 0, made.stdout + made.stderr
    answering = re.findall(r"^answer_\w+-\d+ +(\d+)$|^answer_requests +(\d+)$", made.stdout + made.stderr, re.MULTILINE)
    assert set(answering) == {("2", "")}, "a job a shard, whatever is asked"
    assert "measure_" in made.stdout + made.stderr


@pytest.mark.skipif(shutil.which("sbatch") is None, reason="SLURM is not installed")
@pytest.mark.whole
def test_the_commands_on_a_cluster_plan_jobs_for_each_model(clone, mine, planned):
    """They run on a real cluster, with a small edition, in tests/workflow/test_slurm.py."""
    models = mine.parent / "of_a_cluster"
    for name in ("a", "b", "c", "large"):
        shutil.copytree(mine, models / name)
    for block, wanted in zip(
        CLUSTERS, ({"plant_model"}, {"answer_together_a", "answer_together_c"}, {"answer_together_large"}), strict=True
    ):
        made = shell(block.replace("/models/", f"{models}/"), clone, **planned)
        said = made.stdout + made.stderr
        assert made.returncode == 0, said
        assert wanted | {"ask_karr", "report_edition"} <= set(said.split())


@pytest.mark.whole
def test_the_questions_about_ones_own_facts_are_read_before_a_model_is_asked(clone, mine, facts):
    asked = QUESTIONS.replace("/models/mine", str(mine)).replace("/data/my_facts", str(facts))
    asked = asked.replace("results/own", "results/read").replace('"-- data"', '"edition=read -- data"')
    made = shell(f"{ACTIVATED}{asked}", clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "FactEval, dataset facts: " in made.stdout and "  | What is Subject " in made.stdout
    assert not list((clone / "results" / "read").glob("responses/**/*.parquet"))


@pytest.mark.whole
def test_the_suites_that_are_named_are_asked_alone_of_all_facts(clone, mine, planned):
    [suites] = re.findall(r"`(SUITES=[^`]*)`", README)
    made = shell(f"{OWN.strip()} SIZE=all {suites}".replace("/models/mine", str(mine)), clone, **planned)
    assert made.returncode == 0, made.stdout + made.stderr
    asked = re.findall(r"^ask_([a-z_]+) +\d+$", made.stdout + made.stderr, re.MULTILINE)
    assert set(asked) == {"ic_lke", "karr"}
    assert "--test 10000" in made.stdout + made.stderr


@pytest.mark.whole
def test_the_command_on_two_checkpoints_compares_them_by_every_method(clone, mine):
    steps = mine.parent / "several"
    for name in ("step-1000", "step-2000"):
        shutil.copytree(mine, steps / name)
    made = shell(STEPS.replace("/models/mine", str(steps)), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "On facts, step-2000 and step-1000 do not differ by more than chance, by " in made.stdout
    with (clone / "results" / "own" / "tables" / "compared-differences.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert {(row["model"], row["minus"]) for row in rows} == {("step-2000", "step-1000")}
    assert "IC-LKE" in {row["method"] for row in rows} and {float(row["difference"]) for row in rows} == {0.0}
    told = re.search(r"step-2000 and step-1000 differ by more than chance in none of (\d+) relations\.", made.stdout)
    with (clone / "results" / "own" / "tables" / "compared-differences-facts.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == int(told[1]) > 30
    assert {(row["model"], row["minus"]) for row in rows} == {("step-2000", "step-1000")}


@pytest.mark.whole
def test_the_command_on_pairs_compares_these_alone_in_their_order(clone, mine):
    models = mine.parent / "pairs"
    for name in ("base", "tuned", "other"):
        shutil.copytree(mine, models / name)
    made = shell(PAIRS.strip().replace("/models/", f"{models}/") + " SUITES=ic_lke", clone)
    assert made.returncode == 0, made.stdout + made.stderr
    with (clone / "results" / "own" / "tables" / "compared-differences.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["model"], row["minus"]) for row in rows] == [("tuned", "base"), ("other", "base")]


@pytest.mark.whole
def test_an_edited_model_is_compared_as_is_written(clone, mine, tmp_path):
    """The configuration and the notebook of docs/edits.md, of two models that are one."""
    for name in ("new", "old", "rest"):
        folder = clone / "edits" / name
        folder.mkdir(parents=True)
        rows = [f"{relation},s{n},o{(n + (name == 'new')) % 10}" for relation in ("r0", "r1") for n in range(24)]
        rows = [f"{row},{'train' if n % 24 < 8 else 'test'}" for n, row in enumerate(rows)]
        (folder / "facts.csv").write_text("\n".join(["relation_id,subject_id,object_id,split", *rows]))
        named = [f"s{n},Subject {n}" for n in range(24)] + [f"o{n},Object {n}" for n in range(10)]
        (folder / "entities.csv").write_text("\n".join(["entity_id,label", *named]))
        worded = [
            f"{relation},statement,[X] is {word} of [Y]." for relation in ("r0", "r1") for word in ("one", "part")
        ]
        (folder / "templates.csv").write_text("\n".join(["relation_id,style,text", *worded]))
    for name in ("base", "edited"):
        shutil.copytree(mine, tmp_path / name)
    (block,) = re.findall(r"```bash\n(.*?)```", EDITS, re.DOTALL)
    made = shell(block.replace("/models/", f"{tmp_path}/"), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "On rest, edited and base do not differ by more than chance, by " in made.stdout
    (code,) = re.findall(r"```python\n(.*?)```", EDITS, re.DOTALL)
    asked = "print(sorted(set(tested.model)), len(known) > 0, len(gained), len(lost), len(by_wording))"
    (clone / "edits.py").write_text(f"{code}\n{asked}\n")
    said = shell(f"{sys.executable} edits.py", clone, PYTHONPATH=str(clone / "workflow"))
    assert said.stdout.split("\n")[0] == "['edited'] True 0 0 4", said.stdout + said.stderr


@pytest.mark.whole
def test_a_model_as_an_entry_is_asked_the_facts_that_ship(clone, mine):
    made = shell(ENTRY.replace("/models/mine", str(mine)), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (clone / "results" / "mine" / "responses" / "mine" / "ic_lke" / "shipped").is_dir()
    assert "no model is asked ic_lke, " in made.stderr and "on invented" in made.stderr


def chatting(model):
    """Serve a model's completions, and a chat as the completion of what is said in it."""
    plain = reference_wire(model)

    def answer(call):
        if not call.path.endswith("/chat/completions"):
            return plain.answer(call)
        said = {"prompt": " ".join(turn["content"] for turn in call.body["messages"]), "max_tokens": 1}
        [choice] = json.loads(plain.answer(replace(call, body=said)).body)["choices"]
        message = {"role": "assistant", "content": choice["text"]}
        return Reply.of({"choices": [{"index": 0, "finish_reason": "length", "message": message}]})

    return Wire(answer)


@pytest.mark.whole
def test_a_model_behind_a_server_as_an_entry_is_asked(clone, mine):
    [entry] = [entry for entry in ENTRIES if "api:" in entry]
    with chatting(load(str(mine), AnswerOptions(device="cpu"))).running() as address:
        served = ENTRY.replace("{name: mine, path: /models/mine}", entry).replace("edition=mine", "edition=served")
        made = shell(served.replace("http://localhost:8000/v1", address), clone, **SMALL)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (clone / "results" / "served" / "measures" / "served" / "ic_lke" / "shipped.parquet").is_file()


@pytest.mark.parametrize("name", ["config", "trex"])
@pytest.mark.whole
def test_models_that_are_kept_are_asked_beside_the_others(clone, mine, facts, planned, name):
    """By the README's words: their entries go into the registry, and their names into the edition's `models`."""
    entries = [yaml.safe_load(entry.replace("COMMIT", COMMIT).replace("/models/mine", str(mine))) for entry in ENTRIES]
    assert [one["name"] for one in entries] == ["mine", "pythia-70m", "served"]
    assert all(ModelConfig(**one) for one in entries)
    registry, edition = clone / "config" / "models.yaml", clone / "config" / f"{name}.yaml"
    before = {path: path.read_text() for path in (registry, edition)}
    registry.write_text(before[registry] + yaml.safe_dump({one.pop("name"): one for one in map(dict, entries)}))
    values = yaml.safe_load(before[edition])
    edition.write_text(yaml.safe_dump(values | {"models": ["mine", "pythia-70m", "served", *values["models"]]}))
    command = "make demo" if name == "config" else FACTS.splitlines()[1].replace("/data/my_facts", str(facts))
    try:
        made = shell(command, clone, **planned)
    finally:
        for path, text in before.items():
            path.write_text(text)
    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    assert {"answer_together_mine", "answer_requests", "pull_model", "plant_model"} <= set(said.split())


@pytest.mark.whole
def test_the_commands_on_facts_of_ones_own(clone, mine, facts, planned):
    """The first is run by the tutorial's test, on the tutorial's facts."""
    own, trex = (line.replace("/data/my_facts", str(facts)) for line in FACTS.splitlines())
    made = shell(own.replace("/models/mine", str(mine)), clone, **planned)
    assert made.returncode == 0, made.stdout + made.stderr
    # Facts for the paper's numbers would be many: a configuration of the same form with smaller ones.
    made = shell(trex.replace("config/trex.yaml", "tests/data/own.yaml"), clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (clone / "results" / "own-small" / "report.html").is_file()


@pytest.mark.whole
def test_a_run_says_what_it_replaces_and_how_to_keep_it(clone, mine, planned, tmp_path):
    own = OWN.strip()
    made = shell(f'{own.replace("/models/mine", str(mine))} ARGS="--until record_edition"', clone)
    assert made.returncode == 0, made.stdout + made.stderr
    other = str(shutil.copytree(mine, tmp_path / "other"))
    said = shell(own.replace("/models/mine", other), clone, **planned).stderr
    assert (
        f"almanac: results/own was made for model {mine}; it is made anew for model {other}; keep both with ARGS="
        in said
    )
    [kept] = re.findall(r"`(make own [^`]*edition=NAME[^`]*)`", README)
    made = shell(kept.replace("/models/mine", other), clone, **planned)
    assert made.returncode == 0 and "results/NAME/report.html" in made.stdout + made.stderr
    assert "made anew" not in made.stderr


@pytest.mark.whole
def test_rows_that_stand_twice_are_merged_by_the_words_of_the_refusal(clone, mine, facts, planned, tmp_path):
    twice = shutil.copytree(facts, tmp_path / "twice")
    with (twice / "entities.csv").open("a") as handle:
        handle.write("s3,Subject 3,\n")
    command = f"make own MODEL={mine} FACTS={twice} ARGS=edition=twice"
    refused = shell(command, clone).stderr
    assert "entities.csv: line 32: entity 's3' is also in line 5; keep one row, or set" in refused
    [remedy] = set(re.findall(r'ARGS="datasets=[^"]*"', refused))
    merged = shell(command.replace("ARGS=edition=twice", remedy), clone, **planned)
    assert merged.returncode == 0 and "--merge" in merged.stdout + merged.stderr, merged.stderr
    misplaced = shell(command.replace("edition=twice", "merge=true"), clone).stderr
    assert "merge: is unknown; did you mean datasets.facts.merge (datasets='{facts: {merge: true}}')" in misplaced


@pytest.mark.whole
def test_the_tutorial_as_it_stands(clone):
    """Every command, in order; and the mistake that the text asks for."""
    if (fetched := REPOSITORY / ".real-model").is_dir():
        (clone / fetched.name).symlink_to(fetched)
    outside = {"PYTHONPATH": str(clone / "workflow")}
    fetching, written, planned, asked, read, went_on = re.findall(r"```bash\n(.*?)```", TUTORIAL, re.DOTALL)
    if shell(fetching, clone).returncode != 0:
        pytest.skip("the model cannot be fetched here (make real-model)")
    assert shell(written, clone).returncode == 0
    plan = shell(f"{ACTIVATED}{planned}", clone, **outside)
    assert "Dataset facts: 1 relation of 32 test facts (counted)." in plan.stderr, plan.stderr
    table = clone / "continents.csv"
    right = table.read_text()
    table.write_text(right + "Oman,continent,\n")
    refused = shell(asked, clone)
    assert refused.returncode != 0 and "continents.csv: line 56: has no object" in refused.stderr
    table.write_text(right)
    made = shell(asked, clone)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "results/own/report.html" in made.stdout
    [answer] = re.findall(r"^    (Dataset facts: .*\n)    (Without .*\n)", TUTORIAL, re.MULTILINE)
    assert "".join(answer) in made.stdout
    told = [line.split(" | ") for line in re.findall(r"^\| (.*) \|$", made.stdout, re.MULTILINE)]
    for row in re.findall(r"^\| ((?:BELIEF|FactEval|IC-LKE).*) \|$", TUTORIAL, re.MULTILINE):
        assert row.split(" | ") in [[*line[2:6], line[8]] for line in told if len(line) == 9]
    carried = json.dumps(Page((clone / "results" / "own" / "report.html").read_text()).data)
    assert "Mongolia" in carried and "South America" in carried
    shown = shell(f"{ACTIVATED}{read}", clone, **outside)
    assert shown.returncode == 0 and "0.75" in shown.stdout and "above chance" in shown.stdout, shown.stderr
    made = shell(f"{ACTIVATED}{went_on}", clone, **outside)
    assert made.returncode == 0 and "| smollm2-135m-instruct | facts | BELIEF" in made.stdout, made.stdout + made.stderr


@pytest.mark.whole
def test_a_model_that_is_not_named_is_asked_for(clone):
    refused = shell("make own", clone)
    assert refused.returncode != 0
    assert "almanac: name the model: make own MODEL=/models/mine" in refused.stderr


@pytest.mark.whole
def test_what_a_model_is_called_reaches_no_shell(clone):
    for name in ("$$(touch hit)", "a; touch hit", "it's"):
        refused = shell('make own MODEL="$NAME"', clone, NAME=name)
        assert "there is no folder" in refused.stderr, refused.stderr
    assert not (clone / "hit").exists()


def test_the_readme_names_only_files_that_are_there():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (REPOSITORY / target).exists(), target


def test_the_model_that_is_fetched_is_the_one_that_is_asked():
    """`make test-real-model` runs both lines."""
    fetching, asking = REAL.splitlines()
    assert fetching == "make real-model" and asking == f"{OWN.strip()}".replace(
        "/models/mine", ".real-model/smollm2-135m-instruct"
    )


def test_every_configuration_that_is_named_is_there():
    assert shutil.which("make")
    for name in set(re.findall(r"config/\w+\.yaml", README)) - {"config/nobell.yaml"}:
        assert (REPOSITORY / name).is_file(), name
