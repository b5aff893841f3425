"""What a run shows: in a file a line a finished job; on a terminal what runs, how far, how long still."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from almanac import progress
from almanac.errors import INTERRUPTED
from almanac.report import lines
from almanac.report.lines import failed
from snakemake_logger_plugin_almanac import RunJobs, RunningJob, as_time, at_work, why_failed

REPOSITORY = Path(__file__).resolve().parents[2]
SNAKEFILE = """
rule all:
    input: expand("{model}_{suite}.txt", model=["mine", "base"], suite=["karr"])

rule answer_requests:
    output: update("{model}_{suite}.txt")
    log: "{model}_{suite}.log"
    shell: "date > {log}; test {wildcards.model} != FAILS && touch {output}"

onsuccess:
    shell("echo what was found")
"""

NOTING = """
rule all:
    input: "mine.txt"

rule pull_files:
    output: touch("{source}.txt")
    log: "{source}.log"
    shell: "for row in 1 1 2 3 4 5 6 7; do echo 'note: mine.csv: line '$row': é'; echo $row of 7; done > {log}"
"""


def snakemake(folder, *words, failing="none", **streams):
    (folder / "Snakefile").write_text(SNAKEFILE.replace("FAILS", failing))
    command = ["snakemake", "--cores", "1", "--logger", "almanac", *words]
    return subprocess.run(command, cwd=folder, env=environment(), check=False, timeout=600, **streams)


def environment():
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": tools, "PYTHONPATH": str(REPOSITORY / "workflow"), "TERM": "xterm"}


def test_a_file_gets_a_line_a_finished_job_and_what_snakemake_says_is_kept(tmp_path):
    done = snakemake(tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(",")[0] for line in lines[:3]] in (
        ["1 of 3: answer_requests mine karr", "2 of 3: answer_requests base karr", "3 of 3: all"],
        ["1 of 3: answer_requests base karr", "2 of 3: answer_requests mine karr", "3 of 3: all"],
    )
    assert "left" in lines[0] and "left" not in lines[2]
    assert lines[3].startswith("Complete log(s): ") and len(lines) == 4
    assert done.stdout == "what was found\n"
    assert "wildcards: model=mine, suite=karr" in Path(lines[3].partition(": ")[2]).read_text()
    again = snakemake(tmp_path, capture_output=True, text=True)
    assert again.stderr.startswith("Nothing to be done")


def test_what_a_job_notes_is_said_by_the_run_and_of_many_notes_the_first_ones(tmp_path):
    (tmp_path / "Snakefile").write_text(NOTING)
    command = ["snakemake", "--cores", "1", "--logger", "almanac"]
    said = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True).stderr
    noted = [line for line in said.splitlines() if "note: " in line]
    assert noted == [
        *(f"pull_files mine: note: mine.csv: line {row}: é" for row in range(1, 6)),
        "pull_files mine: note: and 2 more in mine.log",
    ]


def test_a_failed_job_is_named_with_its_log_and_not_with_its_command(tmp_path):
    done = snakemake(tmp_path, failing="base", capture_output=True, text=True)
    assert done.returncode == 1
    assert "failed: answer_requests base karr; its log: base_karr.log" in done.stderr
    assert not [one for one in ("touch", "Traceback", "Cannot restore") if one in done.stderr]


def test_a_terminal_shows_what_runs_and_how_far_the_run_is(tmp_path):
    ours, theirs = pty.openpty()
    try:
        done = snakemake(tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    finally:
        os.close(ours)
    text = shown.decode()
    assert done.returncode == 0, text
    assert "answer_requests mine karr" in text and "2 of 3 jobs" in text
    assert "1 of 3: " not in text, "no line a job beside the bar"


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux ends a terminal that nobody writes to so
        return b""


STOPPED = """
rule all:
    input: "early.txt", "late.txt"

rule early:
    output: "early.txt"
    log: "early.log"
    shell: "touch started; python -c 'import time; time.sleep(5)' 2> {log} && touch {output}"

rule late:
    input: "early.txt"
    output: "late.txt"
    shell: "touch {output}"

onerror:
    shell("echo a job has failed")
