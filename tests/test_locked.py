"""What runs Snakemake under a lock passes on what should end it, and leaves it the time that it takes to end."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from almanac.errors import AlmanacError
from almanac.locked import LOCK, RUN, check_run
from almanac.report.lines import run_began

ENDING = """
import os, signal, sys, time
def end(*_):
    time.sleep(1)
    os.write(1, b"its jobs have ended\\n")  # print may be at work still, and may not be entered again
    sys.exit(3)
signal.signal(signal.{}, end)
print("started", flush=True)
time.sleep(60)
"""


def locked(folder, program):
    (folder / "snakemake").write_text(f"#!{sys.executable}\n{program}")
    (folder / "snakemake").chmod(0o755)
    return subprocess.Popen(
        [sys.executable, "-m", "almanac.locked", str(folder / "snakemake")],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_an_interrupted_snakemake_is_waited_for(tmp_path):
    """As Ctrl-C in a terminal does, the signal goes to both."""
    with locked(tmp_path, ENDING.format("SIGINT")) as run:
        assert run.stdout.readline() == "started\n"
        os.killpg(run.pid, signal.SIGINT)
        printed, errors = run.communicate(timeout=600)
    assert (printed, errors, run.returncode) == ("its jobs have ended\n", "", 3)


def test_an_interrupted_run_has_not_ended_well_whatever_snakemake_says(tmp_path):
    with locked(tmp_path, ENDING.format("SIGINT").replace("sys.exit(3)", "sys.exit(0)")) as run:
        assert run.stdout.readline() == "started\n"
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=600)
    assert run.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_the_lock_ends_snakemake_and_waits_for_it(tmp_path, number):
    """As `kill` and a closed session do, the signal goes to the one process."""
    with locked(tmp_path, ENDING.format("SIGTERM")) as run:
        assert run.stdout.readline() == "started\n"
        run.send_signal(number)
        printed, errors = run.communicate(timeout=600)
    assert (printed, errors, run.returncode) == ("its jobs have ended\n", "", 3)


def test_nohup_stays_in_force(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run = locked(tmp_path, "import sys; print('started', flush=True); sys.stdin.read(); print('done')")
    finally:
        signal.signal(signal.SIGHUP, before)
    with run:
        assert run.stdout.readline() == "started\n"
        run.send_signal(signal.SIGHUP)
        assert (*run.communicate("", timeout=600), run.returncode) == ("done\n", "", 0)


def test_snakemake_may_be_started_as_a_module_where_there_is_no_program_of_it(tmp_path):
    (tmp_path / "snakemake.py").write_text("import sys; print(sys.argv[1:])")
    command = [sys.executable, "-m", "almanac.locked", sys.executable, "-m", "snakemake", "--list", "--", "data"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=600)
    assert run.stdout == "['--nolock', '--list', '--', 'data']\n"


HELD = """
import os, signal, threading
from almanac.locked import stop_in_a_thread
lock, answered = threading.Lock(), threading.Event()
def answer(*_):
    with lock:
        answered.set()
signal.signal(signal.SIGTERM, answer)
stop_in_a_thread()
with lock:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
print(answered.wait(60))
"""


def test_a_signal_while_snakemake_holds_its_lock_is_answered_when_it_lets_go(tmp_path):
    """Snakemake's own answer, in the main thread, would wait there for ever."""
    command = [sys.executable, "-c", HELD]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout == "True\n"


def test_without_a_home_the_cache_is_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", f"{tmp_path}/file/none")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with locked(tmp_path, "import os; print(os.environ['XDG_CACHE_HOME'])") as run:
        printed, _ = run.communicate(timeout=600)
    assert printed.strip() == f"{tmp_path}/.snakemake/cache"


def test_where_no_temporary_file_can_be_written_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/proc/self")
    with locked(tmp_path, "print('started')") as run:
        printed, errors = run.communicate(timeout=600)
    assert (printed, run.returncode) == ("", 1)
    assert "set TMPDIR to a folder with room" in errors


def test_the_status_of_a_killed_snakemake_is_a_shells(tmp_path):
    with locked(tmp_path, "import os; os.kill(os.getpid(), 9)") as run:
        run.communicate(timeout=600)
    assert run.returncode == 128 + 9


BEGIN = (
    "from pathlib import Path; from almanac import locked; locked.PATIENCE = 1; locked.begin([], Path('results/own'))"
)


def begun(folder, more=""):
    return subprocess.Popen(
        [sys.executable, "-c", f"{BEGIN}{more}"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_process_that_holds_the_lock_is_named(tmp_path):
    with begun(tmp_path, "; print(1, flush=True); input()") as first:
        assert first.stdout.readline() == "1\n"
        refused = begun(tmp_path).communicate(timeout=600)[1]
        (tmp_path / LOCK).write_text("")
        without = begun(tmp_path).communicate(timeout=600)[1]
        first.communicate("\n", timeout=600)
    holder = f"process {first.pid} on {socket.gethostname()}"
    assert f"another run is at work in this folder ({holder}); wait for it, or stop it" in refused
    assert "another run is at work in this folder; wait for it, or stop it" in without
    (tmp_path / LOCK).write_text("123456 is the process of a run that has ended")
    assert begun(tmp_path).communicate(timeout=600)[1] == "", "what is written locks nothing"
    assert (tmp_path / LOCK).read_text().endswith(f" on {socket.gethostname()}\n")


def test_a_job_that_starts_after_another_run_has_begun_does_nothing(tmp_path, monkeypatch):
    """One of a cluster may wait there for hours, and its run has been killed."""
    edition = tmp_path / "results" / "own"
    monkeypatch.delenv(RUN, raising=False)
    check_run(edition)
    own = begun(tmp_path, f"; import os; print(os.environ['{RUN}'])").communicate(timeout=600)[0].strip()
    monkeypatch.setenv(RUN, own)
    check_run(edition)
    begun(tmp_path).communicate(timeout=600)
    with pytest.raises(AlmanacError, match=f"to a run that was killed .process {own}., and another run has begun"):
        check_run(edition)


def test_one_run_makes_an_edition_whose_folder_is_in_several_working_folders(tmp_path):
    (tmp_path / "shared").mkdir()
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results").symlink_to(tmp_path / "shared")
    with begun(tmp_path / "ours", "; print(1, flush=True); input()") as first:
        assert first.stdout.readline() == "1\n"
        refused = begun(tmp_path / "theirs").communicate(timeout=600)[1]
        begin = BEGIN.replace("results/own", "results/other")
        other = subprocess.run([sys.executable, "-c", begin], cwd=tmp_path / "theirs", check=False)
        first.communicate("\n", timeout=600)
    assert f"another run is at work in results/own (process {first.pid} on {socket.gethostname()})" in refused
    assert other.returncode == 0, "another edition may be made there"
    assert begun(tmp_path / "theirs").communicate(timeout=600)[1] == ""


def test_a_second_run_that_is_refused_does_not_say_when_the_first_began(tmp_path):
    """What a run has spent and why it failed is read from logs that are no older than its lock."""
    assert run_began(tmp_path) == 0
    with begun(tmp_path, "; print(1, flush=True); input()") as first:
        assert first.stdout.readline() == "1\n"
        since = run_began(tmp_path)
        os.utime(tmp_path / LOCK, (since - 60, since - 60))
        assert "another run" in begun(tmp_path).communicate(timeout=600)[1]
        assert run_began(tmp_path) == pytest.approx(since - 60)
        first.communicate("\n", timeout=600)
    begun(tmp_path).communicate(timeout=600)
    assert run_began(tmp_path) >= since, "the next run begins anew"
