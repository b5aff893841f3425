"""What was meant for a cluster never runs here, and a mistake in its files is told with the file and the key."""

from pathlib import Path

import pytest

from almanac.clusters import check_cluster
from almanac.errors import AlmanacError

REPOSITORY = Path(__file__).resolve().parents[2]
PROFILE = "workflow/profiles/slurm"


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


def refusal(*words):
    with pytest.raises(AlmanacError) as error:
        check_cluster(["--cores", "1", *words], REPOSITORY / "Snakefile")
    return str(error.value)


def test_a_misspelt_profile_is_refused_by_snakemake_itself_too(fresh):
    """Snakemake passes it over, and would run every job on the login node."""
    said = "there is no profile workflow/profiles/slrum; did you mean workflow/profiles/slurm?"
    assert refusal("--workflow-profile", "workflow/profiles/slrum") == said
    refused = fresh().snakemake("--dry-run", "--workflow-profile", "workflow/profiles/slrum")
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (1, f"almanac: {said}")


@pytest.mark.parametrize("profile", ["none", "default", "profiles/default", f"{PROFILE}/config.yaml"])
def test_a_profile_is_looked_for_where_snakemake_looks(profile, tmp_path, monkeypatch):
    if profile == "default":  # beside the Snakefile
        monkeypatch.chdir(tmp_path)
    snakefile = REPOSITORY / "Snakefile"
    check_cluster(["--snakefile", str(snakefile), "--workflow-profile", profile, "--dry-run"], snakefile)


def test_the_words_of_another_program_are_not_snakemakes():
    check_cluster(["--no-such-flag", "slrum"], REPOSITORY / "Snakefile")


def test_a_run_on_slurm_needs_slurm_and_a_plan_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal("--workflow-profile", PROFILE).startswith("there is no sbatch here; start this on a login node")
    assert check_cluster(["--executor", "slurm", "--jobs", "4", "--dry-run"], REPOSITORY / "Snakefile") is True
    for words in (["--dry-run"], ["-np"], ["--executor", "local"]):
        away = check_cluster(["--workflow-profile", PROFILE, *words], REPOSITORY / "Snakefile")
        assert away is ("local" not in words)


def test_a_job_of_a_cluster_has_a_core_however_many_the_login_node_has(fresh):
    """`make` gives all cores, and a command of the documents none."""
    project, model = fresh(), f"models=[{{name: large, hub: a/b, revision: '{'0' * 40}', parameters: 40000000}}]"
    words = [
        "snakemake",
        "-n",
        "--cores",
        "7",
        "--configfile",
        "config/own.yaml",
        "--config",
        model,
        "gpus=0",
        "shards=1",
    ]
    here, away = (project.run(*words, "--workflow-profile", profile) for profile in ("none", PROFILE))
    assert (here.returncode, away.returncode) == (0, 0), here.stderr + away.stderr
    assert ("threads: 7" in here.stdout, "threads:" in away.stdout) == (True, False)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("{max_gpus: 0}", "partitions.cpu.max_gpus: is unknown; did you mean max_gpu?"),
        ("", "partitions.cpu: must hold keys and values, as max_gpu: 0; found None"),
        ("{max_gpu: 0, max_gpu: 1}", "the key max_gpu is given in line 2 and again in line 2"),
    ],
)
def test_a_mistake_in_the_partitions_is_told_with_file_and_key(tmp_path, limits, said):
    path = tmp_path / "partitions.yaml"
    path.write_text(f"partitions:\n  cpu: {limits}\n")
    message = refusal("--workflow-profile", PROFILE, "--slurm-partition-config", str(path), "--dry-run")
    assert message.startswith(f"{path}: ") and said in message


def test_a_partition_that_slurm_does_not_have_is_told_before_any_job_is_sent(tmp_path, monkeypatch):
    """`sinfo` lists one name a line; it is a small program here, since the machine may have no SLURM."""
    (tmp_path / "sinfo").write_text("#!/bin/sh\nprintf 'compute\\nlong\\n'\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = tmp_path / "partitions.yaml"
    path.write_text(
        "partitions:\n  compute: {max_gpu: 0}\n  far: {max_gpu: 1, cluster: other}\n  comptue: {max_gpu: 1}\n"
    )
    message = refusal("--workflow-profile", PROFILE, "--slurm-partition-config", str(path), "--dry-run")
    assert message == f"{path}: partitions.comptue: SLURM has no such partition here; did you mean compute?"


def test_a_folder_with_a_space_is_refused_on_slurm_alone(tmp_path, monkeypatch):
    (tmp_path / "two words").mkdir()
    monkeypatch.chdir(tmp_path / "two words")
    path = tmp_path / "partitions.yaml"
    path.write_text("partitions: {}\n")
    words = ["--workflow-profile", str(REPOSITORY / PROFILE), "--slurm-partition-config", str(path), "--dry-run"]
    assert refusal(*words).startswith("this folder has a space in its path")
    check_cluster([*words, "--executor", "local"], REPOSITORY / "Snakefile")
