"""The whole chain on the tiny edition: from facts to the page, again, after a kill, and with a user's own model."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial

import pytest
import torch
from tests.no_flock import without_flock
from tests.report.reading import Page
from tests.workflow.conftest import Project
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from almanac.config import Asking
from almanac.edition.archive import freeze
from almanac.edition.layout import Layout
from almanac.rows import Item, Measure, Outcome, Response, Setting
from almanac.suites.judged import conditions_of
from almanac.tables import read, read_metadata, write
from almanac.unfinished import ENDING


def test_the_page_and_every_table_of_the_layout_are_there(done):
    assert (done.results / "report.html").stat().st_size > 50_000
    layout = Layout.open(done.results)
    assert [str(path) for path, row in layout.tables().items() if not path.is_file()] == []
    for path, row in layout.tables().items():
        read(path, row)


@pytest.mark.parametrize(("flags", "limited"), [((), False), (("--max-jobs-per-timespan", "5/1s"), True)])
def test_a_limit_of_jobs_is_the_users(fresh, flags, limited):
    """By Snakemake's own, each job that ended has it look at all waiting jobs once a second more."""
    project = fresh()
    path = project.root / "Snakefile"
    said = "    print('limited:', workflow.scheduler.job_rate_limiter is not None)\n"
    path.write_text(path.read_text().replace("    lift_limit()\n", f"    lift_limit()\n{said}"))
    made = project.snakemake(*flags, "--", "results/tiny/edition.json")
    assert f"limited: {limited}" in made.stdout + made.stderr


def test_a_second_run_schedules_nothing(done):
    again = done.snakemake()
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


@pytest.mark.parametrize(
    ("gone", "maker"),
    [
        ("dataset/shipped/popularity.parquet", "build_dataset"),
        ("requests/ic_lke/invented/asked/all/requests-1.parquet", "ask_ic_lke"),
        ("responses/base/ic_lke/invented/asked/all/responses-0.parquet", "answer_together_base"),
        ("outcomes/base/ic_lke/shipped/outcomes.parquet", "measure_base"),
        ("measures/across.parquet", "measure_across"),
        ("figures", "report_edition"),
    ],
)
def test_what_is_deleted_of_a_finished_edition_is_made_again(done, plan, tmp_path, gone, maker):
    (done.results / gone).rename(tmp_path / "gone")
    try:
        planned = plan(done.flags())
    finally:
        (tmp_path / "gone").rename(done.results / gone)
    assert f"rule {maker}:" in planned


def test_everything_that_the_page_and_the_archive_are_made_of_belongs_to_a_finished_edition(done):
    layout = Layout.open(done.results)
    products = set(layout.products())
    assert set(layout.tables()) | {done.results / "edition.json", done.results / "report.html"} < products
    assert done.results / "sources" / "shipped" / "pull.json" in products
    assert [path for path in products if not path.exists()] == []


@pytest.mark.whole
def test_facts_replaced_by_older_ones_are_pulled_again(done, tmp_path):
    """As `mv`, `cp -p` and `rsync -a` put them there: newer than nothing that was made of them."""
    folder = tmp_path / "facts"
    shutil.copytree(done.root / "resources" / "facts", folder)
    words = ["--config", "edition=older", f"sources={{shipped: {{path: {folder}}}}}", "--"]
    words.append("results/older/sources/shipped/pull.json")
    assert done.snakemake(*words).returncode == 0
    again = done.snakemake("--dry-run", *words)
    assert "Nothing to be done" in again.stdout + again.stderr
    path = folder / "entities.jsonl"
    path.write_text(path.read_text().replace("France", "Fransa"))
    os.utime(path, ns=(10**18, 10**18))
    replaced = done.snakemake("--dry-run", *words)
    assert "rule pull_files:" in replaced.stdout + replaced.stderr


def test_what_each_rule_has_spent_is_printed(done):
    printed = done.almanac("report", "spent", "--edition", str(done.results)).stdout
    for rule in ("plant_model", "answer_together", "measure_model", "report_edition", "all"):
        assert rule in printed