"""


def stopped(folder, number, everyone, snakefile=STOPPED):
    """Return what a run in a folder says when a signal comes after it has made `started`, and its exit status."""
    (folder / "Snakefile").write_text(snakefile)
    command = [sys.executable, "-m", "almanac.locked", "snakemake", "--cores", "1", "--logger", "almanac"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        while not (folder / "started").exists() and run.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(run.pid, number) if everyone else run.send_signal(number)
        said = run.communicate(timeout=600)[1]
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)
    return said, run.returncode


def test_ctrl_c_is_told_in_one_line_and_the_run_goes_on_later(tmp_path):
    assert stopped(tmp_path, signal.SIGINT, everyone=True) == (f"almanac: {INTERRUPTED}\n", 1)
    assert not (tmp_path / "early.txt").exists()
    (tmp_path / "Snakefile").write_text(STOPPED.replace("time.sleep(5)", "0"))
    command = ["snakemake", "--cores", "1", "--logger", "almanac"]
    again = subprocess.run(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, check=False, timeout=600)
    assert (again.returncode, (tmp_path / "late.txt").exists()) == (0, True), again.stderr


def test_ctrl_c_while_the_workflow_is_read_is_told_in_one_line_too(tmp_path):
    reading = "import pathlib, time; pathlib.Path('started').touch(); time.sleep(60)"
    assert stopped(tmp_path, signal.SIGINT, everyone=True, snakefile=reading) == (f"almanac: {INTERRUPTED}\n", 130)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_ends_after_the_job_at_work(tmp_path, number):
    said, status = stopped(tmp_path, number, everyone=False)
    lines = [line.partition(",")[0] for line in said.splitlines()]
    going_on = "almanac: stopping when the jobs at work have ended; run the same command again to go on"
    assert (lines, status) == ([going_on, "1 of 3: early"], 1)
    assert (tmp_path / "early.txt").exists() and not (tmp_path / "late.txt").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--configfile", "gone.yaml"], "almanac: there is no configuration file gone.yaml"),
        (["--config", "shards"], "almanac: --config: 'shards' is no KEY=VALUE; give one like shards=4"),
        (["--config", "datasets.a.train=3"], "in braces: datasets='{a: {train: 3}}'"),
        (["--config", "a=1", "--config", "b=2"], "almanac: --config is given twice"),
        (["--drop-metadata"], "almanac: --drop-metadata: a run needs Snakemake's metadata"),
    ],
)
def test_what_snakemake_would_answer_with_a_traceback_is_told_in_one_line(tmp_path, words, said):
    done = snakemake(tmp_path, *words, capture_output=True, text=True)
    assert done.returncode == 1
    assert said in done.stderr and "Traceback" not in done.stderr


def job(number, rule, since):
    return RunningJob.of({"jobid": number, "rule_name": rule, "wildcards": {}}, since)


def test_what_is_left_is_the_seconds_of_each_rule_over_how_many_run_side_by_side():
    """Two at a time: one rule of 10 s with 4 jobs left, one of 40 s with 1 left: 80 s of work, 40 s of time."""
    jobs = RunJobs()
    jobs.expect({"short": 6, "long": 2, "total": 8})
    assert jobs.left() == ""
    for number, (rule, since, until) in enumerate([("short", 0, 10), ("short", 10, 20), ("long", 0, 40)]):
        jobs.start(job(number, rule, since))
        jobs.finish(job(number, rule, since), until)
    jobs.ended = 30.0
    assert (jobs.done, jobs.total) == (3, 8)
    assert jobs.left() == "about 40 s"


def test_a_rule_of_which_nothing_has_ended_is_taken_to_last_as_long_as_the_others():
    jobs = RunJobs()
    jobs.expect({"known": 1, "new": 2})
    jobs.start(job(0, "known", 0.0))
    jobs.finish(job(0, "known", 0.0), 60.0)
    assert jobs.left() == "about 2 min"


def test_a_rule_of_which_nothing_has_ended_takes_as_much_longer_than_planned_as_the_others_did():
    """Training is planned at 40 s a job; a table's job planned at 3 s took 6 s, so that two trainings take 160 s."""
    jobs = RunJobs(expected={"": 3.0, "plant_model": 40.0})
    jobs.expect({"build_dataset": 2, "plant_model": 2})
    jobs.start(job(0, "build_dataset", 0.0))
    jobs.finish(job(0, "build_dataset", 0.0), 6.0)
    assert jobs.left() == "about 3 min"  # 160 s, and 6 s of the other table
    jobs.start(job(1, "plant_model", 6.0))
    jobs.finish(job(1, "plant_model", 6.0), 36.0)
    assert jobs.left() == "about 36 s"


