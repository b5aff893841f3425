"""The profile for SLURM on a real cluster of two nodes on this machine: the same bytes as here, whatever goes wrong.

Planting, datasets and one of two datasets' requests are taken from the edition that was made here; asking, answering,
measuring and the page go through the cluster. It takes minutes, so it runs where ALMANAC_SLURM is set:
ALMANAC_SLURM=1 python -m pytest -n 0 -m slurm.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.workflow.local_slurm import Cluster, missing

WHY_NOT = missing() or ("" if "ALMANAC_SLURM" in os.environ else "takes minutes; set ALMANAC_SLURM to run it")
pytestmark = [pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT), pytest.mark.slurm]
DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "clusters.md").read_text(encoding="utf-8")
PATIENCE = 900  # seconds
MADE = ("requests/ic_lke/shipped", "responses", "outcomes", "measures", "tables", "figures")
JOBS = {"ask_ic_lke": 1, "answer_together_base": 2, "answer_together_masked": 2}
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
    own = replace(done, root=tmp_path / "almanac")
    for name in MADE:
        shutil.rmtree(own.results / name)
    (own.results / "report.html").unlink()
    return own


def start(project, cluster, *words):
    """Start Snakemake as the document prints it, of a small edition; an account stands for one that there is not."""
    printed = DOCUMENT.partition("export PYTHONPATH=workflow\n")[2].partition("\n")[0].split()
    command = [
        {"python": sys.executable, "config/config.yaml": "tests/data/tiny.yaml"}.get(one, one) for one in printed
    ]
    command += ["--default-resources", "slurm_account=none", "--slurm-init-seconds-before-status-checks", "2"]
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
    """Return what is found as soon as there is something; Snakemake must run until then, where it is given."""
    deadline = time.monotonic() + PATIENCE
    while not (what := found()):
        assert run is None or run.poll() is None, "Snakemake ended before it happened"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return what


def last(cluster):
    return max((int(job["id"]) for job in cluster.jobs()), default=0)


def jobs_of(cluster, since, rule, *states):
    """The jobs of a rule, by its name and wildcards, that were submitted after a job and are in one of some states."""
    jobs = [job for job in cluster.jobs() if int(job["id"]) > since and job["comment"] == f"rule_{rule}"]
    return [job for job in jobs if job["state"] in states]


def processes(project, *words):
    """The processes of a project's copy that are Almanac's commands with these words."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        said = process.info["cmdline"] or []
        own = process.info["cwd"] == str(project.root) and said[1:3] == ["-m", "almanac"]
        if own and all(any(one.endswith(word) for one in said) for word in words):
            found.append(process)
    return found


def ended(cluster, since):
    """How often each rule ended in each state, after the first jobs."""
    rules = Counter()
    for job in cluster.jobs():
        if int(job["id"]) > since:
            rules[job["comment"].removeprefix("rule_").partition("_wildcards_")[0], job["state"]] += 1
    return rules


def test_an_edition_asked_and_answered_on_a_cluster_has_the_bytes_of_one_made_here(done, project, cluster):
    since = last(cluster)
    finish(project, start(project, cluster, "--set-resources", "answer_together_base:gpu=1"))
    assert project.hashes() == done.hashes()
    assert ended(cluster, since) == {(rule, "COMPLETED"): count for rule, count in JOBS.items()}
    places = {(job["comment"].split("_wildcards_")[0], job["partition"], job["node"]) for job in cluster.jobs()}
    assert {place[1:] for place in places if place[0] == "rule_answer_together_base"} == {("gpu", "cards")}
    assert {place[1:] for place in places if place[0] != "rule_answer_together_base"} == {("cpu", "plain")}
    assert all(job["name"].startswith("almanac_") for job in cluster.jobs())