def test_every_log_ends_with_what_the_job_spent(done):
    logs = list((done.results / "logs").rglob("*.log"))
    assert len(logs) >= 18
    assert done.almanac("report", "failed", "--edition", str(done.results)).stdout.strip() == ""


@pytest.mark.parametrize("moment", ["logs/plant_model/base.log", "logs/answer_together/base"])
@pytest.mark.whole
def test_a_killed_run_goes_on_to_the_same_bytes(done, fresh, moment):
    project = fresh()
    run = subprocess.Popen(
        project.command(),
        cwd=project.root,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    while not (project.results / moment).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    assert run.poll() is None, "the run ended before it could be killed"
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    resumed = project.snakemake()
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert project.hashes() == done.hashes()
    assert list(project.results.rglob(f"*{ENDING}")) == []


@pytest.mark.parametrize("profile", ["none", "profiles/default"])
@pytest.mark.whole
def test_two_runs_at_once_are_refused(done, profile):
    """As `make` starts Snakemake, and as a user does without `make`; what only shows something is not refused."""
    plain = ("snakemake", "--cores", "2", "--workflow-profile", profile, "--configfile", "tests/data/tiny.yaml")
    begin = (
        "import sys, time; from pathlib import Path; from almanac.locked import begin; begin([], Path('results/tiny'))"
    )
    with subprocess.Popen(
        ["python3", "-c", f"{begin}; print(1, flush=True); time.sleep(600)"],
        cwd=done.root,
        env=done.environment(),
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()
        refused = [done.run(*plain), done.snakemake("--workflow-profile", profile)]
        shown = [done.run(*plain, flag) for flag in ("--summary", "--unlock", "--dry-run")]
        other.kill()
    for run in refused:
        assert (run.returncode, "another run is at work in this folder" in run.stderr) == (1, True), run.stderr
    assert [run.returncode for run in shown] == [0, 0, 0]
    assert done.run(*plain).returncode == 0


@without_flock
@pytest.mark.whole
def test_a_run_without_locks_works_and_says_what_is_not_protected(done):
    """The kernel answers flock as it does where a file system has none."""
    table = done.results / "measures" / "across.parquet"
    before = table.read_bytes()
    table.unlink()
    made = done.run(sys.executable, "tests/no_flock.py", *done.command())
    assert made.returncode == 0, made.stderr
    assert "this file system has no locks, so that a second run in this folder is not refused" in made.stderr
    assert table.read_bytes() == before


def checkpoint(done, folder, seed=0, length=512):
    """Save a small network of random weights, which reads so many tokens, with the demo's tokenizer."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(done.results / "models" / "base")
    torch.manual_seed(seed)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    network = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=length, **shape))
    for part in (network, tokenizer):
        part.save_pretrained(folder)
    return folder


@pytest.mark.whole
def test_a_checkpoint_of_the_users_is_asked_the_real_facts(done, tmp_path):
    checkpoint(done, tmp_path / "mine")
    own = ["--config", f"models=[{{name: mine, path: {tmp_path / 'mine'}}}]", "edition=mine"]
    built = done.snakemake(*own)
    assert built.returncode == 0, built.stdout + built.stderr
    results = done.root / "results" / "mine"
    answered = {path: path.read_bytes() for path in (results / "responses").rglob("*.parquet")}
    # By another suite too, which asks again what depends on the answers: what is there of the first stays.
    both = [*own, "suites={karr: {shipped: {sample: 2, spurious: true}}}"]
    built = done.snakemake(*both)
    assert built.returncode == 0, built.stdout + built.stderr
    logs = [path.read_text() for path in (results / "logs" / "answer_together" / "mine").glob("*.log")]
    assert sum(log.count("is there already") for log in logs) == len(answered) == len(logs)
    assert {path: path.read_bytes() for path in answered} == answered
    assert (results / "measures" / "mine" / "karr" / "shipped.parquet").is_file()
    measured = (results / "logs" / "measure_model" / "mine.log").read_text()
    assert re.findall(r"^(\w+) of shipped: kept: ", measured, re.MULTILINE) == ["ic_lke"]
    outcomes = read(results / "outcomes" / "mine" / "ic_lke" / "shipped" / "outcomes.parquet", Outcome)
    assert outcomes
    assert {row.outcome for row in outcomes} <= {"correct", "incorrect"}
    assert not (results / "outcomes" / "mine" / "ic_lke" / "invented").exists()
    page = (results / "report.html").read_text()
    assert "mine" in page
    layout = Layout.open(results)
    [asking] = [one for one in layout.config.asked() if one.suite == "karr"]
    first, second = layout.rounds(asking)
    assert [path for one in (first, second) for path in one.responses if not path.is_file()] == []
    added = {item.item: item for item in read(second.folder / "items.parquet", Item)}
    assert min(added) == len(read(first.folder / "items.parquet", Item)), "items are counted on"
    settings = {row.setting: row.fields for row in read(second.folder / "settings.parquet", Setting)}
    assert all(json.loads(settings[item.setting]) == {"asked": "spurious"} for item in added.values())
    logs = [path.read_text() for path in (results / "logs" / "answer_requests" / "mine").rglob("*.log")]
    copied = [int(count) for log in logs for count in re.findall(r"(\d+) responses were copied from", log)]
    assert len(copied) == len(logs) == layout.config.shards and sum(copied) > 0
    assert set(added) < {row.item for row in read(layout.judged(asking, "outcomes"), Outcome)}
    shown = [button["where"] for button, _ in Page(page).pressed if button["suite"] == "karr"]
    assert any(json.loads(where).get("asked") == "spurious" for where in shown)
    again = done.snakemake(*both)
    assert "Nothing to be done" in again.stdout + again.stderr
    # A path that is mistyped now is not passed over because a page is there; nor is a model that was replaced.
    wrong = [word.replace(str(tmp_path / "mine"), str(tmp_path / "mien")) for word in both]
    refused = done.snakemake(*wrong)
    assert refused.returncode != 0
    assert (
        f"models.mine.path: there is no folder {tmp_path / 'mien'}; did you mean {tmp_path / 'mine'}?" in refused.stderr
    )
    weights = tmp_path / "mine" / "model.safetensors"
    time = weights.stat().st_mtime_ns
    os.utime(weights, ns=(10**18, 10**18))
    replaced = done.snakemake("--dry-run", *both)
    assert "rule answer_together_mine:" in replaced.stdout + replaced.stderr
    os.utime(weights, ns=(time, time))
    archive = str(tmp_path / "mine.zip")
    assert done.almanac("freeze", "--edition", str(results), "--output", archive).returncode == 0
    verified = done.almanac("verify", "edition", archive)
    assert verified.returncode == 0, verified.stderr
    with zipfile.ZipFile(archive) as frozen:
        assert "requests/karr/shipped/expected/mine/items.jsonl" in frozen.namelist()
        assert "responses/mine/karr/shipped/expected/mine/responses-0.jsonl" in frozen.namelist()


def forget(done, edition):
    """Let Snakemake know nothing of an edition, as of a copy."""
    for remembered in (done.root / ".snakemake" / "metadata").iterdir():
        if base64.urlsafe_b64decode(remembered.name).startswith(f"results/{edition}/".encode()):
            remembered.unlink()


@pytest.mark.whole
def test_answers_of_results_that_are_not_remembered_stay_a_moved_models_and_become_anothers(done, tmp_path):
    """As of a copy: Snakemake knows nothing of how they were made, and no file of the model is newer."""
    results = done.root / "results" / "copied"

    def answers(folder, seed):
        path = checkpoint(done, tmp_path / folder / "mine", seed)
        for file in path.iterdir():
            os.utime(file, ns=(10**18, 10**18))
        own = ["--config", f"models=[{{name: mine, path: {path}}}]", "edition=copied"]
        built = done.snakemake(*own)
        assert built.returncode == 0, built.stdout + built.stderr
        forget(done, "copied")
        return {path: path.read_bytes() for path in (results / "responses").rglob("*.parquet")}

    first = answers("first", 0)
    assert first
    assert answers("moved", 0) == first
    assert all(content != first[path] for path, content in answers("another", 1).items())


def tables_made(done, *words):
    """The tables of an edition that is made now, whose name is the last word."""
    built = done.snakemake(*words)
    assert built.returncode == 0, built.stdout + built.stderr
    results = done.root / "results" / words[-1].removeprefix("edition=")
    files = [path for folder in ("responses", "outcomes", "measures") for path in (results / folder).rglob("*")]
    return {path.relative_to(results): path.read_bytes() for path in files if path.suffix == ".parquet"}


@pytest.mark.whole
def test_a_change_of_settings_is_seen_in_copied_results_too(done, tmp_path):
    """After the first run there, by which Snakemake remembers the record as its own."""
    own = ["--config", f"models=[{{name: mine, path: {checkpoint(done, tmp_path / 'mine')}}}]"]
    changed = [*own, "suites={ic_lke: {shipped: {seed: 1}}}"]
    first = tables_made(done, *own, "edition=brought")
    forget(done, "brought")
    assert first == tables_made(done, *own, "title=Brought", "edition=brought")
    other, second = (tables_made(done, *changed, f"edition={name}") for name in ("fresh", "brought"))
    assert {name: second[name] for name in other} == other != first


@pytest.mark.whole
def test_what_a_failed_job_would_have_made_is_made_by_the_next_run(done, tmp_path):
    """Snakemake puts back what the job would have updated, and takes it for new."""

    def killed(step, *words):
        folder = tmp_path / step
        folder.mkdir()
        python = folder / "python"
        python.write_text(f'#!/bin/sh\n[ "$3" = {step} ] && exit 137\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        failed = done.snakemake(*words, first=folder)
        assert failed.returncode != 0 and "Restored previous version of" in failed.stderr, failed.stderr

    made = partial(tables_made, done)
    path = checkpoint(done, tmp_path / "mine")
    own = ["--config", f"models=[{{name: mine, path: {path}}}]"]
    first = made(*own, "edition=failed")
    checkpoint(done, path, seed=1)
    killed("answer", *own, "edition=failed")
    second = made(*own, "edition=failed")
    assert second != first
    assert second == made(*own, "edition=unfailed")
    own = [*own, "validation={auc: 0.9}", "suites={ic_lke: {shipped: {seed: 1}}}"]
    killed("measure", *own, "edition=failed")
    third = made(*own, "edition=failed")
    other = made(*own, "edition=another")
    assert {name: third[name] for name in other} == other != second


@pytest.mark.whole
def test_texts_beyond_the_models_length_are_counted_and_not_cut(done, tmp_path):
    checkpoint(done, tmp_path / "short", length=8)
    built = done.snakemake("--config", f"models=[{{name: short, path: {tmp_path / 'short'}}}]", "edition=short")
    assert built.returncode == 0, built.stdout + built.stderr
    results = done.root / "results" / "short"
    responses = [row for path in sorted((results / "responses").rglob("*.parquet")) for row in read(path, Response)]
    assert {row.status for row in responses} == {"too_long"}
    assert all("reads at most 8" in (row.reason or "") for row in responses)
    accuracy = [
        row
        for row in read(results / "measures" / "short" / "ic_lke" / "shipped.parquet", Measure)
        if row.metric == "accuracy" and "relation" not in conditions_of(row)
    ]
    assert [(row.value, row.n, row.n_error) for row in accuracy] == [(None, len(responses), len(responses))]
    assert "Not applicable: short in context" in (results / "report.html").read_text()


def test_a_frozen_edition_verifies_and_a_changed_byte_is_named(done, tmp_path):
    archive = tmp_path / "tiny.zip"
    frozen = done.almanac("freeze", "--edition", str(done.results), "--output", str(archive))
    assert frozen.returncode == 0, frozen.stderr
    first = archive.read_bytes()
    done.almanac("freeze", "--edition", str(done.results), "--output", str(archive))
    assert archive.read_bytes() == first
    verified = done.almanac("verify", "edition", str(archive))
    assert verified.returncode == 0, verified.stderr
    assert "measures and the validation, measured again, agree" in verified.stdout

    changed = "outcomes/base/ic_lke/invented/outcomes.jsonl"
    damaged = tmp_path / "damaged.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"incorrect"', b'"Incorrect"', 1) if name == changed else content)
    refused = done.almanac("verify", "edition", str(damaged))
    assert refused.returncode == 1
    assert changed in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.whole
def test_a_rebuild_is_held_against_what_is_published_of_the_edition(done, tmp_path):
    refused = done.snakemake("--", "verify")
    assert refused.returncode != 0
    assert "there is no published edition" in refused.stdout + refused.stderr
    published = ("--publish", "resources/editions/tiny")
    done.almanac("freeze", "--edition", str(done.results), "--output", str(tmp_path / "tiny.zip"), *published)
    verified = done.snakemake("--", "verify")
    assert verified.returncode == 0, verified.stderr
    assert "the rebuild agrees" in verified.stdout


def test_an_edition_with_forged_numbers_does_not_verify(done, tmp_path):
    """A forger who also mends the manifest is caught by measuring again."""
    shutil.copytree(done.results, tmp_path / "forged", ignore=shutil.ignore_patterns("models", "logs"))
    for model in ("base", "masked"):
        (tmp_path / "forged" / "models" / model).mkdir(parents=True)
        shutil.copy(done.results / "models" / model / "exposures.parquet", tmp_path / "forged" / "models" / model)
    layout = Layout.open(tmp_path / "forged")
    path = layout.measures(Asking("base", "ic_lke", "invented"))
    rows = read(path, Measure)
    forged = [replace(row, value=0.999) if row.metric == "accuracy" else row for row in rows]
    write(path, Measure, forged, read_metadata(path))
    freeze(layout, tmp_path / "forged.zip")
    refused = done.almanac("verify", "edition", str(tmp_path / "forged.zip"))
    assert refused.returncode == 1
    assert "measures/base/ic_lke" in refused.stderr
    assert "0.999" in refused.stderr


def test_a_typo_in_the_configuration_is_refused_before_any_job(fresh):
    project = fresh()
    refused = project.snakemake("--config", "shard=3")
    assert refused.returncode != 0
    assert "shard: is unknown" in refused.stdout + refused.stderr
    assert not project.results.exists()


def test_results_that_cannot_be_written_are_named_before_any_job(fresh):
    project = fresh()
    (project.root / "results").write_text("a file, where a folder must be")
    refused = project.snakemake()
    assert refused.returncode != 0
    assert "results/tiny: cannot be written, since results is no writable folder" in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr


def test_a_model_that_is_not_there_is_named(done):
    refused = done.snakemake("--config", "models=[{name: gone, path: /nowhere/model}]", "edition=gone")
    assert refused.returncode != 0
    assert "models.gone.path: there is no folder /nowhere/model" in refused.stderr


def test_a_configuration_that_is_not_there_is_named_with_the_nearest_one(done):
    words = [word.replace("tiny.yaml", "tinny.yaml") for word in done.command("--dry-run")]
    refused = done.run(*words)
    assert refused.returncode == 1
    message = "almanac: there is no configuration file tests/data/tinny.yaml; did you mean tests/data/tiny.yaml?"
    assert refused.stderr.splitlines() == [message]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "karrr"], "there is no target karrr; did you mean karr?"),
        pytest.param(
            ["--dry-run", "--", "karrr"], "there is no target karrr; did you mean karr?", marks=pytest.mark.whole
        ),
        (
            ["--dry-run", "results/tiny/report.htm"],
            "there is no target results/tiny/report.htm; did you mean results/tiny/report.html?",
        ),
        pytest.param(
            ["--dry-run", "xyzzy"], "there is no target xyzzy; snakemake --list lists them", marks=pytest.mark.whole
        ),
        (["--dry-run", "shards=4"], "shards=4 is a setting and stands where targets do; write settings before"),
    ],
)
def test_a_target_that_is_not_there_is_named_with_the_nearest_one(done, words, said):
    refused = done.snakemake(*words)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith(f"almanac: {said}") and "Exception" not in refused.stderr


def test_a_configuration_of_which_a_part_would_be_dropped_is_refused(done):
    refused = done.snakemake("--dry-run", "--config", "shards=4", "--config", "edition=mine")
    assert refused.returncode == 1
    assert "--config is given twice, and Snakemake reads the last alone" in refused.stderr


def test_a_models_settings_reach_its_commands(done, fresh, tmp_path):
    """Trusted code with its commit, precision, and a device: a GPU is asked for where one is named or worth it."""
    project, commit = fresh(), "0123456789" * 4
    shutil.copytree(done.results / "models" / "base", tmp_path / "own")
    trust = f"revision: '{commit}', trust_remote_code: true"
    models = [
        f"{{name: own, path: {tmp_path / 'own'}, dtype: bfloat16, {trust}, parameters: 1000}}",
        f"{{name: far, hub: owner/name, {trust}, parameters: 7000000000}}",
        f"{{name: named, path: {tmp_path / 'own'}, device: 'cuda:1', parameters: 1000}}",
    ]
    plan = project.snakemake("--dry-run", "--printshellcmds", "--config", f"models=[{', '.join(models)}]")
    text = plan.stdout + plan.stderr
    assert plan.returncode == 0, text
    trusted = f"--trust-remote-code true --revision {commit}"
    assert f"pull model --hub owner/name --revision {commit} --trust-remote-code" in text
    jobs = [line for line in text.splitlines() if "almanac answer" in line]
    assert [line for line in jobs if f"--dtype bfloat16 --device cpu {trusted}" in line]
    assert [line for line in jobs if f"--model results/tiny/models/far {trusted}" in line]
    assert [line for line in jobs if "--device cuda:1" in line and "--trust" not in line]
    assert {"gpu=1", "gpu=0"} <= set(text.replace(",", " ").split())


def test_the_catalogues_shim_has_the_same_plan(done, plan):
    plain = plan(done.flags("--forceall"))
    shim = plan(done.flags("--forceall", "--snakefile", "workflow/Snakefile"))
    assert "report_edition" in shim
    assert plain.count("rule ") == shim.count("rule ")


@pytest.mark.whole
def test_the_other_report_has_the_tables_of_the_page_with_captions(done, tmp_path):
    """Snakemake's own, read as its page's script reads it: each file as it is, in its category."""
    made = done.snakemake("--report", str(tmp_path / "report.html"))
    assert made.returncode == 0, made.stdout + made.stderr
    text = (tmp_path / "report.html").read_text("utf-8")
    found, categories = (
        json.loads(re.search(rf"var {name} = (\{{.*\}});?\n", text)[1]) for name in ("results", "categories")
    )
    shown = {"Page": "report.html", "Tables": "tables/*.csv", "Figures": "figures/*.svg"}
    for category, pattern in shown.items():
        paths = {str(path.relative_to(done.root)): path for path in done.results.glob(pattern)}
        assert {one for own in categories[category].values() for one in own} == set(paths)
        for name, path in paths.items():
            assert base64.b64decode(found[name]["data_uri"].partition("base64,")[2]) == path.read_bytes()
            assert found[name]["caption"].startswith("<p>")
            assert path.stem in found[name]["caption"] or path.stem in ("report", "findings", "measures", "validation")


@pytest.mark.whole
def test_another_workflow_has_an_edition_as_a_module(done, tmp_path):
    """As config/README.md says it, planned: its own rule waits for the page's."""
    block = re.search(r"```python\n(.*?)```", (done.root / "config" / "README.md").read_text("utf-8"), re.DOTALL)[1]
    (tmp_path / "Snakefile").write_text(block.replace("/path/to/almanac", str(done.root)))
    (tmp_path / "config").mkdir()
    edition = (done.root / "tests" / "data" / "tiny.yaml").read_text("utf-8")
    (tmp_path / "config" / "edition.yaml").write_text(edition.replace("edition: tiny", "edition: mine"))
    planned = Project(tmp_path).run("snakemake", "--cores", "1", "--dry-run")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    jobs = re.findall(r"^rule (\w+):", planned.stdout + planned.stderr, re.MULTILINE)
    assert jobs[-1] == "known"
    assert {"almanac_plant_model", "almanac_measure_across", "almanac_report_edition"} < set(jobs)