def test_a_job_that_is_planned_to_take_no_time_says_nothing_of_the_others():
    """The answers of a server cost no core; they may be the first to end where a run goes on."""
    jobs = RunJobs(expected={"": 3.0, "answer_requests": 0.0})
    jobs.expect({"answer_requests": 1, "measure_m": 1, "total": 2})
    jobs.start(job(0, "answer_requests", 0.0))
    jobs.finish(job(0, "answer_requests", 0.0), 60.0)
    assert jobs.left() == "about 3 s"


def test_nothing_is_said_of_what_is_left_until_as_many_have_ended_as_ran_side_by_side():
    """The first to end of many is the quickest."""
    jobs = RunJobs()
    jobs.expect({"rule": 6})
    for number in range(3):
        jobs.start(job(number, "rule", 0.0))
    said = []
    for number in range(3):
        jobs.finish(job(number, "rule", 0.0), 10.0 * (number + 1))
        said.append(jobs.left())
    assert said == ["", "", "about 30 s"]


REFUSAL = """SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: cpuu
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --parsable -p cpuu --wrap="…"
"""


def test_what_slurm_says_of_a_job_is_told_and_a_log_only_where_there_is_one(tmp_path):
    (tmp_path / "empty.log").touch()
    (tmp_path / "full.log").write_text("almanac pull: …\n")
    logs = [str(tmp_path / f"{name}.log") for name in ("gone", "empty", "full")]
    assert why_failed({"rule_msg": REFUSAL, "log": logs[:2]}) == (
        ": SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: cpuu "
        "sbatch: error: Batch job submission failed: Invalid partition name specified'"
    )
    assert why_failed({"rule_msg": None, "log": logs}) == f"; its log: {logs[2]}"
    full = why_failed({"rule_msg": None, "log": logs[:2]})
    assert re.fullmatch(rf"; {re.escape(logs[1])} is empty, and \d+ MB of its disk are free", full)


# Snakemake's executors and the one for SLURM add what has neither a space nor a use.
FAILED = """SLURM-job '38' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable \
(status command is not 'sacct').For further error details see the cluster/cloud log and \
the log files of the involved rule(s)."""
ENDED = ": SLURM-job '38' failed, SLURM status is: 'FAILED'"


def test_of_a_failed_job_of_slurm_it_is_said_whether_it_wrote_a_log_and_what_its_disk_has_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "room", lambda _: 0)
    own, slurm = str(tmp_path / "mine.log"), str(tmp_path / "38.log")
    values = {"rule_msg": FAILED, "log": [own, slurm]}
    unseen = f"; it wrote no log: does its node see {tmp_path} (N MB are free)? scontrol show job 38 names the node"
    assert re.sub(r"\d+ MB", "N MB", why_failed(values)) == f"{ENDED}{unseen}"
    assert why_failed(values | {"rule_msg": FAILED.replace("FAILED", "CANCELLED")}) == ENDED.replace(
        "FAILED", "CANCELLED"
    )
    Path(own).touch()
    Path(slurm).write_text("Building DAG of jobs...\n")
    full = f"; {own} is empty, and 0 MB of its disk are free"
    assert why_failed(values) == f"{ENDED}; its log: {slurm}{full}"
    Path(own).write_text("almanac measure: …\n")
    assert why_failed(values) == f"{ENDED}; its log: {own}; its log: {slurm}"


