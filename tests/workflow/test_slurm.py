"""The profile for SLURM on a real cluster of two nodes on this machine: the same bytes as here, whatever goes wrong.

Planting and datasets are taken from the edition that was made here; asking, answering, measuring and the page go through
the cluster. `-m slurm` runs what takes minutes; the default run makes one pass without mishaps.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest
from conftest import Project
from local_slurm import Cluster, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
PATIENCE = 900  # seconds
MADE = ("requests", "responses", "outcomes", "measures", "tables", "figures")
JOBS = {"ask_ic_lke": 2, "answer_together_base": 2, "answer_together_masked": 2}
JOBS |= {"measure_base": 1, "measure_masked": 1, "measure_across": 1, "report_edition": 1}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture
def project(done, tmp_path):
    """The edition that was made here, without what is asked, answered and measured."""
    shutil.copytree(done.root, tmp_path / "almanac")
    own = Project(tmp_path / "almanac")
    for name in MADE:
        shutil.rmtree(own.results / name)
    (own.results / "report.html").unlink()
    return own


def start(project, cluster, *words):
    """Start Snakemake with the profile; what the test sets is what another cluster would, and asking SLURM soon."""
    command = [sys.executable, "-m", "almanac.locked", "snakemake", "--workflow-profile", "workflow/profiles/slurm"]
    command += ["--configfile", "tests/data/tiny.yaml", "--default-resources", "slurm_account=none"]
    command += ["--slurm-init-seconds-before-status-checks", "2"]
    # The rules name files of the project by their whole path, which differs in a copy.
    command += ["--rerun-triggers", "mtime", *words]
    environment = project.environment() | cluster.environment()
    environment["PATH"] = f"{cluster.folder}/bin{os.pathsep}{project.environment()['PATH']}"
    with (project.root / "snakemake.log").open("a") as log:
        return subprocess.Popen(
            command, cwd=project.root, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def finish(project, run):
    assert run.wait(PATIENCE) == 0, (project.root / "snakemake.log").read_text()[-5000:]


def wait_for(run, found):
    """Return what is found as soon as there is something, while Snakemake runs."""
    deadline = time.monotonic() + PATIENCE
    while not (what := found()):
        assert run.poll() is None, "Snakemake ended before it happened"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return what


def running(cluster, rule, state="RUNNING"):
    """The jobs of a rule in a state, by its name and wildcards: `answer_together_base_wildcards_base_0`."""
    return [job for job in cluster.jobs() if job["comment"] == f"rule_{rule}" and job["state"] == state]


def answering(project, model, shard):
    """The processes of the project's copy that answer a shard of a model's."""

    def ours(process):
        words = " ".join(process.info["cmdline"] or ())
        at = project.results / "responses" / model
        return f"almanac answer --model {at}".replace("responses", "models") in words

    wanted = f"responses-{shard}.parquet"
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        ours = process.info["cwd"] == str(project.root) and words[1:4] == ["-m", "almanac", "answer"]
        if ours and f"results/tiny/models/{model}" in words and any(word.endswith(wanted) for word in words):
            found.append(process)
    return found


def ended(cluster, since):
    """How often each rule ended in each state, after the first jobs."""
    rules = Counter()
    for job in cluster.jobs():
        if int(job["id"]) > since:
            rules[job["comment"].removeprefix("rule_").partition("_wildcards_")[0], job["state"]] += 1
    return rules


def last(cluster):
    return max((int(job["id"]) for job in cluster.jobs()), default=0)


def test_an_edition_asked_and_answered_on_a_cluster_has_the_bytes_of_one_made_here(done, project, cluster):
    since = last(cluster)
    finish(project, start(project, cluster, "--set-resources", "answer_together_base:gpu=1"))
    assert project.hashes() == done.hashes()
    assert ended(cluster, since) == {(rule, "COMPLETED"): count for rule, count in JOBS.items()}
    places = {(job["comment"].split("_wildcards_")[0], job["partition"], job["node"]) for job in cluster.jobs()}
    assert {place[1:] for place in places if place[0] == "rule_answer_together_base"} == {("gpu", "cards")}
    assert {place[1:] for place in places if place[0] != "rule_answer_together_base"} == {("cpu", "plain")}
    assert all(job["name"].startswith("almanac_") for job in cluster.jobs())