def test_jobs_that_were_cancelled_killed_requeued_or_had_too_little_end_in_the_same_bytes(done, project, cluster):
    since = last(cluster)
    # At first, too little memory for one model's answers, and a minute for the other's numbers.
    little = ["answer_together_masked:mem_mb=300*attempt**3", "measure_base:runtime=attempt**6"]
    run = start(project, cluster, "--set-resources", *little)

    def submitted(rule, *states):
        [job, *_] = wait_for(run, lambda: jobs_of(cluster, since, rule, *states))
        return job["id"]

    asking = submitted("ask_ic_lke_wildcards_shipped", "RUNNING")
    wait_for(run, lambda: processes(project, "ask", "ic_lke"))
    cluster.call("scontrol", "requeue", asking)
    submitted("ask_ic_lke_wildcards_shipped", "PENDING")
    cluster.call("scontrol", "update", f"JobId={asking}", "StartTime=now")  # SLURM itself waits two minutes

    cluster.call("scancel", submitted("answer_together_base_wildcards_base_1", "RUNNING"))
    answering = ("answer", "results/tiny/models/base", "shipped/asked/all/responses-0.parquet")
    [killed] = wait_for(run, lambda: processes(project, *answering))
    killed.kill()

    [stopped] = wait_for(run, lambda: processes(project, "measure", "model", "base"))
    stopped.suspend()

    finish(project, run)
    assert project.hashes() == done.hashes()
    assert ended(cluster, since) == {
        **{(rule, "COMPLETED"): count for rule, count in JOBS.items()},
        ("answer_together_base", "FAILED"): 1,
        ("answer_together_base", "CANCELLED"): 1,
        ("answer_together_masked", "FAILED"): 2,  # where memory is limited by cgroups, OUT_OF_MEMORY
        ("measure_base", "TIMEOUT"): 1,
    }
    said = [path.read_text() for path in (project.root / ".snakemake" / "slurm_logs").rglob("*.log")]
    assert sum("Exceeded job memory limit" in text for text in said) == 2


def test_snakemake_killed_and_started_again_while_its_jobs_go_on_ends_in_the_same_bytes(done, project, cluster):
    since = last(cluster)
    first = start(project, cluster)
    wait_for(first, lambda: processes(project, "answer", "results/tiny/models/base"))
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    left = jobs_of(cluster, since, "answer_together_base_wildcards_base_0", "RUNNING", "PENDING")
    left += jobs_of(cluster, since, "answer_together_base_wildcards_base_1", "RUNNING", "PENDING")
    assert left, "what was submitted goes on"
    finish(project, start(project, cluster))
    wait_for(None, lambda: not cluster.call("squeue", "--noheader").strip())
    assert project.hashes() == done.hashes()


def test_what_a_killed_run_leaves_is_made_again_and_its_waiting_jobs_do_nothing(done, project, cluster):
    """Else they would write over what is made by the settings of another run."""
    since = last(cluster)

    def killed(until):
        run = start(project, cluster)
        wait_for(run, until)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()

    def waiting(more=0):
        found = [
            job for model in ("base", "masked") for at in range(2)
            for job in jobs_of(cluster, since, f"answer_together_{model}_wildcards_{model}_{at}", "PENDING")
        ]  # fmt: skip
        return len(found) == 4 + more

    killed(lambda: processes(project, "ask", "ic_lke"))
    wait_for(None, lambda: not cluster.call("squeue", "--noheader").strip())
    nodes = ("update", "NodeName=plain,cards", "Reason=test")

    def drained():
        if found := jobs_of(cluster, since, "ask_ic_lke_wildcards_shipped", "RUNNING"):
            cluster.call("scontrol", *nodes, "State=DRAIN")
        return found

    def waiting_after_asking():
        drained()
        return waiting()

    killed(waiting_after_asking)
    third = start(project, cluster)
    wait_for(third, lambda: waiting(4))
    cluster.call("scontrol", *nodes, "State=RESUME")
    finish(project, third)
    wait_for(None, lambda: not cluster.call("squeue", "--noheader").strip())
    assert project.hashes() == done.hashes()
    counts = {(rule, "COMPLETED"): count for rule, count in JOBS.items()} | {("ask_ic_lke", "COMPLETED"): 2}
    late = {("answer_together_base", "FAILED"): 2, ("answer_together_masked", "FAILED"): 2}
    assert ended(cluster, since) == counts | late
    said = [path.read_text() for path in (project.root / ".snakemake" / "slurm_logs").rglob("*.log")]
    assert sum("this job belongs to a run that was killed" in text for text in said) == 4


def test_an_interrupted_snakemake_cancels_its_jobs_and_goes_on_when_started_again(done, project, cluster):
    since = last(cluster)
    first = start(project, cluster)
    wait_for(first, lambda: processes(project, "answer", "results/tiny/models/base"))
    os.killpg(first.pid, signal.SIGINT)
    assert first.wait(PATIENCE) != 0
    wait_for(None, lambda: not cluster.call("squeue", "--noheader").strip())
    assert ("answer_together_base", "CANCELLED") in ended(cluster, since)
    assert "Traceback" not in (project.root / "snakemake.log").read_text()
    finish(project, start(project, cluster))
    assert project.hashes() == done.hashes()