def test_a_log_is_told_what_is_at_work_and_how_far_it_is(tmp_path):
    log = tmp_path / "0.log"
    log.write_text("note: 3 of 4 rows\nrequests: 40 of 400\nrequests: 120 of 400\nalmanac answer: …\n")
    values = {"jobid": 1, "rule_name": "answer_requests", "wildcards": {"model": "m", "shard": "0"}, "log": [str(log)]}
    jobs = [RunningJob.of(values | {"jobid": number}, 100.0 * number) for number in range(1, 7)]
    assert at_work([], 0.0) == ""
    assert at_work(jobs[:1], 500.0) == "at work: answer_requests m 0, 7 min, requests: 120 of 400"
    assert at_work(jobs, 700.0).endswith("; and 2 more") and at_work(jobs, 700.0).count("120 of 400") == 4


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5400, "1.5 h")])
def test_a_time_is_said_in_its_unit(seconds, said):
    assert as_time(seconds) == said


def test_a_plan_is_near_what_the_edition_then_took(done):
    """CPU time, of all jobs together; a busy machine counts some of its waiting as work, so the bar is wider than 2."""
    spent = done.almanac("report", "spent", "--edition", "results/tiny").stdout.splitlines()
    took = float(spent[-1].split()[-1])
    planned = done.almanac(
        "plan", "--configfile", "tests/data/tiny.yaml", "--results", "tests/data"
    ).stdout.splitlines()
    expected = float(planned[-1].split()[3]) * 3600
    assert took / 2.5 < expected < took * 2.5


def test_the_logs_of_stopped_jobs_are_not_shown_as_failures(tmp_path):
    for name, end in {
        "stopped": f"almanac answer: {INTERRUPTED}",
        "early": "Traceback (most recent call last):\n  File …\nKeyboardInterrupt",
        "ended": "almanac answer: 7.1 s wall, 3.9 s CPU, 410 MiB",
        "wrong": "almanac answer: model x: …",
    }.items():
        (tmp_path / f"{name}.log").write_text(f"requests: 1 of 2\n{end}\n")
    said = f"--- {tmp_path}/wrong.log\nrequests: 1 of 2\nalmanac answer: model x: …"
    assert failed(tmp_path, cluster=tmp_path / "none") == said


@pytest.mark.parametrize("free", [0, 5000])
def test_a_log_that_could_not_be_written_for_want_of_room_is_named_at_the_end(tmp_path, monkeypatch, free):
    (tmp_path / "mine.log").touch()
    for module in (lines, progress):
        monkeypatch.setattr(module, "room", lambda _: free)
    said = "" if free else f"--- {tmp_path}/mine.log is empty, and 0 MB of its disk are free"
    assert failed(tmp_path, cluster=tmp_path / "none") == said


def test_what_slurm_says_of_failed_jobs_is_shown_once_for_all_that_failed_alike(tmp_path):
    (tmp_path / "logs").mkdir()
    for job, told in {
        1: "slurmstepd-n1: error: StepId=65.0 exceeded memory limit (455852032 > 314572800), being killed",
        2: "slurmstepd-n1: error: StepId=66.0 exceeded memory limit (444162048 > 314572800), being killed",
        3: "slurmstepd-n2: error: *** JOB 7 ON n2 CANCELLED AT 2026-11-26T23:03:12 DUE TO TIME LIMIT ***",
        4: "almanac: configuration of 'gone': models.gone.path: there is no folder /m; correct its path",
        5: "slurmstepd-n2: error: *** STEP 108.0 ON n2 CANCELLED AT 2026-11-26T23:19:28 ***",
    }.items():
        (tmp_path / f"{job}.log").write_text(f"Building DAG of jobs...\n{told}\nsrun: error: n1: task 0: Killed\n")
    said = failed(tmp_path / "logs", cluster=tmp_path).splitlines()
    assert said == [
        f"--- {tmp_path}/1.log",
        "slurmstepd-n1: error: StepId=65.0 exceeded memory limit (455852032 > 314572800), being killed",
        "(and of 1 more)",
        f"--- {tmp_path}/3.log",
        "slurmstepd-n2: error: *** JOB 7 ON n2 CANCELLED AT 2026-11-26T23:03:12 DUE TO TIME LIMIT ***",
        f"--- {tmp_path}/4.log",
        "almanac: configuration of 'gone': models.gone.path: there is no folder /m; correct its path",
    ]
