"""What runs Snakemake under a lock leaves it the time that it takes to end."""

import os
import signal
import subprocess
import sys

ENDING = """
import signal, sys, time
def end(*_):
    time.sleep(2)
    print("its jobs were cancelled", flush=True)
    sys.exit(3)
signal.signal(signal.SIGINT, end)
print("started", flush=True)
time.sleep(600)
"""


def test_an_interrupted_snakemake_is_waited_for(tmp_path):
    """As Ctrl-C in a terminal does, the signal goes to both."""
    (tmp_path / "snakemake").write_text(f"#!{sys.executable}\n{ENDING}")
    (tmp_path / "snakemake").chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "almanac.locked", str(tmp_path / "snakemake")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout.readline() == "started\n"
        os.killpg(run.pid, signal.SIGINT)
        printed, errors = run.communicate(timeout=600)
    assert (printed, errors, run.returncode) == ("its jobs were cancelled\n", "", 3)
